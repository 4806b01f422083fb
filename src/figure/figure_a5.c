/* Figure A.5: generated digits, 0 and 1. */
#include "figure/figure.h"
#include <stdlib.h>

enum { SAMPLES = 25 };

static jf_status make(const figure_job *job) {
    static const figure_subject subject = {.recipe = "mnist-class-small", .task = "class"};
    model *m = NULL;
    double *x = NULL, *y = NULL;
    char *path = NULL;
    jf_status status;
    JF_TRY_DONE(figure_model(job, 0, &subject, &m));
    size_t n = (size_t)(SAMPLES * m->units.classes), dim_y = (size_t)m->units.dim_y;
    JF_TRY_DONE(MEM_NEW(job->ctx, &x, n * (size_t)m->units.dim_x));
    JF_TRY_DONE(MEM_NEW(job->ctx, &y, n * dim_y));
    for (size_t i = 0; i < n * dim_y; i++) y[i] = m->units.label[i / dim_y / SAMPLES];
    JF_TRY_DONE(jf_sample(m, (int)n, y, x, NULL, NULL, &(jf_use_options){.seed = 1}));
    JF_TRY_DONE(figure_path(job, &path, "figure-A5.png"));
    JF_TRY_DONE(jf_draw_image_samples(m, (int)n, x, y, 0, path));
done:
    free(x);
    free(y);
    free(path);
    model_free(m);
    return status;
}

const figure_kind figure_a5 = {"A5", "digits by class: samples of each", make};
