/* Laws on the cpu device: pieces of the batch over the pool. What is summed over samples (the gradient of the
 * scale, of a shared law those of A and b) is summed by piece, and the pieces in their order. */
#include "compute/cpu/cpu.h"
#include <string.h>

typedef float num;
#include "compute/law/law_formulas.h"

#define MAX_PIECES 64
#define PIECE_WORK 4096 /* a piece is worth a task from about so many elements and parameters on */

typedef struct law_call {
    const law_batch *c;
    const law_functions *f;
    pass_kind kind;
    float *u, *du, *logdet, *dA, *db;
    const float *dlogdet;
    int pieces;
    size_t na, nb;
    double ds[MAX_PIECES]; /* one number of the whole batch: terms of both signs */
    float
        *partial; /* (pieces, stride): dA and then db of each, of a shared law in several pieces; else NULL */
    size_t stride;
    meter *meters;
} law_call;

/* Of whole samples, by sizes alone. */
static int pieces_of(const law_call *k) {
    double pieces = (double)k->c->n * k->c->rows * (double)(k->na + (size_t)k->c->m) / PIECE_WORK;
    size_t fit = k->f->shared ? CPU_PARTIAL / (k->stride + 1) : MAX_PIECES;
    if (pieces > (double)fit) pieces = (double)fit;
    if (pieces > k->c->n) pieces = k->c->n;
    return pieces > MAX_PIECES ? MAX_PIECES : pieces < 1 ? 1 : (int)pieces;
}

/* Row i, of sample s, on the way there. */
static void apply(law_call *k, size_t i, size_t s) {
    const law_batch *c = k->c;
    size_t own = k->f->shared ? 0 : i; /* its own A and b, or those of all */
    const float *A = (const float *)c->A + own * k->na, scale = c->s ? *(const float *)c->s : 0;
    const float *b = c->b ? (const float *)c->b + own * k->nb : NULL;
    float *u = k->u + i * (size_t)c->m;
    k->logdet[s] += k->kind == PASS_FORWARD ? k->f->forward(&c->law, c->m, A, b, scale, u)
                                            : k->f->inverse(&c->law, c->m, A, b, scale, u);
}

/* Row i, of sample s, in the backward pass. */
static void apply_back(law_call *k, int piece, size_t i, size_t s) {
    const law_batch *c = k->c;
    size_t own = k->f->shared ? 0 : i, at = i * (size_t)c->m;
    const float *A = (const float *)c->A + own * k->na, scale = c->s ? *(const float *)c->s : 0;
    const float *b = c->b ? (const float *)c->b + own * k->nb : NULL;
    float *dA = k->dA ? k->dA + own * k->na : NULL, *db = k->db ? k->db + own * k->nb : NULL;
    if (k->partial) {
        dA = k->partial + (size_t)piece * k->stride;
        db = dA + k->na;
    }
    float ds = 0;
    k->f->backward(&c->law, c->m, A, b, scale, k->u + at, k->du + at, k->dlogdet[s], dA, db, &ds);
    k->ds[piece] += ds;
}

static void law_piece(void *arg, int piece, int worker) {
    law_call *k = arg;
    meter *m = meter_of(k->meters, worker);
    double start = meter_begin(m);
    size_t rows = (size_t)k->c->rows, end = (size_t)cpu_slice_begin(k->c->n, k->pieces, piece + 1);
    if (k->partial) memset(k->partial + (size_t)piece * k->stride, 0, k->stride * sizeof(float));
    for (size_t s = (size_t)cpu_slice_begin(k->c->n, k->pieces, piece); s < end; s++)
        for (size_t i = s * rows; i < (s + 1) * rows; i++)
            if (k->kind == PASS_BACKWARD)
                apply_back(k, piece, i, s);
            else
                apply(k, i, s);
    meter_end(m, k->kind == PASS_BACKWARD ? METER_LAW_BACK : METER_LAW, start, 0);
}

/* Every piece adds to gradients of its own, which are summed in the order of the pieces. */
static void law_run_summed(cpu_device *own, law_call *k) {
    process_lock_take(&own->partial_lock);
    k->partial = own->partial;
    pool_run(own->pool, k->pieces, law_piece, k);
    own->kernels->add_parts(k->dA, k->partial, k->stride, k->pieces, k->na);
    if (k->nb) own->kernels->add_parts(k->db, k->partial + k->na, k->stride, k->pieces, k->nb);
    process_lock_release(&own->partial_lock);
}

static void law_run(device *d, law_call *k) {
    cpu_device *own = d->own;
    const law_batch *c = k->c;
    k->f = &law_formulas[c->law.id];
    k->na = (size_t)k->f->outputs(&c->law, c->m);
    k->nb = (size_t)law_shifts(&c->law, c->m);
    k->stride = cpu_whole_lines(k->na + k->nb);
    k->pieces = pieces_of(k);
    k->meters = own->meters;
    if (k->f->shared && k->kind == PASS_BACKWARD && k->pieces > 1)
        law_run_summed(own, k);
    else
        pool_run(own->pool, k->pieces, law_piece, k);
}

void cpu_law_forward(device *d, const law_batch *c, real *u, real *logdet) {
    law_run(d, &(law_call){.c = c, .kind = PASS_FORWARD, .u = (float *)u, .logdet = (float *)logdet});
}
void cpu_law_inverse(device *d, const law_batch *c, real *v, real *logdet) {
    law_run(d, &(law_call){.c = c, .kind = PASS_INVERSE, .u = (float *)v, .logdet = (float *)logdet});
}
void cpu_law_backward(device *d, const law_batch *c, real *v, real *dv, const real *dlogdet, real *dA,
                      real *db, real *ds) {
    law_call k = {.c = c,
                  .kind = PASS_BACKWARD,
                  .u = (float *)v,
                  .du = (float *)dv,
                  .dlogdet = (const float *)dlogdet,
                  .dA = (float *)dA,
                  .db = (float *)db};
    double sum = 0;
    law_run(d, &k);
    for (int i = 0; i < k.pieces; i++) sum += k.ds[i];
    if (ds) *(float *)ds += (float)sum;
}
