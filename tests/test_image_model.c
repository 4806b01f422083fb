/* Image models from a recipe to a judgement: rows in their order, files, runs that are stopped, and what is
 * judged. */
#include "flow_fixture.h"

#include "base/file.h"
#include "judge/judge.h"
#include "model/use.h"
#include "train/train.h"
#include "train/train_memory.h"

#define GLYPHS_OF(limit) "[data]\nset = images\nimages = glyphs\nlimit = " limit "\n"
#define GLYPHS           GLYPHS_OF("120")
#define TINY_NET(squeeze)                                                                                    \
    "[model]\nnet = resnext\nblocks = 2\nkernels = 8\ncardinality = 2\nresidual = 1\ngain = 0.3\nsqueeze "   \
    "= " squeeze "\n"
#define TINY_TRAIN                                                                                           \
    "[train]\nnoise = 0.02\nbatch = 20\nrate = 1e-3\nprecondition = 1\nprecondition_batches = 2\nanneal = "  \
    "1\n"                                                                                                    \
    "epochs = 2\nvalidation = 40\nks_every = 0\ncheckpoint = 0\n"

static const char classes[] = GLYPHS "task = class\nclasses = ring,star\n" TINY_NET("1") TINY_TRAIN;
static const char superres[] = GLYPHS "task = superres\ndown = 1\n" TINY_NET("none") TINY_TRAIN;
static const char chain[] =
    GLYPHS "task = superres\ndown = 1\n" TINY_NET("none") "transforms = actnorm mixing coupling\n" TINY_TRAIN;

typedef struct fixture {
    jf_context *ctx;
    recipe *recipe;
    dataset *data;
    model *m;
} fixture;

static fixture open_model(const char *content, const char *device_name) {
    fixture f = {0};
    model_units units;
    CHECK_STATUS(jf_context_create(&f.ctx), JF_OK);
    if (recipe_parse(f.ctx, &f.recipe, content, "test.recipe") != JF_OK ||
        recipe_declare_all(f.recipe) != JF_OK || recipe_check(f.recipe) != JF_OK ||
        dataset_open(f.ctx, &f.data, f.recipe) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    CHECK_STATUS(train_units(f.ctx, &units, f.data, f.recipe), JF_OK);
    if (model_create(f.ctx, &f.m, f.recipe, &units, device_name, 1, &(model_origin){.seed = 5}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    units_free(&units);
    return f;
}

static void close_model(fixture *f) {
    model_free(f->m);
    dataset_free(f->data);
    recipe_free(f->recipe);
    jf_context_free(f->ctx);
}

/* n rows of the data, model units; yours to free. */
static double *rows_of(const fixture *f, int n) {
    double *rows = calloc((size_t)n * (size_t)f->m->flow->dim, sizeof *rows);
    CHECK(rows != NULL);
    dataset_validation(f->data, 0, n, rows);
    units_standardise(&f->m->units, n, rows);
    return rows;
}

static double worst(const double *a, const double *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* ---- rows ---- */

TEST(image_model__rows_are_all_of_x_and_then_all_of_y) {
    /* With a fixed condition y' is y: a row that was put in another order would not come back so. */
    fixture f =
        open_model(GLYPHS "task = superres\ndown = 1\n[model]\nnet = resnext\nblocks = 1\nkernels = 4\n"
                          "cardinality = 1\nresidual = 1\ngain = 0.5\ncondition = fixed\n",
                   "ref");
    enum { N = 3 };
    size_t dim = (size_t)f.m->flow->dim, dim_x = (size_t)f.m->units.dim_x;
    double *rows = rows_of(&f, N), *out = calloc(N * dim, sizeof *out), moved = 0;
    memcpy(out, rows, sizeof(double) * N * dim);
    CHECK_STATUS(model_forward(f.m, N, out, NULL), JF_OK);
    for (size_t s = 0; s < N; s++) {
        CHECK(worst(out + s * dim + dim_x, rows + s * dim + dim_x, dim - dim_x) == 0);
        moved = fmax(moved, worst(out + s * dim, rows + s * dim, dim_x));
    }
    CHECK(moved > 1e-3);
    CHECK_STATUS(model_inverse(f.m, N, out, NULL), JF_OK);
    CHECK(worst(out, rows, N * dim) < 1e-12);
    free(rows);
    free(out);
    close_model(&f);
}

TEST(image_model__a_file_brings_back_the_same_map) {
    static const char *const contents[] = {classes, superres, chain};
    for (int i = 0; i < 3; i++) {
        fixture f = open_model(contents[i], "cpu");
        model *back = NULL;
        enum { N = 4 };
        size_t count = (size_t)N * (size_t)f.m->flow->dim;
        double *rows = rows_of(&f, N), *again = rows_of(&f, N);
        const char *path = test_path("image.safetensors");
        CHECK_STATUS(model_save(f.m, path), JF_OK);
        if (model_load(f.ctx, &back, path, "cpu", 1, recipe_declare_all) != JF_OK)
            test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
        CHECK(memcmp(&back->units.image, &f.m->units.image, sizeof(image_size)) == 0);
        CHECK(back->units.classes == f.m->units.classes && back->units.image.h == (i ? 14 : 28));
        CHECK_STATUS(model_forward(f.m, N, rows, NULL), JF_OK);
        CHECK_STATUS(model_forward(back, N, again, NULL), JF_OK);
        CHECK(memcmp(rows, again, sizeof(double) * count) == 0);
        free(rows);
        free(again);
        model_free(back);
        close_model(&f);
    }
}

TEST(image_model__sizes_that_cannot_be_are_refused_in_a_sentence) {
    struct {
        const char *model, *words;
    } cases[] = {{"[model]\nnet = resnext\nblocks = 4\nsqueeze = 1,2\n", "7 x 7"},
                 {"[model]\nnet = resnext\nblocks = 2\nkernels = 12\ncardinality = 8\n", "a divisor of"}};
    for (int i = 0; i < 2; i++) {
        char content[400];
        fixture f = {0};
        model_units units;
        snprintf(content, sizeof content, GLYPHS "task = superres\ndown = 1\n%s", cases[i].model);
        CHECK_STATUS(jf_context_create(&f.ctx), JF_OK);
        CHECK_STATUS(recipe_parse(f.ctx, &f.recipe, content, "test.recipe"), JF_OK);
        CHECK_STATUS(recipe_declare_all(f.recipe), JF_OK);
        CHECK_STATUS(recipe_check(f.recipe), JF_OK);
        CHECK_STATUS(dataset_open(f.ctx, &f.data, f.recipe), JF_OK);
        CHECK_STATUS(train_units(f.ctx, &units, f.data, f.recipe), JF_OK);
        CHECK(model_create(f.ctx, &f.m, f.recipe, &units, "cpu", 1, &(model_origin){.seed = 1}) != JF_OK);
        if (!strstr(jf_context_error(f.ctx), cases[i].words))
            test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", cases[i].words, jf_context_error(f.ctx));
        units_free(&units);
        close_model(&f);
    }
}

TEST(image_model__files_with_sizes_that_are_none_are_refused) {
    fixture f = open_model(superres, "cpu");
    const char *path = test_path("image.safetensors"), *changed = test_path("changed.safetensors");
    tensor_file *file = NULL;
    CHECK_STATUS(model_save(f.m, path), JF_OK);
    CHECK_STATUS(tensors_read(f.ctx, &file, path), JF_OK);
    static const char *const notes[] = {"jointflow.format", "recipe",      "recipe_name", "seed",
                                        "trained",          "class_names", "chain",       "columns"};
    enum { NOTES = sizeof notes / sizeof *notes };
    tensor_note kept[NOTES];
    for (int i = 0; i < NOTES; i++) kept[i] = (tensor_note){notes[i], tensors_note(file, notes[i])};
    size_t count = tensors_count(file);
    tensor *all = calloc(count, sizeof *all);
    static const double sizes[][4] = {{12.25, 16, 1, 1}, {-14, -14, 1, 1}, {14, 7, 1, 1}, {NAN, 14, 1, 1}};
    for (int k = 0; k < 4; k++) {
        model *m = NULL;
        for (size_t i = 0; i < count; i++) {
            all[i] = *tensors_at(file, i);
            if (strcmp(all[i].name, "units.image") == 0)
                all[i] = (tensor){"units.image", TENSOR_F64, 1, {4}, sizes[k]};
        }
        CHECK_STATUS(
            tensors_write_summed(f.ctx, changed, all, count, kept, NOTES, TENSORS_CONTENT_SUM, file_replace),
            JF_OK);
        CHECK_STATUS(model_load(f.ctx, &m, changed, "cpu", 1, recipe_declare_all), JF_ERROR_FORMAT);
        CHECK(strstr(jf_context_error(f.ctx), "units.image"));
    }
    free(all);
    tensors_free(file);
    close_model(&f);
}

/* ---- training ---- */

TEST(image_model__epochs_without_a_batch_of_every_class_are_refused) {
    fixture f = open_model(classes, "cpu");
    CHECK_STATUS(recipe_set(f.m->recipe, "train.rows", "30"), JF_OK); /* 15 of each class, batches of 20 */
    CHECK_STATUS(train_run(f.m, f.data, &(jf_train_options){0}, 0), JF_ERROR_RECIPE);
    CHECK(strstr(jf_context_error(f.ctx), "train.rows = 30"));
    close_model(&f);
}

typedef struct stopper {
    int after, batches;
} stopper;

static int count_batches(void *user, const jf_progress *p) {
    stopper *s = user;
    if (!p->training) return 0;
    return ++s->batches == s->after;
}

static double *trained_weights(const char *content, const char *folder, int after) {
    fixture f = open_model(content, "cpu");
    stopper s = {.after = after};
    jf_train_options options = {.folder = folder};
    jf_context_set_progress(f.ctx, count_batches, &s);
    jf_status status = train_run(f.m, f.data, &options, 0);
    if (status == JF_STOPPED) { /* a new process */
        close_model(&f);
        f = open_model(content, "cpu");
        jf_context_set_progress(f.ctx, count_batches, &s);
        s = (stopper){0};
        options.resume = 1;
        status = train_run(f.m, f.data, &options, 0);
    }
    if (status != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    double *values = calloc(f.m->flow->params->total, sizeof *values);
    f.m->d->kind->get(f.m->d, values, f.m->params, f.m->flow->params->total);
    close_model(&f);
    return values;
}

static void check_stopped(const char *content, const char *folder) {
    fixture f = open_model(content, "cpu");
    size_t total = f.m->flow->params->total;
    close_model(&f);
    double *whole = trained_weights(content, NULL, 0), *parts = trained_weights(content, folder, 5);
    CHECK(memcmp(whole, parts, sizeof(double) * total) == 0);
    free(whole);
    free(parts);
}

TEST(image_model__a_run_stopped_in_an_epoch_and_resumed_ends_with_the_same_weights) {
    check_stopped(superres, test_path("run"));
}

TEST(image_model__a_run_of_all_transforms_that_is_stopped_and_resumed_ends_with_the_same_weights) {
    check_stopped(chain, test_path("run"));
}

TEST(image_model__inputs_recovered_by_inverting_agree_with_the_batch) {
    fixture f = open_model(superres, "cpu");
    flow_run *run = NULL;
    optimiser opt;
    enum { N = 6 };
    double *rows = rows_of(&f, N);
    CHECK_STATUS(optimiser_create(&opt, f.m), JF_OK);
    CHECK_STATUS(flow_run_create(&run, f.m->flow, f.m->params, opt.grad, N, (run_use){.backward = 1}), JF_OK);
    flow_run_put_rows(run, N, rows);
    loss_terms terms = evaluate_batch(&f.m->objective, run, N);
    double drift = largest_difference(f.m->d, run->state, run->copy, (size_t)(N * f.m->flow->dim));
    CHECK(drift > 0 && drift < 5e-4);
    CHECK(terms.value[TERM_Y_ERROR] > 1e-6 && isfinite(terms.value[TERM_TOTAL]));
    free(rows);
    flow_run_free(run);
    optimiser_free(&opt, f.m);
    close_model(&f);
}

TEST(image_model__kept_activations_are_counted_within_their_budget) {
    fixture f = open_model(superres, "cpu");
    train_memory roomy = train_memory_of(f.m, f.data);
    CHECK_STATUS(recipe_set(f.m->recipe, "train.keep", "0"), JF_OK);
    train_memory tight = train_memory_of(f.m, f.data);
    CHECK(tight.saved == 0 && roomy.saved > 0 && roomy.saved <= 700.0 * 1048576);
    CHECK(tight.weights == (double)f.m->flow->params->total * 8 * sizeof(float));
    CHECK(roomy.device + roomy.host - roomy.saved - roomy.passes == tight.device + tight.host - tight.passes);
    CHECK(roomy.passes <= tight.passes); /* activations that are not kept need scratch */
    CHECK(tight.data >= 120 * 28 * 28);  /* bytes of the images */
    close_model(&f);
}

/* ---- judging ---- */

TEST(image_model__a_judgement_asks_what_only_images_are_asked) {
    fixture f =
        open_model(GLYPHS_OF("3000") "task = superres\ndown = 1\n" TINY_NET("none") TINY_TRAIN, "cpu");
    judgement *j = NULL;
    if (judge_run(f.m, &j, 200, 1) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    const image_judgement *i = &j->image;
    CHECK(j->points == 200 && j->unseen);
    CHECK(j->roundtrip_data < 5e-4 && j->roundtrip_latent < 5e-4); /* float, untrained */
    CHECK(i->inputs == 64 && i->samples == 39);
    CHECK(i->psnr < 15); /* untrained: samples are noise of deviation 1 */
    CHECK(i->spread > 0.5 && i->spread < 2);
    CHECK(i->coverage_50 > 0.6 && i->coverage_90 > 0.9); /* the truth is near 0, in the middle of all that */
    CHECK(i->outside > 0.3 && i->far_outside > 0.3 && i->lowest < -1 && i->highest > 2);
    CHECK(i->floor < -1 && i->floor > -3); /* nats per dimension; smooth images with little noise */
    CHECK(strstr(j->json.chars, "\"coverage_90\"") && strstr(j->table.chars, "coverage, 90%"));
    judge_free(j);
    close_model(&f);
}

TEST(image_model__samples_are_judged_at_the_temperature_asked_for) {
    fixture f = open_model(superres, "cpu");
    double spread[2];
    for (int i = 0; i < 2; i++) {
        judgement *j = NULL;
        jf_judge_options q = {.points = 8, .seed = 1, .inputs = 4, .temperature = i ? 0.5 : 0};
        CHECK_STATUS(judge_create(f.m, &j, &q), JF_OK);
        spread[i] = j->image.spread;
        judge_free(j);
    }
    CHECK(spread[1] > 0.3 * spread[0] && spread[1] < 0.7 * spread[0]);
    close_model(&f);
}

TEST(image_model__a_judgement_by_class_needs_no_truth) {
    fixture f = open_model(classes, "cpu");
    judgement *j = NULL;
    if (judge_run(f.m, &j, 60, 1) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(f.ctx));
    CHECK(j->classes == 2 && isfinite(j->by_class[0].nll) && isfinite(j->by_class[1].nll));
    CHECK_TEXT(j->by_class[1].name, "star");
    CHECK(isnan(j->image.psnr) && isnan(j->image.coverage_50) && isfinite(j->image.outside));
    /* samples are noise, and real images are what they are */
    const image_quality *q = &j->image.quality, *held = &j->image.held_out;
    CHECK(j->image.inputs == 60 && j->image.samples == 1 && q->images == 60);
    CHECK(q->recognised < 0.8 && held->recognised > 0.8 && q->precision < 0.1 && held->precision > 0.5);
    CHECK(j->image.far_outside > 0.2 && j->image.far_validation < 0.01);
    CHECK(strstr(j->json.chars, "\"recognised_held_out\"") && strstr(j->table.chars, "recall"));
    double mean = 0, count[2] = {0};
    for (long s = 0; s < j->points; s++) count[j->class_of[s]]++;
    for (int c = 0; c < 2; c++) mean += j->by_class[c].nll * count[c] / (double)j->points;
    CHECK_NEAR(mean, j->nll, 1e-9 * fabs(j->nll));
    judge_free(j);
    close_model(&f);
}

/* x = a y + e is linear and Gaussian: the floor is the entropy of x given y, of what the noise makes of both.
 */
TEST(floor__of_linear_gaussian_data_is_their_entropy) {
    const double slope = 0.8, rest = 0.3, alpha = 0.2;
    const char *path = test_path("linear.csv");
    FILE *file = fopen(path, "w");
    rng r = rng_stream((rng_key){4, RNG_TEST, 0}, 0);
    for (int i = 0; i < 20000; i++) {
        double y = rng_normal(&r), x = slope * y + rest * rng_normal(&r);
        fprintf(file, "%.17g,%.17g\n", x, y);
    }
    CHECK(fclose(file) == 0);
    char content[512];
    snprintf(
        content, sizeof content,
        "[data]\nset = table\nfile = %s\nx = 1\ny = 1\n[model]\nblocks = 1\nwidth = 4\ndepth = 1\n[train]\n"
        "noise = %g\n",
        path, alpha);
    static const char *const devices[] = {"ref", "cpu"};
    for (int i = 0; i < 2; i++) {
        fixture f = open_model(content, devices[i]);
        double found, shrunk = (1 - alpha) * (1 - alpha);
        CHECK_STATUS(gaussian_floor(f.m, f.data, &found), JF_OK);
        /* standardised: variances 1, covariance slope / sqrt(slope^2 + rest^2) */
        double covariance = shrunk * slope / sqrt(slope * slope + rest * rest),
               variance = shrunk + alpha * alpha;
        double left = variance - covariance * covariance / variance;
        CHECK_NEAR(found, 0.5 * log(2 * M_PI * M_E * left), 0.05); /* 2000 rows: a standard error of 0.016 */
        close_model(&f);
    }
}
