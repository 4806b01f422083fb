/* Public: pictures of samples, and grids of images. */
#include "api/api_image.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include <stdlib.h>

jf_status jf_grid_draw(jf_context *ctx, const jf_grid *grid, const char *path) {
    JF_NEEDS(ctx, ctx, grid, path);
    jf_grid g;
    image_cell *cells;
    JF_TRY(SIZED_TAKE(ctx, jf_grid, &g, grid));
    int rows = count_as_int(g.rows), columns = count_as_int(g.columns);
    JF_TRY(draw_check_cells(ctx, rows, columns));
    size_t count = g.rows * g.columns;
    if (count) JF_NEEDS(ctx, g.cells);
    JF_TRY(MEM_NEW(ctx, &cells, count));
    for (size_t i = 0; i < count; i++) {
        const jf_grid_cell *cell = &g.cells[i];
        cells[i] = (image_cell){.values = cell->values,
                                .h = cell->h,
                                .w = cell->w,
                                .channels = cell->channels,
                                .boxed = cell->boxed};
    }
    jf_status status = draw_cells(ctx, path,
                                  &(cell_grid){.rows = rows,
                                               .columns = columns,
                                               .cells = cells,
                                               .row_labels = g.row_labels,
                                               .column_labels = g.column_labels,
                                               .title = g.title,
                                               .full_range = g.full_range});
    free(cells);
    return status;
}

jf_status jf_draw_image_samples(const jf_model *m, size_t n, const double *x, const double *y, int full_range,
                                const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, path);
    JF_TRY(check_values(m, n, x, y));
    return picture_image_samples(m, (int)n, x, y, full_range, path);
}

jf_status jf_draw_images_of(const jf_model *m, const jf_images *images, const double *y, int full_range,
                            const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, images, path);
    JF_TRY(check_images(m->ctx, images));
    image_array taken = images_taken(images);
    JF_TRY(check_conditions(m, images->count, y));
    return picture_images_of(m, &taken, y, full_range, path);
}

jf_status jf_draw_samples(const jf_model *m, size_t n, const double *x, const double *y, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, path);
    JF_TRY(check_values(m, n, x, y));
    if (m->units.image.h > 0) return picture_image_samples(m, (int)n, x, y, 0, path);
    return picture_samples(m, (int)n, x, y, NULL, NULL, path);
}

jf_status jf_draw_corner(const jf_model *m, size_t n, const double *x, const double *y, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, path);
    JF_TRY(check_values(m, n, x, y));
    if (m->units.image.h > 0)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "corner plots are of vectors, and this model is of images");
    return picture_corner(m, (int)n, x, y, path);
}

jf_status jf_draw_groups(jf_context *ctx, const jf_groups *groups, const char *path) {
    JF_NEEDS(ctx, ctx, groups, path);
    jf_groups g;
    JF_TRY(SIZED_TAKE(ctx, jf_groups, &g, groups));
    if (g.count == 0 || g.each == 0 || g.count > 1000 || g.each > 100000)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "%zu groups of %zu values: expected 1 to 1000 groups of 1 to 100000", g.count, g.each);
    JF_NEEDS(ctx, g.labels, g.values, g.value_label);
    return picture_groups(ctx, &(value_groups){g.count, g.each, g.labels, g.values, g.value_label, g.title},
                          path);
}
