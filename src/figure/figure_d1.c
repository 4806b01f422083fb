/* Figure D.1: shapes of different topology, one label each. Data are coloured by the label that goes in,
 * samples by the one that comes out, F_Y^-1(z, y): the same colours, if the map keeps y. */
#include "base/number.h"
#include "figure/figure.h"
#include <math.h>
#include <stdlib.h>

#define POINTS 4000
static const double limits[4] = {-1.6, 1.6, -1.6, 1.6};

typedef struct space {
    double *x, *z, *label; /* (POINTS, 2), (POINTS, 2), (POINTS) in the model's units */
} space;

/* Coloured by labels between the least and the greatest of the model's. */
static void scatter(panel *p, const char *title, const model *m, const space *b) {
    const model_units *u = &m->units;
    double low = INFINITY, high = -INFINITY;
    for (int c = 0; c < u->classes; c++) {
        double y = (u->label[c] - u->mean[2]) / u->deviation[2];
        low = fmin(low, y);
        high = fmax(high, y);
    }
    panel_title(p, title);
    panel_axes(p, limits[0], limits[1], limits[2], limits[3], "x0", "x1", AXES_EQUAL);
    panel_scatter(p, POINTS, b->x, b->x + 1, 2,
                  &(scatter_style){.ink = colour_ink, .values = b->label, .low = low, .high = high});
}

static jf_status paint_class(const figure_job *job, const model *m, int c, figure *fig, space *b,
                             text *table) {
    const model_units *u = &m->units;
    double y = (u->label[c] - u->mean[2]) / u->deviation[2], most = 0, mean = 0;
    char title[96];
    (void)job;
    JF_TRY(figure_data(m, POINTS, c, b->x, b->z));
    for (int i = 0; i < POINTS; i++) b->label[i] = y;
    format_text(title, sizeof title, "y = %g (%s)", u->label[c], u->class_name[c]);
    scatter(figure_panel(fig, 0, c), title, m, b);
    JF_TRY(figure_samples(m, POINTS, u->label[c], 1, b->x, b->z, b->label));
    for (int i = 0; i < POINTS; i++) {
        most = fmax(most, fabs(b->label[i] - y));
        mean += fabs(b->label[i] - y) / POINTS;
    }
    format_text(title, sizeof title, "y that comes out: within %.0e", most);
    scatter(figure_panel(fig, 1, c), title, m, b);
    text_add(table, "%s,%g,%.3g,%.3g\n", u->class_name[c], u->label[c], mean, most);
    return JF_OK;
}

static jf_status make(const figure_job *job) {
    static const figure_subject subject = {.recipe = "mixed", .shipped = "mixed", .set = "mixed", .dim_y = 1};
    model *m = NULL;
    space b = {0};
    figure *fig = NULL;
    char *path = NULL;
    text table = {0};
    jf_status status;
    JF_TRY_DONE(figure_model(job, 0, &subject, &m));
    JF_TRY_DONE(MEM_NEW(job->ctx, &b.x, 2 * POINTS));
    JF_TRY_DONE(MEM_NEW(job->ctx, &b.z, 2 * POINTS));
    JF_TRY_DONE(MEM_NEW(job->ctx, &b.label, POINTS));
    text_add(&table, "class,y,mean_abs_error_of_y,max_abs_error_of_y\n");
    JF_TRY_DONE(figure_create(
        job->ctx, &fig, 2, m->units.classes, 270, 270,
        "data, coloured by their label (top), and samples, by the label that comes out (bottom)"));
    for (int c = 0; c < m->units.classes; c++) JF_TRY_DONE(paint_class(job, m, c, fig, &b, &table));
    JF_TRY_DONE(figure_path(job, &path, "figure-D1.png"));
    JF_TRY_DONE(figure_save(fig, path));
    JF_TRY_DONE(figure_write(job, "figure-D1.csv", &table));
done:
    free(b.x);
    free(b.z);
    free(b.label);
    free(path);
    text_free(&table);
    figure_free(fig);
    model_free(m);
    return status;
}

const figure_kind figure_d1 = {.name = "D.1",
                               .summary =
                                   "shapes of different topology, coloured by the label that comes out",
                               .make = make};
