/* Tweedie's formula. A model is trained on v = c + sigma N, with c the clean row and sigma = train.noise, all
 * in the model's units: there noise is added, after standardisation and after what the task does to the
 * intensities. The rows it draws follow the density p of v, and
 *     E[c | v] = v + sigma^2 grad log p(v)                    for every p, since sigma N is normal
 * Noise on y is independent of that on x, so the x of it is x + sigma^2 grad_x log p(x, y), and grad_x log
 * p(x, y) = grad_x log p(x | y). Standardisation is linear and c = (1 - sigma) s of the standardised s
 * lies in the units already (units.deviation), so the expected clean row in the data's units is this one,
 * unstandardised. */
#include "model/denoise.h"
#include "base/finite.h"
#include "base/memory.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>

#define LOG_2PI 1.83787706640934548356

/* ---- the score ---- */

/* Of a flow from data to latent points: leaves -grad log p in run->dstate and -log p_Z(F_Z) in run->term. */
static void run_score(const model *m, flow_run *run, int rows) {
    const flow *f = m->flow;
    device *d = m->d;
    const device_kind *k = d->kind;
    flow_forward_apart(f, &run->pass, rows, run->state, run->logdet, run->dlogdet);
    k->fill(d, run->dstate, 0, (size_t)rows * (size_t)f->dim); /* y' has no part in it */
    k->prior_term(d, run->term, run->dstate, run->state, rows, f->layout, 1);
    k->fill(d, run->dlogdet, -1, (size_t)rows);
    flow_backward(f, &run->pass, rows, run->state, run->dstate, run->dlogdet);
}

/* What the host keeps of it. `part` (rows, dim) is overwritten. */
static void read_score(const model *m, flow_run *run, int rows, double *part, double *score, double *log_p) {
    device *d = m->d;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    d->kind->copy(d, run->state, run->dstate, (size_t)rows * dim);
    flow_run_get_rows(run, rows, part);
    for (size_t s = 0; s < (size_t)rows; s++)
        for (size_t i = 0; i < dim_x; i++) score[s * dim_x + i] = -part[s * dim + i];
    if (!log_p) return;
    d->kind->get(d, part, run->term, (size_t)rows);
    d->kind->get(d, log_p, run->logdet, (size_t)rows);
    for (int s = 0; s < rows; s++) log_p[s] -= part[s];
}

static void swap(double *a, double *b) {
    double t = *a;
    *a = *b;
    *b = t;
}

/* t (n) with J^T t = r, by Gaussian elimination with pivots; J (n, n) and r are overwritten, r with t. It is
 * not finite where J is singular. */
static void solve_transposed(double *J, double *r, size_t n) {
#define AT(i, k) J[(k)*n + (i)]
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(AT(i, k)) > fabs(AT(best, k))) best = i;
        for (size_t j = 0; j < n; j++) swap(&AT(k, j), &AT(best, j));
        swap(&r[k], &r[best]);
        for (size_t i = k + 1; i < n; i++) {
            double factor = AT(i, k) / AT(k, k);
            for (size_t j = k; j < n; j++) AT(i, j) -= factor * AT(k, j);
            r[i] -= factor * r[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++) r[k] -= AT(k, j) * r[j];
        r[k] /= AT(k, k);
    }
#undef AT
}

/* Of a flow from latent points to data, x = G(z): log p = log p_Z(z) - log|det J_G(z)|, and with g its
 * gradient with respect to z that with respect to x solves J_G^T s = g. The rows have no y, and few elements:
 * each takes a backward pass. */
static void score_of_decoder(const model *m, flow_run *run, int rows, double *z, double *J, double *score,
                             double *log_p) {
    const device_kind *k = m->d->kind;
    size_t dim = (size_t)m->flow->dim, whole = (size_t)rows * dim;
    model_run_pass(m, ROWS_OF_DATA, run, &run->pass, rows);
    flow_run_get(run, rows, z);
    flow_jacobian(run, rows, (int)dim, J); /* leaves x and the log-determinant */
    if (log_p) k->get(m->d, log_p, run->logdet, (size_t)rows);
    k->fill(m->d, run->dstate, 0, whole);
    k->fill(m->d, run->dlogdet, 1, (size_t)rows);
    flow_backward(m->flow, &run->pass, rows, run->state, run->dstate, run->dlogdet);
    k->get(m->d, score, run->dstate, whole);
    for (size_t s = 0; s < (size_t)rows; s++) {
        double log_prior = 0;
        for (size_t i = s * dim; i < (s + 1) * dim; i++) {
            log_prior -= (z[i] * z[i] + LOG_2PI) / 2;
            score[i] = -z[i] - score[i];
        }
        solve_transposed(J + s * dim * dim, score + s * dim, dim);
        if (log_p) log_p[s] = log_prior - log_p[s];
    }
}

static jf_status check_score(const model *m, long first, int rows, const double *score) {
    size_t dim_x = (size_t)m->units.dim_x, count = (size_t)rows * dim_x, at = count_finite(score, count);
    if (at == count) return JF_OK;
    return jf_fail(
        m->ctx, JF_ERROR_NUMERIC,
        "row %ld: the gradient of log p(x|y) is not finite, its element %zu is %g; expected rows nearer "
        "to the data that the model was trained on",
        first + (long)(at / dim_x) + 1, at % dim_x, score[at]);
}

typedef struct scores {
    const model *m;
    flow_run *run;
    long n;
    int chunk;
    const double *rows;
    double *part; /* (chunk, dim) */
    double *J;    /* (chunk, dim, dim) of a flow from latent points to data */
    double *score, *log_p;
} scores;

static jf_status score_rows(void *arg, size_t begin, size_t end) {
    const scores *s = arg;
    const model *m = s->m;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    for (long at = (long)begin; at < (long)end; at += s->chunk) {
        int count = (long)end - at < s->chunk ? (int)((long)end - at) : s->chunk;
        double *to = s->score + (size_t)at * dim_x, *log_p = s->log_p ? s->log_p + at : NULL;
        JF_TRY(context_poll(m->ctx, "rows", (uint64_t)at, (uint64_t)s->n));
        flow_run_put_rows(s->run, count, s->rows + (size_t)at * dim);
        if (model_is_encoder(m)) {
            run_score(m, s->run, count);
            read_score(m, s->run, count, s->part, to, log_p);
        } else {
            score_of_decoder(m, s->run, count, s->part, s->J, to, log_p);
        }
        JF_TRY(m->d->kind->status(m->d));
        JF_TRY(check_score(m, at, count, to));
    }
    return JF_OK;
}

jf_status model_score(const model *m, long n, const double *rows, double *score, double *log_p) {
    run_use use = {.backward = 1};
    size_t dim = (size_t)m->flow->dim;
    scores s = {
        .m = m, .n = n, .chunk = model_chunk_of(m, use, n), .rows = rows, .score = score, .log_p = log_p};
    ranks_rows results[] = {{score, (size_t)m->units.dim_x * sizeof *score}, {log_p, sizeof *log_p}};
    jf_status status;
    JF_TRY_DONE(model_check_rows(m, ROWS_OF_DATA, 0, n, rows));
    JF_TRY_DONE(flow_run_create(&s.run, m->flow, m->params, NULL, s.chunk, use));
    JF_TRY_DONE(MEM_NEW(m->ctx, &s.part, (size_t)s.chunk * dim));
    if (!model_is_encoder(m)) JF_TRY_DONE(MEM_NEW(m->ctx, &s.J, (size_t)s.chunk * dim * dim));
    JF_TRY_DONE(ranks_divide(ranks_of(m->ctx), (size_t)n, 1, score_rows, &s, results, 2));
done:
    flow_run_free(s.run);
    free(s.part);
    free(s.J);
    return status;
}

/* ---- clean rows ---- */

jf_status model_noise(const model *m, double *sigma) {
    *sigma = m->objective.kind->from_data ? recipe_real(m->recipe, "train.noise") : 0;
    if (*sigma > 0) return JF_OK;
    if (!m->objective.kind->from_data)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "samples without noise: this model was trained by a rule, not on data with noise; "
                       "expected one that was trained with train.noise above 0");
    return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                   "samples without noise: this model was trained with train.noise = 0, so its samples have "
                   "none that is known; expected one above 0");
}

jf_status model_denoise(const model *m, row_units units, long n, double *rows) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    double *score, sigma;
    JF_TRY(model_noise(m, &sigma));
    JF_TRY(MEM_NEW(m->ctx, &score, (size_t)n * dim_x));
    if (units == DATA_UNITS) units_standardise(&m->units, (int)n, rows);
    jf_status status = model_score(m, n, rows, score, NULL);
    for (size_t s = 0; status == JF_OK && s < (size_t)n; s++)
        for (size_t i = 0; i < dim_x; i++) rows[s * dim + i] += sigma * sigma * score[s * dim_x + i];
    if (units == DATA_UNITS) units_unstandardise(&m->units, (int)n, rows);
    free(score);
    return status;
}
