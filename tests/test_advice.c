/* The three sentences that a judgement begins with. */
#include "data_fixture.h"
#include "format_fixture.h"
#include "judge/judge.h"
#include "train_fixture.h"
#include <math.h>

/* A model of a, b and d given c; of `rows` rows, `held` at the end are held out. With two columns each
 * judgement would take seconds for the integral of the density. */
static run *advised_model_of(int columns, int rows, int held, const char *condition, const char *train) {
    char content[1200];
    text csv = {0};
    rng r = rng_stream(data_key(5), 0);
    text_add(&csv, columns == 3 ? "a,b,d,c\n" : "a,b,c\n");
    for (int i = 0; i < rows; i++) {
        double c = rng_normal(&r);
        text_add(&csv, "%.9g,%.9g,", c + rng_normal(&r), rng_normal(&r) - c);
        if (columns == 3) text_add(&csv, "%.9g,", rng_normal(&r));
        text_add(&csv, "%.9g\n", c);
    }
    put_file("t.csv", csv.chars, csv.length);
    text_free(&csv);
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = %d\ny = 1\nvalidation_rows = %d\n"
             "[model]\ncondition = %s\nlaw = affine\nblocks = 1\ndepth = 1\nwidth = 8\n"
             "[train]\nbatch = 20\nprecondition = 0\nanneal = 0\n%s",
             test_path("t.csv"), columns, held, condition, train);
    run *trained = run_open(content);
    CHECK_STATUS(run_train(trained, NULL, 0), JF_OK);
    return trained;
}

static run *advised_model(int rows, int held, const char *condition, const char *train) {
    return advised_model_of(3, rows, held, condition, train);
}

static judgement *judged_on(const run *r, long points) {
    judgement *j;
    jf_judge_options q = {.points = points, .seed = 1};
    if (judge_create(r->m, &j, &q) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    return j;
}

/* The sentences again, after numbers were changed. */
static void advise_again(judgement *j, const model *m) {
    for (int i = 0; i < JUDGE_ADVICE; i++) free(j->advice[i]);
    CHECK_STATUS(judge_advise(j, m), JF_OK);
}

TEST(advice__a_model_is_better_worse_or_neither_than_a_linear_regression) {
    run *r = advised_model(200, 50, "fixed", "epochs = 2\n");
    judgement *j = judged_on(r, 0);
    static const struct {
        double gain, error;
        const char *words;
    } cases[] = {
        {-0.17, 0.01,
         "is worse than a linear regression with Gaussian errors by 0.17 nats, 17.0 standard errors"},
        {1.5, 0.5,
         "is better than a linear regression with Gaussian errors by 1.5 nats, 3.0 standard errors"},
        {0.01, 0.01, "is as good as a linear regression"},
        {-0.01, 0.01, "is as good as a linear regression"},
    };
    for (int i = 0; i < 4; i++) {
        j->linear_gain = cases[i].gain;
        j->linear_error = cases[i].error;
        text_free(&j->table), text_free(&j->json);
        advise_again(j, r->m);
        CHECK_STATUS(judge_write(j, r->m), JF_OK);
        CHECK_HAS(j->advice[0], cases[i].words);
        CHECK((strstr(j->table.chars, "no more than chance") != NULL) == (i >= 2));
        CHECK((strstr(j->table.chars, "worse than that by         0.1700   17.0 standard errors") != NULL) ==
              (i == 0));
        CHECK((strstr(j->advice[2], "Use the linear regression") != NULL) == (i == 0));
    }
    judge_free(j);
    run_close(r);
}

TEST(advice__an_integral_that_is_not_1_is_said_in_words) {
    run *r = advised_model_of(2, 400, 150, "fixed", "epochs = 2");
    judgement *j = judged_on(r, 150);
    static const double off[] = {1.2, 0.7, 1.01, NAN};
    CHECK(j->classes > 0);
    for (int i = 0; i < 4; i++) {
        for (int c = 0; c < j->classes; c++) j->by_class[c].integral = c ? 1 : off[i];
        advise_again(j, r->m);
        CHECK((strstr(j->advice[2], "integrates to ") != NULL) == (i < 2));
        if (i == 0) CHECK_HAS(j->advice[2], "Its density integrates to 1.2 instead of 1");
    }
    judge_free(j);
    run_close(r);
}

TEST(advice__overfitting_is_named_with_both_means_and_a_remedy) {
    run *r = advised_model(100, 50, "fixed", "epochs = 2\n");
    judgement *j = judged_on(r, 0);
    CHECK(isfinite(j->training_nll) && j->training_error > 0);
    j->training_nll = 4.7, j->nll = 5.8, j->training_error = j->nll_error = 0.1;
    advise_again(j, r->m);
    CHECK_HAS(j->advice[2],
              "It overfits: the mean of log p is -4.70 on rows trained on and -5.80 nats on held-out ones");
    CHECK_HAS(j->advice[2], "train.weight_decay");
    j->training_nll = 5.6; /* within chance */
    advise_again(j, r->m);
    CHECK(!strstr(j->advice[2], "overfits"));
    judge_free(j);
    run_close(r);
}

/* Judged on the rows that it knows by heart, in the place of those held out: the one by hand is the other's
 * density. */
TEST(advice__the_likelihood_of_training_rows_is_that_of_judging_on_them) {
    run *r = advised_model(400, 60, "fixed", "epochs = 3\n");
    judgement *j = judged_on(r, 0), *of_training;
    text csv = {0};
    double *rows;
    CHECK_STATUS(judge_training_rows(r->m, r->data, 300, 1, &rows), JF_OK);
    units_unstandardise(&r->m->units, 300, rows);
    text_add(&csv, "a,b,d,c\n");
    for (const double *row = rows; row < rows + 4 * 300; row += 4)
        text_add(&csv, "%.17g,%.17g,%.17g,%.17g\n", row[0], row[1], row[2], row[3]);
    put_file("trained.csv", csv.chars, csv.length);
    jf_judge_options q = {.seed = 1, .test = test_path("trained.csv")};
    CHECK_STATUS(judge_create(r->m, &of_training, &q), JF_OK);
    CHECK(j->points == 60); /* as many training rows are looked at */
    CHECK_NEAR(j->training_nll, of_training->nll, 4 * hypot(j->training_error, of_training->nll_error));
    CHECK(isnan(of_training->training_nll));
    text_free(&csv);
    free(rows);
    judge_free(of_training);
    judge_free(j);
    run_close(r);
}

TEST(advice__a_held_out_loss_that_still_falls_at_the_end_is_said) {
    run *r = advised_model(300, 50, "fixed", "epochs = 2\nrate = 3e-3\n");
    judgement *j = judged_on(r, 0);
    CHECK_HAS(r->m->trained, MODEL_CUT_SHORT);
    CHECK_HAS(j->advice[2], "still falling when training ended: train again with more train.epochs");
    judge_free(j);
    run_close(r);
    r = advised_model(300, 50, "fixed", "epochs = 60\nrate = 1e-2\ndecay = cosine\n");
    CHECK(!strstr(r->m->trained, MODEL_CUT_SHORT));
    run_close(r);
}

TEST(advice__too_few_rows_for_calibration_are_said_with_what_changes_that) {
    run *r = advised_model(200, 110, "fixed", "epochs = 1\n");
    judgement *j = judged_on(r, 50);
    CHECK_HAS(j->advice[1], "cannot be told: 50 rows to judge on, at least 100 needed");
    CHECK_HAS(j->advice[2], "judge on 100 points or more (--points)");
    judge_free(j);
    run_close(r);
    r = advised_model(100, 30, "fixed", "epochs = 1\n");
    j = judged_on(r, 0);
    CHECK_HAS(j->advice[1], "cannot be told: 30 rows to judge on");
    CHECK_HAS(j->advice[2], "hold out 100 rows or more (data.validation");
    judge_free(j);
    run_close(r);
}

TEST(advice__lines_of_y_back_are_told_where_the_flow_has_y_alone) {
    const char *const conditions[] = {"fixed", "flow", "joint"};
    for (int i = 0; i < 3; i++) {
        run *r = advised_model(100, 20, conditions[i], "epochs = 1\n");
        judgement *j = judged_on(r, 0);
        int shown = strstr(j->table.chars, "F_Y'") != NULL;
        CHECK(shown == (i == 2));
        judge_free(j);
        run_close(r);
    }
}

TEST(advice__a_judgement_begins_with_its_three_sentences_in_text_and_json) {
    run *r = advised_model(200, 101, "fixed", "epochs = 1\n");
    judgement *j = judged_on(r, 0);
    char start[4096];
    snprintf(start, sizeof start, "  %s\n  %s\n  %s\n\n", j->advice[0], j->advice[1], j->advice[2]);
    CHECK(strncmp(j->table.chars, start, strlen(start)) == 0);
    CHECK_HAS(j->json.chars, "\"verdict\": [\"The model is ");
    judge_free(j);
    run_close(r);
}
