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
