/* Whole files, raw or compressed by gzip (RFC 1952).
 *
 * Invariant: memory grows with the bytes that have really come out, to at most twice as many. What a file
 * says about its size is not asked for, and a small file that would expand to a huge one ends at the
 * limit. */
#include "io/gzip.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 32768 };

typedef struct reading {
    jf_context *ctx;
    const char *path;
    int fd;
    uint8_t chunk[CHUNK]; /* the last bytes of the file that were read: chunk_size of them */
    size_t chunk_size;
    uint8_t *content; /* (size), room for `capacity` */
    size_t size, capacity, limit;
} reading;

/* The next bytes of the file: a whole chunk, less at its end, none past it. */
static jf_status read_chunk(reading *r) {
    r->chunk_size = 0;
    while (r->chunk_size < CHUNK) {
        ssize_t n = read(r->fd, r->chunk + r->chunk_size, CHUNK - r->chunk_size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return jf_fail(r->ctx, JF_ERROR_IO, "%s: could not be read: %s", r->path, strerror(errno));
        if (n == 0) break;
        r->chunk_size += (size_t)n;
    }
    return JF_OK;
}

static jf_status add_content(reading *r, const uint8_t *bytes, size_t n) {
    if (n == 0) return JF_OK;
    if (n > r->limit - r->size)
        return jf_fail(r->ctx, JF_ERROR_FORMAT, "%s: too large; expected at most %zu bytes of content",
                       r->path, r->limit);
    if (n > r->capacity - r->size) {
        size_t capacity = r->size + n < r->limit / 2 ? 2 * (r->size + n) : r->limit;
        uint8_t *content = realloc(r->content, capacity);
        if (!content)
            return jf_fail(r->ctx, JF_ERROR_MEMORY, "%s: not enough memory for %zu bytes", r->path, capacity);
        r->content = content;
        r->capacity = capacity;
    }
    memcpy(r->content + r->size, bytes, n);
    r->size += n;
    return JF_OK;
}

static jf_status read_raw(reading *r) {
    while (r->chunk_size > 0) {
        JF_TRY(add_content(r, r->chunk, r->chunk_size));
        JF_TRY(read_chunk(r));
    }
    return JF_OK;
}

/* ---- compressed files ---- */

static const uint8_t magic[2] = {0x1f, 0x8b};

static int is_gzip(const uint8_t *bytes, size_t n) {
    return n >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static jf_status fail_inflate(const reading *r, const z_stream *z, int code) {
    if (code == Z_MEM_ERROR)
        return jf_fail(r->ctx, JF_ERROR_MEMORY, "%s: not enough memory to decompress it", r->path);
    return jf_fail(r->ctx, JF_ERROR_FORMAT,
                   "%s: its compressed data are damaged after %zu bytes of content: %s", r->path, r->size,
                   z->msg ? z->msg : "the structure is wrong");
}

/* Gives the decompressor more of the file; *ended where there is no more. */
static jf_status refill(reading *r, z_stream *z, int *ended) {
    JF_TRY(read_chunk(r));
    z->next_in = r->chunk;
    z->avail_in = (uInt)r->chunk_size;
    *ended = r->chunk_size == 0;
    return JF_OK;
}

/* One member: a header, compressed data, and a checksum, which zlib compares. */
static jf_status inflate_member(reading *r, z_stream *z) {
    uint8_t out[CHUNK];
    int code = Z_OK, ended = 0;
    while (code != Z_STREAM_END) {
        if (z->avail_in == 0) JF_TRY(refill(r, z, &ended));
        if (ended)
            return jf_fail(r->ctx, JF_ERROR_FORMAT,
                           "%s: truncated: its compressed data end after %zu bytes of content", r->path,
                           r->size);
        z->next_out = out;
        z->avail_out = CHUNK;
        code = inflate(z, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return fail_inflate(r, z, code);
        JF_TRY(add_content(r, out, CHUNK - z->avail_out));
    }
    return JF_OK;
}

/* A gzip file is a sequence of members, and their contents one after the other are its content. Most have
 * one. */
static jf_status inflate_all(reading *r, z_stream *z) {
    for (int ended = 0;;) {
        JF_TRY(inflate_member(r, z));
        if (z->avail_in == 0) JF_TRY(refill(r, z, &ended));
        if (ended) return JF_OK;
        if (z->next_in[0] != magic[0])
            return jf_fail(r->ctx, JF_ERROR_FORMAT,
                           "%s: something follows its compressed data; expected the end of the file",
                           r->path);
        int code = inflateReset(z);
        if (code != Z_OK) return fail_inflate(r, z, code);
    }
}

static jf_status read_compressed(reading *r) {
    enum { GZIP_ONLY = 16 };
    z_stream z = {.next_in = r->chunk, .avail_in = (uInt)r->chunk_size};
    int code = inflateInit2(&z, MAX_WBITS + GZIP_ONLY);
    if (code != Z_OK) return fail_inflate(r, &z, code);
    jf_status status = inflate_all(r, &z);
    inflateEnd(&z);
    return status;
}

/* ---- the whole ---- */

static jf_status read_content(reading *r) {
    JF_TRY(read_chunk(r));
    JF_TRY(is_gzip(r->chunk, r->chunk_size) ? read_compressed(r) : read_raw(r));
    uint8_t *fitting = realloc(r->content, r->size ? r->size : 1); /* gives the rest back */
    if (fitting) r->content = fitting;
    if (!r->content) return jf_fail(r->ctx, JF_ERROR_MEMORY, "%s: not enough memory", r->path);
    return JF_OK;
}

jf_status gzip_read(jf_context *ctx, uint8_t **out, size_t *size, const char *path, size_t limit) {
    *out = NULL;
    *size = 0;
    reading *r;
    JF_TRY(MEM_NEW(ctx, &r, 1));
    r->ctx = ctx;
    r->path = path;
    r->limit = limit;
    jf_status status = file_open(ctx, &r->fd, path);
    if (status == JF_OK) {
        status = read_content(r);
        close(r->fd);
    }
    if (status == JF_OK) {
        *out = r->content;
        *size = r->size;
    } else {
        free(r->content);
    }
    free(r);
    return status;
}
