/* Tests of IDX files: values, raw and compressed, and what is refused. */
#include "format_fixture.h"

#include "io/idx.h"

#include <sys/resource.h>
#include <zlib.h>

enum { UBYTE = 8 };

/* Writes a file: 0 0 type rank, extents, then `size` bytes of data. */
static const char *put_idx(const char *name, int type, int rank, const uint32_t *extents, const void *data,
                           size_t size) {
    char file[1024] = {0, 0, (char)type, (char)rank};
    size_t at = 4;
    for (int i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8) file[at++] = (char)(extents[i] >> shift);
    if (size) memcpy(file + at, data, size);
    return put_file(name, file, at + size);
}

static void refuse(const char *path, int rank, jf_status status, const char *part) {
    jf_context *ctx = new_context();
    idx_array array;
    CHECK_STATUS(idx_read(ctx, &array, path, rank), status);
    CHECK(array.bytes == NULL);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK_HAS(jf_context_error(ctx), path);
    jf_context_free(ctx);
}

/* The same bytes, compressed. */
static const char *compressed(const char *from, const char *name, size_t more) {
    jf_context *ctx = new_context();
    char *bytes;
    size_t size;
    const char *path = test_path(name);
    CHECK_STATUS(file_read(ctx, &bytes, &size, from, 1 << 20), JF_OK);
    gzFile out = gzopen(path, "wb");
    CHECK(out && gzwrite(out, bytes, (unsigned)size) == (int)size);
    static const char zeros[65536];
    for (; more > 0; more -= sizeof zeros) CHECK(gzwrite(out, zeros, sizeof zeros) == sizeof zeros);
    CHECK(gzclose(out) == Z_OK);
    free(bytes);
    jf_context_free(ctx);
    return path;
}

/* ---- values ---- */

TEST(idx__raw_and_compressed_files_give_the_same_values) {
    static const uint8_t values[12] = {0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255};
    const char *raw = put_idx("a", UBYTE, 3, (uint32_t[]){2, 3, 2}, values, sizeof values);
    const char *paths[] = {raw, compressed(raw, "b.gz", 0), compressed(raw, "no-ending", 0)};
    for (int i = 0; i < 3; i++) {
        jf_context *ctx = new_context();
        idx_array array;
        CHECK_STATUS(idx_read(ctx, &array, paths[i], 3), JF_OK);
        CHECK(array.rank == 3 && array.shape[0] == 2 && array.shape[1] == 3 && array.shape[2] == 2);
        CHECK(memcmp(array.bytes, values, sizeof values) == 0);
        idx_free(&array);
        jf_context_free(ctx);
    }
}

/* ---- what is refused ---- */

TEST(idx__wrong_headers_are_refused_by_what_is_wrong) {
    static const uint8_t values[6] = {1, 2, 3, 4, 5, 6};
    uint32_t extents[] = {1, 2, 3};
    refuse(put_file("f", "PK\3\4 something", 14), 3, JF_ERROR_FORMAT,
           "not an IDX file: it begins with 50 4b");
    refuse(put_idx("f", 0x0D, 3, extents, values, 6), 3, JF_ERROR_FORMAT, "type: found 0x0d (32-bit reals)");
    refuse(put_idx("f", 0x77, 3, extents, values, 6), 3, JF_ERROR_FORMAT, "0x77 (unknown)");
    refuse(put_idx("f", UBYTE, 3, extents, values, 6), 1, JF_ERROR_FORMAT, "found 3 dimensions, expected 1");
    extents[1] = 0;
    refuse(put_idx("f", UBYTE, 3, extents, values, 6), 3, JF_ERROR_FORMAT, "extent 2 is 0");
    refuse(put_file("f", "\0\0\10\3\0\0", 6), 3, JF_ERROR_FORMAT,
           "ends after 6 bytes, expected a header of 16");
    refuse(put_file("f", "", 0), 3, JF_ERROR_FORMAT, "ends after 0 bytes");
    refuse(test_path("missing"), 3, JF_ERROR_IO, "could not be opened");
    refuse(test_folder(), 3, JF_ERROR_IO, "is a folder; expected a file");
}

TEST(idx__content_must_be_as_long_as_announced) {
    static const uint8_t values[100];
    const char *shorter = put_idx("s", UBYTE, 3, (uint32_t[]){60000, 28, 28}, values, 100);
    refuse(shorter, 3, JF_ERROR_FORMAT, "116 bytes of content, expected 47040016");
    refuse(compressed(shorter, "s.gz", 0), 3, JF_ERROR_FORMAT, "116 bytes of content");
    const char *longer = put_idx("l", UBYTE, 3, (uint32_t[]){1, 9, 11}, values, 100);
    refuse(longer, 3, JF_ERROR_FORMAT, "too large");
}

TEST(idx__extents_whose_product_overflows_are_refused) {
    static const uint8_t values[100];
    static const uint32_t extents[][3] = {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
                                          {0x10000, 0x10000, 0x10000},
                                          {0xFFFFFFFF, 1, 1},
                                          {1, 0x80000000, 2}};
    for (int i = 0; i < 4; i++)
        refuse(put_idx("f", UBYTE, 3, extents[i], values, 100), 3, JF_ERROR_FORMAT,
               "more than 2147483648 values");
}

TEST(idx__a_small_file_that_unfolds_into_much_costs_no_memory) {
    static const uint8_t values[100];
    const char *raw = put_idx("f", UBYTE, 1, (uint32_t[]){100}, values, 100);
    const char *bomb = compressed(raw, "bomb.gz", 128 << 20);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    refuse(bomb, 1, JF_ERROR_FORMAT, "too large; expected at most 108 bytes");
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024); /* KiB */
}

TEST(idx__damaged_files_are_read_or_refused_with_a_message) {
    jf_context *ctx = new_context();
    static uint8_t values[300];
    const char *path = put_idx("good", UBYTE, 3, (uint32_t[]){3, 10, 10}, values, sizeof values);
    const char *packed = compressed(path, "good.gz", 0), *bad = test_path("bad");
    int refused = 0;
    for (int i = 0; i < 1500; i++) {
        char *bytes;
        size_t size;
        CHECK_STATUS(file_read(ctx, &bytes, &size, i % 2 ? path : packed, 1 << 20), JF_OK);
        rng random = rng_stream((rng_key){5, RNG_TEST, 0}, (uint64_t)i);
        put_quickly(bad, bytes, damage(&random, bytes, size));
        free(bytes);
        idx_array array;
        jf_status status = idx_read(ctx, &array, bad, 3);
        if (status == JF_OK) {
            CHECK(array.shape[0] * array.shape[1] * array.shape[2] == 300); /* the damage is in the values */
        } else {
            CHECK(array.bytes == NULL);
            CHECK_HAS(jf_context_error(ctx), bad);
            refused++;
        }
        idx_free(&array);
    }
    CHECK(refused > 700);
    jf_context_free(ctx);
}
