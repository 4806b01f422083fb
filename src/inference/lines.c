#include "inference/lines.h"
#include "base/memory.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUARTER_TURN 1.5707963267948966

void lines_free(jf_lines *lines) {
    free(lines->z);
    free(lines->y);
    free(lines->x);
    *lines = (jf_lines){0};
}

static jf_status lines_create(const model *m, jf_lines *out, size_t rows, size_t steps, size_t conditions) {
    *out = (jf_lines){0};
    if (rows < 1 || conditions < 1 || steps < 2 || (double)rows * (double)steps > INT_MAX)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu lines of %zu steps, expected 1 and 2 or more, and at most %d points in all", rows,
                       steps, INT_MAX);
    *out = (jf_lines){.rows = rows, .steps = steps, .conditions = conditions};
    size_t points = rows * steps;
    JF_TRY(mem_alloc(m->ctx, &out->z, points, (size_t)m->units.dim_x * sizeof(double)));
    JF_TRY(mem_alloc(m->ctx, &out->y, points + 1, (size_t)m->units.dim_y * sizeof(double)));
    return mem_alloc(m->ctx, &out->x, points, (size_t)m->units.dim_x * sizeof(double));
}

/* n latent points (n, dim_x), those that samples of the same seed have. */
static jf_status draw_points(const model *m, size_t n, uint64_t seed, double **out) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    double *rows;
    *out = NULL;
    JF_TRY(mem_alloc(m->ctx, &rows, n, dim * sizeof(double)));
    jf_status status = mem_alloc(m->ctx, out, n, dim_x * sizeof(double));
    if (status == JF_OK) model_draw_latent(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, (int)n, rows);
    for (size_t i = 0; status == JF_OK && i < n; i++)
        memcpy(*out + i * dim_x, rows + i * dim, dim_x * sizeof(double));
    free(rows);
    return status;
}

/* x of the z and y that are filled in. */
static jf_status decode(const model *m, jf_lines *l, const jf_use_options *o) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, dim = dim_x + dim_y;
    size_t n = l->rows * l->steps;
    double *rows;
    JF_TRY(mem_alloc(m->ctx, &rows, n, dim * sizeof(double)));
    for (size_t i = 0; i < n; i++) {
        memcpy(rows + i * dim, l->z + i * dim_x, dim_x * sizeof(double));
        memcpy(rows + i * dim + dim_x, l->y + i * dim_y, dim_y * sizeof(double));
    }
    jf_status status = model_decode(m, o->standardised ? MODEL_UNITS : DATA_UNITS, (long)n, rows);
    for (size_t i = 0; status == JF_OK && i < n; i++)
        memcpy(l->x + i * dim_x, rows + i * dim, dim_x * sizeof(double));
    free(rows);
    return status;
}

/* Step t, 0 to 1, from z1 to z2; where both are the same it stays there. */
static void step_in_z(int straight, const double *z1, const double *z2, size_t dim_x, double t, double *out) {
    int same = memcmp(z1, z2, dim_x * sizeof *z1) == 0;
    double from = straight ? 1 - t : cos(QUARTER_TURN * t), to = straight ? t : sin(QUARTER_TURN * t);
    if (same || t == 0) from = 1, to = 0;
    if (!same && t == 1) from = 0, to = 1; /* exactly */
    for (size_t e = 0; e < dim_x; e++) out[e] = from * z1[e] + to * z2[e];
}

static double share_of(size_t step, size_t steps) {
    return (double)step / (double)(steps - 1);
}

jf_status lines_along_z(const model *m, jf_lines *out, size_t lines, size_t steps, size_t conditions,
                        const double *y, const jf_use_options *o) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    double *ends = NULL;
    jf_status status;
    *out = (jf_lines){0};
    if (lines > INT_MAX / 2 || conditions > INT_MAX)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "%zu lines for each of %zu conditions, expected less",
                       lines, conditions);
    JF_TRY_DONE(lines_create(m, out, lines * conditions, steps, conditions));
    JF_TRY_DONE(draw_points(m, 2 * lines, o->seed, &ends));
    for (size_t i = 0; i < out->rows * steps; i++) {
        size_t row = i / steps, line = row / conditions, condition = row % conditions;
        const double *z1 = ends + 2 * line * dim_x;
        step_in_z(o->straight, z1, z1 + dim_x, dim_x, share_of(i % steps, steps), out->z + i * dim_x);
        for (size_t e = 0; e < dim_y; e++) out->y[i * dim_y + e] = y[condition * dim_y + e];
    }
    JF_TRY_DONE(decode(m, out, o));
done:
    free(ends);
    if (status != JF_OK) lines_free(out);
    return status;
}

jf_status lines_between(const model *m, jf_lines *out, size_t lines, size_t steps, size_t conditions,
                        const double *z, const double *y, const jf_use_options *o) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    jf_status status;
    JF_TRY_DONE(lines_create(m, out, lines, steps, conditions));
    out->along_y = 1;
    for (size_t row = 0; row < lines; row++)
        if (memcmp(z + 2 * row * dim_x, z + (2 * row + 1) * dim_x, dim_x * sizeof *z) != 0) out->along_y = 0;
    for (size_t i = 0; i < lines * steps; i++) {
        const double *z1 = z + 2 * (i / steps) * dim_x, *y1 = y + 2 * (i / steps) * dim_y;
        double t = share_of(i % steps, steps);
        step_in_z(o->straight, z1, z1 + dim_x, dim_x, t, out->z + i * dim_x);
        for (size_t e = 0; e < dim_y; e++) out->y[i * dim_y + e] = (1 - t) * y1[e] + t * y1[dim_y + e];
    }
    JF_TRY_DONE(decode(m, out, o));
done:
    if (status != JF_OK) lines_free(out);
    return status;
}

/* Straight from `from` to `to`, or by y (steps, dim_y) where it is not NULL. */
static jf_status lines_at_points(const model *m, jf_lines *out, size_t lines, size_t steps,
                                 const double *from, const double *to, const double *y,
                                 const jf_use_options *o) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    double *points = NULL;
    jf_status status;
    JF_TRY_DONE(lines_create(m, out, lines, steps, 1));
    out->along_y = 1;
    JF_TRY_DONE(draw_points(m, lines, o->seed, &points));
    for (size_t i = 0; i < lines * steps; i++) {
        double t = share_of(i % steps, steps), *to_y = out->y + i * dim_y;
        memcpy(out->z + i * dim_x, points + i / steps * dim_x, dim_x * sizeof(double));
        for (size_t e = 0; e < dim_y; e++)
            to_y[e] = y ? y[i % steps * dim_y + e] : (1 - t) * from[e] + t * to[e];
    }
    JF_TRY_DONE(decode(m, out, o));
done:
    free(points);
    if (status != JF_OK) lines_free(out);
    return status;
}

jf_status lines_through(const model *m, jf_lines *out, size_t lines, size_t steps, const double *y,
                        const jf_use_options *o) {
    return lines_at_points(m, out, lines, steps, NULL, NULL, y, o);
}

jf_status lines_along_y(const model *m, jf_lines *out, size_t lines, size_t steps, const double *from,
                        const double *to, const jf_use_options *o) {
    return lines_at_points(m, out, lines, steps, from, to, NULL, o);
}
