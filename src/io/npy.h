/* NumPy's .npy: one array of numbers. */
#ifndef JF_IO_NPY_H
#define JF_IO_NPY_H

#include "base/context.h"

#define NPY_MAX_RANK 8

/* Reads an array of type <f4, <f8, |u1, <i4 or <i8 in C order, as doubles (whole numbers beyond 2^53 are
 * rounded).
 * `**out`: the values, in C order, yours to free. */
jf_status npy_read(jf_context *ctx, const char *path, double **out, int *rank, size_t shape[NPY_MAX_RANK]);
/* Writes <f4 or <f8. */
jf_status npy_write(jf_context *ctx, const char *path, const double *values, int rank, const size_t *shape,
                    int as_float32);

#endif
