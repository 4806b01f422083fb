/* Tests of NumPy files. */
#include "format_fixture.h"

#include "io/npy.h"

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
