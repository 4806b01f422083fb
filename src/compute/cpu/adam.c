/* The optimiser of the cpu device, whole and in parts, and what else walks along flat buffers. */
#include "base/tree.h"
#include "compute/cpu/cpu.h"
#include <string.h>

static float *N(real *p) {
    return (float *)p;
}
static const float *C(const real *p) {
    return (const float *)p;
}

/* Long arrays are cut into blocks of this many numbers: tasks for the pool, and the order of the sums. */
#define BLOCK     16384
#define ADD_BLOCK 1024 /* of sums over several arrays */

typedef struct block_call {
    const cpu_kernels *k;
    float *p, *g, *m, *v, *average;
    const float *decays;
    size_t count;
    const adam_numbers *step;
    double *sums; /* (pieces) */
    size_t piece; /* numbers of a piece */
    real *const
        *parts; /* (parts_count), each `count` from parts_at on: gradients that are added up; NULL: none */
    int parts_count;
    size_t parts_at;
    float value;
    meter *meters;
} block_call;

static size_t block_end(const block_call *c, int block) {
    size_t end = (size_t)(block + 1) * BLOCK;
    return end < c->count ? end : c->count;
}
/* Its gradient is cleared while it is at hand; one that was added up of parts is overwritten by the next. */
static void adam_block(void *arg, int block, int worker) {
    block_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    size_t at = (size_t)block * BLOCK;
    size_t count = block_end(c, block) - at;
    if (c->decays) c->k->decay(c->p + at, c->decays + at, count, c->step);
    c->k->adam(c->p + at, c->g + at, c->m + at, c->v + at, count, c->step);
    if (c->average) c->k->average(c->average + at, c->p + at, count, c->step);
    if (!c->parts) memset(c->g + at, 0, count * sizeof *c->g);
    meter_end(m, METER_ADAM, start, 0);
}
/* Squares are summed in at most ADAM_PIECES pieces of whole blocks, so that their sums need no memory that could be missing. */
size_t cpu_adam_piece(const device *d, size_t count) {
    size_t blocks = (count + BLOCK - 1) / BLOCK;
    (void)d;
    return BLOCK * ((blocks + ADAM_PIECES - 1) / ADAM_PIECES);
}
static int pieces_of(size_t count, size_t piece) {
    return count ? (int)((count + piece - 1) / piece) : 0;
}

/* A block at a time, which stays in the cache until it is cleared. */
static void add_up(const block_call *c, size_t at, size_t count) {
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < ADD_BLOCK ? count - done : ADD_BLOCK;
        size_t from = c->parts_at + at + done;
        tree_sum_floats(c->g + at + done, (const float *const *)c->parts, c->parts_count, from, n);
        for (int i = 0; i < c->parts_count; i++) memset(N(c->parts[i]) + from, 0, n * sizeof(float));
    }
}

static void sum_piece(void *arg, int piece, int worker) {
    block_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    size_t at = (size_t)piece * c->piece, left = c->count - at, count = left < c->piece ? left : c->piece;
    if (c->parts) add_up(c, at, count);
    c->sums[piece] = c->k->sum_squares(c->g + at, count);
    meter_end(m, METER_ADAM, start, 0);
}

static double sum_of_squares(device *d, block_call *c) {
    double sums[ADAM_PIECES], total = 0;
    c->sums = sums;
    c->piece = cpu_adam_piece(d, c->count);
    int pieces = pieces_of(c->count, c->piece);
    pool_run(((cpu_device *)d->own)->pool, pieces, sum_piece, c);
    for (int i = 0; i < pieces; i++) total += sums[i];
    return total;
}

static void fill_block(void *arg, int block, int worker) {
    block_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    for (size_t i = (size_t)block * BLOCK; i < block_end(c, block); i++) c->p[i] = c->value;
    meter_end(m, METER_MOVE, start, 0);
}

void cpu_fill(device *d, real *to, double value, size_t count) {
    cpu_device *own = d->own;
    block_call c = {.p = N(to), .count = count, .value = (float)value, .meters = own->meters};
    pool_run(own->pool, (int)((count + BLOCK - 1) / BLOCK), fill_block, &c);
}

static adam_numbers numbers_of(const adam_step *a) {
    return (adam_numbers){
        .beta1 = a->beta1, .beta2 = a->beta2, .epsilon = a->epsilon, .decay = a->decay, .average = a->share};
}

void cpu_adam(device *d, const adam_step *a) {
    cpu_device *own = d->own;
    int blocks = (int)((a->count + BLOCK - 1) / BLOCK);
    adam_numbers step = numbers_of(a);
    block_call c = {.k = own->kernels,
                    .p = N(a->params),
                    .g = N(a->grad),
                    .m = N(a->first),
                    .v = N(a->second),
                    .average = N(a->average),
                    .decays = C(a->decays),
                    .count = a->count,
                    .step = &step,
                    .meters = own->meters};
    double squares = sum_of_squares(d, &c);
    if (step_begin((step_state *)a->state, squares, (const double *)a->terms, a->term_count, a->clip, &step))
        pool_run(own->pool, blocks, adam_block, &c);
    else
        cpu_fill(d, a->grad, 0, a->count);
}

/* The numbers of a part, which begin at a piece and so at a block: the blocks are those of the whole. */
static block_call shard_call(const device *d, const adam_shard *s, const adam_numbers *step) {
    const cpu_device *own = d->own;
    const adam_step *a = &s->step;
    size_t piece = cpu_adam_piece(d, a->count), at = (size_t)s->begin * piece, end = (size_t)s->end * piece;
    return (block_call){.k = own->kernels,
                        .p = N(a->params) + at,
                        .g = N(s->sum),
                        .m = N(a->first) + at,
                        .v = N(a->second) + at,
                        .average = a->average ? N(a->average) + at : NULL,
                        .decays = a->decays ? C(a->decays) + at : NULL,
                        .count = (end < a->count ? end : a->count) - at,
                        .step = step,
                        .sums = s->squares + s->begin,
                        .piece = piece,
                        .parts = s->grads,
                        .parts_count = s->ranks,
                        .parts_at = at,
                        .meters = own->meters};
}

void cpu_adam_shard_sum(device *d, const adam_shard *s) {
    if (s->begin == s->end) return;
    block_call c = shard_call(d, s, NULL);
    pool_run(((cpu_device *)d->own)->pool, s->end - s->begin, sum_piece, &c);
}

void cpu_adam_shard_step(device *d, const adam_shard *s) {
    const adam_step *a = &s->step;
    adam_numbers step = numbers_of(a);
    int pieces = pieces_of(a->count, cpu_adam_piece(d, a->count));
    double squares = 0;
    for (int i = 0; i < pieces; i++) squares += s->squares[i];
    int taken =
        step_begin((step_state *)a->state, squares, (const double *)a->terms, a->term_count, a->clip, &step);
    if (!taken || s->begin == s->end) return;
    block_call c = shard_call(d, s, &step);
    pool_run(((cpu_device *)d->own)->pool, (int)((c.count + BLOCK - 1) / BLOCK), adam_block, &c);
}
