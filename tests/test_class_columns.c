/* Classes of a table: y has a column of zeros and ones for each. */
#include "format_fixture.h"
#include "jointflow/jointflow.h"
#include "judge/judge.h"
#include "model/model.h"
#include "train_fixture.h"

enum { ROWS = 240, CLASSES = 3 };
static const char *put_text(const char *name, const char *content) {
    return put_file(name, content, strlen(content));
}

static const int labels[CLASSES] = {3, 5, 8};

/* Two columns of x and the class, which shifts them; half of the rows are of the first class. */
static const char *put_table(const char *name, const char *header) {
    text t = {0};
    rng r = rng_stream((rng_key){7, RNG_DATA, 0}, 0);
    text_add(&t, "%s", header);
    for (int i = 0; i < ROWS; i++) {
        int k = i % 4 < 2 ? 0 : i % 4 - 1;
        text_add(&t, "%.6f,%.6f,%d\n", rng_normal(&r) + 4 * (k == 1), rng_normal(&r) + 4 * (k == 2),
                 labels[k]);
    }
    put_file(name, t.chars, t.length);
    text_free(&t);
    return test_path(name);
}

static run *open_run(const char *more) {
    char content[768];
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 1\ndiscrete = yes\none_hot = yes\nvalidation = "
             "0.25\n%s" TINY_MODEL "[train]\nbatch = 16\nepochs = 1\n",
             put_table("t.csv", "a,b,kind\n"), more);
    return run_open(content);
}

TEST(class_columns__rows_have_a_one_in_the_column_of_their_class) {
    run *r = open_run("");
    const dataset *data = r->data;
    CHECK(data->dim_x == 2 && data->dim_y == CLASSES && data->planes == CLASSES);
    double row[2 + CLASSES], sum[CLASSES] = {0}, square[CLASSES] = {0};
    for (int i = 0; i < (int)data->rows; i++) {
        row_sequence sequence = {{1, RNG_DATA, 0}, -1, 0};
        int k = data->kind->row_class(data, dataset_row_at(data, &sequence, (uint64_t)i));
        CHECK_STATUS(dataset_draw(data, sequence.key, (uint64_t)i, 1, -1, row), JF_OK);
        for (int e = 0; e < CLASSES; e++) CHECK(row[2 + e] == (e == k));
        CHECK(units_class_of(&r->m->units, row + 2) == k);
        CHECK(units_label_of(&r->m->units, row + 2) == labels[k]);
        dataset_standardise(data, 1, row);
        for (int e = 0; e < CLASSES; e++) sum[e] += row[2 + e], square[e] += row[2 + e] * row[2 + e];
    }
    for (int e = 0; e < CLASSES; e++) {
        CHECK_NEAR(sum[e] / (double)data->rows, 0, 1e-9); /* by their shares of the rows, which differ */
        CHECK_NEAR(square[e] / (double)data->rows, 1, 1e-9);
    }
    run_close(r);
}

/* Trained, saved, loaded, asked by its labels, judged on other rows, of which some classes are missing. */
TEST(class_columns__model_is_trained_saved_asked_by_label_and_judged) {
    run *r = open_run("");
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    jf_judgement *j = NULL;
    double y[2 * CLASSES], x[4];
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_STATUS(model_save(r->m, test_path("m.safetensors")), JF_OK);
    run_close(r);
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_model_load(&m, ctx, test_path("m.safetensors"), NULL), JF_OK);
    CHECK(jf_model_classes(m) == CLASSES && jf_model_dim_y(m) == CLASSES);
    CHECK(jf_model_label(m, 2) == 8 && strcmp(jf_model_class_name(m, 2), "8") == 0);
    CHECK_STATUS(jf_model_y_of_label(m, 8, y), JF_OK);
    CHECK(y[0] == 0 && y[1] == 0 && y[2] == 1);
    CHECK(jf_model_label_of_y(m, y) == 8);
    CHECK_STATUS(jf_model_y_of_label(m, 4, y + CLASSES), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "there is no class 4, expected one of 3, 5, 8");
    CHECK_STATUS(jf_model_y_of_label(m, 3, y + CLASSES), JF_OK);
    CHECK_STATUS(jf_sample(m, 2, y, x, NULL, NULL, NULL), JF_OK);
    put_text("some.csv", "b,kind,a\n1,8,2\n3,3,1\n0,8,0\n2,3,1\n1,8,1\n");
    CHECK_STATUS(
        jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .test = test_path("some.csv")}),
        JF_ERROR_DATA); /* columns are taken by their places here */
    jf_judgement_free(j);
    put_text("some.csv", "a,b,kind\n2,1,8\n1,3,3\n0,0,8\n1,2,3\n1,1,8\n");
    CHECK_STATUS(
        jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .test = test_path("some.csv")}),
        JF_OK);
    jf_judgement_free(j);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* By densities of the public interface, and the shares of the rows to train on. */
TEST(class_columns__judged_argmax_is_that_of_the_densities_and_the_shares_of_the_classes) {
    run *r = open_run("");
    judgement *j = NULL;
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_STATUS(judge_create(r->m, &j, &(jf_judge_options){.points = 200}), JF_OK);
    const dataset *d = r->data;
    long rows = d->validation_rows, right = 0, most = 0;
    CHECK(j->argmax.rows == rows);
    for (long s = 0; s < rows; s++) {
        double best = -INFINITY, y[CLASSES], log_p;
        const double *x = j->clean + s * (2 + CLASSES);
        int found = -1;
        for (int k = 0; k < CLASSES; k++) {
            double share = (double)(d->class_start[k + 1] - d->class_start[k]) / (double)d->rows;
            CHECK_STATUS(jf_model_y_of_label(r->m, labels[k], y), JF_OK);
            CHECK_STATUS(jf_density(r->m, 1, x, y, &log_p, NULL, NULL), JF_OK);
            if (log_p + log(share) > best) best = log_p + log(share), found = k;
        }
        right += found == j->class_of[s];
        most += j->class_of[s] == 0;
    }
    CHECK_NEAR(j->argmax.share, (double)right / (double)rows, 1e-12);
    CHECK_NEAR(j->argmax.chance, (double)most / (double)rows, 1e-12);
    judge_free(j);
    run_close(r);
}

/* Rows of files have one column of the class, found by its name or behind x. */
TEST(class_columns__tables_for_a_model_have_one_column_of_the_class) {
    run *r = open_run("");
    jf_table t;
    put_text("named.csv", "kind,a,b\n8,1,2\n3,3,4\n");
    put_text("plain.csv", "1,2,8\n3,4,3\n");
    put_text("wrong.csv", "kind\n8\n4\n");
    const char *paths[] = {test_path("named.csv"), test_path("plain.csv")};
    for (int i = 0; i < 2; i++) {
        const double expected[] = {1, 2, 0, 0, 1, 3, 4, 1, 0, 0};
        CHECK_STATUS(jf_table_read_for(&t, r->m, paths[i], 0, 2 + CLASSES), JF_OK);
        CHECK(t.rows == 2 && t.columns == 2 + CLASSES);
        CHECK(memcmp(t.values, expected, sizeof expected) == 0);
        jf_table_free(&t);
    }
    CHECK_STATUS(jf_table_read_for(&t, r->m, test_path("wrong.csv"), 2, CLASSES), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "row 2: y is 4, which is no class, expected one of 3, 5, 8");
    run_close(r);
}

TEST(class_columns__a_class_that_no_row_to_train_on_has_is_refused) {
    jf_context *ctx = NULL;
    dataset *data = NULL;
    char content[512];
    put_text("rare.csv", "1,0\n2,0\n3,1\n4,1\n5,1\n6,2\n");
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 1\ny = 1\ndiscrete = yes\none_hot = yes\n"
             "validation_rows = 1\n",
             test_path("rare.csv"));
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    recipe *rare = checked_recipe(ctx, content);
    CHECK_STATUS(dataset_open(ctx, &data, rare), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "none of the 5 rows to train on is of class 2");
    recipe_free(rare);
    jf_context_free(ctx);
}

/* ---- tables without a recipe ---- */

/* What the recipe of a table says of y: its values are those of a row number. */
static void check_default(int (*value)(int), jf_table_request q, const char *discrete, const char *one_hot) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    text t = {0};
    for (int i = 0; i < 60; i++) text_add(&t, "%d.25,%d\n", i, value(i));
    put_file("y.csv", t.chars, t.length);
    text_free(&t);
    q.size = sizeof q;
    q.x = test_path("y.csv");
    q.x_columns = "1";
    q.y_columns = "2";
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_recipe_for_table(&r, ctx, &q), JF_OK);
    CHECK(strcmp(jf_recipe_get(r, "data.discrete"), discrete) == 0);
    CHECK(strcmp(jf_recipe_get(r, "data.one_hot"), one_hot) == 0);
    jf_recipe_free(r);
    jf_context_free(ctx);
}

static int of_three(int i) {
    return i % 3;
}
static int of_two(int i) {
    return i % 2;
}
static int of_one_rare(int i) {
    return i < 4 ? 7 : i % 3;
}
static int of_many(int i) {
    return i % 25;
}

TEST(class_columns__whole_numbers_that_repeat_are_classes_unless_they_are_ordered) {
    check_default(of_three, (jf_table_request){0}, "yes", "yes");
    check_default(of_three, (jf_table_request){.ordered = 1}, "no", "no");
    check_default(of_three, (jf_table_request){.discrete = 1, .ordered = 1}, "yes", "no");
    check_default(of_three, (jf_table_request){.bounds = "y0=whole"}, "no", "no");
    check_default(of_two, (jf_table_request){0}, "no", "no");
    check_default(of_two, (jf_table_request){.discrete = 1}, "yes", "no");
    check_default(of_one_rare, (jf_table_request){0}, "no", "no");
    check_default(of_one_rare, (jf_table_request){.discrete = 1}, "yes", "yes");
    check_default(of_many, (jf_table_request){0}, "no", "no");
}

/* ---- names ---- */

static const char words_csv[] = "a,kind\n"
                                "1,setosa\n2,\"red, round\"\n3,virginica\n4,setosa\n5,\"red, round\"\n"
                                "6,virginica\n7,setosa\n8,\"red, round\"\n9,virginica\n";

static run *open_words(const char *more) {
    char content[640];
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 1\ny = 1\ndiscrete = yes\nvalidation_rows = 3\n"
             "%s" TINY_MODEL "[train]\nbatch = 2\nepochs = 1\n",
             put_text("w.csv", words_csv), more);
    return run_open(content);
}

TEST(class_columns__names_are_labels_in_their_order_in_the_model_file_and_in_tables) {
    static const char *const names[] = {"red, round", "setosa", "virginica"};
    for (int planes = 0; planes < 2; planes++) {
        run *r = open_words(planes ? "one_hot = yes\n" : "");
        jf_model *m = NULL;
        jf_table t;
        char *written = NULL;
        size_t size = 0;
        CHECK(r->data->classes == 3 && r->data->kind->row_class(r->data, 1) == 0);
        CHECK_STATUS(model_save(r->m, test_path("m.safetensors")), JF_OK);
        CHECK_STATUS(jf_model_load(&m, r->ctx, test_path("m.safetensors"), NULL), JF_OK);
        for (int k = 0; k < 3; k++) {
            CHECK(strcmp(jf_model_class_name(m, k), names[k]) == 0);
            CHECK(jf_model_label(m, k) == k);
        }
        put_text("y.csv", "kind,note\nvirginica,late\n\"red, round\",-\n");
        CHECK_STATUS(jf_table_read_for(&t, m, test_path("y.csv"), 1, (size_t)jf_model_dim_y(m)), JF_OK);
        CHECK(t.rows == 2 && jf_model_label_of_y(m, t.values) == 2);
        CHECK(jf_model_label_of_y(m, t.values + t.columns) == 0);
        jf_table_free(&t);
        put_text("y.csv", "kind\nvirginica\nvirginia\n");
        CHECK_STATUS(jf_table_read_for(&t, m, test_path("y.csv"), 1, (size_t)jf_model_dim_y(m)),
                     JF_ERROR_DATA);
        CHECK_HAS(jf_context_error(r->ctx),
                  "row 2: y is virginia, which is no class, expected one of red, round");
        double values[] = {2, 0.5, 0, 1.5};
        CHECK_STATUS(jf_table_write_for(&(jf_table){values, 2, 2}, m, NULL, (const unsigned char[]){1, 0},
                                        test_path("out.csv")),
                     JF_OK);
        CHECK_STATUS(file_read(r->ctx, &written, &size, test_path("out.csv"), 1000), JF_OK);
        CHECK(size == strlen("virginica,0.5\n\"red, round\",1.5\n"));
        CHECK(memcmp(written, "virginica,0.5\n\"red, round\",1.5\n", size) == 0);
        free(written);
        jf_model_free(m);
        run_close(r);
    }
}

TEST(class_columns__data_to_test_on_have_the_classes_of_the_model_by_name) {
    run *r = open_words("one_hot = yes\n");
    jf_judgement *j = NULL;
    jf_judge_options options = {.size = sizeof options, .test = test_path("some.csv")};
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    put_text("some.csv", "a,kind\n1,virginica\n4,setosa\n3,virginica\n2,setosa\n");
    CHECK_STATUS(jf_judge(&j, r->m, &options), JF_OK);
    jf_judgement_free(j);
    put_text("some.csv", "a,kind\n1,virginica\n4,versicolor\n3,virginica\n2,setosa\n");
    CHECK_STATUS(jf_judge(&j, r->m, &options), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx),
              "row 2, column 2 (\"kind\") is versicolor, which is no class, expected one of");
    run_close(r);
}

TEST(class_columns__text_that_is_no_class_is_refused_where_it_is_used) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    text t = {0};
    for (int i = 0; i < 70; i++)
        text_add(&t, "%s%d,name%d,%s\n", i ? "" : "a,who,mixed\n", i, i, i % 2 ? "b" : "3");
    put_text("t.csv", t.chars);
    text_free(&t);
    jf_table_request q = {.size = sizeof q, .x = test_path("t.csv"), .x_columns = "a"};
    static const char *const columns[] = {"who", "mixed"};
    static const char *const expected[] = {"holds text, expected at most 64 different words",
                                           "found \"b\", expected a number"};
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < 2; i++) {
        jf_model *m = NULL;
        q.y_columns = columns[i];
        q.discrete = 1;
        CHECK_STATUS(jf_recipe_for_table(&r, ctx, &q), JF_OK);
        CHECK(jf_train(&m, ctx, r, NULL) != JF_OK);
        CHECK_HAS(jf_context_error(ctx), expected[i]);
        jf_recipe_free(r);
    }
    jf_context_free(ctx);
}
