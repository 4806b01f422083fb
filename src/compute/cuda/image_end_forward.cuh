/* The ends of image networks forward, as products of taps (image_taps.cuh), in bf16: the convolution in, and the last norm with the
 * convolution out. For training part by part (image_parts.cuh), where activations go to memory. */
#ifndef JF_COMPUTE_CUDA_IMAGE_END_FORWARD_CUH
#define JF_COMPUTE_CUDA_IMAGE_END_FORWARD_CUH

#include "compute/cuda/image_end.cuh"

/* From the narrow side to the first activations: a unit is a band of POINTWISE_TILES tiles. */
template <int PAIRS, int STEPS>
static __global__ void __launch_bounds__(END_SUMS_WARPS * 32, 1)
    end_in_forward_kernel(const __grid_constant__ end_call c) {
    enum { CHUNKS = PAIRS / 2, K = 16 * PAIRS };
    typedef end_in_forward_memory<PAIRS, STEPS> room;
    LAUNCH_MEMORY;
    const end_place at(c);
    const int t = at.lane % 4, pixels = c.view.h * c.view.w, first_tile = at.unit * POINTWISE_TILES;
    char *const own = room::of_warp(memory, at.warp, 0, 0);
    after_the_last();
    if (at.first >= c.n) return;
    uint2 weights[2 * PAIRS][STEPS];
    widening_operands<2 * PAIRS, STEPS>(weights, c.weights[at.net], c.view, c.together, at.lane);
    int pixel[POINTWISE_TILES][2];
    bool present[POINTWISE_TILES][2];
    tap_values<STEPS, false> taps[POINTWISE_TILES];
#pragma unroll
    for (int i = 0; i < POINTWISE_TILES; i++) {
        pixels_of_lane(pixel[i], present[i], c.view, first_tile + i, at.lane);
        taps[i].find(room::places(own, i), c.view, (first_tile + i) * TILE_ROWS, at.lane, 1, c.map, false);
        taps[i].ask(c.narrow[at.net] + (size_t)at.first * c.narrow_stride);
    }
    float bias[CHUNKS][8];
#pragma unroll
    for (int i = 0; i < 8 * CHUNKS; i++) bias[i / 8][i % 8] = c.bias[at.net][32 * (i / 8) + 8 * t + i % 8];
#pragma unroll 1
    for (int sample = at.first; sample < c.n; sample += c.cut.tracks) {
        const size_t next = (size_t)(sample + c.cut.tracks < c.n ? sample + c.cut.tracks : sample);
        __nv_bfloat16 *const y = c.y[at.net] + (size_t)sample * (size_t)(pixels * K);
        float sum = 0, square = 0;
#pragma unroll
        for (int i = 0; i < POINTWISE_TILES; i++) {
            unsigned a[STEPS][4];
            taps[i].operands(a);
            taps[i].ask(c.narrow[at.net] + next * c.narrow_stride);
#pragma unroll
            for (int chunk = 0; chunk < CHUNKS; chunk++) {
                float q[4][4];
                widen<STEPS>(q, a, weights + 4 * chunk);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float v[8];
#pragma unroll
                    for (int k = 0; k < 8; k++) {
                        v[k] = q[k / 2][2 * half + k % 2] + bias[chunk][k];
                        const float e = present[i][half] ? leaky(v[k], c.norm.slope) : 0;
                        sum += e, square = fmaf(e, e, square);
                    }
                    if (present[i][half]) bf16_math::put8(y + pixel[i][half] * K + 32 * chunk + 8 * t, v);
                }
            }
        }
        const float2 of_warp = warp_sum(sum, square);
        if (at.lane == 0) c.sums.at[at.net][(size_t)sample * MAX_BANDS + (size_t)at.unit] = of_warp;
    }
}

/* From the last activations to the columns of all taps of the convolution out: a unit is a tile. */
template <int PAIRS, int STEPS>
static __global__ void __launch_bounds__(END_SUMS_WARPS * 32, 1)
    end_out_forward_kernel(const __grid_constant__ end_call c) {
    enum { CHUNKS = PAIRS / 2, K = 16 * PAIRS, COLUMNS = 2 * STEPS };
    typedef end_out_forward_memory<PAIRS, STEPS> room;
    LAUNCH_MEMORY;
    const end_place at(c);
    const int t = at.lane % 4, pixels = c.view.h * c.view.w;
    char *const own = room::of_warp(memory, at.warp, c.cut.samples, sizeof(float2));
    float2 *const moments = (float2 *)(own + room::SAMPLES);
    after_the_last();
    narrowing_operands<PAIRS, COLUMNS>((uint2 *)memory, c.weights[at.net], c.view);
    const uint2 *const weights = (const uint2 *)memory + at.lane;
    if (at.first >= c.n) return;
    find_moments(moments, c, at);
    int pixel[2], ordinal = 0;
    bool present[2];
    pixels_of_lane(pixel, present, c.view, at.unit, at.lane);
    end_parameters<CHUNKS> g, b;
    end_vectors<CHUNKS> x;
    g.find(room::parameters(own, 0, 0), c.norm, c.norm.g[at.net], pixel, at.lane);
    b.find(room::parameters(own, 0, 1), c.norm, c.norm.b[at.net], pixel, at.lane);
    x.ask_all(c.x[at.net] + (size_t)at.first * (size_t)(pixels * K), pixel, K, t);
#pragma unroll 1
    for (int sample = at.first; sample < c.n; sample += c.cut.tracks) {
        const float2 m = moments[ordinal++];
        const int next = sample + c.cut.tracks < c.n ? sample + c.cut.tracks : sample;
        const end_norm norm(make_float4(m.x, m.y, 0, 0), c.norm.slope);
        float of_taps[COLUMNS][4];
#pragma unroll
        for (int i = 0; i < COLUMNS * 4; i++) of_taps[i / 4][i % 4] = 0;
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            unsigned made[2][4];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned of_x[4], of_g[4], of_b[4];
                words_of(of_x, x.v[chunk][half]);
                words_of(of_g, g.of(chunk, half));
                words_of(of_b, b.of(chunk, half));
#pragma unroll
                for (int k = 0; k < 4; k++)
                    made[half][k] = scaled_pair(
                        pair_bf16(norm.e(low_bf16(of_x[k])), norm.e(high_bf16(of_x[k]))), of_g[k], of_b[k]);
            }
            x.ask(chunk, c.x[at.net] + (size_t)next * (size_t)(pixels * K), pixel, K, t);
            narrow<COLUMNS>(of_taps, made, weights + 2 * chunk * COLUMNS * 32);
        }
        leave_columns<COLUMNS>(c, at, sample, of_taps, pixel, present);
    }
}

#endif
