/* How far the conditions of the training data reach, so that a y beyond them is not answered without a word.
 *
 * Two measures: the range of each element, and the Mahalanobis distance from the mean, by the covariance of y
 * in model units, which also notices elements that are each in range but do not go together. */
#ifndef JF_MODEL_CONDITION_RANGE_H
#define JF_MODEL_CONDITION_RANGE_H

#include "base/context.h"
#include "base/memory.h"

#define REACH_MOST_DIM 256 /* beyond, there are ranges alone */

typedef struct y_reach {
    int dim;          /* of y */
    double rows;      /* that were looked at */
    double *lo, *hi;  /* (dim) model units */
    double *whiten;   /* (dim, dim) lower triangle: its product with y - mean has the covariance I; NULL: too
                         many */
    double *mean;     /* (dim) */
    double near, far; /* distances: 99% of the rows are within, and the furthest */
} y_reach;

/* From rows of y (n, dim), model units. */
jf_status reach_create(jf_context *ctx, y_reach **out, int dim, long n, const double *y);
jf_status reach_alloc(jf_context *ctx, y_reach **out, int dim); /* to be filled in from a file */
jf_status reach_copy(jf_context *ctx, y_reach **out, const y_reach *from);
void reach_free(y_reach *r);

double reach_distance(const y_reach *r, const double *y); /* Mahalanobis; 0 where there is no covariance */
/* Whether y is beyond the data by either measure, with a margin of a twentieth. *element: which is out of its
 * range the most, or -1; *off: by how many deviations. */
int reach_is_beyond(const y_reach *r, const double *y, int *element, double *off);

#endif
