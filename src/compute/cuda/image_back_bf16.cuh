/* The backward pass through a 1x1 convolution behind a norm as in image_back.cuh, in bf16 and for channels in
 * sixteens.
 *
 * A block has the same band of pixels of many samples, so that the norm's parameters of that band stay in
 * shared memory. Of each sample a warp multiplies tiles of 16 pixels by the weights of 32 channels, which
 * stay in its registers; there the results q meet activations, scale and bias, as fragments of the same form,
 * and normalised activations take the place of activations in shared memory. Then warps have a tile of 16
 * inputs and some of 8 outputs each of the gradient of the weights, for all pixels; one tile of inputs more,
 * of ones, is that of the biases. */
#ifndef JF_COMPUTE_CUDA_IMAGE_BACK_BF16_CUH
#define JF_COMPUTE_CUDA_IMAGE_BACK_BF16_CUH

#include "compute/cuda/image_norm.cuh"
#include "compute/cuda/image_onchip_fragments.cuh"

enum {
    FRAGMENT_WARPS = 16,
    FRAGMENT_STAGES = 3,
    FRAGMENT_PAIRS = 2, /* of tiles of 8 channels, of a warp */
};

/* At most, for so many sixteens of outputs: tiles of 16 pixels of a band, and channels of activations. */
static __host__ __device__ constexpr int fragment_tiles(int steps) {
    return steps > 2 ? 8 : 16;
}
static __host__ __device__ constexpr int fragment_inputs(int steps) {
    return steps > 2 ? 128 : 64;
}

/* What bands are, and which warps have what of them. */
typedef struct fragment_cut {
    int bands, tiles;     /* of a sample; tiles of 16 pixels of a band */
    int y_bytes, x_bytes; /* of a pixel in shared memory: of gradients of outputs, of activations */
    int shares;           /* of the pixels, for gradients of weights */
    size_t bytes;         /* of shared memory */
    divider by_y_slots, by_x_slots;
} fragment_cut;

typedef struct fragment_call {
    fragment_cut t;
    int n, first_net, pixels, in, blocks, pieces; /* in: channels of activations */
    int together[2];                              /* tiles of a set: forward, backward */
    const uint2 *weights[2];                      /* packed, backward */
    const __nv_bfloat16 *dy[2], *x[2];
    gradient_store<bf16_math> store;
    float *partial[2]; /* [piece][tile][OP_TILE_WEIGHTS]; NULL: not wanted */
    size_t stride;     /* from piece to piece */
} fragment_call;

/* What a thread copies of a band: every so manieth vector of eight channels. */
template <int PIXELS, int CHANNELS> struct band_vectors {
    enum {
        ALL = PIXELS * CHANNELS / (int)SLOT,
        BLOCK = (int)FRAGMENT_WARPS * 32,
        COUNT = (ALL + BLOCK - 1) / BLOCK
    };
    int to[COUNT], count;
    __device__ band_vectors(int pixels, int slots, divider by_slots, int pixel_bytes)
        : count(pixels * slots) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const int i = (int)threadIdx.x + k * BLOCK, pixel = divided(i, by_slots);
            to[k] = pixel * pixel_bytes + (i - pixel * slots) * SLOT * 2;
        }
    }
    __device__ void copy(char *memory, const __nv_bfloat16 *from) const {
        const unsigned shared = shared_address(memory);
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const int i = (int)threadIdx.x + k * BLOCK;
            if (i < count) copy_16(shared + (unsigned)to[k], from + i * SLOT, 1);
        }
    }
};

/* STEPS: sixteens of outputs. */
template <int STEPS>
static __global__ void __launch_bounds__(FRAGMENT_WARPS * 32, 1)
    back_fragments_kernel(const __grid_constant__ fragment_call c) {
    enum {
        K = 16 * STEPS,
        PIXELS = fragment_tiles(STEPS) * (int)TILE_ROWS,
        INPUTS = fragment_inputs(STEPS),
        TILES = 2 * FRAGMENT_PAIRS,
        OUTPUTS = STEPS % 2 == 0 ? 4 : 2, /* tiles of outputs of a warp */
        STAGES = FRAGMENT_STAGES
    };
    LAUNCH_MEMORY;
    __shared__ float2 sums[FRAGMENT_WARPS];
    const fragment_cut &t = c.t;
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int band = (int)blockIdx.x % t.bands, first = (int)blockIdx.x / t.bands,
              stride = c.blocks / t.bands;
    const int start = band * t.tiles * TILE_ROWS,
              present = c.pixels - start < t.tiles * TILE_ROWS ? c.pixels - start : t.tiles * TILE_ROWS;
    const int y_tile = t.tiles * TILE_ROWS * t.y_bytes, x_tile = t.tiles * TILE_ROWS * t.x_bytes,
              stage_bytes = y_tile + x_tile;
    char *const of_g = memory + STAGES * stage_bytes, *const of_b = of_g + x_tile;
    float2 *const moments = (float2 *)(of_b + x_tile); /* of the block's samples */
    for (int i = (int)threadIdx.x; i < (STAGES * stage_bytes + 2 * x_tile) / 16; i += FRAGMENT_WARPS * 32)
        ((uint4 *)memory)[i] = make_uint4(0, 0, 0, 0);
    const band_vectors<PIXELS, K> of_y(present, K / SLOT, t.by_y_slots, t.y_bytes);
    const band_vectors<PIXELS, INPUTS> of_x(present, c.in / SLOT, t.by_x_slots, t.x_bytes);
    __syncthreads();
    after_the_last();
    const norm_view<bf16_math> &norm = c.store.norm;
    for (int i = (int)threadIdx.x; first + i * stride < c.n; i += FRAGMENT_WARPS * 32)
        moments[i] = norm.moments(net, first + i * stride);
    if (norm.per_element) {
        of_x.copy(of_g, norm.g[net] + norm.place(start, 0));
        of_x.copy(of_b, norm.b[net] + norm.place(start, 0));
    } else {
        const int slots = c.in / SLOT;
        for (int i = (int)threadIdx.x; i < present * slots; i += FRAGMENT_WARPS * 32) {
            const int pixel = divided(i, t.by_x_slots), slot = i - pixel * slots;
            const int to = pixel * t.x_bytes + slot * 16;
            *(uint4 *)(of_g + to) = *(const uint4 *)(norm.g[net] + slot * SLOT);
            *(uint4 *)(of_b + to) = *(const uint4 *)(norm.b[net] + slot * SLOT);
        }
    }

    /* What the warp has of q: channels, and every so manieth tile of pixels. */
    const int all_pairs = c.in / 16, groups = (all_pairs + FRAGMENT_PAIRS - 1) / FRAGMENT_PAIRS,
              lanes = FRAGMENT_WARPS / groups, group = warp % groups, row = warp / groups,
              pairs = all_pairs - group * FRAGMENT_PAIRS < FRAGMENT_PAIRS ? all_pairs - group * FRAGMENT_PAIRS
                                                                          : FRAGMENT_PAIRS,
              channel = group * FRAGMENT_PAIRS * 16;
    uint2 weights[TILES][STEPS];
#pragma unroll
    for (int j = 0; j < TILES; j++) {
        const int tile = (group * TILES + j) % (c.in / SLOT), together = c.together[1];
#pragma unroll
        for (int k = 0; k < STEPS; k++)
            weights[j][k] =
                c.weights[net][(((tile / together) * STEPS + k) * together + tile % together) * 32 + lane];
    }
    /* And of the gradient of the weights: a tile of inputs, some of outputs, and a share of the pixels. */
    const int parts = (all_pairs + 1) * (2 * STEPS / OUTPUTS), part = warp % parts, share = warp / parts,
              input = part / (2 * STEPS / OUTPUTS), output = part % (2 * STEPS / OUTPUTS) * OUTPUTS;
    const bool biases = input == all_pairs;
    float sum[OUTPUTS][4];
#pragma unroll
    for (int i = 0; i < 4 * OUTPUTS; i++) sum[i / 4][i % 4] = 0;

    auto fill = [&](int sample, int stage) {
        if (sample < c.n) {
            const size_t pixel = (size_t)sample * (size_t)c.pixels + (size_t)start;
            char *const to = memory + stage * stage_bytes;
            of_y.copy(to, c.dy[net] + pixel * K);
            of_x.copy(to + y_tile, c.x[net] + pixel * (size_t)c.in);
        }
        commit_copies();
    };
    for (int i = 0; i < STAGES - 1; i++) fill(first + i * stride, i);
    int stage = 0, ordinal = 0;
    const int half = lane / 16 * 16;
    for (int sample = first; sample < c.n; sample += stride) {
        char *const y = memory + stage * stage_bytes, *const x = y + y_tile;
        wait_for_earlier_copies();
        __syncthreads();
        fill(sample + (STAGES - 1) * stride, stage == 0 ? STAGES - 1 : stage - 1);
        const float scale = moments[ordinal].y, shift = -moments[ordinal].x * scale;
        ordinal++;
        float sum_a = 0, sum_b = 0;
        for (int tile = row; tile < t.tiles && row < lanes; tile += lanes) {
            const int pixel = tile * TILE_ROWS;
            if (pixel >= present) break;
            const unsigned from = shared_address(y + (pixel + lane % 16) * t.y_bytes + half);
            float q[TILES][4];
#pragma unroll
            for (int j = 0; j < TILES; j++) q[j][0] = q[j][1] = q[j][2] = q[j][3] = 0;
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                unsigned a[4];
                load_matrices(a, from + (unsigned)(k * 32));
#pragma unroll
                for (int j = 0; j < TILES; j++) multiply_bf16(q[j], a, weights[j][k]);
            }
            const int at = (pixel + lane % 16) * t.x_bytes + channel * 2 + half,
                      own = (pixel + lane / 4) * t.x_bytes + channel * 2 + lane % 4 * 4,
                      upper = pixel + lane / 4, lower = upper + 8;
            __nv_bfloat16 *const out =
                c.store.q[net] +
                ((size_t)sample * (size_t)c.pixels + (size_t)(start + upper)) * (size_t)c.in + channel;
#pragma unroll
            for (int j = 0; j < FRAGMENT_PAIRS; j++) {
                if (j >= pairs) break;
                unsigned act[4], g[4], b[4], words[4];
                load_matrices(act, shared_address(x + at + j * 32));
                load_matrices(g, shared_address(of_g + at + j * 32));
                load_matrices(b, shared_address(of_b + at + j * 32));
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const float *const two = q[2 * j + i / 2] + i % 2 * 2;
                    words[i] = pair_bf16(two[0], two[1]);
                    const unsigned p = product_pair(words[i], g[i]);
                    const float e = fmaf(leaky(low_bf16(act[i]), norm.slope), scale, shift),
                                f = fmaf(leaky(high_bf16(act[i]), norm.slope), scale, shift);
                    sum_a += low_bf16(p) + high_bf16(p);
                    sum_b = fmaf(low_bf16(p), e, fmaf(high_bf16(p), f, sum_b));
                    store_word(shared_address(x + own + i % 2 * 8 * t.x_bytes + i / 2 * 16 + j * 32),
                               scaled_pair(pair_bf16(e, f), g[i], b[i]));
                }
                store_fragment(out + j * 16, out + j * 16 + 8 * c.in, words, upper < present, lower < present,
                               lane % 4);
            }
        }
        const float2 of_warp = warp_sum(sum_a, sum_b);
        if (lane == 0) sums[warp] = of_warp;
        __syncthreads();
        if (warp == FRAGMENT_WARPS - 1) {
            const float2 mine = lane < FRAGMENT_WARPS ? sums[lane] : make_float2(0, 0),
                         all = warp_sum(mine.x, mine.y);
            if (lane == 0) c.store.take(net, sample, band, all);
        }
        if (c.partial[net] && share < t.shares) {
            const unsigned columns = shared_address(y + lane % 16 * t.y_bytes + output * 16 + half),
                           rows = shared_address(x + bf16_math::pixel(lane, 0) * t.x_bytes + input * 32 +
                                                 lane / 8 % 2 * 16);
            for (int tile = share; tile * TILE_ROWS < present; tile += t.shares) {
                unsigned a[4], b[OUTPUTS / 2][4];
                if (biases)
                    bf16_math::ones(a);
                else
                    load_transposed(a, rows + (unsigned)(tile * TILE_ROWS * t.x_bytes));
#pragma unroll
                for (int i = 0; i < OUTPUTS / 2; i++)
                    load_transposed(b[i], columns + (unsigned)(tile * TILE_ROWS * t.y_bytes + i * 32));
#pragma unroll
                for (int i = 0; i < OUTPUTS; i++) multiply_bf16(sum[i], a, b[i / 2] + i % 2 * 2);
            }
        }
        stage = stage == STAGES - 1 ? 0 : stage + 1;
    }

    if (!c.partial[net]) return;
    wait_for_copies();
    __syncthreads();
    auto leave = [&](float *at, const float v[4]) {
        at += lane / 4 * TILE_COLUMNS + lane % 4 * 2;
        *(float2 *)at = make_float2(v[0], v[1]);
        *(float2 *)(at + 8 * TILE_COLUMNS) = make_float2(v[2], v[3]);
    };
    float *const shared_sums = (float *)memory; /* [share][part][OUTPUTS][OP_TILE_WEIGHTS] */
    if (share < t.shares)
#pragma unroll
        for (int i = 0; i < OUTPUTS; i++)
            leave(shared_sums + ((size_t)warp * OUTPUTS + i) * OP_TILE_WEIGHTS, sum[i]);
    __syncthreads();
    const int tiles = (all_pairs + 1) * 2 * STEPS, of_weights = all_pairs * 2 * STEPS,
              together = c.together[0];
    for (int i = (int)threadIdx.x; i < tiles * OP_TILE_WEIGHTS; i += FRAGMENT_WARPS * 32) {
        const int tile = i / OP_TILE_WEIGHTS, in = tile / (2 * STEPS), o = tile % (2 * STEPS);
        float all = 0;
        for (int s = 0; s < t.shares; s++) all += shared_sums[s * tiles * OP_TILE_WEIGHTS + i];
        const int place =
            in == all_pairs ? of_weights + o : ((o / together) * all_pairs + in) * together + o % together;
        float *to = c.partial[net] + (size_t)place * OP_TILE_WEIGHTS + i % OP_TILE_WEIGHTS;
        to[(size_t)blockIdx.x * c.stride] = all;
        for (int piece = (int)blockIdx.x + c.blocks; piece < c.pieces; piece += c.blocks)
            to[(size_t)piece * c.stride] = 0;
    }
}

#endif
