/* Figure E.1: latent histograms of the models of digits and of clothes by class, one line per pixel. */
#include "figure/figure.h"

static jf_status make(const figure_job *job) {
    static const figure_subject subjects[2] = {{.recipe = "mnist-class-small", .task = "class"},
                                               {.recipe = "fashion-class-small", .task = "class"}};
    static const char *const names[2] = {"figure-E1-mnist.png", "figure-E1-fashion.png"};
    text table = {0};
    jf_status status = JF_OK;
    text_add(&table, "%s", figure_latent_columns);
    for (int i = 0; status == JF_OK && i < 2; i++) {
        model *m = NULL;
        status = figure_model(job, i, &subjects[i], &m);
        if (status == JF_OK) status = figure_latent(job, m, names[i], &table);
        model_free(m);
    }
    if (status == JF_OK) status = figure_write(job, "figure-E1.csv", &table);
    text_free(&table);
    return status;
}

const figure_kind figure_e1 = {"E1", "latent histograms of image models by class, one line per pixel", make};
