/* IDX: the arrays of bytes that MNIST and its relatives come as, raw or compressed by gzip. */
#ifndef JF_IO_IDX_H
#define JF_IO_IDX_H

#include "base/context.h"
#include <stdint.h>

#define IDX_MAX_RANK 4

typedef struct idx_array {
    int rank;
    size_t shape[IDX_MAX_RANK]; /* none is 0 */
    uint8_t *bytes;             /* in C order */
} idx_array;

/* Reads an array of unsigned bytes that has `rank` dimensions. No more is decompressed than the header
 * announces. */
jf_status idx_read(jf_context *ctx, idx_array *out, const char *path, int rank);
void idx_free(idx_array *array);

#endif
