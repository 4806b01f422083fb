/* What the problems with known answers share: inverse problems from the literature, each with a simulator p(y
 * | x), a prior of x, and its exact entropy or posterior as far as they are known. One file in sets/ each. */
#ifndef JF_DATA_PROBLEM_H
#define JF_DATA_PROBLEM_H

#include "data/dataset.h"

/* Dimensions, and names x first, which outlive the set; exported tables and models keep them. */
void problem_sizes(dataset *d, int dim_x, int dim_y, const char *const *names);
extern const char *const problem_ten_names[]; /* (20) of ten parameters and ten measurements */
/* All elements of x are uniform between lo and hi: that is their support. */
jf_status problem_box(dataset *d, double lo, double hi);
int problem_in_box(const double *x, int dim, double lo, double hi);

/* Entropy of U(lo, hi) + N(0, deviation^2), by Simpson's rule. */
double blurred_box_entropy(double lo, double hi, double deviation);

#endif
