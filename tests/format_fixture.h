/* What the tests of file formats share: files with given bytes, and damage done to good ones. */
#ifndef JF_TESTS_FORMAT_FIXTURE_H
#define JF_TESTS_FORMAT_FIXTURE_H

#include "test.h"

#include "base/file.h"
#include "base/random.h"

#include <stdint.h>

static inline jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

/* A file with these bytes in the folder of the test. */
static inline const char *put_file(const char *name, const void *bytes, size_t size) {
    jf_context *ctx = new_context();
    const char *path = test_path(name);
    CHECK_STATUS(file_write(ctx, path, bytes, size), JF_OK);
    jf_context_free(ctx);
    return path;
}

/* The same for many small files in turn: nothing is flushed to disk, and an old file is not overwritten,
 * which some file systems answer by writing at once. */
static inline void put_quickly(const char *path, const char *bytes, size_t size) {
    remove(path);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Cuts, flips or replaces bytes of a good file; at least one thing is done. */
static inline size_t damage(rng *random, char *bytes, size_t size) {
    uint32_t way = rng_below(random, 4);
    if (way == 0) return rng_below(random, (uint32_t)size);
    for (uint32_t n = 1 + rng_below(random, 3); n > 0; n--) {
        /* half of the hits go to the head of the file, where the structure is */
        size_t range = rng_below(random, 2) && size > 128 ? 128 : size;
        size_t at = rng_below(random, (uint32_t)range);
        if (way == 1)
            bytes[at] = (char)(bytes[at] ^ (1 << rng_below(random, 8)));
        else if (way == 2)
            bytes[at] = (char)rng_bits(random);
        else
            bytes[at] = "0123456789-[]{}(),.:;\"'e"[rng_below(random, 24)];
    }
    return size;
}

#endif
