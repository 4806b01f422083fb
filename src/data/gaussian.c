#include "data/gaussian.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

#define POINTS  20000 /* at most, to fit, and as many to try it on */
#define LOG_2PI 1.83787706640934548356

typedef struct fit {
    const dataset *d;
    double *row, *scratch;
    double *mean, *variance; /* (dim_x) of clean rows, standardised */
    double *square;          /* (dim_x) mean of (x - mean)^2 over the rows it is tried on */
} fit;

/* Point i of those to fit, or of those held out, standardised. */
static void take(fit *f, long i, int validation) {
    row_sequence q = {{1, RNG_JUDGE, RNG_USE_FLOOR}, -1, validation};
    dataset_rows(f->d, &q, (uint64_t)i, 1, f->scratch, f->row);
    dataset_standardise(f->d, 1, f->row);
}

static void measure(fit *f) {
    const dataset *d = f->d;
    long n = d->rows > 0 && d->rows < POINTS ? d->rows : POINTS,
         tests = d->validation_rows < POINTS ? d->validation_rows : POINTS;
    for (long i = 0; i < n; i++) { /* Welford's sums: one pass, no digits lost */
        take(f, i, 0);
        for (int k = 0; k < d->dim_x; k++) {
            double off = f->row[k] - f->mean[k];
            f->mean[k] += off / (double)(i + 1);
            f->variance[k] += off * (f->row[k] - f->mean[k]);
        }
    }
    for (int k = 0; k < d->dim_x; k++) f->square[k] = f->variance[k] /= (double)n;
    for (int k = 0; tests > 0 && k < d->dim_x; k++) f->square[k] = 0;
    for (long i = 0; i < tests; i++) {
        take(f, i, 1);
        for (int k = 0; k < d->dim_x; k++) f->square[k] += pow(f->row[k] - f->mean[k], 2) / (double)tests;
    }
}

jf_status dataset_gaussian(const dataset *d, double alpha, double *nats) {
    fit f = {.d = d};
    size_t dim_x = (size_t)d->dim_x;
    double keep = (1 - alpha) * (1 - alpha), noise = alpha * alpha, sum = 0;
    jf_status status;
    *nats = NAN;
    JF_TRY_DONE(MEM_NEW(d->ctx, &f.row, (size_t)dataset_dim(d)));
    JF_TRY_DONE(MEM_NEW(d->ctx, &f.scratch, d->scratch + 1));
    JF_TRY_DONE(MEM_NEW(d->ctx, &f.mean, dim_x));
    JF_TRY_DONE(MEM_NEW(d->ctx, &f.variance, dim_x));
    JF_TRY_DONE(MEM_NEW(d->ctx, &f.square, dim_x));
    measure(&f);
    for (size_t k = 0; k < dim_x; k++) {
        double v = keep * f.variance[k] + noise;
        sum += 0.5 * (LOG_2PI + log(v) + (keep * f.square[k] + noise) / v);
    }
    if (isfinite(sum)) *nats = sum;
done:
    free(f.row);
    free(f.scratch);
    free(f.mean);
    free(f.variance);
    free(f.square);
    return status;
}
