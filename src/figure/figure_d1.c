/* Figure D.1: shapes of different topology, one label each: data and samples. */
#include "base/number.h"
#include "figure/figure.h"
#include <stdlib.h>

#define POINTS 4000
static const double limits[4] = {-1.6, 1.6, -1.6, 1.6};

static jf_status make(const figure_job *job) {
    static const figure_subject subject = {.recipe = "mixed", .set = "mixed", .dim_y = 1};
    model *m = NULL;
    double *x = NULL, *z = NULL;
    figure *fig = NULL;
    char *path = NULL;
    jf_status status;
    JF_TRY_DONE(figure_model(job, 0, &subject, &m));
    JF_TRY_DONE(MEM_NEW(job->ctx, &x, 2 * POINTS));
    JF_TRY_DONE(MEM_NEW(job->ctx, &z, 2 * POINTS));
    JF_TRY_DONE(
        figure_create(job->ctx, &fig, 2, m->units.classes, 270, 270, "data (top) and samples (bottom)"));
    for (int c = 0; c < m->units.classes; c++) {
        char title[96];
        number_print(title, sizeof title, "y = %g (%s)", m->units.label[c], m->units.class_name[c]);
        JF_TRY_DONE(figure_data(m, POINTS, c, x, z));
        figure_scatter(figure_panel(fig, 0, c), title, POINTS, x, limits, "x0", "x1", NULL, colour_class(c));
        JF_TRY_DONE(figure_samples(m, POINTS, m->units.label[c], 1, x, z, NULL));
        figure_scatter(figure_panel(fig, 1, c), NULL, POINTS, x, limits, "x0", "x1", NULL, colour_class(c));
    }
    JF_TRY_DONE(figure_path(job, &path, "figure-D1.png"));
    JF_TRY_DONE(figure_save(fig, path));
done:
    free(x);
    free(z);
    free(path);
    figure_free(fig);
    model_free(m);
    return status;
}

const figure_kind figure_d1 = {"D1", "shapes of different topology, one label each", make};
