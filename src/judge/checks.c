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

#define GRID 500

/* Midpoint rule on a grid; points where even the whole map's density is nothing are left out before the
 * Jacobian. */
jf_status density_integral(const model *m, double y, const double lo[2], const double hi[2], double *paper) {
    const double nothing = -30;
    size_t dim = (size_t)m->flow->dim, count = (size_t)GRID * GRID;
    double *points, *logdet = NULL, *state = NULL;
    densities d = {0};
    jf_status status;
    double cell = (hi[0] - lo[0]) * (hi[1] - lo[1]) / (double)count;
    JF_TRY(MEM_NEW(m->ctx, &points, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &state, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &logdet, count));
    for (size_t i = 0; i < count; i++) {
        points[i * dim] = lo[0] + (hi[0] - lo[0]) * ((double)(i % GRID) + 0.5) / GRID;
        points[i * dim + 1] = lo[1] + (hi[1] - lo[1]) * ((double)(i / GRID) + 0.5) / GRID;
        if (dim > 2) points[i * dim + 2] = y;
    }
    memcpy(state, points, sizeof(double) * count * dim);
    JF_TRY_DONE(model_forward(m, (long)count, state, logdet));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        double z2 = state[i * dim] * state[i * dim] + state[i * dim + 1] * state[i * dim + 1];
        if (logdet[i] - 0.5 * z2 > nothing)
            memmove(points + kept++ * dim, points + i * dim, sizeof(double) * dim);
    }
    *paper = 0;
    if (kept == 0) goto done;
    JF_TRY_DONE(densities_create(m, &d, (long)kept, points, 0));
    for (size_t i = 0; i < kept; i++) *paper += cell * exp(d.paper[i]);
done:
    densities_free(&d);
    free(points);
    free(state);
    free(logdet);
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
