/* Small statistics over host arrays. */
#ifndef JF_BASE_STATISTICS_H
#define JF_BASE_STATISTICS_H

#include <stddef.h>

double normal_cdf(double t);
void sort_ascending(double *values, size_t n); /* NaN last */
/* Kolmogorov-Smirnov distance of the values (sorted in place) to N(0, 1); NaN where one of them is. */
double ks_to_normal(double *values, size_t n);
/* Quantile q in [0, 1] of ascending values, linear between them. */
double quantile(const double *sorted, size_t n, double q);

#endif
