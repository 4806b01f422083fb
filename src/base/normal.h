/* The standard normal distribution function and its inverse. */
#ifndef JF_BASE_NORMAL_H
#define JF_BASE_NORMAL_H

/* P(Z < t); without cancellation on the left, so that P(Z > t) is that of -t. */
double normal_below(double t);

/* The t with P(Z < t) = p, for p from NORMAL_LEAST to 1/2; those above 1/2 are minus those of 1 - p. */
double normal_quantile(double p);
#define NORMAL_LEAST 1e-7

/* What the quantile starts from, within 6e-8 of it in proportion, for programs that have no erfc:
 *
 *     t = (p - 1/2) sum over k of term[k] s^k,   s = (sqrt(NORMAL_ORIGIN - log(4 p (1 - p))) - CENTRE)/RADIUS
 *
 * which interpolates at the 14 Chebyshev points of s between p = 1/2 and NORMAL_LEAST. */
enum { NORMAL_TERMS = 14 };
#define NORMAL_ORIGIN 5.0
#define NORMAL_CENTRE 3.34
#define NORMAL_RADIUS 1.11
extern const double normal_terms[NORMAL_TERMS];

#endif
