/* Densities. The flow is a map of (x, y), so there are three log-densities of x given y, which agree as F_Y'
 * -> y and dF_Y'/dy -> 1 (see docs/math.md): the paper's, the sampler's own, and the whole map's. */
#include "base/finite.h"
#include "judge/judge.h"
#include "model/use.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOG_2PI          1.83787706640934548356
#define KEEP_MIB         512
#define NEWTON_STEPS     12
#define NEWTON_TOLERANCE 2e-5

/* Gaussian elimination of a (n, n) with pivots, in place, and of the right side r (n), which may be NULL.
 * Returns log|det a|; -INFINITY where a pivot is 0, and stops there. */
static double eliminate(double *a, double *r, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        if (a[best * n + k] == 0) return -INFINITY;
        for (int j = 0; best != k && j < n; j++) {
            double t = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = t;
        }
        if (r) {
            double t = r[k];
            r[k] = r[best];
            r[best] = t;
        }
        sum += log(fabs(a[k * n + k]));
        for (int i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            if (r) r[i] -= f * r[k];
        }
    }
    return sum;
}

double log_abs_det(double *a, int n) {
    return eliminate(a, NULL, n);
}

/* Solves a (n, n) t = r; both are overwritten, r with t, which is not finite where a is singular. */
static void solve(double *a, double *r, int n) {
    eliminate(a, r, n);
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) r[k] -= a[k * n + j] * r[j];
        r[k] /= a[k * n + k];
    }
}

static double log_prior(const double *z, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum -= 0.5 * (z[i] * z[i] + LOG_2PI);
    return sum;
}

/* A square block of a sample's Jacobian (dim, dim). */
static void block(const double *J, int dim, int from, int size, double *out) {
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) out[i * size + j] = J[(from + i) * dim + from + j];
}

typedef struct evaluation { /* of up to MODEL_CHUNK rows */
    const model *m;
    flow_run *run;
    double *state, *J, *logdet; /* F(u) (n, dim), (n, dim, dim), (n) */
    densities *out;
    const double *xy; /* (rows, dim): all of them */
    long rows;
    int chunk, with_sampler;
    double *moved;           /* (chunk, dim) */
    double *log_dy, *errors; /* (rows): log|det dF_Y'/dy| and the mean |F_Y' - y| of each row */
} evaluation;

static void evaluate(evaluation *e, int rows, const double *u) {
    flow_run_put(e->run, rows, u);
    flow_jacobian(e->run, rows, e->m->flow->dim, e->J);
    flow_run_get(e->run, rows, e->state);
    e->m->d->kind->get(e->m->d, e->logdet, e->run->logdet, (size_t)rows);
}

static void paper_density(evaluation *e, long at, int rows, const double *xy) {
    const flow *f = e->m->flow;
    densities *out = e->out;
    double part[JUDGE_EXACT_DIM * JUDGE_EXACT_DIM];
    for (int s = 0; s < rows; s++) {
        const double *v = e->state + (size_t)s * f->dim, *J = e->J + (size_t)s * f->dim * f->dim;
        double prior = log_prior(v, f->dim_x);
        block(J, f->dim, 0, f->dim_x, part);
        out->paper[at + s] = prior + log_abs_det(part, f->dim_x);
        out->whole[at + s] = prior + e->logdet[s];
        if (!f->dim_y) continue;
        block(J, f->dim, f->dim_x, f->dim_y, part);
        e->log_dy[at + s] = log_abs_det(part, f->dim_y);
        for (int i = f->dim_x; i < f->dim; i++)
            e->errors[at + s] += fabs(v[i] - xy[(size_t)s * f->dim + i]) / f->dim_y;
    }
}

/* Newton's method for y*: F_Y'(x, y*) = y; then the density at (x, y*). Rows leave as they converge: `moved`
 * holds the (x, y*) of those still open, `open_rows` which they are. */
static void sampler_density(evaluation *e, long at, int rows, const double *xy) {
    const flow *f = e->m->flow;
    size_t dim = (size_t)f->dim, dim_x = (size_t)f->dim_x;
    double part[JUDGE_EXACT_DIM * JUDGE_EXACT_DIM], r[JUDGE_EXACT_DIM];
    double *sampler = e->out->sampler, *moved = e->moved;
    int open_rows[MODEL_CHUNK], open = rows;
    memcpy(moved, xy, sizeof(double) * (size_t)rows * dim);
    for (int s = 0; s < rows; s++) open_rows[s] = s;
    for (int step = 0; step <= NEWTON_STEPS && open > 0; step++) {
        int still = 0;
        evaluate(e, open, moved);
        for (int k = 0; k < open; k++) {
            const double *goal = xy + (size_t)open_rows[k] * dim + dim_x, *v = e->state + (size_t)k * dim;
            int found = 1; /* not where a step led to values that are not finite */
            for (int i = 0; i < f->dim_y; i++) {
                r[i] = goal[i] - v[dim_x + (size_t)i];
                found &= fabs(r[i]) <= NEWTON_TOLERANCE;
            }
            block(e->J + (size_t)k * dim * dim, f->dim, f->dim_x, f->dim_y, part);
            if (found) {
                double log_p = log_prior(v, f->dim_x) + e->logdet[k] - log_abs_det(part, f->dim_y);
                sampler[at + open_rows[k]] = isfinite(log_p) ? log_p : NAN;
                continue;
            }
            solve(part, r, f->dim_y);
            memmove(moved + (size_t)still * dim, moved + (size_t)k * dim, sizeof(double) * dim);
            for (int i = 0; i < f->dim_y; i++) moved[(size_t)still * dim + dim_x + (size_t)i] += r[i];
            open_rows[still++] = open_rows[k];
        }
        open = still;
    }
    for (int k = 0; k < open; k++) sampler[at + open_rows[k]] = NAN;
}

static jf_status exact_rows(void *arg, size_t begin, size_t end) {
    evaluation *e = arg;
    const model *m = e->m;
    const flow *f = m->flow;
    for (long at = (long)begin; at < (long)end; at += e->chunk) {
        int rows = (long)end - at < e->chunk ? (int)((long)end - at) : e->chunk;
        const double *part = e->xy + (size_t)at * (size_t)f->dim;
        JF_TRY(context_poll(m->ctx, "densities", (uint64_t)at, (uint64_t)e->rows));
        evaluate(e, rows, part);
        JF_TRY(m->d->kind->status(m->d));
        JF_TRY(model_check_results(m, ROWS_OF_LATENT, at, rows, e->state, e->logdet));
        paper_density(e, at, rows, part);
        if (!e->with_sampler || f->dim_y == 0)
            memcpy(e->out->sampler + at, e->out->whole + at, sizeof(double) * (size_t)rows);
        else
            sampler_density(e, at, rows, part);
        JF_TRY(m->d->kind->status(m->d));
    }
    return JF_OK;
}

/* What is told of all rows together, in their order. */
static void add_rows(const evaluation *e) {
    densities *out = e->out;
    for (long s = 0; s < e->rows; s++) {
        if (!isfinite(e->log_dy[s]) && out->singular < 0) out->singular = s;
        out->log_dy += e->log_dy[s];
        out->y_error += e->errors[s];
        out->lost += e->with_sampler && isnan(out->sampler[s]);
    }
}

static jf_status exact_densities(const model *m, densities *out, long n, const double *xy, int with_sampler) {
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim, chunk = n < MODEL_CHUNK ? (size_t)n : MODEL_CHUNK;
    evaluation e = {
        .m = m, .out = out, .xy = xy, .rows = n, .chunk = (int)chunk, .with_sampler = with_sampler};
    jf_status status;
    JF_TRY_DONE(model_check_rows(m, ROWS_OF_DATA, 0, n, xy));
    JF_TRY_DONE(flow_run_create(&e.run, f, m->params, NULL, (int)chunk,
                                (run_use){.backward = 1, .keep_mib = KEEP_MIB}));
    JF_TRY_DONE(MEM_NEW(m->ctx, &e.state, chunk * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &e.J, chunk * dim * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &e.logdet, chunk));
    JF_TRY_DONE(MEM_NEW(m->ctx, &e.moved, chunk * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &e.log_dy, (size_t)n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &e.errors, (size_t)n));
    ranks_rows rows[] = {{out->paper, sizeof(double)},
                         {out->whole, sizeof(double)},
                         {out->sampler, sizeof(double)},
                         {e.log_dy, sizeof(double)},
                         {e.errors, sizeof(double)}};
    JF_TRY_DONE(ranks_divide(ranks_of(m->ctx), (size_t)n, 1, exact_rows, &e, rows, 5));
    add_rows(&e);
done:
    flow_run_free(e.run);
    free(e.state);
    free(e.J);
    free(e.logdet);
    free(e.moved);
    free(e.log_dy);
    free(e.errors);
    return status;
}

int judge_keeps_y(const flow *f) {
    return f->apart || f->fixed || f->dim_y == 0;
}

/* The whole map's log-determinant, which stands in for both others where the dimensions are too many for
 * them. */
static void whole_densities(const model *m, densities *out, long n, const double *xy, const double *encoded,
                            const double *logdet) {
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim;
    for (size_t s = 0; s < (size_t)n; s++) {
        out->paper[s] = out->whole[s] = log_prior(encoded + s * dim, f->dim_x) + logdet[s];
        out->sampler[s] = judge_keeps_y(f) ? out->whole[s] : NAN;
        for (size_t i = (size_t)f->dim_x; i < dim; i++)
            out->y_error += fabs(encoded[s * dim + i] - xy[s * dim + i]) / f->dim_y;
    }
    out->log_dy = judge_keeps_y(f) ? 0 : NAN; /* y is kept, and the density is exact in any dimension */
}

static jf_status encode_densities(const model *m, densities *out, long n, const double *xy) {
    size_t dim = (size_t)m->flow->dim;
    double *state, *logdet = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &state, (size_t)n * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &logdet, (size_t)n));
    memcpy(state, xy, sizeof(double) * (size_t)n * dim);
    JF_TRY_DONE(model_forward(m, n, state, logdet));
    whole_densities(m, out, n, xy, state, logdet);
done:
    free(state);
    free(logdet);
    return status;
}

int densities_are_exact(const model *m) {
    return judge_keeps_y(m->flow) || (m->flow->dim <= JUDGE_EXACT_DIM && m->units.image.h == 0);
}

static jf_status begin(const model *m, densities *out, long n) {
    *out = (densities){.exact = densities_are_exact(m), .singular = -1};
    double **arrays[] = {&out->paper, &out->sampler, &out->whole};
    for (int i = 0; i < 3; i++) JF_TRY(MEM_NEW(m->ctx, arrays[i], (size_t)n));
    return JF_OK;
}

jf_status densities_of_encoded(const model *m, densities *out, long n, const double *xy,
                               const double *encoded, const double *logdet) {
    jf_status status = begin(m, out, n);
    if (status == JF_OK) {
        out->exact = 0;
        whole_densities(m, out, n, xy, encoded, logdet);
        out->y_error /= (double)n;
    } else {
        densities_free(out);
    }
    return status;
}

jf_status densities_create(const model *m, densities *out, long n, const double *xy, int with_sampler) {
    jf_status status;
    JF_TRY_DONE(begin(m, out, n));
    status = out->exact && !judge_keeps_y(m->flow) ? exact_densities(m, out, n, xy, with_sampler)
                                                   : encode_densities(m, out, n, xy);
    out->y_error /= (double)n;
    out->log_dy /= (double)n;
done:
    if (status != JF_OK) densities_free(out);
    return status;
}

jf_status densities_on_supports(const model *m, densities *d, long n, const double *xy) {
    JF_TRY(densities_add_turns(m, d, n, xy));
    return densities_divide_by_inside(m, d, n, xy);
}

void densities_to_data_units(const model *m, densities *d, long n, const double *xy) {
    size_t dim = (size_t)m->flow->dim;
    for (size_t s = 0; s < (size_t)n; s++) {
        double volume = units_log_volume_at(&m->units, xy + s * dim);
        d->paper[s] -= volume;
        d->sampler[s] -= volume;
        d->whole[s] -= volume;
    }
}

jf_status densities_check(const model *m, const densities *d, long n) {
    const double *values = d->paper;
    const char *what = "log p(x | y)";
    size_t count = (size_t)n, at = count_finite(values, count);
    if (at == count) { /* with the whole map's log-determinant instead */
        values = d->whole;
        at = count_finite(values, count);
        what = "log p(x | y) by the whole map";
    }
    if (at < count)
        return jf_fail(
            m->ctx, JF_ERROR_NUMERIC,
            "row %zu: %s is %g, expected a finite number: the map has no density there; leave the row out",
            at + 1, what, values[at]);
    if (d->singular >= 0)
        return jf_fail(
            m->ctx, JF_ERROR_NUMERIC,
            "row %ld: dF_Y'/dy is singular, expected a map that has y' follow y; leave the row out",
            d->singular + 1);
    return JF_OK;
}

void densities_free(densities *d) {
    free(d->paper);
    free(d->sampler);
    free(d->whole);
    d->paper = d->sampler = d->whole = NULL;
}
