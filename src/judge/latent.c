/* Latent histograms as numbers: the Kolmogorov-Smirnov distance of every latent element to N(0,1), never
 * averaged. */
#include "base/statistics.h"
#include "judge/judge.h"
#include <math.h>
#include <stdlib.h>

/* The distance that Kolmogorov's law exceeds with probability q, for n points: solves Q(t) = q by bisection.
 */
static double chance_ks(double q, long n) {
    double lo = 0.2, hi = 4;
    for (int i = 0; i < 60; i++) {
        double t = (lo + hi) / 2, tail = 0;
        for (int k = 1; k < 50; k++) tail += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * t * t);
        if (tail > q)
            lo = t;
        else
            hi = t;
    }
    return lo / sqrt((double)n);
}

typedef struct ranked {
    double ks;
    int element;
} ranked;

static int by_falling_ks(const void *a, const void *b) {
    double x = ((const ranked *)a)->ks, y = ((const ranked *)b)->ks;
    return (x < y) - (x > y);
}

enum { ENVELOPE_BINS = 40, ENVELOPE_ELEMENTS = 20 };
#define ENVELOPE_REACH 2.0

/* Densities of one element's histogram, from -ENVELOPE_REACH to ENVELOPE_REACH. */
static void histogram(const double *state, long n, int dim, double density[ENVELOPE_BINS]) {
    const double width = 2 * ENVELOPE_REACH / ENVELOPE_BINS;
    for (int b = 0; b < ENVELOPE_BINS; b++) density[b] = 0;
    for (long s = 0; s < n; s++) {
        double at = floor((state[(size_t)s * (size_t)dim] + ENVELOPE_REACH) / width);
        if (at >= 0 && at < ENVELOPE_BINS) density[(int)at] += 1 / (width * (double)n);
    }
}

jf_status latent_envelope(jf_context *ctx, const double *state, long n, int dim, int dim_x, double *width,
                          double *chance) {
    const double bin = 2 * ENVELOPE_REACH / ENVELOPE_BINS, two_sides = 2 * 1.959964;
    double *all, *across = NULL, apart = 0, expected = 0, prior = 0;
    jf_status status;
    *width = *chance = NAN;
    if (dim_x < ENVELOPE_ELEMENTS) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &all, (size_t)dim_x * ENVELOPE_BINS));
    JF_TRY_DONE(MEM_NEW(ctx, &across, (size_t)dim_x));
    for (int i = 0; i < dim_x; i++) histogram(state + i, n, dim, all + (size_t)i * ENVELOPE_BINS);
    for (int b = 0; b < ENVELOPE_BINS; b++) {
        double low = -ENVELOPE_REACH + b * bin, share = normal_cdf(low + bin) - normal_cdf(low);
        for (int i = 0; i < dim_x; i++) across[i] = all[(size_t)i * ENVELOPE_BINS + (size_t)b];
        sort_ascending(across, (size_t)dim_x);
        apart += quantile(across, (size_t)dim_x, 0.975) - quantile(across, (size_t)dim_x, 0.025);
        expected += two_sides * sqrt(share * (1 - share) / (double)n) / bin;
        prior += share / bin;
    }
    *width = apart / prior;
    *chance = expected / prior;
done:
    free(all);
    free(across);
    return status;
}

jf_status latent_fit_create(jf_context *ctx, latent_fit *out, const double *state, long n, int dim,
                            int dim_x) {
    *out = (latent_fit){.elements = dim_x, .points = n};
    ranked *list = NULL;
    double *values = NULL, *rising = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &rising, (size_t)dim_x));
    JF_TRY_DONE(MEM_NEW(ctx, &out->ks, (size_t)dim_x));
    JF_TRY_DONE(MEM_NEW(ctx, &out->order, (size_t)dim_x));
    JF_TRY_DONE(MEM_NEW(ctx, &list, (size_t)dim_x));
    JF_TRY_DONE(MEM_NEW(ctx, &values, (size_t)n));
    for (int i = 0; i < dim_x; i++) {
        for (long s = 0; s < n; s++) values[s] = state[(size_t)s * dim + i];
        out->ks[i] = ks_to_normal(values, (size_t)n);
        list[i] = (ranked){out->ks[i], i};
    }
    qsort(list, (size_t)dim_x, sizeof *list, by_falling_ks);
    for (int i = 0; i < dim_x; i++) {
        out->order[i] = list[i].element;
        rising[dim_x - 1 - i] = list[i].ks;
    }
    out->median = quantile(rising, (size_t)dim_x, 0.5);
    out->p95 = quantile(rising, (size_t)dim_x, 0.95);
    out->max = rising[dim_x - 1];
    JF_TRY_DONE(latent_envelope(ctx, state, n, dim, dim_x, &out->envelope, &out->chance_envelope));
    out->chance_median = chance_ks(0.5, n);
    out->chance_max = chance_ks(1 - pow(0.5, 1.0 / dim_x), n); /* median of the largest of dim_x */
done:
    free(list);
    free(values);
    free(rising);
    if (status != JF_OK) latent_fit_free(out);
    return status;
}

void latent_fit_free(latent_fit *f) {
    free(f->ks);
    free(f->order);
    f->ks = NULL;
    f->order = NULL;
}
