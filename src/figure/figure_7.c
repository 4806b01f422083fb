/* Figure 7: latent histograms of both steps of super-resolution, one line per pixel. */
#include "figure/figure.h"

static jf_status make(const figure_job *job) {
    model *models[2];
    text table = {0};
    jf_status status;
    JF_TRY_DONE(figure_superres_models(job, models));
    text_add(&table, "%s", figure_latent_columns);
    JF_TRY_DONE(figure_latent(job, models[0], "figure-7-coarse.png", &table));
    JF_TRY_DONE(figure_latent(job, models[1], "figure-7-fine.png", &table));
    JF_TRY_DONE(figure_write(job, "figure-7.csv", &table));
done:
    text_free(&table);
    model_free(models[0]);
    model_free(models[1]);
    return status;
}

const figure_kind figure_7 = {"7", "latent histograms of super-resolution, one line per pixel", make};
