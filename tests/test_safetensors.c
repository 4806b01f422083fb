/* Tests of safetensors files. */
#include "format_fixture.h"

#include "io/safetensors.h"

static const float some_f32[] = {1.5f, -2, 3};
static const double some_f64[] = {0.1, 1e300};
static const int32_t some_i32[] = {-7, 8};
static const int64_t some_i64[] = {(int64_t)1 << 60};
static const tensor some_tensors[] = {
    {"net.0.weight", TENSOR_F32, 2, {1, 3}, some_f32},
    {"scale \"\xC3\xA9\"", TENSOR_F64, 1, {2}, some_f64},
    {"order", TENSOR_I32, 1, {2}, some_i32},
    {"empty", TENSOR_F32, 2, {0, 4}, NULL},
    {"step", TENSOR_I64, 0, {0}, some_i64},
};
enum { SOME = sizeof some_tensors / sizeof *some_tensors };
static const tensor_note some_notes[] = {{"recipe", "[train]\nrate = 0.1\t# \"fast\"\n"}, {"format", "1"}};

TEST(safetensors__write_then_read_gives_the_same_tensors_and_notes) {
    jf_context *ctx = new_context();
    const char *path = test_path("m.safetensors");
    tensor_file *file = NULL;
    CHECK_STATUS(tensors_write(ctx, path, some_tensors, SOME, some_notes, 2), JF_OK);
    CHECK_STATUS(tensors_read(ctx, &file, path), JF_OK);
    CHECK(tensors_count(file) == SOME);
    for (size_t i = 0; i < SOME; i++) {
        const tensor *t = tensors_find(file, some_tensors[i].name), *s = &some_tensors[i];
        CHECK(t != NULL && t->type == s->type && t->rank == s->rank);
        CHECK(memcmp(t->shape, s->shape, sizeof t->shape) == 0);
        CHECK((uintptr_t)t->data % 64 == 0);
        size_t bytes = tensor_elements(t) * tensor_type_size(t->type);
        CHECK(bytes == 0 || memcmp(t->data, s->data, bytes) == 0);
    }
    CHECK_TEXT(tensors_at(file, 0)->name, "net.0.weight"); /* in the order given */
    CHECK_TEXT(tensors_at(file, 4)->name, "step");
    CHECK(tensors_at(file, SOME) == NULL && tensors_find(file, "none") == NULL);
    CHECK_TEXT(tensors_note(file, "recipe"), some_notes[0].value);
    CHECK_TEXT(tensors_note(file, "format"), "1");
    CHECK(tensors_note(file, "none") == NULL);
    CHECK_TEXT(tensor_type_name(TENSOR_I64), "I64");
    tensors_free(file);
    tensors_free(NULL);
    jf_context_free(ctx);
}

TEST(safetensors__the_bytes_are_those_of_the_format) {
    jf_context *ctx = new_context();
    const char *path = test_path("m.safetensors");
    static const char header[] = "{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"F32\",\"shape\":[3],"
                                 "\"data_offsets\":[0,12]},\"b\":{\"dtype\":\"F64\",\"shape\":[],"
                                 "\"data_offsets\":[12,20]}}";
    static const tensor tensors[] = {{"a", TENSOR_F32, 1, {3}, some_f32},
                                     {"b", TENSOR_F64, 0, {0}, some_f64}};
    static const tensor_note note = {"k", "v"};
    char *bytes = NULL;
    size_t size = 0, padded = (sizeof header - 1 + 7) / 8 * 8;
    CHECK_STATUS(tensors_write(ctx, path, tensors, 2, &note, 1), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, 1000), JF_OK);
    CHECK(size == 8 + padded + 20);
    uint64_t length = 0;
    memcpy(&length, bytes, 8);
    CHECK(length == padded && memcmp(bytes + 8, header, sizeof header - 1) == 0);
    for (size_t i = sizeof header - 1; i < padded; i++) CHECK(bytes[8 + i] == ' ');
    CHECK(memcmp(bytes + 8 + padded, some_f32, 12) == 0 && memcmp(bytes + 8 + padded + 12, some_f64, 8) == 0);
    free(bytes);
    jf_context_free(ctx);
}

TEST(safetensors__a_file_without_tensors_is_fine) {
    jf_context *ctx = new_context();
    tensor_file *file = NULL;
    CHECK_STATUS(tensors_write(ctx, test_path("m"), NULL, 0, NULL, 0), JF_OK);
    CHECK_STATUS(tensors_read(ctx, &file, test_path("m")), JF_OK);
    CHECK(tensors_count(file) == 0 && tensors_note(file, "k") == NULL);
    tensors_free(file);
    jf_context_free(ctx);
}

TEST(safetensors__refuses_to_write_what_cannot_be_read) {
    jf_context *ctx = new_context();
    const char *path = test_path("m");
    static const tensor twins[] = {{"a", TENSOR_F32, 0, {0}, some_f32}, {"a", TENSOR_F32, 0, {0}, some_f32}};
    static const tensor_note twin_notes[] = {{"k", "1"}, {"j", ""}, {"k", "2"}};
    static const tensor wrong[] = {{"", TENSOR_F32, 0, {0}, some_f32},
                                   {"__metadata__", TENSOR_F32, 0, {0}, some_f32},
                                   {"a", TENSOR_F32, 9, {0}, some_f32},
                                   {"a", (tensor_type)17, 0, {0}, some_f32},
                                   {"a", TENSOR_F32, 2, {SIZE_MAX, 2}, some_f32}};
    CHECK_STATUS(tensors_write(ctx, path, twins, 2, NULL, 0), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "two entries named \"a\"");
    CHECK_STATUS(tensors_write(ctx, path, NULL, 0, twin_notes, 3), JF_ERROR_ARGUMENT);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STATUS(tensors_write(ctx, path, &wrong[i], 1, NULL, 0), JF_ERROR_ARGUMENT);
    CHECK(!file_exists(path));
    CHECK_STATUS(tensors_write(ctx, "/nowhere/m", NULL, 0, NULL, 0), JF_ERROR_IO);
    jf_context_free(ctx);
}

static void refuse_tensors(const char *header, size_t data_size, const char *part) {
    jf_context *ctx = new_context();
    char bytes[2048] = {0};
    uint64_t length = strlen(header);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    tensor_file *file = NULL;
    CHECK_STATUS(tensors_read(ctx, &file, put_file("m", bytes, 8 + length + data_size)), JF_ERROR_FORMAT);
    CHECK(file == NULL);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK_HAS(jf_context_error(ctx), "/m: ");
    jf_context_free(ctx);
}

TEST(safetensors__refuses_headers_that_lie) {
    refuse_tensors("[]", 0, "header: found a list, expected an object");
    refuse_tensors("{\"a\":", 0, "header: byte 5: unexpected token near end of file");
    refuse_tensors("{\"a\":1}", 0, "tensor \"a\": found a number, expected an object");
    refuse_tensors("{\"__metadata__\":{\"k\":1}}", 0, "expected an object of strings");
    refuse_tensors("{\"__metadata__\":[]}", 0, "expected an object of strings");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, "found other keys");
    refuse_tensors("{\"a\":{\"d\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "found no \"dtype\"");
    refuse_tensors("{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                   "found a number, expected a \"dtype\"");
    refuse_tensors("{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "tensor \"a\": found type \"BF16\", expected F32, F64, F16, I32 or I64");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"s\":[1],\"data_offsets\":[0,4]}}", 4, "found no \"shape\"");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "found a number");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "whole numbers");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "whole numbers");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
                   "expected at most 8 extents");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", 4,
                   "one that fits 64 bits");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}}",
                   0, "one that fits 64 bits");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "found 4 bytes, expected 8 for its shape");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4,
                   "found offsets 0 to 8, expected them within the 4 bytes of data");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
                   "found offsets 4 to 0");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "two whole numbers");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"x\":[0,4]}}", 4, "found no \"data_offsets\"");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
                   "found 8 bytes of data, expected 4 for its tensors");
}

TEST(safetensors__refuses_gaps_and_overlaps) {
#define ENTRY(name, begin, end)                                                                              \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"
    refuse_tensors("{" ENTRY("a", 0, 8) "," ENTRY("b", 4, 12) "}", 12,
                   "tensor \"b\": found its data at byte 4, expected 8 (an overlap)");
    refuse_tensors("{" ENTRY("a", 0, 8) "," ENTRY("b", 0, 8) "}", 8, "(an overlap)");
    refuse_tensors("{" ENTRY("a", 12, 20) "," ENTRY("b", 0, 8) "}", 20,
                   "tensor \"a\": found its data at byte 12, expected 8 (a gap)");
    refuse_tensors("{" ENTRY("a", 0, 8) "," ENTRY("a", 8, 16) "}", 16, "duplicate object key near");
}

TEST(safetensors__refuses_lengths_that_do_not_fit_the_file) {
    jf_context *ctx = new_context();
    tensor_file *file = NULL;
    static const uint64_t lengths[] = {0, 1, 3, 1000, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 62};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[10] = "........{}";
        memcpy(bytes, &lengths[i], 8);
        CHECK_STATUS(tensors_read(ctx, &file, put_file("m", bytes, 10)), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(ctx), "not a safetensors file, or cut short: found 10 bytes");
    }
    CHECK_STATUS(tensors_read(ctx, &file, put_file("m", "1234567", 7)), JF_ERROR_FORMAT);
    CHECK_STATUS(tensors_read(ctx, &file, put_file("m", "", 0)), JF_ERROR_FORMAT);
    CHECK_STATUS(tensors_read(ctx, &file, test_path("none")), JF_ERROR_IO);
    CHECK(file == NULL);
    jf_context_free(ctx);
}

TEST(safetensors__damaged_files_are_refused_or_read_but_never_harm) {
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 6, .purpose = RNG_TEST}, 0);
    const char *path = test_path("damaged");
    char *good = NULL;
    size_t size = 0;
    int refused = 0, read = 0;
    CHECK_STATUS(tensors_write(ctx, path, some_tensors, SOME, some_notes, 2), JF_OK);
    CHECK_STATUS(file_read(ctx, &good, &size, path, 10000), JF_OK);
    for (int i = 0; i < 3000; i++) {
        char bytes[10000];
        memcpy(bytes, good, size);
        size_t length = damage(&random, bytes, size);
        put_quickly(path, bytes, length);
        tensor_file *file = NULL;
        jf_status status = tensors_read(ctx, &file, path);
        if (status == JF_OK) {
            for (size_t k = 0; k < tensors_count(file); k++) {
                const tensor *t = tensors_at(file, k);
                const char *data = t->data;
                for (size_t b = 0; b < tensor_elements(t) * tensor_type_size(t->type); b++)
                    read += data[b] == 0 && b > 99;
            }
            read++;
        } else {
            CHECK_STATUS(status, JF_ERROR_FORMAT);
            refused++;
        }
        tensors_free(file);
    }
    CHECK(refused > 1000 && read > 100);
    free(good);
    jf_context_free(ctx);
}

TEST(safetensors__a_summed_file_tells_every_flipped_bit) {
    jf_context *ctx = new_context();
    const char *path = test_path("summed");
    char *bytes = NULL;
    size_t size = 0;
    CHECK_STATUS(
        tensors_write_summed(ctx, path, some_tensors, SOME, some_notes, 2, TENSORS_FILE_SUM, file_replace),
        JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, 10000), JF_OK);
    for (size_t bit = 0; bit <= 8 * size; bit++) {
        tensor_file *file = NULL;
        if (bit < 8 * size) bytes[bit / 8] ^= (char)(1 << bit % 8);
        put_quickly(path, bytes, size);
        jf_status status = tensors_read(ctx, &file, path);
        if (status == JF_OK) status = tensors_check_file(ctx, file, path);
        CHECK_STATUS(status, bit < 8 * size ? JF_ERROR_FORMAT : JF_OK); /* the last one is whole */
        if (bit < 8 * size) bytes[bit / 8] ^= (char)(1 << bit % 8);
        tensors_free(file);
    }
    free(bytes);
    jf_context_free(ctx);
}

TEST(safetensors__a_sum_of_the_content_is_that_of_its_notes_and_tensors) {
    static const char *const keys[] = {"recipe", "format"};
    jf_context *ctx = new_context();
    const char *path = test_path("summed");
    tensor_file *file = NULL;
    CHECK_STATUS(
        tensors_write_summed(ctx, path, some_tensors, SOME, some_notes, 2, TENSORS_CONTENT_SUM, file_replace),
        JF_OK);
    CHECK_STATUS(tensors_read(ctx, &file, path), JF_OK);
    CHECK_STATUS(tensors_check_content(ctx, file, path, keys, 2), JF_OK);
    CHECK_STATUS(tensors_check_content(ctx, file, path, keys, 1), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "summed: damaged: found content with checksum ");
    CHECK_STATUS(tensors_check_file(ctx, file, path), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "its checksum (\"file_checksum\") is missing");
    tensors_free(file);
    CHECK_STATUS(tensors_write_summed(ctx, path, NULL, 0, NULL, 0, TENSORS_FILE_SUM, file_replace),
                 JF_OK); /* nothing else */
    CHECK_STATUS(tensors_read(ctx, &file, path), JF_OK);
    CHECK_STATUS(tensors_check_file(ctx, file, path), JF_OK);
    tensors_free(file);
    jf_context_free(ctx);
}

/* A file cannot hold other bytes as they are, and what is read has to be what was written. */
TEST(safetensors__text_that_is_not_utf8_is_refused_when_written) {
    jf_context *ctx = new_context();
    const char *path = test_path("m");
    const tensor named = {"caf\xE9", TENSOR_F32, 1, {3}, some_f32};
    const tensor_note key = {"caf\xE9", "x"}, value = {"recipe", "name = caf\xE9"};
    CHECK_STATUS(tensors_write(ctx, path, &named, 1, NULL, 0), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "is not UTF-8, expected text in UTF-8");
    CHECK_STATUS(tensors_write(ctx, path, NULL, 0, &key, 1), JF_ERROR_ARGUMENT);
    CHECK_STATUS(tensors_write_summed(ctx, path, NULL, 0, &value, 1, TENSORS_CONTENT_SUM, file_replace),
                 JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "/m: recipe \"name = caf");
    CHECK(!file_exists(path));
    jf_context_free(ctx);
}
