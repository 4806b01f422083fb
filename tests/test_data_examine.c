/* What is said of a table before it is trained on, and what a Gaussian makes of a data set. */
#include "data/follows.h"
#include "data/gaussian.h"
#include "data_fixture.h"

enum { ROWS = 200 };

/* A value that stands in the place of another. */
typedef struct odd_value {
    int row, column; /* from 0 */
    double value;
} odd_value;

static void note(void *user, const char *line) {
    char *log = user;
    snprintf(log + strlen(log), 4096 - strlen(log), "%s\n", line);
}

static const char *write_table(odd_value odd, int copy_of_first) {
    static char keys[768];
    FILE *out = fopen(test_path("t.csv"), "w");
    rng r = rng_stream(data_key(3), 0);
    double first[3] = {0};
    CHECK(out && fputs("a,b,c\n", out) >= 0);
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < 3; k++) {
            double value = rng_normal(&r);
            if (row == 0) first[k] = value;
            if (copy_of_first && row >= ROWS - copy_of_first) value = first[k];
            if (row == odd.row && k == odd.column) value = odd.value;
            CHECK(fprintf(out, "%.17g%c", value, k < 2 ? ',' : '\n') > 0);
        }
    CHECK(fclose(out) == 0);
    snprintf(keys, sizeof keys, "set = table\nfile = %s\nx = 2\ny = 1\n", test_path("t.csv"));
    return keys;
}

/* The first row from 3 on, of the file, that is held out or is not. */
static int find_row(int held) {
    data_fixture f = data_open(write_table((odd_value){-1, 0, 0}, 0));
    int found = -1;
    double row[3], marked[3];
    for (int i = 3; found < 0 && i < ROWS; i++) {
        data_fixture g = data_open(write_table((odd_value){i, 0, 7.5}, 0));
        for (long k = 0; k < ROWS; k++)
            if (data_row(g.set, k, marked)[0] == 7.5 && data_row(f.set, k, row)[0] != 7.5 &&
                (k >= g.set->rows) == held)
                found = i;
        data_close(&g);
    }
    data_close(&f);
    CHECK(found >= 0);
    return found;
}

/* The log of examining it; valid until the next call. */
static const char *examined(odd_value odd, int copies, jf_status expected, char *message, size_t size) {
    static char log[4096];
    data_fixture f = data_open(write_table(odd, copies));
    log[0] = 0;
    jf_context_set_log(f.ctx, note, log);
    CHECK_STATUS(dataset_examine(f.set), expected);
    snprintf(message, size, "%s", jf_context_error(f.ctx));
    data_close(&f);
    return log;
}

TEST(examine__a_table_in_order_is_passed_without_a_word) {
    char message[2048];
    CHECK_TEXT(examined((odd_value){-1, 0, 0}, 0, JF_OK, message, sizeof message), "");
}

TEST(examine__rows_that_are_left_out_are_counted_with_the_place_of_the_first) {
    CHECK_HAS(examined((odd_value){4, 1, NAN}, 0, JF_OK, NULL, 0),
              "1 of 200 rows are left out since a value is missing");
    CHECK_HAS(examined((odd_value){4, 1, NAN}, 0, JF_OK, NULL, 0), "row 5, column 2 (\"b\")");
}

TEST(examine__constant_columns_are_told_once_for_x_and_once_for_y) {
    static char log[4096], keys[768];
    FILE *out = fopen(test_path("t.csv"), "w");
    CHECK(out);
    for (int i = 0; i < 100; i++) fprintf(out, "%d,1,2,%d,%s\n", i, (i * i) % 97, i > 96 ? "6" : "5");
    CHECK(fclose(out) == 0);
    snprintf(keys, sizeof keys, "set = table\nfile = %s\nx = 3\ny = 2\nvalidation_rows = 5\n",
             test_path("t.csv"));
    data_fixture f = data_open(keys);
    log[0] = 0;
    jf_context_set_log(f.ctx, note, log);
    CHECK_STATUS(dataset_examine(f.set), JF_OK);
    CHECK_HAS(
        log,
        "column 2 is 1, the same number in all 95 rows to train on, as 1 other column is: samples reproduce");
    CHECK_HAS(log, "column 5 is 5, the same number in all 95 rows to train on: y does not depend on it");
    CHECK_HAS(log, "; 3 held-out rows have another value, which is ignored");
    data_close(&f);
}

TEST(examine__a_held_out_value_that_no_loss_can_hold_is_refused_with_its_place) {
    char message[2048], place[64];
    int row = find_row(1);
    examined((odd_value){row, 1, 1e40}, 0, JF_ERROR_DATA, message, sizeof message);
    snprintf(place, sizeof place, "t.csv: row %d, column 2 (\"b\") is 1e+40, ", row + 1);
    CHECK_HAS(message, place);
    CHECK_HAS(message, "correct it or leave the row out");
}

TEST(examine__a_held_out_value_that_outweighs_all_others_is_told_with_its_place) {
    char message[2048], place[64];
    int row = find_row(1);
    const char *log = examined((odd_value){row, 0, -1e6}, 0, JF_OK, message, sizeof message);
    snprintf(place, sizeof place, "warning: %s", test_path("t.csv"));
    CHECK_HAS(log, place);
    snprintf(place, sizeof place, "t.csv: row %d, column 1 (\"a\") is -1e+06 and held out, ", row + 1);
    CHECK_HAS(log, place);
}

TEST(examine__a_value_that_alone_makes_the_deviation_is_told_with_its_place) {
    char message[2048], place[64];
    int row = find_row(0);
    const char *log = examined((odd_value){row, 2, 1e12}, 0, JF_OK, message, sizeof message);
    snprintf(place, sizeof place, "row %d, column 3 (\"c\") is 1e+12 and alone makes up 99.", row + 1);
    CHECK_HAS(log, place);
    CHECK_HAS(log, "leave the row out");
}

TEST(examine__copies_of_rows_are_counted_with_an_example) {
    char message[2048];
    const char *log = examined((odd_value){-1, 0, 0}, 40, JF_OK, message, sizeof message);
    CHECK_HAS(log, "t.csv: 40 of 200 rows are copies of others, such as row ");
    CHECK_HAS(log, "of them are held out while their like is trained on");
    CHECK_HAS(log, "set train.noise");
}

/* ---- columns that follow from others ---- */

/* The log of examining 300 rows, the columns of `write` from three independent normal numbers. */
static const char *examined_columns(const char *header, int x, int y,
                                    void (*write)(FILE *out, const double n[3])) {
    static char log[8192], keys[768];
    FILE *out = fopen(test_path("leak.csv"), "w");
    rng r = rng_stream(data_key(4), 0);
    CHECK(out && fprintf(out, "%s\n", header) > 0);
    for (int row = 0; row < 300; row++) {
        double n[3] = {rng_normal(&r), rng_normal(&r), rng_normal(&r)};
        write(out, n);
    }
    CHECK(fclose(out) == 0);
    snprintf(keys, sizeof keys, "set = table\nfile = %s\nx = %d\ny = %d\n", test_path("leak.csv"), x, y);
    data_fixture f = data_open(keys);
    log[0] = 0;
    jf_context_set_log(f.ctx, note, log);
    CHECK_STATUS(dataset_examine(f.set), JF_OK);
    data_close(&f);
    return log;
}

static void write_of_y(FILE *out, const double n[3]) {
    fprintf(out, "%.17g,%.6g,%.17g\n", n[0], 3 - 2 * n[2], n[2]);
}
static void write_of_x(FILE *out, const double n[3]) {
    fprintf(out, "%.17g,%.17g,%.17g,%.17g\n", n[0], n[0], 1e6 + 1e-3 * n[0], n[1]);
}
static void write_sum(FILE *out, const double n[3]) {
    fprintf(out, "%.17g,%.17g,%.17g,%.17g\n", n[0], n[1], 0.5 * n[0] - n[1] + 4 * n[2] + 7, n[2]);
}
static void write_near(FILE *out, const double n[3]) {
    fprintf(out, "%.17g,%.17g,%.17g\n", n[0], n[0] + 1e-2 * n[1], n[0] * n[0]);
}
/* The outliers alone make a correlation of 1; the other rows of a and b are independent. */
static void write_heavy(FILE *out, const double n[3]) {
    double outlier = n[0] > 2 ? 1e9 * n[0] : 0;
    fprintf(out, "%.17g,%.17g,%.17g\n", outlier + n[1], outlier + n[2], n[0]);
}
static void write_dummies(FILE *out, const double n[3]) {
    int class = n[0] < -0.5 ? 0 : n[0] < 0.5 ? 1 : 2;
    fprintf(out, "%.17g,%d,%d,%d\n", n[1], class == 0, class == 1, class == 2);
}

TEST(examine__a_column_of_x_that_is_a_linear_function_of_y_is_told_with_its_equation) {
    const char *log = examined_columns("a,b,speed", 2, 1, write_of_y);
    CHECK_HAS(log, "b = -2 * speed + 3 in all 270 rows: y says exactly what this column of x is");
    CHECK_HAS(log, "leave b out of x");
    CHECK(strstr(log, "a = ") == NULL);
}

TEST(examine__copies_and_multiples_of_a_column_of_x_are_told_with_their_equations) {
    const char *log = examined_columns("a,b,c,y", 3, 1, write_of_x);
    CHECK_HAS(log, "b = a in all 270 rows: densities of these columns together have no bound");
    CHECK_HAS(log, "c = 0.001 * a + 1e+06 in all 270 rows");
    CHECK_HAS(log, "leave c out of x");
}

TEST(examine__a_column_of_x_that_is_a_sum_of_several_columns_is_told_with_its_equation) {
    CHECK_HAS(examined_columns("a,b,c,d", 3, 1, write_sum), "c = 4 * d + 0.5 * a - b + 7 in all 270 rows");
    CHECK_HAS(examined_columns("u,p,q,r", 4, 0, write_dummies), "r = -p - q + 1 in all 270 rows");
}

TEST(examine__columns_of_y_may_follow_from_each_other_and_neither_noise_nor_outliers_make_an_equation) {
    CHECK_TEXT(examined_columns("u,p,q,r", 1, 3, write_dummies), "");
    CHECK_TEXT(examined_columns("a,b,c", 2, 1, write_near), "");
    CHECK(strstr(examined_columns("a,b,c", 2, 1, write_heavy), "=") == NULL);
}

static void write_square(FILE *out, const double n[3]) {
    fprintf(out, "%.17g,%.17g,%.17g\n", n[0], n[0] * n[0], n[1]);
}
static void write_functions_of_y(FILE *out, const double n[3]) {
    fprintf(out, "%.6g,%d,%.17g,%.6g\n", exp(n[0]), n[0] > 0.3, n[1], n[0]);
}
/* y is two columns of three values each; u is another number for each of the nine pairs. */
static void write_code_of_y(FILE *out, const double n[3]) {
    static const double code[9] = {3, -1, 4, 1.5, -9, 2.6, 5, 3.5, -8};
    int a = n[0] < -0.5 ? 0 : n[0] < 0.5 ? 1 : 2, b = n[1] < -0.5 ? 0 : n[1] < 0.5 ? 1 : 2;
    fprintf(out, "%.17g,%g,%d,%d\n", n[2], code[3 * a + b], a, b);
}

TEST(examine__a_column_of_x_that_is_another_function_of_y_or_of_a_column_of_x_is_told) {
    const char *log = examined_columns("a,b,y", 2, 1, write_square);
    CHECK_HAS(log, "b is a function of a, though not a linear one, in all 270 rows: densities of these");
    CHECK_HAS(log, "leave b out of x");
    CHECK(strstr(log, "a is a function") == NULL);
    log = examined_columns("a,b,c,speed", 3, 1, write_functions_of_y);
    CHECK_HAS(log, "a is a function of speed, though not a linear one, in ");
    CHECK_HAS(log, "b is a function of speed, though not a linear one, in ");
    CHECK_HAS(log, "y says exactly what this column of x is");
    CHECK(strstr(log, "c is a function") == NULL);
    log = examined_columns("t,u,p,q", 2, 2, write_code_of_y);
    CHECK_HAS(log, "u is a function of all of y, though not a linear one, in all 270 rows");
    CHECK(strstr(log, "t is a function") == NULL);
}

/* Columns that share much but not all: noise of a hundredth, classes that a number nearly tells apart,
 * numbers most of which are 0, and classes of unlike size. */
static void write_unlike(FILE *out, const double n[3]) {
    static int row;
    row++;
    fprintf(out, "%.6g,%.6g,%d,%.6g,%d,%d,%.2f,%.6g\n", n[0], n[0] * n[0] + 1e-2 * n[1],
            n[0] + 0.2 * n[1] > 0, n[2] > 1.3 ? n[1] : 0, row % 50 == 0, row % 7, n[2], n[1] + n[2]);
}
static void write_copies(FILE *out, const double n[3]) {
    static double row[3];
    static int at;
    if (at++ % 3 == 0) memcpy(row, n, sizeof row);
    fprintf(out, "%.17g,%.17g,%.17g\n", row[0], row[1], row[2]);
}

TEST(examine__columns_that_share_much_are_no_functions_of_each_other_and_copies_of_rows_make_none) {
    CHECK(strstr(examined_columns("a,b,c,d,e,f,g,h", 8, 0, write_unlike), "function") == NULL);
    CHECK(strstr(examined_columns("a,b,c,d,e,f,g,h", 4, 4, write_unlike), "function") == NULL);
    const char *log = examined_columns("a,b,c", 2, 1, write_copies);
    CHECK_HAS(log, "are copies of others");
    CHECK(strstr(log, "function") == NULL);
}

/* 400 tables with 8 columns of x and 2 of y, independent of each other: 26,000 pairs. */
TEST(follows__no_pair_of_independent_columns_is_taken_for_a_function) {
    enum { ROWS_OF_PAIR = 150, COLUMNS_OF_PAIR = 10, TABLES = 400 };
    static double values[COLUMNS_OF_PAIR][ROWS_OF_PAIR], scratch[ROWS_OF_PAIR];
    static follows_source sorted[ROWS_OF_PAIR];
    long missed, found = 0;
    for (int table = 0; table < TABLES; table++) {
        rng r = rng_stream(data_key(5), (uint64_t)table);
        for (int row = 0; row < ROWS_OF_PAIR; row++)
            for (int i = 0; i < COLUMNS_OF_PAIR; i++) {
                double n = rng_normal(&r), u = rng_uniform(&r);
                values[i][row] = i < 3   ? n
                                 : i < 5 ? (u < 0.8 ? 0 : n)
                                 : i < 7 ? u < 0.5
                                 : i < 9 ? floor(4 * u)
                                         : exp(3 * n);
            }
        for (int s = 0; s < COLUMNS_OF_PAIR; s++) {
            follows_sort(values[s], ROWS_OF_PAIR, sorted);
            for (int t = 0; t < COLUMNS_OF_PAIR; t++) {
                follows_target target = follows_measure(values[t], ROWS_OF_PAIR, scratch);
                if (t != s) found += follows(sorted, &target, ROWS_OF_PAIR, &missed);
                if (t == s) CHECK(follows(sorted, &target, ROWS_OF_PAIR, &missed) && missed == 0);
            }
        }
    }
    CHECK(found == 0);
}

TEST(table__a_value_whose_square_is_beyond_a_double_is_refused_with_its_row) {
    data_fixture f;
    char place[64];
    int row = find_row(0);
    CHECK_STATUS(data_try_open(&f, write_table((odd_value){row, 0, 1e200}, 0)), JF_ERROR_DATA);
    snprintf(place, sizeof place, "element 0 of x (\"a\"): row %d of ", row + 1);
    CHECK_HAS(jf_context_error(f.ctx), place);
    CHECK_HAS(jf_context_error(f.ctx), "found 1e+200");
    data_close(&f);
}

/* ---- a Gaussian ---- */

TEST(gaussian__loss_of_generated_points_is_the_entropy_of_their_deviations) {
    data_fixture f = data_open("set = crescents");
    double nats, noised, one = 0.5 * log(2 * acos(-1) * exp(1)); /* entropy of N(0,1) */
    CHECK_STATUS(dataset_gaussian(f.set, 0, &nats), JF_OK);
    CHECK_NEAR(nats, 2 * one, 0.02); /* standardised on other points */
    CHECK_STATUS(dataset_gaussian(f.set, 0.5, &noised), JF_OK);
    CHECK_NEAR(noised, nats + log(0.25 + 0.25), 1e-2); /* two elements of variance 1/2 */
    data_close(&f);
}

TEST(gaussian__loss_of_a_table_is_that_of_its_held_out_rows) {
    int row = find_row(1);
    double nats[2];
    for (int i = 0; i < 2; i++) {
        data_fixture f = data_open(write_table((odd_value){i ? row : -1, 0, 100}, 0));
        CHECK_STATUS(dataset_gaussian(f.set, 0, &nats[i]), JF_OK);
        data_close(&f);
    }
    CHECK_NEAR(nats[0], log(2 * acos(-1) * exp(1)), 0.6);
    CHECK_NEAR(nats[1] - nats[0], 0.5 * 100 * 100 / 20,
               70); /* of 20 held-out rows, one is 100 deviations off */
}
