/* Dense networks of whole batches, on tensor cores in the precision of float (tensor.cuh).
 *
 * A block takes a tile of ROWS rows through all layers of one network: activations stay in shared memory, and the weights of
 * the next layer arrive while those of this one are multiplied. Networks A and B are one launch. On the way back a tile goes
 * through all layers likewise and leaves the gradient of each layer's sums in scratch. Gradients of weights are products over
 * the whole batch then: a block has a square of a layer's weights, its warps take steps of rows in turn and add up their sums
 * in a fixed order. */
#include "compute/cuda/kernels.cuh"
#include "compute/cuda/tensor.cuh"
#include <cuda_pipeline.h>
extern "C" {
#include "compute/cuda/dense_kernels.h"
}

static __host__ __device__ int layer_in(const dense_view &v, int i) {
    return i == 0 ? v.in : v.width;
}
static __host__ __device__ int layer_out(const dense_view &v, int i) {
    return i == v.depth ? v.out : v.width;
}

enum {
    ROWS = 16, /* of a tile */
    TILES = 2, /* of 8 units, that a warp has of a layer's outputs */
    OWN = 8 * TILES
};

/* Numbers from row to row in shared memory, so that the lanes that read together meet different banks: activations are read
 * in pairs along a row, weights down a column on the way forward and in pairs along a row on the way back. */
template <int UNITS> struct steps {
    enum { tile = UNITS + 8, forward = UNITS + 4, backward = UNITS + 8 };
};

/* Which part of a product a lane has: rows `row` and `row` + 8, units `pair` and `pair` + 1 of each of its tiles. */
typedef struct lane_part {
    int row, pair, first; /* first: the first unit of this warp */
} lane_part;
static __device__ lane_part part_of_lane(void) {
    int lane = (int)threadIdx.x % 32;
    return lane_part{lane / 4, lane % 4 * 2, (int)threadIdx.x / 32 * OWN};
}

template <int UNITS>
static __device__ float *layer_rows(float *base, const dense_call &c, int net, int layer) {
    return base + ((size_t)net * (size_t)c.layers + (size_t)layer) * (size_t)c.n * UNITS;
}

/* Weights (k, n) on their way to shared memory, STEP numbers from row to row, with zeros up to whole steps of 8. Most layers
 * are UNITS wide: then nothing has to be divided. */
template <int UNITS, int STEP>
static __device__ void fetch_weights(float *to, const float *from, int k, int n) {
    const int threads = 2 * UNITS;
    if (k == UNITS && n == UNITS) {
#pragma unroll 8
        for (int i = (int)threadIdx.x; i < UNITS * UNITS; i += threads)
            __pipeline_memcpy_async(to + i / UNITS * STEP + i % UNITS, from + i, sizeof(float));
    } else {
        int rows = (k + 7) / 8 * 8, columns = (n + 7) / 8 * 8;
        for (int i = (int)threadIdx.x; i < rows * columns; i += threads) {
            int row = i / columns, column = i % columns;
            float *at = to + row * STEP + column;
            if (row < k && column < n)
                __pipeline_memcpy_async(at, from + row * n + column, sizeof(float));
            else
                *at = 0;
        }
    }
    __pipeline_commit();
}

/* sum[t] = x w, of the rows and units of this lane: x (ROWS, inputs) a tile of activations, element (k, n) of w at
 * w[k * K_STEP + n * N_STEP]. Both count eight inputs as 0, 2, 4, 6, 1, 3, 5, 7, so that a lane's two lie side by side. */
template <int UNITS, int K_STEP, int N_STEP>
static __device__ void multiply(float (&sum)[TILES][4], const float *x, const float *w, int inputs,
                                const lane_part &l) {
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < 4; i++) sum[t][i] = 0;
    x += l.row * steps<UNITS>::tile + l.pair;
    w += l.pair * K_STEP + (l.first + l.row) * N_STEP;
    auto add_eight = [&](int k) {
        float2 upper = *(const float2 *)(x + k), lower = *(const float2 *)(x + 8 * steps<UNITS>::tile + k);
        const halves a[4] = {halves_of(upper.x), halves_of(lower.x), halves_of(upper.y), halves_of(lower.y)};
        for (int t = 0; t < TILES; t++) {
            const float *at = w + k * K_STEP + 8 * t * N_STEP;
            float2 both = K_STEP == 1 ? *(const float2 *)at : make_float2(at[0], at[K_STEP]);
            const halves b[2] = {halves_of(both.x), halves_of(both.y)};
            multiply_add(sum[t], a, b);
        }
    };
    if (inputs == UNITS) { /* as most layers: nothing is asked between the steps, so that they overlap */
#pragma unroll
        for (int k = 0; k < UNITS; k += 8) add_eight(k);
    } else {
#pragma unroll 1
        for (int k = 0; k < inputs; k += 8) add_eight(k);
    }
}

/* ---- forward ---- */

template <int UNITS>
static __global__ void __launch_bounds__(2 * UNITS) forward_kernel(const __grid_constant__ dense_call c) {
    extern __shared__ __align__(16) float memory[];
    const int step = steps<UNITS>::forward, across = steps<UNITS>::tile, size = UNITS * step;
    float *tiles = memory + 2 * size;
    int net = (int)blockIdx.y;
    const dense_view &v = c.nets[net];
    if (v.out == 0) return;
    const lane_part l = part_of_lane();
    size_t first = (size_t)blockIdx.x * ROWS;
    fetch_weights<UNITS, step>(memory, c.params + v.w[0], layer_in(v, 0), layer_out(v, 0));
    for (int i = (int)threadIdx.x; i < ROWS * UNITS; i += 2 * UNITS) {
        int unit = i % UNITS;
        size_t row = first + (size_t)(i / UNITS);
        tiles[i / UNITS * across + unit] =
            unit < v.in && row < (size_t)c.n ? c.state[row * (size_t)c.dim + (size_t)c.source[unit]] : 0;
    }
    for (int i = 0; i <= v.depth; i++) {
        int inputs = layer_in(v, i), outputs = layer_out(v, i);
        const float *x = tiles + i % 2 * ROWS * across, *bias = c.params + v.b[i];
        float *y = tiles + (i + 1) % 2 * ROWS * across, slope = i < v.depth ? v.slope : 1;
        float *rows = c.acts         ? layer_rows<UNITS>(c.acts, c, net, i)
                      : i == v.depth ? c.out + (size_t)net * (size_t)c.n * UNITS
                                     : NULL;
        __pipeline_wait_prior(0);
        __syncthreads(); /* weights and inputs are there, and what the next ones take the place of was read */
        if (i < v.depth)
            fetch_weights<UNITS, step>(memory + (i + 1) % 2 * size, c.params + v.w[i + 1], layer_in(v, i + 1),
                                       layer_out(v, i + 1));
        if (l.first >= outputs) continue;
        float sum[TILES][4], shift[TILES][2];
        for (int t = 0; t < TILES; t++)
            for (int j = 0; j < 2; j++) {
                int unit = l.first + 8 * t + l.pair + j;
                shift[t][j] = unit < outputs ? bias[unit] : 0;
            }
        multiply<UNITS, step, 1>(sum, x, memory + i % 2 * size, inputs, l);
        for (int t = 0; t < TILES && l.first + 8 * t < outputs; t++)
            for (int half = 0; half < 2; half++) {
                int row = l.row + 8 * half, unit = l.first + 8 * t + l.pair;
                float2 r = make_float2(sum[t][2 * half] + shift[t][0], sum[t][2 * half + 1] + shift[t][1]);
                r.x = r.x > 0 ? r.x : slope * r.x;
                r.y = r.y > 0 ? r.y : slope * r.y;
                *(float2 *)(y + row * across + unit) = r;
                if (rows && first + (size_t)row < (size_t)c.n)
                    *(float2 *)(rows + (first + (size_t)row) * UNITS + unit) = r;
            }
    }
}

/* ---- backward ---- */

/* What the activations of a lane's rows and units, which are those of a layer, make of gradients. */
template <int UNITS>
static __device__ void slopes_of(float (&slope)[TILES][4], const float *acts, const dense_call &c,
                                 float below, size_t first, const lane_part &l) {
    for (int t = 0; t < TILES; t++)
        for (int half = 0; half < 2; half++) {
            size_t row = first + (size_t)(l.row + 8 * half);
            float2 y = make_float2(1, 1);
            if (row < (size_t)c.n)
                y = *(const float2 *)(acts + row * UNITS + (size_t)(l.first + 8 * t + l.pair));
            slope[t][2 * half] = y.x > 0 ? 1 : below;
            slope[t][2 * half + 1] = y.y > 0 ? 1 : below;
        }
}

template <int UNITS>
static __global__ void __launch_bounds__(2 * UNITS) backward_kernel(const __grid_constant__ dense_call c) {
    extern __shared__ __align__(16) float memory[];
    const int step = steps<UNITS>::backward, across = steps<UNITS>::tile, size = UNITS * step;
    float *tiles = memory + 2 * size;
    int net = (int)blockIdx.y;
    const dense_view &v = c.nets[net];
    if (v.out == 0) return;
    const lane_part l = part_of_lane();
    size_t first = (size_t)blockIdx.x * ROWS;
    fetch_weights<UNITS, step>(memory, c.params + v.w[v.depth], layer_in(v, v.depth), v.out);
    const float *from = layer_rows<UNITS>(c.grads, c, net, v.depth);
    for (int i = (int)threadIdx.x; i < ROWS * UNITS; i += 2 * UNITS) {
        int unit = i % UNITS;
        size_t row = first + (size_t)(i / UNITS);
        tiles[i / UNITS * across + unit] =
            unit < v.out && row < (size_t)c.n ? from[row * UNITS + (size_t)unit] : 0;
    }
    for (int i = v.depth, at = 0; i >= 0; i--, at = !at) {
        int inputs = layer_in(v, i), outputs = layer_out(v, i);
        const float *g = tiles + at * ROWS * across;
        float *to = tiles + !at * ROWS * across;
        __pipeline_wait_prior(0);
        __syncthreads();
        if (i > 0)
            fetch_weights<UNITS, step>(memory + !at * size, c.params + v.w[i - 1], layer_in(v, i - 1),
                                       layer_out(v, i - 1));
        if (l.first >= inputs) continue;
        float sum[TILES][4], slope[TILES][4];
        if (i > 0) slopes_of<UNITS>(slope, layer_rows<UNITS>(c.acts, c, net, i - 1), c, v.slope, first, l);
        multiply<UNITS, 1, step>(sum, g, memory + at * size, outputs, l);
        for (int t = 0; t < TILES && l.first + 8 * t < inputs; t++)
            for (int half = 0; half < 2; half++) {
                int row = l.row + 8 * half, unit = l.first + 8 * t + l.pair;
                int here = first + (size_t)row < (size_t)c.n;
                float2 r = make_float2(sum[t][2 * half], sum[t][2 * half + 1]);
                if (i > 0) {
                    r.x *= slope[t][2 * half];
                    r.y *= slope[t][2 * half + 1];
                    *(float2 *)(to + row * across + unit) = r;
                    float *rows = layer_rows<UNITS>(c.grads, c, net, i - 1);
                    if (here) *(float2 *)(rows + (first + (size_t)row) * UNITS + unit) = r;
                } else if (here) {
                    float *du1 = c.du1 + ((size_t)net * (size_t)c.n + first + (size_t)row) * (size_t)c.k;
                    if (unit < inputs) du1[unit] = r.x;
                    if (unit + 1 < inputs) du1[unit + 1] = r.y;
                }
            }
    }
}

/* ---- gradients of the parameters ---- */

enum {
    SQUARE = 32, /* inputs and outputs of a block */
    WARPS = 16,
    SUMS = 2 * 4 * 4 + 4 /* of a lane: products, and of the bias */
};

/* A lane has units 4 g to 4 g + 3 of the rows q and q + 4 of a step, with g = lane / 4 and q = lane % 4: units 4 g + 2 m and
 * 4 g + 2 m + 1 are its rows of the left factor m, unit 4 g + t its column of the right one t. */
static __device__ float at(const float4 &v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

/* Four inputs of a layer, from `unit` on. */
template <int UNITS>
static __device__ float4 inputs_of(const dense_call &c, const float *acts, int inputs, size_t row, int unit) {
    if (row >= (size_t)c.n) return make_float4(0, 0, 0, 0);
    if (acts) return *(const float4 *)(acts + row * UNITS + (size_t)unit);
    const float *state = c.state + row * (size_t)c.dim;
    float x[4];
    for (int i = 0; i < 4; i++) x[i] = unit + i < inputs ? state[c.source[unit + i]] : 0;
    return make_float4(x[0], x[1], x[2], x[3]);
}

/* This warp's share of x^t g and of the sums of g: steps of eight rows. Units that a layer does not have give sums that
 * nobody reads. */
template <int UNITS>
static __device__ void sum_products(float (&sum)[2][4][4], float (&bias)[4], const dense_call &c,
                                    const float *acts, const float *grads, int inputs, int top, int left) {
    int lane = (int)threadIdx.x % 32, q = lane % 4, four = lane / 4 * 4;
#pragma unroll 2
    for (size_t row = (size_t)(threadIdx.x / 32 * 8) + (size_t)q; row < (size_t)c.n + (size_t)q;
         row += 8 * WARPS) {
        float4 x[2], g[2];
        for (int i = 0; i < 2; i++) {
            size_t r = row + (size_t)(4 * i);
            x[i] = inputs_of<UNITS>(c, acts, inputs, r, top + four);
            g[i] = r < (size_t)c.n ? *(const float4 *)(grads + r * UNITS + (size_t)(left + four))
                                   : make_float4(0, 0, 0, 0);
        }
        halves b[4][2];
        for (int t = 0; t < 4; t++) {
            for (int i = 0; i < 2; i++) b[t][i] = halves_of(at(g[i], t));
            bias[t] += at(g[0], t) + at(g[1], t);
        }
        for (int m = 0; m < 2; m++) {
            const halves a[4] = {halves_of(at(x[0], 2 * m)), halves_of(at(x[0], 2 * m + 1)),
                                 halves_of(at(x[1], 2 * m)), halves_of(at(x[1], 2 * m + 1))};
            for (int t = 0; t < 4; t++) multiply_add(sum[m][t], a, b[t]);
        }
    }
}

/* What the block's warps have summed up goes to the first one, in halves: the order is always the same. */
static __device__ void sum_of_warps(float (&sum)[2][4][4], float (&bias)[4]) {
    __shared__ float room[WARPS / 2][SUMS][32];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int left = WARPS / 2; left > 0; left /= 2) {
        float(*place)[32] = room[warp % left];
        if (warp >= left && warp < 2 * left) {
            for (int i = 0; i < 32; i++) place[i][lane] = sum[i / 16][i / 4 % 4][i % 4];
            for (int t = 0; t < 4; t++) place[32 + t][lane] = bias[t];
        }
        __syncthreads();
        if (warp < left) {
            for (int i = 0; i < 32; i++) sum[i / 16][i / 4 % 4][i % 4] += place[i][lane];
            for (int t = 0; t < 4; t++) bias[t] += place[32 + t][lane];
        }
        __syncthreads();
    }
}

/* The gradients of a layer: a square of its weights, and its bias where the square is at the top. */
template <int UNITS> static __device__ void add_gradients(const dense_call &c, int net, int layer) {
    const dense_view &v = c.nets[net];
    if (v.out == 0 || layer > v.depth) return;
    int inputs = layer_in(v, layer), outputs = layer_out(v, layer), across = UNITS / SQUARE;
    int top = (int)blockIdx.y / across * SQUARE, left = (int)blockIdx.y % across * SQUARE;
    if (top >= inputs || left >= outputs) return;
    float sum[2][4][4] = {}, bias[4] = {};
    sum_products<UNITS>(sum, bias, c, layer > 0 ? layer_rows<UNITS>(c.acts, c, net, layer - 1) : NULL,
                        layer_rows<UNITS>(c.grads, c, net, layer), inputs, top, left);
    sum_of_warps(sum, bias);
    if (threadIdx.x >= 32) return;
    int g = (int)threadIdx.x / 4, q = (int)threadIdx.x % 4;
    float *weights = c.grad + v.w[layer], *biases = c.grad + v.b[layer];
    for (int m = 0; m < 2; m++)
        for (int i = 0; i < 4; i++)
            for (int t = 0; t < 4; t++) {
                int unit = top + 4 * g + 2 * m + i / 2, to = left + 8 * q + 4 * (i % 2) + t;
                if (unit < inputs && to < outputs)
                    weights[(size_t)unit * (size_t)outputs + (size_t)to] += sum[m][t][i];
            }
    for (int t = 0; t < 4; t++) {
        bias[t] += __shfl_xor_sync(0xffffffff, bias[t], 1);
        bias[t] += __shfl_xor_sync(0xffffffff, bias[t], 2);
        if (top == 0 && q == 0 && left + 4 * g + t < outputs) biases[left + 4 * g + t] += bias[t];
    }
}

/* dstate += du1 of both networks, by `blocks` blocks of which this is one. */
static __device__ void add_sources(const dense_call &c, int block, int blocks) {
    size_t count = (size_t)c.n * (size_t)c.k;
    for (size_t i = (size_t)block * blockDim.x + threadIdx.x; i < count; i += (size_t)blocks * blockDim.x) {
        float sum = 0;
        for (int net = 0; net < 2; net++)
            if (c.nets[net].out > 0) sum += c.du1[(size_t)net * count + i];
        c.dstate[i / (size_t)c.k * (size_t)c.dim + (size_t)c.source[i % (size_t)c.k]] += sum;
    }
}

static __device__ void add_scale(const dense_call &c) {
    double sum = 0;
    for (int i = (int)threadIdx.x; i < c.n; i += (int)blockDim.x) sum += c.ds[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *c.dscale += (float)sum;
}

/* All that is left to do when a batch has gone back through the networks, side by side: blockIdx.x is a layer of a network;
 * after those come the scale, and the rows of the source. */
template <int UNITS>
static __global__ void __launch_bounds__(32 * WARPS) gradients_kernel(const __grid_constant__ dense_call c) {
    int layers = 2 * c.layers, x = (int)blockIdx.x;
    if (x < layers) {
        if (c.grad) add_gradients<UNITS>(c, x / c.layers, x % c.layers);
    } else if (blockIdx.y == 0 && x == layers) {
        if (c.dscale) add_scale(c);
    } else if (blockIdx.y == 0) {
        add_sources(c, x - layers - 1, (int)gridDim.x - layers - 1);
    }
}

/* ---- launching ---- */

/* Two layers of weights and two tiles. */
template <int UNITS> static size_t shared_bytes(int step) {
    return (size_t)(2 * UNITS * step + 2 * ROWS * steps<UNITS>::tile) * sizeof(float);
}

/* Of both networks in one direction. */
static double flops_of(const dense_call *c) {
    double weights = 0;
    for (int net = 0; net < 2; net++)
        for (int i = 0; c->nets[net].out > 0 && i <= c->nets[net].depth; i++)
            weights += (double)layer_in(c->nets[net], i) * layer_out(c->nets[net], i);
    return 2 * weights * c->n;
}

template <int UNITS> struct launches {
    /* What a kernel may take of shared memory has to be said where it is more than the usual. */
    static void prepare(cuda_device *own) {
        cuda_note(own,
                  cudaFuncSetAttribute(forward_kernel<UNITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)shared_bytes<UNITS>(steps<UNITS>::forward)),
                  "shared memory of networks");
        cuda_note(own,
                  cudaFuncSetAttribute(backward_kernel<UNITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)shared_bytes<UNITS>(steps<UNITS>::backward)),
                  "shared memory of networks");
    }
    static void forward(cuda_device *own, const dense_call *c) {
        dim3 grid(blocks_for((size_t)c->n, ROWS), 2);
        forward_kernel<UNITS>
            <<<grid, 2 * UNITS, shared_bytes<UNITS>(steps<UNITS>::forward), own->stream>>>(*c);
        launched_product(own, "networks, forward", flops_of(c));
    }
    static void backward(cuda_device *own, const dense_call *c) {
        dim3 grid(blocks_for((size_t)c->n, ROWS), 2);
        backward_kernel<UNITS>
            <<<grid, 2 * UNITS, shared_bytes<UNITS>(steps<UNITS>::backward), own->stream>>>(*c);
        launched_product(own, "networks, backward", flops_of(c));
    }
    static void gradients(cuda_device *own, const dense_call *c) {
        const int squares = UNITS / SQUARE;
        unsigned sources = at_most(64, blocks_for((size_t)c->n * (size_t)c->k, 32 * WARPS));
        dim3 grid(2 * (unsigned)c->layers + 1 + sources, c->grad ? squares * squares : 1);
        gradients_kernel<UNITS><<<grid, 32 * WARPS, 0, own->stream>>>(*c);
        launched_product(own, "networks, gradients of weights", c->grad ? flops_of(c) : 0);
    }
};

void dense_prepare(cuda_device *own, int units) {
    units == 64 ? launches<64>::prepare(own) : launches<128>::prepare(own);
}
void dense_forward(cuda_device *own, const dense_call *c) {
    c->units == 64 ? launches<64>::forward(own, c) : launches<128>::forward(own, c);
}
void dense_backward(cuda_device *own, const dense_call *c) {
    c->units == 64 ? launches<64>::backward(own, c) : launches<128>::backward(own, c);
}
void dense_gradients(cuda_device *own, const dense_call *c) {
    c->units == 64 ? launches<64>::gradients(own, c) : launches<128>::gradients(own, c);
}
