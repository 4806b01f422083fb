/* How far the conditions of the training data reach, so that a y beyond them is not answered without a word.
 *
 * Two measures: the range of each element, and the Mahalanobis distance from the mean, by the covariance of y
 * in model units, which also notices elements that are each in range but do not go together. */
#ifndef JF_MODEL_CONDITION_RANGE_H
#define JF_MODEL_CONDITION_RANGE_H

#include "base/context.h"
#include "base/memory.h"

#define CONDITION_RANGE_MAX_DIM 256 /* beyond, there are ranges alone */

typedef struct condition_range {
    int dim;          /* of y */
    double rows;      /* that were looked at */
    double *lo, *hi;  /* (dim) model units */
    double *whiten;   /* (dim, dim) lower triangle: its product with y - mean has the covariance I; NULL: too
                         many */
    double *mean;     /* (dim) */
    double near, far; /* distances: 99% of the rows are within, and the furthest */
} condition_range;

/* From rows of y (n, dim), model units. */
jf_status condition_range_create(jf_context *ctx, condition_range **out, int dim, long n, const double *y);
jf_status condition_range_alloc(jf_context *ctx, condition_range **out,
                                int dim); /* to be filled in from a file */
jf_status condition_range_copy(jf_context *ctx, condition_range **out, const condition_range *from);
void condition_range_free(condition_range *r);

double condition_range_distance(const condition_range *r,
                                const double *y); /* Mahalanobis; 0 where there is no covariance */
/* Whether y is beyond the data by either measure, with a margin of a twentieth. *element: which is out of its
 * range the most, or -1; *off: by how many deviations. */
int condition_range_excludes(const condition_range *r, const double *y, int *element, double *off);

#endif
