/* Arrays of a program are data like those of a file: the same model comes of them, and nothing is copied. */
#include "test.h"

#include "jointflow/jointflow.h"

#include <sys/resource.h>

enum { ROWS = 240, DIM_X = 3, DIM_Y = 1 };

/* Floats, so that both types hold the same; volatile, since a compiler may forget the rounding. */
static double value_x(int row, int column) {
    volatile float value = (float)(sin(1.3 * row + column) * (1 + column));
    return value;
}

static double value_y(int row) {
    volatile float value = (float)cos(0.7 * row);
    return value;
}

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

static void make_small(jf_recipe *r) {
    static const char *const settings[][2] = {
        {"model.blocks", "1"}, {"model.width", "4"},      {"model.depth", "1"},    {"train.batch", "20"},
        {"train.epochs", "4"}, {"train.checkpoint", "0"}, {"train.ks_every", "0"}, {"train.anneal", "0"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        CHECK_STATUS(jf_recipe_set(r, settings[i][0], settings[i][1]), JF_OK);
}

static jf_recipe *recipe_of(jf_context *ctx, const jf_table_request *request) {
    jf_recipe *r = NULL;
    if (jf_recipe_for_table(&r, ctx, request) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    make_small(r);
    return r;
}

static jf_model *train_on(jf_context *ctx, const jf_recipe *r) {
    jf_model *m = NULL;
    if (jf_train(&m, ctx, r,
                 &(jf_train_options){.size = sizeof(jf_train_options), .seed = 3, .threads = 1}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    return m;
}

/* ---- layouts: the same values, lying in memory in many ways ---- */

typedef struct layout {
    const char *name;
    jf_number_type type;
    int by_column, backwards, odd; /* odd: at addresses that no number of the type may have */
} layout;
static const layout layouts[] = {{"doubles", JF_DOUBLE, 0, 0, 0},
                                 {"floats", JF_FLOAT, 0, 0, 0},
                                 {"by columns", JF_DOUBLE, 1, 0, 0},
                                 {"backwards", JF_FLOAT, 0, 1, 0},
                                 {"at odd addresses", JF_DOUBLE, 1, 1, 3}};

typedef struct arrays {
    char x[ROWS * DIM_X * 16 + 16], y[ROWS * DIM_Y * 16 + 16];
} arrays;

static void put(char *at, jf_number_type type, double value) {
    float single = (float)value;
    if (type == JF_FLOAT)
        memcpy(at, &single, sizeof single);
    else
        memcpy(at, &value, sizeof value);
}

/* A place for each number twice as large as it needs. */
static jf_array lay(const layout *l, char *memory, int columns, int is_x) {
    ptrdiff_t size = l->type == JF_FLOAT ? 8 : 16;
    ptrdiff_t row = l->by_column ? size : size * columns, column = l->by_column ? size * ROWS : size;
    char *first = memory + l->odd + (l->backwards ? row * (ROWS - 1) : 0);
    if (l->backwards) row = -row;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < columns; k++)
            put(first + i * row + k * column, l->type, is_x ? value_x(i, k) : value_y(i));
    return (jf_array){first, l->type, ROWS, (size_t)columns, row, column};
}

static jf_data *data_of(jf_context *ctx, arrays *a, const layout *l) {
    jf_data *data = NULL;
    jf_array x = lay(l, a->x, DIM_X, 1), y = lay(l, a->y, DIM_Y, 0);
    CHECK_STATUS(jf_data_create(&data, ctx, &x, &y), JF_OK);
    return data;
}

static void write_csv(const char *path) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "%.17g,%.17g,%.17g,%.17g\n", value_x(i, 0), value_x(i, 1), value_x(i, 2), value_y(i));
    CHECK(fclose(file) == 0);
}

static jf_model *train_on_file(jf_context *ctx) {
    write_csv(test_path("t.csv"));
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request),
                                                      .x = test_path("t.csv"),
                                                      .x_columns = "1,2,3",
                                                      .y_columns = "4"});
    jf_model *m = train_on(ctx, r);
    jf_recipe_free(r);
    return m;
}

static void check_same_answers(const jf_model *a, const jf_model *b, const char *of) {
    double y[3] = {-0.5, 0, 0.8}, one[3 * DIM_X], other[3 * DIM_X];
    CHECK_STATUS(jf_sample(a, 3, y, one, NULL, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_sample(b, 3, y, other, NULL, NULL, NULL), JF_OK);
    if (memcmp(one, other, sizeof one) != 0)
        test_fail(__FILE__, __LINE__, "%s: another model than from the file", of);
}

TEST(data_in_memory__arrays_of_any_layout_make_the_model_of_their_file) {
    jf_context *ctx = new_context();
    arrays a;
    jf_model *expected = train_on_file(ctx);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        jf_data *data = data_of(ctx, &a, &layouts[i]);
        jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
        jf_data_free(data); /* the recipe keeps it */
        jf_model *m = train_on(ctx, r);
        jf_recipe_free(r);
        check_same_answers(expected, m, layouts[i].name);
        jf_model_free(m);
    }
    jf_model_free(expected);
    jf_context_free(ctx);
}

/* ---- filled by a callback ---- */

typedef struct filling {
    size_t next; /* row that has to come */
    size_t stop_at;
} filling;

static int fill(void *user, size_t first, size_t count, double *x, double *y) {
    filling *f = user;
    if (first != f->next || first + count > f->stop_at) return 1;
    f->next = first + count;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < DIM_X; k++) x[i * DIM_X + (size_t)k] = value_x((int)(first + i), k);
        y[i] = value_y((int)(first + i));
    }
    return 0;
}

TEST(data_in_memory__rows_of_a_callback_make_the_model_of_their_file) {
    jf_context *ctx = new_context();
    jf_data *data = NULL;
    jf_model *expected = train_on_file(ctx);
    CHECK_STATUS(jf_data_fill(&data, ctx, ROWS, DIM_X, DIM_Y, fill, &(filling){.stop_at = ROWS}), JF_OK);
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
    jf_model *m = train_on(ctx, r);
    check_same_answers(expected, m, "callback");
    jf_model_free(m);
    jf_model_free(expected);
    jf_recipe_free(r);
    jf_data_free(data);
    jf_context_free(ctx);
}

TEST(data_in_memory__a_callback_fills_in_order_and_may_stop) {
    jf_context *ctx = new_context();
    jf_data *data = NULL;
    filling f = {.stop_at = 100000};
    CHECK_STATUS(jf_data_fill(&data, ctx, 100000, DIM_X, DIM_Y, fill, &f), JF_OK);
    CHECK(f.next == 100000);
    jf_data_free(data);
    CHECK_STATUS(jf_data_fill(&data, ctx, 100000, DIM_X, DIM_Y, fill, &(filling){.stop_at = 50000}),
                 JF_STOPPED);
    CHECK(data == NULL);
    jf_context_free(ctx);
}

/* ---- resuming ---- */

static int stop_in_epoch_2(void *user, const jf_progress *p) {
    (void)user;
    return p->training && p->training->epoch == 2;
}

static jf_status run_in_folder(jf_context *ctx, jf_data *data, int resume, int stopping) {
    jf_model *m = NULL;
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
    jf_context_set_progress(ctx, stopping ? stop_in_epoch_2 : NULL, NULL);
    jf_status status = jf_train(&m, ctx, r,
                                &(jf_train_options){.size = sizeof(jf_train_options),
                                                    .folder = test_path("run"),
                                                    .resume = resume,
                                                    .seed = 3,
                                                    .threads = 1});
    jf_model_free(m);
    jf_recipe_free(r);
    return status;
}

TEST(data_in_memory__a_run_resumes_with_the_same_values_only) {
    jf_context *ctx = new_context();
    arrays a, b;
    jf_data *data = data_of(ctx, &a, &layouts[0]), *same = data_of(ctx, &b, &layouts[1]);
    CHECK_STATUS(run_in_folder(ctx, data, 0, 1), JF_STOPPED);
    double *first = (double *)(void *)a.x, kept = *first;
    *first += 0.25;
    CHECK_STATUS(run_in_folder(ctx, data, 1, 0), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "the run to resume has other data");
    *first = kept;
    CHECK_STATUS(run_in_folder(ctx, same, 1, 0), JF_OK); /* floats of the same values */
    jf_model *resumed = NULL, *unbroken = train_on_file(ctx);
    CHECK_STATUS(jf_model_load(&resumed, ctx, test_path("run"), NULL), JF_OK);
    check_same_answers(unbroken, resumed, "resumed");
    jf_model_free(unbroken);
    jf_model_free(resumed);
    jf_data_free(data);
    jf_data_free(same);
    jf_context_free(ctx);
}

/* ---- judging ---- */

static void check_same_judgement(const jf_judgement *a, const jf_judgement *b) {
    const char *one = strstr(jf_judgement_json(a), "\"nll"), *other = strstr(jf_judgement_json(b), "\"nll");
    CHECK(one != NULL);
    CHECK_TEXT(other, one);
}

TEST(data_in_memory__a_model_is_judged_as_that_of_the_file) {
    jf_context *ctx = new_context();
    arrays a;
    jf_data *data = data_of(ctx, &a, &layouts[0]);
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
    jf_model *of_file = train_on_file(ctx), *m = train_on(ctx, r);
    jf_judgement *held_out[2] = {0}, *tested[2] = {0};
    const jf_judge_options few = {.size = sizeof(jf_judge_options), .points = 20};
    CHECK_STATUS(jf_judge(&held_out[0], of_file, &few), JF_OK);
    CHECK_STATUS(jf_judge(&held_out[1], m, &few), JF_OK);
    check_same_judgement(held_out[0], held_out[1]);
    CHECK_STATUS(jf_judge(&tested[0], of_file,
                          &(jf_judge_options){.size = sizeof(jf_judge_options), .test = test_path("t.csv")}),
                 JF_OK);
    CHECK_STATUS(jf_judge(&tested[1], of_file,
                          &(jf_judge_options){.size = sizeof(jf_judge_options), .test_data = data}),
                 JF_OK);
    check_same_judgement(tested[0], tested[1]);
    for (int i = 0; i < 2; i++) {
        jf_judgement_free(held_out[i]);
        jf_judgement_free(tested[i]);
    }
    jf_model_free(m);
    jf_model_free(of_file);
    jf_recipe_free(r);
    jf_data_free(data);
    jf_context_free(ctx);
}

TEST(data_in_memory__a_loaded_model_says_that_it_has_none_and_takes_them_again) {
    jf_context *ctx = new_context();
    arrays a;
    jf_data *data = data_of(ctx, &a, &layouts[0]);
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
    jf_model *m = train_on(ctx, r), *loaded = NULL;
    jf_judgement *j = NULL;
    CHECK_STATUS(jf_model_save(m, test_path("m.safetensors")), JF_OK);
    CHECK_STATUS(jf_model_load(&loaded, ctx, test_path("m.safetensors"), NULL), JF_OK);
    CHECK_STATUS(jf_judge(&j, loaded, NULL), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "data.file: found \"memory\"");
    CHECK_STATUS(jf_model_set_data(loaded, data), JF_OK);
    CHECK_STATUS(jf_judge(&j, loaded, NULL), JF_OK);
    jf_judgement_free(j);
    jf_model_free(loaded);
    jf_model_free(m);
    jf_recipe_free(r);
    jf_data_free(data);
    jf_context_free(ctx);
}

/* Bounds call a column by its name; arrays to test on have none of their own. */
TEST(data_in_memory__names_reach_the_model_and_its_test_data) {
    static const char *const names[] = {"height", "width", "depth", "weight"};
    jf_context *ctx = new_context();
    arrays a, b;
    jf_data *data = data_of(ctx, &a, &layouts[0]), *test = data_of(ctx, &b, &layouts[0]);
    CHECK_STATUS(jf_data_set_names(data, names), JF_OK);
    jf_recipe *r = recipe_of(
        ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data, .bounds = "height=-5:5"});
    jf_model *m = train_on(ctx, r);
    jf_judgement *j = NULL;
    CHECK_TEXT(jf_model_column_name(m, 0), "height");
    CHECK_TEXT(jf_model_column_name(m, 3), "weight");
    CHECK_STATUS(jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .test_data = test}),
                 JF_OK);
    jf_judgement_free(j);
    jf_model_free(m);
    jf_recipe_free(r);
    jf_data_free(data);
    jf_data_free(test);
    jf_context_free(ctx);
}

/* ---- recipes of one's own ---- */

TEST(data_in_memory__serve_a_recipe_of_ones_own) {
    jf_context *ctx = new_context();
    arrays a;
    jf_data *data = data_of(ctx, &a, &layouts[0]);
    jf_recipe *r = NULL;
    CHECK_STATUS(jf_recipe_parse(&r, ctx, "[data]\nset = table\nfile = later.csv\nx = 7\ny = 7\n", "own"),
                 JF_OK);
    make_small(r);
    CHECK_STATUS(jf_recipe_set_data(r, data), JF_OK);
    CHECK_TEXT(jf_recipe_get(r, "data.x"), "3");
    CHECK_TEXT(jf_recipe_get(r, "data.y"), "1");
    jf_model_free(train_on(ctx, r));
    jf_recipe_free(r);
    jf_data_free(data);
    jf_context_free(ctx);
}

/* ---- who keeps them ---- */

static void count_release(void *user) {
    ++*(int *)user;
}

TEST(data_in_memory__are_released_once_and_when_nobody_keeps_them) {
    jf_context *ctx = new_context();
    arrays a;
    int released = 0;
    jf_data *data = data_of(ctx, &a, &layouts[0]);
    jf_data_on_release(data, count_release, &released);
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
    jf_model *m = train_on(ctx, r);
    jf_data_free(data);
    jf_recipe_free(r);
    CHECK(released == 0);
    CHECK_STATUS(jf_model_set_data(m, NULL), JF_OK);
    CHECK(released == 1);
    jf_model_free(m);
    CHECK(released == 1);
    jf_data_free(NULL);
    jf_context_free(ctx);
}

TEST(data_in_memory__training_takes_no_copy_of_an_array) {
#ifdef SANITIZED
    SKIP("a sanitizer keeps what was freed");
#endif
    enum { LARGE = 200000, COLUMNS = 20 }; /* 16 MB of floats */
    jf_context *ctx = new_context();
    struct rusage before, after;
    float *values = malloc((size_t)LARGE * COLUMNS * sizeof *values);
    CHECK(values != NULL);
    for (size_t i = 0; i < (size_t)LARGE * COLUMNS; i++) values[i] = (float)(i * 2654435761u % 1000003);
    jf_data *data = NULL;
    jf_recipe *r = NULL;
    jf_array x = {.values = values, .type = JF_FLOAT, .rows = LARGE, .columns = COLUMNS};
    getrusage(RUSAGE_SELF, &before);
    CHECK_STATUS(jf_data_create(&data, ctx, &x, NULL), JF_OK);
    CHECK_STATUS(
        jf_recipe_for_table(
            &r, ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data, .bounds = "none"}),
        JF_OK);
    make_small(r);
    CHECK_STATUS(jf_recipe_set(r, "train.batch", "2000"), JF_OK);
    CHECK_STATUS(jf_recipe_set(r, "model.law", "affine"), JF_OK);
    CHECK_STATUS(jf_recipe_set(r, "train.epochs", "1"), JF_OK);
    CHECK_STATUS(jf_recipe_set(r, "data.validation", "0.0001"), JF_OK);
    jf_model_free(train_on(ctx, r));
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < (long)(LARGE / 1024 * COLUMNS * sizeof *values)); /* KiB */
    jf_recipe_free(r);
    jf_data_free(data);
    free(values);
    jf_context_free(ctx);
}

/* ---- mistakes ---- */

TEST(data_in_memory__a_column_is_x_or_y_and_once) {
    jf_context *ctx = new_context();
    double values[40] = {0};
    float floats[40] = {0};
    jf_data *data = NULL;
    const ptrdiff_t row = 5 * sizeof *values, column = sizeof *values;
    jf_array x = {values, JF_DOUBLE, 8, 3, row, column}, y = {values + 2, JF_DOUBLE, 8, 3, row, column};
    CHECK_STATUS(jf_data_create(&data, ctx, &x, &y), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "column 3 of x is column 1 of y, too");
    y = (jf_array){values + 4, JF_DOUBLE, 8, 3, row, -column};
    CHECK_STATUS(jf_data_create(&data, ctx, &x, &y), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "column 3 of x is column 3 of y, too");
    CHECK(data == NULL);
    x.column_stride = 0;
    CHECK_STATUS(jf_data_create(&data, ctx, &x, NULL), JF_ERROR_DATA);
    x.column_stride = column;
    const jf_array apart[] = {{values + 3, JF_DOUBLE, 8, 2, row, column},
                              {values + 3, JF_DOUBLE, 8, 1, row, 0},
                              {values + 4, JF_DOUBLE, 8, 2, row, -column},
                              {floats, JF_FLOAT, 8, 3, row, column}};
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(jf_data_create(&data, ctx, &x, &apart[i]), JF_OK);
        jf_data_free(data);
    }
    jf_context_free(ctx);
}

TEST(data_in_memory__names_are_utf8_without_control_characters) {
    static const char *const broken[][4] = {{"a", "b", "c\nd", "e"},
                                            {"a", "b", "c", "d\x1b[2J"},
                                            {"gr\xF6\xDF"
                                             "e",
                                             "b", "c", "d"}};
    static const char *const words[] = {"column 3: byte 2 of its name has code 10",
                                        "column 4: byte 2 of its name has code 27",
                                        "column 1: byte 3 of its name has code 246"};
    jf_context *ctx = new_context();
    arrays a;
    jf_data *data = data_of(ctx, &a, &layouts[0]);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(jf_data_set_names(data, broken[i]), JF_ERROR_DATA);
        CHECK_HAS(jf_context_error(ctx), words[i]);
    }
    jf_data_free(data);
    jf_context_free(ctx);
}

TEST(data_in_memory__arrays_that_cannot_be_are_refused) {
    jf_context *ctx = new_context();
    double values[8] = {0};
    jf_array good = {values, JF_DOUBLE, 4, 2, 0, 0}, bad;
    jf_data *data = NULL;
    CHECK_STATUS(jf_data_create(&data, ctx, NULL, &good), JF_ERROR_ARGUMENT);
    bad = good, bad.type = (jf_number_type)7;
    CHECK_STATUS(jf_data_create(&data, ctx, &bad, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "expected JF_FLOAT or JF_DOUBLE");
    bad = good, bad.values = NULL;
    CHECK_STATUS(jf_data_create(&data, ctx, &bad, NULL), JF_ERROR_ARGUMENT);
    bad = good, bad.columns = 0;
    CHECK_STATUS(jf_data_create(&data, ctx, &bad, NULL), JF_ERROR_ARGUMENT);
    bad = good, bad.rows = 3;
    CHECK_STATUS(jf_data_create(&data, ctx, &good, &bad), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "x has 4 rows and y has 3");
    CHECK_STATUS(jf_data_fill(&data, ctx, 4, 2, 0, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK(data == NULL);
    jf_context_free(ctx);
}

TEST(data_in_memory__a_value_that_is_not_finite_is_named) {
    jf_context *ctx = new_context();
    arrays a;
    jf_data *data = data_of(ctx, &a, &layouts[0]);
    jf_model *m = NULL;
    jf_recipe *r = recipe_of(ctx, &(jf_table_request){.size = sizeof(jf_table_request), .data = data});
    double nothing = NAN, beyond = INFINITY;
    memcpy(a.y + 16 * 16, &nothing, sizeof nothing);
    CHECK_STATUS(jf_recipe_set(r, "data.missing", "refuse"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "data in memory: row 17, column 1 of y is missing");
    CHECK_STATUS(jf_recipe_set(r, "data.missing", "drop"), JF_OK);
    memcpy(a.y + 17 * 16, &beyond, sizeof beyond);
    CHECK_STATUS(jf_train(&m, ctx, r, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "data in memory: row 18, column 1 of y is inf");
    CHECK(m == NULL);
    jf_recipe_free(r);
    jf_data_free(data);
    jf_context_free(ctx);
}
