/* A 1x1 convolution behind a norm, forward, in bf16: for training, where activations go to memory.
 *
 * A warp has the same band of pixels of one sample after the other, and all their channels. Nothing is shared by warps but the weights,
 * and nothing passes through shared memory but these and the norm's parameters of the warp's own pixels, so that no warp waits for
 * another. What is read arrives in registers as the operands of products, since which term of a product is which channel is free: a
 * lane has eight channels side by side of its pixels, and of the results, too (channel_of_term, channel_of_column). */
#ifndef JF_COMPUTE_CUDA_IMAGE_POINTWISE_CUH
#define JF_COMPUTE_CUDA_IMAGE_POINTWISE_CUH

#include "compute/cuda/image_held_fragments.cuh"
#include "compute/cuda/image_norm.cuh"

enum { POINTWISE_TILES = 2 }; /* tiles of 16 pixels of a band */

/* Warps of a block that have registers and shared memory, for so many sixteens of inputs. */
static __host__ __device__ constexpr int pointwise_warps(int inputs) {
    return inputs > 4 ? 12 : 16;
}
/* Chunks of 32 channels, of which the last may be half a one. */
static __host__ __device__ constexpr int chunks_of(int sixteens) {
    return (sixteens + 1) / 2;
}
static __host__ __device__ constexpr int pointwise_weights(int inputs, int outputs) { /* vectors */
    return chunks_of(inputs) * 2 * outputs * 32;
}
static __host__ __device__ constexpr int pointwise_parameters(int inputs) { /* vectors of a warp */
    return POINTWISE_TILES * chunks_of(inputs) * 4 * 32;
}
static __host__ __device__ constexpr size_t pointwise_bytes(int inputs, int outputs) {
    return (size_t)(pointwise_weights(inputs, outputs) +
                    pointwise_warps(inputs) * pointwise_parameters(inputs)) *
           16;
}

static inline int pointwise_bands(int pixels) {
    const int of_band = (int)POINTWISE_TILES * (int)TILE_ROWS;
    return (pixels + of_band - 1) / of_band;
}

typedef struct pointwise_call {
    int n, first_net, pixels, bands, tracks; /* tracks: samples that are worked on at once */
    int together;                            /* tiles of a set of the packed weights */
    const unsigned *weights[2];              /* packed, forward */
    const float *bias[2];
    const __nv_bfloat16 *x[2], *shortcut[2]; /* shortcut: what results are added to */
    __nv_bfloat16 *y[2];
    norm_view<bf16_math> norm; /* of x */
    band_sums sums;            /* of the results, for their norm */
} pointwise_call;

/* Of a chunk of inputs: the first of the two channels that word `word` of lane t has, of four that it has in all; in half a chunk there are
 * two. Words 0 and 1 are the operand of the first product, 2 and 3 that of the second. */
static __device__ inline int channel_of_term(int t, int word, bool half) {
    return half ? 4 * t + 2 * word : 8 * t + 2 * word;
}
/* Of the outputs: that of column g of tile j, so that a lane's columns 2t and 2t + 1 of four tiles are eight side by side. */
static __device__ inline int channel_of_column(int j, int g) {
    return j / 4 * 32 + g / 2 * 8 + j % 4 * 2 + g % 2;
}

/* Eight channels of a lane, or four of half a chunk. */
template <bool HALF> static __device__ inline uint4 load_chunk(const __nv_bfloat16 *at) {
    if constexpr (HALF) {
        const uint2 v = *(const uint2 *)at;
        return make_uint4(v.x, v.y, 0, 0);
    } else {
        return *(const uint4 *)at;
    }
}

/* The weights of all terms and columns, of two steps of a lane at once. */
template <int INPUTS, int OUTPUTS>
static __device__ inline void gather_weights(uint4 *to, const unsigned *packed, int together) {
    enum { CHUNKS = chunks_of(INPUTS), WORDS = pointwise_weights(INPUTS, OUTPUTS) * 4 };
    for (int i = (int)threadIdx.x; i < WORDS; i += (int)blockDim.x) {
        const int word = i % 4, lane = i / 4 % 32, chunk = i / 128 % CHUNKS, j = i / 128 / CHUNKS;
        const bool half = 2 * chunk + 1 == INPUTS;
        unsigned v = 0;
        if (!half || word < 2) {
            const int input = 32 * chunk + channel_of_term(lane % 4, word, half),
                      output = channel_of_column(j, lane / 4), tile = output / 8;
            const int place = (tile / together * INPUTS + input / 16) * together + tile % together,
                      of_lane = output % 8 * 4 + input % 8 / 2;
            v = packed[(place * 32 + of_lane) * 2 + input / 8 % 2];
        }
        ((unsigned *)to)[i] = v;
    }
}

/* INPUTS, OUTPUTS: sixteens of channels. */
template <int INPUTS, int OUTPUTS, bool ADDS>
static __global__ void __launch_bounds__(pointwise_warps(INPUTS) * 32, 1)
    pointwise_kernel(const __grid_constant__ pointwise_call c) {
    enum {
        IN = 16 * INPUTS,
        OUT = 16 * OUTPUTS,
        CHUNKS = chunks_of(INPUTS),
        LAST = INPUTS % 2 ? CHUNKS - 1 : CHUNKS, /* half a chunk, if there is one */
        TILES = 2 * OUTPUTS,
        WARPS = pointwise_warps(INPUTS)
    };
    static_assert(OUTPUTS % 2 == 0, "results come in chunks of 32 channels");
    LAUNCH_MEMORY;
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32,
              t = lane % 4;
    const int number = (int)blockIdx.x * WARPS + warp, first = number / c.bands,
              band = number - first * c.bands;
    uint4 *const parameters =
        (uint4 *)memory + pointwise_weights(INPUTS, OUTPUTS) + warp * pointwise_parameters(INPUTS) + lane;
    const unsigned weights = shared_address((uint4 *)memory + lane), own = shared_address(parameters);
    after_the_last();
    gather_weights<INPUTS, OUTPUTS>((uint4 *)memory, c.weights[net], c.together);
    __syncthreads();
    if (first >= c.tracks || first >= c.n) return;

    const int last_tile = (c.pixels - 1) / TILE_ROWS, first_tile = band * POINTWISE_TILES,
              tiles =
                  last_tile - first_tile + 1 < POINTWISE_TILES ? last_tile - first_tile + 1 : POINTWISE_TILES;
    /* Row g or g + 8 of a tile; of those beyond the image the last pixel is read in vain. */
    auto row_of = [&](int tile, int half) { return (first_tile + tile) * TILE_ROWS + half * 8 + lane / 4; };
    auto pixel_of = [&](int tile, int half) {
        const int row = row_of(tile, half);
        return row < c.pixels ? row : c.pixels - 1;
    };
    auto parameter = [&](int tile, int chunk, int half, int which) {
        return (((tile * CHUNKS + chunk) * 2 + half) * 2 + which) * 32;
    };
    /* f(chunk, its first channel of this lane, whether it is half a one) */
    auto each_chunk = [&](auto f) {
#pragma unroll
        for (int chunk = 0; chunk < LAST; chunk++) f(chunk, 32 * chunk + 8 * t, known<false>());
        if constexpr ((int)LAST < (int)CHUNKS) f((int)LAST, 32 * LAST + 4 * t, known<true>());
    };
#pragma unroll 1
    for (int i = 0; i < 2 * tiles; i++)
        each_chunk([&](int chunk, int channel, auto is_half) {
            const size_t at = c.norm.place(pixel_of(i / 2, i % 2), channel);
            parameters[parameter(i / 2, chunk, i % 2, 0)] =
                load_chunk<decltype(is_half)::value>(c.norm.g[net] + at);
            parameters[parameter(i / 2, chunk, i % 2, 1)] =
                load_chunk<decltype(is_half)::value>(c.norm.b[net] + at);
        });
    __syncwarp(); /* a lane reads what it has written itself, by other instructions */

    /* What is read of a tile, chunk by chunk. As soon as a chunk has become an operand, that of the next tile is asked for. */
    uint4 x[CHUNKS][2];
    const __nv_bfloat16 *from[2];
    /* Behind the last sample: to that one again, in vain. */
    auto point_to = [&](int sample, int tile) {
        const size_t start = (size_t)(sample < c.n ? sample : sample - c.tracks) * (size_t)c.pixels;
#pragma unroll
        for (int half = 0; half < 2; half++)
            from[half] = c.x[net] + (start + (size_t)pixel_of(tile, half)) * IN;
    };
    auto ask = [&](int chunk, int channel, auto is_half) {
#pragma unroll
        for (int half = 0; half < 2; half++)
            x[chunk][half] = load_chunk<decltype(is_half)::value>(from[half] + channel);
    };
    /* Sums of the bands of a sample, one for each lane. */
    auto ask_sums = [&](int sample) {
        return lane < c.norm.sums.bands && sample < c.n
                   ? c.norm.sums.at[net][(size_t)sample * MAX_BANDS + (size_t)lane]
                   : make_float2(0, 0);
    };

    point_to(first, 0);
    each_chunk(ask);
    float2 of_band = ask_sums(first);
#pragma unroll 1
    for (int sample = first; sample < c.n; sample += c.tracks) {
        double2 all = make_double2((double)of_band.x, (double)of_band.y);
        of_band = ask_sums(sample + c.tracks);
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            all.x += __shfl_xor_sync(0xffffffff, all.x, step);
            all.y += __shfl_xor_sync(0xffffffff, all.y, step);
        }
        const float2 moments = c.norm.moments_of(all);
        const float scale = moments.y, shift = -moments.x * moments.y;
        auto normalised = [&](unsigned v, unsigned g, unsigned b) {
            return scaled_pair(pair_bf16(fmaf(leaky(low_bf16(v), c.norm.slope), scale, shift),
                                         fmaf(leaky(high_bf16(v), c.norm.slope), scale, shift)),
                               g, b);
        };
        float sum = 0, square = 0;
#pragma unroll 1
        for (int tile = 0; tile < tiles; tile++) {
            const size_t start = (size_t)sample * (size_t)c.pixels;
            const unsigned of_tile = own + (unsigned)parameter(tile, 0, 0, 0) * 16;
            uint4 add[OUTPUTS / 2][2];
            if (ADDS)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const __nv_bfloat16 *const at =
                        c.shortcut[net] + (start + (size_t)pixel_of(tile, half)) * OUT + 8 * t;
#pragma unroll
                    for (int r = 0; r < OUTPUTS / 2; r++) add[r][half] = *(const uint4 *)(at + 32 * r);
                }
            point_to(tile + 1 < tiles ? sample : sample + c.tracks, tile + 1 < tiles ? tile + 1 : 0);
            float acc[TILES][4];
#pragma unroll
            for (int j = 0; j < TILES; j++) {
                const float2 bias = *(const float2 *)(c.bias[net] + channel_of_column(j, 2 * t));
                acc[j][0] = acc[j][2] = bias.x, acc[j][1] = acc[j][3] = bias.y;
            }
            each_chunk([&](int chunk, int channel, auto is_half) {
                constexpr int STEPS = decltype(is_half)::value ? 1 : 2;
                unsigned a[2][4];
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    unsigned v[4], g[4], b[4];
                    words_of(v, x[chunk][half]);
                    words_of(g, load_vector(of_tile + (unsigned)parameter(0, chunk, half, 0) * 16));
                    words_of(b, load_vector(of_tile + (unsigned)parameter(0, chunk, half, 1) * 16));
#pragma unroll
                    for (int k = 0; k < 2 * STEPS; k++)
                        a[k / 2][k % 2 * 2 + half] = normalised(v[k], g[k], b[k]);
                }
                ask(chunk, channel, is_half);
#pragma unroll
                for (int j = 0; j < TILES; j += 4) {
                    uint4 w[4];
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        w[k] = load_vector(weights + (unsigned)(((j + k) * CHUNKS + chunk) * 512));
#pragma unroll
                    for (int k = 0; k < 4; k++) multiply_bf16(acc[j + k], a[0], make_uint2(w[k].x, w[k].y));
                    if constexpr (STEPS == 2)
#pragma unroll
                        for (int k = 0; k < 4; k++)
                            multiply_bf16(acc[j + k], a[1], make_uint2(w[k].z, w[k].w));
                }
            });
#pragma unroll
            for (int half = 0; half < 2; half++) {
                if (row_of(tile, half) >= c.pixels) continue;
                __nv_bfloat16 *const to = c.y[net] + (start + (size_t)row_of(tile, half)) * OUT + 8 * t;
#pragma unroll
                for (int r = 0; r < OUTPUTS / 2; r++) {
                    float v[8], old[8];
                    if (ADDS) bf16_math::floats_of(old, add[r][half]);
#pragma unroll
                    for (int k = 0; k < 8; k++) {
                        v[k] = acc[4 * r + k / 2][2 * half + k % 2] + (ADDS ? old[k] : 0);
                        const float e = leaky(v[k], c.norm.slope);
                        sum += e, square = fmaf(e, e, square);
                    }
                    bf16_math::put8(to + 32 * r, v);
                }
            }
        }
        const float2 of_warp = warp_sum(sum, square);
        if (lane == 0) c.sums.at[net][(size_t)sample * MAX_BANDS + (size_t)band] = of_warp;
    }
}

#endif
