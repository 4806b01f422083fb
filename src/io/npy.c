/* NumPy's .npy, versions 1.0 and 2.0:
 *
 *     "\x93NUMPY" major minor, length of the header (2 or 4 bytes), header, values
 *     header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } padded with spaces to a multiple of
 * 64 bytes
 *
 * Nothing is allocated for the values before the shape has been found to fit the size of the file. */
#include "io/npy.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this file reads and writes little-endian numbers as they lie in memory"
#endif

static const char magic[6] = "\x93NUMPY";
static const size_t file_limit = (size_t)1 << 36;

/* ---- types ---- */

static double from_f4(const char *at) {
    float value;
    memcpy(&value, at, sizeof value);
    return (double)value;
}

static double from_f8(const char *at) {
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

static double from_u1(const char *at) {
    return (double)(unsigned char)*at;
}

static double from_b1(const char *at) {
    return *at != 0;
}

static double from_i4(const char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return (double)value;
}

static double from_i8(const char *at) {
    int64_t value;
    memcpy(&value, at, sizeof value);
    return (double)value;
}

typedef struct npy_type {
    const char *descr;
    size_t size;
    double (*read)(const char *at);
} npy_type;

static const npy_type types[] = {{"<f4", 4, from_f4}, {"<f8", 8, from_f8}, {"|u1", 1, from_u1},
                                 {"|b1", 1, from_b1}, {"<i4", 4, from_i4}, {"<i8", 8, from_i8}};
enum { TYPES = sizeof types / sizeof *types };

/* ---- reading the header ---- */

/* The header is the text of a Python dictionary; this reads the few forms that NumPy writes. */
typedef struct header {
    jf_context *ctx;
    const char *path, *at, *end;
    const npy_type *type; /* NULL until found */
    int has_order, has_shape, rank;
    size_t shape[NPY_MAX_RANK];
} header;

static jf_status fail_header(const header *h, const char *expected) {
    int left = (int)(h->end - h->at < 24 ? h->end - h->at : 24);
    return jf_fail(h->ctx, JF_ERROR_FORMAT, "%s: header: found \"%.*s\", expected %s", h->path, left, h->at,
                   expected);
}

static void skip_space(header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t')) h->at++;
}

/* Takes `word` if it comes next. */
static int accept(header *h, const char *word) {
    size_t length = strlen(word);
    skip_space(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0) return 0;
    h->at += length;
    return 1;
}

static jf_status read_descr(header *h) {
    skip_space(h);
    for (int i = 0; i < TYPES; i++) {
        char quoted[8] = "'___'";
        memcpy(quoted + 1, types[i].descr, 3);
        if (accept(h, quoted)) h->type = &types[i];
    }
    return h->type
               ? JF_OK
               : fail_header(h, "a type of '<f4', '<f8', '|u1', '|b1', '<i4' or '<i8' (a.astype('<f8') makes "
                                "one)");
}

static jf_status read_order(header *h) {
    if (accept(h, "True"))
        return jf_fail(h->ctx, JF_ERROR_FORMAT,
                       "%s: the array is in Fortran order; expected C order (numpy.ascontiguousarray)",
                       h->path);
    if (!accept(h, "False")) return fail_header(h, "True or False");
    h->has_order = 1;
    return JF_OK;
}

static jf_status read_extent(header *h, size_t *extent) {
    const char *start = h->at;
    *extent = 0;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
        size_t digit = (size_t)(*h->at - '0');
        if (__builtin_mul_overflow(*extent, (size_t)10, extent) ||
            __builtin_add_overflow(*extent, digit, extent))
            return fail_header(h, "an extent that fits 64 bits");
    }
    return h->at > start ? JF_OK : fail_header(h, "an extent");
}

/* (), (3,), (3, 4) */
static jf_status read_shape(header *h) {
    if (!accept(h, "(")) return fail_header(h, "a shape in parentheses");
    while (!accept(h, ")")) {
        if (h->rank == NPY_MAX_RANK) return fail_header(h, "a shape of at most 8 extents");
        JF_TRY(read_extent(h, &h->shape[h->rank++]));
        if (!accept(h, ",") && h->at < h->end && *h->at != ')') return fail_header(h, "',' or ')'");
    }
    h->has_shape = 1;
    return JF_OK;
}

static jf_status read_dictionary(header *h) {
    if (!accept(h, "{")) return fail_header(h, "'{'");
    while (!accept(h, "}")) {
        if (!h->type && accept(h, "'descr':"))
            JF_TRY(read_descr(h));
        else if (!h->has_order && accept(h, "'fortran_order':"))
            JF_TRY(read_order(h));
        else if (!h->has_shape && accept(h, "'shape':"))
            JF_TRY(read_shape(h));
        else
            return fail_header(h, "one each of 'descr', 'fortran_order', 'shape'");
        skip_space(h);
        if (!accept(h, ",") && h->at < h->end && *h->at != '}') return fail_header(h, "',' or '}'");
    }
    skip_space(h);
    if (h->at < h->end) return fail_header(h, "the end of the header");
    if (!h->type || !h->has_order || !h->has_shape)
        return fail_header(h, "'descr', 'fortran_order' and 'shape'");
    return JF_OK;
}

/* Finds the header in the file; *data is where the values begin. */
static jf_status find_header(header *h, const char *bytes, size_t size, size_t *data) {
    if (size < 10 || memcmp(bytes, magic, sizeof magic) != 0)
        return jf_fail(h->ctx, JF_ERROR_FORMAT, "%s: not a NumPy file: it does not begin with \\x93NUMPY",
                       h->path);
    const unsigned char *b = (const unsigned char *)bytes;
    int major = b[6], minor = b[7];
    if ((major != 1 && major != 2) || minor != 0)
        return jf_fail(h->ctx, JF_ERROR_FORMAT, "%s: found version %d.%d of the format, expected 1.0 or 2.0",
                       h->path, major, minor);
    size_t start = major == 1 ? 10 : 12;
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;
    if (major == 2 && size >= 12) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (size < start || length > size - start)
        return jf_fail(h->ctx, JF_ERROR_FORMAT, "%s: ends after %zu bytes, within a header of %zu", h->path,
                       size, length);
    h->at = bytes + start;
    h->end = h->at + length;
    *data = start + length;
    return JF_OK;
}

/* ---- reading and writing ---- */

/* Product of the extents; returns 0 where that of the extents other than 0 does not fit 64 bits, so that no
 * part of the shape of an empty array can overflow elsewhere. */
static int count_values(int rank, const size_t *shape, size_t *count) {
    size_t product = 1;
    int empty = 0;
    for (int i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        if (shape[i] && __builtin_mul_overflow(product, shape[i], &product)) return 0;
    }
    *count = empty ? 0 : product;
    return 1;
}

/* How many values there are: as many as the `size` bytes behind the header are. */
static jf_status check_count(const header *h, size_t size, size_t *count) {
    size_t bytes = 0;
    if (!count_values(h->rank, h->shape, count) || __builtin_mul_overflow(*count, h->type->size, &bytes))
        return jf_fail(h->ctx, JF_ERROR_FORMAT, "%s: the shape has more values than 64 bits can count",
                       h->path);
    if (bytes != size)
        return jf_fail(h->ctx, JF_ERROR_FORMAT,
                       "%s: %zu bytes of values, expected %zu for %zu values of type %s", h->path, size,
                       bytes, *count, h->type->descr);
    return JF_OK;
}

static jf_status read_values(const header *h, const char *data, size_t size, double **out) {
    size_t count = 0;
    JF_TRY(check_count(h, size, &count));
    JF_TRY(MEM_NEW(h->ctx, out, count));
    for (size_t i = 0; i < count; i++) (*out)[i] = h->type->read(data + i * h->type->size);
    return JF_OK;
}

jf_status npy_read(jf_context *ctx, const char *path, double **out, int *rank, size_t shape[NPY_MAX_RANK]) {
    *out = NULL;
    *rank = 0;
    char *bytes = NULL;
    size_t size = 0, data = 0;
    JF_TRY(file_read(ctx, &bytes, &size, path, file_limit));
    header h = {.ctx = ctx, .path = path};
    jf_status status = JF_OK;
    JF_TRY_DONE(find_header(&h, bytes, size, &data));
    JF_TRY_DONE(read_dictionary(&h));
    JF_TRY_DONE(read_values(&h, bytes + data, size - data, out));
    *rank = h.rank;
    memcpy(shape, h.shape, sizeof h.shape);
done:
    free(bytes);
    return status;
}

/* Turns the values into bytes or floats at the start of the file's own memory: none grows, so a value is read
 * before its place is written to. */
static void pack(const header *h, char *file, size_t data, size_t count, int as_bytes) {
    size_t width = h->type->size;
    if (as_bytes || width == sizeof(float)) {
        memmove(file, file + data, count * width);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float value = (float)h->type->read(file + data + i * width);
        memcpy(file + i * sizeof value, &value, sizeof value);
    }
}

static jf_status read_stack(header *h, npy_stack *out, char *file, size_t size) {
    size_t data = 0, count = 0;
    JF_TRY(find_header(h, file, size, &data));
    JF_TRY(read_dictionary(h));
    JF_TRY(check_count(h, size - data, &count));
    int as_bytes = strcmp(h->type->descr, "|u1") == 0;
    if (!as_bytes && h->type->descr[1] != 'f')
        return jf_fail(h->ctx, JF_ERROR_FORMAT, "%s: values of type %s, expected |u1, <f4 or <f8", h->path,
                       h->type->descr);
    pack(h, file, data, count, as_bytes);
    out->rank = h->rank;
    memcpy(out->shape, h->shape, sizeof h->shape);
    if (as_bytes)
        out->bytes = (uint8_t *)file;
    else
        out->reals = (float *)(void *)file;
    return JF_OK;
}

jf_status npy_read_stack(jf_context *ctx, npy_stack *out, const char *path) {
    *out = (npy_stack){.rank = 0};
    char *file = NULL;
    size_t size = 0;
    JF_TRY(file_read(ctx, &file, &size, path, file_limit));
    header h = {.ctx = ctx, .path = path};
    jf_status status = read_stack(&h, out, file, size);
    if (status != JF_OK) free(file);
    return status;
}

/* ---- arrays that stay in their files ---- */

/* Bytes: of arrays that are read whole, of a block that is read ahead, and of what is read of a row at once.
 */
enum { WHOLE = 1 << 24, BLOCK = 1 << 16, ROW_PIECE = 4096 };
enum { BLOCKS = 8 }; /* threads walk through different parts of a file */

typedef struct block {
    pthread_mutex_t lock;
    size_t begin, end; /* bytes of the file */
    size_t last;       /* where the row that was taken last ended */
    char bytes[BLOCK];
} block;

typedef struct npy_reader {
    int fd;
    struct stat opened;
    atomic_int cut; /* the file ended before a value */
    char *whole;    /* the values of a small array; NULL: they are read when they are asked for */
    block blocks[BLOCKS];
} npy_reader;

static block *block_of_thread(npy_reader *r) {
    return &r->blocks[((uintptr_t)pthread_self() >> 12) * 0x9E3779B1u >> 16 & (BLOCKS - 1)];
}

/* Bytes from `at` on, as many as there are up to `size`. A mapping would be quicker and end the process where
 * the file shrinks. */
static size_t read_some(npy_reader *r, char *to, size_t size, size_t at) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(r->fd, to + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    return done;
}

static double value_or_nan(const npy_file *f, const char *bytes, size_t begin, size_t end, size_t at) {
    if (at >= begin && at + f->type->size <= end) return f->type->read(bytes + (at - begin));
    atomic_store(&f->read->cut, 1);
    return NAN;
}

/* The header is read with room to spare; one that is longer is refused for its size. */
static jf_status find_values(npy_file *out, jf_context *ctx, const char *path) {
    header h = {.ctx = ctx, .path = path};
    npy_reader *r = out->read;
    size_t count = 0, size = (size_t)r->opened.st_size;
    block *b = &r->blocks[0];
    b->end = read_some(r, b->bytes, BLOCK, 0);
    JF_TRY(find_header(&h, b->bytes, b->end, &out->data));
    JF_TRY(read_dictionary(&h));
    JF_TRY(check_count(&h, size - out->data, &count));
    out->rank = h.rank;
    memcpy(out->shape, h.shape, sizeof h.shape);
    out->type = h.type;
    return JF_OK;
}

static jf_status read_whole(npy_file *out, jf_context *ctx, const char *path) {
    npy_reader *r = out->read;
    size_t size = (size_t)r->opened.st_size - out->data;
    if (size > WHOLE) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &r->whole, size + 1));
    atomic_store(&r->cut, read_some(r, r->whole, size, out->data) < size);
    return npy_file_check(ctx, out, path);
}

jf_status npy_file_open(jf_context *ctx, npy_file *out, const char *path) {
    *out = (npy_file){.rank = 0};
    JF_TRY(MEM_NEW(ctx, &out->read, 1));
    npy_reader *r = out->read;
    r->fd = -1;
    for (int i = 0; i < BLOCKS; i++) pthread_mutex_init(&r->blocks[i].lock, NULL);
    jf_status status = file_open(ctx, &r->fd, path);
    if (status == JF_OK && (fstat(r->fd, &r->opened) != 0 || !S_ISREG(r->opened.st_mode)))
        status = jf_fail(ctx, JF_ERROR_IO,
                         "%s: not a regular file; expected one, which may be read in any order", path);
    if (status == JF_OK) status = find_values(out, ctx, path);
    if (status == JF_OK) status = read_whole(out, ctx, path);
    if (status != JF_OK) npy_file_close(out);
    return status;
}

void npy_file_close(npy_file *file) {
    if (!file->read) return;
    if (file->read->fd >= 0) close(file->read->fd);
    for (int i = 0; i < BLOCKS; i++) pthread_mutex_destroy(&file->read->blocks[i].lock);
    free(file->read->whole);
    free(file->read);
    *file = (npy_file){.rank = 0};
}

size_t npy_file_bytes(const npy_file *file) {
    return file->read->whole ? (size_t)file->read->opened.st_size - file->data : 0;
}

/* Under its lock: the block begins at `at`. */
static void read_block(npy_reader *r, block *b, size_t at) {
    b->begin = at;
    b->end = at + read_some(r, b->bytes, BLOCK, at);
}

/* Rows that are walked through, perhaps with gaps, lie in the block; it goes on where the walk does. 0: these
 * do not, or another thread has it. */
static int take_of_block(const npy_file *file, size_t first, size_t end, const size_t *columns, size_t count,
                         double *out) {
    block *b = block_of_thread(file->read);
    size_t width = file->type->size, from = file->data + first * width, to = file->data + end * width;
    if (to - from > BLOCK / 2 || pthread_mutex_trylock(&b->lock) != 0) return 0;
    int walks = from >= b->last && from - b->last < ROW_PIECE;
    if (walks && (from < b->begin || to > b->end)) read_block(file->read, b, from);
    b->last = to;
    int holds = from >= b->begin && to <= b->end;
    for (size_t i = 0; holds && i < count; i++)
        out[i] = file->type->read(b->bytes + (from - b->begin) + columns[i] * width);
    pthread_mutex_unlock(&b->lock);
    return holds;
}

void npy_file_take(const npy_file *file, size_t first, size_t end, const size_t *columns, size_t count,
                   double *out) {
    char piece[ROW_PIECE];
    npy_reader *r = file->read;
    size_t width = file->type->size, last = file->data + end * width, from = 0, to = 0;
    for (size_t i = 0; r->whole && i < count; i++)
        out[i] = file->type->read(r->whole + (first + columns[i]) * width);
    if (r->whole || take_of_block(file, first, end, columns, count, out)) return;
    for (size_t i = 0; i < count; i++) {
        size_t at = file->data + (first + columns[i]) * width;
        if (at < from || at + width > to) {
            from = at;
            to = at + read_some(r, piece, last - at < ROW_PIECE ? last - at : ROW_PIECE, at);
        }
        out[i] = value_or_nan(file, piece, from, to, at);
    }
}

double npy_file_value(const npy_file *file, size_t index) {
    double value;
    npy_file_take(file, index, index + 1, &(size_t){0}, 1, &value);
    return value;
}

jf_status npy_file_check(jf_context *ctx, const npy_file *file, const char *path) {
    const struct stat *before = &file->read->opened;
    struct stat now;
    if (fstat(file->read->fd, &now) != 0)
        return jf_fail(ctx, JF_ERROR_IO, "%s: could not be examined: %s", path, strerror(errno));
    int same = now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
               now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
    if (same && !atomic_load(&file->read->cut)) return JF_OK;
    return jf_fail(
        ctx, JF_ERROR_IO,
        "%s: has changed while it was in use: found %lld bytes, expected the %lld that it had, unchanged",
        path, (long long)now.st_size, (long long)before->st_size);
}

void npy_stack_free(npy_stack *stack) {
    free(stack->bytes);
    free(stack->reals);
    *stack = (npy_stack){.rank = 0};
}

static void write_header(text *out, int rank, const size_t *shape, const char *descr) {
    text_add(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++) text_add(out, "%s%zu", i ? ", " : "", shape[i]);
    text_add(out, "%s), }", rank == 1 ? "," : "");
    while (!out->failed && (10 + out->length + 1) % 64 != 0) text_add(out, " ");
    text_add(out, "\n");
}

static void write_values(char *to, const double *values, size_t count, int as_float32) {
    if (!as_float32) {
        if (count) memcpy(to, values, count * sizeof *values);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float value = (float)values[i];
        memcpy(to + i * sizeof value, &value, sizeof value);
    }
}

jf_status npy_write(jf_context *ctx, const char *path, const double *values, int rank, const size_t *shape,
                    int as_float32) {
    size_t width = as_float32 ? sizeof(float) : sizeof(double), count = 0, bytes = 0;
    if (rank < 0 || rank > NPY_MAX_RANK)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: rank %d, expected 0 to %d", path, rank, NPY_MAX_RANK);
    if (!count_values(rank, shape, &count) || __builtin_mul_overflow(count, width, &bytes) ||
        bytes > file_limit)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: an array too large to write", path);
    text head = {0};
    write_header(&head, rank, shape, as_float32 ? "<f4" : "<f8");
    char *file = NULL;
    jf_status status = JF_OK;
    JF_TRY_DONE(text_check(ctx, &head));
    size_t start = 10 + head.length;
    JF_TRY_DONE(MEM_NEW(ctx, &file, start + bytes));
    memcpy(file, magic, sizeof magic);
    file[6] = 1; /* version 1.0; eight extents never need the longer header of 2.0 */
    file[8] = (char)(head.length & 0xFF);
    file[9] = (char)(head.length >> 8);
    memcpy(file + 10, head.chars, head.length);
    write_values(file + start, values, count, as_float32);
    JF_TRY_DONE(file_write(ctx, path, file, start + bytes));
done:
    free(file);
    text_free(&head);
    return status;
}
