/* Figure 5: images by class. 5a: samples of two classes. 5b: the same lines in z for several y. 5c: lines
 * in y through and beyond the two classes, which are boxed. */
#include "figure/figure.h"
#include "types/label_formulas.h"
#include <stdlib.h>

enum { SAMPLES = 25, LINES = 2, LINE_STEPS = 10, CONDITIONS = 5, POINTS = 6, Y_STEPS = 9 };

/* On the straight line from the first class to the last, in units of their distance: between them and beyond.
 */
static void fill(const model *m, double share, double *y) {
    const model_units *u = &m->units;
    double first = u->label[0], last = u->label[u->classes - 1];
    int planes = units_planes(u);
    for (int i = 0; i < u->dim_y; i++) {
        double from = label_element(first, planes, i), to = label_element(last, planes, i);
        y[i] = from + share * (to - from);
    }
}

static jf_status paint_samples(const figure_job *job, const model *m, const jf_cascade *cascade,
                               const char *path) {
    (void)job;
    jf_images images = {0};
    size_t n = 2 * SAMPLES, dim_y = (size_t)m->units.dim_y;
    double *x = NULL, *y = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &x, n * (size_t)m->units.dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &y, n * dim_y));
    for (size_t i = 0; i < n; i++) fill(m, i < SAMPLES ? 0 : 1, y + i * dim_y);
    JF_TRY_DONE(
        jf_sample(m, (int)n, y, x, NULL, NULL, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1}));
    JF_TRY_DONE(figure_images(m, cascade, n, x, y, 1, &images));
    JF_TRY_DONE(jf_draw_images_of(m, &images, y, 0, path));
done:
    jf_images_free(&images);
    free(x);
    free(y);
    return status;
}

static jf_status draw_lines(const model *m, const jf_cascade *cascade, const jf_lines *lines,
                            const char *title, const char *path) {
    jf_images images;
    JF_TRY(figure_images(m, cascade, lines->rows * lines->steps, lines->x, lines->y, lines->steps, &images));
    jf_status status = jf_lines_draw_images(m, lines, &images, title, 0, path);
    jf_images_free(&images);
    return status;
}

static jf_status paint_along_z(const figure_job *job, const model *m, const jf_cascade *cascade,
                               const char *path) {
    int turn = job->options->quarter_turn;
    jf_lines lines = {0};
    double *y;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &y, CONDITIONS * (size_t)m->units.dim_y));
    for (int k = 0; k < CONDITIONS; k++)
        fill(m, (double)k / (CONDITIONS - 1), y + (size_t)k * (size_t)m->units.dim_y);
    JF_TRY_DONE(
        jf_lines_along_z(&lines, m, LINES, LINE_STEPS, CONDITIONS, y,
                         &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1, .straight = !turn}));
    JF_TRY_DONE(draw_lines(m, cascade, &lines,
                           turn ? "quarter turns in z at fixed y" : "straight lines in z at fixed y", path));
done:
    jf_lines_free(&lines);
    free(y);
    return status;
}

static jf_status paint_along_y(const figure_job *job, const model *m, const jf_cascade *cascade,
                               const char *path) {
    (void)job;
    jf_lines lines = {0};
    double *y, *to;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &y, 2 * (size_t)m->units.dim_y));
    to = y + m->units.dim_y;
    fill(m, -0.5, y);
    fill(m, 1.5, to);
    JF_TRY_DONE(jf_lines_along_y(&lines, m, POINTS, Y_STEPS, y, to,
                                 &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1}));
    JF_TRY_DONE(draw_lines(m, cascade, &lines, "lines in y at fixed z", path));
done:
    jf_lines_free(&lines);
    free(y);
    return status;
}

static jf_status make(const figure_job *job) {
    static const struct {
        const char *name;
        jf_status (*paint)(const figure_job *job, const model *m, const jf_cascade *cascade,
                           const char *path);
    } parts[] = {
        {"figure-5a.png", paint_samples}, {"figure-5b.png", paint_along_z}, {"figure-5c.png", paint_along_y}};
    model *m;
    jf_cascade *cascade;
    JF_TRY(figure_model(job, 0, &figure_fashion_class, &m));
    jf_status status = figure_cascade(job, m, &cascade);
    for (int i = 0; status == JF_OK && i < 3; i++) {
        char *path;
        status = figure_path(job, &path, parts[i].name);
        if (status != JF_OK) break;
        status = parts[i].paint(job, m, cascade, path);
        free(path);
    }
    jf_cascade_free(cascade);
    model_free(m);
    return status;
}

const figure_kind figure_5 = {
    .name = "5", .summary = "images by class: samples, lines in z, lines in y", .make = make};
