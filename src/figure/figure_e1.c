/* Figure E.1: latent histograms, one line per pixel: (a) digits and (b) clothes by class, (c) and (d) both
 * steps of super-resolution. Models of classes may have elements that miss the prior, which are drawn in
 * another colour. */
#include "figure/figure.h"
#include <stdlib.h>

enum { PANELS = 4 };

/* In the order of the panels; models 0 and 1 of super-resolution are told apart by their size. */
static jf_status load(const figure_job *job, model *models[PANELS]) {
    static const figure_subject steps[2] = {
        {.recipe = "fashion-sr-7-14-small", .shipped = "fashion/7-14", .task = "superres"},
        {.recipe = "fashion-sr-14-28-small", .shipped = "fashion/14-28", .task = "superres"}};
    JF_TRY(figure_model(job, 0, &figure_mnist_class, &models[0]));
    JF_TRY(figure_model(job, 1, &figure_fashion_class, &models[1]));
    JF_TRY(figure_model(job, 2, &steps[0], &models[2]));
    return figure_model(job, 3, &steps[1], &models[3]);
}

static jf_status make(const figure_job *job) {
    static const char *const titles[PANELS] = {"(a) digits by class", "(b) clothes by class",
                                               "(c) super-resolution, step 1",
                                               "(d) super-resolution, step 2"};
    model *models[PANELS] = {0};
    figure *fig = NULL;
    char *path = NULL;
    text table = {0};
    jf_status status;
    text_add(&table, "%s", figure_latent_columns);
    JF_TRY_DONE(load(job, models));
    JF_TRY_DONE(figure_create(job->ctx, &fig, 2, 2, 480, 360, NULL));
    for (int i = 0; i < PANELS; i++)
        JF_TRY_DONE(figure_latent(job, models[i], figure_panel(fig, i / 2, i % 2), titles[i], &table));
    JF_TRY_DONE(figure_path(job, &path, "figure-E1.png"));
    JF_TRY_DONE(figure_save(fig, path));
    JF_TRY_DONE(figure_write(job, "figure-E1.csv", &table));
done:
    for (int i = 0; i < PANELS; i++) model_free(models[i]);
    text_free(&table);
    free(path);
    figure_free(fig);
    return status;
}

const figure_kind figure_e1 = {
    .name = "E.1", .summary = "latent histograms of four image models, one line per pixel", .make = make};
