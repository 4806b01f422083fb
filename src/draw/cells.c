/* Grids of images of different sizes, as pictures of their own. */
#include "base/memory.h"
#include "draw/draw.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_CELLS = 40000 };

/* Grey or colours of a cell; a further channel is a mask. */
static int colours_of(const jf_grid_cell *cell) {
    return cell->channels >= 3 ? 3 : 1;
}

/* Cell (h, w, channels) -> out (oh, ow, ochannels), each pixel as often as it takes. What a mask covers is
 * shown in grey. */
static void enlarge(const jf_grid_cell *cell, int oh, int ow, int ochannels, double *out) {
    for (int i = 0; i < oh; i++)
        for (int j = 0; j < ow; j++) {
            size_t row = (size_t)i * (size_t)cell->h / (size_t)oh,
                   column = (size_t)j * (size_t)cell->w / (size_t)ow;
            const double *pixel = cell->values + (row * (size_t)cell->w + column) * (size_t)cell->channels;
            double covered = cell->channels > colours_of(cell) ? 0.5 * pixel[cell->channels - 1] : 0;
            for (int c = 0; c < ochannels; c++)
                *out++ = pixel[colours_of(cell) == ochannels ? c : 0] + covered;
        }
}

jf_status draw_check_cells(jf_context *ctx, size_t rows, size_t columns) {
    if (rows >= 1 && columns >= 1 && rows <= MAX_CELLS && columns <= MAX_CELLS / rows) return JF_OK;
    return jf_fail(
        ctx, JF_ERROR_ARGUMENT,
        "a picture of %zu rows and %zu columns of images, expected 1 or more and at most %d images", rows,
        columns, MAX_CELLS);
}

/* The largest cell gives the size of all. */
static jf_status grid_form(jf_context *ctx, const jf_grid *g, image_grid *out) {
    for (size_t i = 0; i < g->rows * g->columns; i++) {
        const jf_grid_cell *cell = &g->cells[i];
        if (!cell->values) continue;
        if (cell->h < 1 || cell->w < 1 || cell->channels < 1 || cell->channels > 4)
            return jf_fail(
                ctx, JF_ERROR_UNSUPPORTED,
                "images of %d x %d and %d channels cannot be drawn, expected 1 or 3 channels, or a "
                "mask beside them",
                cell->h, cell->w, cell->channels);
        if (cell->h > out->height) out->height = cell->h;
        if (cell->w > out->width) out->width = cell->w;
        if (colours_of(cell) > out->channels) out->channels = colours_of(cell);
    }
    return out->height ? JF_OK : jf_fail(ctx, JF_ERROR_ARGUMENT, "a grid without any image");
}

static void range_of(const jf_grid *g, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < g->rows * g->columns; i++) {
        const jf_grid_cell *cell = &g->cells[i];
        size_t n = cell->values ? (size_t)cell->h * (size_t)cell->w * (size_t)cell->channels : 0;
        for (size_t k = 0; k < n; k++) {
            *low = fmin(*low, cell->values[k]);
            *high = fmax(*high, cell->values[k]);
        }
    }
}

jf_status draw_cells(jf_context *ctx, const char *path, const jf_grid *g) {
    image_grid out = {
        .columns = (int)g->columns, .row_labels = g->row_labels, .column_labels = g->column_labels};
    double *values = NULL;
    unsigned char *marks = NULL; /* (2, count): boxed, blank */
    jf_status status;
    JF_TRY(draw_check_cells(ctx, g->rows, g->columns));
    JF_TRY(grid_form(ctx, g, &out));
    size_t size = (size_t)out.height * (size_t)out.width * (size_t)out.channels, count = g->rows * g->columns;
    out.count = (int)count;
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
