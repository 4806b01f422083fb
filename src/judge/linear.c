/* The likelihood that needs no flow: p(x | y) = N(W y + c, S). It is fitted to the training rows, or, where
 * these are not at hand, by folds to the other rows of the test set. With the Cholesky factor L of the
 * covariance of (y, x), in this order, and w = L^-1 ((y, x) - mean):
 *
 *     -log p(x | y) = sum over the elements of x of  w_i^2/2 + log(2 pi)/2 + log L_ii */
#include "judge/judge.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FITTED   20000 /* rows, at most */
#define FOLDS    5
#define MOST_DIM 256
#define SAME                                                                                                 \
    1e-9           /* deviations that means and deviations of the same data are apart, at most: by rounding  \
                    */
#define RIDGE 1e-6 /* on the covariance of standardised columns, some of which may depend on others */

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

/* To all rows but those of a fold; -1: to all. */
static void fit_rows(fit *f, long n, const double *rows, long fold) {
    int dim = f->dim;
    double count = 0;
    for (long s = 0; s < n; s++) count += s % FOLDS != fold;
    memset(f->mean, 0, (size_t)dim * sizeof *f->mean);
    memset(f->l, 0, (size_t)dim * (size_t)dim * sizeof *f->l);
    for (long s = 0; s < n; s++)
        for (int i = 0; s % FOLDS != fold && i < dim; i++)
            f->mean[i] += turned(rows + s * dim, i, f->dim_x, f->dim_y) / count;
    for (long s = 0; s < n; s++)
        for (int i = 0; s % FOLDS != fold && i < dim; i++) {
            double a = turned(rows + s * dim, i, f->dim_x, f->dim_y) - f->mean[i];
            for (int k = 0; k <= i; k++)
                f->l[i * dim + k] += a * (turned(rows + s * dim, k, f->dim_x, f->dim_y) - f->mean[k]) / count;
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

jf_status judge_training_rows(const model *m, const dataset *data, long n, uint64_t seed, double **out) {
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

/* Whether these are the data that the model was trained on, by their means and deviations. */
static int is_of_model(const model *m, const dataset *d) {
    const model_units *u = &m->units;
    if (d->dim_x != u->dim_x || d->dim_y < u->dim_y) return 0;
    for (int i = 0; i < u->dim_x + u->dim_y; i++)
        if (!(fabs(d->mean[i] - u->mean[i]) + fabs(d->deviation[i] - u->deviation[i]) <=
              SAME * u->deviation[i]))
            return 0;
    return 1;
}

/* *out: the data of the recipe; NULL where they are gone, or others by now. */
static jf_status open_training(const model *m, dataset **out) {
    jf_status status = dataset_open(m->ctx, out, m->recipe);
    if (status == JF_OK && !is_of_model(m, *out)) status = JF_ERROR_DATA;
    status = ranks_agree(ranks_of(m->ctx), status);
    if (status == JF_OK) return JF_OK;
    dataset_free(*out);
    *out = NULL;
    return status == JF_STOPPED || status == JF_ERROR_MEMORY ? status : JF_OK;
}

typedef struct gain {
    double sum, squares;
} gain;

/* Over the points of a fold; -1: over all. */
static void add_gains(const fit *f, const judgement *j, long fold, const double *log_p, double *w, gain *g) {
    for (long s = 0; s < j->points; s++) {
        if (fold >= 0 && s % FOLDS != fold) continue;
        double better = nll_of(f, j->data + s * f->dim, w) + log_p[s];
        g->sum += better;
        g->squares += better * better;
    }
}

/* Of a fit to the training rows, or, without any, of one fit for each fold, to the points of the others. */
static jf_status measure(fit *f, const judgement *j, const model *m, const dataset *training,
                         const double *log_p, uint64_t seed, gain *g, int *found) {
    double *rows = NULL, *w;
    long n = !training ? j->points : training->rows && training->rows < FITTED ? training->rows : FITTED;
    jf_status status;
    *found = (training ? n : n - n / FOLDS - 1) >
             f->dim; /* otherwise directions that no row goes along count as known */
    JF_TRY(MEM_NEW(m->ctx, &w, (size_t)f->dim));
    if (*found && training) JF_TRY_DONE(judge_training_rows(m, training, n, seed, &rows));
    for (long fold = training ? -1 : 0; *found && fold < (training ? 0 : FOLDS); fold++) {
        fit_rows(f, n, training ? rows : j->data, fold);
        *found = factor(f);
        if (*found) add_gains(f, j, fold, log_p, w, g);
    }
done:
    free(rows);
    free(w);
    return status;
}

jf_status judge_linear(judgement *j, const model *m, const dataset *data, const double *log_p,
                       uint64_t seed) {
    fit f = {.dim_x = m->flow->dim_x, .dim_y = m->flow->dim_y, .dim = m->flow->dim};
    dataset *opened = NULL;
    gain g = {0};
    double n = (double)j->points;
    int found;
    jf_status status;
    if (f.dim > MOST_DIM || recipe_real(m->recipe, "train.noise") > 0) return JF_OK;
    if (data->is_test) JF_TRY(open_training(m, &opened));
    j->linear_crossed = data->is_test && !opened;
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.mean, (size_t)f.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &f.l, (size_t)f.dim * (size_t)f.dim));
    JF_TRY_DONE(measure(&f, j, m, data->is_test ? opened : data, log_p, seed, &g, &found));
    if (!found) goto done;
    j->linear_gain = g.sum / n;
    j->linear_error = sqrt(fmax(g.squares / n - j->linear_gain * j->linear_gain, 0) / n);
done:
    fit_free(&f);
    dataset_free(opened);
    return status;
}
