/* Figure 1: a conventional flow on a ring beside a flow trained from the rule of a circle. */
#include "base/statistics.h"
#include "figure/figure.h"
#include <math.h>
#include <stdlib.h>

#define POINTS 4000
static const double limits[4] = {-1.5, 1.5, -1.5, 1.5};
static const double probabilities[5] = {0.05, 0.25, 0.5, 0.75, 0.95};

/* Standard normal quantile by bisection of the distribution function. */
static double normal_quantile(double q) {
    double lo = -8, hi = 8;
    for (int i = 0; i < 80; i++) {
        double t = (lo + hi) / 2;
        if (normal_cdf(t) < q)
            lo = t;
        else
            hi = t;
    }
    return lo;
}

static void radii(long n, const double *x, double *out) {
    for (long i = 0; i < n; i++) out[i] = hypot(x[2 * i], x[2 * i + 1]);
    sort_ascending(out, (size_t)n);
}

/* exp(-energy): what the rule asks for. */
static void rule_field(panel *p, const model *m) {
    enum { CELLS = 160 };
    double *values = malloc(sizeof(double) * CELLS * CELLS);
    if (!values) return;
    for (int i = 0; i < CELLS * CELLS; i++) {
        double x[2] = {limits[0] + (limits[1] - limits[0]) * (i % CELLS + 0.5) / CELLS,
                       limits[2] + (limits[3] - limits[2]) * (i / CELLS + 0.5) / CELLS};
        values[i] = exp(-m->objective.kind->target->energy(&m->objective, x));
    }
    panel_title(p, "rule: exp(-lambda d(x))");
    panel_axes(p, limits[0], limits[1], limits[2], limits[3], "x0", "x1", AXES_EQUAL);
    panel_heat(p, &(heat_grid){CELLS, CELLS, values, limits[0], limits[1], limits[2], limits[3], 0, 1, 1});
    free(values);
}

static void first_coordinates(const double *z, double *out) {
    for (int i = 0; i < POINTS; i++) out[i] = z[2 * i];
}

static jf_status paint(const figure_job *job, const model *ring, const model *circle) {
    double *x = NULL, *z = NULL, *samples = NULL, *colours = NULL, *r_ring = NULL, *r_rule = NULL;
    figure *fig = NULL;
    char *path = NULL;
    text words = {0};
    jf_status status;
    double **buffers[] = {&x, &z, &samples, &colours, &r_ring, &r_rule};
    for (int i = 0; i < 6; i++) JF_TRY_DONE(MEM_NEW(job->ctx, buffers[i], 2 * POINTS));
    JF_TRY_DONE(figure_create(job->ctx, &fig, 2, 5, 270, 270,
                              "conventional flow (left) and flow trained from a rule (right)"));

    JF_TRY_DONE(figure_data(ring, POINTS, -1, x, z));
    figure_scatter(figure_panel(fig, 0, 0), "training: data x", POINTS, x, limits, "x0", "x1", NULL,
                   colour_class(0));
    figure_scatter(figure_panel(fig, 0, 1), "F(x)", POINTS, z, figure_latent_limits, "z0", "z1", NULL,
                   colour_class(0));
    JF_TRY_DONE(figure_samples(ring, POINTS, 0, 1, samples, z, NULL));
    first_coordinates(z, colours);
    figure_scatter(figure_panel(fig, 1, 0), "inference: F^-1(z)", POINTS, samples, limits, "x0", "x1",
                   colours, colour_ink);
    figure_scatter(figure_panel(fig, 1, 1), "z", POINTS, z, figure_latent_limits, "z0", "z1", colours,
                   colour_ink);
    radii(POINTS, samples, r_ring);

    JF_TRY_DONE(figure_samples(circle, POINTS, 0, 1, samples, z, NULL));
    first_coordinates(z, colours);
    rule_field(figure_panel(fig, 0, 3), circle);
    figure_scatter(figure_panel(fig, 0, 2), "training: z", POINTS, z, figure_latent_limits, "z0", "z1", NULL,
                   colour_class(1));
    figure_scatter(figure_panel(fig, 1, 3), "inference: F^-1(z)", POINTS, samples, limits, "x0", "x1",
                   colours, colour_ink);
    figure_scatter(figure_panel(fig, 1, 2), "z", POINTS, z, figure_latent_limits, "z0", "z1", colours,
                   colour_ink);
    radii(POINTS, samples, r_rule);

    double R = recipe_real(ring->recipe, "data.radius"), s = recipe_real(ring->recipe, "data.deviation");
    text_add(&words, "radius, ring:  quantile\tsamples   exact\n");
    for (int i = 0; i < 5; i++)
        text_add(&words, "%.2f\t%.4f   %.4f\n", probabilities[i], quantile(r_ring, POINTS, probabilities[i]),
                 R + s * normal_quantile(probabilities[i]));
    panel_text(figure_panel(fig, 0, 4), words.chars);
    text_free(&words);
    text_add(&words, "radius, rule:  quantile\tsamples   exact\n");
    for (int i = 0; i < 5; i++)
        text_add(&words, "%.2f\t%.4f   %.4f\n", probabilities[i], quantile(r_rule, POINTS, probabilities[i]),
                 circle->objective.kind->target->quantile(&circle->objective, probabilities[i]));
    JF_TRY_DONE(text_check(job->ctx, &words));
    panel_text(figure_panel(fig, 1, 4), words.chars);
    JF_TRY_DONE(figure_path(job, &path, "figure-1.png"));
    JF_TRY_DONE(figure_save(fig, path));
done:
    for (int i = 0; i < 6; i++) free(*buffers[i]);
    text_free(&words);
    free(path);
    figure_free(fig);
    return status;
}

static jf_status make(const figure_job *job) {
    model *ring = NULL, *circle = NULL;
    static const figure_subject subjects[2] = {
        {.recipe = "ring", .shipped = "ring", .set = "ring"},
        {.recipe = "rule-circle", .shipped = "rule-circle", .rule = "circle"}};
    jf_status status = figure_model(job, 0, &subjects[0], &ring);
    if (status == JF_OK) status = figure_model(job, 1, &subjects[1], &circle);
    if (status == JF_OK) status = paint(job, ring, circle);
    model_free(ring);
    model_free(circle);
    return status;
}

const figure_kind figure_1 = {.name = "1",
                              .summary = "conventional flow against a flow trained from a rule, on a circle",
                              .make = make};
