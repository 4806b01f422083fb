/* The likelihood that needs no flow: p(x | y) = N(W y + c, S), fitted to the rows that were trained on. With the Cholesky factor L
 * of the covariance of (y, x), in this order, and w = L^-1 ((y, x) - mean):
 *
 *     -log p(x | y) = sum over the elements of x of  w_i^2/2 + log(2 pi)/2 + log L_ii */
#include "judge/judge.h"
#include <math.h>
#include <stdlib.h>

#define FITTED   20000 /* rows, at most */
#define MOST_DIM 256
#define RIDGE    1e-6 /* on the covariance of standardised columns, some of which may depend on others */

/* Row of (x, y) as (y, x). */
static double turned(const double *row, int i, int dim_x, int dim_y) {
    return i < dim_y ? row[dim_x + i] : row[i - dim_y];
}

typedef struct fit {
    int dim_x, dim_y, dim;
    double *mean, *l; /* (dim), (dim, dim): lower triangle */
} fit;

static void fit_free(fit *f) {
    free(f->mean);
    free(f->l);
}

static void fit_rows(fit *f, long n, const double *rows) {
    int dim = f->dim;
    for (long s = 0; s < n; s++)
        for (int i = 0; i < dim; i++) f->mean[i] += turned(rows + s * dim, i, f->dim_x, f->dim_y) / (double)n;
    for (long s = 0; s < n; s++)
        for (int i = 0; i < dim; i++) {
            double a = turned(rows + s * dim, i, f->dim_x, f->dim_y) - f->mean[i];
            for (int k = 0; k <= i; k++)
                f->l[i * dim + k] +=
                    a * (turned(rows + s * dim, k, f->dim_x, f->dim_y) - f->mean[k]) / (double)n;
        }
    for (int i = 0; i < dim; i++) f->l[i * dim + i] += RIDGE;
}

/* In place; 0 where the covariance is not positive. */
static int factor(fit *f) {
    int dim = f->dim;
    for (int i = 0; i < dim; i++)
        for (int k = 0; k <= i; k++) {
            double sum = f->l[i * dim + k];
            for (int j = 0; j < k; j++) sum -= f->l[i * dim + j] * f->l[k * dim + j];
            if (i == k && !(sum > 0)) return 0;
            f->l[i * dim + k] = i == k ? sqrt(sum) : sum / f->l[k * dim + k];
        }
    return 1;
}

static double nll_of(const fit *f, const double *row, double *w) {
    double nll = 0;
    for (int i = 0; i < f->dim; i++) {
        double sum = turned(row, i, f->dim_x, f->dim_y) - f->mean[i];
        for (int j = 0; j < i; j++) sum -= f->l[i * f->dim + j] * w[j];
        w[i] = sum / f->l[i * f->dim + i];
        if (i >= f->dim_y) nll += w[i] * w[i] / 2 + 0.91893853320467274 + log(f->l[i * f->dim + i]);
    }
    return nll;
}

/* Rows to train on, model units. */
static jf_status draw_rows(const model *m, const dataset *data, long n, uint64_t seed, double **out) {
    size_t dim = (size_t)m->flow->dim, data_dim = (size_t)dataset_dim(data);
    row_sequence sequence = {{seed, RNG_JUDGE, RNG_USE_FLOOR}, -1, 0};
    double *row;
    JF_TRY(MEM_NEW(m->ctx, &row, data_dim + data->scratch));
    jf_status status = MEM_NEW(m->ctx, out, (size_t)n * dim);
    for (size_t s = 0; status == JF_OK && s < (size_t)n; s++) {
        dataset_rows(data, &sequence, s, 1, row + data_dim, row);
        for (size_t i = 0; i < dim; i++) (*out)[s * dim + i] = row[i];
    }
    free(row);
    if (status == JF_OK) units_standardise(&m->units, (int)n, *out);
    return status;
}

jf_status judge_linear(judgement *j, const model *m, const dataset *data, const double *log_p,
                       uint64_t seed) {
    fit f = {.dim_x = m->flow->dim_x, .dim_y = m->flow->dim_y, .dim = m->flow->dim};
    double *rows = NULL, *w = NULL, gain = 0, squares = 0, n = (double)j->points;
    long fitted = data->rows && data->rows < FITTED ? data->rows : FITTED;
    jf_status status;
    if (f.dim > MOST_DIM || recipe_real(m->recipe, "train.noise") > 0) return JF_OK;
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.mean, (size_t)f.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.l, (size_t)f.dim * (size_t)f.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w, (size_t)f.dim));
    JF_TRY_DONE(draw_rows(m, data, fitted, seed, &rows));
    fit_rows(&f, fitted, rows);
    if (!factor(&f)) goto done;
    for (long s = 0; s < j->points; s++) {
        double better = nll_of(&f, j->data + s * f.dim, w) + log_p[s];
        gain += better / n;
        squares += better * better / n;
    }
    j->linear_gain = gain;
    j->linear_error = sqrt(fmax(squares - gain * gain, 0) / n);
done:
    fit_free(&f);
    free(rows);
    free(w);
    return status;
}
