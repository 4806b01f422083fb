/* Public: pictures of samples, and grids of images. */
#include "answer/pictures.h"
#include "api/api.h"
#include "draw/draw.h"
#include <stdlib.h>

jf_status jf_grid_draw(jf_context *ctx, const jf_grid *g, const char *path) {
    image_cell *cells;
    JF_TRY(draw_check_cells(ctx, g->rows, g->columns));
    size_t count = (size_t)g->rows * (size_t)g->columns;
    JF_TRY(MEM_NEW(ctx, &cells, count));
    for (size_t i = 0; i < count; i++) {
        const jf_grid_cell *cell = &g->cells[i];
        cells[i] = (image_cell){.values = cell->values,
                                .h = cell->h,
                                .w = cell->w,
                                .channels = cell->channels,
                                .boxed = cell->boxed};
    }
    jf_status status = draw_cells(ctx, path,
                                  &(cell_grid){.rows = g->rows,
                                               .columns = g->columns,
                                               .cells = cells,
                                               .row_labels = g->row_labels,
                                               .column_labels = g->column_labels,
                                               .title = g->title,
                                               .full_range = g->full_range});
    free(cells);
    return status;
}

jf_status jf_draw_image_samples(const jf_model *m, int n, const double *x, const double *y, int full_range,
                                const char *path) {
    JF_TRY(check_values(m, n, x, y));
    return picture_image_samples(m, n, x, y, full_range, path);
}

jf_status jf_draw_samples(const jf_model *m, int n, const double *x, const double *y, const char *path) {
    JF_TRY(check_values(m, n, x, y));
    if (m->units.image.h > 0) return picture_image_samples(m, n, x, y, 0, path);
    return picture_samples(m, n, x, y, NULL, NULL, path);
}

jf_status jf_draw_corner(const jf_model *m, int n, const double *x, const double *y, const char *path) {
    JF_TRY(check_values(m, n, x, y));
    if (m->units.image.h > 0)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "corner plots are of vectors, and this model is of images");
    return picture_corner(m, n, x, y, path);
}
