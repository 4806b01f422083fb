/* Public: answers along lines in z and in y. */
#include "api/api_image.h"
#include "inference/pictures.h"
#include <limits.h>
#include <stdlib.h>

void jf_lines_free(jf_lines *lines) {
    if (!lines) return;
    free(lines->z);
    free(lines->y);
    free(lines->x);
    *lines = (jf_lines){0};
}

static jf_status take_request(const model *m, lines_request *out, size_t lines, size_t steps,
                              const jf_use_options *options) {
    jf_use_options o;
    JF_TRY(take_use_options(m->ctx, &o, options));
    if (lines > INT_MAX / 2 || steps > INT_MAX / 2)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "%zu lines of %zu steps, expected less", lines, steps);
    *out = (lines_request){.lines = (int)lines,
                           .steps = (int)steps,
                           .seed = o.seed,
                           .units = o.standardised ? MODEL_UNITS : DATA_UNITS,
                           .straight = o.straight};
    return JF_OK;
}

static jf_lines lines_given(const answer_lines *l) {
    return (jf_lines){.rows = (size_t)l->rows,
                      .steps = (size_t)l->steps,
                      .z = l->z,
                      .y = l->y,
                      .x = l->x,
                      .along_y = l->along_y,
                      .conditions = (size_t)l->conditions};
}

jf_status jf_lines_along_z(jf_lines *out, const jf_model *m, size_t lines, size_t steps, size_t conditions,
                           const double *y, const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    lines_request r;
    answer_lines made;
    JF_TRY(take_request(m, &r, lines, steps, options));
    JF_TRY(check_conditions(m, conditions, y));
    jf_status status = lines_along_z(m, &made, &r, count_as_int(conditions), y);
    *out = lines_given(&made);
    return status;
}

jf_status jf_lines_along_y(jf_lines *out, const jf_model *m, size_t lines, size_t steps, const double *from,
                           const double *to, const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m, from, to);
    lines_request r;
    answer_lines made;
    JF_TRY(take_request(m, &r, lines, steps, options));
    if (m->units.dim_y == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "a line in y: this model has no condition");
    JF_TRY(check_conditions(m, 1, from));
    JF_TRY(check_conditions(m, 1, to));
    jf_status status = lines_along_y(m, &made, &r, from, to);
    *out = lines_given(&made);
    return status;
}

jf_status jf_lines_through(jf_lines *out, const jf_model *m, size_t lines, size_t steps, const double *y,
                           const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    lines_request r;
    answer_lines made;
    JF_TRY(take_request(m, &r, lines, steps, options));
    if (m->units.dim_y == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "a line in y: this model has no condition");
    JF_TRY(check_conditions(m, steps, y));
    jf_status status = lines_through(m, &made, &r, y);
    *out = lines_given(&made);
    return status;
}

jf_status jf_lines_between(jf_lines *out, const jf_model *m, size_t lines, size_t steps, size_t conditions,
                           const double *z, const double *y, const jf_use_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    lines_request r;
    answer_lines made;
    if (lines < 1 || lines > INT_MAX / 2 || conditions < 1 || lines % conditions != 0)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu lines in groups of %zu, expected 1 or more of each, and whole groups", lines,
                       conditions);
    JF_TRY(check_values(m, 2 * lines, z, y));
    JF_TRY(take_request(m, &r, lines / conditions, steps, options));
    jf_status status = lines_between(m, &made, &r, count_as_int(conditions), z, y);
    *out = lines_given(&made);
    return status;
}

static answer_lines lines_taken(const jf_lines *l) {
    return (answer_lines){.rows = count_as_int(l->rows),
                          .steps = count_as_int(l->steps),
                          .z = l->z,
                          .y = l->y,
                          .x = l->x,
                          .along_y = l->along_y,
                          .conditions = count_as_int(l->conditions)};
}

static jf_status check_lines(const model *m, const jf_lines *lines) {
    if (lines->rows && lines->steps) JF_NEEDS(m->ctx, lines->z, lines->x);
    return JF_OK;
}

jf_status jf_lines_draw(const jf_model *m, const jf_lines *lines, const char *title, int full_range,
                        const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, lines, path);
    JF_TRY(check_lines(m, lines));
    answer_lines taken = lines_taken(lines);
    return picture_lines(m, &taken, NULL, title, full_range, path);
}

jf_status jf_lines_draw_images(const jf_model *m, const jf_lines *lines, const jf_images *images,
                               const char *title, int full_range, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, lines, images, path);
    JF_TRY(check_lines(m, lines));
    JF_TRY(check_images(m->ctx, images));
    answer_lines taken = lines_taken(lines);
    image_array made = images_taken(images);
    return picture_lines(m, &taken, &made, title, full_range, path);
}
