/* Whole coupling layers of dense networks.
 *
 * A block takes a tile of ROWS rows through all layers of one network: activations stay in shared memory, and the weights of
 * the next layer arrive while those of this one are multiplied. Networks A and B are one launch. The law is another, a thread
 * per sample. On the way back a tile goes through all layers likewise and leaves the gradient of each layer's sums in scratch;
 * gradients of weights are products over the whole batch then, one block per layer and piece of the batch, and are added in
 * the order of the pieces. */
#include "compute/cuda/law.cuh"
#include <cuda_pipeline.h>
#include <stdlib.h>
#include <string.h>
extern "C" {
#include "compute/dense_net.h"
}

enum {
    ROWS = 16,        /* of a tile */
    STEP = ROWS + 4,  /* from unit to unit of a tile in shared memory, so that stores meet different banks */
    MAX_LAYERS = 32,  /* of a network */
    MAX_TOGETHER = 64 /* elements of a law that couples them with one another */
};

/* A network as its kernels see it. */
typedef struct net_view {
    int in, out, depth, width;
    float slope;
    size_t w[MAX_LAYERS], b[MAX_LAYERS];
} net_view;
static inline __host__ __device__ int layer_in(const net_view *v, int i) {
    return i == 0 ? v->in : v->width;
}
static inline __host__ __device__ int layer_out(const net_view *v, int i) {
    return i == v->depth ? v->out : v->width;
}

typedef struct dense_plan {
    layer_plan plan;
    net_view nets[2];
    law_config law;
    int dim, k, m;
    int units;  /* numbers from row to row of activations: 64 or 128 */
    int layers; /* of the deeper network */
    size_t s;
    int32_t *source, *target; /* on the device */
} dense_plan;

/* What the networks of a batch work on. Activations and gradients are [network][layer][row][units]. */
typedef struct net_call {
    net_view nets[2];
    int n, dim, k, layers, pieces;
    const float *params, *state;
    const int32_t *source;
    float *acts;    /* of all layers, or NULL: */
    float *out;     /* [network][row][units], of the last ones */
    float *grads;   /* of the layers' sums; the last ones come from the law */
    float *du1;     /* [network][row][k] */
    float *partial; /* [piece][stride]: gradients of A's layers, then of B's, each weights and bias */
    size_t stride;
    float *grad;
} net_call;

template <int UNITS> static __device__ float *rows_of(float *base, const net_call &c, int net, int layer) {
    return base + ((size_t)net * (size_t)c.layers + (size_t)layer) * (size_t)c.n * UNITS;
}

/* ---- forward ---- */

/* Weights (k, n) to shared memory as [k][UNITS], on the way while other things are done. Most layers are UNITS wide: then
 * nothing has to be divided. */
template <int UNITS> static __device__ void fetch_weights(float *to, const float *from, int k, int n) {
    if (n == UNITS)
        for (int i = (int)threadIdx.x; i < k * UNITS; i += (int)blockDim.x)
            __pipeline_memcpy_async(to + i, from + i, sizeof(float));
    else
        for (int i = (int)threadIdx.x; i < k * n; i += (int)blockDim.x)
            __pipeline_memcpy_async(to + i / n * UNITS + i % n, from + i, sizeof(float));
    __pipeline_commit();
}

template <int UNITS> static __global__ void __launch_bounds__(4 * UNITS) network_kernel(net_call c) {
    extern __shared__ float memory[];
    float *weights[2] = {memory, memory + UNITS * UNITS};
    float *tile[2] = {memory + 2 * UNITS * UNITS, memory + 2 * UNITS * UNITS + UNITS * STEP};
    int net = (int)blockIdx.y, unit = (int)threadIdx.x % UNITS, group = (int)threadIdx.x / UNITS * 4;
    const net_view &v = c.nets[net];
    size_t first = (size_t)blockIdx.x * ROWS;
    if (v.out == 0) return;
    fetch_weights<UNITS>(weights[0], c.params + v.w[0], layer_in(&v, 0), layer_out(&v, 0));
    for (int i = (int)threadIdx.x; i < v.in * ROWS; i += (int)blockDim.x) {
        size_t row = first + (size_t)(i % ROWS);
        tile[0][i / ROWS * STEP + i % ROWS] =
            row < (size_t)c.n ? c.state[row * (size_t)c.dim + (size_t)c.source[i / ROWS]] : 0;
    }
    for (int i = 0; i <= v.depth; i++) {
        int inputs = layer_in(&v, i), outputs = layer_out(&v, i);
        if (i < v.depth)
            fetch_weights<UNITS>(weights[(i + 1) % 2], c.params + v.w[i + 1], layer_in(&v, i + 1),
                                 layer_out(&v, i + 1));
        float bias = unit < outputs ? c.params[v.b[i] + (size_t)unit] : 0;
        __pipeline_wait_prior(i < v.depth ? 1 : 0);
        __syncthreads();
        if (unit < outputs) {
            const float *w = weights[i % 2] + unit, *x = tile[i % 2] + group;
            float4 sum = make_float4(bias, bias, bias, bias);
#pragma unroll 8
            for (int k = 0; k < inputs; k++) {
                float4 a = *(const float4 *)(x + k * STEP);
                float b = w[k * UNITS];
                sum.x += a.x * b, sum.y += a.y * b, sum.z += a.z * b, sum.w += a.w * b;
            }
            if (i < v.depth) {
                sum.x = sum.x > 0 ? sum.x : v.slope * sum.x, sum.y = sum.y > 0 ? sum.y : v.slope * sum.y;
                sum.z = sum.z > 0 ? sum.z : v.slope * sum.z, sum.w = sum.w > 0 ? sum.w : v.slope * sum.w;
            }
            *(float4 *)(tile[(i + 1) % 2] + unit * STEP + group) = sum;
            float *to = c.acts         ? rows_of<UNITS>(c.acts, c, net, i)
                        : i == v.depth ? c.out + (size_t)net * (size_t)c.n * UNITS
                                       : NULL;
            const float results[4] = {sum.x, sum.y, sum.z, sum.w};
            for (int r = 0; to && r < 4; r++) {
                size_t row = first + (size_t)(group + r);
                if (row < (size_t)c.n) to[row * UNITS + (size_t)unit] = results[r];
            }
        }
        __syncthreads(); /* the weights' place is free, the tile is there */
    }
}

/* ---- backward ---- */

/* Weights (k, n) to shared memory as [n][UNITS + 1]. */
template <int UNITS> static __device__ void fetch_transposed(float *to, const float *from, int k, int n) {
    if (n == UNITS)
        for (int i = (int)threadIdx.x; i < k * UNITS; i += (int)blockDim.x)
            __pipeline_memcpy_async(to + i % UNITS * (UNITS + 1) + i / UNITS, from + i, sizeof(float));
    else
        for (int i = (int)threadIdx.x; i < k * n; i += (int)blockDim.x)
            __pipeline_memcpy_async(to + i % n * (UNITS + 1) + i / n, from + i, sizeof(float));
    __pipeline_commit();
}

template <int UNITS> static __global__ void __launch_bounds__(4 * UNITS) network_back_kernel(net_call c) {
    extern __shared__ float memory[];
    const int size = UNITS * (UNITS + 4);
    float *weights[2] = {memory, memory + size},
          *tile[2] = {memory + 2 * size, memory + 2 * size + UNITS * STEP};
    int net = (int)blockIdx.y, unit = (int)threadIdx.x % UNITS, group = (int)threadIdx.x / UNITS * 4;
    const net_view &v = c.nets[net];
    size_t first = (size_t)blockIdx.x * ROWS;
    if (v.out == 0) return;
    int last = v.depth;
    fetch_transposed<UNITS>(weights[last % 2], c.params + v.w[last], layer_in(&v, last), layer_out(&v, last));
    const float *from = rows_of<UNITS>(c.grads, c, net, last);
    for (int i = (int)threadIdx.x; i < v.out * ROWS; i += (int)blockDim.x) {
        size_t row = first + (size_t)(i / v.out);
        tile[last % 2][i % v.out * STEP + i / v.out] =
            row < (size_t)c.n ? from[row * UNITS + (size_t)(i % v.out)] : 0;
    }
    for (int i = last; i >= 0; i--) {
        int inputs = layer_in(&v, i), outputs = layer_out(&v, i);
        if (i > 0)
            fetch_transposed<UNITS>(weights[(i - 1) % 2], c.params + v.w[i - 1], layer_in(&v, i - 1),
                                    layer_out(&v, i - 1));
        float slope[4];
        for (int r = 0; r < 4; r++) {
            size_t row = first + (size_t)(group + r);
            int below = i > 0 && unit < inputs && row < (size_t)c.n &&
                        !(rows_of<UNITS>(c.acts, c, net, i - 1)[row * UNITS + (size_t)unit] > 0);
            slope[r] = below ? v.slope : 1;
        }
        __pipeline_wait_prior(i > 0 ? 1 : 0);
        __syncthreads();
        if (unit < inputs) {
            const float *w = weights[i % 2] + unit, *g = tile[i % 2] + group;
            float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
            for (int k = 0; k < outputs; k++) {
                float4 a = *(const float4 *)(g + k * STEP);
                float b = w[k * (UNITS + 1)];
                sum.x += a.x * b, sum.y += a.y * b, sum.z += a.z * b, sum.w += a.w * b;
            }
            sum.x *= slope[0], sum.y *= slope[1], sum.z *= slope[2], sum.w *= slope[3];
            if (i > 0) *(float4 *)(tile[(i - 1) % 2] + unit * STEP + group) = sum;
            const float results[4] = {sum.x, sum.y, sum.z, sum.w};
            for (int r = 0; r < 4; r++) {
                size_t row = first + (size_t)(group + r);
                if (row >= (size_t)c.n) continue;
                if (i > 0)
                    rows_of<UNITS>(c.grads, c, net, i - 1)[row * UNITS + (size_t)unit] = results[r];
                else
                    c.du1[((size_t)net * (size_t)c.n + row) * (size_t)c.k + (size_t)unit] = results[r];
            }
        }
        __syncthreads();
    }
}

/* Where the gradients of a layer begin among the partial sums of a piece. */
static __host__ __device__ size_t gradient_place(const net_call &c, int net, int layer) {
    size_t at = 0;
    for (int a = 0; a <= net; a++)
        for (int i = 0; i <= c.nets[a].depth && !(a == net && i == layer); i++)
            if (c.nets[a].out > 0)
                at += (size_t)(layer_in(&c.nets[a], i) + 1) * (size_t)layer_out(&c.nets[a], i);
    return at;
}

enum { SQUARE = 64, DEEP = 16, EACH_SIDE = 4 };

/* x^t g of one layer (blockIdx.x) over a piece of the batch (blockIdx.y), a square of it (blockIdx.z); and sums of g. */
template <int UNITS> static __global__ void __launch_bounds__(256) weights_kernel(net_call c) {
    __shared__ float x[DEEP][SQUARE + 4], g[DEEP][SQUARE + 4];
    int net = (int)blockIdx.x / c.layers, layer = (int)blockIdx.x % c.layers;
    const net_view &v = c.nets[net];
    if (v.out == 0 || layer > v.depth) return;
    int inputs = layer_in(&v, layer), outputs = layer_out(&v, layer), across = (UNITS + SQUARE - 1) / SQUARE;
    int top = (int)blockIdx.z / across * SQUARE, left = (int)blockIdx.z % across * SQUARE;
    if (top >= inputs || left >= outputs) return;
    const float *grads = rows_of<UNITS>(c.grads, c, net, layer);
    const float *acts = layer > 0 ? rows_of<UNITS>(c.acts, c, net, layer - 1) : NULL;
    int row_of = (int)threadIdx.x / 16 * EACH_SIDE, column_of = (int)threadIdx.x % 16 * EACH_SIDE;
    float sum[EACH_SIDE][EACH_SIDE] = {{0}}, bias = 0;
    size_t end = piece_begin((size_t)c.n, c.pieces, (int)blockIdx.y + 1);
    for (size_t at = piece_begin((size_t)c.n, c.pieces, (int)blockIdx.y); at < end; at += DEEP) {
        for (int i = (int)threadIdx.x; i < DEEP * SQUARE; i += 256) {
            int deep = i / SQUARE, to = i % SQUARE;
            size_t row = at + (size_t)deep;
            int here = row < end;
            x[deep][to] = !here || top + to >= inputs ? 0
                          : acts                      ? acts[row * UNITS + (size_t)(top + to)]
                                 : c.state[row * (size_t)c.dim + (size_t)c.source[top + to]];
            g[deep][to] = here && left + to < outputs ? grads[row * UNITS + (size_t)(left + to)] : 0;
        }
        __syncthreads();
        for (int deep = 0; deep < DEEP; deep++) {
            float4 a = *(const float4 *)&x[deep][row_of], b = *(const float4 *)&g[deep][column_of];
            const float as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < EACH_SIDE; i++)
                for (int j = 0; j < EACH_SIDE; j++) sum[i][j] += as[i] * bs[j];
            if (top == 0 && threadIdx.x < SQUARE) bias += g[deep][threadIdx.x];
        }
        __syncthreads();
    }
    float *to = c.partial + (size_t)blockIdx.y * c.stride + gradient_place(c, net, layer);
    for (int i = 0; i < EACH_SIDE; i++)
        for (int j = 0; j < EACH_SIDE; j++)
            if (top + row_of + i < inputs && left + column_of + j < outputs)
                to[(size_t)(top + row_of + i) * (size_t)outputs + (size_t)(left + column_of + j)] = sum[i][j];
    if (top == 0 && threadIdx.x < SQUARE && left + (int)threadIdx.x < outputs)
        to[(size_t)inputs * (size_t)outputs + (size_t)left + threadIdx.x] = bias;
}

/* Partial gradients of a layer (blockIdx.y) to where they belong. */
static __global__ void gradient_kernel(net_call c) {
    int net = (int)blockIdx.y / c.layers, layer = (int)blockIdx.y % c.layers;
    const net_view &v = c.nets[net];
    if (v.out == 0 || layer > v.depth) return;
    size_t weights = (size_t)layer_in(&v, layer) * (size_t)layer_out(&v, layer);
    const float *from = c.partial + gradient_place(c, net, layer);
    FOR_EACH_INDEX (i, weights + (size_t)layer_out(&v, layer)) {
        float sum = 0;
        for (int p = 0; p < c.pieces; p++) sum += from[(size_t)p * c.stride + i];
        c.grad[i < weights ? v.w[layer] + i : v.b[layer] + i - weights] += sum;
    }
}

/* dstate += du1 of both networks */
static __global__ void source_kernel(net_call c, float *dstate) {
    FOR_EACH_INDEX (i, (size_t)c.n * (size_t)c.k) {
        size_t row = i / (size_t)c.k;
        float sum = 0;
        for (int net = 0; net < 2; net++)
            if (c.nets[net].out > 0) sum += c.du1[(size_t)net * (size_t)c.n * (size_t)c.k + i];
        dstate[row * (size_t)c.dim + (size_t)c.source[i % (size_t)c.k]] += sum;
    }
}

/* ---- the law, on elements of the state: a thread per sample ---- */

typedef struct couple_call {
    law_config law;
    int n, dim, m, inverse, units;
    const int32_t *target;
    const float *A, *b, *s; /* (n, units); b NULL: no shift */
    float *state, *logdet;
    float *dstate;
    const float *dlogdet;
    float *dA, *db, *ds; /* (n, units), (n, units), (n) */
} couple_call;

template <class LAW> static __global__ void couple_kernel(couple_call c) {
    FOR_EACH_INDEX (sample, (size_t)c.n) {
        float *state = c.state + sample * (size_t)c.dim, s = c.s ? *c.s : 0, sum = 0,
              u[LAW::each ? 1 : MAX_TOGETHER];
        const float *A = c.A + sample * (size_t)c.units, *b = c.b ? c.b + sample * (size_t)c.units : NULL;
        int units = LAW::each ? c.m : 1, size = LAW::each ? 1 : c.m, outputs = LAW::outputs(&c.law, c.m);
        for (int unit = 0; unit < units; unit++) {
            const float *own_A = A + unit * outputs, *own_b = b ? b + unit : NULL;
            for (int i = 0; i < size; i++) u[i] = state[c.target[unit + i]];
            sum += c.inverse ? LAW::inverse(&c.law, c.m, own_A, own_b, s, u)
                             : LAW::forward(&c.law, c.m, own_A, own_b, s, u);
            for (int i = 0; i < size; i++) state[c.target[unit + i]] = u[i];
        }
        c.logdet[sample] += sum;
    }
}

template <class LAW> static __global__ void couple_back_kernel(couple_call c) {
    FOR_EACH_INDEX (sample, (size_t)c.n) {
        float u[LAW::each ? 1 : MAX_TOGETHER], du[LAW::each ? 1 : MAX_TOGETHER];
        float *state = c.state + sample * (size_t)c.dim, *dstate = c.dstate + sample * (size_t)c.dim;
        float s = c.s ? *c.s : 0, ds = 0, dl = c.dlogdet[sample];
        size_t at = sample * (size_t)c.units;
        int units = LAW::each ? c.m : 1, size = LAW::each ? 1 : c.m, outputs = LAW::outputs(&c.law, c.m);
        for (int unit = 0; unit < units; unit++) {
            const float *A = c.A + at + unit * outputs, *b = c.b ? c.b + at + unit : NULL;
            float *dA = c.dA + at + unit * outputs, *db = c.db + at + unit;
            for (int i = 0; i < size; i++)
                u[i] = state[c.target[unit + i]], du[i] = dstate[c.target[unit + i]];
            if (c.inverse)
                LAW::inverse_backward(&c.law, c.m, A, b, s, u, du, dl, dA, db, &ds);
            else
                LAW::backward(&c.law, c.m, A, b, s, u, du, dl, dA, db, &ds);
            for (int i = 0; i < size; i++)
                state[c.target[unit + i]] = u[i], dstate[c.target[unit + i]] = du[i];
        }
        c.ds[sample] = ds;
    }
}

template <class LAW> static void couple(cuda_device *own, const couple_call &c) {
    unsigned blocks = blocks_for((size_t)c.n, 64);
    if (c.dstate)
        couple_back_kernel<LAW><<<blocks, 64, 0, own->stream>>>(c);
    else
        couple_kernel<LAW><<<blocks, 64, 0, own->stream>>>(c);
    launched(own, "law of a coupling");
}
static void couple_by_law(cuda_device *own, const couple_call &c) {
    static void (*const laws[])(cuda_device *, const couple_call &) = {
#define X(name, form) couple<law_of_##name>,
        LAW_LIST(X)
#undef X
    };
    laws[c.law.id](own, c);
}

/* ---- plans ---- */

/* Two layers of weights and two tiles. */
static size_t shared_bytes(int units, int backward) {
    return (size_t)(2 * units * (units + (backward ? 4 : 0)) + 2 * units * STEP) * sizeof(float);
}

/* What a kernel may take of shared memory has to be said where it is more than the usual. */
template <int UNITS> static void allow_shared(cuda_device *own) {
    cuda_note(own,
              cudaFuncSetAttribute(network_kernel<UNITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)shared_bytes(UNITS, 0)),
              "shared memory of a network");
    cuda_note(own,
              cudaFuncSetAttribute(network_back_kernel<UNITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)shared_bytes(UNITS, 1)),
              "shared memory of a network");
}

static int widest(const dense_net *net) {
    int most = net->in > net->out ? net->in : net->out;
    return net->depth > 0 && net->width > most ? net->width : most;
}

static int can_plan(const coupling_layer *l, const dense_net nets[2]) {
    for (int i = 0; i < 2; i++)
        if (nets[i].out > 0 && (widest(&nets[i]) > 128 || nets[i].depth + 1 > MAX_LAYERS)) return 0;
    return nets[0].out + nets[1].out > 0 && (law_outputs_per_element(&l->law) >= 0 || l->m <= MAX_TOGETHER);
}

static void view_of(net_view *v, const dense_net *net) {
    memset(v, 0, sizeof *v);
    if (net->out == 0) return;
    v->in = net->in, v->out = net->out, v->depth = net->depth, v->width = net->width;
    v->slope = (float)net->slope;
    for (int i = 0; i <= net->depth; i++) v->w[i] = net->w[i], v->b[i] = net->b[i];
}

static void dense_close(device *d, layer_plan *plan) {
    dense_plan *p = (dense_plan *)plan;
    if (p->source) d->kind->release_map(d, p->source);
    if (p->target) d->kind->release_map(d, p->target);
    free(p);
}

extern "C" const cuda_plan_kind cuda_plan_dense;

static jf_status dense_open(device *d, layer_plan **out, const coupling_layer *l) {
    const dense_net *nets = (const dense_net *)l->nets;
    if (!can_plan(l, nets)) return JF_OK;
    dense_plan *p = (dense_plan *)calloc(1, sizeof *p);
    if (!p) return jf_fail(d->ctx, JF_ERROR_MEMORY, "not enough memory for the plan of a layer");
    p->plan.kind = &cuda_plan_dense;
    int most = 0;
    for (int i = 0; i < 2; i++) {
        view_of(&p->nets[i], &nets[i]);
        if (nets[i].out == 0) continue;
        if (nets[i].depth + 1 > p->layers) p->layers = nets[i].depth + 1;
        if (widest(&nets[i]) > most) most = widest(&nets[i]);
    }
    p->units = most <= 64 ? 64 : 128;
    if (p->units == 64)
        allow_shared<64>(cuda_use(d));
    else
        allow_shared<128>(cuda_use(d));
    p->law = l->law;
    p->dim = l->dim, p->k = l->k, p->m = l->m, p->s = l->s;
    jf_status status = d->kind->alloc_map(d, &p->source, l->source, (size_t)l->k);
    if (status == JF_OK) status = d->kind->alloc_map(d, &p->target, l->target, (size_t)l->m);
    if (status == JF_OK)
        *out = &p->plan;
    else
        dense_close(d, &p->plan);
    return status;
}

static size_t acts_size(const dense_plan *p, int n) {
    return 2 * (size_t)p->layers * (size_t)n * (size_t)p->units;
}
static int pieces_of(int n) {
    return n < 128 ? 1 : n / 64 < 16 ? n / 64 : 16;
}
static size_t partial_stride(const dense_plan *p) {
    net_call c = {};
    c.nets[0] = p->nets[0], c.nets[1] = p->nets[1];
    return gradient_place(c, 1, MAX_LAYERS);
}

static size_t dense_kept(const layer_plan *p, int n, precision in) {
    (void)in; /* dense networks are always in float */
    return acts_size((const dense_plan *)p, n);
}

/* Scratch of a call, laid out piece by piece; without memory its size is counted. */
typedef struct room {
    float *base;
    size_t used;
} room;
static float *take(room *r, size_t count) {
    float *p = r->base ? r->base + r->used : NULL;
    r->used += (count + 31) / 32 * 32;
    return p;
}
typedef struct places {
    float *out, *acts, *grads, *du1, *partial, *ds;
} places;
static places lay_out(const dense_plan *p, room *r, int n, layer_use use) {
    places at = {};
    size_t rows = (size_t)n;
    if (!use.kept) at.out = take(r, 2 * rows * (size_t)p->units);
    if (!use.backward) return at;
    if (!use.kept) at.acts = take(r, acts_size(p, n));
    at.grads = take(r, acts_size(p, n));
    at.du1 = take(r, 2 * rows * (size_t)p->k);
    at.ds = take(r, rows);
    if (use.gradients) at.partial = take(r, (size_t)pieces_of(n) * partial_stride(p));
    return at;
}

static size_t dense_scratch(const layer_plan *p, int n, layer_use use) {
    room r = {NULL, 0};
    lay_out((const dense_plan *)p, &r, n, use);
    return r.used;
}

/* ---- running ---- */

/* Of both networks in one direction. */
static double net_flops(const net_call &c) {
    double weights = 0;
    for (int net = 0; net < 2; net++)
        for (int i = 0; c.nets[net].out > 0 && i <= c.nets[net].depth; i++)
            weights += (double)layer_in(&c.nets[net], i) * layer_out(&c.nets[net], i);
    return 2 * weights * c.n;
}

template <int UNITS> static void run_networks(cuda_device *own, const net_call &c) {
    dim3 grid(blocks_for((size_t)c.n, ROWS), 2);
    network_kernel<UNITS><<<grid, 4 * UNITS, shared_bytes(UNITS, 0), own->stream>>>(c);
    launched_product(own, "networks, forward", net_flops(c));
}

template <int UNITS> static void run_networks_back(cuda_device *own, const net_call &c) {
    const unsigned squares = (UNITS / SQUARE) * (UNITS / SQUARE);
    dim3 grid(blocks_for((size_t)c.n, ROWS), 2);
    network_back_kernel<UNITS><<<grid, 4 * UNITS, shared_bytes(UNITS, 1), own->stream>>>(c);
    launched_product(own, "networks, backward", net_flops(c));
    if (!c.grad) return;
    dim3 pieces(2 * (unsigned)c.layers, (unsigned)c.pieces, squares);
    weights_kernel<UNITS><<<pieces, 256, 0, own->stream>>>(c);
    launched_product(own, "networks, gradients of weights", net_flops(c));
    gradient_kernel<<<dim3(8, 2 * (unsigned)c.layers), THREADS, 0, own->stream>>>(c);
    launched(own, "networks, sums of gradients");
}

static couple_call couple_of(const dense_plan *p, const layer_call *call, const net_call &c) {
    couple_call k = {};
    size_t of_net =
        c.acts ? (size_t)c.layers * (size_t)c.n * (size_t)p->units : (size_t)c.n * (size_t)p->units;
    const float *base = c.acts ? c.acts : c.out;
    size_t last[2];
    for (int net = 0; net < 2; net++)
        last[net] =
            (size_t)net * of_net + (c.acts ? (size_t)c.nets[net].depth * (size_t)c.n * (size_t)p->units : 0);
    k.law = p->law;
    k.n = c.n, k.dim = c.dim, k.m = p->m, k.units = p->units;
    k.inverse = call->kind == PASS_INVERSE || call->kind == PASS_INVERSE_BACKWARD;
    k.target = p->target;
    k.A = base + last[0];
    k.b = c.nets[1].out > 0 ? base + last[1] : NULL;
    k.s = law_shape_of(p->law.id)->has_scale ? c.params + p->s : NULL;
    k.state = floats(call->state);
    k.logdet = floats(call->logdet);
    if (!pass_is_backward(call->kind)) return k;
    k.dstate = floats(call->dstate);
    k.dlogdet = floats(call->dlogdet);
    for (int net = 0; net < 2; net++)
        last[net] =
            ((size_t)net * (size_t)c.layers + (size_t)c.nets[net].depth) * (size_t)c.n * (size_t)p->units;
    k.dA = c.grads + last[0];
    k.db = c.grads + last[1];
    return k;
}

static void dense_run(device *d, const layer_plan *plan, const layer_call *call) {
    const dense_plan *p = (const dense_plan *)plan;
    cuda_device *own = cuda_use(d);
    int backward = pass_is_backward(call->kind);
    if (call->n < 1) return;
    room r = {floats(call->scratch), 0};
    places at =
        lay_out(p, &r, call->n, layer_use{backward, call->grad != NULL, call->kept != NULL, call->precision});
    net_call c = {};
    c.nets[0] = p->nets[0], c.nets[1] = p->nets[1];
    c.n = call->n, c.dim = p->dim, c.k = p->k, c.layers = p->layers, c.pieces = pieces_of(call->n);
    c.params = floats(call->params), c.state = floats(call->state), c.source = p->source;
    c.acts = call->kept ? floats(call->kept) : at.acts;
    c.out = at.out, c.grads = at.grads, c.du1 = at.du1, c.partial = at.partial;
    c.stride = partial_stride(p);
    c.grad = floats(call->grad);
    if (!backward || !call->kept) {
        if (p->units == 64)
            run_networks<64>(own, c);
        else
            run_networks<128>(own, c);
    }
    couple_call k = couple_of(p, call, c);
    k.ds = at.ds;
    couple_by_law(own, k);
    if (!backward) return;
    if (p->units == 64)
        run_networks_back<64>(own, c);
    else
        run_networks_back<128>(own, c);
    source_kernel<<<blocks_for((size_t)c.n * (size_t)c.k, THREADS), THREADS, 0, own->stream>>>(
        c, floats(call->dstate));
    launched(own, "gradient of the source");
    if (c.grad && k.s) {
        add_sum_kernel<<<1, 1024, 0, own->stream>>>(c.grad + p->s, at.ds, (size_t)c.n);
        launched(own, "gradient of the scale");
    }
}

extern "C" const cuda_plan_kind cuda_plan_dense = {"dense",    dense_open,    dense_close,
                                                   dense_kept, dense_scratch, dense_run};
