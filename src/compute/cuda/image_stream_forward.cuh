/* The branches forward in a stream of rows, in bf16: for training, where activations go to memory.
 *
 * A team of warps takes one sample after the other, and of each four rows at a time, normalised in shared memory. Of dilation d a row
 * meets only every d-th one: the rows are d chains. A warp has eight channels of what each branch gives (a set), and of the branch
 * of dilation d one chain: four rows of dilation 1, two of 2, one of 4 are as many products each. An operand, of 16 columns (a strip), is
 * read once for the three rows of results that it belongs to; these and all weights are in registers. Results of a step leave through
 * shared memory as whole vectors, those of dilation d as many rows later.
 *
 * It is for branches of dilations 1, 2, 4 with groups of eight outputs (stream_plan.forward). */
#ifndef JF_COMPUTE_CUDA_IMAGE_STREAM_FORWARD_CUH
#define JF_COMPUTE_CUDA_IMAGE_STREAM_FORWARD_CUH

#include "compute/cuda/image_stream.cuh"

enum { CHAIN_ROWS = 4, CHAIN_STAGES = 3 };

/* What follows from the shape of the branches. */
template <int CONVS, int SETS, int STRIPS> struct chains {
    enum {
        REACH = 1 << (CONVS - 1),
        K = SETS * (int)SLOT,
        WIDE_SLOTS = 2 * SETS - SETS / REACH, /* SETS + SETS / 2 + ... */
        WIDE = WIDE_SLOTS * (int)SLOT,
        COLUMNS = STRIPS * (int)TILE_ROWS,
        THREADS_OF_TEAM = 32 * SETS,
        TEAMS = (int)STREAM_WARPS /
                (SETS * STRIPS), /* registers of weights are as many for one strip as for two */
        BLOCK = TEAMS * THREADS_OF_TEAM,
        EACH = (int)CHAIN_ROWS * COLUMNS * SETS /
               THREADS_OF_TEAM,       /* vectors that a thread has of a step's rows */
        THIN_BYTES = (SETS | 1) * 16, /* of a pixel in shared memory, read and given */
        WIDE_BYTES = (WIDE_SLOTS | 1) * 16,
        ROW_BYTES = (COLUMNS + 2 * REACH) * THIN_BYTES,
        STAGE_BYTES = (int)CHAIN_ROWS * ROW_BYTES,
        OUT_BYTES = (int)CHAIN_ROWS * COLUMNS * WIDE_BYTES,
        WEIGHTS = STREAM_FORWARD(CONVS),
        /* Shared memory of a team: rows that are read; scale and bias of the norm for two steps; results of two steps. */
        PARAMETER_BYTES = (int)CHAIN_ROWS * COLUMNS * K * 2,
        PARAMETERS = (int)CHAIN_STAGES * STAGE_BYTES,
        RESULTS = PARAMETERS + 4 * PARAMETER_BYTES,
        TEAM_BYTES = RESULTS + 2 * OUT_BYTES
    };
};

typedef struct stream_forward_call {
    int h, w, n, first_net;
    divider by_w;
    const int32_t *table;       /* (sets, STREAM_FORWARD): where weights lie among the packed ones */
    const unsigned *weights[2]; /* packed, forward */
    const float *bias[2];
    const __nv_bfloat16 *x[2];
    __nv_bfloat16 *y[2];
    norm_view<bf16_math> norm; /* of x */
    band_sums sums;            /* of the results, for their norm: one band */
    int moments_bytes;         /* of a team */
} stream_forward_call;

/* A place in the work of a team. */
struct chain_step {
    int sample, step, ordinal;                                         /* ordinal: of the team's samples */
    __device__ chain_step later(int by, int steps, int stride) const { /* by: less than there are steps */
        chain_step s = {sample, step + by, ordinal};
        if (s.step >= steps) s.step -= steps, s.sample += stride, s.ordinal++;
        return s;
    }
    __device__ chain_step earlier(int steps, int stride) const {
        return step > 0 ? chain_step{sample, step - 1, ordinal}
                        : chain_step{sample - stride, steps - 1, ordinal - 1};
    }
};

template <int CONVS, int SETS, int STRIPS>
static __global__ void __launch_bounds__(chains<CONVS, SETS, STRIPS>::BLOCK, 1)
    stream_forward_kernel(const __grid_constant__ stream_forward_call c) {
    typedef chains<CONVS, SETS, STRIPS> S;
    enum { ROWS = CHAIN_ROWS };
    LAUNCH_MEMORY;
    __shared__ float2 sums[STREAM_WARPS];
    __shared__ __align__(16) float biases[S::WIDE];
    const int net = c.first_net + (int)blockIdx.y, lane = (int)threadIdx.x % 32;
    const int team = S::TEAMS == 1 ? 0 : (int)threadIdx.x / S::THREADS_OF_TEAM,
              thread = (int)threadIdx.x - team * S::THREADS_OF_TEAM, set = thread / 32;
    char *const own = memory + team * (S::TEAM_BYTES + c.moments_bytes);
    const unsigned ring = shared_address(own), parameters = ring + S::PARAMETERS, out = ring + S::RESULTS;
    float2 *const all_moments = (float2 *)(own + S::TEAM_BYTES);
    const int steps = (c.h + S::REACH + ROWS - 1) / ROWS, stride = (int)gridDim.x * S::TEAMS,
              begin = (int)blockIdx.x * S::TEAMS + team;
    const size_t pixels = (size_t)(c.h * c.w);
    for (int i = thread; i < CHAIN_STAGES * S::STAGE_BYTES / 16; i += S::THREADS_OF_TEAM)
        ((uint4 *)own)[i] = make_uint4(0, 0, 0, 0);
    int place[S::EACH]; /* of the thread's vectors among the rows of a step */
#pragma unroll
    for (int k = 0; k < S::EACH; k++) {
        const int i = thread + k * S::THREADS_OF_TEAM, pixel = i / SETS, row = divided(pixel, c.by_w);
        place[k] = row * S::ROW_BYTES + (S::REACH + pixel - row * c.w) * S::THIN_BYTES + i % SETS * 16;
    }
    meet(1 + team, S::THREADS_OF_TEAM);
    after_the_last();
    if (!c.norm.per_element) /* parameters of channels are there once and for all */
        for (int i = thread; i < 4 * S::PARAMETER_BYTES / 16; i += S::THREADS_OF_TEAM) {
            const int of_bias = i / (S::PARAMETER_BYTES / 16) % 2;
            ((uint4 *)(own + S::PARAMETERS))[i] =
                *(const uint4 *)((of_bias ? c.norm.b[net] : c.norm.g[net]) + i % SETS * SLOT);
        }
    for (int i = (int)threadIdx.x; i < S::WIDE; i += (int)blockDim.x) biases[i] = c.bias[net][i];
    for (int i = thread; begin + i * stride < c.n; i += S::THREADS_OF_TEAM)
        all_moments[i] = c.norm.moments(net, begin + i * stride);
    __syncthreads(); /* biases and moments are read before the first step's barrier */
    unsigned weights[S::WEIGHTS];
#pragma unroll
    for (int i = 0; i < S::WEIGHTS; i++) {
        const int at = c.table[set * S::WEIGHTS + i];
        weights[i] = c.weights[net][(at / 2 * 32 + lane) * 2 + at % 2];
    }

    /* f(number of the vector among those of the step, place) for the thread's vectors of rows that there are. */
    auto each_vector = [&](int step, auto f) {
        const int left = c.h - step * ROWS, count = (left < ROWS ? left : ROWS) * c.w * SETS;
#pragma unroll
        for (int k = 0; k < S::EACH; k++) {
            const int i = thread + k * S::THREADS_OF_TEAM;
            if (i < count) f(i, place[k]);
        }
    };
    /* What a thread copies it normalises itself. */
    auto copy = [&](const chain_step &at, int stage, int buffer) {
        asm volatile("" ::: "memory"); /* what was read of the stage has been read */
        if (at.sample < c.n) {
            const int first = at.step * ROWS * c.w * S::K;
            const __nv_bfloat16 *const x = c.x[net] + (size_t)at.sample * pixels * S::K + first;
            const unsigned to = ring + (unsigned)(stage * S::STAGE_BYTES),
                           beside = parameters + (unsigned)(buffer * 2 * S::PARAMETER_BYTES);
            each_vector(at.step, [&](int i, int to_place) {
                copy_16(to + (unsigned)to_place, x + i * SLOT, 1);
                if (!c.norm.per_element) return;
                copy_16(beside + (unsigned)(i * 16), c.norm.g[net] + first + i * SLOT, 1);
                copy_16(beside + (unsigned)(S::PARAMETER_BYTES + i * 16), c.norm.b[net] + first + i * SLOT,
                        1);
            });
        }
        commit_copies();
    };
    auto normalise_rows = [&](const chain_step &at, int stage, int buffer) {
        if (at.sample >= c.n) return;
        const float2 moments = all_moments[at.ordinal];
        const unsigned rows = ring + (unsigned)(stage * S::STAGE_BYTES),
                       beside = parameters + (unsigned)(buffer * 2 * S::PARAMETER_BYTES);
        each_vector(at.step, [&](int i, int at_place) {
            const unsigned v = rows + (unsigned)at_place, of = beside + (unsigned)(i * 16);
            store_vector(v, normalise<bf16_math>(load_vector(v), load_vector(of),
                                                 load_vector(of + S::PARAMETER_BYTES), c.norm.slope,
                                                 moments.y, -moments.x * moments.y));
        });
    };

    /* Results of a step, on their way out. */
    auto flush = [&](const chain_step &at, int buffer) {
        const unsigned staged = out + (unsigned)(buffer * S::OUT_BYTES);
        __nv_bfloat16 *const y = c.y[net] + (size_t)at.sample * pixels * S::WIDE;
        const int count = ROWS * c.w * S::WIDE_SLOTS;
#pragma unroll 4
        for (int i = thread; i < count; i += S::THREADS_OF_TEAM) {
            const int pixel = i / S::WIDE_SLOTS, slot = i % S::WIDE_SLOTS, row = divided(pixel, c.by_w),
                      column = pixel - row * c.w,
                      late = slot < SETS              ? 1
                             : slot < SETS + SETS / 2 ? 2
                                                      : 4,
                      to = at.step * ROWS - late + row;
            if ((unsigned)to >= (unsigned)c.h) continue;
            *(uint4 *)(y + (to * c.w + column) * S::WIDE + slot * SLOT) =
                load_vector(staged + (unsigned)((row * S::COLUMNS + column) * S::WIDE_BYTES + slot * 16));
        }
    };

    /* Of each branch: its channels, and which of its chains. */
    auto channel_of = [&](int conv) { return (2 * SETS - 2 * SETS / (1 << conv) + (set >> conv)) * SLOT; };
    auto chain_of = [&](int conv) { return set & ((1 << conv) - 1); };
    float sum = 0, square = 0;
    float acc[CONVS][3][STRIPS][4]; /* of each branch three rows of results */
    auto start = [&](float row[STRIPS][4], int conv) {
        const float2 bias = *(const float2 *)(biases + channel_of(conv) + lane % 4 * 2);
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++) {
            float *const v = row[strip];
            v[0] = v[2] = bias.x, v[1] = v[3] = bias.y;
        }
    };
    /* A row of results is complete: `row` of the image, `line` of the step. */
    auto complete = [&](const float results[STRIPS][4], int conv, int row, int line, unsigned staged) {
        if ((unsigned)row >= (unsigned)c.h) return;
        const unsigned to = staged + (unsigned)((line * S::COLUMNS + lane / 4) * S::WIDE_BYTES +
                                                (channel_of(conv) + lane % 4 * 2) * 2);
#pragma unroll
        for (int i = 0; i < 2 * STRIPS; i++) { /* eight columns */
            const float x = results[i / 2][i % 2 * 2], y = results[i / 2][i % 2 * 2 + 1],
                        a = leaky(x, c.norm.slope), b = leaky(y, c.norm.slope);
            store_word(to + (unsigned)(i * 8 * S::WIDE_BYTES), pair_bf16(x, y));
            if (i * 8 + lane / 4 < c.w) sum += a + b, square = fmaf(a, a, fmaf(b, b, square));
        }
    };
    /* A row of a branch: its products go to the rows of results above, here and below, which are `turn` - 1, `turn` and `turn` + 1 of three
     * that take turns. Operands of two slots of eight channels are read at once: those left and right, of dilation 1, else two of
     * those that the group reads. */
    const int operand = (S::REACH + lane % 16) * S::THIN_BYTES;
    auto multiply_row = [&](auto of_conv, unsigned row, int turn) {
        constexpr int conv = decltype(of_conv)::value, d = 1 << conv, TWOS = conv == 0 ? 1 : d / 2;
        const unsigned *const w = weights + 9 * (d - 1);
        const unsigned from = row + (unsigned)(operand + (set >> conv << conv) * 16);
        if constexpr (conv == 0) {
            unsigned sides[STRIPS][4], middle[STRIPS][2];
#pragma unroll
            for (int strip = 0; strip < STRIPS; strip++) {
                const unsigned at = from + (unsigned)(strip * TILE_ROWS * S::THIN_BYTES);
                load_matrices(sides[strip], lane < 16 ? at - S::THIN_BYTES : at + S::THIN_BYTES);
                load_half(middle[strip], at);
            }
#pragma unroll
            for (int tap = 0; tap < 3; tap++)
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
                    multiply_bf16(acc[0][(turn + 4 - tap) % 3][strip], sides[strip],
                                  make_uint2(w[3 * tap], w[3 * tap + 2]));
#pragma unroll
            for (int tap = 0; tap < 3; tap++)
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
                    multiply_half(acc[0][(turn + 4 - tap) % 3][strip], middle[strip], w[3 * tap + 1]);
        } else {
#pragma unroll
            for (int i = 0; i < 3 * TWOS; i++) {
                const int side = i / TWOS, two = i % TWOS;
                unsigned a[STRIPS][4];
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
                    load_matrices(a[strip],
                                  from + (unsigned)((strip * TILE_ROWS + (side - 1) * d) * S::THIN_BYTES +
                                                    two * 32 + lane / 16 * 16));
#pragma unroll
                for (int tap = 0; tap < 3; tap++)
#pragma unroll
                    for (int strip = 0; strip < STRIPS; strip++) {
                        const unsigned *const of = w + (3 * tap + side) * d + 2 * two;
                        multiply_bf16(acc[conv][(turn + 4 - tap) % 3][strip], a[strip],
                                      make_uint2(of[0], of[1]));
                    }
            }
        }
    };
    /* The rows of a step that are those of the warp's chain. */
    auto branch = [&](auto of_conv, auto of_step, int first, unsigned rows, unsigned staged) {
        constexpr int conv = decltype(of_conv)::value, d = 1 << conv, COUNT = ROWS / d,
                      STEP = decltype(of_step)::value;
        const int chain = chain_of(conv);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int line = chain + i * d, turn = (STEP * COUNT + i) % 3;
            start(acc[conv][(turn + 1) % 3], conv);
            if (first + line < c.h) multiply_row(of_conv, rows + (unsigned)(line * S::ROW_BYTES), turn);
            complete(acc[conv][(turn + 2) % 3], conv, first + line - d, line, staged);
        }
    };

    chain_step now = {begin, 0, 0};
    int stage = 0, buffer = 0;
    auto stage_behind = [&](int by) {
        return stage + by < CHAIN_STAGES ? stage + by : stage + by - CHAIN_STAGES;
    };
    copy(now, 0, 0);
    copy(now.later(1, steps, stride), 1, 1);
    wait_for_earlier_copies();
    normalise_rows(now, 0, 0);
    /* What is left of the step before, when all have met. */
    auto go_on = [&]() {
        meet(1 + team, S::THREADS_OF_TEAM);
        const chain_step last = now.earlier(steps, stride);
        if (last.ordinal < 0) return;
        flush(last, buffer ^ 1);
        if (now.step > 0 || thread != 0) return;
        float2 all = make_float2(0, 0);
#pragma unroll 1
        for (int i = 0; i < S::THREADS_OF_TEAM / 32; i++) {
            const float2 of = sums[(int)threadIdx.x / 32 + i];
            all.x += of.x, all.y += of.y;
        }
        c.sums.at[net][(size_t)last.sample * MAX_BANDS] = all;
    };
    auto run_step = [&](auto of_step) {
        go_on();
        copy(now.later(2, steps, stride), stage_behind(2), buffer);
        const unsigned rows = ring + (unsigned)(stage * S::STAGE_BYTES),
                       staged = out + (unsigned)(buffer * S::OUT_BYTES);
        const int first = now.step * ROWS;
        branch(known<0>(), of_step, first, rows, staged);
        if constexpr (CONVS > 1) branch(known<1>(), of_step, first, rows, staged);
        if constexpr (CONVS > 2) branch(known<2>(), of_step, first, rows, staged);
        if (now.step == steps - 1) {
            const float2 of_warp = warp_sum(sum, square);
            if (lane == 0) sums[threadIdx.x / 32] = of_warp;
            sum = square = 0;
        }
        now = now.later(1, steps, stride);
        stage = stage_behind(1), buffer ^= 1;
        wait_for_earlier_copies();
        normalise_rows(now, stage, buffer);
    };
    while (now.sample < c.n) {
#pragma unroll
        for (int conv = 0; conv < CONVS; conv++) start(acc[conv][0], conv);
#pragma unroll 1
        do {
            run_step(known<0>());
            if (now.step == 0) break;
            run_step(known<1>());
            if (now.step == 0) break;
            run_step(known<2>());
        } while (now.step > 0);
    }
    go_on();
}

#endif
