/* The gradient of log p(x|y), and samples without the noise of training. */
#include "flow_fixture.h"

#include "judge/judge.h"
#include "model/denoise.h"
#include "train_fixture.h"

#define SMALL "[model]\nblocks = 1\ndepth = 1\nwidth = 5\noutput_gain = 0.5\nslope = 1\n"
/* slope = 1: finite differences do not meet the kink of a Leaky ReLU */
#define SMALL_IMAGE                                                                                          \
    "[data]\nset = images\nimages = glyphs\ntask = superres\ndown = 2\nlimit = 20\n[model]\nnet = resnext\n" \
    "blocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ngain = 0.5\nslope = 1\n"

/* Every parameter away from where it starts. */
static void disturb(model *m, double scale) {
    double *values = draw_normal(m->parameters.total, scale, 9), *start = weights_of(m);
    for (size_t i = 0; i < m->parameters.total; i++) values[i] = as_float(values[i] + start[i]);
    m->d->kind->put(m->d, m->params, values, m->parameters.total);
    free(values);
    free(start);
}

/* Of a recipe, on a device; with means and deviations that are not 0 and 1. */
static model *model_of(jf_context *ctx, const char *content, const char *device_name, rig_shape sizes,
                       double scale) {
    int dim_x = sizes.image.h ? sizes.image.h * sizes.image.w * sizes.image.x_channels : sizes.dim_x,
        dim_y = sizes.image.h ? sizes.image.h * sizes.image.w * sizes.image.y_channels : sizes.dim_y;
    double *mean = new_numbers((size_t)(dim_x + dim_y)), *deviation = new_numbers((size_t)(dim_x + dim_y));
    for (int i = 0; i < dim_x + dim_y; i++) {
        mean[i] = 0.5 * i;
        deviation[i] = 1 + 0.25 * (i % 3);
    }
    model_units units = {
        .dim_x = dim_x, .dim_y = dim_y, .image = sizes.image, .mean = mean, .deviation = deviation};
    recipe *r = checked_recipe(ctx, content);
    model *m = NULL;
    if (model_create(ctx, &m, r, &units, device_name, 1, &(model_origin){.seed = 3}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    recipe_free(r);
    free(mean);
    free(deviation);
    if (scale > 0) disturb(m, scale);
    return m;
}

typedef struct probe {
    const model *m;
    double *row, *state;
} probe;

/* By the map itself, not by what is tested. */
static double log_p_at(void *arg) {
    const probe *p = arg;
    double logdet, sum = 0;
    memcpy(p->state, p->row, sizeof(double) * (size_t)p->m->flow->dim);
    CHECK_STATUS(model_forward(p->m, 1, p->state, &logdet), JF_OK);
    for (int i = 0; i < p->m->units.dim_x; i++) sum -= 0.5 * (p->state[i] * p->state[i] + log(2 * M_PI));
    return sum + logdet;
}

static void check_score(const char *content, rig_shape sizes) {
    enum { N = 3 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = model_of(ctx, content, "ref", sizes, 0.2);
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    double *rows = draw_normal(N * dim, 1, 4), *score = new_numbers(N * dim_x), *state = new_numbers(dim);
    double log_p[N];
    CHECK_STATUS(model_score(m, N, rows, score, log_p), JF_OK);
    for (size_t s = 0; s < N; s++) {
        probe p = {m, rows + s * dim, state};
        CHECK_NEAR(log_p[s], log_p_at(&p), 1e-9);
        check_gradient("score", p.row, dim_x, score + s * dim_x, log_p_at, &p, 1e-7);
    }
    free(rows);
    free(score);
    free(state);
    model_free(m);
    jf_context_free(ctx);
}

TEST(score__is_the_gradient_of_log_p_by_finite_differences_in_double) {
    char transforms[TRANSFORMS_TEXT], content[512];
    for (int k = 0; transforms_to_try(k, transforms); k++) {
        snprintf(content, sizeof content, "[data]\nset = crescents\n" SMALL "transforms = %s\n", transforms);
        check_score(content, (rig_shape){.dim_x = 2, .dim_y = 1});
        snprintf(content, sizeof content,
                 "[data]\nset = crescents\n" SMALL "condition = fixed\ntransforms = %s\n", transforms);
        check_score(content, (rig_shape){.dim_x = 3, .dim_y = 2});
        snprintf(content, sizeof content,
                 "[data]\nset = sectors\n" SMALL "condition = flow\ntransforms = %s\n", transforms);
        check_score(content, (rig_shape){.dim_x = 3, .dim_y = 2});
        snprintf(content, sizeof content,
                 "[data]\nset = ring\n[loss]\nobjective = plain\n" SMALL "transforms = %s\n", transforms);
        check_score(content, (rig_shape){.dim_x = 2});
        snprintf(content, sizeof content, "[loss]\nobjective = rule\n" SMALL "transforms = %s\n", transforms);
        check_score(content, (rig_shape){.dim_x = 2});
        snprintf(content, sizeof content, SMALL_IMAGE "transforms = %s\n", transforms);
        check_score(content, (rig_shape){.image = {4, 4, 1, 1}});
    }
    check_score("[data]\nset = crescents\n" SMALL "law = spline\n", (rig_shape){.dim_x = 2, .dim_y = 1});
    check_score("[loss]\nobjective = rule\n" SMALL "law = spline\n", (rig_shape){.dim_x = 2});
    check_score(SMALL_IMAGE, (rig_shape){.image = {4, 4, 3, 3}});
}

TEST(score__of_every_device_is_that_of_the_reference) {
    static const struct {
        const char *content;
        rig_shape sizes;
    } cases[] = {{"[data]\nset = crescents\n" SMALL, {.dim_x = 2, .dim_y = 1}},
                 {SMALL_IMAGE, {.image = {4, 4, 1, 1}}}};
    enum { N = 20 };
    for (int k = 0; k < 2; k++) {
        double *expected = NULL;
        jf_context *ctx = NULL;
        CHECK_STATUS(jf_context_create(&ctx), JF_OK);
        model *ref = model_of(ctx, cases[k].content, "ref", cases[k].sizes, 0.1);
        size_t dim = (size_t)ref->flow->dim, dim_x = (size_t)ref->units.dim_x;
        double *rows = draw_normal(N * dim, 1, 4), *found = new_numbers(N * dim_x);
        expected = new_numbers(N * dim_x);
        CHECK_STATUS(model_score(ref, N, rows, expected, NULL), JF_OK);
        FOR_EACH_DEVICE (i) {
            model *m = model_of(ctx, cases[k].content, device_kinds[i]->name, cases[k].sizes, 0.1);
            CHECK_STATUS(model_score(m, N, rows, found, NULL), JF_OK);
            CHECK_CLOSE(found, expected, N * dim_x, 20 * device_tolerance(m->d));
            model_free(m);
        }
        free(rows);
        free(found);
        free(expected);
        model_free(ref);
        jf_context_free(ctx);
    }
}

/* Samples are found alike, however many follow and whatever pieces they went through in. */
TEST(denoise__of_a_row_does_not_depend_on_the_rows_beside_it) {
    enum { N = 2300 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = model_of(ctx, "[data]\nset = crescents\n" SMALL "[train]\nnoise = 0.3\n", "cpu",
                        (rig_shape){.dim_x = 2, .dim_y = 1}, 0.2);
    double *rows = draw_normal(3 * N, 1, 4), last[3];
    memcpy(last, rows + 3 * (N - 1), sizeof last);
    CHECK_STATUS(model_denoise(m, DATA_UNITS, N, rows), JF_OK);
    CHECK_STATUS(model_denoise(m, DATA_UNITS, 1, last), JF_OK);
    CHECK(memcmp(last, rows + 3 * (N - 1), sizeof last) == 0);
    free(rows);
    model_free(m);
    jf_context_free(ctx);
}

/* Networks of zeros make the identity, so p is N(0, I) in the model's units: clean rows have the variance 1 -
 * sigma^2 left, and are expected at (1 - sigma^2) of the noisy ones' distance from the mean. */
TEST(denoise__of_normal_rows_is_their_posterior_mean_in_the_datas_units) {
    const double sigma = 0.4;
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = model_of(ctx, "[data]\nset = crescents\n" SMALL "[train]\nnoise = 0.4\n", "ref",
                        (rig_shape){.dim_x = 2, .dim_y = 1}, 0);
    m->d->kind->fill(m->d, m->params, 0, m->parameters.total);
    double rows[6] = {3, -2, 0.5, 0.25, 7, -1}, before[6];
    memcpy(before, rows, sizeof rows);
    CHECK_STATUS(model_denoise(m, DATA_UNITS, 2, rows), JF_OK);
    for (int i = 0; i < 6; i++) {
        double mean = m->units.mean[i % 3];
        CHECK_NEAR(rows[i], i % 3 < 2 ? mean + (1 - sigma * sigma) * (before[i] - mean) : before[i], 1e-12);
    }
    model_free(m);
    jf_context_free(ctx);
}

/* What the formula promises of a model that has learned something: the expected clean point is nearer to it.
 */
TEST(denoise__of_noisy_data_comes_nearer_to_the_clean_ones) {
    enum { N = 2000 };
    const double sigma = 0.2;
    run *r = run_open("[data]\nset = crescents\n[model]\nblocks = 2\ndepth = 2\nwidth = 16\n[train]\n"
                      "noise = 0.2\nbatch = 200\nbatches = 100\nrate = 2e-3\nprecondition = 0\nanneal = 1\n"
                      "epochs = 8\nks_every = 0\n");
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    double *clean = new_numbers(3 * N), *noise = draw_normal(3 * N, sigma, 8), *rows = new_numbers(3 * N);
    double before = 0, after = 0;
    CHECK_STATUS(dataset_draw(r->data, (rng_key){77, RNG_TEST, 0}, 0, N, -1, clean), JF_OK);
    units_standardise(&r->m->units, N, clean);
    for (int i = 0; i < 3 * N; i++) rows[i] = clean[i] + noise[i];
    CHECK_STATUS(model_denoise(r->m, MODEL_UNITS, N, rows), JF_OK);
    for (int i = 0; i < 3 * N; i++) {
        if (i % 3 == 2) continue;
        before += noise[i] * noise[i] / (2 * N);
        after += pow(rows[i] - clean[i], 2) / (2 * N);
    }
    if (!(after < 0.75 * before))
        test_fail(__FILE__, __LINE__, "mean square %.4g of noisy points, %.4g without noise", before, after);
    free(clean);
    free(noise);
    free(rows);
    run_close(r);
}

TEST(denoise__is_refused_where_no_noise_is_known) {
    static const struct {
        const char *content, *words;
    } cases[] = {
        {"[data]\nset = crescents\n" SMALL, "was trained with train.noise = 0"},
        {"[data]\nset = crescents\n" SMALL "[train]\ny_noise = 0.1\n", "was trained with train.noise = 0"},
        {"[loss]\nobjective = rule\nrule = circle\n" SMALL, "was trained by a rule"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jf_context *ctx = NULL;
        CHECK_STATUS(jf_context_create(&ctx), JF_OK);
        model *m =
            model_of(ctx, cases[i].content, "cpu", (rig_shape){.dim_x = 2, .dim_y = i == 2 ? 0 : 1}, 0);
        double rows[3] = {0.5, 0.5, 0}, before[3] = {0.5, 0.5, 0};
        judgement *j = NULL;
        CHECK_STATUS(model_denoise(m, DATA_UNITS, 1, rows), JF_ERROR_UNSUPPORTED);
        CHECK_HAS(jf_context_error(ctx), cases[i].words);
        CHECK(memcmp(rows, before, sizeof rows) == 0);
        CHECK_STATUS(judge_create(m, &j, &(jf_judge_options){.points = 10, .denoise = 1}),
                     JF_ERROR_UNSUPPORTED);
        CHECK(j == NULL);
        model_free(m);
        jf_context_free(ctx);
    }
}

/* ---- judging ---- */

/* A map that is the identity has samples of deviation 1, of which one part in sigma^2 is noise. */
TEST(judge__of_samples_without_noise_stands_beside_that_of_samples_with_it) {
    run *r =
        run_open("[data]\nset = images\nimages = glyphs\ntask = superres\ndown = 1\nlimit = 300\n[model]\n"
                 "net = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\n"
                 "[train]\nnoise = 0.3\n");
    r->m->d->kind->fill(r->m->d, r->m->params, 0, r->m->parameters.total);
    judgement *j = NULL, *plain = NULL;
    CHECK_STATUS(
        judge_create(r->m, &j, &(jf_judge_options){.points = 30, .seed = 1, .denoise = 1, .inputs = 7}),
        JF_OK);
    CHECK_STATUS(judge_create(r->m, &plain, &(jf_judge_options){.points = 30, .seed = 1, .inputs = 7}),
                 JF_OK);
    CHECK(j->image.inputs == 7 && j->denoised.inputs == 7 && plain->denoised.inputs == 0);
    CHECK(j->image.psnr == plain->image.psnr && j->image.spread == plain->image.spread);
    CHECK_NEAR(j->denoised.spread, (1 - 0.09) * j->image.spread, 1e-5);
    CHECK(j->denoised.psnr > j->image.psnr + 0.5); /* nearer to x = 0 by 0.91: 0.8 dB */
    CHECK(j->energy == plain->energy && isfinite(j->energy_denoised) && isnan(plain->energy_denoised));
    CHECK(j->energy_denoised != j->energy);
    CHECK_HAS(j->json.chars, "\"image_denoised\": {\"inputs\": 7");
    CHECK_HAS(j->table.chars, "held-out images, without the noise of training");
    CHECK(!strstr(plain->json.chars, "denoised") && !strstr(plain->table.chars, "without"));
    judge_free(j);
    judge_free(plain);
    run_close(r);
}
