/* Data sets from files: what is kept, what is refused and how, and the order in which rows are drawn. */
#include "base/file.h"
#include "base/permutation.h"
#include "data_fixture.h"

/* Writes a file of the test's folder and names it in the keys of [data]. */
static const char *keys_for(const char *name, const char *content, const char *more) {
    static char keys[768]; /* valid until the next call */
    FILE *out = fopen(test_path(name), "w");
    CHECK(out);
    CHECK(fputs(content, out) >= 0);
    CHECK(fclose(out) == 0);
    snprintf(keys, sizeof keys, "set = table\nfile = %s\n%s", test_path(name), more);
    return keys;
}

/* The file is refused with this status, and the message mentions both parts. */
static void check_refused(const char *keys, jf_status status, const char *part, const char *other) {
    data_fixture f;
    CHECK_STATUS(data_try_open(&f, keys), status);
    CHECK(!f.set);
    CHECK_HAS(jf_context_error(f.ctx), part);
    CHECK_HAS(jf_context_error(f.ctx), other);
    data_close(&f);
}

/* `rows` rows of (row, row^2, class row % 3) */
static const char *squares(int rows, const char *more) {
    static char content[65536];
    int used = snprintf(content, sizeof content, "a,b,c\n");
    for (int i = 0; i < rows; i++) {
        used += snprintf(content + used, sizeof content - (size_t)used, "%d,%d,%d\n", i, i * i, i % 3);
    }
    return keys_for("squares.csv", content, more);
}

/* ---- what is kept ---- */

TEST(table__columns_become_x_and_y_with_their_names) {
    data_fixture f = data_open(keys_for("t.csv", "a,b,c,d\n1,2,3,4\n5,6,8,8\n9,1,1,8\n", "x = 2\ny = 1"));
    CHECK(f.set->dim_x == 2 && f.set->dim_y == 1 && f.set->classes == 0 && f.set->rows == 3);
    static const double x[] = {1, 2, 5, 6, 9, 1}, y[] = {3, 8, 1};
    double row[3];
    for (int i = 0; i < 3; i++) {
        data_row(f.set, i, row);
        CHECK(row[0] == x[2 * i] && row[1] == x[2 * i + 1] && row[2] == y[i]);
    }
    CHECK_TEXT(dataset_name(f.set, 1), "b");
    CHECK_TEXT(dataset_name(f.set, 2), "c");
    CHECK_NEAR(f.set->mean[0], 5, 1e-14);
    CHECK_NEAR(f.set->deviation[0], sqrt(32 / 3.0), 1e-14);
    CHECK_NEAR(f.set->mean[2], 4, 1e-14);
    CHECK(isnan(dataset_entropy(f.set, -1)));
    data_close(&f);
}

TEST(table__a_large_offset_costs_no_digits) {
    data_fixture f = data_open(keys_for("t.csv", "1e9,1\n1000000001,2\n1000000002,4\n", "x = 2\ny = 0"));
    CHECK_NEAR(f.set->deviation[0], sqrt(2 / 3.0), 1e-12);
    data_close(&f);
}

TEST(table__npy_gives_the_same_as_csv) {
    char header[128];
    int padded = 118; /* so that 10 + length is a multiple of 64 */
    snprintf(header, sizeof header, "%-*s\n", padded - 1,
             "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }");
    const double values[] = {1, 2, 3, 5, 7, 4};
    FILE *out = fopen(test_path("t.npy"), "wb");
    CHECK(out);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
    fwrite(header, 1, (size_t)padded, out);
    fwrite(values, sizeof *values, 6, out);
    CHECK(fclose(out) == 0);
    char keys[512];
    snprintf(keys, sizeof keys, "set = table\nfile = %s\nx = 1\ny = 1", test_path("t.npy"));
    data_fixture binary = data_open(keys);
    data_fixture plain = data_open(keys_for("t.csv", "1,2\n3,5\n7,4\n", "x = 1\ny = 1"));
    CHECK(binary.set->rows == 3);
    for (int i = 0; i < 3; i++) {
        double a[2], b[2];
        data_row(binary.set, i, a);
        data_row(plain.set, i, b);
        CHECK(a[0] == b[0] && a[1] == b[1]);
    }
    CHECK(binary.set->deviation[1] == plain.set->deviation[1]);
    data_close(&binary);
    data_close(&plain);
}

TEST(table__distinct_values_become_classes_in_ascending_order) {
    data_fixture f =
        data_open(keys_for("t.csv", "1,7\n2,-1\n3,2.5\n4,7\n5,2.5\n6,7\n", "x = 1\ny = 1\ndiscrete = yes"));
    CHECK(f.set->classes == 3);
    CHECK(f.set->label[0] == -1 && f.set->label[1] == 2.5 && f.set->label[2] == 7);
    CHECK_TEXT(f.set->class_name[1], "2.5");
    data_close(&f);
}

/* ---- what is refused ---- */

TEST(table__a_missing_value_is_refused_by_row_and_column_where_the_recipe_says_so) {
    check_refused(keys_for("t.csv", "a,b\n1,2\n2,3\n3,nan\n", "x = 1\ny = 1\nmissing = refuse"),
                  JF_ERROR_DATA, "row 3", "column 2 (\"b\") is missing");
}

/* (i, i^2 mod 101, i mod 5) for rows i, of which every seventh is without its second value, or is not there
 * at all. */
static const char *with_holes(const char *name, int there, const char *more) {
    static char content[65536];
    char *at = content;
    for (int i = 0; i < 1500; i++) {
        int hole = i % 7 == 3;
        if (hole && there) at += sprintf(at, "%d,,%d\n", i, i % 5);
        if (!hole) at += sprintf(at, "%d,%d,%d\n", i, i * i % 101, i % 5);
    }
    return keys_for(name, content, more);
}

TEST(table__rows_with_missing_values_are_left_out_and_the_others_are_the_same_table) {
    static const char *const more[] = {"x = 2\ny = 1", "x = 1\ny = 2\nvalidation_rows = 100",
                                       "x = 2\ny = 1\ndiscrete = yes",
                                       "x = 2\ny = 1\nbounds = x0=circle:0:2000"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char identity[2][DATASET_MAX_IDENTITY];
        double a[3], b[3];
        data_fixture holes = data_open(with_holes("holes.csv", 1, more[i]));
        data_fixture complete =
            data_open(with_holes("complete.csv", 0, i == 1 ? "x = 1\ny = 2\nvalidation_rows = 86" : more[i]));
        dataset_identity(holes.set, identity[0]);
        dataset_identity(complete.set, identity[1]);
        CHECK(holes.set->rows + holes.set->validation_rows == 1500 - 214);
        CHECK_TEXT(identity[0], identity[1]);
        for (long row = 0; row < 1500 - 214; row++) {
            data_row(holes.set, row, a);
            data_row(complete.set, row, b);
            CHECK(a[0] == b[0] && a[1] == b[1] && a[2] == b[2]);
        }
        for (int k = 0; k < 3; k++)
            CHECK(holes.set->mean[k] == complete.set->mean[k] &&
                  holes.set->deviation[k] == complete.set->deviation[k]);
        data_close(&complete);
        data_close(&holes);
    }
}

/* (i mod 10, 7, i mod 3, 0.1) where the second and the fourth are other numbers in the last `odd` of 100 rows
 */
static const char *with_constants(int odd, const char *more) {
    static char content[8192];
    char *at = content;
    for (int i = 0; i < 100; i++)
        at += sprintf(at, "%d,%s,%d,%s\n", i % 10, i >= 100 - odd ? "8" : "7", i % 3,
                      i >= 100 - odd ? "5" : "0.1");
    return keys_for("t.csv", content, more);
}

/* On the line the constant of x is random in every epoch, that of y is 0 or, where a flow transforms it,
 * random, too. */
static void check_constants(const dataset *d, int y_is_random) {
    double rows[2][80 * 4], mean[2] = {0}, square[2] = {0};
    CHECK(dataset_is_constant(d, 1) && dataset_is_constant(d, 3) && !dataset_is_constant(d, 0) &&
          !dataset_is_constant(d, 2));
    CHECK(d->support[1].lo == 7 && d->support[3].lo == 0.1);
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        CHECK_STATUS(dataset_draw(d, data_key(epoch), 0, 80, -1, rows[epoch]), JF_OK);
        dataset_standardise(d, 80, rows[epoch]);
        for (int s = 0; s < 80; s++)
            for (int k = 0; k < 2; k++) {
                double t = rows[epoch][4 * s + 1 + 2 * k];
                mean[k] += t / 160;
                square[k] += t * t / 160;
            }
    }
    CHECK(fabs(mean[0]) < 0.4 && square[0] > 0.5 && square[0] < 1.6);
    CHECK(y_is_random ? square[1] > 0.5 && square[1] < 1.6 : square[1] == 0);
}

TEST(table__columns_that_are_constant_in_training_are_spread_over_the_line_whatever_the_held_out_rows_are) {
    for (int odd = 0; odd <= 10; odd += 10) {
        double rows[40];
        data_fixture f = data_open(with_constants(odd, "x = 2\ny = 2\nvalidation_rows = 10"));
        check_constants(f.set, 1);
        CHECK_STATUS(dataset_validation(f.set, 0, 10, rows), JF_OK);
        dataset_standardise(f.set, 10, rows);
        for (int i = 0; i < 40; i++) CHECK(fabs(rows[i]) < 6);
        data_close(&f);
    }
}

TEST(table__rows_keep_their_numbers_of_the_file_where_others_are_left_out) {
    char words[128];
    data_fixture f = data_open(with_holes("holes.csv", 1, "x = 2\ny = 1\nvalidation = 0"));
    dataset_row_words(f.set, 3, words, sizeof words); /* row 4 has no second value */
    CHECK_HAS(words, "row 5 of ");
    data_close(&f);
    check_refused(keys_for("t.csv", "1,2\n,2\n3,inf\n4,5\n", "x = 1\ny = 1"), JF_ERROR_DATA, "row 3",
                  "column 2");
}

TEST(table__a_value_that_is_missing_in_either_file_leaves_the_row_out_of_both) {
    char more[512];
    double row[2];
    CHECK(keys_for("y.csv", "1\n2\nNA\n4\n5\n", ""));
    snprintf(more, sizeof more, "x = 1\ny = 1\nvalidation = 0\ny_file = %s", test_path("y.csv"));
    data_fixture f = data_open(keys_for("x.csv", "1\n?\n3\n4\n5\n", more));
    CHECK(f.set->rows == 3);
    CHECK(data_row(f.set, 0, row)[1] == 1 && data_row(f.set, 1, row)[1] == 4 &&
          data_row(f.set, 2, row)[0] == 5);
    data_close(&f);
}

TEST(table__with_fewer_than_two_complete_rows_is_refused_with_their_number) {
    check_refused(keys_for("t.csv", "a,b\n1,\n2,3\n,4\n", "x = 1\ny = 1"), JF_ERROR_DATA,
                  "2 of 3 rows have a missing value", "column 2 (\"b\")");
}

TEST(table__columns_that_are_not_used_may_be_text) {
    data_fixture f = data_open(keys_for("t.csv", "id,name,a,b\nx1,\"Doe, J\",1,2\nx2,,2,3\nx3,NA,3,3\n",
                                        "x = 1\ny = 1\ncolumns = a, b"));
    CHECK(f.set->rows == 3);
    data_close(&f);
    check_refused(keys_for("t.csv", "id,name,a,b\n1,z,1,2\n2,y,2,3\n", "x = 1\ny = 1\ncolumns = a, name"),
                  JF_ERROR_FORMAT, "t.csv:2: column 2 (\"name\"): found \"z\"", "expected a number");
}

TEST(table__tab_and_space_separated_files_give_the_same_as_csv) {
    static const struct {
        const char *name, *content;
    } files[] = {{"t.csv", "a,b\n1,true\n2,false\n4,true\n"},
                 {"t.tsv", "a\tb\n1\ttrue\n2\tfalse\n4\ttrue\n"},
                 {"t.txt", "a   b\n1   true\n 2 false\n4 true\n"}};
    char identity[3][DATASET_MAX_IDENTITY];
    for (int i = 0; i < 3; i++) {
        data_fixture f = data_open(keys_for(files[i].name, files[i].content, "x = 1\ny = 1"));
        dataset_identity(f.set, identity[i]);
        data_close(&f);
        CHECK_TEXT(identity[i], identity[0]);
    }
}

TEST(table__a_value_that_is_infinite_is_refused_by_row_and_column) {
    check_refused(keys_for("t.csv", "1,2\ninf,3\n3,4\n", "x = 1\ny = 1"), JF_ERROR_DATA, "row 2", "column 1");
}

TEST(table__columns_that_are_not_used_may_hold_anything) {
    data_fixture f = data_open(keys_for("t.csv", "1,2,nan\n2,3,7\n3,3,7\n", "x = 1\ny = 1"));
    CHECK(f.set->rows == 3);
    data_close(&f);
}

TEST(table__a_constant_x_that_is_all_there_is_and_a_class_alone_are_refused) {
    check_refused(keys_for("t.csv", "a,b\n0.1,1\n0.1,2\n0.1,3\n", "x = 1\ny = 1"), JF_ERROR_DATA,
                  "element 0 of x", "constant");
    check_refused(keys_for("t.csv", "a,b\n1,7\n2,7\n3,7\n", "x = 1\ny = 1\ndiscrete = yes"), JF_ERROR_DATA,
                  "element 0 of y", "constant");
}

TEST(table__numbers_too_large_to_standardise_are_refused) {
    check_refused(keys_for("t.csv", "1,2\n1e300,3\n-1e300,4\n", "x = 1\ny = 1"), JF_ERROR_DATA,
                  "element 0 of x", "finite");
}

TEST(table__too_few_columns_are_refused_with_both_numbers) {
    check_refused(keys_for("t.csv", "1,2\n2,3\n3,4\n", "x = 2\ny = 1"), JF_ERROR_SHAPE, "found 2 columns",
                  "at least 3");
}

TEST(table__a_single_row_is_refused) {
    check_refused(keys_for("t.csv", "a,b\n1,2\n", "x = 1\ny = 1"), JF_ERROR_SHAPE, "found 1 row",
                  "at least 2");
}

TEST(table__a_file_that_does_not_parse_is_refused_by_name) {
    check_refused(keys_for("t.csv", "a,b\n1,2\n2\n", "x = 1\ny = 1"), JF_ERROR_FORMAT, "t.csv", "3");
    check_refused(keys_for("t.npy", "not an array", "x = 1\ny = 1"), JF_ERROR_FORMAT, "t.npy", "npy");
}

TEST(table__another_kind_of_file_is_refused) {
    check_refused(keys_for("t.xls", "1,2\n2,3\n", "x = 1\ny = 1"), JF_ERROR_RECIPE, ".xls", ".npy");
}

TEST(table__classes_need_one_column_of_y_and_at_most_64_values) {
    check_refused(keys_for("t.csv", "1,2,3\n2,3,4\n", "x = 1\ny = 2\ndiscrete = yes"), JF_ERROR_RECIPE,
                  "data.y", "expected 1");
    char content[2048];
    int used = 0;
    for (int i = 0; i < 65; i++)
        used += snprintf(content + used, sizeof content - (size_t)used, "%d,%d\n", i, i);
    check_refused(keys_for("t.csv", content, "x = 1\ny = 1\ndiscrete = yes"), JF_ERROR_DATA, "more than 64",
                  "row 65");
}

TEST(table__a_missing_file_is_reported_with_the_places_searched) {
    setenv("JOINTFLOW_DATA", test_folder(), 1);
    check_refused("set = table\nfile = nowhere.csv\nx = 1\ny = 1", JF_ERROR_IO, test_path("nowhere.csv"),
                  "jointflow/nowhere.csv");
    unsetenv("JOINTFLOW_DATA");
}

/* ---- the order of rows ---- */

TEST(table__an_epoch_holds_every_row_once_and_the_next_in_another_order) {
    enum { ROWS = 1000 };
    data_fixture f = data_open(squares(ROWS, "x = 2\ny = 1\nvalidation = 0"));
    static double xy[2 * ROWS * 3];
    static int seen[2][ROWS];
    dataset_draw(f.set, data_key(0), 0, 2 * ROWS, -1, xy);
    int moved = 0, changed = 0;
    for (int i = 0; i < 2 * ROWS; i++) {
        int row = (int)xy[3 * i];
        CHECK(xy[3 * i + 1] == (double)row * row && xy[3 * i + 2] == row % 3);
        seen[i / ROWS][row]++;
        if (i < ROWS) moved += row != i;
        if (i < ROWS) changed += xy[3 * i] != xy[3 * (ROWS + i)];
    }
    for (int i = 0; i < ROWS; i++) CHECK(seen[0][i] == 1 && seen[1][i] == 1);
    CHECK(moved > ROWS - 15 && changed > ROWS - 15); /* one fixed point is expected */
    data_close(&f);
}

TEST(table__a_sample_is_the_same_however_the_sequence_is_cut) {
    data_fixture f = data_open(squares(10, "x = 2\ny = 1\nvalidation = 0"));
    double whole[3 * 35], part[3 * 7], other[3 * 35];
    dataset_draw(f.set, data_key(4), 0, 35, -1, whole);
    for (int i = 0; i < 5; i++) {
        dataset_draw(f.set, data_key(4), (uint64_t)(7 * i), 7, -1, part);
        CHECK(memcmp(part, whole + 21 * i, sizeof part) == 0);
    }
    dataset_draw(f.set, data_key(5), 0, 35, -1, other);
    CHECK(memcmp(other, whole, sizeof whole) != 0);
    data_close(&f);
}

TEST(table__a_class_gives_each_of_its_own_rows_once) {
    data_fixture f = data_open(squares(100, "x = 2\ny = 1\ndiscrete = yes\nvalidation = 0"));
    CHECK(f.set->classes == 3);
    for (int k = 0; k < 3; k++) {
        int size = k == 0 ? 34 : 33, seen[100] = {0};
        double xy[3 * 34];
        dataset_draw(f.set, data_key(0), (uint64_t)(5 * size), size, k, xy);
        for (int i = 0; i < size; i++) {
            CHECK(xy[3 * i + 2] == k);
            CHECK(seen[(int)xy[3 * i]]++ == 0);
        }
    }
    data_close(&f);
}

TEST(permutation__is_one_for_every_size) {
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4096, 4097};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        static char seen[5000];
        memset(seen, 0, sizeof seen);
        permutation p = permutation_create(data_key(0), s, sizes[s]);
        for (uint64_t i = 0; i < sizes[s]; i++) {
            uint64_t at = permutation_at(&p, i);
            CHECK(at < sizes[s]);
            CHECK(!seen[at]++);
        }
    }
}

TEST(permutation__puts_every_number_everywhere_equally_often) {
    enum { SIZE = 7, EPOCHS = 14000 };
    int count[SIZE][SIZE] = {{0}}, followed[SIZE] = {0};
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        permutation p = permutation_create(data_key((uint32_t)epoch), 0, SIZE);
        uint64_t order[SIZE];
        for (uint64_t i = 0; i < SIZE; i++) order[i] = permutation_at(&p, i);
        for (int i = 0; i < SIZE; i++) count[i][order[i]]++;
        followed[(order[1] + SIZE - order[0]) % SIZE]++; /* distance of neighbours: 1 .. 6, all alike */
    }
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) CHECK_NEAR(count[i][j], EPOCHS / 7.0, 4.5 * sqrt(EPOCHS * 6 / 49.0));
        if (i > 0) CHECK_NEAR(followed[i], EPOCHS / 6.0, 4.5 * sqrt(EPOCHS * 5 / 36.0));
    }
}

TEST(table__held_out_rows_are_apart_from_those_to_train_on_and_always_the_same) {
    data_fixture f = data_open(squares(100, "x = 2\ny = 1\nvalidation = 0.25"));
    CHECK(f.set->rows == 75 && f.set->validation_rows == 25);
    int seen[100] = {0};
    double xy[3 * 75];
    dataset_draw(f.set, (rng_key){1, RNG_DATA, 0}, 0, 75, -1, xy);
    for (int i = 0; i < 75; i++) seen[(int)xy[3 * i]]++;
    dataset_validation(f.set, 0, 25, xy);
    for (int i = 0; i < 25; i++) seen[(int)xy[3 * i]]++;
    for (int i = 0; i < 100; i++) CHECK(seen[i] == 1);
    data_fixture again = data_open(squares(100, "x = 2\ny = 1\nvalidation = 0.25"));
    double twice[3 * 25];
    dataset_validation(again.set, 0, 25, twice);
    CHECK(memcmp(xy, twice, sizeof twice) == 0);
    data_close(&f);
    data_close(&again);
}

/* Whoever takes some of them takes the first: those have to be a fair choice of a file that is sorted. */
TEST(dataset__some_held_out_samples_are_a_random_choice_of_the_rows) {
    enum { ROWS = 1000, HELD = 900, SOME = 90 };
    data_fixture f = data_open(squares(ROWS, "x = 2\ny = 1\nvalidation_rows = 900"));
    double row[3], mean = 0;
    char seen[ROWS] = {0};
    for (int i = 0; i < HELD; i++) {
        CHECK_STATUS(dataset_validation(f.set, (uint64_t)i, 1, row), JF_OK);
        CHECK(!seen[(int)row[0]]++); /* all of them, each once */
        if (i < SOME) mean += row[0] / SOME;
    }
    CHECK_NEAR(mean, ROWS - HELD / 2.0, 4 * HELD / sqrt(12.0 * SOME));
    data_close(&f);
}

TEST(table__the_last_rows_are_held_out_where_their_number_is_given) {
    data_fixture f = data_open(squares(100, "x = 2\ny = 1\nvalidation_rows = 7"));
    double row[3], xy[7][3];
    CHECK(f.set->rows == 93 && f.set->validation_rows == 7);
    data_row(f.set, 92, row);
    CHECK(row[0] == 92);
    int seen[7] = {0};
    dataset_validation(f.set, 0, 7, xy[0]);
    for (int i = 0; i < 7; i++) seen[(int)xy[i][0] - 93]++;
    for (int i = 0; i < 7; i++) CHECK(seen[i] == 1);
    data_close(&f);
    check_refused(squares(100, "x = 2\ny = 1\nvalidation_rows = 100"), JF_ERROR_RECIPE, "validation_rows",
                  "fewer than the 100 rows");
}
