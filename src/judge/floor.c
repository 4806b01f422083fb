/* The floor: the likelihood of a linear-Gaussian conditional, x | y ~ N(W y + b, S), fitted to the training
 * rows with the same noise. Any model worth its name beats it.
 *
 * The joint covariance C of (y, x) is that of the clean rows, shrunk, with the noise added exactly:
 *     C = (1 - alpha)^2 C_clean + alpha^2 I
 * With C = L L^t, y first, the lower right block of L is the factor of S, so that for w = L^-1 (v - mean)
 *     -log p(x | y) = sum over x of  w_i^2 / 2 + log L_ii + log(2 pi) / 2 */
#include "judge/judge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK         1000
#define FIT_ROWS      60000
#define TEST_ROWS     2000
#define MOST_ELEMENTS 4096
#define LOG_2PI       1.83787706640934548356

typedef struct fit {
    const model *m;
    const dataset *data;
    size_t dim, dim_x, dim_y;
    long rows;
    double shrink, alpha;
    double *mean, *covariance; /* (dim), (dim, dim): y first, then x */
    double *chunk, *sums;      /* (CHUNK, dim), (dim, dim) */
    double *scratch;           /* of the data set */
    real *x, *dy, *dw, *db;
} fit;

/* n clean rows from `first` on, standardised, y first. Training rows come in a fixed order, each once. */
static void take(fit *f, long first, int n, int validation) {
    row_sequence sequence = {{1, RNG_JUDGE, RNG_USE_FLOOR}, -1, validation};
    dataset_rows(f->data, &sequence, (uint64_t)first, n, f->scratch, f->chunk);
    dataset_standardise(f->data, n, f->chunk);
    for (int s = 0; s < n; s++) {
        double *row = f->chunk + (size_t)s * f->dim;
        memcpy(f->sums, row, f->dim_x * sizeof *row);
        memmove(row, row + f->dim_x, f->dim_y * sizeof *row);
        memcpy(row + f->dim_y, f->sums, f->dim_x * sizeof *row);
    }
}

static void fit_mean(fit *f) {
    for (long at = 0; at < f->rows; at += CHUNK) {
        int n = f->rows - at < CHUNK ? (int)(f->rows - at) : CHUNK;
        take(f, at, n, 0);
        for (size_t i = 0; i < (size_t)n * f->dim; i++) f->mean[i % f->dim] += f->chunk[i] / (double)f->rows;
    }
}

/* The sum of outer products is what a dense layer's weight gradient is; the device is fast at that. */
static void fit_covariance(fit *f) {
    device *d = f->m->d;
    int dim = (int)f->dim;
    size_t square = f->dim * f->dim;
    for (long at = 0; at < f->rows; at += CHUNK) {
        int n = f->rows - at < CHUNK ? (int)(f->rows - at) : CHUNK;
        take(f, at, n, 0);
        for (size_t i = 0; i < (size_t)n * f->dim; i++) f->chunk[i] -= f->mean[i % f->dim];
        d->kind->put(d, f->x, f->chunk, (size_t)n * f->dim);
        d->kind->copy(d, f->dy, f->x, (size_t)n * f->dim);
        d->kind->fill(d, f->dw, 0, square);
        d->kind->dense_backward(d, NULL, f->dw, f->db, f->dy, f->dy, f->x, f->dw, n, dim, dim, 1);
        d->kind->get(d, f->sums, f->dw, square);
        for (size_t i = 0; i < square; i++) f->covariance[i] += f->sums[i];
    }
    double scale = f->shrink * f->shrink / (double)f->rows;
    for (size_t i = 0; i < square; i++) f->covariance[i] *= scale;
    for (size_t i = 0; i < f->dim; i++) {
        f->covariance[i * f->dim + i] += f->alpha * f->alpha;
        f->mean[i] *= f->shrink;
    }
}

/* In eight sums, which the processor can add at the same time. */
static double dot(const double *restrict a, const double *restrict b, size_t n) {
    double sums[8] = {0}, total = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sums[k] += a[i + k] * b[i + k];
    for (; i < n; i++) total += a[i] * b[i];
    for (size_t k = 0; k < 8; k++) total += sums[k];
    return total;
}

/* In place, lower triangle; by rows, so that all inner loops run along memory. 0: not positive definite. */
static int cholesky(double *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j] - dot(a + i * n, a + j * n, j);
            if (i == j && !(sum > 0)) return 0;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return 1;
}

/* Mean of -log p(x | y) over noised rows, per element of x. */
static double evaluate(fit *f, long rows) {
    double total = 0, logdet = 0;
    for (size_t i = f->dim_y; i < f->dim; i++) logdet += log(f->covariance[i * f->dim + i]) + LOG_2PI / 2;
    for (long at = 0; at < rows; at += CHUNK) {
        int n = rows - at < CHUNK ? (int)(rows - at) : CHUNK;
        take(f, at, n, f->data->validation_rows > 0);
        for (int s = 0; s < n; s++) {
            double *v = f->chunk + (size_t)s * f->dim;
            rng r = rng_stream((rng_key){1, RNG_NOISE, RNG_USE_FLOOR}, (uint64_t)(at + s));
            for (size_t i = 0; i < f->dim; i++) {
                const double *row = f->covariance + i * f->dim;
                double sum = f->shrink * v[i] + f->alpha * rng_normal(&r) - f->mean[i];
                v[i] = (sum - dot(row, v, i)) / row[i];
                if (i >= f->dim_y) total += 0.5 * v[i] * v[i];
            }
        }
    }
    return (total / (double)rows + logdet) / (double)f->dim_x;
}

jf_status gaussian_floor(const model *m, const dataset *data, double *nats_per_dim) {
    fit f = {.m = m, .data = data, .dim = (size_t)dataset_dim(data), .dim_x = (size_t)data->dim_x};
    device *d = m->d;
    jf_status status;
    *nats_per_dim = NAN;
    f.dim_y = f.dim - f.dim_x;
    f.alpha = recipe_real(m->recipe, "train.noise");
    f.shrink = 1 - f.alpha;
    f.rows = data->rows < FIT_ROWS ? data->rows : FIT_ROWS;
    if (f.alpha == 0 || f.dim > MOST_ELEMENTS || m->units.dim_y != data->dim_y || f.rows < 2) return JF_OK;
    if ((size_t)f.rows < f.dim) return JF_OK; /* directions that no row goes along would count as known */
    long tests = data->validation_rows > 0 && data->validation_rows < TEST_ROWS ? data->validation_rows
                 : f.rows < TEST_ROWS                                           ? f.rows
                                                                                : TEST_ROWS;
    size_t square = f.dim * f.dim, chunk = CHUNK * f.dim;
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.mean, f.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.covariance, square));
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.sums, square));
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.chunk, chunk));
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.scratch, data->scratch + 1));
    JF_TRY_DONE(d->kind->alloc(d, &f.x, chunk));
    JF_TRY_DONE(d->kind->alloc(d, &f.dy, chunk));
    JF_TRY_DONE(d->kind->alloc(d, &f.dw, square));
    JF_TRY_DONE(d->kind->alloc(d, &f.db, f.dim));
    fit_mean(&f);
    fit_covariance(&f);
    JF_TRY_DONE(d->kind->status(d));
    if (cholesky(f.covariance, f.dim)) *nats_per_dim = evaluate(&f, tests);
done:
    free(f.mean);
    free(f.covariance);
    free(f.sums);
    free(f.chunk);
    free(f.scratch);
    real *buffers[] = {f.x, f.dy, f.dw, f.db};
    for (int i = 0; i < 4; i++)
        if (buffers[i]) d->kind->release(d, buffers[i]);
    return status;
}
