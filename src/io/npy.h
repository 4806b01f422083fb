/* NumPy's .npy: one array of numbers. */
#ifndef JF_IO_NPY_H
#define JF_IO_NPY_H

#include "base/context.h"
#include <stdint.h>

#define NPY_MAX_RANK 8

/* Reads an array of type <f4, <f8, |u1, |b1, <i4 or <i8 in C order, as doubles (whole numbers beyond 2^53 are
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
/* An array that stays in its file, unless it is small: data larger than memory work. Types as npy_read().
 * Values that cannot be read, since the file has shrunk, are NAN; npy_file_check() tells them from others. */
typedef struct npy_file {
    int rank;
    size_t shape[NPY_MAX_RANK];
    const struct npy_type *type;
    size_t data;             /* bytes before the values */
    struct npy_reader *read; /* NULL: nothing is open */
} npy_file;
jf_status npy_file_open(jf_context *ctx, npy_file *out, const char *path);
void npy_file_close(npy_file *file);
size_t npy_file_bytes(const npy_file *file); /* of memory that it holds */
/* By any number of threads at once. Indices are in C order. */
double npy_file_value(const npy_file *file, size_t index); /* quick where the one before lies next to it */
/* out[i] = value [first + columns[i]] of those from `first` to `end` - 1, such as a row. */
void npy_file_take(const npy_file *file, size_t first, size_t end, const size_t *columns, size_t count,
                   double *out);
/* Refuses a file that has changed since it was opened. */
jf_status npy_file_check(jf_context *ctx, const npy_file *file, const char *path);

/* Writes <f4 or <f8. */
jf_status npy_write(jf_context *ctx, const char *path, const double *values, int rank, const size_t *shape,
                    int as_float32);

#endif
