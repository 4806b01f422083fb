/* Public: answers along lines in z and in y. */
#include "api/api_image.h"
#include "inference/lines.h"
#include "inference/pictures.h"

void jf_lines_free(jf_lines *lines) {
    if (lines) lines_free(lines);
}

static jf_status check_has_y(const model *m) {
    if (m->units.dim_y > 0) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "a line in y: this model has no condition");
}

jf_status jf_lines_along_z(jf_lines *out, const jf_model *m, size_t lines, size_t steps, size_t conditions,
                           const double *y, const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_use_options o;
    JF_TRY(take_use_options(m->ctx, &o, options));
    JF_TRY(check_conditions(m, conditions, y));
    return lines_along_z(m, out, lines, steps, conditions, y, &o);
}

jf_status jf_lines_along_y(jf_lines *out, const jf_model *m, size_t lines, size_t steps, const double *from,
                           const double *to, const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m, from, to);
    jf_use_options o;
    JF_TRY(take_use_options(m->ctx, &o, options));
    JF_TRY(check_has_y(m));
    JF_TRY(check_conditions(m, 1, from));
    JF_TRY(check_conditions(m, 1, to));
    return lines_along_y(m, out, lines, steps, from, to, &o);
}

jf_status jf_lines_through(jf_lines *out, const jf_model *m, size_t lines, size_t steps, const double *y,
                           const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_use_options o;
    JF_TRY(take_use_options(m->ctx, &o, options));
    JF_TRY(check_has_y(m));
    JF_TRY(check_conditions(m, steps, y));
    return lines_through(m, out, lines, steps, y, &o);
}

jf_status jf_lines_between(jf_lines *out, const jf_model *m, size_t lines, size_t steps, size_t conditions,
                           const double *z, const double *y, const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_use_options o;
    if (lines < 1 || lines > INT_MAX / 2 || conditions < 1 || lines % conditions != 0)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu lines in groups of %zu, expected 1 or more of each, and whole groups", lines,
                       conditions);
    JF_TRY(check_values(m, 2 * lines, z, y));
    JF_TRY(take_use_options(m->ctx, &o, options));
    return lines_between(m, out, lines, steps, conditions, z, y, &o);
}

static jf_status check_lines(const model *m, const jf_lines *lines) {
    if (lines->rows && lines->steps) JF_NEEDS(m->ctx, lines->z, lines->x);
    return JF_OK;
}

jf_status jf_lines_draw(const jf_model *m, const jf_lines *lines, const char *title, int full_range,
                        const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, lines, path);
    JF_TRY(check_lines(m, lines));
    return picture_lines(m, lines, NULL, title, full_range, path);
}

jf_status jf_lines_draw_images(const jf_model *m, const jf_lines *lines, const jf_images *images,
                               const char *title, int full_range, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, lines, images, path);
    JF_TRY(check_lines(m, lines));
    JF_TRY(check_images(m->ctx, images));
    image_array made = images_taken(images);
    return picture_lines(m, lines, &made, title, full_range, path);
}
