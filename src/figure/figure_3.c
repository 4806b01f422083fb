/* Figure 3: crescents. Left in the paper: each class to and from the prior. Right: inference for y from -2 to
 * 2 (model units; the two labels are -1 and 1), with the condition that comes back beside the one that was
 * asked for. */
#include "base/file.h"
#include "base/number.h"
#include "figure/figure.h"
#include <math.h>
#include <stdlib.h>

#define POINTS 4000
#define STEPS  9
static const double limits[4] = {-1.8, 3.2, -2.2, 2.0};

typedef struct space {
    double *x, *z, *samples, *colours, *back;
} space;

static jf_status paint_maps(const figure_job *job, const model *m, space *b) {
    figure *fig = NULL;
    char *path = NULL;
    jf_status status;
    JF_TRY_DONE(figure_create(job->ctx, &fig, m->units.classes, 4, 300, 280, NULL));
    for (int c = 0; c < m->units.classes; c++) {
        char title[64];
        JF_TRY_DONE(figure_data(m, POINTS, c, b->x, b->z));
        format_text(title, sizeof title, "training, y = %g: x", m->units.label[c]);
        figure_scatter(figure_panel(fig, c, 0), title, POINTS, b->x, limits, "x0", "x1", NULL,
                       colour_class(c));
        figure_scatter(figure_panel(fig, c, 1), "F_Z(x, y)", POINTS, b->z, figure_latent_limits, "z0", "z1",
                       NULL, colour_class(c));
        JF_TRY_DONE(figure_samples(m, POINTS, m->units.label[c], 1, b->samples, b->z, NULL));
        for (int i = 0; i < POINTS; i++) b->colours[i] = b->z[2 * i];
        figure_scatter(figure_panel(fig, c, 2), "inference: z", POINTS, b->z, figure_latent_limits, "z0",
                       "z1", b->colours, colour_ink);
        figure_scatter(figure_panel(fig, c, 3), "F_X^-1(z, y)", POINTS, b->samples, limits, "x0", "x1",
                       b->colours, colour_ink);
    }
    JF_TRY_DONE(figure_path(job, &path, "figure-3-maps.png"));
    JF_TRY_DONE(figure_save(fig, path));
done:
    free(path);
    figure_free(fig);
    return status;
}

static jf_status paint_inference(const figure_job *job, const model *m, space *b) {
    figure *fig = NULL;
    char *path = NULL;
    text table = {0};
    jf_status status;
    JF_TRY_DONE(figure_create(job->ctx, &fig, 3, 3, 300, 270, "inference for y = -2 ... 2 (model units)"));
    text_add(&table, "y,mean_abs_error_of_y,max_abs_error_of_y\n");
    for (int k = 0; k < STEPS; k++) {
        double y = -2 + 0.5 * k, mean = 0, most = 0;
        JF_TRY_DONE(figure_samples(m, POINTS, y * m->units.deviation[2] + m->units.mean[2], 1, b->samples,
                                   b->z, b->back));
        for (int i = 0; i < POINTS; i++) {
            double e = fabs(b->back[i] - y);
            mean += e / POINTS;
            most = fmax(most, e);
            b->colours[i] = b->z[2 * i];
        }
        char title[96];
        format_text(title, sizeof title, "y = %g%s   |F_Y^-1 - y| < %.0e", y, fabs(y) == 1 ? " *" : "", most);
        figure_scatter(figure_panel(fig, k / 3, k % 3), title, POINTS, b->samples, limits, "x0", "x1",
                       b->colours, colour_ink);
        text_add(&table, "%g,%.6g,%.6g\n", y, mean, most);
    }
    JF_TRY_DONE(figure_path(job, &path, "figure-3-inference.png"));
    JF_TRY_DONE(figure_save(fig, path));
    free(path);
    path = NULL;
    JF_TRY_DONE(text_check(job->ctx, &table));
    JF_TRY_DONE(figure_path(job, &path, "figure-3.csv"));
    JF_TRY_DONE(file_replace(job->ctx, path, table.chars, table.length));
done:
    text_free(&table);
    free(path);
    figure_free(fig);
    return status;
}

static jf_status make(const figure_job *job) {
    static const figure_subject subject = {
        .recipe = "crescents", .shipped = "crescents", .set = "crescents", .dim_y = 1};
    model *m = NULL;
    space b = {0};
    jf_status status;
    double **buffers[] = {&b.x, &b.z, &b.samples, &b.colours, &b.back};
    JF_TRY_DONE(figure_model(job, 0, &subject, &m));
    for (int i = 0; i < 5; i++) JF_TRY_DONE(MEM_NEW(job->ctx, buffers[i], 2 * POINTS));
    JF_TRY_DONE(paint_maps(job, m, &b));
    JF_TRY_DONE(paint_inference(job, m, &b));
done:
    for (int i = 0; i < 5; i++) free(*buffers[i]);
    model_free(m);
    return status;
}

const figure_kind figure_3 = {
    .name = "3", .summary = "crescents: each class to and from the prior; y from -2 to 2", .make = make};
