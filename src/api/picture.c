/* Public: pictures of images. */
#include "api/image.h"
#include "base/number.h"
#include "draw/draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PANELS = 25, MAX_PER_PANEL = 400, MAX_CELLS = 40000, EDGE = 60 };

/* ---- grids ---- */

/* Cell (h, w, channels) -> out (oh, ow, ochannels), each pixel as often as it takes. */
static void enlarge(const jf_grid_cell *cell, int oh, int ow, int ochannels, double *out) {
    for (int i = 0; i < oh; i++)
        for (int j = 0; j < ow; j++) {
            size_t row = (size_t)i * (size_t)cell->h / (size_t)oh,
                   column = (size_t)j * (size_t)cell->w / (size_t)ow;
            const double *pixel = cell->values + (row * (size_t)cell->w + column) * (size_t)cell->channels;
            for (int c = 0; c < ochannels; c++) *out++ = pixel[cell->channels == ochannels ? c : 0];
        }
}

/* The largest cell gives the size of all. */
static jf_status grid_form(jf_context *ctx, const jf_grid *g, image_grid *out) {
    if (g->rows < 1 || g->columns < 1 || (long)g->rows * g->columns > MAX_CELLS)
        return jf_fail(
            ctx, JF_ERROR_ARGUMENT,
            "a picture of %d rows and %d columns of images, expected 1 or more and at most %d images",
            g->rows, g->columns, MAX_CELLS);
    for (int i = 0; i < g->rows * g->columns; i++) {
        const jf_grid_cell *cell = &g->cells[i];
        if (!cell->values) continue;
        if (cell->h < 1 || cell->w < 1 || (cell->channels != 1 && cell->channels != 3))
            return jf_fail(ctx, JF_ERROR_UNSUPPORTED,
                           "images of %d x %d and %d channels cannot be drawn, expected 1 or 3 channels",
                           cell->h, cell->w, cell->channels);
        if (cell->h > out->height) out->height = cell->h;
        if (cell->w > out->width) out->width = cell->w;
        if (cell->channels > out->channels) out->channels = cell->channels;
    }
    return out->height ? JF_OK : jf_fail(ctx, JF_ERROR_ARGUMENT, "a grid without any image");
}

static void range_of(const jf_grid *g, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = 0; i < g->rows * g->columns; i++) {
        const jf_grid_cell *cell = &g->cells[i];
        size_t n = cell->values ? (size_t)cell->h * (size_t)cell->w * (size_t)cell->channels : 0;
        for (size_t k = 0; k < n; k++) {
            *low = fmin(*low, cell->values[k]);
            *high = fmax(*high, cell->values[k]);
        }
    }
}

jf_status jf_grid_draw(jf_context *ctx, const jf_grid *g, const char *path) {
    image_grid out = {.columns = g->columns, .row_labels = g->row_labels, .column_labels = g->column_labels};
    double *values = NULL;
    unsigned char *marks = NULL; /* (2, count): boxed, blank */
    jf_status status;
    JF_TRY(grid_form(ctx, g, &out));
    out.count = g->rows * g->columns;
    size_t size = (size_t)out.height * (size_t)out.width * (size_t)out.channels, count = (size_t)out.count;
    JF_TRY_DONE(mem_alloc(ctx, &values, count, size * sizeof(double)));
    JF_TRY_DONE(MEM_NEW(ctx, &marks, 2 * count));
    for (size_t i = 0; i < count; i++) {
        marks[i] = g->cells[i].boxed != 0;
        marks[count + i] = g->cells[i].values == NULL;
        if (g->cells[i].values) enlarge(&g->cells[i], out.height, out.width, out.channels, values + i * size);
    }
    out.values = values;
    out.boxed = marks;
    out.blank = marks + count;
    if (g->full_range) range_of(g, &out.low, &out.high);
    JF_TRY_DONE(draw_images(ctx, path, &out, g->title));
done:
    free(values);
    free(marks);
    return status;
}

/* ---- samples ---- */

/* Samples by their y: rows of the same one, in their order of appearance. */
typedef struct answers {
    jf_images images;     /* of all rows */
    jf_images conditions; /* (count) of what each y looks like; none where y is a class */
    int *of;              /* (rows): to which y each belongs; -1 for those past MAX_PANELS */
    int count;
    int first[MAX_PANELS], rows[MAX_PANELS]; /* of each y: its first row, and how many are shown */
    double low, high;
} answers;

static void answers_free(answers *a) {
    jf_images_free(&a->images);
    jf_images_free(&a->conditions);
    free(a->of);
}

/* Returns how many rows find no place. */
static int sort_rows(const model *m, int n, const double *y, answers *a) {
    size_t dim = (size_t)m->units.dim_y;
    int left_out = 0;
    for (int i = 0; i < n; i++) {
        a->of[i] = -1;
        for (int k = 0; k < a->count && a->of[i] < 0; k++)
            if (!dim || memcmp(y + (size_t)i * dim, y + (size_t)a->first[k] * dim, dim * sizeof(double)) == 0)
                a->of[i] = k;
        if (a->of[i] < 0 && a->count < MAX_PANELS) {
            a->of[i] = a->count;
            a->first[a->count++] = i;
        }
        if (a->of[i] < 0 || a->rows[a->of[i]] == MAX_PER_PANEL)
            left_out++;
        else
            a->rows[a->of[i]]++;
    }
    return left_out;
}

/* What an x of 0 makes of each condition: the degraded image. */
static jf_status condition_images(const model *m, const double *y, answers *a) {
    double *none = NULL, *rows = NULL; /* (count, dim_x) of 0 and (count, dim_y) */
    size_t dim_y = (size_t)m->units.dim_y, count = (size_t)a->count;
    jf_status status = JF_OK;
    if (m->units.classes || !dim_y) return JF_OK;
    JF_TRY_DONE(MEM_NEW(m->ctx, &none, count * (size_t)m->units.dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, count * dim_y));
    for (size_t k = 0; k < count; k++)
        memcpy(rows + k * dim_y, y + (size_t)a->first[k] * dim_y, dim_y * sizeof(double));
    JF_TRY_DONE(jf_restore(m, &a->conditions, a->count, none, rows));
done:
    free(none);
    free(rows);
    return status;
}

static jf_status answers_create(const model *m, int n, const double *x, const double *y, int full_range,
                                answers *a, const char *path) {
    JF_TRY(MEM_NEW(m->ctx, &a->of, (size_t)n + 1));
    int left_out = sort_rows(m, n, y, a);
    if (left_out)
        jf_log(m->ctx, "%s: the first %d images of the first %d values of y are drawn, %d are left out", path,
               MAX_PER_PANEL, MAX_PANELS, left_out);
    JF_TRY(jf_restore(m, &a->images, n, x, y));
    JF_TRY(condition_images(m, y, a));
    if (full_range)
        draw_range((long)n * (long)image_numbers(&a->images), a->images.values, 1, 0, &a->low, &a->high);
    return JF_OK;
}

/* Images of one y, `across` a row; where the condition is an image, it comes first, in a frame. */
static jf_status paint_answer(panel *p, const model *m, const answers *a, int k, int across) {
    size_t size = image_numbers(&a->images);
    int extra = a->conditions.count > 0, shown = 0;
    unsigned char boxed[MAX_PER_PANEL + 1] = {0};
    double *values;
    JF_TRY(mem_alloc(m->ctx, &values, MAX_PER_PANEL + 1, size * sizeof(double)));
    if (extra) memcpy(values, image_at(&a->conditions, k), size * sizeof(double));
    boxed[0] = (unsigned char)extra;
    for (int i = a->first[k]; shown < a->rows[k]; i++)
        if (a->of[i] == k)
            memcpy(values + (size_t)(extra + shown++) * size, image_at(&a->images, i), size * sizeof(double));
    panel_images(p, &(image_grid){.count = shown + extra,
                                  .height = a->images.h,
                                  .width = a->images.w,
                                  .channels = a->images.channels,
                                  .values = values,
                                  .columns = across,
                                  .low = a->low,
                                  .high = a->high,
                                  .boxed = boxed});
    free(values);
    return JF_OK;
}

/* Units of a panel in which an image is about EDGE long, or less where there are many. */
static void panel_size(const jf_images *images, int across, int down, int *width, int *height) {
    const double gap = 5, margins = 26, title = 24;
    int longest = images->h > images->w ? images->h : images->w;
    double pixel = fmin(EDGE, 900.0 / across) / longest;
    if (pixel * DRAW_SCALE >= 1) pixel = floor(pixel * DRAW_SCALE) / DRAW_SCALE; /* as it will be drawn */
    *width = (int)(across * (images->w * pixel + gap) + margins);
    *height = (int)(down * (images->h * pixel + gap) + margins + title);
}

static void title_answer(panel *p, const model *m, const double *y, int k) {
    char title[96];
    if (m->units.classes)
        class_words(m, y[0], title, sizeof title);
    else
        number_print(title, sizeof title, "condition %d", k + 1);
    panel_title(p, title);
}

jf_status jf_draw_image_samples(const jf_model *m, int n, const double *x, const double *y, int full_range,
                                const char *path) {
    answers a = {0};
    figure *fig = NULL;
    int most = 1;
    size_t dim_y = (size_t)m->units.dim_y;
    jf_status status;
    JF_TRY(check_rows(m, n, x, y));
    JF_TRY_DONE(answers_create(m, n, x, y, full_range, &a, path));
    for (int k = 0; k < a.count; k++) most = a.rows[k] > most ? a.rows[k] : most;
    most += a.conditions.count > 0;
    int across = (int)ceil(sqrt(most)), down = (most + across - 1) / across;
    int columns = a.count < 1 ? 1 : a.count <= 3 ? a.count : (int)ceil(sqrt(a.count));
    int width, height;
    panel_size(&a.images, across, down, &width, &height);
    JF_TRY_DONE(figure_create(m->ctx, &fig, a.count < 1 ? 1 : (a.count + columns - 1) / columns, columns,
                              width, height, NULL));
    for (int k = 0; k < a.count; k++) {
        panel *p = figure_panel(fig, k / columns, k % columns);
        if (dim_y) title_answer(p, m, y + (size_t)a.first[k] * dim_y, k);
        JF_TRY_DONE(paint_answer(p, m, &a, k, across));
    }
    JF_TRY_DONE(figure_save(fig, path));
done:
    figure_free(fig);
    answers_free(&a);
    return status;
}
