/* Figure 5: images by class. 5a: samples of two classes. 5b: the same lines in z for several y. 5c: lines
 * in y through and beyond the two classes, which are boxed. */
#include "figure/figure.h"
#include <stdlib.h>

enum { SAMPLES = 25, LINES = 2, LINE_STEPS = 10, CONDITIONS = 5, POINTS = 6, Y_STEPS = 9 };

/* The first class and the last; y in between and beyond them is counted in units of their distance. */
static double y_at(const model *m, double share) {
    double first = m->units.label[0], last = m->units.label[m->units.classes - 1];
    return first + share * (last - first);
}

static void fill(const model *m, double share, double *y) {
    units_fill_y(&m->units, y_at(m, share), y);
}

static jf_status paint_samples(const figure_job *job, const model *m, const char *path) {
    (void)job;
    size_t n = 2 * SAMPLES, dim_y = (size_t)m->units.dim_y;
    double *x = NULL, *y = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &x, n * (size_t)m->units.dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &y, n * dim_y));
    for (size_t i = 0; i < n; i++) fill(m, i < SAMPLES ? 0 : 1, y + i * dim_y);
    JF_TRY_DONE(
        jf_sample(m, (int)n, y, x, NULL, NULL, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1}));
    JF_TRY_DONE(jf_draw_image_samples(m, (int)n, x, y, 0, path));
done:
    free(x);
    free(y);
    return status;
}

static jf_status paint_along_z(const figure_job *job, const model *m, const char *path) {
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
    JF_TRY_DONE(jf_lines_draw(
        m, &lines, turn ? "quarter turns in z at fixed y" : "straight lines in z at fixed y", 0, path));
done:
    jf_lines_free(&lines);
    free(y);
    return status;
}

static jf_status paint_along_y(const figure_job *job, const model *m, const char *path) {
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
    JF_TRY_DONE(jf_lines_draw(m, &lines, "lines in y at fixed z", 0, path));
done:
    jf_lines_free(&lines);
    free(y);
    return status;
}

static jf_status make(const figure_job *job) {
    static const struct {
        const char *name;
        jf_status (*paint)(const figure_job *job, const model *m, const char *path);
    } parts[] = {
        {"figure-5a.png", paint_samples}, {"figure-5b.png", paint_along_z}, {"figure-5c.png", paint_along_y}};
    model *m;
    JF_TRY(figure_model(job, 0, &figure_fashion_class, &m));
    jf_status status = JF_OK;
    for (int i = 0; status == JF_OK && i < 3; i++) {
        char *path;
        status = figure_path(job, &path, parts[i].name);
        if (status != JF_OK) break;
        status = parts[i].paint(job, m, path);
        free(path);
    }
    model_free(m);
    return status;
}

const figure_kind figure_5 = {
    .name = "5", .summary = "images by class: samples, lines in z, lines in y", .make = make};
