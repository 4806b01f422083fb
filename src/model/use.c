#include "model/use.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/checksum.h"
#include "ranks/ranks.h"
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_NUMBERS ((size_t)1 << 25) /* of scratch, about */

/* What is done with the rows in run->state; it leaves its results there and in run->logdet. */
typedef struct passes passes;
typedef void (*pass_fn)(passes *p, int rows);

int model_chunk_of(const model *m, run_use use, long n) {
    size_t most = flow_run_size(m->flow, MODEL_CHUNK, use, 0, NULL).scratch;
    size_t least = flow_run_size(m->flow, 1, use, 0, NULL).scratch;
    size_t sample = (most - least) / (MODEL_CHUNK - 1) + 8 * (size_t)m->flow->dim;
    size_t fit = CHUNK_NUMBERS / (sample > 0 ? sample : 1);
    long chunk = fit < 1 ? 1 : fit > MODEL_CHUNK ? MODEL_CHUNK : (long)fit;
    return (int)(n < 1 ? 1 : n < chunk ? n : chunk);
}

int model_chunk(const model *m, long n) {
    return model_chunk_of(m, (run_use){0}, n);
}

/* ---- the way of a flow ---- */

int model_is_encoder(const model *m) {
    return m->objective.kind->from_data;
}

void model_run_pass(const model *m, row_content content, flow_run *run, const pass *p, int rows) {
    const flow *f = m->flow;
    if ((content == ROWS_OF_DATA) == model_is_encoder(m)) {
        flow_forward_apart(f, p, rows, run->state, run->logdet, run->term);
        return;
    }
    if (f->apart) flow_forward_y(f, p, rows, run->state, run->term);
    flow_inverse_apart(f, p, rows, run->state, run->logdet, run->term);
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
    *out = NULL;
    JF_TRY(device_check_process(m->d));
    *out = atomic_exchange(&m->spare->run, NULL);
    if (*out) (*out)->pass.params = m->params; /* which lie elsewhere while several ranks train */
    if (*out && (*out)->n_max >= rows) return JF_OK;
    flow_run_free(*out);
    return flow_run_create(out, m->flow, m->params, NULL, rows, (run_use){0});
}

static void give_back(const model *m, flow_run *run) {
    flow_run_free(atomic_exchange(&m->spare->run, run));
}

/* ---- rows that can be answered for ---- */

/* An element of a row as people count: x0, x1, ..., y0, ... */
typedef struct place {
    long row; /* from 1 */
    int element, index;
    const char *name;
} place;

static place place_of(const model *m, row_content content, long first, size_t at) {
    int dim_x = m->units.dim_x, element = (int)(at % (size_t)m->flow->dim), is_x = element < dim_x;
    return (place){.row = first + (long)(at / (size_t)m->flow->dim) + 1,
                   .element = element,
                   .index = is_x ? element : element - dim_x,
                   .name = !is_x                     ? "y"
                           : content == ROWS_OF_DATA ? "x"
                                                     : "z"};
}

jf_status model_check_rows(const model *m, row_content content, long first, long n, const double *rows) {
    const device_kind *kind = m->d->kind;
    double most = kind->real_size == sizeof(float) ? FLT_MAX : DBL_MAX;
    size_t count = (size_t)n * (size_t)m->flow->dim, at = count_within(rows, count, most);
    if (at == count) return JF_OK;
    place p = place_of(m, content, first, at);
    if (p.name[0] == 'z')
        return jf_fail(
            m->ctx, JF_ERROR_DATA,
            "row %ld: z%d is %g, expected a number between -%.2g and %.2g: device \"%s\" has no others",
            p.row, p.index, rows[at], most, most, kind->name);
    return jf_fail(
        m->ctx, JF_ERROR_DATA,
        "row %ld: %s%d is %g, which is %g deviations away from the mean of the data, expected at most "
        "%.2g: device \"%s\" has no larger numbers",
        p.row, p.name, p.index, units_to_data(&m->units, p.element, rows[at]), rows[at], most, kind->name);
}

int units_take(const model_units *u, int element, double value) {
    if (!u->support) return 1;
    return support_contains(&u->support[element], value) ||
           (element >= u->dim_x && u->support[element].kind == SUPPORT_CONSTANT && isfinite(value));
}

/* Warns of y whose value is not the constant of the data, which the model ignores. */
static void warn_of_other_constants(const model *m, long n, const double *rows) {
    const model_units *u = &m->units;
    size_t dim = (size_t)m->flow->dim;
    char constant[NUMBER_SIZE], digits[NUMBER_SIZE];
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = u->dim_x; i < m->flow->dim; i++) {
            double value = rows[s * dim + (size_t)i];
            if (support_contains(&u->support[i], value)) continue;
            number_shortest(constant, u->support[i].lo);
            number_shortest(digits, value);
            jf_warn(m->ctx,
                    "row %zu: y%d%s%s%s is %s, but %s in all rows that the model was trained on: it is "
                    "ignored, and the samples are those of %s",
                    s + 1, i - u->dim_x, u->names ? " (\"" : "", u->names ? u->names[i] : "",
                    u->names ? "\")" : "", digits, constant, constant);
            return;
        }
}

jf_status model_check_support(const model *m, row_content content, long n, const double *rows) {
    const model_units *u = &m->units;
    size_t dim = (size_t)m->flow->dim;
    char words[96], digits[NUMBER_SIZE];
    if (!u->support) return JF_OK;
    for (size_t at = 0; at < (size_t)n * dim; at++) {
        place p = place_of(m, content, 0, at);
        if (p.name[0] == 'z' || units_take(u, p.element, rows[at])) continue;
        number_shortest(digits, rows[at]);
        return jf_fail(
            m->ctx, JF_ERROR_DATA, "row %ld: %s%d%s%s%s is %s, outside of its support: expected %s", p.row,
            p.name, p.index, u->names ? " (\"" : "", u->names ? u->names[p.element] : "",
            u->names ? "\")" : "", digits, support_words(&u->support[p.element], words, sizeof words));
    }
    warn_of_other_constants(m, n, rows);
    return JF_OK;
}

jf_status model_check_results(const model *m, row_content content, long first, long n, const double *rows,
                              const double *logdet) {
    const char *what = content == ROWS_OF_DATA ? "the decoding" : "the encoding";
    const char *advice = "expected rows nearer to the data that the model was trained on";
    size_t count = (size_t)n * (size_t)m->flow->dim, at = count_finite(rows, count);
    if (at < count) {
        place p = place_of(m, content, first, at);
        return jf_fail(m->ctx, JF_ERROR_NUMERIC, "row %ld: %s is not finite, its %s%d is %g; %s", p.row, what,
                       p.name, p.index, rows[at], advice);
    }
    at = logdet ? count_finite(logdet, (size_t)n) : (size_t)n;
    if (at == (size_t)n) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_NUMERIC,
                   "row %ld: the log-determinant of %s is %g, expected a finite one; %s",
                   first + (long)at + 1, what, logdet[at], advice);
}

/* ---- many rows ---- */

/* What a pass makes of it. */
static row_content other_content(row_content content) {
    return content == ROWS_OF_DATA ? ROWS_OF_LATENT : ROWS_OF_DATA;
}

/* y of rows, kept aside (to = aside) or put back. */
static void copy_y(const model *m, int rows, double *state, double *aside, int put_back) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->flow->dim_x, dim_y = (size_t)m->flow->dim_y;
    for (size_t s = 0; s < (size_t)rows; s++) {
        double *y = state + s * dim + dim_x, *kept = aside + s * dim_y;
        memcpy(put_back ? y : kept, put_back ? kept : y, dim_y * sizeof *y);
    }
}

/* Passes through the model. Ranks take some of the rows each. */
struct passes {
    const model *m;
    pass_fn go;
    row_content content; /* what goes in; the other one comes out */
    long n;
    int chunk;
    double *state, *logdet; /* logdet may be NULL */
    flow_run *run;
    double *aside; /* y where it is kept aside */
    scalar *terms; /* an objective's, and those of each chunk (chunks, TERM_COUNT); NULL: not asked for */
    double *terms_of;
};

/* That of data -> latent, whichever way the flow runs. */
static void get_logdet(const model *m, const flow_run *run, int rows, double *logdet) {
    m->d->kind->get(m->d, logdet, run->logdet, (size_t)rows);
    for (int s = 0; s < rows && !model_is_encoder(m); s++) logdet[s] = -logdet[s];
}

static jf_status pass_chunk(passes *p, long at, int rows) {
    const model *m = p->m;
    const device_kind *k = m->d->kind;
    double *part = p->state + (size_t)at * (size_t)m->flow->dim;
    double *logdet = p->logdet ? p->logdet + at : NULL;
    if (p->aside) copy_y(m, rows, part, p->aside, 0);
    flow_run_put_rows(p->run, rows, part);
    p->go(p, rows);
    flow_run_get_rows(p->run, rows, part);
    if (p->aside) copy_y(m, rows, part, p->aside, 1);
    if (logdet) get_logdet(m, p->run, rows, logdet);
    if (p->terms) k->get_scalars(m->d, p->terms_of + at / p->chunk * TERM_COUNT, p->terms, TERM_COUNT);
    JF_TRY(k->status(m->d));
    return model_check_results(m, other_content(p->content), at, rows, part, logdet);
}

static jf_status pass_rows(void *arg, size_t begin, size_t end) {
    passes *p = arg;
    for (long at = (long)begin; at < (long)end; at += p->chunk) {
        JF_TRY(context_poll(p->m->ctx, "rows", (uint64_t)at, (uint64_t)p->n));
        JF_TRY(pass_chunk(p, at, (long)end - at < p->chunk ? (int)((long)end - at) : p->chunk));
    }
    return JF_OK;
}

static jf_status run_passes(passes *p) {
    const model *m = p->m;
    ranks_rows rows[] = {{p->state, (size_t)m->flow->dim * sizeof(double)}, {p->logdet, sizeof(double)}};
    JF_TRY(model_check_rows(m, p->content, 0, p->n, p->state));
    if (m->flow->apart) JF_TRY(MEM_NEW(m->ctx, &p->aside, (size_t)p->chunk * (size_t)m->flow->dim_y));
    jf_status status = take_run(m, &p->run, p->chunk);
    /* A row comes out the same whatever is beside it; sums of an objective are those of whole chunks. */
    size_t unit = p->terms ? (size_t)p->chunk : 1;
    if (status == JF_OK) status = ranks_divide(ranks_of(m->ctx), (size_t)p->n, unit, pass_rows, p, rows, 2);
    free(p->aside);
    give_back(m, p->run);
    return status;
}

static void pass_rows_through(passes *p, int rows) {
    model_run_pass(p->m, p->content, p->run, &p->run->pass, rows);
}

static void pass_objective(passes *p, int rows) {
    const objective *o = &p->m->objective;
    const double none[TERM_COUNT] = {0};
    p->m->d->kind->put_scalars(p->m->d, p->terms, none, TERM_COUNT);
    o->kind->evaluate(o, p->run, rows, 1 / (double)p->n, p->terms);
}

static jf_status run_all(const model *m, row_content content, long n, double *state, double *logdet) {
    return run_passes(&(passes){.m = m,
                                .go = pass_rows_through,
                                .content = content,
                                .n = n,
                                .chunk = model_chunk(m, n),
                                .state = state,
                                .logdet = logdet});
}

jf_status model_forward(const model *m, long n, double *state, double *logdet) {
    return run_all(m, ROWS_OF_DATA, n, state, logdet);
}

jf_status model_inverse(const model *m, long n, double *state, double *logdet) {
    return run_all(m, ROWS_OF_LATENT, n, state, logdet);
}

/* Squares of a device's numbers may be beyond them where the numbers are not: names the row that went
 * furthest. */
static jf_status check_terms(const model *m, row_content result, long n, const double *state,
                             const loss_terms *terms) {
    size_t count = (size_t)n * (size_t)m->flow->dim, most = 0;
    if (count_finite(terms->value, TERM_COUNT) == TERM_COUNT) return JF_OK;
    for (size_t i = 0; i < count; i++)
        if (fabs(state[i]) > fabs(state[most])) most = i;
    place p = place_of(m, result, 0, most);
    return jf_fail(m->ctx, JF_ERROR_NUMERIC,
                   "the loss of %ld rows is not finite; furthest off is row %ld, whose %s%d becomes %g", n,
                   p.row, p.name, p.index, state[most]);
}

/* Sums of the chunks, in their order, whoever had them. */
static jf_status add_terms(const passes *p, loss_terms *terms) {
    long chunks = (p->n + p->chunk - 1) / p->chunk;
    JF_TRY(ranks_sum_doubles(ranks_of(p->m->ctx), p->terms_of, (size_t)chunks * TERM_COUNT));
    *terms = (loss_terms){0};
    for (long c = 0; c < chunks; c++)
        for (int i = 0; i < TERM_COUNT; i++) terms->value[i] += p->terms_of[c * TERM_COUNT + i];
    loss_terms_total(terms);
    return check_terms(p->m, other_content(p->content), p->n, p->state, terms);
}

jf_status model_evaluate(const model *m, long n, double *state, double *logdet, loss_terms *terms) {
    passes p = {.m = m,
                .go = pass_objective,
                .content = model_is_encoder(m) ? ROWS_OF_DATA : ROWS_OF_LATENT,
                .n = n,
                .chunk = model_chunk(m, n),
                .state = state,
                .logdet = logdet};
    size_t chunks = ((size_t)n + (size_t)p.chunk - 1) / (size_t)p.chunk;
    JF_TRY(MEM_NEW(m->ctx, &p.terms_of, chunks * TERM_COUNT)); /* those of others stay 0 */
    jf_status status = m->d->kind->alloc_scalars(m->d, &p.terms, TERM_COUNT);
    if (status == JF_OK) status = run_passes(&p);
    if (status == JF_OK) status = add_terms(&p, terms);
    if (p.terms) m->d->kind->release_scalars(m->d, p.terms);
    free(p.terms_of);
    return status;
}

/* ---- ranks ---- */

jf_status model_check_same(const model *m, const char *what) {
    ranks *r = ranks_of(m->ctx);
    size_t count = m->parameters.total;
    char sum[CHECKSUM_TEXT];
    double *weights;
    if (ranks_size(r) == 1) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &weights, count));
    m->d->kind->get(m->d, weights, m->params, count);
    checksum_text(sum, checksum_add(checksum_start(), weights, count * sizeof *weights));
    free(weights);
    return ranks_same(r, what, sum);
}

/* ---- rows in either units ---- */

/* Converts y alone. */
static void y_units(const model_units *u, long n, double *rows, row_units to) {
    size_t dim_x = (size_t)u->dim_x, dim = dim_x + (size_t)u->dim_y;
    for (size_t s = 0; s < (size_t)n; s++)
        for (size_t i = dim_x; i < dim; i++) {
            double *v = &rows[s * dim + i];
            *v = to == MODEL_UNITS ? units_to_model(u, (int)i, *v) : units_to_data(u, (int)i, *v);
        }
}

/* "obs1 is 7.2, 2.3 deviations beyond the data's -1 to 4; " */
static void describe_element(const model *m, const double *y, int element, double off, char *out,
                             size_t size) {
    const model_units *u = &m->units;
    int at = u->dim_x + element;
    char name[32];
    format_text(name, sizeof name, "y%d", element);
    format_text(out, size, "%s is %.6g, %.3g deviations beyond the %.6g to %.6g of the data; ",
                u->names ? u->names[at] : name, units_to_data(u, at, y[element]), off,
                units_to_data(u, at, u->condition_range->lo[element]),
                units_to_data(u, at, u->condition_range->hi[element]));
}

/* The row whose y is furthest beyond the data. */
typedef struct furthest_y {
    long count, row; /* rows that are beyond, and which of them */
    double how_far, off;
    int element;
    double *y; /* (dim_y) of it, model units */
} furthest_y;

static void find_furthest(const model *m, row_units units, long n, const double *rows, double *y,
                          furthest_y *out) {
    const model_units *u = &m->units;
    size_t dim = (size_t)m->flow->dim, dim_y = (size_t)u->dim_y;
    for (long s = 0; s < n; s++) {
        const double *given = rows + (size_t)s * dim + u->dim_x;
        furthest_y found = {.count = out->count + 1, .row = s, .y = out->y};
        for (int i = 0; i < u->dim_y; i++)
            y[i] = units == MODEL_UNITS ? given[i] : units_to_model(u, u->dim_x + i, given[i]);
        if (!condition_range_excludes(u->condition_range, y, &found.element, &found.off)) continue;
        found.how_far = fmax(found.off, condition_range_distance(u->condition_range, y));
        if (out->count++ > 0 && !(found.how_far > out->how_far)) continue;
        memcpy(out->y, y, dim_y * sizeof *y);
        *out = found;
    }
}

/* In which way y, model units, is beyond the data: by its range, by its distance, or both; each part ends
 * with "; ". */
static void describe_beyond(const model *m, const double *y, int element, double off, char *out,
                            size_t size) {
    const condition_range *r = m->units.condition_range;
    char words[256] = "", distance[192] = "";
    if (element >= 0) describe_element(m, y, element, off, words, sizeof words);
    if (r->whiten)
        format_text(distance, sizeof distance,
                    "its Mahalanobis distance is %.3g, of the data 99%% are within %.3g and the furthest is "
                    "at %.3g; ",
                    condition_range_distance(r, y), r->near, r->far);
    format_text(out, size, "%s%s", words, distance);
}

static void tell_furthest(const model *m, long n, const furthest_y *f) {
    char words[512];
    describe_beyond(m, f->y, f->element, f->off, words, sizeof words);
    jf_warn(m->ctx,
            "y of %ld of %ld row%s lies beyond the data that the model was trained on, furthest in row %ld: "
            "%sanswers "
            "there are extrapolated and may mean nothing",
            f->count, n, n == 1 ? "" : "s", f->row + 1, words);
}

int model_describe_beyond(const model *m, const double *y, char *out, size_t size) {
    int element;
    double off;
    out[0] = '\0';
    if (!m->units.condition_range || !condition_range_excludes(m->units.condition_range, y, &element, &off))
        return 0;
    describe_beyond(m, y, element, off, out, size);
    return 1;
}

jf_status model_warn_of_condition_range(const model *m, row_units units, long n, const double *rows) {
    furthest_y f = {0};
    double *y;
    size_t dim_y = (size_t)m->units.dim_y;
    if (!m->units.condition_range) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &y, 2 * dim_y));
    f.y = y + dim_y;
    find_furthest(m, units, n, rows, y, &f);
    if (f.count > 0) tell_furthest(m, n, &f);
    free(y);
    return JF_OK;
}

jf_status model_encode(const model *m, row_units units, long n, double *rows) {
    if (units == DATA_UNITS) {
        JF_TRY(model_check_support(m, ROWS_OF_DATA, n, rows));
        units_standardise(&m->units, (int)n, rows);
    }
    JF_TRY(model_forward(m, n, rows, NULL));
    if (units == DATA_UNITS) y_units(&m->units, n, rows, DATA_UNITS);
    return model_check_results(m, ROWS_OF_LATENT, 0, n, rows, NULL);
}

jf_status model_decode(const model *m, row_units units, long n, double *rows) {
    if (units == DATA_UNITS) {
        JF_TRY(model_check_support(m, ROWS_OF_LATENT, n, rows));
        y_units(&m->units, n, rows, MODEL_UNITS);
    }
    JF_TRY(model_inverse(m, n, rows, NULL));
    if (units == DATA_UNITS) units_unstandardise(&m->units, (int)n, rows);
    return model_check_results(m, ROWS_OF_DATA, 0, n, rows, NULL);
}

/* ---- samples ---- */

jf_status model_sample(const model *m, latent_points from, row_units units, long n, double *rows, double *z) {
    if (units == DATA_UNITS) {
        JF_TRY(model_check_support(m, ROWS_OF_LATENT, n, rows));
        y_units(&m->units, n, rows, MODEL_UNITS);
    }
    JF_TRY(model_answer(m, from, n, rows, z, NULL));
    if (units == DATA_UNITS) units_unstandardise(&m->units, (int)n, rows);
    return model_check_results(m, ROWS_OF_DATA, 0, n, rows, NULL);
}
