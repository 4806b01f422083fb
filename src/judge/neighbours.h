/* Nearest neighbours among points, by Euclidean distance. What is judged with them is in quality.c. */
#ifndef JF_JUDGE_NEIGHBOURS_H
#define JF_JUDGE_NEIGHBOURS_H

#include "compute/compute.h"

/* n points of dim numbers: in memory, or read a few at a time, for sets that are too large for it. */
typedef struct points {
    long n;
    int dim;
    const double *values; /* (n, dim), or NULL and */
    void (*read)(const void *source, long first, int count, double *values);
    const void *source;
} points;

/* The k nearest of `among` to each point, nearest first; of several at one distance those that come first.
 * Squared distances go to squares (n, k), which is INFINITY where there are fewer, places to index (n, k),
 * which may be NULL, -1 likewise. `to` is in memory. Where to and among are the same set, no point is a
 * neighbour of itself.
 *
 * Cost: to.n among.n dim multiplications on the device, in its precision: squares of floats are off by about
 * 1e-6 times the squared distance of the points from the mean of `to`. */
jf_status neighbours_find(device *d, const points *to, const points *among, int k, double *squares,
                          long *index);

/* inside[i] = 1 where point i of `to` lies within the squared radius of any of `around`, else 0; radius
 * (around.n). A point at the radius, to the rounding above, is inside. Same cost. */
jf_status neighbours_inside(device *d, const points *to, const points *around, const double *radius,
                            unsigned char *inside);

#endif
