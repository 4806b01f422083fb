/* Training that cannot go well says so, at once, and says why. */
#include "train_fixture.h"

#include "io/npy.h"
#include "judge/judge.h"
#include "train/fault.h"

/* ---- the first batch ---- */

TEST(train__a_start_that_diverges_is_given_up_at_once_with_layer_and_gain) {
    run *r = run_open(
        "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 50\nwidth = 4\nhidden_gain = 10\n"
        "[train]\nbatch = 50\nbatches = 4\nprecondition = 0\nanneal = 0\nepochs = 2\nks_every = 0\n");
    CHECK_STATUS(run_train(r, NULL, 0), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(r->ctx), "train, epoch 1, batch 1: values are not finite after layer 0; ");
    CHECK_HAS(jf_context_error(r->ctx), "lower model.hidden_gain, which is 10");
    CHECK(!strstr(r->log, "back to the start"));
    run_close(r);
}

/* 8 x 8 images, one of which has a pixel of this intensity; x is not standardised by the task. */
static run *open_images(double pixel) {
    enum { COUNT = 20, PIXELS = 64 };
    static double values[COUNT * PIXELS];
    static char content[1024];
    jf_context *ctx = NULL;
    for (int i = 0; i < COUNT * PIXELS; i++) values[i] = (double)(i * 7 % 11) / 11;
    values[3 * PIXELS + 9] = pixel;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(npy_write(ctx, test_path("stack.npy"), values, 3, (size_t[]){COUNT, 8, 8}, 0), JF_OK);
    jf_context_free(ctx);
    snprintf(content, sizeof content,
             "[data]\nset = images\nimages = %s\ntask = superres\nvalidation = 0\n[model]\nnet = "
             "resnext\nblocks = 1\n"
             "kernels = 4\ncardinality = 2\nresidual = 1\n[train]\nbatch = 20\nprecondition = 0\nanneal = 0\n"
             "epochs = 1\nks_every = 0\nnoise = 0.02\n",
             test_path("stack.npy"));
    return run_open(content);
}

TEST(train__a_row_that_is_far_off_is_named_rather_than_the_start) {
    run *r = open_images(1e30);
    CHECK_STATUS(run_train(r, NULL, 0), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(r->ctx), "; it is training row 4, whose ");
    run_close(r);
}

/* ---- held-out rows ---- */

static char table_recipe[1024];

/* A table of normal numbers, of which one that is held out is `value`. */
static run *open_table(double value, const char *train) {
    run *r = NULL;
    for (int row = 0; row < 100; row++) {
        FILE *out = fopen(test_path("t.csv"), "w");
        rng s = rng_stream((rng_key){3, RNG_TEST, 0}, 0);
        CHECK(out);
        for (int i = 0; i < 300; i++) {
            double a = rng_normal(&s), b = rng_normal(&s);
            CHECK(fprintf(out, "%.9g,%.9g\n", i == row ? value : a, b) > 0);
        }
        CHECK(fclose(out) == 0);
        snprintf(table_recipe, sizeof table_recipe,
                 "[data]\nset = table\nfile = %s\nx = 1\ny = 1\n" TINY_MODEL
                 "[train]\nbatch = 50\nprecondition = 0\n"
                 "anneal = 0\nks_every = 0\n%s",
                 test_path("t.csv"), train);
        r = run_open(table_recipe);
        if (r->data->deviation[0] < 2) return r; /* it is not among those that the deviation is measured on */
        run_close(r);
    }
    test_fail(__FILE__, __LINE__, "no row is held out");
}

TEST(train__a_row_beyond_the_devices_numbers_is_named) {
    run *r = open_table(1, "epochs = 3\n");
    r->data->deviation[0] = 1e-300;
    CHECK_STATUS(run_train(r, NULL, 0), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(r->ctx),
              "train, epoch 1, batch 1: values are not finite in the data; it is row ");
    CHECK_HAS(jf_context_error(r->ctx), "t.csv, whose x0 is ");
    CHECK_HAS(jf_context_error(r->ctx), "correct it or leave it out");
    run_close(r);
}

TEST(train__a_held_out_loss_that_is_not_finite_is_said_in_the_first_epoch) {
    run *r = open_table(1e30, "epochs = 3\n");
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_HAS(r->log, "warning: train, epoch 1: the held-out loss is inf, values are not finite ");
    CHECK_HAS(r->log, "t.csv, whose x0 is ");
    CHECK(!strstr(r->log, "train, epoch 2:")); /* once is enough */
    CHECK_HAS(r->log, "warning: train: no epoch had a finite held-out loss");
    run_close(r);
}

TEST(train__a_table_that_cannot_be_validated_is_refused_and_leaves_no_run) {
    run *r = open_table(1e40, "epochs = 3\n");
    model *m = NULL;
    jf_train_options options = {.folder = test_path("run"), .threads = 1};
    CHECK_STATUS(train_recipe(r->ctx, &m, r->recipe, &options), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "column 1 is 1e+40, ");
    CHECK(m == NULL && !file_exists(test_path("run")));
    run_close(r);
}

/* ---- how it ended ---- */

static const char diverging[] = "[data]\nset = crescents\n" TINY_MODEL
                                "[train]\nbatch = 50\nbatches = 4\nprecondition = 0\nanneal = 0\nepochs = 3\n"
                                "rate = 1\nks_every = 0\n";
static const char learning[] =
    "[data]\nset = crescents\n" TINY_MODEL "[loss]\nlambda = 1\n"
    "[train]\nbatch = 100\nbatches = 40\nprecondition = 0\nanneal = 0\nepochs = 20\n"
    "rate = 1e-2\nks_every = 0\n";

TEST(train__a_model_that_is_worse_than_a_gaussian_is_told_wherever_its_loss_is) {
    run *r = run_open(diverging);
    judgement *j = NULL;
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_HAS(r->log, "warning: the loss of the model is ");
    CHECK_HAS(r->log, "worse than the 2.8");
    CHECK_HAS(r->m->trained, ", worse than a Gaussian's 2.8");
    CHECK_STATUS(judge_run(r->m, &j, 500, 1), JF_OK);
    CHECK(j->worse);
    CHECK_HAS(j->table.chars, "worse than the 2.8");
    CHECK_HAS(j->json.chars, "\"worse_than_gaussian\": true");
    CHECK_STATUS(report_write(r->m, j, test_path("report")), JF_OK);
    char *page = NULL;
    size_t size;
    CHECK_STATUS(file_read(r->ctx, &page, &size, test_path("report/report.html"), 1 << 28), JF_OK);
    CHECK_HAS(page, "worse than the 2.839 of a Gaussian");
    free(page);
    judge_free(j);
    run_close(r);
}

TEST(train__a_model_that_learned_is_not_told_to_be_worse_than_a_gaussian) {
    run *r = run_open(learning);
    judgement *j = NULL;
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_TEXT(r->log, "");
    CHECK_HAS(r->m->trained, " (a Gaussian's: 2.8");
    CHECK_STATUS(judge_run(r->m, &j, 500, 1), JF_OK);
    CHECK(!j->worse && isfinite(j->gaussian));
    CHECK_HAS(j->json.chars, "\"worse_than_gaussian\": false");
    judge_free(j);
    run_close(r);
}

/* ---- numbers of any size in a table ---- */

TEST(judge_number__is_never_cut_off) {
    static const double values[] = {0, -1, 9e14, -1.2345e38, 1e300, -1e-300, 123456789, 1e7};
    char digits[JUDGE_MAX_NUMBER];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int width = 10; width <= 12; width++) {
            const char *shown = judge_number(digits, width, "%.4f", values[i]);
            CHECK((int)strlen(shown) <= width);
            CHECK_NEAR(atof(shown), values[i], 1e-3 * fabs(values[i]) + 1e-4);
        }
    CHECK_TEXT(judge_number(digits, 12, "%.4f", NAN), "unknown");
}
