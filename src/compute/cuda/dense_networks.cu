/* Dense networks of whole batches, on tensor cores in the precision of float (tensor.cuh).
 *
 * A block takes a tile of ROWS rows through all layers of one network: activations stay in shared memory, and
 * the weights of the next layer arrive while those of this one are multiplied. Networks A and B are one
 * launch. In the backward pass a tile goes through all layers likewise and leaves the gradient of each
 * layer's sums in scratch. */
#include "compute/cuda/dense_layers.cuh"
#include "compute/cuda/tensor.cuh"
#include <cuda_pipeline.h>

enum { ROWS = 16 /* of a tile */ };

/* A warp has eight units of a layer's outputs. Rows of shared memory begin in different banks, so that the
 * lanes that read together meet different ones: weights are read down a column in the forward pass and along
 * a row in the backward pass, and activations in pairs in the forward pass. */
template <int UNITS> struct size_of {
    enum {
        threads = 32 * (UNITS / 8),
        weights_row = UNITS + 4,
        forward_row = UNITS + 8,
        backward_row = UNITS + 4,
        stages = UNITS == 64 ? 3 : 2, /* layers whose weights are there or on their way */
        weights = UNITS * weights_row /* of a stage */
    };
};

/* Which part of a product a lane has: rows `row` and `row` + 8, of its warp's eight units those from 2 `four`
 * on, two. */
typedef struct lane_part {
    int row, four, first; /* first: the first unit of this warp */
} lane_part;
static __device__ lane_part part_of_lane(void) {
    int lane = (int)threadIdx.x % 32;
    return lane_part{lane / 4, lane % 4, (int)threadIdx.x / 32 * 8};
}

/* ---- weights on their way ---- */

/* Most layers are UNITS wide. Their weights are copied by 16 bytes, from where such begin before the first of
 * them to where they end after the last: the bias is there. */
template <int UNITS> static __device__ int is_whole(const dense_view &v, int i) {
    return layer_in(v, i) == UNITS && layer_out(v, i) == UNITS && v.b[i] > v.w[i];
}
/* How many numbers come before the first. */
template <int UNITS> static __device__ int lead_of(const dense_call &c, const dense_view &v, int i) {
    return is_whole<UNITS>(v, i) ? (int)((uintptr_t)(c.params + v.w[i]) / sizeof(float) % 4) : 0;
}

/* Weights of layer i, if there is one, to shared memory; others than whole ones with zeros up to eight. */
template <int UNITS>
static __device__ void fetch_weights(float *to, const dense_call &c, const dense_view &v, int i) {
    const int row = size_of<UNITS>::weights_row, threads = size_of<UNITS>::threads, quads = UNITS / 4;
    if (i < 0 || i > v.depth) {
    } else if (is_whole<UNITS>(v, i)) {
        int lead = lead_of<UNITS>(c, v, i), quad = (int)threadIdx.x % quads * 4;
        const float *from = c.params + v.w[i] - lead;
#pragma unroll
        for (int k = 0; k < UNITS; k += threads / quads) {
            int at = k + (int)threadIdx.x / quads;
            __pipeline_memcpy_async(to + at * row + quad, from + at * UNITS + quad, 16);
        }
        if (lead > 0 && threadIdx.x < UNITS)
            __pipeline_memcpy_async(to + (int)threadIdx.x * row + UNITS,
                                    from + (int)threadIdx.x * UNITS + UNITS, 16);
    } else {
        int inputs = layer_in(v, i), outputs = layer_out(v, i), columns = (outputs + 7) / 8 * 8;
        const float *from = c.params + v.w[i];
        for (int at = (int)threadIdx.x; at < (inputs + 7) / 8 * 8 * columns; at += threads) {
            int k = at / columns, n = at % columns;
            if (k < inputs && n < outputs)
                __pipeline_memcpy_async(to + k * row + n, from + k * outputs + n, sizeof(float));
            else
                to[k * row + n] = 0;
        }
    }
    __pipeline_commit();
}

/* ---- products ---- */

/* The product of a tile (ROWS, inputs) and weights (inputs, .), of the rows and units of this lane. Forward,
 * tile and weights count eight inputs as 0, 2, 4, 6, 1, 3, 5, 7, so that a lane's two numbers of a row lie
 * side by side. */
template <int UNITS>
static __device__ void add_eight_forward(split_sum &sum, const float *x, const float *w, int k,
                                         const lane_part &l) {
    x += l.row * size_of<UNITS>::forward_row + k + 2 * l.four;
    w += (k + 2 * l.four) * size_of<UNITS>::weights_row + l.first + l.row;
    float2 upper = *(const float2 *)x, lower = *(const float2 *)(x + 8 * size_of<UNITS>::forward_row);
    const halves a[4] = {halves_of(upper.x), halves_of(lower.x), halves_of(upper.y), halves_of(lower.y)};
    const halves b[2] = {halves_of(w[0]), halves_of(w[size_of<UNITS>::weights_row])};
    multiply_add(sum, a, b);
}

/* The same with the weights' transpose. */
template <int UNITS>
static __device__ void add_eight_backward(split_sum &sum, const float *x, const float *w, int k,
                                          const lane_part &l) {
    x += l.row * size_of<UNITS>::backward_row + k + l.four;
    w += (l.first + l.row) * size_of<UNITS>::weights_row + k + l.four;
    const float *lower = x + 8 * size_of<UNITS>::backward_row;
    const halves a[4] = {halves_of(x[0]), halves_of(lower[0]), halves_of(x[4]), halves_of(lower[4])};
    const halves b[2] = {halves_of(w[0]), halves_of(w[4])};
    multiply_add(sum, a, b);
}

template <int UNITS, void (*ADD_EIGHT)(split_sum &, const float *, const float *, int, const lane_part &)>
static __device__ split_sum multiply(const float *x, const float *w, int inputs, const lane_part &l) {
    split_sum sum = {};
    if (inputs == UNITS) { /* as most are: nothing is asked between the steps, so that they overlap */
#pragma unroll
        for (int k = 0; k < UNITS; k += 8) ADD_EIGHT(sum, x, w, k, l);
    } else {
#pragma unroll 1
        for (int k = 0; k < inputs; k += 8) ADD_EIGHT(sum, x, w, k, l);
    }
    return sum;
}

/* ---- forward ---- */

/* The bias of a lane's two units, of layer i if there is one. */
static __device__ float2 bias_of(const dense_call &c, const dense_view &v, int i, const lane_part &l) {
    int unit = l.first + 2 * l.four, outputs = i <= v.depth ? layer_out(v, i) : 0;
    const float *bias = c.params + (outputs > 0 ? v.b[i] : 0);
    return make_float2(unit < outputs ? bias[unit] : 0, unit + 1 < outputs ? bias[unit + 1] : 0);
}

/* What the first layer reads, with zeros up to eight. */
static __device__ void load_sources(float *tile, int row_size, const dense_call &c, const dense_view &v,
                                    size_t first) {
    for (int i = (int)threadIdx.x; i < (v.in + 7) / 8 * 8 * ROWS; i += (int)blockDim.x) {
        int row = i % ROWS, unit = i / ROWS, here = unit < v.in && first + (size_t)row < (size_t)c.n;
        tile[row * row_size + unit] =
            here ? c.state[(first + (size_t)row) * (size_t)c.dim + (size_t)c.source[unit]] : 0;
    }
}

template <int UNITS>
static __global__ void __launch_bounds__(size_of<UNITS>::threads)
    forward_kernel(const __grid_constant__ dense_call c) {
    LAUNCH_FLOATS;
    const int across = size_of<UNITS>::forward_row, stages = size_of<UNITS>::stages;
    float *tiles = memory + stages * size_of<UNITS>::weights;
    int net = (int)blockIdx.y;
    const dense_view &v = c.nets[net];
    if (v.out == 0) return;
    const lane_part l = part_of_lane();
    size_t first = (size_t)blockIdx.x * ROWS;
    for (int i = 0; i < stages - 1; i++) fetch_weights<UNITS>(memory + i * size_of<UNITS>::weights, c, v, i);
    load_sources(tiles, across, c, v, first);
    float2 bias = bias_of(c, v, 0, l);
    for (int i = 0; i <= v.depth; i++) {
        int outputs = layer_out(v, i), unit = l.first + 2 * l.four;
        const float *x = tiles + i % 2 * ROWS * across;
        const float *w = memory + i % stages * size_of<UNITS>::weights + lead_of<UNITS>(c, v, i);
        float *y = tiles + (i + 1) % 2 * ROWS * across, slope = i < v.depth ? v.slope : 1;
        float *rows = c.acts         ? layer_rows<UNITS>(c.acts, c, net, i)
                      : i == v.depth ? c.out + (size_t)net * (size_t)c.n * UNITS
                                     : NULL;
        __pipeline_wait_prior(stages - 2);
        __syncthreads(); /* weights and inputs are there, and what the next ones take the place of was read */
        fetch_weights<UNITS>(memory + (i + stages - 1) % stages * size_of<UNITS>::weights, c, v,
                             i + stages - 1);
        float2 next_bias = bias_of(c, v, i + 1, l);
        if (l.first < outputs) {
            split_sum sum = multiply<UNITS, add_eight_forward<UNITS>>(x, w, layer_in(v, i), l);
            for (int half = 0; half < 2; half++) {
                int row = l.row + 8 * half;
                float2 r = make_float2(whole(sum, 2 * half) + bias.x, whole(sum, 2 * half + 1) + bias.y);
                r.x = r.x > 0 ? r.x : slope * r.x;
                r.y = r.y > 0 ? r.y : slope * r.y;
                *(float2 *)(y + row * across + unit) = r;
                if (rows && first + (size_t)row < (size_t)c.n)
                    *(float2 *)(rows + (first + (size_t)row) * UNITS + unit) = r;
            }
        }
        bias = next_bias;
    }
}

/* ---- backward ---- */

/* A lane's activations of layer i, if there is one: of both rows two units. */
typedef struct lane_acts {
    float2 rows[2];
} lane_acts;
template <int UNITS>
static __device__ lane_acts acts_of(const dense_call &c, int net, int i, size_t first, const lane_part &l) {
    lane_acts a = {{{0, 0}, {0, 0}}};
    for (int half = 0; half < 2; half++) {
        size_t row = first + (size_t)(l.row + 8 * half);
        if (i >= 0 && row < (size_t)c.n)
            a.rows[half] = *(const float2 *)(layer_rows<UNITS>(c.acts, c, net, i) + row * UNITS +
                                             (size_t)(l.first + 2 * l.four));
    }
    return a;
}

/* What comes from the law, with zeros up to eight. */
template <int UNITS>
static __device__ void load_gradients(float *tile, const dense_call &c, const dense_view &v, int net,
                                      size_t first) {
    const float *from = layer_rows<UNITS>(c.grads, c, net, v.depth);
    int columns = (v.out + 7) / 8 * 8;
    for (int i = (int)threadIdx.x; i < columns * ROWS; i += (int)blockDim.x) {
        int row = i / columns, unit = i % columns, here = unit < v.out && first + (size_t)row < (size_t)c.n;
        tile[row * size_of<UNITS>::backward_row + unit] =
            here ? from[(first + (size_t)row) * UNITS + (size_t)unit] : 0;
    }
}

template <int UNITS>
static __global__ void __launch_bounds__(size_of<UNITS>::threads)
    backward_kernel(const __grid_constant__ dense_call c) {
    LAUNCH_FLOATS;
    const int across = size_of<UNITS>::backward_row, stages = size_of<UNITS>::stages;
    float *tiles = memory + stages * size_of<UNITS>::weights;
    int net = (int)blockIdx.y;
    const dense_view &v = c.nets[net];
    if (v.out == 0) return;
    const lane_part l = part_of_lane();
    size_t first = (size_t)blockIdx.x * ROWS;
    for (int i = 0; i < stages - 1; i++)
        fetch_weights<UNITS>(memory + i * size_of<UNITS>::weights, c, v, v.depth - i);
    load_gradients<UNITS>(tiles, c, v, net, first);
    lane_acts acts = acts_of<UNITS>(c, net, v.depth - 1, first, l);
    for (int step = 0, i = v.depth; i >= 0; step++, i--) {
        int inputs = layer_in(v, i), unit = l.first + 2 * l.four;
        const float *g = tiles + step % 2 * ROWS * across;
        const float *w = memory + step % stages * size_of<UNITS>::weights + lead_of<UNITS>(c, v, i);
        float *to = tiles + (step + 1) % 2 * ROWS * across;
        __pipeline_wait_prior(stages - 2);
        __syncthreads();
        fetch_weights<UNITS>(memory + (step + stages - 1) % stages * size_of<UNITS>::weights, c, v,
                             i - (stages - 1));
        lane_acts next_acts = acts_of<UNITS>(c, net, i - 2, first, l);
        if (l.first < inputs) {
            split_sum sum = multiply<UNITS, add_eight_backward<UNITS>>(g, w, layer_out(v, i), l);
            for (int half = 0; half < 2; half++) {
                size_t row = first + (size_t)(l.row + 8 * half);
                float2 r = make_float2(whole(sum, 2 * half), whole(sum, 2 * half + 1));
                if (i > 0) {
                    r.x *= acts.rows[half].x > 0 ? 1 : v.slope;
                    r.y *= acts.rows[half].y > 0 ? 1 : v.slope;
                    *(float2 *)(to + (l.row + 8 * half) * across + unit) = r;
                    if (row < (size_t)c.n)
                        *(float2 *)(layer_rows<UNITS>(c.grads, c, net, i - 1) + row * UNITS + unit) = r;
                } else if (row < (size_t)c.n) {
                    float *du1 = c.du1 + ((size_t)net * (size_t)c.n + row) * (size_t)c.k;
                    if (unit < inputs) du1[unit] = r.x;
                    if (unit + 1 < inputs) du1[unit + 1] = r.y;
                }
            }
        }
        acts = next_acts;
    }
}

/* ---- launching ---- */

/* Weights of some layers, and two tiles. */
template <int UNITS> static size_t shared_bytes(int across) {
    return (size_t)(size_of<UNITS>::stages * size_of<UNITS>::weights + 2 * ROWS * across) * sizeof(float);
}

template <int UNITS> struct launches {
    /* What a kernel may take of shared memory has to be said where it is more than the usual. */
    static void prepare(cuda_device *own) {
        cuda_note(own,
                  cudaFuncSetAttribute(forward_kernel<UNITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)shared_bytes<UNITS>(size_of<UNITS>::forward_row)),
                  "shared memory of networks");
        cuda_note(own,
                  cudaFuncSetAttribute(backward_kernel<UNITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)shared_bytes<UNITS>(size_of<UNITS>::backward_row)),
                  "shared memory of networks");
    }
    static void forward(cuda_device *own, const dense_call *c) {
        dim3 grid(blocks_for((size_t)c->n, ROWS), 2);
        launch_in(own->stream, forward_kernel<UNITS>, grid, size_of<UNITS>::threads,
                  shared_bytes<UNITS>(size_of<UNITS>::forward_row), *c);
        launched_product(own, "networks, forward", flops_of(c));
    }
    static void backward(cuda_device *own, const dense_call *c) {
        dim3 grid(blocks_for((size_t)c->n, ROWS), 2);
        launch_in(own->stream, backward_kernel<UNITS>, grid, size_of<UNITS>::threads,
                  shared_bytes<UNITS>(size_of<UNITS>::backward_row), *c);
        launched_product(own, "networks, backward", flops_of(c));
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
