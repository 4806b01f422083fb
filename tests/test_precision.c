/* What products are computed in: training asks a device for the precision of the recipe, everything that is
 * measured or answered for fp32. */
#include "judge/judge.h"
#include "model/use.h"
#include "train/bench.h"
#include "train_fixture.h"

extern const device_kind device_cpu, device_ref;

/* ---- a device that notes what is asked of its layers ---- */

static struct {
    long calls[PRECISION_COUNT][2]; /* forwards, backwards */
    long saved[PRECISION_COUNT];    /* calls with saved activations */
} noted;

static size_t note_scratch(const device *d, const layer_plan *p, int n, layer_use use) {
    /* One precision needs more room in forward passes than the other in backward ones. */
    size_t needed = device_cpu.plan_scratch(d, p, n, use);
    return use.precision == PRECISION_FP32 ? needed + 100000 : needed;
}

static void note_run(device *d, const layer_plan *p, const layer_call *call) {
    noted.calls[call->precision][call->kind == PASS_BACKWARD]++;
    noted.saved[call->precision] += call->saved != NULL;
    device_cpu.plan_run(d, p, call);
}

/* Computes in float whatever it is asked for: a device that is told apart by what it was asked. */
static device_kind noting_device(precision training) {
    device_kind kind = device_cpu;
    kind.precisions = 1u << PRECISION_FP32 | 1u << PRECISION_TF32 | 1u << PRECISION_BF16;
    kind.training = training;
    kind.plan_scratch = note_scratch;
    kind.plan_run = note_run;
    memset(&noted, 0, sizeof noted);
    return kind;
}

/* With rows held out and latent histograms, so that a run measures in all its ways. */
static run *open_on(const device_kind *kind, const char *products) {
    char content[700];
    FILE *file = fopen(test_path("t.csv"), "w");
    CHECK(file != NULL);
    for (int i = 0; i < 80; i++) fprintf(file, "%g,%g,%g\n", sin(i), cos(1.7 * i), sin(0.3 * i));
    CHECK(fclose(file) == 0);
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 1\nvalidation = 0.2\n" TINY_MODEL
             "[train]\nbatch = 16\nprecondition = 1\nprecondition_batches = 2\nanneal = 1\nepochs = 2\n"
             "ks_every = 1\nprecision = %s\n",
             test_path("t.csv"), products);
    return run_open_on(content, kind, 1);
}

static void check_training_in(precision wanted, const char *key, const device_kind *kind) {
    run *r = open_on(kind, key);
    memset(&noted, 0, sizeof noted);
    CHECK(train_precision(r->m) == wanted);
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    for (int i = 0; i < PRECISION_COUNT; i++) {
        int trains = i == (int)wanted, measures = i == PRECISION_FP32;
        CHECK((noted.calls[i][0] > 0) == (trains || measures));
        CHECK((noted.calls[i][1] > 0) == trains);
        CHECK((noted.saved[i] > 0) == trains);
    }
    /* a step is as many passes forwards as backwards: what is beyond them measures */
    if (wanted != PRECISION_FP32) CHECK(noted.calls[wanted][0] == noted.calls[wanted][1]);
    run_close(r);
}

TEST(precision__training_has_that_of_the_recipe_and_measuring_fp32) {
    device_kind kind = noting_device(PRECISION_TF32);
    check_training_in(PRECISION_FP32, "fp32", &kind);
    check_training_in(PRECISION_TF32, "tf32", &kind);
    check_training_in(PRECISION_BF16, "bf16", &kind);
}

TEST(precision__auto_is_the_one_that_the_device_names_for_training) {
    device_kind tf32 = noting_device(PRECISION_TF32), bf16 = noting_device(PRECISION_BF16);
    check_training_in(PRECISION_TF32, "auto", &tf32);
    check_training_in(PRECISION_BF16, "auto", &bf16);
}

/* Validation and histograms happen in between: a run that is trained in float by its device in any case
 * learns the same. */
TEST(precision__measuring_in_between_changes_no_step) {
    device_kind kind = noting_device(PRECISION_BF16);
    run *noting = open_on(&kind, "auto"), *plain = open_on(&device_cpu, "auto");
    CHECK_STATUS(run_train(noting, NULL, 0), JF_OK);
    CHECK_STATUS(run_train(plain, NULL, 0), JF_OK);
    CHECK(same_weights(noting->m, plain->m));
    run_close(noting);
    run_close(plain);
}

TEST(precision__models_answer_and_are_judged_in_fp32) {
    device_kind kind = noting_device(PRECISION_BF16);
    run *r = open_on(&kind, "bf16");
    judgement *j = NULL;
    double rows[3 * 5] = {0};
    memset(&noted, 0, sizeof noted);
    CHECK_STATUS(model_sample(r->m, (latent_points){1, LATENT_SAMPLES, 0, 1}, DATA_UNITS, 5, rows, NULL),
                 JF_OK);
    CHECK_STATUS(model_encode(r->m, DATA_UNITS, 5, rows), JF_OK);
    CHECK_STATUS(judge_run(r->m, &j, 30, 1), JF_OK);
    CHECK(noted.calls[PRECISION_FP32][0] > 0 && noted.calls[PRECISION_FP32][1] > 0);
    CHECK(noted.calls[PRECISION_BF16][0] == 0 && noted.calls[PRECISION_BF16][1] == 0);
    judge_free(j);
    run_close(r);
}

TEST(precision__scratch_of_a_run_is_enough_for_measuring) {
    device_kind kind = noting_device(PRECISION_BF16);
    run *r = open_on(&kind, "bf16");
    run_use bf16 = train_run_use(r->m), fp32 = {0};
    CHECK(bf16.precision == PRECISION_BF16);
    CHECK(flow_run_size(r->m->flow, 16, bf16, 1, NULL).scratch >=
          flow_run_size(r->m->flow, 16, fp32, 0, NULL).scratch);
    run_close(r);
}

TEST(precision__bench_samples_in_fp32_unless_it_is_asked_for_that_of_training) {
    device_kind kind = noting_device(PRECISION_BF16);
    for (int as_trained = 0; as_trained < 2; as_trained++) {
        run *r = open_on(&kind, "auto");
        jf_bench_options options = {.batch = 8, .seconds = 1e-6, .sample_as_trained = as_trained};
        jf_bench_result result = {0};
        CHECK_STATUS(bench_run(r->m, &options, &result), JF_OK);
        CHECK_TEXT(result.train_precision, "bf16");
        CHECK_TEXT(result.sample_precision, as_trained ? "bf16" : "fp32");
        bench_result_free(&result);
        run_close(r);
    }
}

/* ---- words ---- */

TEST(precision__one_that_the_device_lacks_is_refused_with_those_it_has) {
    run *r = open_on(&device_cpu, "tf32");
    CHECK_STATUS(train_check_precision(r->m), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(r->ctx),
              "train.precision: found tf32, expected what device cpu has: auto, fp32");
    run_close(r);
    for (int i = 0; i < 2; i++) {
        static const char *const words[] = {"auto", "fp32"};
        r = open_on(i ? &device_ref : &device_cpu, words[i]);
        CHECK_STATUS(train_check_precision(r->m), JF_OK);
        run_close(r);
    }
}

static run *open_images_on(const device_kind *kind) {
    return run_open_on(
        "[data]\nset = images\nimages = glyphs\nlimit = 40\ntask = superres\ndown = 1\n[model]\n"
        "net = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\nsqueeze = none\n"
        "[train]\nnoise = 0.02\nvalidation = 20\nbatch = 8\nprecondition = 0\nanneal = 0\nepochs = 1\n",
        kind, 1);
}

static void check_words(run *r, const char *of_device, const char *products) {
    char words[DEVICE_MAX_WORDS];
    device_describe_at(r->m->d, train_products(r->m), words);
    CHECK_HAS(words, of_device);
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK((strstr(r->m->trained, "products") != NULL) == (products != NULL));
    if (products) CHECK_HAS(r->m->trained, products);
    run_close(r);
}

/* Dense networks have none, whatever their device is asked for. */
TEST(precision__is_told_where_a_device_has_a_choice) {
    device_kind kind = noting_device(PRECISION_BF16);
    check_words(open_images_on(&kind), "1 thread; products in bf16)", "steps of 8 samples, products in bf16");
    check_words(open_on(&kind, "auto"), "1 thread; products in fp32)", NULL);
    check_words(open_on(&device_cpu, "auto"), "1 thread)", NULL);
}
