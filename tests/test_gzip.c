/* Tests of src/io/gzip.c: files as gzip writes them, and what may go wrong with them. */
#include "format_fixture.h"

#include "io/gzip.h"

#include <sys/resource.h>
#include <zlib.h>

enum { SIZE = 200000 }; /* several chunks of every buffer on the way */

/* Bytes that compress somewhat: the noise of a generator, with runs in between. */
static char *new_content(size_t size) {
    char *content = malloc(size + 1);
    CHECK(content != NULL);
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        content[i] = i % 1000 < 400 ? 'x' : (char)(state >> 24);
    }
    return content;
}

/* One gzip member that holds `content` so many times; *out is to be freed, and has room for some bytes
 * more. */
static size_t compress_repeated(char **out, const char *content, size_t size, int times) {
    z_stream z = {0};
    CHECK(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    size_t room = deflateBound(&z, (uLong)size) + 1000 * (size_t)times;
    *out = malloc(room);
    CHECK(*out != NULL);
    z.next_out = (Bytef *)*out;
    z.avail_out = (uInt)room;
    for (int i = 0; i < times; i++) {
        z.next_in = (Bytef *)content;
        z.avail_in = (uInt)size;
        CHECK(deflate(&z, i == times - 1 ? Z_FINISH : Z_NO_FLUSH) == (i == times - 1 ? Z_STREAM_END : Z_OK));
    }
    size_t length = z.total_out;
    deflateEnd(&z);
    return length;
}

static size_t compress_gzip(char **out, const char *content, size_t size) {
    return compress_repeated(out, content, size, 1);
}

static void check_reads(const char *path, const char *expected, size_t expected_size) {
    jf_context *ctx = new_context();
    uint8_t *found;
    size_t size;
    CHECK_STATUS(gzip_read(ctx, &found, &size, path, expected_size), JF_OK); /* the limit is inclusive */
    CHECK(size == expected_size);
    CHECK(memcmp(found, expected, size) == 0);
    free(found);
    jf_context_free(ctx);
}

static void check_refuses(const char *path, size_t limit, const char *why) {
    jf_context *ctx = new_context();
    uint8_t *found;
    size_t size;
    CHECK_STATUS(gzip_read(ctx, &found, &size, path, limit), JF_ERROR_FORMAT);
    CHECK(found == NULL && size == 0);
    CHECK_HAS(jf_context_error(ctx), path);
    CHECK_HAS(jf_context_error(ctx), why);
    jf_context_free(ctx);
}

TEST(gzip__reads_raw_and_compressed_files_alike) {
    static const size_t sizes[] = {0, 1, 2, 32767, 32768, 32769, SIZE};
    char *content = new_content(SIZE), *packed;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_reads(put_file("raw", content, sizes[i]), content, sizes[i]);
        size_t length = compress_gzip(&packed, content, sizes[i]);
        check_reads(put_file("packed", packed, length), content, sizes[i]); /* by its bytes, not its name */
        free(packed);
    }
    free(content);
}

/* Written by gzip -n -9 from "jointflow\n". */
TEST(gzip__reads_what_the_program_gzip_wrote) {
    static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                     0xcb, 0xca, 0xcf, 0xcc, 0x2b, 0x49, 0xcb, 0xc9, 0x2f, 0xe7,
                                     0x02, 0x00, 0x21, 0x31, 0xa9, 0x86, 0x0a, 0x00, 0x00, 0x00};
    check_reads(put_file("small.gz", packed, sizeof packed), "jointflow\n", 10);
}

TEST(gzip__reads_members_one_after_the_other) {
    char *content = new_content(SIZE), *packed;
    size_t length = compress_gzip(&packed, content, SIZE / 2);
    char *both = malloc(2 * length);
    CHECK(both != NULL);
    memcpy(both, packed, length);
    memcpy(both + length, packed, length);
    memcpy(content + SIZE / 2, content, SIZE / 2);
    check_reads(put_file("both.gz", both, 2 * length), content, SIZE);
    free(both);
    free(packed);
    free(content);
}

TEST(gzip__refuses_truncated_files_wherever_they_end) {
    char *content = new_content(SIZE), *packed;
    size_t length = compress_gzip(&packed, content, SIZE);
    const size_t ends[] = {2, 5, 10, 11, 1000, length / 2, length - 9, length - 8, length - 1};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        check_refuses(put_file("short.gz", packed, ends[i]), SIZE, "truncated");
    free(packed);
    free(content);
}

TEST(gzip__refuses_damaged_files) {
    char *content = new_content(SIZE), *packed;
    size_t length = compress_gzip(&packed, content, SIZE);
    const size_t places[] = {2, length / 2, length - 8, length - 4}; /* method, data, checksum, length */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        packed[places[i]] ^= 0x55;
        check_refuses(put_file("bad.gz", packed, length), 2 * SIZE, "damaged");
        packed[places[i]] ^= 0x55;
    }
    free(packed);
    free(content);
}

TEST(gzip__refuses_what_follows_the_compressed_data) {
    char *content = new_content(SIZE), *packed;
    size_t length = compress_gzip(&packed, content, SIZE);
    packed[length] = '\0';
    check_refuses(put_file("padded.gz", packed, length + 1), SIZE, "something follows");
    memcpy(packed + length, "<html>", 6);
    check_refuses(put_file("garbage.gz", packed, length + 6), SIZE, "something follows");
    free(packed);
    free(content);
}

TEST(gzip__refuses_more_than_the_limit) {
    char *content = new_content(SIZE), *packed;
    size_t length = compress_gzip(&packed, content, SIZE);
    check_refuses(put_file("raw", content, SIZE), SIZE - 1, "expected at most 199999 bytes");
    check_refuses(put_file("packed.gz", packed, length), SIZE - 1, "expected at most 199999 bytes");
    check_refuses(put_file("packed.gz", packed, length), 0, "expected at most 0 bytes");
    free(packed);
    free(content);
}

/* 64 MiB of nothing in some 64 KiB: what is allocated follows the limit, not what the file expands to. */
TEST(gzip__a_bomb_costs_no_more_than_the_limit) {
    enum { PIECE = 1 << 16, PIECES = 1 << 10, LIMIT = 1 << 20 };
    char *nothing = calloc(PIECE, 1), *packed;
    CHECK(nothing != NULL);
    size_t length = compress_repeated(&packed, nothing, PIECE, PIECES);
    CHECK(length < (size_t)PIECE * PIECES / 1000);
    const char *path = put_file("bomb.gz", packed, length);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    check_refuses(path, LIMIT, "too large");
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024); /* KiB */
    free(nothing);
    free(packed);
}

TEST(gzip__names_what_cannot_be_opened_or_read) {
    jf_context *ctx = new_context();
    uint8_t *found;
    size_t size;
    CHECK_STATUS(gzip_read(ctx, &found, &size, test_path("nowhere.gz"), 10), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "nowhere.gz: could not be opened");
    CHECK_STATUS(gzip_read(ctx, &found, &size, test_folder(), 10), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(ctx), "is a folder; expected a file");
    jf_context_free(ctx);
}

TEST(gzip__survives_damage_of_every_kind) {
    jf_context *ctx = new_context();
    char *content = new_content(3000), *packed;
    size_t length = compress_gzip(&packed, content, 3000);
    char *copy = malloc(length);
    CHECK(copy != NULL);
    const char *path = test_path("fuzzed.gz");
    rng random = rng_stream((rng_key){.seed = 7, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < 500; i++) {
        memcpy(copy, packed, length);
        size_t damaged = damage(&random, copy, length);
        put_quickly(path, copy, damaged);
        uint8_t *found;
        size_t size;
        jf_status status = gzip_read(ctx, &found, &size, path, 4000);
        CHECK(status == JF_OK || status == JF_ERROR_FORMAT);
        CHECK(status != JF_OK || size <= 4000);
        free(found);
    }
    free(copy);
    free(packed);
    free(content);
    jf_context_free(ctx);
}
