#include "train/batches.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- which rows ---- */

/* Classes of a file take turns, as far as their sizes allow: the next batch is of the class that is furthest
 * behind its share of the epoch, of several the first in `order`. Batches of one class in a row would pull y'
 * to its label. Which class batch `at` is of, and which of its batches. */
static int file_batch_class(const model *m, const dataset *data, const int *order, int at,
                            int *batch_of_class) {
    int batches[MAX_CLASSES], taken[MAX_CLASSES] = {0}, total = 0, next = order[0];
    for (int c = 0; c < data->classes; c++) total += batches[c] = phase_class_batches(m, data, c);
    for (int b = 0; b <= at && b < total; b++) {
        double most = -1;
        for (int i = 0; i < data->classes; i++) {
            int c = order[i];
            double behind = (double)batches[c] * (b + 1) / total - taken[c];
            if (taken[c] == batches[c] || behind <= most + 1e-9) continue;
            most = behind;
            next = c;
        }
        taken[next]++;
    }
    *batch_of_class = taken[next] > 0 ? taken[next] - 1 : 0;
    return next;
}

/* The class of a batch, and the first sample to draw of it. Classes take turns in an order shuffled every
 * epoch. */
static int batch_class(const model *m, const dataset *data, const batch_key *key, int n, uint64_t *first) {
    *first = (uint64_t)key->batch * (uint64_t)n;
    if (!phase_by_class(m, data)) return -1;
    int order[MAX_CLASSES], batch_of_class;
    for (int c = 0; c < data->classes; c++) order[c] = c;
    rng r = rng_stream((rng_key){m->seed, RNG_SHUFFLE, key->epoch}, 0);
    rng_shuffle(&r, order, data->classes);
    if (data->rows == 0) return order[key->batch % data->classes];
    int c = file_batch_class(m, data, order, key->batch, &batch_of_class);
    *first = (uint64_t)batch_of_class * (uint64_t)n;
    return c;
}

static batch_request request(const model *m, const batch_key *key, int n) {
    return (batch_request){
        .n = n,
        .class_index = -1,
        .order = {m->seed, RNG_DATA, key->epoch},
        .row = {m->seed, RNG_ROW, key->epoch},
        .share = m->objective.kind->from_data
                     ? key->phase->data_share(key->phase_epoch, phase_epochs(key->phase, m))
                     : 0,
        .alpha = recipe_real(m->recipe, "train.noise"),
        .y_noise = recipe_real(m->recipe, "train.y_noise"),
        .noise = {m->seed, RNG_NOISE, key->epoch},
    };
}

batch_request batch_of(const model *m, const dataset *data, const batch_key *key, int n) {
    batch_request q = request(m, key, n);
    q.noise_first = (uint64_t)key->batch * (uint64_t)n;
    if (q.share > 0) q.class_index = batch_class(m, data, key, n, &q.first);
    return q;
}

batch_request batch_mixed(const model *m, const phase *p, int n) {
    return request(m, &(batch_key){.phase = p, .phase_epoch = 1}, n);
}

batch_request batch_validation(const model *m, const batch_key *key, long first, int n) {
    batch_request q = request(m, key, n);
    q.validation = 1;
    q.first = q.noise_first = (uint64_t)first;
    q.row = (rng_key){DATASET_FIXED_SEED, RNG_ROW, 0};
    q.noise = (rng_key){m->seed, RNG_JUDGE, 0};
    return q;
}

batch_request batch_part(const batch_request *q, int from, int count) {
    batch_request part = *q;
    part.n = count;
    part.first += (uint64_t)from;
    part.noise_first += (uint64_t)from;
    return part;
}

static int same_key(rng_key a, rng_key b) {
    return a.seed == b.seed && a.purpose == b.purpose && a.epoch == b.epoch;
}

static int same_request(const batch_request *a, const batch_request *b) {
    return a->n == b->n && a->validation == b->validation && a->class_index == b->class_index &&
           a->first == b->first && same_key(a->order, b->order) && same_key(a->row, b->row) &&
           a->share == b->share && a->alpha == b->alpha && a->y_noise == b->y_noise &&
           same_key(a->noise, b->noise) && a->noise_first == b->noise_first;
}

/* ---- rows, made by the host ---- */

size_t batch_scratch(const dataset *data) {
    return data ? (size_t)dataset_dim(data) + data->scratch : 0;
}

/* Sample i of the batch; a plain flow leaves y of the data out. scratch: the row of the data, and what it is
 * made with. */
static void take_row(const model *m, const dataset *data, const batch_request *q, int i, double *scratch,
                     double *row) {
    size_t dim = (size_t)(m->units.dim_x + m->units.dim_y);
    row_sequence sequence = {q->order, q->class_index, q->validation};
    dataset_rows(data, &sequence, q->first + (uint64_t)i, 1, scratch + dataset_dim(data), scratch);
    dataset_standardise(data, 1, scratch);
    memcpy(row, scratch, dim * sizeof *row);
}

static void add_noise(const model *m, const batch_request *q, int i, double *row) {
    int dim = m->units.dim_x + m->units.dim_y;
    rng r = rng_stream(q->noise, q->noise_first + (uint64_t)i);
    for (int k = 0; k < dim; k++) {
        double prior = q->share < 1 ? rng_normal(&r) : 0, noise = q->share > 0 ? rng_normal(&r) : 0;
        row[k] = batch_mix(q, row[k], noise, prior);
    }
    if (q->share > 0 && q->y_noise > 0)
        for (int k = m->units.dim_x; k < dim; k++) row[k] += q->y_noise * rng_normal(&r);
}

void batch_rows(const model *m, const dataset *data, const batch_request *q, int from, int count,
                double *scratch, double *rows) {
    size_t dim = (size_t)(m->units.dim_x + m->units.dim_y);
    for (int i = from; i < from + count; i++, rows += dim) {
        if (q->share > 0) take_row(m, data, q, i, scratch, rows);
        if (batch_is_mixed(q)) add_noise(m, q, i, rows);
    }
}

/* ---- to the device ---- */

/* The host makes a batch in pieces of so many numbers, about: some tens of microseconds each, so that a
 * thread that makes one is soon there for the step, which goes first. */
#define PIECE_NUMBERS 512

struct feed {
    const model *m;
    const dataset *data;
    flow_run *run;
    device_data *resident; /* NULL: the device does not hold the data, and the host needs: */
    int32_t *order;        /* (dim) flow_row_element() of each element of a state */
    double *states;        /* (n_max, dim): the batch that was made last, or is being made */
    double *scratch;       /* (pieces, piece_scratch) */
    size_t piece_scratch;
    int piece;             /* samples in a piece */
    batch_request request; /* of the states, n = 0: none */
    int under_way;         /* in the background */
};

static jf_status offer_data(feed *b) {
    device *d = b->m->d;
    resident_data data;
    if (!d->kind->data_open || !dataset_resident(b->data, &data)) return JF_OK;
    data.model_y = b->m->units.dim_y;
    data.order = b->order;
    return d->kind->data_open(d, &b->resident, &data);
}

static jf_status fill_in(feed *b) {
    const flow *f = b->m->flow;
    size_t dim = (size_t)f->dim, n = (size_t)b->run->n_max;
    JF_TRY(MEM_NEW(b->m->ctx, &b->order, dim));
    for (int i = 0; i < f->dim; i++) b->order[i] = flow_row_element(f, i);
    JF_TRY(offer_data(b));
    if (b->resident) return JF_OK;
    b->piece = f->dim < PIECE_NUMBERS ? PIECE_NUMBERS / f->dim : 1;
    size_t pieces = (n + (size_t)b->piece - 1) / (size_t)b->piece;
    b->piece_scratch = dim + batch_scratch(b->data);
    JF_TRY(MEM_NEW(b->m->ctx, &b->scratch, pieces * b->piece_scratch));
    return MEM_NEW(b->m->ctx, &b->states, n * dim);
}

jf_status feed_create(feed **out, const model *m, const dataset *data, flow_run *run) {
    feed *b;
    *out = NULL;
    JF_TRY(MEM_NEW(m->ctx, &b, 1));
    *b = (feed){.m = m, .data = data, .run = run};
    jf_status status = data ? fill_in(b) : JF_OK;
    if (status != JF_OK) {
        feed_free(b);
        return status;
    }
    *out = b;
    return JF_OK;
}

/* A piece of the batch; rows become states on the way. */
static void make_piece(void *arg, int piece, int worker) {
    const feed *b = arg;
    (void)worker;
    int n = b->request.n, dim = b->m->flow->dim, from = piece * b->piece;
    double *row = b->scratch + (size_t)piece * b->piece_scratch,
           *state = b->states + (size_t)from * (size_t)dim;
    for (int i = from; i < n && i < from + b->piece; i++, state += dim) {
        batch_rows(b->m, b->data, &b->request, i, 1, row + dim, row);
        for (int k = 0; k < dim; k++) state[k] = row[b->order[k]];
    }
}

static int pieces_of(const feed *b) {
    return (b->request.n + b->piece - 1) / b->piece;
}

static void finish(feed *b) {
    if (b->under_way) b->m->d->kind->background_wait(b->m->d);
    b->under_way = 0;
}

void feed_free(feed *b) {
    if (!b) return;
    device *d = b->m->d;
    finish(b);
    if (b->resident) d->kind->data_close(d, b->resident);
    free(b->order);
    free(b->scratch);
    free(b->states);
    free(b);
}

/* With all threads, where the device lends them. */
static void make(feed *b, const batch_request *q) {
    device *d = b->m->d;
    b->request = *q;
    if (d->kind->background) {
        d->kind->background(d, pieces_of(b), make_piece, b);
        d->kind->background_wait(d);
    } else {
        for (int piece = 0; piece < pieces_of(b); piece++) make_piece(b, piece, 0);
    }
}

void feed_begin(feed *b, const batch_request *q) {
    device *d = b->m->d;
    if (q->share == 0 || b->resident || !d->kind->background) return;
    finish(b);
    b->request = *q;
    b->under_way = 1;
    d->kind->background(d, pieces_of(b), make_piece, b);
}

void feed_take(feed *b, const batch_request *q) {
    device *d = b->m->d;
    if (q->share == 0) {
        flow_run_draw_rows(b->run, q->n, q->noise, q->noise_first);
        return;
    }
    if (b->resident) {
        d->kind->data_batch(d, b->resident, q, b->run->state);
        return;
    }
    finish(b);
    if (!same_request(&b->request, q)) make(b, q);
    flow_run_put(b->run, q->n, b->states);
}
