/* NumPy's .npy: one array of numbers. */
#ifndef JF_IO_NPY_H
#define JF_IO_NPY_H

#include "base/context.h"
#include <stdint.h>

#define NPY_MAX_RANK 8

/* Reads an array of type <f4, <f8, |u1, <i4 or <i8 in C order, as doubles (whole numbers beyond 2^53 are
 * rounded).
 * `**out`: the values, in C order, yours to free. */
jf_status npy_read(jf_context *ctx, const char *path, double **out, int *rank, size_t shape[NPY_MAX_RANK]);

/* An array in as few bytes as it takes: one of the two pointers is NULL. */
typedef struct npy_stack {
    int rank;
    size_t shape[NPY_MAX_RANK];
    uint8_t *bytes; /* of type |u1 */
    float *reals;   /* of type <f4 or <f8 */
} npy_stack;

/* Reads bytes or reals in C order for large arrays: beside the file itself nothing is allocated. */
jf_status npy_read_stack(jf_context *ctx, npy_stack *out, const char *path);
void npy_stack_free(npy_stack *stack);
/* An array that stays in its file and is mapped into memory: opening reads the header alone, so data larger than memory
 * work. Types as npy_read(). The file must not shrink while it is open. */
typedef struct npy_map {
    int rank;
    size_t shape[NPY_MAX_RANK];
    const struct npy_type *type;
    const char *values; /* as they lie in the file */
    void *base;         /* of the mapping */
    size_t length;
} npy_map;
jf_status npy_map_open(jf_context *ctx, npy_map *out, const char *path);
void npy_map_close(npy_map *map);
double npy_map_value(const npy_map *map, size_t index); /* in C order */

/* Writes <f4 or <f8. */
jf_status npy_write(jf_context *ctx, const char *path, const double *values, int rank, const size_t *shape,
                    int as_float32);

#endif
