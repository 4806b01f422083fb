/* Small statistics over host arrays. */
#ifndef JF_BASE_STATISTICS_H
#define JF_BASE_STATISTICS_H

#include <stddef.h>

double normal_cdf(double t);
/* How far from 0 a draw of N(0, 1) is, on either side, with this probability. */
double normal_two_sided(double probability);
void sort_ascending(double *values, size_t n); /* NaN last */
/* Kolmogorov-Smirnov distance of the values (sorted in place) to N(0, 1); NaN where one of them is. */
double ks_to_normal(double *values, size_t n);
/* Quantile q in [0, 1] of ascending values, linear between them. */
double quantile(const double *sorted, size_t n, double q);
/* Energy distance between the distributions that the rows of a and b (n, dim) are drawn from:
 *     2 E|a - b| - E|a - a'| - E|b - b'|
 * 0 where they are equal, up to chance of either sign. The means are over pairs of different rows: a row and
 * itself, or its partner in the other array, which may share something with it, would bias them. */
double energy_distance(const double *a, const double *b, size_t n, size_t dim);
/* Peak signal-to-noise ratio in dB of `count` differences whose squares sum to `squares`; the peak is 1. */
double psnr(double squares, double count);

#endif
