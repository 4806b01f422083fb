/* Figure C.1: diamond, line, cross and parabola by rule. */
#include "base/number.h"
#include "figure/figure.h"
#include "loss/loss_rule.h"
#include <stdlib.h>

#define POINTS 4000
#define RULES  4
static const figure_subject subjects[RULES] = {
    {.recipe = "rule-diamond", .shipped = "rule-diamond", .rule = "diamond"},
    {.recipe = "rule-line", .shipped = "rule-line", .rule = "line"},
    {.recipe = "rule-cross", .shipped = "rule-cross", .rule = "cross"},
    {.recipe = "rule-parabola", .shipped = "rule-parabola", .rule = "parabola"}};

static jf_status paint(const figure_job *job, model *const models[RULES]) {
    double *x = NULL, *z = NULL, *colours = NULL;
    figure *fig = NULL;
    char *path = NULL;
    jf_status status;
    double **buffers[] = {&x, &z, &colours};
    for (int i = 0; i < 3; i++) JF_TRY_DONE(MEM_NEW(job->ctx, buffers[i], 2 * POINTS));
    JF_TRY_DONE(figure_create(job->ctx, &fig, 1, RULES, 300, 300, NULL));
    for (int k = 0; k < RULES; k++) {
        JF_TRY_DONE(figure_samples(models[k], POINTS, 0, 1, x, z, NULL));
        for (int i = 0; i < POINTS; i++) colours[i] = z[2 * i];
        double reach = k == 0 ? 1.5 : 3.5, limits[4] = {-reach, reach, -reach, reach};
        if (k == 3) limits[2] = -1, limits[3] = 6;
        char title[96];
        const rule *r = rule_find(recipe_get(models[k]->recipe, "loss.rule"));
        format_text(title, sizeof title, "%s  %s", r->name, r->formula);
        figure_scatter(figure_panel(fig, 0, k), title, POINTS, x, limits, "x0", "x1", colours, colour_ink);
    }
    JF_TRY_DONE(figure_path(job, &path, "figure-C1.png"));
    JF_TRY_DONE(figure_save(fig, path));
done:
    for (int i = 0; i < 3; i++) free(*buffers[i]);
    free(path);
    figure_free(fig);
    return status;
}

static jf_status make(const figure_job *job) {
    model *models[RULES] = {0};
    jf_status status = JF_OK;
    for (int k = 0; status == JF_OK && k < RULES; k++)
        status = figure_model(job, k, &subjects[k], &models[k]);
    if (status == JF_OK) status = paint(job, models);
    for (int k = 0; k < RULES; k++) model_free(models[k]);
    return status;
}

const figure_kind figure_c1 = {
    .name = "C.1", .summary = "diamond, line, cross and parabola from rules", .make = make};
