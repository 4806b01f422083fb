/* Convolutions with few channels on one side, those in and out of image networks, as products whose terms are taps, in bf16.
 *
 * The general operators (image_op.h) have eight channels for each tap, most of which a side of one or two channels does not have. Here the
 * terms of that side are (tap, channel), one after the other: sixteen of them, one step of a product, are all nine taps of one channel.
 * A warp has tiles of 16 pixels, and all channels of the wide side, of which a lane has eight side by side for each 32 (channel_of_column). What it
 * reads of the narrow side lies where it does for all samples, so that this is found once.
 *
 * From narrow to wide, terms are what is summed over, and a result belongs to its pixel. From wide to narrow they are columns of results, one
 * for each tap, of which taps_kernel adds up those of one pixel. */
#ifndef JF_COMPUTE_CUDA_IMAGE_TAPS_CUH
#define JF_COMPUTE_CUDA_IMAGE_TAPS_CUH

#include "compute/cuda/image_pointwise.cuh"

/* TAP_STEPS: of eight channels and two taps each, as general operators have them. */
enum { TAPS = 9, TAP_STEPS = (TAPS + 1) / 2 };

/* Images of the narrow side. */
typedef struct narrow_view {
    int h, w, channels; /* channels: less than eight */
    divider by_w, by_channels;
} narrow_view;
static inline narrow_view narrow_of(int h, int w, int channels) {
    return narrow_view{h, w, channels, divider_of(w), divider_of(channels)};
}
/* The pixel that tap `tap` of a pixel is; -1: it lies outside. towards: 1: the one that the tap reads; -1: the one that reads it by this tap. */
static __device__ inline int tap_pixel(const narrow_view &v, int pixel, int tap, int towards) {
    const int row = divided(pixel, v.by_w), line = row + towards * (tap / 3 - 1),
              column = pixel - row * v.w + towards * (tap % 3 - 1);
    return (unsigned)line < (unsigned)v.h && (unsigned)column < (unsigned)v.w ? line * v.w + column : -1;
}

/* What a lane has of the narrow side as operands of a product: of 16 pixels (rows) and 16 STEPS terms, or transposed. */
template <int STEPS, bool TRANSPOSED> struct tap_values {
    enum { COUNT = 8 * STEPS };
    int *place;     /* in shared memory, (COUNT, 32) from the lane on: among a sample's numbers; -1: none */
    float v[COUNT]; /* in the order of the words of operands */

    /* Of the pixels from `first` on. map: where the narrow side's numbers lie in a sample; NULL: in their order. With ones, the term behind
     * the last is 1 for all pixels. */
    __device__ void find(int *places, const narrow_view &view, int first, int lane, int towards,
                         const int32_t *map, bool ones) {
        const int g = lane / 4, t = lane % 4, terms = TAPS * view.channels;
        place = places + lane;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int word = i / 2 % 4, along = 2 * t + word / 2 * 8 + i % 2, across = g + word % 2 * 8,
                      pixel = first + (TRANSPOSED ? along : across),
                      term = i / 8 * STEP_DEPTH + (TRANSPOSED ? across : along);
            const bool present = pixel < view.h * view.w;
            int at = -1;
            if (present && term < terms) {
                const int tap = divided(term, view.by_channels), from = tap_pixel(view, pixel, tap, towards);
                if (from >= 0) at = from * view.channels + term - tap * view.channels;
            }
            place[32 * i] = at >= 0 && map ? map[at] : at;
            v[i] = present && ones && term == terms ? 1 : 0;
        }
    }
    __device__ void ask(const float *sample) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int at = place[32 * i];
            if (at >= 0) v[i] = sample[at];
        }
    }
    __device__ void operands(unsigned a[STEPS][4]) const {
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) a[i / 4][i % 4] = pair_bf16(v[2 * i], v[2 * i + 1]);
    }
};

/* ---- weights ----
 * Where general operators, of which the narrow side fills less than one slot, have them: numbers of packed ones, and of partial gradients. */

/* Of the convolution out, backward, and of the convolution in, forward: from (tap, narrow channel) to the channel of the wide side. together:
 * tiles of a set. */
static __device__ inline int widening_tile(int tap, int wide, int together) {
    const int tile = wide / SLOT;
    return (tile / together * TAP_STEPS + tap / 2) * together + tile % together;
}
static __device__ inline int widening_packed(int tap, int narrow, int wide, int together) {
    return (widening_tile(tap, wide, together) * 32 + wide % SLOT * 4 + narrow / 2) * 4 + tap % 2 * 2 +
           narrow % 2;
}
static __device__ inline int widening_gradient(int tap, int narrow, int wide, int together) {
    return widening_tile(tap, wide, together) * OP_TILE_WEIGHTS + (tap % 2 * SLOT + narrow) * TILE_COLUMNS +
           wide % SLOT;
}
/* Of the convolution in, backward, and of the convolution out, forward: from the channel of the wide side, one of K, to (tap, narrow channel). */
static __device__ inline int narrowing_slot(int tap, int wide, int K) {
    return tap * (K / SLOT) + wide / SLOT;
}
static __device__ inline int narrowing_packed(int tap, int wide, int narrow, int K) {
    const int slot = narrowing_slot(tap, wide, K);
    return (slot / 2 * 32 + narrow * 4 + wide % SLOT / 2) * 4 + slot % 2 * 2 + wide % 2;
}
static __device__ inline int narrowing_gradient(int tap, int wide, int narrow, int K) {
    const int slot = narrowing_slot(tap, wide, K);
    return slot / 2 * OP_TILE_WEIGHTS + (slot % 2 * SLOT + wide % SLOT) * TILE_COLUMNS + narrow;
}

static __device__ inline unsigned pair_of_numbers(const __nv_bfloat16 *packed, int low, int high) {
    const unsigned short *const bits = (const unsigned short *)packed;
    return (low >= 0 ? bits[low] : 0u) | (high >= 0 ? (unsigned)bits[high] << 16 : 0u);
}

/* From narrow to wide, as operands: of terms 2t, 2t + 1 and 2t + 8, 2t + 9 of each step, and of column g of each tile. */
template <int TILES, int STEPS>
static __device__ inline void widening_operands(uint2 to[TILES][STEPS], const __nv_bfloat16 *packed,
                                                const narrow_view &view, int together, int lane) {
    auto place = [&](int j, int term) {
        if (term >= TAPS * view.channels) return -1;
        const int tap = divided(term, view.by_channels);
        return widening_packed(tap, term - tap * view.channels, channel_of_column(j, lane / 4), together);
    };
#pragma unroll
    for (int i = 0; i < TILES * STEPS; i++) {
        const int j = i / STEPS, term = i % STEPS * STEP_DEPTH + lane % 4 * 2;
        to[j][i % STEPS] = make_uint2(pair_of_numbers(packed, place(j, term), place(j, term + 1)),
                                      pair_of_numbers(packed, place(j, term + 8), place(j, term + 9)));
    }
}
/* From wide to narrow, in shared memory, (PAIRS, TILES, 32): for each 16 channels, in the order of channel_of_term, and eight terms as
 * columns. By all threads of a block. */
template <int PAIRS, int TILES>
static __device__ inline void narrowing_operands(uint2 *to, const __nv_bfloat16 *packed,
                                                 const narrow_view &view) {
    for (int i = (int)threadIdx.x; i < PAIRS * TILES * 32; i += (int)blockDim.x) {
        const int lane = i % 32, pair = i / 32 / TILES, term = i / 32 % TILES * TILE_COLUMNS + lane / 4;
        auto word = [&](int number) {
            if (term >= TAPS * view.channels) return 0u;
            const int tap = divided(term, view.by_channels), narrow = term - tap * view.channels,
                      wide = pair / 2 * 32 + channel_of_term(lane % 4, pair % 2 * 2 + number, false);
            return pair_of_numbers(packed, narrowing_packed(tap, wide, narrow, 16 * PAIRS),
                                   narrowing_packed(tap, wide + 1, narrow, 16 * PAIRS));
        };
        to[i] = make_uint2(word(0), word(1));
    }
    __syncthreads();
}

/* ---- sums over taps ---- */

typedef struct taps_call {
    narrow_view view;
    int n, first_net, towards; /* towards: as that of tap_pixel */
    const float *columns[2];   /* (n, pixels, TAP_COLUMNS) */
    const float *bias[2];      /* NULL: none */
    float *y[2];               /* (n, pixels, channels) */
} taps_call;

/* The narrow side from the columns of all taps that a pixel meets, in their order. */
static __global__ void taps_kernel(const __grid_constant__ taps_call c) {
    const narrow_view &v = c.view;
    const int net = c.first_net + (int)blockIdx.y, pixels = v.h * v.w, of_sample = pixels * v.channels,
              columns = TAP_COLUMNS(v.channels);
    after_the_last();
    FOR_EACH_INDEX (i, (size_t)c.n * (size_t)of_sample) {
        const unsigned index = (unsigned)i; /* samples are those of a wave, and of few pixels */
        const int sample = (int)(index / (unsigned)of_sample), number = (int)index - sample * of_sample,
                  pixel = divided(number, v.by_channels), channel = number - pixel * v.channels;
        const float *const from = c.columns[net] + (size_t)sample * (size_t)(pixels * columns) + channel;
        float of[TAPS], sum = c.bias[net] ? c.bias[net][channel] : 0;
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            const int at = tap_pixel(v, pixel, tap, c.towards);
            of[tap] = at >= 0 ? from[at * columns + tap * v.channels] : 0;
        }
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) sum += of[tap];
        c.y[net][i] = sum;
    }
}

#endif
