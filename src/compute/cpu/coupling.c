/* A whole coupling layer of dense networks on the cpu device: one parallel region a pass, and one more to sum
 * gradients.
 *
 * A slice of the batch goes through both networks and the law chunk by chunk. In the backward passes the
 * activations of a chunk are computed once, used by the law's gradient and by both networks, and never leave
 * the cache. Each slice has its own partial gradients, which are summed in the order of the slices. */
#include "compute/cpu/network.h"
#include <string.h>

typedef float num;
#include "compute/law/formulas.h"

typedef struct call {
    const dense_coupling *c;
    const cpu_kernels *k;
    const law_functions *law;
    pass_kind kind;
    int n, slices, na;
    float s, ds[CPU_SLICES];
    float *state, *dstate, *logdet, *grad;
    const float *dlogdet;
    network nets[2]; /* A, B */
    int ld;
    float *partial; /* (slices, stride) */
    size_t stride;
    float *work; /* (threads, work_count) */
    size_t work_count;
} call;

/* Scratch of one worker: blocks of CPU_CHUNK rows. Both networks share their input, h[0]. */
typedef struct scratch {
    float *h[2][NETWORK_MAX_LAYERS + 1];
    float *g, *g_next;
    float *A, *B, *dA, *dB, *u2, *du2, *du1; /* dense rows */
} scratch;

static size_t scratch_blocks(const call *c) {
    return (size_t)(c->nets[0].layers + c->nets[1].layers + 3);
}

static scratch carve(const call *c, int worker) {
    scratch s;
    size_t block = (size_t)CPU_CHUNK * (size_t)c->ld;
    float *at = c->work + (size_t)worker * c->work_count;
    for (int k = 0; k < 2; k++) {
        s.h[k][0] = at;
        for (int i = 0; i < c->nets[k].layers; i++)
            s.h[k][i + 1] = at + block * (size_t)(1 + i + (k ? c->nets[0].layers : 0));
    }
    s.g = at + block * (scratch_blocks(c) - 2);
    s.g_next = s.g + block;
    float *dense = s.g_next + block + CPU_MAX_VECTOR; /* kernels may read a vector past the last row */
    float **views[] = {&s.A, &s.B, &s.dA, &s.dB, &s.u2, &s.du2, &s.du1};
    int widths[] = {c->na, c->c->m, c->na, c->c->m, c->c->m, c->c->m, c->c->k};
    for (int i = 0; i < 7; i++) {
        *views[i] = dense;
        dense += (size_t)CPU_CHUNK * (size_t)widths[i];
    }
    return s;
}

/* (rows, count) of scratch rows out of or into dense rows. */
static void to_dense(float *to, const float *from, int rows, int count, int ld) {
    for (int r = 0; r < rows; r++)
        memcpy(to + (size_t)r * count, from + (size_t)r * ld, sizeof(float) * (size_t)count);
}
static void from_dense(float *to, const float *from, int rows, int count, int pad, int ld) {
    for (int r = 0; r < rows; r++) {
        memcpy(to + (size_t)r * ld, from + (size_t)r * count, sizeof(float) * (size_t)count);
        memset(to + (size_t)r * ld + count, 0, sizeof(float) * (size_t)(pad - count));
    }
}

/* u1 into h[0], u2 into its place, A and B from the networks. */
static void run_networks(const call *c, scratch *s, int at, int rows) {
    const dense_coupling *l = c->c;
    for (int r = 0; r < rows; r++) {
        const float *u = c->state + (size_t)(at + r) * l->dim;
        for (int i = 0; i < l->k; i++) s->h[0][0][(size_t)r * c->ld + i] = u[l->kept[i]];
        for (int i = 0; i < l->m; i++) s->u2[(size_t)r * l->m + i] = u[l->moved[i]];
    }
    float *outs[2] = {s->A, s->B};
    for (int k = 0; k < 2; k++) {
        network_forward(&c->nets[k], c->k, rows, s->h[k], c->nets[k].layers);
        to_dense(outs[k], s->h[k][c->nets[k].layers], rows, c->nets[k].net->out, c->ld);
    }
}

static void put_moved(const call *c, float *whole, const float *part, int at, int rows) {
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < c->c->m; i++)
            whole[(size_t)(at + r) * c->c->dim + c->c->moved[i]] = part[(size_t)r * c->c->m + i];
}

static void forward_chunk(const call *c, scratch *s, int at, int rows) {
    int m = c->c->m;
    num (*apply)(int, const num *, const num *, num, num *) =
        c->kind == PASS_FORWARD ? c->law->forward : c->law->inverse;
    for (int r = 0; r < rows; r++)
        c->logdet[at + r] +=
            apply(m, s->A + (size_t)r * c->na, s->B + (size_t)r * m, c->s, s->u2 + (size_t)r * m);
    put_moved(c, c->state, s->u2, at, rows);
}

static void backward_chunk(const call *c, scratch *s, int at, int rows, float *partial, int accumulate,
                           float *ds) {
    const dense_coupling *l = c->c;
    int m = l->m;
    for (int r = 0; r < rows; r++) {
        float *du = s->du2 + (size_t)r * m;
        for (int i = 0; i < m; i++) du[i] = c->dstate[(size_t)(at + r) * l->dim + l->moved[i]];
        (c->kind == PASS_BACKWARD ? c->law->backward : c->law->inverse_backward)(
            m, s->A + (size_t)r * c->na, s->B + (size_t)r * m, c->s, s->u2 + (size_t)r * m, du,
            c->dlogdet[at + r], s->dA + (size_t)r * c->na, s->dB + (size_t)r * m, ds);
    }
    put_moved(c, c->state, s->u2, at, rows);
    put_moved(c, c->dstate, s->du2, at, rows);
    const float *douts[2] = {s->dA, s->dB};
    for (int k = 0; k < 2; k++) {
        const network *t = &c->nets[k];
        from_dense(s->g, douts[k], rows, t->net->out, t->out_pad[t->layers - 1], c->ld);
        float *offset = partial && k ? partial + c->nets[0].partial_count : partial;
        const float *dx = network_backward(t, c->k, rows, s->h[k], s->g, s->g_next, offset, accumulate);
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < l->k; i++)
                c->dstate[(size_t)(at + r) * l->dim + l->kept[i]] += dx[(size_t)r * c->ld + i];
    }
}

static void run_slice(void *arg, int slice, int worker) {
    call *c = arg;
    scratch s = carve(c, worker);
    int begin = cpu_slice_begin(c->n, c->slices, slice), end = cpu_slice_begin(c->n, c->slices, slice + 1);
    float *partial = c->grad ? c->partial + (size_t)slice * c->stride : NULL;
    for (int at = begin; at < end; at += CPU_CHUNK) {
        int rows = end - at < CPU_CHUNK ? end - at : CPU_CHUNK;
        run_networks(c, &s, at, rows);
        if (c->kind == PASS_FORWARD || c->kind == PASS_INVERSE)
            forward_chunk(c, &s, at, rows);
        else
            backward_chunk(c, &s, at, rows, partial, at > begin, &c->ds[slice]);
    }
}

static void reduce_layer(void *arg, int task, int worker) {
    (void)worker;
    call *c = arg;
    int second = task >= c->nets[0].layers;
    network_reduce(&c->nets[second], c->k, second ? task - c->nets[0].layers : task,
                   c->partial + (second ? c->nets[0].partial_count : 0), c->stride, c->slices, c->grad);
}

static size_t whole_vectors(size_t count) {
    return (count + CPU_MAX_VECTOR - 1) / CPU_MAX_VECTOR * CPU_MAX_VECTOR;
}

void cpu_dense_coupling(device *d, const dense_coupling *l, pass_kind kind, const real *params, real *grad,
                        int n, real *state, real *dstate, real *logdet, const real *dlogdet) {
    cpu_device *own = d->own;
    int backward = kind == PASS_BACKWARD || kind == PASS_INVERSE_BACKWARD;
    call c = {.c = l,
              .k = own->kernels,
              .law = &law_formulas[l->law],
              .kind = kind,
              .n = n,
              .slices = cpu_slices(n)};
    c.na = c.law->outputs(l->m);
    c.s = ((const float *)params)[l->s];
    c.state = (float *)state;
    c.dstate = (float *)dstate;
    c.logdet = (float *)logdet;
    c.dlogdet = (const float *)dlogdet;
    c.grad = backward ? (float *)grad : NULL;
    for (int k = 0; k < 2; k++) network_plan(&c.nets[k], &l->nets[k], c.k->vector, backward);
    c.ld = c.nets[0].ld > c.nets[1].ld ? c.nets[0].ld : c.nets[1].ld;
    c.nets[0].ld = c.nets[1].ld = c.ld;

    size_t packed[2] = {whole_vectors(c.nets[0].packed_count), whole_vectors(c.nets[1].packed_count)};
    c.stride = c.grad ? whole_vectors(c.nets[0].partial_count + c.nets[1].partial_count) : 0;
    c.work_count = whole_vectors(
        (size_t)CPU_CHUNK * ((size_t)c.ld * scratch_blocks(&c) + (size_t)(2 * c.na + 4 * l->m + l->k)) +
        CPU_MAX_VECTOR);
    float *memory = cpu_scratch(d, packed[0] + packed[1] + (size_t)c.slices * c.stride +
                                       (size_t)pool_threads(own->pool) * c.work_count);
    if (!memory) return;
    network_pack(&c.nets[0], (const float *)params, memory, backward);
    network_pack(&c.nets[1], (const float *)params, memory + packed[0], backward);
    c.partial = memory + packed[0] + packed[1];
    c.work = c.partial + (size_t)c.slices * c.stride;

    pool_run(own->pool, c.slices, run_slice, &c);
    if (!c.grad) return;
    for (int i = 0; i < c.slices; i++) c.grad[l->s] += c.ds[i];
    pool_run(own->pool, c.nets[0].layers + c.nets[1].layers, reduce_layer, &c);
}
