/* The one check of numbers that come from outside, and of those that are given there. */
#ifndef JF_BASE_FINITE_H
#define JF_BASE_FINITE_H

#include <float.h>
#include <stddef.h>

/* How many of the leading numbers are finite and at most `most` in size: all `count` of them, or the place of
 * the first that is not. */
static inline size_t count_within(const double *values, size_t count, double most) {
    size_t i = 0;
    while (i < count && values[i] >= -most && values[i] <= most) i++;
    return i;
}

static inline size_t count_finite(const double *values, size_t count) {
    return count_within(values, count, DBL_MAX);
}

#endif
