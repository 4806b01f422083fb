#include "model/use.h"
#include "base/memory.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_NUMBERS ((size_t)1 << 25) /* of scratch, about */

/* What is done with the rows in run->state; it leaves its results there and in run->logdet. */
typedef void (*pass_fn)(const model *m, flow_run *run, int rows, void *user);

int model_chunk(const model *m, long n) {
    size_t most = flow_run_size(m->flow, MODEL_CHUNK, (run_use){0}, 0, NULL).scratch;
    size_t least = flow_run_size(m->flow, 1, (run_use){0}, 0, NULL).scratch;
    size_t sample = (most - least) / (MODEL_CHUNK - 1) + 8 * (size_t)m->flow->dim;
    size_t fit = CHUNK_NUMBERS / (sample > 0 ? sample : 1);
    long chunk = fit < 1 ? 1 : fit > MODEL_CHUNK ? MODEL_CHUNK : (long)fit;
    return (int)(n < 1 ? 1 : n < chunk ? n : chunk);
}

/* ---- a run between two uses ---- */

struct spare_run {
    _Atomic(flow_run *) run; /* NULL: none yet, or somebody has it */
};

jf_status spare_run_create(jf_context *ctx, spare_run **out) {
    JF_TRY(MEM_NEW(ctx, out, 1));
    atomic_init(&(*out)->run, NULL);
    return JF_OK;
}

void spare_run_free(spare_run *s) {
    if (!s) return;
    flow_run_free(atomic_exchange(&s->run, NULL));
    free(s);
}

/* A run of its own for each caller, with room for `rows`: the spare one, if it is there and large enough. */
static jf_status take_run(const model *m, flow_run **out, int rows) {
    *out = atomic_exchange(&m->spare->run, NULL);
    if (*out && (*out)->n_max >= rows) return JF_OK;
    flow_run_free(*out);
    return flow_run_create(out, m->flow, m->params, NULL, rows, (run_use){0});
}

static void give_back(const model *m, flow_run *run) {
    flow_run_free(atomic_exchange(&m->spare->run, run));
}

/* ---- many rows ---- */

static jf_status run_chunks(const model *m, pass_fn go, void *user, const char *name, long n, double *state,
                            double *logdet) {
    flow_run *run;
    int dim = m->flow->dim, chunk = model_chunk(m, n);
    jf_status status = take_run(m, &run, chunk);
    for (long at = 0; status == JF_OK && at < n; at += chunk) {
        int rows = n - at < chunk ? (int)(n - at) : chunk;
        double *part = state + (size_t)at * dim;
        flow_run_put_rows(run, rows, part);
        go(m, run, rows, user);
        flow_run_get_rows(run, rows, part);
        if (logdet) m->d->kind->get(m->d, logdet + at, run->logdet, (size_t)rows);
        status = m->d->kind->status(m->d);
        for (long i = 0; status == JF_OK && i < (long)rows * dim; i++)
            if (!isfinite(part[i]))
                status = jf_fail(m->ctx, JF_ERROR_NUMERIC, "%s of row %ld is not finite in element %ld", name,
                                 at + i / dim + 1, i % dim);
    }
    give_back(m, run);
    return status;
}

static void pass_forward(const model *m, flow_run *run, int rows, void *user) {
    (void)user;
    flow_forward(m->flow, &run->pass, rows, run->state, run->logdet);
}

static void pass_inverse(const model *m, flow_run *run, int rows, void *user) {
    (void)user;
    flow_inverse(m->flow, &run->pass, rows, run->state, run->logdet);
}

typedef struct evaluation {
    scalar *terms;
    double weight;
} evaluation;

static void pass_objective(const model *m, flow_run *run, int rows, void *user) {
    const evaluation *e = user;
    m->objective.kind->evaluate(&m->objective, run, rows, e->weight, e->terms);
}

jf_status model_forward(const model *m, long n, double *state, double *logdet) {
    return run_chunks(m, pass_forward, NULL, "the encoding", n, state, logdet);
}

jf_status model_inverse(const model *m, long n, double *state, double *logdet) {
    return run_chunks(m, pass_inverse, NULL, "the decoding", n, state, logdet);
}

jf_status model_evaluate(const model *m, long n, double *state, double *logdet, loss_terms *terms) {
    const char *name = m->objective.kind->from_data ? "the encoding" : "the decoding";
    evaluation e = {.weight = 1 / (double)n};
    JF_TRY(m->d->kind->alloc_scalars(m->d, &e.terms, TERM_COUNT));
    jf_status status = run_chunks(m, pass_objective, &e, name, n, state, logdet);
    m->d->kind->get_scalars(m->d, terms->value, e.terms, TERM_COUNT);
    if (status == JF_OK) status = m->d->kind->status(m->d);
    loss_terms_total(terms);
    m->d->kind->release_scalars(m->d, e.terms);
    return status;
}

/* ---- rows in either units ---- */

/* Converts y alone. */
static void y_units(const model_units *u, long n, double *rows, row_units to) {
    size_t dim_x = (size_t)u->dim_x, dim = dim_x + (size_t)u->dim_y;
    for (size_t s = 0; s < (size_t)n; s++)
        for (size_t i = dim_x; i < dim; i++) {
            double *v = &rows[s * dim + i];
            *v = to == MODEL_UNITS ? (*v - u->mean[i]) / u->deviation[i] : *v * u->deviation[i] + u->mean[i];
        }
}

jf_status model_encode(const model *m, row_units units, long n, double *rows) {
    if (units == DATA_UNITS) units_standardise(&m->units, (int)n, rows);
    JF_TRY(model_forward(m, n, rows, NULL));
    if (units == DATA_UNITS) y_units(&m->units, n, rows, DATA_UNITS);
    return JF_OK;
}

jf_status model_decode(const model *m, row_units units, long n, double *rows) {
    if (units == DATA_UNITS) y_units(&m->units, n, rows, MODEL_UNITS);
    JF_TRY(model_inverse(m, n, rows, NULL));
    if (units == DATA_UNITS) units_unstandardise(&m->units, (int)n, rows);
    return JF_OK;
}

/* ---- samples ---- */

void model_draw_latent(const model *m, latent_points from, long n, double *rows) {
    rng_key key = {from.seed, RNG_SAMPLE, 0};
    uint64_t first = (uint64_t)from.stream * LATENT_STREAM_SIZE + from.first;
    for (long s = 0; s < n; s++) {
        rng r = rng_stream(key, first + (uint64_t)s);
        for (int i = 0; i < m->units.dim_x; i++) rows[(size_t)s * m->flow->dim + i] = rng_normal(&r);
    }
}

jf_status model_sample(const model *m, latent_points from, row_units units, long n, double *rows, double *z) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    model_draw_latent(m, from, n, rows);
    for (size_t i = 0; z && i < (size_t)n; i++) memcpy(z + i * dim_x, rows + i * dim, dim_x * sizeof *z);
    return model_decode(m, units, n, rows);
}
