/* What kernels of the ends of image networks share (image_end_back.cuh, image_end_forward.cuh): which pixels and samples a warp has, what it
 * reads of them, and where its results go. */
#ifndef JF_COMPUTE_CUDA_IMAGE_END_CUH
#define JF_COMPUTE_CUDA_IMAGE_END_CUH

#include "compute/cuda/image_taps.cuh"

enum {
    END_WARPS = 8,      /* of a block, at most: room for 255 registers a thread */
    END_SUMS_WARPS = 12 /* of one that leaves no gradients of parameters */
};

/* How samples are shared out: a warp has one of the units of a sample, tiles of pixels or bands of several tiles, of every so manieth
 * sample. */
typedef struct end_cut {
    int units, tracks; /* tracks: samples that are worked on at once */
    int samples;       /* of a warp, at most */
} end_cut;

/* Where partial gradients go. */
typedef struct end_gradients {
    float *weights[2];    /* of the convolution, in the first piece; NULL: not wanted */
    size_t weight_stride; /* from piece to piece */
    int weight_pieces, weight_tiles, together;
    float *norm[2]; /* likewise of the norm; NULL: not wanted */
    size_t norm_stride;
    int norm_pieces, norm_blocks; /* blocks: of a piece, with parameters per channel */
} end_gradients;

typedef struct end_call {
    end_cut cut;
    narrow_view view;
    int n, first_net;
    const float *narrow[2];          /* what the network read, or the gradient of its outputs */
    const int32_t *map;              /* of the narrow side; NULL: none */
    size_t narrow_stride;            /* from sample to sample */
    const __nv_bfloat16 *weights[2]; /* packed, for the direction of the kernel */
    int together;                    /* tiles of a set of these */
    const __nv_bfloat16 *x[2];       /* activations of the wide side */
    norm_view<bf16_math> norm;       /* of these */
    float *columns[2];               /* from wide to narrow: see taps_kernel */
    /* Backward: sums of q g and q g e, with q the gradient of what the norm made, and e the normalised activations; forward: those for the
     * norm of the activations that are made. */
    band_sums sums;
    const float *bias[2];               /* forward: of the activations that are made, */
    __nv_bfloat16 *y[2];                /* and themselves; backward, out: the gradient of x */
    const __nv_bfloat16 *q[2], *add[2]; /* backward, in: q, and what the gradient of x is added to */
    end_gradients to;
} end_call;

/* ---- places of a warp ---- */

struct end_place {
    int net, warp, lane, unit, first;
    int start; /* as first, but where there is none, the last sample, which is read in vain */
    __device__ end_place(const end_call &c)
        : net(c.first_net + (int)blockIdx.y), warp((int)threadIdx.x / 32), lane((int)threadIdx.x % 32) {
        const int number = (int)blockIdx.x * ((int)blockDim.x / 32) + warp;
        first = number / c.cut.units, unit = number - first * c.cut.units;
        if (first >= c.cut.tracks) first = c.n; /* nothing is left for it */
        start = first < c.n ? first : c.n - 1;
    }
};

/* What a lane has of 16 pixels and all channels: of pixels g and g + 8, and of each 32 channels, eight side by side. */
template <int CHUNKS> struct end_vectors {
    uint4 v[CHUNKS][2];
    /* pixel: of the sample, of each half */
    __device__ void ask(int chunk, const __nv_bfloat16 *sample, const int pixel[2], int channels, int t) {
#pragma unroll
        for (int half = 0; half < 2; half++)
            v[chunk][half] = *(const uint4 *)(sample + pixel[half] * channels + 32 * chunk + 8 * t);
    }
    __device__ void ask_all(const __nv_bfloat16 *sample, const int pixel[2], int channels, int t) {
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) ask(chunk, sample, pixel, channels, t);
    }
};

/* Scales or biases of a norm for the pixels of a warp, in shared memory: (CHUNKS, 2, 32). */
template <int CHUNKS> struct end_parameters {
    enum { VECTORS = CHUNKS * 2 * 32 };
    const uint4 *at; /* from the lane on */
    __device__ void find(uint4 *to, const norm_view<bf16_math> &norm, const __nv_bfloat16 *from,
                         const int pixel[2], int lane) {
        at = to += lane;
#pragma unroll
        for (int i = 0; i < 2 * CHUNKS; i++)
            to[32 * i] = *(const uint4 *)(from + norm.place(pixel[i % 2], 32 * (i / 2) + lane % 4 * 8));
    }
    __device__ uint4 of(int chunk, int half) const {
        return at[32 * (2 * chunk + half)];
    }
};

/* Pixels g and g + 8 of a tile; of those beyond the image, the last one is read in vain. */
static __device__ inline void pixels_of_lane(int pixel[2], bool present[2], const narrow_view &v, int tile,
                                             int lane) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int at = tile * TILE_ROWS + half * 8 + lane / 4;
        present[half] = at < v.h * v.w;
        pixel[half] = present[half] ? at : v.h * v.w - 1;
    }
}

/* The way back through a norm, for one sample, as in norm_back_kernel: with t = act(x), e = (t - mean) r and p = q g,
 * dt = r (p - mean(p) - e mean(p e)), dx = act'(x) dt. */
struct end_norm {
    float slope, r, sloped_r, shift, of_p, of_pe;
    __device__ end_norm(float4 m, float of_slope)
        : slope(of_slope), r(m.y), sloped_r(of_slope * m.y), shift(-m.x * m.y), of_p(m.z), of_pe(m.w) {}
    __device__ float e(float x) const { return fmaf(leaky(x, slope), r, shift); }
    __device__ float dx(float x, float e, float q, float g) const {
        return (x > 0 ? r : sloped_r) * (fmaf(q, g, -of_p) - e * of_pe);
    }
};
/* Mean and r of the samples of a warp, which its lanes find. */
static __device__ inline void find_moments(float2 *to, const end_call &c, const end_place &at) {
    for (int i = at.lane; at.first + i * c.cut.tracks < c.n; i += 32)
        to[i] = c.norm.moments(at.net, at.first + i * c.cut.tracks);
    __syncwarp();
}
/* The same with mean(p) and mean(p e). */
static __device__ inline void find_norms(float4 *to, const end_call &c, const end_place &at) {
    for (int i = at.lane; at.first + i * c.cut.tracks < c.n; i += 32) {
        const int sample = at.first + i * c.cut.tracks;
        const float2 m = c.norm.moments(at.net, sample);
        const double2 s = sum_of_bands(c.sums, at.net, sample);
        to[i] = make_float4(m.x, m.y, (float)(s.x * c.norm.share), (float)(s.y * c.norm.share));
    }
    __syncwarp();
}

/* ---- partial gradients ---- */

/* Those of scale and bias that a lane has: of each of its eights of channels. */
template <int CHUNKS> struct end_norm_sums {
    float g[CHUNKS][2][8], b[CHUNKS][2][8];
    __device__ end_norm_sums() {
#pragma unroll
        for (int i = 0; i < 16 * CHUNKS; i++) g[i / 16][i / 8 % 2][i % 8] = b[i / 16][i / 8 % 2][i % 8] = 0;
    }
    __device__ void add(int chunk, int half, int i, float q, float e) {
        g[chunk][half][i] = fmaf(q, e, g[chunk][half][i]);
        b[chunk][half][i] += q;
    }
    /* Of elements: those of a track of samples are a piece. */
    __device__ void leave_elements(const end_call &c, const end_place &at, const int pixel[2],
                                   const bool present[2]) const {
        const int channels = c.norm.channels, elements = c.view.h * c.view.w * channels;
        for (int piece = at.first; piece < c.to.norm_pieces; piece += c.cut.tracks) {
            const float share = piece == at.first ? 1 : 0;
            float *const to = c.to.norm[at.net] + (size_t)piece * c.to.norm_stride;
#pragma unroll
            for (int i = 0; i < 4 * CHUNKS; i++) {
                const int chunk = i / 4, half = i / 2 % 2, four = i % 2 * 4;
                const float *const dg = g[chunk][half] + four, *const db = b[chunk][half] + four;
                float *const place = to + pixel[half] * channels + 32 * chunk + at.lane % 4 * 8 + four;
                if (!present[half]) continue;
                *(float4 *)place = make_float4(share * dg[0], share * dg[1], share * dg[2], share * dg[3]);
                *(float4 *)(place + elements) =
                    make_float4(share * db[0], share * db[1], share * db[2], share * db[3]);
            }
        }
    }
    /* Of channels: to shared memory (scales, biases), summed over the pixels of the warp. */
    __device__ void leave_channels(float *to, const bool present[2], int lane) const {
#pragma unroll
        for (int i = 0; i < 16 * CHUNKS; i++) {
            const int chunk = i / 8 % CHUNKS, channel = i % 8;
            const float(*const of)[2][8] = i < 8 * CHUNKS ? g : b;
            float sum = (present[0] ? of[chunk][0][channel] : 0) + (present[1] ? of[chunk][1][channel] : 0);
            for (int step = 4; step < 32; step *= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
            if (lane < 4) to[i / (8 * CHUNKS) * 32 * CHUNKS + 32 * chunk + 8 * lane + channel] = sum;
        }
    }
};

/* The sum of what warps have left, `apart` numbers from each other. */
static __device__ inline float sum_of_warps(const float *from, int apart) {
    float sum = 0;
    for (int i = 0; i < (int)blockDim.x / 32; i++) sum += from[i * apart];
    return sum;
}

/* Parameters of a norm per channel: a block of threads has one of the places that there are for partial gradients, and those without one
 * are zero. memory: of all warps, (warps, 2 channels). */
static __device__ inline void take_channels(const end_call &c, int net, const float *memory) {
    const int numbers = 2 * c.norm.channels, all = c.to.norm_pieces * c.to.norm_blocks;
    for (int i = (int)threadIdx.x; i < numbers; i += (int)blockDim.x) {
        const float sum = sum_of_warps(memory + i, numbers);
        for (int place = (int)blockIdx.x; place < all; place += (int)gridDim.x) {
            const int piece = place / c.to.norm_blocks, block = place - piece * c.to.norm_blocks;
            c.to.norm[net][(size_t)piece * c.to.norm_stride + (size_t)(block * numbers + i)] =
                place == (int)blockIdx.x ? sum : 0;
        }
    }
}

/* By all warps of a block, which no longer need its memory. */
template <int CHUNKS>
static __device__ inline void leave_norm(const end_call &c, const end_place &at,
                                         const end_norm_sums<CHUNKS> &sums, const int pixel[2],
                                         const bool present[2], float *memory) {
    if (!c.to.norm[at.net]) return;
    if (c.norm.per_element) return sums.leave_elements(c, at, pixel, present);
    __syncthreads();
    sums.leave_channels(memory + at.warp * 2 * c.norm.channels, present, at.lane);
    __syncthreads();
    take_channels(c, at.net, memory);
}

/* A number of the gradient of weights: the piece of this block, and those that no block has. */
static __device__ inline void take_weight(const end_gradients &to, int net, int place, float sum) {
    float *const at = to.weights[net] + place;
    for (int piece = (int)blockIdx.x; piece < to.weight_pieces; piece += (int)gridDim.x)
        at[(size_t)piece * to.weight_stride] = piece == (int)blockIdx.x ? sum : 0;
}

/* Results of a product of terms and channels, to shared memory: (16 STEPS, 32 CHUNKS). */
template <int STEPS, int TILES>
static __device__ inline void leave_terms(float *to, const float sums[STEPS][TILES][4], int lane) {
#pragma unroll
    for (int i = 0; i < STEPS * TILES; i++) {
        const int step = i / TILES, j = i % TILES;
        float *const at =
            to + (step * STEP_DEPTH + lane / 4) * TILES * TILE_COLUMNS + channel_of_column(j, lane % 4 * 2);
        *(float2 *)at = make_float2(sums[step][j][0], sums[step][j][1]);
        *(float2 *)(at + 8 * TILES * TILE_COLUMNS) = make_float2(sums[step][j][2], sums[step][j][3]);
    }
}

/* Shared memory of a block while it works: weights from wide to narrow, if it NARROWS; then of each warp, for TILES tiles of pixels,
 * PARAMETERS parameters of the norm, and places of the narrow side; behind these, numbers of its samples. And at the end what it LEAVES. */
template <int PAIRS, int STEPS, int TILES, int PARAMETERS, bool NARROWS, bool LEAVES> struct end_memory {
    enum {
        WEIGHT_BYTES = NARROWS ? PAIRS * 2 * STEPS * 32 * 8 : 0,
        PARAMETER_BYTES = (int)end_parameters<PAIRS / 2>::VECTORS * 16,
        PLACE_BYTES = 8 * STEPS * 32 * 4,
        PLACES = TILES * PARAMETERS * PARAMETER_BYTES,
        SAMPLES = PLACES + TILES * PLACE_BYTES,
        /* Of the gradient of weights; behind those of channels lie those of biases, unless biases are a term. */
        TERMS = (int)STEP_DEPTH * STEPS,
        SUMS = TERMS * (16 * PAIRS + 1)
    };
    static __host__ __device__ constexpr int warp_bytes(int samples, int of_sample) {
        return SAMPLES + (samples * of_sample + 15) / 16 * 16;
    }
    static constexpr size_t bytes(int warps, int samples, int of_sample) {
        const size_t working = (size_t)WEIGHT_BYTES + (size_t)(warps * warp_bytes(samples, of_sample)),
                     leaving = LEAVES ? (size_t)(warps * SUMS) * sizeof(float) : 0;
        return working > leaving ? working : leaving;
    }
    /* Of this warp. */
    static __device__ char *of_warp(char *memory, int warp, int samples, int of_sample) {
        return memory + WEIGHT_BYTES + warp * warp_bytes(samples, of_sample);
    }
    static __device__ uint4 *parameters(char *own, int tile, int which) {
        return (uint4 *)(own + (tile * PARAMETERS + which) * PARAMETER_BYTES);
    }
    static __device__ int *places(char *own, int tile) { return (int *)(own + PLACES + tile * PLACE_BYTES); }
};
template <int PAIRS, int STEPS>
using end_sums_memory = end_memory<PAIRS, STEPS, POINTWISE_TILES, 1, false, false>;
template <int PAIRS, int STEPS> using end_out_memory = end_memory<PAIRS, STEPS, 1, 2, false, true>;
template <int PAIRS, int STEPS> using end_in_memory = end_memory<PAIRS, STEPS, 1, 1, true, true>;
template <int PAIRS, int STEPS>
using end_in_forward_memory = end_memory<PAIRS, STEPS, POINTWISE_TILES, 0, false, false>;
template <int PAIRS, int STEPS> using end_out_forward_memory = end_memory<PAIRS, STEPS, 1, 2, true, false>;

/* ---- products ---- */

/* From narrow to wide, of a tile and 32 channels: four tiles of results. */
template <int STEPS>
static __device__ inline void widen(float q[4][4], const unsigned a[STEPS][4], const uint2 weights[][STEPS]) {
#pragma unroll
    for (int j = 0; j < 4; j++) q[j][0] = q[j][1] = q[j][2] = q[j][3] = 0;
#pragma unroll
    for (int step = 0; step < STEPS; step++)
#pragma unroll
        for (int j = 0; j < 4; j++) multiply_bf16(q[j], a[step], weights[j][step]);
}

/* From wide to narrow: what a tile and 32 channels add to the columns of taps; and where these go. */
template <int COLUMNS>
static __device__ inline void narrow(float of_taps[COLUMNS][4], const unsigned wide[2][4],
                                     const uint2 *weights) { /* from the lane on */
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
        const unsigned rows[4] = {wide[0][2 * pair], wide[1][2 * pair], wide[0][2 * pair + 1],
                                  wide[1][2 * pair + 1]};
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) multiply_bf16(of_taps[j], rows, weights[(pair * COLUMNS + j) * 32]);
    }
}
template <int COLUMNS>
static __device__ inline void leave_columns(const end_call &c, const end_place &at, int sample,
                                            const float of_taps[COLUMNS][4], const int pixel[2],
                                            const bool present[2]) {
    const int terms = TAPS * c.view.channels, columns = TAP_COLUMNS(c.view.channels);
    float *const to = c.columns[at.net] + (size_t)sample * (size_t)(c.view.h * c.view.w * columns);
#pragma unroll
    for (int i = 0; i < 2 * COLUMNS; i++) {
        const int half = i % 2, term = i / 2 * TILE_COLUMNS + at.lane % 4 * 2;
        if (present[half] && term < terms)
            *(float2 *)(to + pixel[half] * columns + term) =
                make_float2(of_taps[i / 2][2 * half], of_taps[i / 2][2 * half + 1]);
    }
}

#endif
