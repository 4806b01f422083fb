/* The backward pass through the branches in a stream of rows: the gradient of what they read, and that of
 * their weights, in bf16.
 *
 * A team of warps takes one sample after the other, and of each row by row the gradient of what the branches
 * gave. A warp has eight channels of what they read (a set) of 16 columns (a strip). A row is read once: its
 * products with all nine taps go to the rows above and below that they belong to, whose sums are in registers
 * until they are complete (stream_back_kernel); or they are those with the rows of activations above and
 * below, which are in registers as long as they are needed (stream_weights_kernel). So shared memory holds
 * the few rows that are worked on or on their way, and weights, or their gradients, do not leave the
 * registers.
 *
 * It is for branches of dilations 1, 2, 4 that give a set eight channels each (plan_stream in image_plan.c).
 */
#ifndef JF_COMPUTE_CUDA_IMAGE_STREAM_CUH
#define JF_COMPUTE_CUDA_IMAGE_STREAM_CUH

#include "compute/cuda/image_norm.cuh"
#include "compute/cuda/image_onchip_fragments.cuh"

template <int CONVS> struct stream {
    enum {
        HALO = 1 << (CONVS - 1),
        ROWS = STREAM_ROWS,               /* of a step, between barriers */
        STEPS = (2 * HALO + ROWS) / ROWS, /* that have room for all rows within the halo of a row */
        LIVE = STEPS * ROWS,
        QUADS = CONVS == 3 ? 5 : CONVS + 1,
        STAGES = STREAM_STAGES /* steps whose rows have room in shared memory */
    };
};

typedef struct stream_view {
    stream_plan plan;
    int h, w, K, wide; /* channels of what branches read and gave */
    int n, first_net;
    divider by_w, by_thin, by_wide; /* by w, and by slots of channels */
} stream_view;

/* Where a warp of a block belongs. */
struct stream_place {
    int team, threads, thread, set, strip; /* threads of the team */
    __device__ stream_place(const stream_plan &p) {
        const int warps = p.sets * p.strips, warp = (int)threadIdx.x / 32;
        team = warp / warps;
        threads = 32 * warps;
        thread = (int)threadIdx.x - team * threads;
        set = warp % warps % p.sets;
        strip = warp % warps / p.sets;
    }
};

/* What a thread has of the rows of a step: every so manieth vector of eight channels, in the order of memory.
 * Where these lie in shared memory is the same in all steps. */
template <int COUNT> struct step_vectors {
    int to[COUNT], thread, threads, of_row;
    __device__ step_vectors(const stream_view &v, const stream_place &at, int channels, divider by_slots,
                            int row_bytes, int pixel_bytes)
        : thread(at.thread), threads(at.threads), of_row(v.w * (channels / SLOT)) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const int i = thread + k * threads, pixel = divided(i, by_slots), row = divided(pixel, v.by_w);
            to[k] = row * row_bytes + (pixel - row * v.w) * pixel_bytes +
                    (i - pixel * (channels / SLOT)) * SLOT * 2;
        }
    }
    /* f(number of the vector in the step, place) for those of rows that there are, where the first row of the
     * step is this one. */
    template <class F> __device__ void each(int first, int h, F f) const {
        const int left = h - first, begin = first < 0 ? -first * of_row : 0,
                  end = (left < STREAM_ROWS ? left : STREAM_ROWS) * of_row;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const int i = thread + k * threads;
            if (i >= begin && i < end) f(i, to[k]);
        }
    }
    /* Those of a sample on their way. */
    __device__ void copy(char *to_step, const __nv_bfloat16 *sample, int first, int h) const {
        const unsigned to_shared = shared_address(to_step);
        const __nv_bfloat16 *const from = sample + (long)first * of_row * SLOT;
        each(first, h, [&](int i, int place) { copy_16(to_shared + (unsigned)place, from + i * SLOT, 1); });
    }
};
typedef step_vectors<STREAM_WIDE_EACH> wide_vectors;
typedef step_vectors<STREAM_THIN_EACH> thin_vectors;

/* The slots of a row of taps, three of each convolution, come in twos that are an operand of a product
 * together, a quad of registers: those left and right of a convolution, and the middle ones of the first two.
 * The middle one of the third has that of the first beside it. */
static __host__ __device__ constexpr int quad_of_sides(int conv) {
    return conv == 0 ? 0 : conv + 1;
}
static __host__ __device__ constexpr int quad_of_middle(int conv) {
    return conv < 2 ? 1 : 4;
}
static __host__ __device__ constexpr int slot_of(int convs, int quad, int half) { /* 3 conv + column */
    return quad == 0   ? 2 * half
           : quad == 1 ? (half && convs > 1 ? 4 : 1)
           : quad == 4 ? (half ? 1 : 7)
                       : 3 * (quad - 1) + 2 * half;
}
/* Whether the second half of a quad is in another one, too. */
static __host__ __device__ constexpr bool is_half(int convs, int quad) {
    return quad == 4 || (quad == 1 && convs == 1);
}
/* Bytes from a pixel to what a slot reads for it: taps on the left read what lies on the right. */
static __device__ inline int slot_place(int slot, const int32_t *channels, int pixel_bytes) {
    const int conv = slot / 3;
    return (1 - slot % 3) * (1 << conv) * pixel_bytes + channels[conv] * 2;
}

/* ---- the gradient of what the branches read ---- */

typedef struct stream_back_call {
    stream_view v;
    const __nv_bfloat16 *dy[2];
    const unsigned *weights[2]; /* packed, backward */
    gradient_store<bf16_math> store;
    int moments_bytes; /* of a team */
} stream_back_call;

template <int CONVS>
static __global__ void __launch_bounds__(STREAM_WARPS * 32, 1)
    stream_back_kernel(const __grid_constant__ stream_back_call c) {
    typedef stream<CONVS> S;
    LAUNCH_MEMORY;
    __shared__ float2 sums[STREAM_WARPS];
    const stream_view &v = c.v;
    const stream_plan &p = v.plan;
    const stream_place at(p);
    const int net = v.first_net + (int)blockIdx.y, lane = (int)threadIdx.x % 32;
    const int columns = p.strips * TILE_ROWS, row_bytes = (columns + 2 * S::HALO) * p.wide_bytes,
              stage_bytes = S::ROWS * row_bytes, thin_bytes = S::ROWS * v.w * v.K * 2,
              out_bytes = S::ROWS * columns * p.thin_bytes, thin_slots = v.K / SLOT;
    /* dy of each stage; activations and scales of each stage, in the order of memory; results of two steps */
    char *const ring = memory + at.team * (p.back_bytes + c.moments_bytes),
                *const beside = ring + S::STAGES * stage_bytes,
                *const out = beside + S::STAGES * 2 * thin_bytes;
    float2 *const all_moments = (float2 *)(out + 2 * out_bytes); /* of the team's samples */
    const int groups = (v.h + S::HALO + S::ROWS - 1) / S::ROWS, stride = (int)gridDim.x * p.teams,
              begin = (int)blockIdx.x * p.teams + at.team;
    const size_t pixels = (size_t)(v.h * v.w);
    for (int i = at.thread; i < S::STAGES * stage_bytes / 16; i += at.threads)
        ((uint4 *)ring)[i] = make_uint4(0, 0, 0, 0);
    const int32_t *of_set = p.table + at.set * STREAM_NUMBERS(CONVS);
    const int pixel = (S::HALO + at.strip * TILE_ROWS + lane % 16) * p.wide_bytes;
    int quad_at[S::QUADS];
#pragma unroll
    for (int i = 0; i < S::QUADS; i++)
        quad_at[i] = pixel + slot_place(slot_of(CONVS, i, lane / 16), of_set + STREAM_CHANNELS, p.wide_bytes);
    const wide_vectors wide(v, at, v.wide, v.by_wide, row_bytes, p.wide_bytes);
    const thin_vectors thin(v, at, v.K, v.by_thin, columns * p.thin_bytes, p.thin_bytes);
    meet(1 + at.team, at.threads);
    after_the_last();
    if (!c.store.norm.per_element) /* scales of channels are there once and for all */
        for (int i = at.thread; i < S::ROWS * v.w * thin_slots; i += at.threads) {
            const uint4 g =
                *(const uint4 *)(c.store.norm.g[net] + (i - divided(i, v.by_thin) * thin_slots) * SLOT);
            for (int k = 0; k < S::STAGES; k++) *(uint4 *)(beside + (2 * k + 1) * thin_bytes + i * 16) = g;
        }
    for (int i = at.thread; begin + i * stride < v.n; i += at.threads)
        all_moments[i] = c.store.moments(net, begin + i * stride);
    unsigned weights[9 * CONVS];
#pragma unroll
    for (int i = 0; i < 9 * CONVS; i++) {
        const int place = of_set[STREAM_WEIGHTS(CONVS) + i];
        weights[i] = c.weights[net][(place / 2 * 32 + lane) * 2 + place % 2];
    }

    auto fill = [&](int sample, int group, int stage) {
        asm volatile("" ::: "memory"); /* what the step before read of the stage has been read */
        if (sample < v.n) {
            const int first = group * S::ROWS, upper = first - S::HALO;
            wide.copy(ring + stage * stage_bytes + S::HALO * p.wide_bytes,
                      c.dy[net] + (size_t)sample * pixels * (size_t)v.wide, first, v.h);
            /* what a thread copies of these it reads itself */
            const unsigned to = shared_address(beside + stage * 2 * thin_bytes);
            const __nv_bfloat16 *const x = c.store.x[net] + (size_t)sample * pixels * (size_t)v.K +
                                           upper * v.w * v.K,
                                       *const g = c.store.norm.g[net];
            thin.each(upper, v.h, [&](int i, int) {
                copy_16(to + (unsigned)(i * 16), x + i * SLOT, 1);
                if (c.store.norm.per_element)
                    copy_16(to + (unsigned)(thin_bytes + i * 16), g + (upper * v.w * thin_slots + i) * SLOT,
                            1);
            });
        }
        commit_copies();
    };

    float sum_a = 0, sum_b = 0;
    float2 moments = make_float2(0, 1);
    int ordinal = 0;
    /* The rows that a step completed, on their way out. */
    auto finish = [&](int sample, int group, int stage, int buffer) {
        const int upper = group * S::ROWS - S::HALO;
        const char *const staged = out + buffer * out_bytes, *const extra = beside + stage * 2 * thin_bytes;
        __nv_bfloat16 *const q = c.store.q[net] + (size_t)sample * pixels * (size_t)v.K + upper * v.w * v.K;
        const float scale = moments.y, shift = -moments.x * moments.y;
        thin.each(upper, v.h, [&](int i, int place) {
            c.store.eight({q + i * SLOT, NULL, NULL, scale, shift},
                          {*(const uint4 *)(extra + i * 16), *(const uint4 *)(extra + thin_bytes + i * 16)},
                          staged + place, 0, sum_a, sum_b);
        });
    };
    /* After the last rows of a sample, its sums: first of the warps, and of these behind the next barrier. */
    auto leave_sums = [&]() {
        const float2 sum = warp_sum(sum_a, sum_b);
        if (lane == 0) sums[threadIdx.x / 32] = sum;
        sum_a = sum_b = 0;
    };
    auto take_sums = [&](int sample) {
        if (at.thread != 0) return;
        float2 all = make_float2(0, 0);
#pragma unroll 1
        for (int i = 0; i < at.threads / 32; i++) {
            const float2 of = sums[(int)threadIdx.x / 32 + i];
            all.x += of.x, all.y += of.y;
        }
        c.store.take(net, sample, 0, all);
    };

    int next_sample = begin, next_group = 0;
    auto fill_next = [&](int stage) {
        fill(next_sample, next_group, stage);
        if (++next_group == groups) next_group = 0, next_sample += stride;
    };
    int stage = 0, buffer = 0, last_sample = -1, last_group = 0, complete = -1;
    for (int i = 0; i < S::STAGES - 1; i++) fill_next(i);
    /* What is left of the step before. */
    auto go_on = [&]() {
        meet(1 + at.team, at.threads);
        if (complete >= 0) take_sums(complete);
        complete = -1;
        if (last_sample < 0) return;
        finish(last_sample, last_group, stage == 0 ? S::STAGES - 1 : stage - 1, buffer ^ 1);
        if (last_group == groups - 1) leave_sums(), complete = last_sample;
    };
    for (int sample = begin; sample < v.n; sample += stride) {
        float acc[S::LIVE][4];
#pragma unroll
        for (int i = 0; i < S::LIVE; i++) acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = 0;
        for (int turn = 0; turn < groups; turn += S::STEPS)
#pragma unroll
            for (int step = 0; step < S::STEPS; step++) {
                const int group = turn + step;
                if (group >= groups) break;
                wait_for_earlier_copies();
                go_on();
                fill_next(stage == 0 ? S::STAGES - 1 : stage - 1);
                const unsigned rows = shared_address(ring + stage * stage_bytes);
                char *to = out + buffer * out_bytes + (at.strip * TILE_ROWS + lane / 4) * p.thin_bytes +
                           (at.set * SLOT + lane % 4 * 2) * 2;
#pragma unroll
                for (int i = 0; i < S::ROWS; i++, to += columns * p.thin_bytes) {
                    const int phase = step * S::ROWS + i;
                    float *const fresh = acc[(phase + S::HALO) % S::LIVE],
                                 *const middle = acc[phase % S::LIVE],
                                 *const done = acc[(phase + S::LIVE - S::HALO) % S::LIVE];
                    fresh[0] = fresh[1] = fresh[2] = fresh[3] = 0;
                    if (group * S::ROWS + i < v.h) {
                        unsigned a[S::QUADS][4];
#pragma unroll
                        for (int k = 0; k < S::QUADS; k++) {
                            const unsigned from = rows + (unsigned)(i * row_bytes + quad_at[k]);
                            if (is_half(CONVS, k))
                                load_half(a[k], from);
                            else
                                load_matrices(a[k], from);
                        }
#pragma unroll
                        for (int conv = 0; conv < CONVS; conv++)
#pragma unroll
                            for (int up = 0; up < 2; up++) {
                                const int shift = up ? -(1 << conv) : 1 << conv;
                                float *const sum = acc[(phase + shift + S::LIVE) % S::LIVE];
                                const unsigned *w = weights + 9 * conv + (up ? 0 : 6);
                                multiply_bf16(sum, a[quad_of_sides(conv)], make_uint2(w[0], w[2]));
                                multiply_half(sum, a[quad_of_middle(conv)] + (conv == 1 ? 2 : 0), w[1]);
                            }
#pragma unroll
                        for (int k = 0; k < S::QUADS; k++) {
                            const int slot = slot_of(CONVS, k, 0), other = slot_of(CONVS, k, 1);
                            const unsigned w = weights[slot / 3 * 9 + 3 + slot % 3];
                            if (is_half(CONVS, k))
                                multiply_half(middle, a[k], w);
                            else
                                multiply_bf16(middle, a[k],
                                              make_uint2(w, weights[other / 3 * 9 + 3 + other % 3]));
                        }
                    }
                    bf16_math::put2((__nv_bfloat16 *)to, done[0], done[1]);
                    bf16_math::put2((__nv_bfloat16 *)(to + 8 * p.thin_bytes), done[2], done[3]);
                }
                if (group == 0) moments = all_moments[ordinal++];
                last_sample = sample, last_group = group;
                stage = stage == S::STAGES - 1 ? 0 : stage + 1, buffer ^= 1;
            }
    }
    go_on();
    meet(1 + at.team, at.threads);
    if (complete >= 0) take_sums(complete);
}

/* ---- the gradient of their weights ---- */

typedef struct stream_weights_call {
    stream_view v;
    const __nv_bfloat16 *dy[2], *x[2]; /* x: normalised */
    float *partial[2];                 /* [piece][tile][OP_TILE_WEIGHTS]: a piece for each strip of a team */
    size_t stride;                     /* from piece to piece */
    int pieces, tiles;                 /* of weights, behind which are those of biases */
} stream_weights_call;

template <int CONVS>
static __global__ void __launch_bounds__(STREAM_WARPS * 32, 1)
    stream_weights_kernel(const __grid_constant__ stream_weights_call c) {
    typedef stream<CONVS> S;
    LAUNCH_MEMORY;
    const stream_view &v = c.v;
    const stream_plan &p = v.plan;
    const stream_place at(p);
    const int net = v.first_net + (int)blockIdx.y, lane = (int)threadIdx.x % 32;
    const int columns = p.strips * TILE_ROWS, row_bytes = (columns + 2 * S::HALO) * p.wide_bytes,
              x_row_bytes = columns * p.thin_bytes, stage_bytes = S::ROWS * (row_bytes + x_row_bytes);
    const int stride = c.pieces / p.strips, begin = (int)blockIdx.x * p.teams + at.team;
    if (begin >= stride) return;
    char *const ring = memory + at.team * p.weights_bytes; /* of each stage dy, then x */
    const int groups = (v.h + S::HALO + S::ROWS - 1) / S::ROWS;
    const size_t pixels = (size_t)(v.h * v.w);
    for (int i = at.thread; i < S::STAGES * stage_bytes / 16; i += at.threads)
        ((uint4 *)ring)[i] = make_uint4(0, 0, 0, 0);
    const int32_t *of_set = p.table + at.set * STREAM_NUMBERS(CONVS);
    const int partner = of_set[0];
    const int pixel = S::HALO + at.strip * TILE_ROWS;
    int quad_at[S::QUADS];
#pragma unroll
    for (int i = 0; i < S::QUADS; i++) {
        const int slot = slot_of(CONVS, i, lane / 8 % 2);
        quad_at[i] = (pixel + bf16_math::pixel(lane, 0)) * p.wide_bytes +
                     slot_place(slot, of_set + STREAM_CHANNELS, p.wide_bytes);
    }
    const int x_at =
        S::ROWS * row_bytes + (at.strip * TILE_ROWS + lane % 16) * p.thin_bytes + at.set * SLOT * 2;
    const wide_vectors wide(v, at, v.wide, v.by_wide, row_bytes, p.wide_bytes);
    const thin_vectors thin(v, at, v.K, v.by_thin, x_row_bytes, p.thin_bytes);
    meet(1 + at.team, at.threads);

    int next_sample = begin, next_group = 0;
    auto fill_next = [&](int stage) {
        if (next_sample < v.n) {
            char *const to = ring + stage * stage_bytes;
            const int first = next_group * S::ROWS;
            wide.copy(to + S::HALO * p.wide_bytes, c.dy[net] + (size_t)next_sample * pixels * (size_t)v.wide,
                      first - S::HALO, v.h);
            thin.copy(to + S::ROWS * row_bytes, c.x[net] + (size_t)next_sample * pixels * (size_t)v.K, first,
                      v.h);
        }
        commit_copies();
        if (++next_group == groups) next_group = 0, next_sample += stride;
    };
    /* Products of quads: with rows above and below those of the sides and of the middle of a convolution, of
     * which the other half is for nothing, and with the same row all. */
    float sides[CONVS][2][2][4], middle[S::QUADS][4], bias[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 16 * CONVS; i++) sides[i / 16][i / 8 % 2][i / 4 % 2][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < 4 * S::QUADS; i++) middle[i / 4][i % 4] = 0;
    int stage = 0;
    for (int i = 0; i < S::STAGES - 1; i++) fill_next(i);
    for (int sample = begin; sample < v.n; sample += stride) {
        unsigned x[S::LIVE][2];
#pragma unroll
        for (int i = 0; i < S::LIVE; i++) x[i][0] = x[i][1] = 0;
        for (int turn = 0; turn < groups; turn += S::STEPS)
#pragma unroll
            for (int step = 0; step < S::STEPS; step++) {
                const int group = turn + step;
                if (group >= groups) break;
                wait_for_earlier_copies();
                meet(1 + at.team, at.threads);
                fill_next(stage == 0 ? S::STAGES - 1 : stage - 1);
                const unsigned rows = shared_address(ring + stage * stage_bytes);
#pragma unroll
                for (int i = 0; i < S::ROWS; i++) {
                    const int phase = step * S::ROWS + i, entering = group * S::ROWS + i,
                              row = entering - S::HALO;
                    unsigned *const fresh = x[phase % S::LIVE];
                    if (entering < v.h)
                        load_two_transposed(fresh, rows + (unsigned)(i * x_row_bytes + x_at));
                    else
                        fresh[0] = fresh[1] = 0;
                    if (row < 0 || row >= v.h) continue;
                    unsigned a[S::QUADS][4];
#pragma unroll
                    for (int k = 0; k < S::QUADS; k++)
                        load_transposed(a[k], rows + (unsigned)(i * row_bytes + quad_at[k]));
                    const int now = phase + S::LIVE - S::HALO; /* x of this row */
#pragma unroll
                    for (int conv = 0; conv < CONVS; conv++)
#pragma unroll
                        for (int down = 0; down < 2; down++) {
                            const unsigned *const other =
                                x[(now + (down ? 1 << conv : -(1 << conv))) % S::LIVE];
                            multiply_bf16(sides[conv][down][0], a[quad_of_sides(conv)], other);
                            multiply_bf16(sides[conv][down][1], a[quad_of_middle(conv)], other);
                        }
#pragma unroll
                    for (int k = 0; k < S::QUADS; k++) multiply_bf16(middle[k], a[k], x[now % S::LIVE]);
                    /* biases: of the middle slot of the first convolution, and of that of another one */
                    const unsigned ones[2] = {0x3f803f80u, 0x3f803f80u};
                    if (CONVS == 3 && partner == 2)
                        multiply_bf16(bias, a[S::QUADS - 1], ones);
                    else
                        multiply_bf16(bias, a[1], ones);
                }
                stage = stage == S::STAGES - 1 ? 0 : stage + 1;
            }
    }

    float *const to = c.partial[net] + (size_t)(begin * p.strips + at.strip) * c.stride;
    auto leave = [&](int conv, int tap, float a, float b) {
        float *at_tap =
            to + of_set[STREAM_GRADIENTS(CONVS) + 9 * conv + tap] + lane % 4 * 2 * TILE_COLUMNS + lane / 4;
        at_tap[0] = a, at_tap[TILE_COLUMNS] = b;
    };
#pragma unroll
    for (int conv = 0; conv < CONVS; conv++)
#pragma unroll
        for (int down = 0; down < 2; down++) {
            const float(*const of)[4] = sides[conv][down];
            const int half = conv == 1 ? 2 : 0;
            leave(conv, 6 * down, of[0][0], of[0][1]);
            leave(conv, 6 * down + 1, of[1][half], of[1][half + 1]);
            leave(conv, 6 * down + 2, of[0][2], of[0][3]);
        }
#pragma unroll
    for (int k = 0; k < 2 * S::QUADS; k++) {
        const int slot = slot_of(CONVS, k / 2, k % 2);
        if (k % 2 && is_half(CONVS, k / 2)) continue;
        leave(slot / 3, 3 + slot % 3, middle[k / 2][k % 2 * 2], middle[k / 2][k % 2 * 2 + 1]);
    }
    if (lane % 4 == 0) {
        float *const biases = to + (size_t)c.tiles * OP_TILE_WEIGHTS;
        const bool third = CONVS == 3 && partner == 2;
        biases[of_set[STREAM_CHANNELS] / SLOT * OP_TILE_WEIGHTS + lane / 4] = bias[third ? 2 : 0];
        if (partner > 0)
            biases[of_set[STREAM_CHANNELS + partner] / SLOT * OP_TILE_WEIGHTS + lane / 4] =
                bias[third ? 0 : 2];
    }
}

#endif
