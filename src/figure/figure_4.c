/* Figure 4: sectors of the unit disc at four angles, points shaded by z1. */
#include "figure/figure.h"
#include <stdlib.h>

#define POINTS 4000
#define ANGLES 4
static const double limits[4] = {-1.25, 1.25, -1.25, 1.25};

static jf_status make(const figure_job *job) {
    static const figure_subject subject = {
        .recipe = "sectors", .shipped = "sectors", .set = "sectors", .dim_y = 1};
    static const char *const titles[ANGLES] = {"y' = 0", "y' = pi/2", "y' = pi", "y' = 3 pi/2"};
    model *m = NULL;
    double *x = NULL, *z = NULL, *colours = NULL;
    figure *fig = NULL;
    char *path = NULL;
    jf_status status;
    double **buffers[] = {&x, &z, &colours};
    JF_TRY_DONE(figure_model(job, 0, &subject, &m));
    for (int i = 0; i < 3; i++) JF_TRY_DONE(MEM_NEW(job->ctx, buffers[i], 2 * POINTS));
    JF_TRY_DONE(figure_create(job->ctx, &fig, 1, ANGLES + 1, 290, 290, NULL));
    for (int k = 0; k < ANGLES; k++) {
        JF_TRY_DONE(figure_samples(m, POINTS, k * 1.57079632679489661923, 1, x, z, NULL));
        for (int i = 0; i < POINTS; i++) colours[i] = z[2 * i]; /* the paper's z_1 is the first coordinate */
        if (k == 0)
            figure_scatter(figure_panel(fig, 0, 0), "z", POINTS, z, figure_latent_limits, "z1", "z2", colours,
                           colour_ink);
        figure_scatter(figure_panel(fig, 0, k + 1), titles[k], POINTS, x, limits, "x1", "x2", colours,
                       colour_ink);
    }
    JF_TRY_DONE(figure_path(job, &path, "figure-4.png"));
    JF_TRY_DONE(figure_save(fig, path));
done:
    for (int i = 0; i < 3; i++) free(*buffers[i]);
    free(path);
    figure_free(fig);
    model_free(m);
    return status;
}

const figure_kind figure_4 = {
    .name = "4", .summary = "sectors at four angles, shaded by the first latent coordinate", .make = make};
