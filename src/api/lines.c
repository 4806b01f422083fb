/* Public: answers along lines in z and in y. */
#include "answer/pictures.h"
#include "api/api.h"
#include <limits.h>
#include <stdlib.h>

void jf_lines_free(jf_lines *lines) {
    free(lines->z);
    free(lines->y);
    free(lines->x);
    *lines = (jf_lines){0};
}

static lines_request request(int lines, int steps, const jf_use_options *options) {
    jf_use_options o = options ? *options : (jf_use_options){0};
    return (lines_request){.lines = lines,
                           .steps = steps,
                           .seed = o.seed,
                           .units = o.standardised ? MODEL_UNITS : DATA_UNITS,
                           .straight = o.straight};
}

static jf_lines lines_given(const answer_lines *l) {
    return (jf_lines){.rows = l->rows,
                      .steps = l->steps,
                      .z = l->z,
                      .y = l->y,
                      .x = l->x,
                      .along_y = l->along_y,
                      .conditions = l->conditions};
}

jf_status jf_lines_along_z(const jf_model *m, jf_lines *out, int lines, int steps, int conditions,
                           const double *y, const jf_use_options *options) {
    lines_request r = request(lines, steps, options);
    answer_lines made;
    *out = (jf_lines){0};
    JF_TRY(check_conditions(m, conditions, y));
    jf_status status = lines_along_z(m, &made, &r, conditions, y);
    *out = lines_given(&made);
    return status;
}

jf_status jf_lines_along_y(const jf_model *m, jf_lines *out, int lines, int steps, const double *from,
                           const double *to, const jf_use_options *options) {
    lines_request r = request(lines, steps, options);
    answer_lines made;
    *out = (jf_lines){0};
    if (m->units.dim_y == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "a line in y: this model has no condition");
    if (!from || !to) return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "a line in y: no ends were given");
    JF_TRY(check_conditions(m, 1, from));
    JF_TRY(check_conditions(m, 1, to));
    jf_status status = lines_along_y(m, &made, &r, from, to);
    *out = lines_given(&made);
    return status;
}

jf_status jf_lines_between(const jf_model *m, jf_lines *out, int lines, int steps, int conditions,
                           const double *z, const double *y, const jf_use_options *options) {
    answer_lines made;
    *out = (jf_lines){0};
    if (lines < 1 || lines > INT_MAX / 2 || conditions < 1 || lines % conditions != 0)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%d lines in groups of %d, expected 1 or more of each, and whole groups", lines,
                       conditions);
    JF_TRY(check_values(m, 2 * lines, z, y));
    lines_request r = request(lines / conditions, steps, options);
    jf_status status = lines_between(m, &made, &r, conditions, z, y);
    *out = lines_given(&made);
    return status;
}

jf_status jf_lines_draw(const jf_model *m, const jf_lines *l, const char *title, int full_range,
                        const char *path) {
    answer_lines taken = {.rows = l->rows,
                          .steps = l->steps,
                          .z = l->z,
                          .y = l->y,
                          .x = l->x,
                          .along_y = l->along_y,
                          .conditions = l->conditions};
    return picture_lines(m, &taken, title, full_range, path);
}
