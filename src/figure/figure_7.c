/* Figure 7: latent histograms of both steps of super-resolution, one line per pixel. */
#include "figure/figure.h"
#include <stdlib.h>

static jf_status make(const figure_job *job) {
    model *models[2];
    text table = {0};
    figure *fig = NULL;
    char *path = NULL;
    jf_status status;
    JF_TRY_DONE(figure_superres_models(job, models));
    text_add(&table, "%s", figure_latent_columns);
    JF_TRY_DONE(figure_create(job->ctx, &fig, 1, 2, 480, 360, NULL));
    JF_TRY_DONE(figure_latent(job, models[0], figure_panel(fig, 0, 0), "super-resolution, step 1", &table));
    JF_TRY_DONE(figure_latent(job, models[1], figure_panel(fig, 0, 1), "super-resolution, step 2", &table));
    JF_TRY_DONE(figure_path(job, &path, "figure-7.png"));
    JF_TRY_DONE(figure_save(fig, path));
    JF_TRY_DONE(figure_write(job, "figure-7.csv", &table));
done:
    free(path);
    figure_free(fig);
    text_free(&table);
    model_free(models[0]);
    model_free(models[1]);
    return status;
}

const figure_kind figure_7 = {
    .name = "7", .summary = "latent histograms of super-resolution, one line per pixel", .make = make};
