/* Tests of the formats in src/io: JSON, NumPy, CSV, safetensors. */
#include "test.h"

#include "base/file.h"
#include "base/random.h"
#include "io/csv.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <stdint.h>

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

/* A file with these bytes in the folder of the test. */
static const char *put_file(const char *name, const void *bytes, size_t size) {
    jf_context *ctx = new_context();
    const char *path = test_path(name);
    CHECK_STATUS(file_write(ctx, path, bytes, size), JF_OK);
    jf_context_free(ctx);
    return path;
}

/* The same for many small files in turn: nothing is brought to the disk, and an old file is not overwritten,
 * which some file systems answer by writing at once. */
static void put_quickly(const char *path, const char *bytes, size_t size) {
    remove(path);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Cuts, flips or replaces bytes of a good file; at least one thing is done. */
static size_t damage(rng *random, char *bytes, size_t size) {
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

/* ---- JSON ---- */

TEST(json__strings_are_escaped) {
    text t = {0};
    json_add_string(&t, "a\"b\\c\nd\te\x01\x7f \xC3\xA9 \xF0\x9F\x98\x80");
    CHECK_TEXT(t.chars, "\"a\\\"b\\\\c\\nd\\u0009e\\u0001\\u007f \xC3\xA9 \xF0\x9F\x98\x80\"");
    text_free(&t);
    json_add_string(&t, "\xC3(\xFF\xED\xA0\x80");
    CHECK_TEXT(t.chars, "\"\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    text_free(&t);
}

TEST(json__numbers_read_back_the_same_with_few_digits) {
    static const struct {
        double number;
        const char *chars;
    } cases[] = {{0.1, "0.1"},
                 {1, "1"},
                 {-0.5, "-0.5"},
                 {1e300, "1e+300"},
                 {NAN, "null"},
                 {INFINITY, "null"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "4.94065645841247e-324"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        json_add_number(&t, cases[i].number);
        CHECK_TEXT(t.chars, cases[i].chars);
        text_free(&t);
    }
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 2, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < 1000; i++) {
        double number = rng_normal(&random) * exp(100 * rng_normal(&random));
        text t = {0};
        json *value = NULL;
        json_add_number(&t, number);
        CHECK_STATUS(json_parse(ctx, &value, t.chars, t.length, "n"), JF_OK);
        CHECK(json_number(value) == number);
        json_free(value);
        text_free(&t);
    }
    jf_context_free(ctx);
}

TEST(json__reads_every_kind_of_value) {
    static const char good[] =
        " {\"a\" : [1, -2.5e1, true, false, null, []], \"b\\u00e9\\ud83d\\ude00\": {},\n"
        "\"\":\"x\\n\\\"\\\\\\/\\b\\f\\r\\t\"} \r\n";
    jf_context *ctx = new_context();
    json *root = NULL;
    CHECK_STATUS(json_parse(ctx, &root, good, sizeof good - 1, "j"), JF_OK);
    CHECK(json_kind(root) == JSON_OBJECT && json_count(root) == 3);
    const json *list = json_find(root, "a"), *e = json_first(list);
    CHECK(json_kind(list) == JSON_LIST && json_count(list) == 6);
    size_t size = 0;
    CHECK(json_size(e, &size) && size == 1 && json_key(e) == NULL);
    e = json_next(e);
    CHECK(json_number(e) == -25 && !json_size(e, &size) && json_string(e) == NULL);
    e = json_next(e);
    CHECK(json_bool(e) && !json_bool(json_next(e)) && isnan(json_number(e)));
    e = json_next(json_next(e));
    CHECK(json_kind(e) == JSON_NULL && json_first(json_next(e)) == NULL && json_next(json_next(e)) == NULL);
    CHECK(json_kind(json_find(root, "b\xC3\xA9\xF0\x9F\x98\x80")) == JSON_OBJECT);
    CHECK_TEXT(json_string(json_find(root, "")), "x\n\"\\/\b\f\r\t");
    CHECK(json_find(root, "c") == NULL && json_find(list, "a") == NULL);
    CHECK_TEXT(json_kind_name(list), "a list");
    json_free(root);
    jf_context_free(ctx);
}

static void refuse_json(const char *chars, const char *message) {
    jf_context *ctx = new_context();
    json *root = NULL;
    CHECK_STATUS(json_parse(ctx, &root, chars, strlen(chars), "j"), JF_ERROR_FORMAT);
    CHECK(root == NULL);
    CHECK_TEXT(jf_context_error(ctx), message);
    jf_context_free(ctx);
}

TEST(json__refuses_what_is_not_json) {
    refuse_json("", "j: ends too early; expected a value");
    refuse_json("{\"a\":1", "j: ends too early; expected ',' or '}'");
    refuse_json("[1,]", "j: byte 3: found ']', expected a value");
    refuse_json("[1 2]", "j: byte 3: found '2', expected ',' or ']'");
    refuse_json("{1:2}", "j: byte 1: found '1', expected a string");
    refuse_json("{\"a\" 2}", "j: byte 5: found '2', expected ':'");
    refuse_json("{\"a\":1,\"b\":2,\"a\":3}", "j: key \"a\" comes twice");
    refuse_json("1 1", "j: byte 2: found '1', expected nothing after the value");
    refuse_json("nul", "j: byte 0: found 'n', expected a value");
    refuse_json("\"a", "j: ends too early; expected the end of a string");
    refuse_json("\"a\nb\"", "j: byte 2: found code 10, expected text in UTF-8");
    refuse_json("\"\xC0\x80\"", "j: byte 1: found code 192, expected text in UTF-8");
    refuse_json("\"\\x\"", "j: byte 1: found '\\', expected one of the escape sequences of JSON");
    refuse_json("\"\\", "j: ends too early; expected an escape sequence");
    refuse_json("\"\\u12G4\"", "j: byte 1: found '\\', expected \\uXXXX other than \\u0000");
    refuse_json("\"\\u0000\"", "j: byte 1: found '\\', expected \\uXXXX other than \\u0000");
    refuse_json("\"\\ud800x\"", "j: byte 1: found '\\', expected a pair of surrogates");
    refuse_json("\"\\udc00\\ud800\"", "j: byte 1: found '\\', expected a pair of surrogates");
    static const char *const numbers[] = {"01",  "-",     "+1",  ".5",  "1.", "1e",
                                          "1e+", "1e999", "inf", "NaN", "0x1"};
    jf_context *ctx = new_context();
    json *root = NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (json_parse(ctx, &root, numbers[i], strlen(numbers[i]), "j") != JF_ERROR_FORMAT)
            test_fail(__FILE__, __LINE__, "\"%s\" was read", numbers[i]);
    jf_context_free(ctx);
}

TEST(json__refuses_what_is_too_deep_too_long_or_too_much) {
    jf_context *ctx = new_context();
    json *root = NULL;
    size_t size = ((size_t)1 << 24) + 1;
    char *chars = malloc(size);
    memset(chars, '[', size);
    CHECK_STATUS(json_parse(ctx, &root, chars, 1000, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "expected at most 32 levels of brackets");
    CHECK_STATUS(json_parse(ctx, &root, chars, size, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "bytes of JSON; expected at most 16777216");
    CHECK_STATUS(json_parse(ctx, &root, chars, size - 1, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "values; expected at most 1048576");
    memset(chars, '1', size);
    CHECK_STATUS(json_parse(ctx, &root, chars, 1000, "j"), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "a number of fewer than 64 characters");
    free(chars);
    jf_context_free(ctx);
}

/* ---- NumPy ---- */

/* A file as NumPy writes it, version 1.0: magic, length, header padded to 64 bytes, data. */
static const char *put_npy(const char *header, const void *data, size_t size) {
    char file[4096] = "\x93NUMPY\x01";
    size_t length = strlen(header), padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    file[8] = (char)padded;
    file[9] = (char)(padded >> 8);
    memset(file + 10, ' ', padded);
    memcpy(file + 10, header, length);
    file[10 + padded - 1] = '\n';
    if (size) memcpy(file + 10 + padded, data, size);
    return put_file("array.npy", file, 10 + padded + size);
}

static void expect_npy(const char *header, const void *data, size_t size, size_t count,
                       const double *expected) {
    jf_context *ctx = new_context();
    double *values = NULL;
    int rank = -1;
    size_t shape[8];
    if (npy_read(ctx, put_npy(header, data, size), &values, &rank, shape) != JF_OK)
        test_fail(__FILE__, __LINE__, "refused: %s", jf_context_error(ctx));
    for (size_t i = 0; i < count; i++) CHECK(values[i] == expected[i]);
    free(values);
    jf_context_free(ctx);
}

static void refuse_npy(const char *header, const void *data, size_t size, const char *part) {
    jf_context *ctx = new_context();
    double *values = NULL;
    int rank = -1;
    size_t shape[8];
    CHECK_STATUS(npy_read(ctx, put_npy(header, data, size), &values, &rank, shape), JF_ERROR_FORMAT);
    CHECK(values == NULL);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK_HAS(jf_context_error(ctx), "array.npy: ");
    jf_context_free(ctx);
}

TEST(npy__write_then_read_gives_the_same_values) {
    jf_context *ctx = new_context();
    const char *path = test_path("array.npy");
    static const double values[6] = {1, -2.5, 1e300, 0.1, -0.0, 5e-324};
    static const size_t shapes[][3] = {{6, 0, 0}, {2, 3, 0}, {3, 1, 2}};
    for (int rank = 1; rank <= 3; rank++) {
        double *read = NULL;
        int read_rank = -1;
        size_t shape[8];
        CHECK_STATUS(npy_write(ctx, path, values, rank, shapes[rank - 1], 0), JF_OK);
        CHECK_STATUS(npy_read(ctx, path, &read, &read_rank, shape), JF_OK);
        CHECK(read_rank == rank && memcmp(shape, shapes[rank - 1], (size_t)rank * sizeof *shape) == 0);
        CHECK(memcmp(read, values, sizeof values) == 0);
        free(read);
    }
    jf_context_free(ctx);
}

TEST(npy__float32_is_written_rounded_and_scalars_and_empty_arrays_are_fine) {
    jf_context *ctx = new_context();
    const char *path = test_path("array.npy");
    static const double tenth = 0.1;
    static const size_t empty[] = {0, 3};
    double *read = NULL;
    int rank = -1;
    size_t shape[8];
    CHECK_STATUS(npy_write(ctx, path, &tenth, 0, NULL, 1), JF_OK);
    CHECK_STATUS(npy_read(ctx, path, &read, &rank, shape), JF_OK);
    CHECK(rank == 0 && read[0] == (double)0.1f);
    free(read);
    CHECK_STATUS(npy_write(ctx, path, NULL, 2, empty, 0), JF_OK);
    CHECK_STATUS(npy_read(ctx, path, &read, &rank, shape), JF_OK);
    CHECK(rank == 2 && shape[0] == 0 && shape[1] == 3 && read != NULL);
    free(read);
    jf_context_free(ctx);
}

TEST(npy__the_bytes_are_those_that_numpy_writes) {
    jf_context *ctx = new_context();
    static const double values[2] = {1.5, -2};
    static const size_t shape[] = {2};
    /* numpy.save(path, numpy.array([1.5, -2.])) */
    char expected[128 + 16] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
    size_t text_end = 10 + strlen(expected + 10);
    memset(expected + text_end, ' ', 127 - text_end);
    expected[127] = '\n';
    memcpy(expected + 128, values, sizeof values);
    char *bytes = NULL;
    size_t size = 0;
    CHECK_STATUS(npy_write(ctx, test_path("array.npy"), values, 1, shape, 0), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, &size, test_path("array.npy"), 1000), JF_OK);
    CHECK(size == sizeof expected && memcmp(bytes, expected, size) == 0);
    free(bytes);
    jf_context_free(ctx);
}

TEST(npy__reads_every_type) {
    static const float f4[] = {1.5f, -2};
    static const double f8[] = {1.5, -2};
    static const unsigned char u1[] = {0, 255};
    static const int32_t i4[] = {-7, INT32_MAX};
    static const int64_t i8[] = {-7, (int64_t)1 << 40};
    expect_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", f4, sizeof f4, 2, f8);
    expect_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", f8, sizeof f8, 2, f8);
    expect_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", u1, sizeof u1, 2,
               (double[]){0, 255});
    expect_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", i4, sizeof i4, 2,
               (double[]){-7, INT32_MAX});
    expect_npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", i8, sizeof i8, 2,
               (double[]){-7, 0x1p40});
    expect_npy("{'shape':(2,1),'fortran_order':False,'descr':'<f8'}", f8, sizeof f8, 2, f8);
}

TEST(npy__reads_version_2) {
    jf_context *ctx = new_context();
    static const char header[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n";
    char file[12 + sizeof header] = "\x93NUMPY\x02";
    file[8] = sizeof header - 1;
    memcpy(file + 12, header, sizeof header - 1);
    file[sizeof file - 1] = 9;
    double *values = NULL;
    int rank = 0;
    size_t shape[8];
    CHECK_STATUS(npy_read(ctx, put_file("2.npy", file, sizeof file), &values, &rank, shape), JF_OK);
    CHECK(rank == 1 && shape[0] == 1 && values[0] == 9);
    free(values);
    file[11] = 0x7f; /* a header of 2 GB */
    CHECK_STATUS(npy_read(ctx, put_file("2.npy", file, sizeof file), &values, &rank, shape), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "2.npy: ends after 71 bytes, within a header of");
    CHECK_STATUS(npy_read(ctx, put_file("2.npy", file, 11), &values, &rank, shape), JF_ERROR_FORMAT);
    jf_context_free(ctx);
}

TEST(npy__refuses_what_it_cannot_read) {
    static const double data[] = {1, 2, 3};
    refuse_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }", data, 24,
               "the array is in Fortran order; expected C order");
    refuse_npy("{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }", data, 24,
               "header: found \"'>f8', 'fortran_order': \", expected a type of");
    refuse_npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }", data, 24, "a type of");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", data, 24,
               "24 bytes of values, expected 32 for 4 values of type <f8");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", data, 24,
               "24 bytes of values, expected 16 for 2 values of type <f8");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", data, 24,
               "more values than 64 bits can count");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", data, 0,
               "more values than 64 bits can count");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", data, 0,
               "more values than 64 bits can count");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", data, 24,
               "an extent that fits 64 bits");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,3), }", data, 24,
               "a shape of at most 8 extents");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }", data, 24, "expected an extent");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3 1), }", data, 24, "expected ',' or ')'");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': 3, }", data, 24, "a shape in parentheses");
    refuse_npy("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (3,), }", data, 24, "True or False");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, }", data, 24, "and 'shape'");
    refuse_npy("{'descr': '<f8', 'descr': '<f4', 'shape': (3,), }", data, 24, "one each of");
    refuse_npy("{'descr': '<f8' 'shape': (3,), }", data, 24, "',' or '}'");
    refuse_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } x", data, 24,
               "the end of the header");
    refuse_npy("['descr']", data, 24, "header: found \"['descr']");
    refuse_npy("", data, 24, "expected '{'");
}

TEST(npy__refuses_other_files_and_other_versions) {
    jf_context *ctx = new_context();
    double *values = NULL;
    int rank = 0;
    size_t shape[8];
    CHECK_STATUS(npy_read(ctx, put_file("x.npy", "x,y\n1,2\n3,4\n", 12), &values, &rank, shape),
                 JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "x.npy: not a NumPy file");
    CHECK_STATUS(npy_read(ctx, put_file("x.npy", "", 0), &values, &rank, shape), JF_ERROR_FORMAT);
    CHECK_STATUS(
        npy_read(ctx, put_file("x.npy", "\x93NUMPY\x03\x00\x00\x00\x00\x00", 12), &values, &rank, shape),
        JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "x.npy: found version 3.0 of the format, expected 1.0 or 2.0");
    CHECK_STATUS(npy_read(ctx, test_path("none.npy"), &values, &rank, shape), JF_ERROR_IO);
    CHECK_STATUS(npy_write(ctx, test_path("x.npy"), NULL, 9, shape, 0), JF_ERROR_ARGUMENT);
    CHECK_STATUS(npy_write(ctx, test_path("x.npy"), NULL, 1, (size_t[]){SIZE_MAX}, 0), JF_ERROR_ARGUMENT);
    jf_context_free(ctx);
}

TEST(npy__damaged_files_are_refused_or_read_but_never_harm) {
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 3, .purpose = RNG_TEST}, 0);
    static const double data[6] = {1, 2, 3, 4, 5, 6};
    static const size_t extents[] = {2, 3};
    const char *path = test_path("damaged.npy");
    char *good = NULL;
    size_t size = 0;
    int refused = 0, read = 0;
    CHECK_STATUS(npy_write(ctx, path, data, 2, extents, 0), JF_OK);
    CHECK_STATUS(file_read(ctx, &good, &size, path, 1000), JF_OK);
    for (int i = 0; i < 1500; i++) {
        char bytes[1000];
        memcpy(bytes, good, size);
        size_t length = damage(&random, bytes, size);
        put_quickly(path, bytes, length);
        double *values = NULL;
        int rank = 0;
        size_t shape[8];
        jf_status status = npy_read(ctx, path, &values, &rank, shape);
        if (status == JF_OK) {
            size_t count = 1;
            for (int d = 0; d < rank; d++) count *= shape[d];
            for (size_t v = 0; v < count; v++) read += values[v] == 1e300; /* all of it can be read */
            read++;
        } else {
            CHECK_STATUS(status, JF_ERROR_FORMAT);
            refused++;
        }
        free(values);
    }
    CHECK(refused > 300 && read > 50);
    free(good);
    jf_context_free(ctx);
}

/* ---- CSV ---- */

static csv_table read_csv(const char *chars) {
    jf_context *ctx = new_context();
    csv_table table;
    if (csv_read(ctx, put_file("t.csv", chars, strlen(chars)), &table) != JF_OK)
        test_fail(__FILE__, __LINE__, "refused: %s", jf_context_error(ctx));
    jf_context_free(ctx);
    return table;
}

static void refuse_csv(const char *chars, size_t size, const char *part) {
    jf_context *ctx = new_context();
    csv_table table;
    CHECK_STATUS(csv_read(ctx, put_file("t.csv", chars, size), &table), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK(table.values == NULL && table.names == NULL && table.rows == 0);
    jf_context_free(ctx);
}

TEST(csv__reads_tables_with_any_separator) {
    static const char *const files[] = {"1,2,3\n4,5,6\n",
                                        "1;2;3\n4;5;6",
                                        "1\t2\t3\r\n4\t5\t6\r\n",
                                        "  1 2   3 \n4\t5 6\n",
                                        "1, 2 ,3\n\n# comment\n 4,5 ,  6  \n\n",
                                        "\xEF\xBB\xBF# marked\n1,2,3\n4,5,6\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        csv_table t = read_csv(files[i]);
        CHECK(t.rows == 2 && t.columns == 3 && t.names == NULL);
        for (int v = 0; v < 6; v++) CHECK(t.values[v] == v + 1);
        csv_free(&t);
        CHECK(t.values == NULL);
    }
}

TEST(csv__the_first_line_is_a_header_if_it_is_not_all_numbers) {
    csv_table t = read_csv("# made by hand\n\nx, \"y, in \"\"m\"\"\",3\n1,2,3\n");
    CHECK(t.rows == 1 && t.columns == 3 && t.names != NULL);
    CHECK_TEXT(t.names[0], "x");
    CHECK_TEXT(t.names[1], "y, in \"m\"");
    CHECK_TEXT(t.names[2], "3");
    csv_free(&t);
    t = read_csv("alpha beta\n1 2\n3 4\n");
    CHECK(t.rows == 2 && t.columns == 2);
    CHECK_TEXT(t.names[1], "beta");
    csv_free(&t);
    t = read_csv(",x\n0,1\n"); /* an unnamed first column, as spreadsheets write it */
    CHECK_TEXT(t.names[0], "");
    csv_free(&t);
    t = read_csv("nan,-inf\n1e3,+.5\n");
    CHECK(t.names == NULL && t.rows == 2 && isnan(t.values[0]) && t.values[1] == -INFINITY);
    CHECK(t.values[2] == 1000 && t.values[3] == 0.5);
    csv_free(&t);
}

TEST(csv__refuses_rows_that_do_not_fit_with_line_and_column) {
#define REFUSE_CSV(chars, part) refuse_csv(chars, sizeof chars - 1, part)
    REFUSE_CSV("1,2\n3\n", "t.csv:2: found 1 columns, expected 2 as in line 1");
    REFUSE_CSV("a,b\n\n1,2,3\n", "t.csv:3: found 3 columns, expected 2 as in line 1");
    REFUSE_CSV("1,2\n3,4,\n", "t.csv:2: found 3 columns, expected 2 as in line 1");
    REFUSE_CSV("a,b\n1,2\n3,x4\n", "t.csv:3: column 2 (\"b\"): found \"x4\", expected a number");
    REFUSE_CSV("1,2\n3,4x\n", "t.csv:2: column 2: found \"4x\", expected a number");
    REFUSE_CSV("1,2\n,4\n", "t.csv:2: column 1: found \"\", expected a number");
    REFUSE_CSV("1,,2\n", "t.csv:1: column 2: found \"\", expected a number");
    REFUSE_CSV("1;2\n1,5;2\n", "t.csv:2: column 1: found \"1,5\", expected a number");
    REFUSE_CSV("1,2\n0x10,2\n", "t.csv:2: column 1: found \"0x10\", expected a number");
    REFUSE_CSV("\"1\",\"2\"\n\"3\",\"4\"\n", "t.csv:2: column 1 (\"1\"): found '\"3\"', expected a number");
    REFUSE_CSV("", "t.csv: found no rows of numbers, expected at least one");
    REFUSE_CSV("\n# only a comment\n", "t.csv: found no rows of numbers");
    REFUSE_CSV("a,b\n", "t.csv: found no rows of numbers");
    REFUSE_CSV("1,2\n3,\0004\n", "t.csv: not a text file");
    REFUSE_CSV("1\n\x1b[31m\n", "t.csv:2: column 1: found \"?[31m\", expected a number");
}

TEST(csv__write_then_read_gives_the_same_floats_and_names) {
    jf_context *ctx = new_context();
    const char *path = test_path("t.csv");
    enum { ROWS = 200, COLUMNS = 3 };
    static const char *const names[COLUMNS] = {"1e5", "#a \"b\"; c", ""};
    double values[ROWS * COLUMNS];
    rng random = rng_stream((rng_key){.seed = 4, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (double)(float)(rng_normal(&random) * exp(20 * rng_normal(&random)));
    values[4] = INFINITY;
    CHECK_STATUS(csv_write(ctx, path, names, values, ROWS, COLUMNS), JF_OK);
    csv_table t;
    CHECK_STATUS(csv_read(ctx, path, &t), JF_OK);
    CHECK(t.rows == ROWS && t.columns == COLUMNS && t.names != NULL);
    for (int i = 0; i < COLUMNS; i++) CHECK_TEXT(t.names[i], names[i]);
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK((float)t.values[i] == (float)values[i]);
    csv_free(&t);
    static const char *const one[] = {"two words"};
    CHECK_STATUS(csv_write(ctx, path, one, values, 2, 1), JF_OK);
    CHECK_STATUS(csv_read(ctx, path, &t), JF_OK);
    CHECK(t.columns == 1 && t.rows == 2);
    CHECK_TEXT(t.names[0], "two words");
    csv_free(&t);
    jf_context_free(ctx);
}

TEST(csv__writes_plain_text) {
    jf_context *ctx = new_context();
    static const char *const names[] = {"x", "y"}, *const broken[] = {"x", "y\nz"};
    static const double values[] = {0.1, -2, 1e-10, 123456789};
    char *chars = NULL;
    size_t size = 0;
    CHECK_STATUS(csv_write(ctx, test_path("t.csv"), names, values, 2, 2), JF_OK);
    CHECK_STATUS(file_read(ctx, &chars, &size, test_path("t.csv"), 1000), JF_OK);
    CHECK_TEXT(chars, "x,y\n0.1,-2\n1e-10,123456789\n");
    free(chars);
    CHECK_STATUS(csv_write(ctx, test_path("t.csv"), broken, values, 2, 2), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "a column name holds a line break");
    CHECK_STATUS(csv_write(ctx, test_path("t.csv"), NULL, values, 2, 0), JF_ERROR_ARGUMENT);
    CHECK_STATUS(csv_write(ctx, "/nowhere/t.csv", NULL, values, 2, 2), JF_ERROR_IO);
    CHECK_STATUS(csv_read(ctx, "/nowhere/t.csv", &(csv_table){0}), JF_ERROR_IO);
    jf_context_free(ctx);
}

TEST(csv__damaged_files_are_refused_or_read_but_never_harm) {
    static const char good[] = "\"x, in m\",y,z\n0.5,-1e-3,7\n# between\n1.25,nan,8\n  3 , 4,\t5\n10,11,12\n";
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 5, .purpose = RNG_TEST}, 0);
    const char *path = test_path("damaged.csv");
    int refused = 0, read = 0;
    for (int i = 0; i < 1500; i++) {
        char bytes[sizeof good];
        memcpy(bytes, good, sizeof good);
        size_t length = damage(&random, bytes, sizeof good - 1);
        put_quickly(path, bytes, length);
        csv_table t;
        jf_status status = csv_read(ctx, path, &t);
        if (status == JF_OK) {
            CHECK(t.rows > 0 && t.columns > 0);
            for (size_t v = 0; v < t.rows * t.columns; v++) read += t.values[v] == 1e300;
            for (size_t c = 0; t.names && c < t.columns; c++) CHECK(strlen(t.names[c]) < sizeof good);
            read++;
        } else {
            CHECK_STATUS(status, JF_ERROR_FORMAT);
            refused++;
        }
        csv_free(&t);
    }
    CHECK(refused > 300 && read > 100);
    jf_context_free(ctx);
}

/* ---- safetensors ---- */

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
    refuse_tensors("{\"a\":", 0, "header: ends too early");
    refuse_tensors("{\"a\":1}", 0, "tensor \"a\": found a number, expected an object");
    refuse_tensors("{\"__metadata__\":{\"k\":1}}", 0, "expected an object of strings");
    refuse_tensors("{\"__metadata__\":[]}", 0, "expected an object of strings");
    refuse_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, "found other keys");
    refuse_tensors("{\"a\":{\"d\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "found no \"dtype\"");
    refuse_tensors("{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                   "found a number, expected a \"dtype\"");
    refuse_tensors("{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "tensor \"a\": found type \"BF16\", expected F32, F64, I32 or I64");
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
    refuse_tensors("{" ENTRY("a", 0, 8) "," ENTRY("a", 8, 16) "}", 16, "key \"a\" comes twice");
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
