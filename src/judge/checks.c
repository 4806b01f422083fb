/* Round trips, the integral of the density, and the distance between samples and data. */
#include "base/statistics.h"
#include "judge/judge.h"
#include "model/denoise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double largest_difference(const double *a, const double *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    return worst;
}

/* data: max |F^-1(F(x,y)) - (x,y)|;  latent: max |F(F^-1(z,y)) - (z,y)|, y from the data */
jf_status roundtrip_errors(const model *m, long n, const double *xy, uint64_t seed, double *data,
                           double *latent) {
    size_t dim = (size_t)m->flow->dim, count = (size_t)n * dim;
    double *state, *start = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &state, count));
    JF_TRY_DONE(MEM_NEW(m->ctx, &start, count));
    memcpy(state, xy, sizeof(double) * count);
    JF_TRY_DONE(model_forward(m, n, state, NULL));
    JF_TRY_DONE(model_inverse(m, n, state, NULL));
    *data = largest_difference(state, xy, count);
    memcpy(start, xy, sizeof(double) * count);
    model_draw_latent(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, n, start);
    memcpy(state, start, sizeof(double) * count);
    JF_TRY_DONE(model_inverse(m, n, state, NULL));
    JF_TRY_DONE(model_forward(m, n, state, NULL));
    *latent = largest_difference(state, start, count);
done:
    free(state);
    free(start);
    return status;
}

/* The density on a grid of `side` times `side` points. */
typedef struct grid {
    const model *m;
    double y, lo[2], hi[2];
    int side;
    double *points, *state, *logdet; /* (side^2, dim), the same, (side^2) */
} grid;

/* Points where even the whole map's density is nothing are left out; returns how many stay. */
static jf_status choose_points(const grid *g, long *kept) {
    const double nothing = -30;
    size_t dim = (size_t)g->m->flow->dim, side = (size_t)g->side, count = side * side;
    for (size_t i = 0; i < count; i++) {
        double *point = g->points + i * dim;
        point[0] = g->lo[0] + (g->hi[0] - g->lo[0]) * ((double)(i % side) + 0.5) / (double)side;
        point[1] = g->lo[1] + (g->hi[1] - g->lo[1]) * ((double)(i / side) + 0.5) / (double)side;
        if (dim > 2) point[2] = g->y;
    }
    memcpy(g->state, g->points, sizeof(double) * count * dim);
    JF_TRY(model_forward(g->m, (long)count, g->state, g->logdet));
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double *z = g->state + i * dim;
        if (g->logdet[i] - 0.5 * (z[0] * z[0] + z[1] * z[1]) > nothing)
            memmove(g->points + (size_t)(*kept)++ * dim, g->points + i * dim, sizeof(double) * dim);
    }
    return JF_OK;
}

/* Midpoint rule. */
static jf_status integrate(const grid *g, double *out) {
    double cell = (g->hi[0] - g->lo[0]) * (g->hi[1] - g->lo[1]) / ((double)g->side * g->side);
    densities d = {0};
    long kept;
    *out = 0;
    JF_TRY(choose_points(g, &kept));
    if (kept == 0) return JF_OK;
    jf_status status = densities_create(g->m, &d, kept, g->points, 0);
    for (long i = 0; status == JF_OK && i < kept; i++) *out += cell * exp(d.paper[i]);
    densities_free(&d);
    return status;
}

/* Grids are refined until that changes nothing that is shown. */
jf_status density_integral(const model *m, double y, const double lo[2], const double hi[2], double *paper) {
    enum { FIRST = 60, LAST = 480 };
    const double settled = 5e-4;
    size_t dim = (size_t)m->flow->dim, count = (size_t)LAST * LAST;
    grid g = {.m = m, .y = y, .lo = {lo[0], lo[1]}, .hi = {hi[0], hi[1]}};
    double before = INFINITY;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &g.points, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &g.state, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &g.logdet, count));
    for (g.side = FIRST; g.side <= LAST; g.side *= 2) {
        JF_TRY_DONE(integrate(&g, paper));
        if (fabs(*paper - before) < settled) break;
        before = *paper;
    }
done:
    free(g.points);
    free(g.state);
    free(g.logdet);
    return status;
}

jf_status sample_distance(const model *m, long n, const double *xy, uint64_t seed, int denoised,
                          double *distance) {
    size_t dim = (size_t)m->flow->dim, rows = (size_t)n;
    double *samples;
    JF_TRY(MEM_NEW(m->ctx, &samples, rows * dim));
    memcpy(samples, xy, sizeof(double) * rows * dim);
    jf_status status =
        model_sample(m, (latent_points){seed, LATENT_ENERGY, 0, 1}, MODEL_UNITS, n, samples, NULL);
    if (status == JF_OK && denoised) status = model_denoise(m, MODEL_UNITS, n, samples);
    if (status == JF_OK) *distance = energy_distance(xy, samples, rows, dim);
    free(samples);
    return status;
}
