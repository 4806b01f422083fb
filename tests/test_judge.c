/* What a judgement says: densities that are densities, levels of chance, and exact targets. */
#include "test.h"

#include "base/file.h"
#include "judge/judge.h"
#include "judge/judge_pictures.h"
#include "model/use.h"
#include "train/train.h"

static recipe *checked_recipe(jf_context *ctx, const char *content) {
    recipe *r = NULL;
    if (recipe_parse(ctx, &r, content, "test.recipe") != JF_OK || recipe_declare_all(r) != JF_OK ||
        recipe_check(r) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", content, jf_context_error(ctx));
    return r;
}

#define SMALL "[model]\nblocks = 1\ndepth = 1\nwidth = 6\noutput_gain = 0.3\n"

/* A model as it starts, which keeps neither y nor volumes: nothing about it is by chance right. */
static model *untrained_on(jf_context *ctx, const char *device_name, const char *content, int dim_x,
                           int dim_y) {
    double mean[4] = {0}, deviation[4] = {1, 1, 1, 1};
    model_units units = {.dim_x = dim_x, .dim_y = dim_y, .mean = mean, .deviation = deviation};
    recipe *r = checked_recipe(ctx, content);
    model *m = NULL;
    CHECK_STATUS(model_create(ctx, &m, r, &units, device_name, 1, &(model_origin){.seed = 3}), JF_OK);
    recipe_free(r);
    return m;
}

static model *untrained(jf_context *ctx, const char *content, int dim_x, int dim_y) {
    return untrained_on(ctx, "ref", content, dim_x, dim_y);
}

/* ---- densities ---- */

TEST(density__of_a_joint_flow_integrates_to_one_at_every_y) {
    enum { GRID = 80 };
    const double reach = 8, cell = 4 * reach * reach / (GRID * GRID);
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = crescents\n" SMALL, 2, 1);
    static double points[GRID * GRID * 3];
    for (double y = -1; y <= 1; y += 2) {
        for (int i = 0; i < GRID * GRID; i++) {
            points[3 * i] = -reach + 2 * reach * (i % GRID + 0.5) / GRID;
            points[3 * i + 1] = -reach + 2 * reach * (i / GRID + 0.5) / GRID;
            points[3 * i + 2] = y;
        }
        densities d;
        double sampler = 0, paper = 0, apart = 0;
        CHECK_STATUS(densities_create(m, &d, GRID * GRID, points, 1), JF_OK);
        for (int i = 0; i < GRID * GRID; i++) {
            sampler += cell * exp(d.sampler[i]);
            paper += cell * exp(d.paper[i]);
            apart = fmax(apart, fabs(exp(d.sampler[i]) - exp(d.paper[i])));
        }
        CHECK(d.exact && d.lost == 0);
        CHECK_NEAR(sampler, 1, 2e-3);
        CHECK_NEAR(paper, 1, 2e-3);
        CHECK(d.y_error > 0.1 && apart > 1e-3); /* they are two, where y' is not y */
        densities_free(&d);
    }
    model_free(m);
    jf_context_free(ctx);
}

TEST(density__of_a_plain_flow_integrates_to_one) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = ring\n[loss]\nobjective = plain\n" SMALL, 2, 0);
    double integral = 0;
    CHECK_STATUS(density_integral(m, 0, (const double[]){-10, -10}, (const double[]){10, 10}, &integral),
                 JF_OK);
    CHECK_NEAR(integral, 1, 1e-3);
    model_free(m);
    jf_context_free(ctx);
}

TEST(density__rows_whose_condition_was_not_found_are_counted) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = crescents\n" SMALL, 2, 1);
    const double points[6] = {0.1, 0.2, 0.3, 1e99, -1e99, 1e99}; /* too coarse for the tolerance of y* */
    densities d;
    CHECK_STATUS(densities_create(m, &d, 2, points, 1), JF_OK);
    CHECK(isfinite(d.sampler[0]) && isnan(d.sampler[1]) && d.lost == 1);
    densities_free(&d);
    const double beyond[6] = {0.1, 0.2, 0.3, 1e308, -1e308, 1e308}; /* overflows on the way */
    CHECK_STATUS(densities_create(m, &d, 2, beyond, 1), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(ctx), "row 2: the encoding is not finite");
    model_free(m);
    jf_context_free(ctx);
}

/* ---- coverage ---- */

TEST(coverage__counts_truths_between_the_right_ranks_of_the_samples) {
    static const struct {
        double truth;
        int half, ninety;
    } cases[] = {{1.5, 0, 0},  {2, 0, 0},    {2.5, 0, 1},  {10, 0, 1},   {10.5, 1, 1}, {20, 1, 1},
                 {29.5, 1, 1}, {30.5, 0, 1}, {37.5, 0, 1}, {38.5, 0, 0}, {100, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double samples[COVERAGE_SAMPLES];
        coverage c = {0};
        for (int k = 0; k < COVERAGE_SAMPLES; k++) samples[k] = (k * 16) % 39 + 1; /* 1 to 39, in disorder */
        coverage_add(&c, samples, cases[i].truth);
        CHECK(c.half == cases[i].half && c.ninety == cases[i].ninety && c.elements == 1);
        CHECK_NEAR(c.spread, sqrt(39 * 40 / 12.0), 1e-12);
    }
}

/* The rank of a truth that comes from the same distribution is any of 40 with the same probability. */
TEST(coverage__of_truths_at_every_rank_is_one_half_and_nine_tenths) {
    coverage c = {0};
    for (int rank = 0; rank <= COVERAGE_SAMPLES; rank++) {
        double samples[COVERAGE_SAMPLES];
        for (int k = 0; k < COVERAGE_SAMPLES; k++) samples[k] = k + 1;
        coverage_add(&c, samples, rank + 0.5);
    }
    CHECK(c.elements == 40 && c.half == 20 && c.ninety == 36);
}

/* ---- chance and exact targets ---- */

TEST(latent__levels_of_chance_are_those_of_kolmogorov) {
    enum { POINTS = 10000, ELEMENTS = 784 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double *state = calloc((size_t)POINTS * ELEMENTS, sizeof *state);
    CHECK(state != NULL);
    latent_fit f;
    CHECK_STATUS(latent_fit_create(ctx, &f, state, POINTS, ELEMENTS, ELEMENTS), JF_OK);
    CHECK_NEAR(f.chance_median, 0.0083, 5e-5);
    CHECK_NEAR(f.chance_max, 0.0197, 5e-5); /* the worst of 784 */
    CHECK_NEAR(f.max, 0.5, 1e-12);
    latent_fit_free(&f);
    free(state);
    jf_context_free(ctx);
}

/* n points of N(0, 1), every element of every point its own; element k is shifted by shift * (k odd). */
static double *normal_points(size_t n, size_t dim, double shift) {
    double *state = calloc(n * dim, sizeof *state);
    CHECK(state != NULL);
    for (size_t s = 0; s < n; s++) {
        rng r = rng_stream((rng_key){5, RNG_JUDGE, 0}, s);
        for (size_t i = 0; i < dim; i++) state[s * dim + i] = rng_normal(&r) + (i % 2 ? shift : 0);
    }
    return state;
}

TEST(latent__envelope_of_the_prior_itself_is_that_of_chance_and_grows_with_its_faults) {
    enum { POINTS = 4000, ELEMENTS = 300 };
    jf_context *ctx = NULL;
    double width[3], chance;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int k = 0; k < 3; k++) {
        double *state = normal_points(POINTS, ELEMENTS, 0.1 * k);
        CHECK_STATUS(latent_envelope(ctx, state, POINTS, ELEMENTS, ELEMENTS, &width[k], &chance), JF_OK);
        free(state);
    }
    CHECK_NEAR(width[0], chance, 0.05 * chance);
    CHECK(width[1] > 1.05 * width[0] && width[2] > 1.1 * width[1]);
    double few[3 * 4] = {0};
    CHECK_STATUS(latent_envelope(ctx, few, 3, 4, 4, &width[0], &chance), JF_OK);
    CHECK(isnan(width[0]) && isnan(chance));
    jf_context_free(ctx);
}

/* The map of a whole model against differences of its y'. */
TEST(judge__log_dy_of_image_models_is_that_of_numeric_differences) {
    enum { H = 4, DIM_Y = H * H, DIM = 2 * DIM_Y };
    const double step = 1e-5;
    double mean[DIM] = {0}, deviation[DIM], row[DIM], moved[2 * DIM], block[DIM_Y * DIM_Y];
    for (int i = 0; i < DIM; i++) deviation[i] = 1, row[i] = sin(1.0 + i);
    model_units units = {
        .dim_x = DIM_Y, .dim_y = DIM_Y, .image = {H, H, 1, 1}, .mean = mean, .deviation = deviation};
    jf_context *ctx = NULL;
    model *m = NULL;
    log_dy_judgement found;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    recipe *r =
        checked_recipe(ctx, "[data]\nset = images\nimages = glyphs\n[model]\nnet = resnext\nblocks = 1\n"
                            "kernels = 4\ncardinality = 2\nresidual = 1\ngain = 0.5\n");
    CHECK_STATUS(model_create(ctx, &m, r, &units, "ref", 1, &(model_origin){.seed = 3}), JF_OK);
    CHECK_STATUS(image_log_dy(m, 1, row, &found), JF_OK);
    for (int i = 0; i < DIM_Y; i++) {
        for (int side = 0; side < 2; side++) {
            memcpy(moved + side * DIM, row, sizeof row);
            moved[side * DIM + DIM_Y + i] += side ? step : -step;
        }
        CHECK_STATUS(model_forward(m, 2, moved, NULL), JF_OK);
        for (int k = 0; k < DIM_Y; k++)
            block[k * DIM_Y + i] = (moved[DIM + DIM_Y + k] - moved[DIM_Y + k]) / (2 * step);
    }
    CHECK(found.samples == 1 && fabs(found.mean) > 1e-3);
    CHECK_NEAR(found.mean, log_abs_det(block, DIM_Y), 1e-6);
    CHECK(found.most == fabs(found.mean));
    recipe_free(r);
    model_free(m);
    jf_context_free(ctx);
}

/* ---- whole judgements ---- */

TEST(judge__refuses_data_of_another_shape) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = crescents\n" SMALL, 3, 1);
    judgement *j = NULL;
    CHECK_STATUS(judge_run(m, &j, 100, 1), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "found 2 elements of x and 1 of y, expected 3 and 1");
    CHECK(j == NULL);
    model_free(m);
    jf_context_free(ctx);
}

static judgement *judged(const model *m) {
    judgement *j = NULL;
    CHECK_STATUS(judge_run(m, &j, 500, 1), JF_OK);
    return j;
}

/* Whole pieces and a rest: the terms are means over the points, whatever pieces they went through in. */
TEST(judge__terms_are_means_of_the_objective_over_all_points) {
    enum { POINTS = 2500 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = crescents\n[loss]\nlambda = 7\ndistance = l2\n" SMALL, 2, 1);
    static double data[3 * POINTS], encoded[3 * POINTS], logdet[POINTS];
    rng r = rng_stream((rng_key){1, RNG_TEST, 0}, 0);
    for (int i = 0; i < 3 * POINTS; i++) encoded[i] = data[i] = rng_normal(&r);
    loss_terms terms, expected = {0};
    CHECK(model_chunk(m, POINTS) < POINTS);
    CHECK_STATUS(model_evaluate(m, POINTS, encoded, logdet, &terms), JF_OK);
    for (int i = 0; i < POINTS; i++) {
        const double *v = encoded + 3 * i, e = v[2] - data[3 * i + 2];
        expected.value[TERM_Z] += ((v[0] * v[0] + v[1] * v[1]) / 2 + log(2 * acos(-1))) / POINTS;
        expected.value[TERM_Y] += 7 * e * e / POINTS;
        expected.value[TERM_LOGDET] -= logdet[i] / POINTS;
        expected.value[TERM_Y_ERROR] += fabs(e) / POINTS;
    }
    loss_terms_total(&expected);
    for (int t = 0; t < TERM_COUNT; t++) CHECK_NEAR(terms.value[t], expected.value[t], 1e-11);
    model_forward(m, POINTS, data, NULL);
    CHECK(memcmp(encoded, data, sizeof data) == 0);
    model_free(m);
    jf_context_free(ctx);
}

TEST(judge__divergence_from_a_rule_is_that_of_the_samples_density_from_its_exact_target) {
    static const char *const names[] = {"circle", "diamond"}, *const radii[] = {"|x|", "|x0|+|x1|"};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int k = 0; k < 2; k++) {
        char content[300];
        snprintf(
            content, sizeof content,
            "[loss]\nobjective = rule\nrule = %s\nlambda = 4\n[model]\nblocks = 1\ndepth = 1\nwidth = 6\n",
            names[k]);
        model *m = untrained(ctx, content, 2, 0);
        judgement *j = judged(m);
        const objective *o = &m->objective;
        double expected = 0, *x = j->data, *logdet = NULL;
        CHECK_STATUS(MEM_NEW(ctx, &logdet, (size_t)j->points), JF_OK);
        memcpy(x, j->encoded, sizeof(double) * 2 * (size_t)j->points);
        CHECK_STATUS(model_inverse(m, j->points, x, logdet), JF_OK);
        for (long i = 0; i < j->points; i++)
            expected += (o->kind->target->energy(o, x + 2 * i) + logdet[i] -
                         (pow(j->encoded[2 * i], 2) + pow(j->encoded[2 * i + 1], 2)) / 2) /
                        (double)j->points;
        expected += o->kind->target->log_normaliser(o) - log(2 * acos(-1));
        CHECK_NEAR(j->by_rule.divergence, expected, 1e-9);
        CHECK(j->by_rule.divergence > 0.1);
        CHECK_TEXT(j->by_rule.radius_name, radii[k]);
        for (int i = 1; i < RULE_QUANTILES; i++) {
            CHECK(j->by_rule.quantiles[i].samples > j->by_rule.quantiles[i - 1].samples);
            CHECK(j->by_rule.quantiles[i].exact > j->by_rule.quantiles[i - 1].exact);
        }
        CHECK_HAS(j->json.chars, "\"divergence\": ");
        CHECK_HAS(j->table.chars, radii[k]);
        free(logdet);
        judge_free(j);
        model_free(m);
    }
    jf_context_free(ctx);
}

TEST(judge__the_divergence_from_a_rule_is_told_with_the_error_that_other_points_show) {
    enum { TIMES = 40 };
    jf_context *ctx = NULL;
    double mean = 0, squares = 0, error = 0;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[loss]\nobjective = rule\nrule = circle\nlambda = 4\n" SMALL, 2, 0);
    for (int i = 0; i < TIMES; i++) {
        judgement *j = NULL;
        CHECK_STATUS(judge_run(m, &j, 2000, (uint64_t)i), JF_OK);
        mean += j->by_rule.divergence / TIMES;
        squares += j->by_rule.divergence * j->by_rule.divergence / TIMES;
        error += j->by_rule.error / TIMES;
        CHECK_HAS(j->json.chars, "\"divergence_standard_error\": ");
        CHECK_HAS(strstr(j->table.chars, "divergence"), "standard error");
        judge_free(j);
    }
    CHECK_NEAR(sqrt(squares - mean * mean) / error, 1, 0.35); /* 1/sqrt(2 TIMES) is 0.11 */
    model_free(m);
    jf_context_free(ctx);
}

TEST(judge__of_a_rule_without_an_exact_target_says_nothing_of_a_divergence) {
    static const char *const rules_without[] = {"rule = parabola\nconfine = 0.5",
                                                "rule = diamond\nconfine = 0.1", "rule = circle\nlambda = 0"};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int k = 0; k < 3; k++) {
        char content[300];
        snprintf(content, sizeof content, "[loss]\nobjective = rule\n%s\n" SMALL, rules_without[k]);
        model *m = untrained(ctx, content, 2, 0);
        judgement *j = judged(m);
        CHECK(isnan(j->by_rule.divergence));
        CHECK_HAS(j->json.chars, "\"divergence\": null");
        CHECK(!strstr(j->table.chars, "divergence") && !strstr(j->json.chars, "radius"));
        judge_free(j);
        model_free(m);
    }
    jf_context_free(ctx);
}

TEST(judge__every_objective_of_the_list_is_judged_and_reported) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; objective_kinds[i]; i++) {
        const objective_kind *k = objective_kinds[i];
        const char *data = !k->from_data      ? ""
                           : k->has_condition ? "[data]\nset = crescents\n"
                                              : "[data]\nset = ring\n";
        char content[300];
        snprintf(content, sizeof content, "%s[loss]\nobjective = %s\n" SMALL, data, k->name);
        model *m = untrained_on(ctx, "cpu", content, 2, k->has_condition);
        judgement *j = judged(m);
        double sum = 0;
        for (int t = 0; t < TERM_COUNT; t++) {
            CHECK(isfinite(j->terms.value[t]));
            if (loss_term_info[t].role != TERM_IS_PART) continue;
            sum += j->terms.value[t];
            int of_y = t == TERM_Y && k->from_data && judge_keeps_y(m->flow); /* there is no y in the flow */
            CHECK((strstr(j->table.chars, loss_about(k, (term_id)t)) != NULL) != of_y);
        }
        CHECK_NEAR(sum, j->terms.value[TERM_TOTAL], 1e-9 * (1 + fabs(sum)));
        CHECK(!k->from_data || isfinite(j->nll_sampler));
        CHECK_STATUS(report_write(m, j, test_path(k->name)), JF_OK);
        judge_free(j);
        model_free(m);
    }
    jf_context_free(ctx);
}

TEST(report__shows_no_picture_that_another_run_left) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = ring\n[loss]\nobjective = plain\n" SMALL, 2, 0);
    judgement *j = NULL;
    CHECK_STATUS(judge_run(m, &j, 200, 1), JF_OK);
    CHECK_HAS(j->json.chars, "\"sampler_lost\": 0, ");
    const char *stale = test_path("run/training.png");
    CHECK_STATUS(file_make_folder(ctx, test_path("run")), JF_OK);
    CHECK_STATUS(picture_latent(m, j, stale), JF_OK); /* any picture */
    CHECK_STATUS(report_write(m, j, test_path("run")), JF_OK);
    CHECK(!file_exists(stale)); /* there is no history to draw */
    CHECK(file_exists(test_path("run/samples.png")) && file_exists(test_path("run/latent.png")));
    judge_free(j);
    model_free(m);
    jf_context_free(ctx);
}

/* ---- training curves ---- */

static void save_text(jf_context *ctx, const char *path, const char *content) {
    CHECK_STATUS(file_write(ctx, path, content, strlen(content)), JF_OK);
}

/* Draws a history; yours to free. */
static char *picture_of(jf_context *ctx, const char *content, size_t *size) {
    char *bytes = NULL;
    save_text(ctx, test_path("history.csv"), content);
    CHECK_STATUS(picture_history(ctx, test_path("history.csv"), test_path("history.png")), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, size, test_path("history.png"), 1 << 24), JF_OK);
    return bytes;
}

TEST(history__columns_are_found_by_their_names) {
    static const char *const same[] = {
        "phase,epoch,step,loss,z,y,logdet,y_error,validation,rate,ks_median,ks_max,drift,seconds\n"
        "anneal,1,4,3.5,2,1,0.5,0.01,,1e-3,,,1e-7,1\ntrain,1,8,3,1.5,0.75,0.75,0.02,3.25,1e-4,0.1,0.2,1e-7,"
        "2\n",
        "phase,ks_max,validation,logdet,more,y,z,loss,rate,y_error\n"
        "anneal,,,0.5,7,1,2,3.5,1e-3,0.01\ntrain,0.2,3.25,0.75,7,0.75,1.5,3,1e-4,0.02\n",
        "phase,loss,z,y,logdet,rate\nanneal,3.5,2,1,0.5,1e-3\ntrain,3,1.5,0.75,0.75,1e-4\n"};
    jf_context *ctx = NULL;
    char *bytes[3];
    size_t size[3];
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < 3; i++) bytes[i] = picture_of(ctx, same[i], &size[i]);
    CHECK(size[1] == size[0] && memcmp(bytes[1], bytes[0], size[0]) == 0);
    CHECK(size[2] != size[0] || memcmp(bytes[2], bytes[0], size[0]) != 0); /* no y_error, nothing held out */
    for (int i = 0; i < 3; i++) free(bytes[i]);
    jf_context_free(ctx);
}

/* Whether two pictures have the same bytes. */
static int same_file(jf_context *ctx, const char *a, const char *b) {
    char *bytes[2];
    size_t sizes[2];
    CHECK_STATUS(file_read(ctx, &bytes[0], &sizes[0], a, 1 << 24), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes[1], &sizes[1], b, 1 << 24), JF_OK);
    int same = sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0;
    free(bytes[0]), free(bytes[1]);
    return same;
}

TEST(picture_maps__noised_points_have_the_colours_of_their_classes) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = untrained(ctx, "[data]\nset = crescents\n" SMALL "[train]\nnoise = 0.1\n", 2, 1);
    m->units.classes = 2;
    m->units.label[1] = 1;
    judgement *j = NULL;
    CHECK_STATUS(judge_run(m, &j, 200, 1), JF_OK);
    CHECK_STATUS(picture_maps(m, j, 1, test_path("both.png")), JF_OK);
    for (long i = 0; i < j->points; i++) j->class_of[i] = 0;
    CHECK_STATUS(picture_maps(m, j, 1, test_path("one.png")), JF_OK);
    CHECK(!same_file(ctx, test_path("both.png"), test_path("one.png")));
    judge_free(j);
    model_free(m);
    jf_context_free(ctx);
}
