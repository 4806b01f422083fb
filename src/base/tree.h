/* Sums of arrays in the order of a binary tree: (0 + 1) + (2 + 3), then pairs of pairs. Arrays beyond the largest power of two are
 * first added to those from 0 on. This is the order of sums over ranks (ranks/collect.c), for numbers that lie in one memory. */
#ifndef JF_BASE_TREE_H
#define JF_BASE_TREE_H

#include <stddef.h>

enum { TREE_MOST = 1024 }; /* arrays */

int tree_power(int size); /* the largest power of two up to size */

/* to[i] = the sum of arrays[0 .. size-1][begin + i], for i < count; `to` is none of them. */
void tree_sum_floats(float *to, const float *const *arrays, int size, size_t begin, size_t count);
void tree_sum_doubles(double *to, const double *const *arrays, int size, size_t begin, size_t count);

#endif
