/* Tables as users have them: x and y in files of their own, columns by name, many columns, more rows than
 * memory. */
#include "data/split.h"
#include "data_fixture.h"
#include "format_fixture.h"
#include "io/npy.h"
#include "io/rows.h"
#include "train/table_recipe.h"

#include <sys/resource.h>
#include <unistd.h>

static const char *put_text(const char *name, const char *content) {
    return put_file(name, content, strlen(content));
}

static const char *put_array(const char *name, const double *values, size_t rows, size_t columns,
                             int as_float) {
    jf_context *ctx = new_context();
    CHECK_STATUS(npy_write(ctx, test_path(name), values, 2, (size_t[]){rows, columns}, as_float), JF_OK);
    jf_context_free(ctx);
    return test_path(name);
}

/* ---- which rows are held out ---- */

TEST(split__numbers_every_row_once_those_to_train_on_first_in_the_order_of_the_file) {
    static const size_t sizes[] = {2, 63, 64, 65, 511, 512, 513, 5000};
    jf_context *ctx = new_context();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int tenths = 0; tenths <= 9; tenths += 3) {
            size_t rows = sizes[i], held = rows * (size_t)tenths / 10, last[2] = {0, 0};
            static char seen[5000];
            row_split s;
            memset(seen, 0, sizeof seen);
            CHECK_STATUS(split_create(ctx, &s, rows, held), JF_OK);
            for (size_t row = 0; row < rows; row++) {
                int part = row >= rows - held;
                size_t at = split_file_row(&s, row);
                CHECK(at < rows && !seen[at]++);
                if (row != 0 && row != rows - held) CHECK(at > last[part]);
                last[part] = at;
            }
            split_free(&s);
        }
    jf_context_free(ctx);
}

/* ---- files of rows ---- */

TEST(rows__of_an_array_are_those_of_the_same_table_as_text) {
    const double values[] = {1, 2, 3, 4.5, -5, 6};
    jf_context *ctx = new_context();
    const char *paths[] = {put_array("d.npy", values, 3, 2, 0), put_array("f.npy", values, 3, 2, 1),
                           put_text("t.csv", "1,2\n3,4.5\n-5,6\n")};
    for (int i = 0; i < 3; i++) {
        row_file *f;
        CHECK_STATUS(row_file_open(ctx, &f, paths[i]), JF_OK);
        CHECK(row_file_rows(f) == 3 && row_file_columns(f) == 2);
        CHECK(row_file_bytes(f) == (i == 1 ? 24 : 48)); /* all are small enough to be held */
        for (size_t k = 0; k < 6; k++) CHECK(row_file_value(f, k / 2, k % 2) == values[k]);
        row_file_close(f);
    }
    jf_context_free(ctx);
}

TEST(rows__arrays_of_other_shapes_orders_and_types_are_refused_in_words) {
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }", "Fortran order"},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 2), }", "a.astype('<f8')"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2), }", "a type of"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 2, 2), }", "5 dimensions, expected 2"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", "32 bytes of values, expected 48"},
    };
    jf_context *ctx = new_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[256] = "\x93NUMPY\x01\x00\x76";
        row_file *f;
        snprintf(file + 10, sizeof file - 10, "%-117s\n", cases[i].header);
        CHECK(row_file_open(ctx, &f, put_file("a.npy", file, 128 + 32)) < 0);
        CHECK_HAS(jf_context_error(ctx), "a.npy: ");
        CHECK_HAS(jf_context_error(ctx), cases[i].part);
    }
    row_file *f;
    CHECK(row_file_open(ctx, &f, put_file("empty.npy", "", 0)) < 0);
    CHECK_HAS(jf_context_error(ctx), "not a NumPy file");
    jf_context_free(ctx);
}

TEST(rows__arrays_of_three_and_four_axes_keep_them_and_have_all_of_their_numbers_as_columns) {
    static const struct {
        const char *sizes, *axes;
        size_t rows, columns;
    } cases[] = {{"(2, 2)", "", 2, 2}, {"(1, 2, 2)", "2x2", 1, 4}, {"(2, 1, 2, 1)", "1x2x1", 2, 2}};
    const double values[] = {1, 2, 3, 4};
    jf_context *ctx = new_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[256] = "\x93NUMPY\x01\x00\x76", header[128], words[Y_AXES_WORDS];
        row_file *f;
        snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }",
                 cases[i].sizes);
        snprintf(file + 10, sizeof file - 10, "%-117s\n", header);
        memcpy(file + 128, values, sizeof values);
        CHECK_STATUS(row_file_open(ctx, &f, put_file("a.npy", file, 128 + 32)), JF_OK);
        y_axes axes = row_file_axes(f);
        CHECK(row_file_rows(f) == cases[i].rows && row_file_columns(f) == cases[i].columns);
        CHECK(row_file_value(f, cases[i].rows - 1, cases[i].columns - 1) == 4);
        CHECK_TEXT(y_axes_words(&axes, words), cases[i].axes);
        CHECK((row_file_check_flat(ctx, f) == JF_OK) == (axes.rank == 0));
        row_file_close(f);
    }
    jf_context_free(ctx);
}

TEST(rows__columns_are_found_by_name_or_number_and_others_refused_with_what_there_is) {
    static const struct {
        const char *name;
        size_t column;
    } found[] = {{"a 2", 2}, {"b, c", 1}, {"5", 4}, {"a", 0}};
    jf_context *ctx = new_context();
    const char *list = " a 2 ,\"b, c\", 5,a";
    char name[32];
    row_file *f;
    size_t column;
    CHECK_STATUS(row_file_open(ctx, &f, put_text("t.csv", "a,\"b, c\",a 2,d,d\n1,2,3,4,5\n")), JF_OK);
    CHECK(row_names_count(list) == 4 && row_names_count(" ") == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(row_names_next(&list, name));
        CHECK_TEXT(name, found[i].name);
        CHECK_STATUS(row_file_find(ctx, f, name, &column), JF_OK);
        CHECK(column == found[i].column);
    }
    CHECK(!row_names_next(&list, name));
    CHECK_STATUS(row_file_find(ctx, f, "height", &column), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "there is no column \"height\", expected \"a\", \"b, c\", \"a 2\"");
    CHECK_STATUS(row_file_find(ctx, f, "d", &column), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "2 columns are called \"d\"");
    CHECK_STATUS(row_file_find(ctx, f, "6", &column), JF_ERROR_ARGUMENT);
    row_file_close(f);
    jf_context_free(ctx);
}

/* ---- the data set ---- */

TEST(table__x_and_y_may_be_files_of_their_own) {
    char keys[768];
    put_text("x.csv", "a,b\n1,2\n5,6\n9,1\n");
    put_text("y.csv", "c\n3\n8\n1\n");
    snprintf(keys, sizeof keys, "set = table\nfile = %s\ny_file = %s\nx = 2\ny = 1\nvalidation = 0",
             test_path("x.csv"), test_path("y.csv"));
    data_fixture f = data_open(keys);
    double row[3];
    data_row(f.set, 1, row);
    CHECK(row[0] == 5 && row[1] == 6 && row[2] == 8);
    CHECK_TEXT(dataset_name(f.set, 2), "c");
    CHECK(f.set->keeps_names);
    data_close(&f);
    put_text("y.csv", "c\n3\n8\n");
    CHECK_STATUS(data_try_open(&f, keys), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(f.ctx), "y.csv: found 2 rows, expected 3 as in ");
    data_close(&f);
}

TEST(table__columns_may_be_chosen_by_name) {
    char keys[768];
    put_text("t.csv", "a,b,c,d\n1,2,3,4\n5,6,8,8\n9,1,1,9\n");
    snprintf(keys, sizeof keys, "set = table\nfile = %s\ncolumns = d,a,c\nx = 2\ny = 1\nvalidation = 0",
             test_path("t.csv"));
    data_fixture f = data_open(keys);
    double row[3];
    data_row(f.set, 0, row);
    CHECK(row[0] == 4 && row[1] == 1 && row[2] == 3);
    CHECK_TEXT(dataset_name(f.set, 0), "d");
    data_close(&f);
    snprintf(keys, sizeof keys, "set = table\nfile = %s\ncolumns = d,a\nx = 2\ny = 1", test_path("t.csv"));
    CHECK_STATUS(data_try_open(&f, keys), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "data.columns: found 2 columns, expected 2 of x and 1 of y");
    data_close(&f);
}

/* By name, number or both, in one file or by two paths to it. */
TEST(table__a_column_is_x_or_y_and_once) {
    static const struct {
        const char *keys, *words;
    } cases[] = {
        {"columns = a,b,b\nx = 2\ny = 1", "column 2 (\"b\") is x1 and y0, expected each column once"},
        {"columns = a,1\nx = 1\ny = 1", "column 1 (\"a\") is x0 and y0"},
        {"columns = c,a,3\nx = 3\ny = 0", "column 3 (\"c\") is x0 and x2"},
        {"columns = a,b,2\nx = 1\ny = 2", "column 2 (\"b\") is y0 and y1"},
        {"y_file = %s\nx = 1\ny = 1", "column 1 (\"a\") is x0 and y0"},
        {"y_file = %s\ncolumns = a,c,b,3\nx = 2\ny = 2", "column 3 (\"c\") is x1 and y1"}};
    char keys[768];
    const char *path = put_text("t.csv", "a,b,c\n1,2,3\n5,6,8\n9,1,1\n");
    CHECK(symlink(path, test_path("link.csv")) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_fixture f;
        int used = snprintf(keys, sizeof keys, "set = table\nfile = %s\n", path);
        snprintf(keys + used, sizeof keys - (size_t)used, cases[i].keys, test_path("link.csv"));
        CHECK_STATUS(data_try_open(&f, keys), JF_ERROR_DATA);
        CHECK_HAS(jf_context_error(f.ctx), cases[i].words);
        data_close(&f);
    }
    put_text("other.csv", "a,b,c\n1,2,3\n5,6,8\n9,1,1\n"); /* the same names, but another file */
    snprintf(keys, sizeof keys, "set = table\nfile = %s\ny_file = %s\ncolumns = a,c,a\nx = 2\ny = 1", path,
             test_path("other.csv"));
    data_fixture f = data_open(keys);
    data_close(&f);
}

/* Up to five columns, and six, which get bounds of different kinds; nobody sets any. */
TEST(table__found_bounds_of_uniform_columns_far_from_zero_hold_every_row_and_little_more) {
    static const double far[] = {1e3, 1e6, -1e6, 123456789.123, 1e9, 1.7e9, -3e9, 1e11, -1e12};
    static const double wide[] = {1e-3, 1, 7.3, 100, 1e4, 1e6};
    enum { ROWS = 1000, FAR = sizeof far / sizeof *far, WIDE = sizeof wide / sizeof *wide };
    double *values = calloc(ROWS * WIDE, sizeof *values);
    CHECK(values);
    for (int k = 0; k < 2 * FAR; k++) {
        rng random = rng_stream((rng_key){.seed = 3, .purpose = RNG_TEST}, (uint64_t)k);
        int columns = k % 2 ? WIDE : WIDE - 1;
        const char *path = test_path("far.npy");
        for (int i = 0; i < ROWS * columns; i++)
            values[i] = far[k / 2] + wide[WIDE - 1 - i % columns] * rng_uniform(&random);
        jf_context *ctx = new_context();
        recipe *r;
        dataset *d;
        CHECK_STATUS(npy_write(ctx, path, values, 2, (size_t[]){ROWS, (size_t)columns}, 0), JF_OK);
        CHECK_STATUS(table_recipe_create(ctx, &r, &(jf_table_request){.x = path}), JF_OK);
        if (dataset_open(ctx, &d, r) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
        int found = 0;
        for (int i = 0; d->support && i < columns; i++) found += d->support[i].kind != SUPPORT_LINE;
        for (int i = 0; i < columns; i++) {
            double width = wide[WIDE - 1 - i], resolved = width / fabs(far[k / 2]);
            if (resolved < 1e-12) continue; /* a column of few values, which fills nothing */
            CHECK(d->support && d->support[i].kind == (found > 5 ? SUPPORT_UNIFORM : SUPPORT_CUT));
            CHECK(fabs(d->support[i].lo - far[k / 2]) < 0.1 * width);
            CHECK(fabs(d->support[i].hi - far[k / 2] - width) < 0.1 * width);
        }
        dataset_free(d);
        recipe_free(r);
        jf_context_free(ctx);
    }
    free(values);
}

/* Bytes of memory of its own that the process has now. */
static rlim_t data_size(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* An array of 60 MB and 1500 columns under a limit of 6 MB more than the process has. */
TEST(table__an_array_larger_than_memory_is_opened_measured_looked_through_and_fetched) {
    enum { ROWS = 10000, COLUMNS = 1500, MORE = 6 << 20 };
#ifdef SANITIZED
    SKIP("sanitizers take more memory than any limit would leave");
#endif
    if (access("/proc/self/statm", R_OK) != 0) SKIP("there is no /proc to read the size of a process from");
    FILE *file = fopen(test_path("t.npy"), "wb");
    static float line[COLUMNS];
    CHECK(file && fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file) == 10);
    CHECK(fprintf(file, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (10000, 1500), }") ==
          118);
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < COLUMNS; i++) line[i] = (float)((row * 7919 + i * 104729) % 10007);
        CHECK(fwrite(line, sizeof line, 1, file) == 1);
    }
    CHECK(fclose(file) == 0);
    char keys[512];
    snprintf(keys, sizeof keys, "set = table\nfile = %s\nx = 1000\ny = 500", test_path("t.npy"));
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_DATA, &limit) == 0);
    limit.rlim_cur = data_size() + MORE;
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    CHECK(!malloc(2 * MORE)); /* the limit holds */
    data_fixture f = data_open(keys);
    CHECK_STATUS(dataset_examine(f.set), JF_OK);
    CHECK(f.set->dim_x == 1000 && f.set->dim_y == 500 && f.set->rows == 9000 &&
          f.set->validation_rows == 1000);
    char identity[DATASET_MAX_IDENTITY];
    dataset_identity(f.set, identity);
    double *points = data_points(f.set, 3, -1);
    int row = 0; /* which the first column tells */
    while ((float)((row * 7919) % 10007) != (float)points[0]) row++;
    for (int i = 0; i < COLUMNS; i++) CHECK(points[i] == (row * 7919 + i * 104729) % 10007);
    free(points);
    data_close(&f);
}
