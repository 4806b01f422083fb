/* The ends of image networks on the way back, in bf16: through the convolution out and the norm before it, and through the norm of the
 * first activations and the convolution in.
 *
 * What a product of taps (image_taps.cuh) makes of the narrow side costs less than to store and to read it. So the gradient of the last
 * norm's result is made twice: once for the two sums of each sample that the way back through a norm needs (end_out_sums_kernel), and once
 * for that way and the gradients of all parameters (end_out_kernel). And the gradient of the first activations, of which nothing is wanted but what
 * the convolution in makes of it, is never stored (end_in_kernel).
 *
 * A warp has the same pixels of many samples, so that gradients of the norm's parameters, and of the weights, are in registers until
 * the end. Then warps of a block add up those of weights, in their order. */
#ifndef JF_COMPUTE_CUDA_IMAGE_END_BACK_CUH
#define JF_COMPUTE_CUDA_IMAGE_END_BACK_CUH

#include "compute/cuda/image_end.cuh"

/* ---- the convolution out, and the norm before it ---- */

/* The sums of q g and q g e: a unit is a band of POINTWISE_TILES tiles. PAIRS: sixteens of channels. */
template <int PAIRS, int STEPS>
static __global__ void __launch_bounds__(END_SUMS_WARPS * 32, 1)
    end_out_sums_kernel(const __grid_constant__ end_call c) {
    enum { CHUNKS = PAIRS / 2, K = 16 * PAIRS };
    LAUNCH_MEMORY;
    const end_place at(c);
    const int t = at.lane % 4, pixels = c.view.h * c.view.w;
    typedef end_sums_memory<PAIRS, STEPS> room;
    char *const own = room::of_warp(memory, at.warp, c.cut.samples, sizeof(float2));
    float2 *const moments = (float2 *)(own + room::SAMPLES);
    after_the_last();
    if (at.first >= c.n) return;
    find_moments(moments, c, at);
    uint2 weights[2 * PAIRS][STEPS];
    widening_operands<2 * PAIRS, STEPS>(weights, c.weights[at.net], c.view, c.together, at.lane);
    const int first_tile = at.unit * POINTWISE_TILES, next_tile = first_tile + 1;
    const bool two = next_tile * TILE_ROWS < pixels;
    int pixel[POINTWISE_TILES][2];
    bool present[2]; /* not needed: of pixels that are not there q is 0 */
    pixels_of_lane(pixel[0], present, c.view, first_tile, at.lane);
    pixels_of_lane(pixel[1], present, c.view, next_tile, at.lane);
    end_parameters<CHUNKS> g[POINTWISE_TILES];
    end_vectors<CHUNKS> x[POINTWISE_TILES];
    tap_values<STEPS, false> taps[POINTWISE_TILES];
#pragma unroll
    for (int i = 0; i < POINTWISE_TILES; i++) {
        g[i].find(room::parameters(own, i, 0), c.norm, c.norm.g[at.net], pixel[i], at.lane);
        taps[i].find(room::places(own, i), c.view, (first_tile + i) * TILE_ROWS, at.lane, -1, c.map, false);
        x[i].ask_all(c.x[at.net] + (size_t)at.first * (size_t)(pixels * K), pixel[i], K, t);
        taps[i].ask(c.narrow[at.net] + (size_t)at.first * c.narrow_stride);
    }
    int ordinal = 0;
#pragma unroll 1
    for (int sample = at.first; sample < c.n; sample += c.cut.tracks) {
        const float2 m = moments[ordinal++];
        const size_t next = (size_t)(sample + c.cut.tracks < c.n ? sample + c.cut.tracks : sample);
        const __nv_bfloat16 *const next_x = c.x[at.net] + next * (size_t)(pixels * K);
        const end_norm norm(make_float4(m.x, m.y, 0, 0), c.norm.slope);
        float sum = 0, product = 0;
#pragma unroll
        for (int i = 0; i < POINTWISE_TILES; i++) {
            if (i == 1 && !two) break;
            unsigned a[STEPS][4];
            taps[i].operands(a);
            taps[i].ask(c.narrow[at.net] + next * c.narrow_stride);
#pragma unroll
            for (int chunk = 0; chunk < CHUNKS; chunk++) {
                float q[4][4];
                widen<STEPS>(q, a, weights + 4 * chunk);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float of_x[8], of_g[8];
                    bf16_math::floats_of(of_x, x[i].v[chunk][half]);
                    bf16_math::floats_of(of_g, g[i].of(chunk, half));
#pragma unroll
                    for (int k = 0; k < 8; k++) {
                        const float p = q[k / 2][2 * half + k % 2] * of_g[k];
                        sum += p;
                        product = fmaf(p, norm.e(of_x[k]), product);
                    }
                }
                x[i].ask(chunk, next_x, pixel[i], K, t);
            }
        }
        const float2 of_warp = warp_sum(sum, product);
        if (at.lane == 0) c.sums.at[at.net][(size_t)sample * MAX_BANDS + (size_t)at.unit] = of_warp;
    }
}

/* The gradient of the last activations, of the norm's parameters, and of the convolution's. */
template <int PAIRS, int STEPS>
static __global__ void __launch_bounds__(END_WARPS * 32, 1)
    end_out_kernel(const __grid_constant__ end_call c) {
    enum { CHUNKS = PAIRS / 2, K = 16 * PAIRS, TILES = 2 * PAIRS };
    LAUNCH_MEMORY;
    const end_place at(c);
    const int t = at.lane % 4, pixels = c.view.h * c.view.w;
    typedef end_out_memory<PAIRS, STEPS> room;
    char *const own = room::of_warp(memory, at.warp, c.cut.samples, sizeof(float4));
    float4 *const norms = (float4 *)(own + room::SAMPLES);
    int pixel[2];
    bool present[2];
    pixels_of_lane(pixel, present, c.view, at.unit, at.lane);
    after_the_last();
    find_norms(norms, c, at);
    uint2 weights[TILES][STEPS];
    widening_operands<TILES, STEPS>(weights, c.weights[at.net], c.view, c.together, at.lane);
    end_vectors<CHUNKS> x;
    end_parameters<CHUNKS> g, b;
    tap_values<STEPS, false> taps;
    g.find(room::parameters(own, 0, 0), c.norm, c.norm.g[at.net], pixel, at.lane);
    b.find(room::parameters(own, 0, 1), c.norm, c.norm.b[at.net], pixel, at.lane);
    taps.find(room::places(own, 0), c.view, at.unit * TILE_ROWS, at.lane, -1, c.map, false);
    x.ask_all(c.x[at.net] + (size_t)at.start * (size_t)(pixels * K), pixel, K, t);
    taps.ask(c.narrow[at.net] + (size_t)at.start * c.narrow_stride);
    end_norm_sums<CHUNKS> of_norm;
    float of_weights[STEPS][TILES][4], of_bias[STEPS][4];
#pragma unroll
    for (int i = 0; i < STEPS * TILES * 4; i++) of_weights[i / 4 / TILES][i / 4 % TILES][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < STEPS * 4; i++) of_bias[i / 4][i % 4] = 0;
    int ordinal = 0;
#pragma unroll 1
    for (int sample = at.first; sample < c.n; sample += c.cut.tracks) {
        const end_norm norm(norms[ordinal++], c.norm.slope);
        const int next = sample + c.cut.tracks < c.n ? sample + c.cut.tracks : sample;
        const __nv_bfloat16 *const next_x = c.x[at.net] + (size_t)next * (size_t)(pixels * K);
        __nv_bfloat16 *const dx = c.y[at.net] + (size_t)sample * (size_t)(pixels * K);
        unsigned a[STEPS][4], turned[STEPS][4];
        taps.operands(a);
        taps.ask(c.narrow[at.net] + (size_t)next * c.narrow_stride);
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            turned[step][0] = transposed(a[step][0]), turned[step][1] = transposed(a[step][2]);
            turned[step][2] = transposed(a[step][1]), turned[step][3] = transposed(a[step][3]);
        }
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            float q[4][4];
            unsigned made[2][4];
            widen<STEPS>(q, a, weights + 4 * chunk);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned of_x[4], of_g[4], of_b[4], of_dx[4];
                words_of(of_x, x.v[chunk][half]);
                words_of(of_g, g.of(chunk, half));
                words_of(of_b, b.of(chunk, half));
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const float low = low_bf16(of_x[k]), high = high_bf16(of_x[k]), e = norm.e(low),
                                f = norm.e(high), *const of_q = q[k] + 2 * half;
                    of_dx[k] = pair_bf16(norm.dx(low, e, of_q[0], low_bf16(of_g[k])),
                                         norm.dx(high, f, of_q[1], high_bf16(of_g[k])));
                    of_norm.add(chunk, half, 2 * k, of_q[0], e);
                    of_norm.add(chunk, half, 2 * k + 1, of_q[1], f);
                    made[half][k] = scaled_pair(pair_bf16(e, f), of_g[k], of_b[k]);
                }
                if (present[half])
                    *(uint4 *)(dx + pixel[half] * K + 32 * chunk + 8 * t) =
                        make_uint4(of_dx[0], of_dx[1], of_dx[2], of_dx[3]);
            }
            x.ask(chunk, next_x, pixel, K, t);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint2 turned_made = make_uint2(transposed(made[0][k]), transposed(made[1][k]));
#pragma unroll
                for (int step = 0; step < STEPS; step++)
                    multiply_bf16(of_weights[step][4 * chunk + k], turned[step], turned_made);
            }
        }
#pragma unroll
        for (int step = 0; step < STEPS; step++)
            multiply_bf16(of_bias[step], turned[step], make_uint2(0x3f803f80u, 0x3f803f80u));
    }
    leave_norm(c, at, of_norm, pixel, present, (float *)memory);
    if (!c.to.weights[at.net]) return;
    __syncthreads();
    float *const all = (float *)memory, *const mine = all + at.warp * room::SUMS;
    leave_terms<STEPS, TILES>(mine, of_weights, at.lane);
#pragma unroll
    for (int i = 0; i < 2 * STEPS; i++)
        if (t == 0) mine[room::TERMS * K + i * 8 + at.lane / 4] = of_bias[i / 2][i % 2 * 2];
    __syncthreads();
    const int channels = c.view.channels;
    for (int i = (int)threadIdx.x; i < TAPS * channels * K; i += (int)blockDim.x) {
        const int term = i / K, tap = divided(term, c.view.by_channels);
        take_weight(c.to, at.net, narrowing_gradient(tap, i % K, term - tap * channels, K),
                    sum_of_warps(all + i, room::SUMS));
    }
    /* The tap in the middle has met every pixel once. */
    for (int i = (int)threadIdx.x; i < channels; i += (int)blockDim.x)
        take_weight(c.to, at.net, c.to.weight_tiles * OP_TILE_WEIGHTS + i,
                    sum_of_warps(all + room::TERMS * K + TAPS / 2 * channels + i, room::SUMS));
}

/* ---- the norm of the first activations, and the convolution in ---- */

template <int PAIRS, int STEPS>
static __global__ void __launch_bounds__(END_WARPS * 32, 1)
    end_in_kernel(const __grid_constant__ end_call c) {
    enum { CHUNKS = PAIRS / 2, K = 16 * PAIRS, TILES = 2 * PAIRS, COLUMNS = 2 * STEPS /* tiles of terms */ };
    LAUNCH_MEMORY;
    const end_place at(c);
    const int t = at.lane % 4, pixels = c.view.h * c.view.w, terms = TAPS * c.view.channels;
    typedef end_in_memory<PAIRS, STEPS> room;
    char *const own = room::of_warp(memory, at.warp, c.cut.samples, sizeof(float4));
    float4 *const norms = (float4 *)(own + room::SAMPLES);
    int pixel[2];
    bool present[2];
    pixels_of_lane(pixel, present, c.view, at.unit, at.lane);
    after_the_last();
    find_norms(norms, c, at);
    narrowing_operands<PAIRS, COLUMNS>((uint2 *)memory, c.weights[at.net], c.view);
    const uint2 *const weights = (const uint2 *)memory + at.lane;
    end_vectors<CHUNKS> q, x, add;
    end_parameters<CHUNKS> g;
    tap_values<STEPS, true> taps;
    auto wide = [&](const __nv_bfloat16 *const of[2], int sample) {
        return of[at.net] + (size_t)sample * (size_t)(pixels * K);
    };
    g.find(room::parameters(own, 0, 0), c.norm, c.norm.g[at.net], pixel, at.lane);
    taps.find(room::places(own, 0), c.view, at.unit * TILE_ROWS, at.lane, 1, c.map, true);
    q.ask_all(wide(c.q, at.start), pixel, K, t);
    x.ask_all(wide(c.x, at.start), pixel, K, t);
    add.ask_all(wide(c.add, at.start), pixel, K, t);
    taps.ask(c.narrow[at.net] + (size_t)at.start * c.narrow_stride);
    end_norm_sums<CHUNKS> of_norm;
    float of_weights[STEPS][TILES][4];
#pragma unroll
    for (int i = 0; i < STEPS * TILES * 4; i++) of_weights[i / 4 / TILES][i / 4 % TILES][i % 4] = 0;
    int ordinal = 0;
#pragma unroll 1
    for (int sample = at.first; sample < c.n; sample += c.cut.tracks) {
        const end_norm norm(norms[ordinal++], c.norm.slope);
        const int next = sample + c.cut.tracks < c.n ? sample + c.cut.tracks : sample;
        unsigned a[STEPS][4];
        taps.operands(a);
        taps.ask(c.narrow[at.net] + (size_t)next * c.narrow_stride);
        float of_taps[COLUMNS][4];
#pragma unroll
        for (int i = 0; i < COLUMNS * 4; i++) of_taps[i / 4][i % 4] = 0;
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            unsigned dx[2][4];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned of_x[4], of_g[4], of_q[4], of_add[4];
                words_of(of_x, x.v[chunk][half]);
                words_of(of_g, g.of(chunk, half));
                words_of(of_q, q.v[chunk][half]);
                words_of(of_add, add.v[chunk][half]);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const float low = low_bf16(of_x[k]), high = high_bf16(of_x[k]), e = norm.e(low),
                                f = norm.e(high), q_low = low_bf16(of_q[k]), q_high = high_bf16(of_q[k]);
                    dx[half][k] =
                        pair_bf16(low_bf16(of_add[k]) + norm.dx(low, e, q_low, low_bf16(of_g[k])),
                                  high_bf16(of_add[k]) + norm.dx(high, f, q_high, high_bf16(of_g[k])));
                    of_norm.add(chunk, half, 2 * k, q_low, e);
                    of_norm.add(chunk, half, 2 * k + 1, q_high, f);
                }
            }
            q.ask(chunk, wide(c.q, next), pixel, K, t);
            x.ask(chunk, wide(c.x, next), pixel, K, t);
            add.ask(chunk, wide(c.add, next), pixel, K, t);
            narrow<COLUMNS>(of_taps, dx, weights + 2 * chunk * COLUMNS * 32);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint2 turned = make_uint2(transposed(dx[0][k]), transposed(dx[1][k]));
#pragma unroll
                for (int step = 0; step < STEPS; step++)
                    multiply_bf16(of_weights[step][4 * chunk + k], a[step], turned);
            }
        }
        leave_columns<COLUMNS>(c, at, sample, of_taps, pixel, present);
    }
    leave_norm(c, at, of_norm, pixel, present, (float *)memory);
    if (!c.to.weights[at.net]) return;
    __syncthreads();
    float *const all = (float *)memory;
    leave_terms<STEPS, TILES>(all + at.warp * room::SUMS, of_weights, at.lane);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < (terms + 1) * K; i += (int)blockDim.x) {
        const int term = i / K, k = i % K, tap = divided(term, c.view.by_channels);
        take_weight(c.to, at.net,
                    term < terms ? widening_gradient(tap, term - tap * c.view.channels, k, c.to.together)
                                 : (c.to.weight_tiles + k / SLOT) * OP_TILE_WEIGHTS + k % SLOT,
                    sum_of_warps(all + i, room::SUMS));
    }
}

#endif
