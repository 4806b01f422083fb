/* Summaries of posteriors: regions of highest density against exact ones, and modes that are where the
 * density is highest. */
#include "base/random.h"
#include "base/statistics.h"
#include "data_fixture.h"
#include "flow_fixture.h"
#include "format_fixture.h"
#include "inference/hpd.h"
#include "jointflow/jointflow.h"
#include "judge/summary.h"
#include "train_fixture.h"
#include <math.h>

enum { MANY = 20000 };
static const double masses[] = {0.5, 0.9};

static double *sorted_by(double (*draw)(rng *), uint64_t seed) {
    double *x = calloc(MANY, sizeof *x);
    CHECK(x);
    rng r = rng_stream(data_key(seed), 0);
    for (int i = 0; i < MANY; i++) x[i] = draw(&r);
    sort_ascending(x, MANY);
    return x;
}

/* The share of the samples that a set holds. */
static double share_in(const hpd_set *set, const double *x) {
    double inside = 0;
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < set->count; k++) inside += x[i] >= set->parts[k].lo && x[i] <= set->parts[k].hi;
    return inside / MANY;
}

static double gaussian(rng *r) {
    return 3 + 2 * rng_normal(r);
}
TEST(hpd__of_a_gaussian_is_its_middle) {
    jf_context *ctx = new_context();
    double *x = sorted_by(gaussian, 1);
    hpd_set sets[2];
    CHECK_STATUS(hpd_of_column(ctx, MANY, x, NULL, 2, masses, sets), JF_OK);
    for (int i = 0; i < 2; i++) {
        double reach = 2 * (i ? 1.6449 : 0.6745);
        CHECK(sets[i].count == 1);
        CHECK_NEAR(sets[i].parts[0].lo, 3 - reach, 0.25);
        CHECK_NEAR(sets[i].parts[0].hi, 3 + reach, 0.25);
        CHECK_NEAR(sets[i].parts[0].hi - sets[i].parts[0].lo, 2 * reach, 0.08);
        CHECK_NEAR(share_in(&sets[i], x), masses[i], 1e-3);
    }
    free(x);
    jf_context_free(ctx);
}

/* Two thirds at -10, one third at 10, both of deviation 1/10. */
static double two_modes(rng *r) {
    double at = rng_uniform(r) < 2.0 / 3 ? -10 : 10;
    return at + 0.1 * rng_normal(r);
}
TEST(hpd__of_two_modes_are_two_intervals_with_nothing_between) {
    jf_context *ctx = new_context();
    double *x = sorted_by(two_modes, 2);
    hpd_set sets[2];
    CHECK_STATUS(hpd_of_column(ctx, MANY, x, NULL, 2, masses, sets), JF_OK);
    /* half of it lies where the higher mode is higher than the other one at all, within 1.15 deviations */
    CHECK(sets[0].count == 1 && sets[1].count == 2);
    for (int i = 0; i < 2; i++) CHECK_NEAR(share_in(&sets[i], x), masses[i], 1e-3);
    CHECK_NEAR(sets[0].parts[0].lo, -10 - 0.1 * 1.150, 0.03);
    CHECK_NEAR(sets[0].parts[0].hi, -10 + 0.1 * 1.150, 0.03);
    /* equal densities at all ends: exp(-a^2/2) 2/3 = exp(-b^2/2)/3, (2/3) (2 Phi(a) - 1) + (1/3) (2 Phi(b) -
     * 1) = 0.9 */
    CHECK_NEAR(sets[1].parts[0].hi - sets[1].parts[0].lo, 2 * 0.1 * 1.824, 0.03);
    CHECK_NEAR(sets[1].parts[1].hi - sets[1].parts[1].lo, 2 * 0.1 * 1.393, 0.03);
    free(x);
    jf_context_free(ctx);
}

static double uniform(rng *r) {
    return rng_uniform(r);
}
TEST(hpd__of_a_bounded_column_may_end_at_its_bounds) {
    jf_context *ctx = new_context();
    double *x = sorted_by(uniform, 3);
    const column_support units[2] = {{.kind = SUPPORT_INTERVAL, .lo = 0, .hi = 1},
                                     {.kind = SUPPORT_UNIFORM, .lo = 0, .hi = 1}};
    const column_support above = {.kind = SUPPORT_ABOVE, .lo = 0};
    hpd_set set;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(hpd_of_column(ctx, MANY, x, &units[i], 1, (double[]){0.999}, &set), JF_OK);
        CHECK(set.parts[0].lo < 0.01 && set.parts[set.count - 1].hi > 0.99);
        CHECK(set.parts[0].lo >= 0 && set.parts[set.count - 1].hi <= 1);
    }
    for (int i = 0; i < MANY; i++) x[i] = -log(1 - x[i]); /* exponential: highest at the bound */
    CHECK_STATUS(hpd_of_column(ctx, MANY, x, &above, 1, (double[]){0.9}, &set), JF_OK);
    CHECK(set.count == 1);
    CHECK_NEAR(set.parts[0].lo, 0, 1e-12);
    CHECK_NEAR(set.parts[0].hi, log(10), 0.08);
    free(x);
    jf_context_free(ctx);
}

static double at_the_seam(rng *r) {
    double at = 0.2 * rng_normal(r);
    return at < 0 ? at + 6 : at;
}
TEST(hpd__of_a_circle_goes_on_over_its_seam) {
    jf_context *ctx = new_context();
    double *x = sorted_by(at_the_seam, 4);
    const column_support circle = {.kind = SUPPORT_CIRCLE, .lo = 0, .hi = 6, .cut = 3};
    hpd_set set;
    CHECK_STATUS(hpd_of_column(ctx, MANY, x, &circle, 1, (double[]){0.9}, &set), JF_OK);
    CHECK(set.count == 1);
    CHECK_NEAR(set.parts[0].lo, 6 - 0.2 * 1.645, 0.03);
    CHECK_NEAR(set.parts[0].hi, 6 + 0.2 * 1.645, 0.03);
    free(x);
    jf_context_free(ctx);
}

TEST(hpd__of_whole_numbers_are_the_most_frequent_ones) {
    jf_context *ctx = new_context();
    const double x[] = {1, 1, 1, 2, 2, 2, 3, 5, 7, 7}; /* sorted */
    const column_support whole = {.kind = SUPPORT_WHOLE, .lo = 0, .hi = 9};
    hpd_set sets[2];
    CHECK_STATUS(hpd_of_column(ctx, 10, x, &whole, 2, (double[]){0.6, 0.8}, sets), JF_OK);
    CHECK(sets[0].count == 1 && sets[0].parts[0].lo == 1 && sets[0].parts[0].hi == 2);
    CHECK(sets[1].count == 2 && sets[1].parts[1].lo == 7 && sets[1].parts[1].hi == 7);
    jf_context_free(ctx);
}

TEST(hpd__of_samples_that_are_all_the_same_is_that_place) {
    jf_context *ctx = new_context();
    const double x[] = {2, 2, 2};
    hpd_set set;
    CHECK_STATUS(hpd_of_column(ctx, 3, x, NULL, 1, masses, &set), JF_OK);
    CHECK(set.count == 1 && set.parts[0].lo == 2 && set.parts[0].hi == 2);
    jf_context_free(ctx);
}

/* ---- whole summaries ---- */

/* A model whose layers do nothing is N(mean, deviation^2) in the data's units, whatever y. */
static model *gaussian_model(jf_context *ctx, const column_support *support) {
    recipe *r =
        recipe_of(ctx, "[model]\ncondition = fixed\nblocks = 2\nwidth = 4\ndepth = 1\noutput_gain = 0\n"
                       "law = affine\n");
    double mean[3] = {1, -2, 0}, deviation[3] = {0.5, 3, 1};
    model_units units = {.dim_x = 2, .dim_y = 1, .mean = mean, .deviation = deviation};
    units.support = (column_support *)support;
    model *m;
    CHECK_STATUS(model_create(ctx, &m, r, &units, "cpu", 1, &(model_origin){.seed = 1}), JF_OK);
    recipe_free(r);
    return m;
}

static double *samples_of(const model *m, size_t conditions, size_t each, const double *y) {
    double *x = calloc(conditions * each * 2, sizeof *x), *rows = calloc(conditions * each, sizeof *rows);
    CHECK(x && rows);
    for (size_t i = 0; i < conditions * each; i++) rows[i] = y[i / each];
    CHECK_STATUS(jf_sample(m, conditions * each, rows, x, NULL, NULL,
                           &(jf_use_options){.size = sizeof(jf_use_options), .seed = 3}),
                 JF_OK);
    free(rows);
    return x;
}

TEST(summary__of_a_gaussian_has_its_moments_mode_and_regions) {
    jf_context *ctx = new_context();
    model *m = gaussian_model(ctx, NULL);
    const double y[2] = {0, 1};
    double *x = samples_of(m, 2, MANY, y);
    summary *s;
    CHECK_STATUS(summary_create(m, &s, 2, MANY, x, y, &(jf_summary_options){0}), JF_OK);
    double highest = -log(2 * M_PI) - log(0.5) - log(3); /* at the mean */
    for (int k = 0; k < 2; k++) {
        const column_summary *a = &s->column[2 * k], *b = a + 1;
        CHECK_NEAR(a->mean, 1, 0.02);
        CHECK_NEAR(b->deviation, 3, 0.08);
        CHECK_NEAR(a->mode, 1, 2e-3);
        CHECK_NEAR(b->mode, -2, 1e-2);
        CHECK_NEAR(b->quantile[0], -2 - 3 * 1.6449, 0.15);
        CHECK_NEAR(b->median, b->quantile[2], 0);
        CHECK(s->condition[k].refined);
        CHECK_NEAR(s->condition[k].log_p_mode, highest, 1e-4);
        /* log p = highest - r^2/2, and r^2/2 is exponential in two dimensions */
        CHECK_NEAR(s->condition[k].log_p[0], highest + log(0.5), 0.03);
        CHECK_NEAR(s->condition[k].log_p[1], highest + log(0.1), 0.08);
    }
    CHECK(s->exact);
    summary_free(s);
    free(x);
    model_free(m);
    jf_context_free(ctx);
}

/* log-normal: the mode in the data's units is exp(mean - deviation^2), not exp(mean). */
TEST(summary__mode_is_that_of_the_density_in_the_datas_units) {
    jf_context *ctx = new_context();
    const column_support supports[3] = {
        {.kind = SUPPORT_ABOVE, .lo = 0}, {.kind = SUPPORT_LINE}, {.kind = SUPPORT_LINE}};
    model *m = gaussian_model(ctx, supports);
    const double y = 0.5;
    double *x = samples_of(m, 1, 2000, &y);
    summary *s;
    CHECK_STATUS(summary_create(m, &s, 1, 2000, x, &y, &(jf_summary_options){0}), JF_OK);
    CHECK_NEAR(s->column[0].mode, exp(1 - 0.25), 0.02);
    CHECK_NEAR(s->column[1].mode, -2, 0.03);
    summary_free(s);
    free(x);
    model_free(m);
    jf_context_free(ctx);
}

/* The density rises towards a mean that lies beyond the bound: the mode is there, and not outside. */
TEST(summary__mode_of_a_cut_column_stays_inside) {
    jf_context *ctx = new_context();
    const column_support supports[3] = {
        {.kind = SUPPORT_CUT, .lo = 1.25, .hi = 3}, {.kind = SUPPORT_LINE}, {.kind = SUPPORT_LINE}};
    model *m = gaussian_model(ctx, supports);
    const double y = 0.5;
    double *x = samples_of(m, 1, 2000, &y);
    summary *s;
    CHECK_STATUS(summary_create(m, &s, 1, 2000, x, &y, &(jf_summary_options){0}), JF_OK);
    CHECK(s->column[0].mode >= 1.25);
    CHECK_NEAR(s->column[0].mode, 1.25, 0.02);
    CHECK_NEAR(s->column[1].mode, -2, 0.3);
    CHECK(s->column[0].hpd[1].parts[0].lo >= 1.25);
    summary_free(s);
    free(x);
    model_free(m);
    jf_context_free(ctx);
}

TEST(summary__files_have_a_row_for_each_condition_and_column) {
    jf_context *ctx = new_context();
    model *m = gaussian_model(ctx, NULL);
    const double y[3] = {0, 1, 2}, half = 0.68, quarter = 0.25;
    double *x = samples_of(m, 3, 100, y);
    jf_summary *s;
    jf_summary_options o = {
        .size = sizeof o, .mass_count = 1, .masses = &half, .quantile_count = 1, .quantiles = &quarter};
    CHECK_STATUS(jf_summarise(&s, m, 3, 100, x, y, &o), JF_OK);
    const char *csv = jf_summary_csv(s),
               *head = "condition,y0,column,mean,deviation,q25,mode,hpd68,log_p_mode,log_p_hpd68\n1,0,x0,";
    CHECK(strncmp(csv, head, strlen(head)) == 0);
    int lines = 0;
    for (const char *at = csv; *at; at++) lines += *at == '\n';
    CHECK(lines == 7);
    CHECK(strstr(csv, "\n3,2,x1,"));
    CHECK(strstr(jf_summary_json(s),
                 "\"masses\": [0.68], \"probabilities\": [0.25], \"conditions\": [{\"y\": [0], \"mode\": ["));
    CHECK(strstr(jf_summary_text(s), "68% HPD"));
    jf_summary_free(s);
    free(x);
    model_free(m);
    jf_context_free(ctx);
}

TEST(summary__refuses_what_it_cannot_summarise) {
    jf_context *ctx = new_context();
    model *m = gaussian_model(ctx, NULL);
    const double y = 0, x[4] = {1, 2, 3, NAN}, one = 1, masses_17[17] = {0.5};
    jf_summary *s;
    CHECK_STATUS(jf_summarise(&s, m, 1, 2, x, &y, NULL), JF_ERROR_DATA);
    CHECK_STATUS(jf_summarise(&s, m, 1, 1, x, &y, NULL), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_summarise(&s, m, 0, 2, x, &y, NULL), JF_ERROR_ARGUMENT);
    jf_summary_options o = {.size = sizeof o, .mass_count = 1, .masses = &one};
    CHECK_STATUS(jf_summarise(&s, m, 1, 2, (double[]){1, 2, 3, 4}, &y, &o), JF_ERROR_ARGUMENT);
    o = (jf_summary_options){.size = sizeof o, .mass_count = 17, .masses = masses_17};
    CHECK_STATUS(jf_summarise(&s, m, 1, 2, (double[]){1, 2, 3, 4}, &y, &o), JF_ERROR_ARGUMENT);
    CHECK(s == NULL);
    model_free(m);
    jf_context_free(ctx);
}
