/* IDX, raw or compressed:
 *
 *     0 0 type rank, extents (rank times 4 bytes, the highest first), values
 *
 * Nothing is allocated for the values before the header has been found to be sane, and never more than it
 * announces. */
#include "io/idx.h"
#include "base/file.h"
#include "io/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const size_t value_limit = (size_t)1 << 31;
enum { UNSIGNED_BYTE = 8, MAX_HEAD = 4 + 4 * IDX_MAX_RANK };

static const struct {
    int code;
    const char *name;
} types[] = {{0x08, "unsigned bytes"},  {0x09, "signed bytes"}, {0x0B, "16-bit integers"},
             {0x0C, "32-bit integers"}, {0x0D, "32-bit reals"}, {0x0E, "64-bit reals"}};
enum { TYPES = sizeof types / sizeof *types };

static const char *type_name(int code) {
    for (int i = 0; i < TYPES; i++)
        if (types[i].code == code) return types[i].name;
    return "unknown";
}

/* ---- the header ---- */

/* The first bytes of the content. zlib's own reader takes raw files, too. */
static jf_status peek(jf_context *ctx, const char *path, uint8_t *head, int size) {
    int fd;
    JF_TRY(file_open(ctx, &fd, path));
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory to read it", path);
    }
    int found = gzread(file, head, (unsigned)size);
    gzclose(file);
    if (found < 0) return jf_fail(ctx, JF_ERROR_FORMAT, "%s: could not be read or decompressed", path);
    if (found < size)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: ends after %d bytes, expected a header of %d", path, found,
                       size);
    return JF_OK;
}

static jf_status check_magic(jf_context *ctx, const char *path, const uint8_t *head, int rank) {
    if (head[0] != 0 || head[1] != 0)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not an IDX file: it begins with %02x %02x, expected 00 00",
                       path, head[0], head[1]);
    if (head[2] != UNSIGNED_BYTE)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: type: found 0x%02x (%s), expected 0x%02x (%s)", path,
                       head[2], type_name(head[2]), UNSIGNED_BYTE, type_name(UNSIGNED_BYTE));
    if (head[3] != rank)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: found %d dimensions, expected %d", path, head[3], rank);
    return JF_OK;
}

/* Fills in the shape; *count is the product of the extents. */
static jf_status read_shape(jf_context *ctx, const char *path, const uint8_t *head, idx_array *out,
                            size_t *count) {
    *count = 1;
    for (int i = 0; i < out->rank; i++) {
        const uint8_t *at = head + 4 + 4 * i;
        size_t extent = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | (size_t)at[3];
        if (extent == 0)
            return jf_fail(ctx, JF_ERROR_FORMAT, "%s: extent %d is 0, expected at least 1", path, i + 1);
        if (extent > value_limit / *count)
            return jf_fail(
                ctx, JF_ERROR_FORMAT,
                "%s: extent %d is %zu, after which there are more than %zu values; expected at most so "
                "many",
                path, i + 1, extent, value_limit);
        out->shape[i] = extent;
        *count *= extent;
    }
    return JF_OK;
}

/* ---- the whole ---- */

jf_status idx_read(jf_context *ctx, idx_array *out, const char *path, int rank) {
    *out = (idx_array){.rank = rank};
    if (rank < 1 || rank > IDX_MAX_RANK)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: %d dimensions wanted, expected 1 to %d", path, rank,
                       IDX_MAX_RANK);
    uint8_t head[MAX_HEAD];
    size_t head_size = 4 + 4 * (size_t)rank, count = 0, size = 0;
    JF_TRY(peek(ctx, path, head, 4));
    JF_TRY(check_magic(ctx, path, head, rank));
    JF_TRY(peek(ctx, path, head, (int)head_size));
    JF_TRY(read_shape(ctx, path, head, out, &count));
    uint8_t *content;
    JF_TRY(gzip_read(ctx, &content, &size, path, head_size + count));
    if (size != head_size + count) {
        free(content);
        return jf_fail(ctx, JF_ERROR_FORMAT,
                       "%s: %zu bytes of content, expected %zu for the %zu values it announces", path, size,
                       head_size + count, count);
    }
    memmove(content, content + head_size, count);
    out->bytes = content;
    return JF_OK;
}

void idx_free(idx_array *array) {
    free(array->bytes);
    array->bytes = NULL;
}
