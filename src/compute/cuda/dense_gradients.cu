/* Gradients of dense networks' weights, on tensor cores in the precision of float (tensor.cuh): products over
 * the whole batch, when it has gone back through the networks. A block has a square of a layer's weights, its
 * warps take steps of rows in turn and add up their sums in a fixed order. */
#include "compute/cuda/dense_layers.cuh"
#include "compute/cuda/tensor.cuh"

enum {
    SQUARE = 32, /* inputs and outputs of a block */
    WARPS = 16,
    SUMS = 2 * 4 * 4 + 4 /* of a lane: products, and of the bias */
};

/* A lane has units 4 g to 4 g + 3 of the rows q and q + 4 of a step, with g = lane / 4 and q = lane % 4:
 * units 4 g + 2 m and 4 g + 2 m + 1 are its rows of the left factor m, unit 4 g + t its column of the right
 * one t. */
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

/* This warp's share of x^t g and of the sums of g: steps of eight rows. Units that a layer does not have give
 * sums that nobody reads. */
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
    auto add_or_write = [&](int write) { /* all are read before the first is written: one wait for 32 */
                                         for (int m = 0; m < 2; m++)
                                             for (int i = 0; i < 4; i++)
                                                 for (int t = 0; t < 4; t++) {
                                                     int unit = top + 4 * g + 2 * m + i / 2,
                                                         to = left + 8 * q + 4 * (i % 2) + t;
                                                     float *at = weights + (size_t)unit * (size_t)outputs +
                                                                 (size_t)to;
                                                     if (unit >= inputs || to >= outputs) continue;
                                                     if (write)
                                                         *at = sum[m][t][i];
                                                     else
                                                         sum[m][t][i] += *at;
                                                 }
    };
    add_or_write(0);
    add_or_write(1);
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

/* All that is left to do when a batch has gone back through the networks, side by side: blockIdx.x is a layer
 * of a network; after those come the scale, and the rows of the source. */
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

template <int UNITS> static void run_gradients(cuda_device *own, const dense_call *c) {
    const int squares = UNITS / SQUARE;
    unsigned sources = at_most(64, blocks_for((size_t)c->n * (size_t)c->k, 32 * WARPS));
    dim3 grid(2 * (unsigned)c->layers + 1 + sources, c->grad ? squares * squares : 1);
    launch(own, gradients_kernel<UNITS>, grid, 32 * WARPS, *c);
    launched_product(own, "networks, gradients of weights", c->grad ? flops_of(c) : 0);
}

void dense_gradients(cuda_device *own, const dense_call *c) {
    c->units == 64 ? run_gradients<64>(own, c) : run_gradients<128>(own, c);
}
