/* The optimiser of the cpu device, and other loops over flat buffers. */
#include "compute/cpu/cpu.h"
#include <string.h>

static float *N(real *p) {
    return (float *)p;
}
static const float *C(const real *p) {
    return (const float *)p;
}

/* Long arrays are cut into blocks of this many numbers: tasks for the pool, and the order of the sums. */
#define BLOCK       16384
#define ADAM_PIECES 256 /* of a sum of squares, at most */

typedef struct block_call {
    const cpu_kernels *k;
    float *p, *g, *m, *v, *average;
    const float *decays;
    size_t count;
    const adam_numbers *step;
    double *sums; /* (pieces) */
    size_t piece; /* numbers of a piece */
    float value;
    meter *meters;
} block_call;

static size_t block_end(const block_call *c, int block) {
    size_t end = (size_t)(block + 1) * BLOCK;
    return end < c->count ? end : c->count;
}
/* Clears the gradient while it is in the cache. */
static void adam_block(void *arg, int block, int worker) {
    block_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    size_t at = (size_t)block * BLOCK;
    size_t count = block_end(c, block) - at;
    if (c->decays) c->k->decay(c->p + at, c->decays + at, count, c->step);
    c->k->adam(c->p + at, c->g + at, c->m + at, c->v + at, count, c->step);
    if (c->average) c->k->average(c->average + at, c->p + at, count, c->step);
    memset(c->g + at, 0, count * sizeof *c->g);
    meter_end(m, METER_ADAM, start, 0);
}
/* Squares are summed in at most ADAM_PIECES pieces of whole blocks, so that their sums need no memory that
 * could be missing. */
static size_t piece_of(size_t count) {
    size_t blocks = (count + BLOCK - 1) / BLOCK;
    return BLOCK * ((blocks + ADAM_PIECES - 1) / ADAM_PIECES);
}
static void sum_piece(void *arg, int piece, int worker) {
    block_call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    size_t at = (size_t)piece * c->piece, left = c->count - at, count = left < c->piece ? left : c->piece;
    c->sums[piece] = c->k->sum_squares(c->g + at, count);
    meter_end(m, METER_ADAM, start, 0);
}

static double sum_of_squares(device *d, block_call *c) {
    double sums[ADAM_PIECES], total = 0;
    c->sums = sums;
    c->piece = piece_of(c->count);
    int pieces = c->count ? (int)((c->count + c->piece - 1) / c->piece) : 0;
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

void cpu_adam(device *d, const adam_step *a) {
    cpu_device *own = d->own;
    int blocks = (int)((a->count + BLOCK - 1) / BLOCK);
    adam_numbers step = {
        .beta1 = a->beta1, .beta2 = a->beta2, .epsilon = a->epsilon, .decay = a->decay, .average = a->share};
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
