/* Public: pictures of samples, and grids of images. */
#include "api/api_image.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include <stdlib.h>

jf_status jf_grid_draw(jf_context *ctx, const jf_grid *grid, const char *path) {
    JF_NEEDS(ctx, ctx, grid, path);
    jf_grid g;
    JF_TRY(SIZED_TAKE(ctx, jf_grid, &g, grid));
    if (g.rows && g.columns) JF_NEEDS(ctx, g.cells);
    return draw_cells(ctx, path, &g);
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
    return picture_groups(ctx, &g, path);
}
