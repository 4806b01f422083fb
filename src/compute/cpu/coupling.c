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
    float *kept; /* NULL, or the activations of every chunk */
    const float *params;
    float *packed[2];
    meter *meters; /* (threads), or NULL */
} call;

/* Scratch of one worker: blocks of CPU_CHUNK rows. Both networks share their input, h[0]. */
typedef struct scratch {
    float *h[2][NETWORK_MAX_LAYERS + 1];
    float *g, *g_next;
    float *A, *B, *dA, *dB, *u2, *du2; /* dense rows */
    meter *m;
} scratch;

static size_t kept_blocks(const call *c) {
    return (size_t)(c->nets[0].layers + c->nets[1].layers);
}
static size_t scratch_blocks(const call *c) {
    return kept_blocks(c) + 3; /* the input and two gradients */
}

/* Outputs of all layers of both networks: blocks one after the other from `at`. */
static void place_activations(const call *c, scratch *s, float *at) {
    size_t block = (size_t)CPU_CHUNK * (size_t)c->ld;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < c->nets[k].layers; i++, at += block) s->h[k][i + 1] = at;
}

static scratch carve(const call *c, int worker) {
    scratch s;
    size_t block = (size_t)CPU_CHUNK * (size_t)c->ld;
    float *at = c->work + (size_t)worker * c->work_count;
    s.m = meter_of(c->meters, worker);
    s.h[0][0] = s.h[1][0] = at;
    place_activations(c, &s, at + block);
    s.g = at + block * (scratch_blocks(c) - 2);
    s.g_next = s.g + block;
    float *dense = s.g_next + block + CPU_MAX_VECTOR; /* kernels may read a vector past the last row */
    float **views[] = {&s.A, &s.B, &s.dA, &s.dB, &s.u2, &s.du2};
    int widths[] = {c->na, c->c->m, c->na, c->c->m, c->c->m, c->c->m};
    for (int i = 0; i < 6; i++) {
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

/* u1 into h[0], u2 into its place, A and B from the networks (or from what the forward pass kept of them). */
static void run_networks(const call *c, scratch *s, int at, int rows) {
    const dense_coupling *l = c->c;
    double start = meter_begin(s->m);
    for (int r = 0; r < rows; r++) {
        const float *u = c->state + (size_t)(at + r) * l->dim;
        for (int i = 0; i < l->k; i++) s->h[0][0][(size_t)r * c->ld + i] = u[l->source[i]];
        for (int i = 0; i < l->m; i++) s->u2[(size_t)r * l->m + i] = u[l->target[i]];
    }
    meter_end(s->m, METER_MOVE, start, 0);
    float *outs[2] = {s->A, s->B};
    for (int k = 0; k < 2; k++) {
        if (!c->kept || !cpu_is_backward(c->kind))
            network_forward(&c->nets[k], c->k, s->m, rows, s->h[k], c->nets[k].layers);
        start = meter_begin(s->m);
        to_dense(outs[k], s->h[k][c->nets[k].layers], rows, c->nets[k].net->out, c->ld);
        meter_end(s->m, METER_MOVE, start, 0);
    }
}

static void put_target(const call *c, float *whole, const float *part, int at, int rows) {
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < c->c->m; i++)
            whole[(size_t)(at + r) * c->c->dim + c->c->target[i]] = part[(size_t)r * c->c->m + i];
}

static void forward_chunk(const call *c, scratch *s, int at, int rows) {
    int m = c->c->m;
    double start = meter_begin(s->m);
    num (*apply)(int, const num *, const num *, num, num *) =
        c->kind == PASS_FORWARD ? c->law->forward : c->law->inverse;
    for (int r = 0; r < rows; r++)
        c->logdet[at + r] +=
            apply(m, s->A + (size_t)r * c->na, s->B + (size_t)r * m, c->s, s->u2 + (size_t)r * m);
    put_target(c, c->state, s->u2, at, rows);
    meter_end(s->m, METER_LAW, start, 0);
}

/* Row r of the activations that the way back through network A begins with, while the law is computed; those of B follow
 * while A is. */
static void fetch_row(const call *c, const scratch *s, int r) {
    int last = c->nets[0].layers - 1;
    for (int i = last; i >= last - 1; i--)
        for (int j = 0; j < c->ld; j += CPU_MAX_VECTOR)
            __builtin_prefetch(s->h[0][i] + (size_t)r * c->ld + j, 0, 2);
}

static void backward_chunk(const call *c, scratch *s, int at, int rows, float *partial, int accumulate,
                           float *ds) {
    const dense_coupling *l = c->c;
    int m = l->m;
    double start = meter_begin(s->m);
    for (int r = 0; r < rows; r++) {
        float *du = s->du2 + (size_t)r * m;
        fetch_row(c, s, r);
        for (int i = 0; i < m; i++) du[i] = c->dstate[(size_t)(at + r) * l->dim + l->target[i]];
        (c->kind == PASS_BACKWARD ? c->law->backward : c->law->inverse_backward)(
            m, s->A + (size_t)r * c->na, s->B + (size_t)r * m, c->s, s->u2 + (size_t)r * m, du,
            c->dlogdet[at + r], s->dA + (size_t)r * c->na, s->dB + (size_t)r * m, ds);
    }
    put_target(c, c->state, s->u2, at, rows);
    put_target(c, c->dstate, s->du2, at, rows);
    meter_end(s->m, METER_LAW_BACK, start, 0);
    const float *douts[2] = {s->dA, s->dB};
    for (int k = 0; k < 2; k++) {
        const network *t = &c->nets[k];
        start = meter_begin(s->m);
        from_dense(s->g, douts[k], rows, t->net->out, t->out_pad[t->layers - 1], c->ld);
        meter_end(s->m, METER_MOVE, start, 0);
        float *offset = partial && k ? partial + c->nets[0].partial_count : partial;
        const float *dx = network_backward(t, c->k, s->m, rows, s->h[k], s->g, s->g_next, offset, accumulate,
                                           k ? NULL : s->h[1][c->nets[1].layers - 1]);
        start = meter_begin(s->m);
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < l->k; i++)
                c->dstate[(size_t)(at + r) * l->dim + l->source[i]] += dx[(size_t)r * c->ld + i];
        meter_end(s->m, METER_MOVE, start, 0);
    }
}

/* Chunks of the longest slice: every slice has room for so many in `kept`. */
static int chunks_per_slice(int n) {
    int slices = cpu_slices(n), longest = (n + slices - 1) / slices;
    return (longest + CPU_CHUNK - 1) / CPU_CHUNK;
}

static void run_slice(void *arg, int slice, int worker) {
    call *c = arg;
    scratch s = carve(c, worker);
    int begin = cpu_slice_begin(c->n, c->slices, slice), end = cpu_slice_begin(c->n, c->slices, slice + 1);
    float *partial = c->grad ? c->partial + (size_t)slice * c->stride : NULL;
    for (int at = begin; at < end; at += CPU_CHUNK) {
        int rows = end - at < CPU_CHUNK ? end - at : CPU_CHUNK;
        if (c->kept) {
            size_t chunk = (size_t)(slice * chunks_per_slice(c->n) + (at - begin) / CPU_CHUNK);
            place_activations(c, &s, c->kept + chunk * kept_blocks(c) * CPU_CHUNK * (size_t)c->ld);
        }
        run_networks(c, &s, at, rows);
        if (cpu_is_backward(c->kind))
            backward_chunk(c, &s, at, rows, partial, at > begin, &c->ds[slice]);
        else
            forward_chunk(c, &s, at, rows);
    }
}

static void reduce_layer(void *arg, int task, int worker) {
    call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    int second = task >= c->nets[0].layers;
    network_reduce(&c->nets[second], c->k, second ? task - c->nets[0].layers : task,
                   c->partial + (second ? c->nets[0].partial_count : 0), c->stride, c->slices, c->grad);
    meter_end(m, METER_SUM, start, 0);
}

static void plan_networks(call *c, int vector) {
    for (int k = 0; k < 2; k++) network_plan(&c->nets[k], &c->c->nets[k], vector, cpu_is_backward(c->kind));
    c->ld = c->nets[0].ld > c->nets[1].ld ? c->nets[0].ld : c->nets[1].ld;
    c->nets[0].ld = c->nets[1].ld = c->ld;
}

static void pack_network(void *arg, int k, int worker) {
    call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    network_pack(&c->nets[k], c->params, c->packed[k], cpu_is_backward(c->kind));
    meter_end(m, METER_PACK, start, 0);
}

size_t cpu_dense_coupling_kept(const device *d, const dense_coupling *l, int n) {
    const cpu_device *own = d->own;
    call c = {.c = l};
    plan_networks(&c, own->kernels->vector);
    size_t chunks = (size_t)cpu_slices(n) * (size_t)chunks_per_slice(n);
    return chunks * kept_blocks(&c) * CPU_CHUNK * (size_t)c.ld + CPU_MAX_VECTOR;
}

void cpu_dense_coupling(device *d, const dense_coupling *l, const coupling_call *asked) {
    cpu_device *own = d->own;
    call c = {.c = l, .k = own->kernels, .law = &law_formulas[l->law], .kind = asked->kind, .n = asked->n};
    c.slices = cpu_slices(c.n);
    c.na = c.law->outputs(l->m);
    c.params = (const float *)asked->params;
    c.s = c.params[l->s];
    c.state = (float *)asked->state;
    c.dstate = (float *)asked->dstate;
    c.logdet = (float *)asked->logdet;
    c.dlogdet = (const float *)asked->dlogdet;
    c.grad = cpu_is_backward(c.kind) ? (float *)asked->grad : NULL;
    c.kept = (float *)asked->kept;
    c.meters = own->meters;
    plan_networks(&c, c.k->vector);

    size_t packed[2] = {cpu_whole_lines(c.nets[0].packed_count), cpu_whole_lines(c.nets[1].packed_count)};
    c.stride = c.grad ? cpu_whole_lines(c.nets[0].partial_count + c.nets[1].partial_count) : 0;
    c.work_count = cpu_whole_lines(
        CPU_CHUNK * ((size_t)c.ld * scratch_blocks(&c) + (size_t)(2 * c.na + 4 * l->m)) + CPU_MAX_VECTOR);
    c.packed[0] = cpu_scratch(d, packed[0] + packed[1] + (size_t)c.slices * c.stride +
                                     (size_t)pool_threads(own->pool) * c.work_count);
    if (!c.packed[0]) return;
    c.packed[1] = c.packed[0] + packed[0];
    c.partial = c.packed[1] + packed[1];
    c.work = c.partial + (size_t)c.slices * c.stride;

    pool_run(own->pool, 2, pack_network, &c);
    pool_run(own->pool, c.slices, run_slice, &c);
    if (!c.grad) return;
    for (int i = 0; i < c.slices; i++) c.grad[l->s] += c.ds[i];
    pool_run(own->pool, c.nets[0].layers + c.nets[1].layers, reduce_layer, &c);
}
