#include "inference/lines.h"
#include "base/memory.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUARTER_TURN 1.5707963267948966

void lines_free(answer_lines *lines) {
    free(lines->z);
    free(lines->y);
    free(lines->x);
    *lines = (answer_lines){0};
}

static jf_status lines_create(const model *m, answer_lines *out, const lines_request *r, int conditions) {
    *out = (answer_lines){0};
    if (r->lines < 1 || conditions < 1 || r->steps < 2 || (double)r->lines * conditions * r->steps > INT_MAX)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%d lines of %d steps for each of %d conditions, expected at least 1, 2 and 1",
                       r->lines, r->steps, conditions);
    *out = (answer_lines){.rows = r->lines * conditions, .steps = r->steps, .conditions = conditions};
    size_t points = (size_t)out->rows * (size_t)r->steps;
    JF_TRY(mem_alloc(m->ctx, &out->z, points, (size_t)m->units.dim_x * sizeof(double)));
    JF_TRY(mem_alloc(m->ctx, &out->y, points + 1, (size_t)m->units.dim_y * sizeof(double)));
    return mem_alloc(m->ctx, &out->x, points, (size_t)m->units.dim_x * sizeof(double));
}

/* n latent points (n, dim_x), those that samples of the same seed have. */
static jf_status draw_points(const model *m, int n, uint64_t seed, double **out) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    double *rows;
    *out = NULL;
    JF_TRY(mem_alloc(m->ctx, &rows, (size_t)n, dim * sizeof(double)));
    jf_status status = mem_alloc(m->ctx, out, (size_t)n, dim_x * sizeof(double));
    if (status == JF_OK) model_draw_latent(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, n, rows);
    for (size_t i = 0; status == JF_OK && i < (size_t)n; i++)
        memcpy(*out + i * dim_x, rows + i * dim, dim_x * sizeof(double));
    free(rows);
    return status;
}

/* x of the z and y that are filled in. */
static jf_status decode(const model *m, answer_lines *l, row_units units) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, dim = dim_x + dim_y;
    size_t n = (size_t)l->rows * (size_t)l->steps;
    double *rows;
    JF_TRY(mem_alloc(m->ctx, &rows, n, dim * sizeof(double)));
    for (size_t i = 0; i < n; i++) {
        memcpy(rows + i * dim, l->z + i * dim_x, dim_x * sizeof(double));
        memcpy(rows + i * dim + dim_x, l->y + i * dim_y, dim_y * sizeof(double));
    }
    jf_status status = model_decode(m, units, (long)n, rows);
    for (size_t i = 0; status == JF_OK && i < n; i++)
        memcpy(l->x + i * dim_x, rows + i * dim, dim_x * sizeof(double));
    free(rows);
    return status;
}

/* Step t, 0 to 1, from z1 to z2; where both are the same it stays there. */
static void step_in_z(const lines_request *r, const double *z1, const double *z2, size_t dim_x, double t,
                      double *out) {
    int same = memcmp(z1, z2, dim_x * sizeof *z1) == 0;
    double from = r->straight ? 1 - t : cos(QUARTER_TURN * t), to = r->straight ? t : sin(QUARTER_TURN * t);
    if (same || t == 0) from = 1, to = 0;
    if (!same && t == 1) from = 0, to = 1; /* exactly */
    for (size_t e = 0; e < dim_x; e++) out[e] = from * z1[e] + to * z2[e];
}

jf_status lines_along_z(const model *m, answer_lines *out, const lines_request *r, int conditions,
                        const double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, steps = (size_t)r->steps;
    double *ends = NULL;
    jf_status status;
    JF_TRY_DONE(lines_create(m, out, r, conditions));
    JF_TRY_DONE(draw_points(m, 2 * r->lines, r->seed, &ends));
    for (size_t i = 0; i < (size_t)out->rows * steps; i++) {
        size_t row = i / steps, line = row / (size_t)conditions, condition = row % (size_t)conditions;
        const double *z1 = ends + 2 * line * dim_x;
        step_in_z(r, z1, z1 + dim_x, dim_x, (double)(i % steps) / (r->steps - 1), out->z + i * dim_x);
        for (size_t e = 0; e < dim_y; e++) out->y[i * dim_y + e] = y[condition * dim_y + e];
    }
    JF_TRY_DONE(decode(m, out, r->units));
done:
    free(ends);
    if (status != JF_OK) lines_free(out);
    return status;
}

jf_status lines_between(const model *m, answer_lines *out, const lines_request *r, int conditions,
                        const double *z, const double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, steps = (size_t)r->steps;
    jf_status status;
    JF_TRY_DONE(lines_create(m, out, r, conditions));
    out->along_y = 1;
    for (size_t row = 0; row < (size_t)out->rows; row++)
        if (memcmp(z + 2 * row * dim_x, z + (2 * row + 1) * dim_x, dim_x * sizeof *z) != 0) out->along_y = 0;
    for (size_t i = 0; i < (size_t)out->rows * steps; i++) {
        const double *z1 = z + 2 * (i / steps) * dim_x, *y1 = y + 2 * (i / steps) * dim_y;
        double t = (double)(i % steps) / (r->steps - 1);
        step_in_z(r, z1, z1 + dim_x, dim_x, t, out->z + i * dim_x);
        for (size_t e = 0; e < dim_y; e++) out->y[i * dim_y + e] = (1 - t) * y1[e] + t * y1[dim_y + e];
    }
    JF_TRY_DONE(decode(m, out, r->units));
done:
    if (status != JF_OK) lines_free(out);
    return status;
}

jf_status lines_through(const model *m, answer_lines *out, const lines_request *r, const double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, steps = (size_t)r->steps;
    double *points = NULL;
    jf_status status;
    JF_TRY_DONE(lines_create(m, out, r, 1));
    out->along_y = 1;
    JF_TRY_DONE(draw_points(m, r->lines, r->seed, &points));
    for (size_t i = 0; i < (size_t)out->rows * steps; i++) {
        memcpy(out->z + i * dim_x, points + i / steps * dim_x, dim_x * sizeof(double));
        memcpy(out->y + i * dim_y, y + i % steps * dim_y, dim_y * sizeof(double));
    }
    JF_TRY_DONE(decode(m, out, r->units));
done:
    free(points);
    if (status != JF_OK) lines_free(out);
    return status;
}

jf_status lines_along_y(const model *m, answer_lines *out, const lines_request *r, const double *from,
                        const double *to) {
    size_t dim_y = (size_t)m->units.dim_y, steps = r->steps > 0 ? (size_t)r->steps : 0;
    double *y;
    *out = (answer_lines){0};
    JF_TRY(mem_alloc(m->ctx, &y, steps + 1, dim_y * sizeof(double)));
    for (size_t i = 0; i < steps * dim_y; i++) {
        double t = (double)(i / dim_y) / (r->steps - 1);
        y[i] = (1 - t) * from[i % dim_y] + t * to[i % dim_y];
    }
    jf_status status = lines_through(m, out, r, y);
    free(y);
    return status;
}
