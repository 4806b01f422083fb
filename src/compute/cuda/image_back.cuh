/* The backward pass through a 1x1 convolution behind a norm, in one kernel: from the gradient of what it
 * gave, the gradient q of the normalised activations and its two sums (gradient_store), and the gradient of
 * its weights.
 *
 * Both need the activations and the gradient of the outputs, which come from memory once, while the unit
 * before is worked on. A block has a piece of the units, and its part of the gradient of all weights in
 * registers meanwhile. Of each unit it first makes q in shared memory; where q meets the activations, on its
 * way out in the order of memory, these are normalised in their place; then they are multiplied by the
 * gradient of the outputs. */
#ifndef JF_COMPUTE_CUDA_IMAGE_BACK_CUH
#define JF_COMPUTE_CUDA_IMAGE_BACK_CUH

#include "compute/cuda/image_norm.cuh"

enum {
    BACK_WARPS = 8,
    BACK_EACH = 4, /* tiles of the gradient of weights that a warp has at once */
};
static_assert(IMAGE_BACK_TILES == 2 * BACK_WARPS * BACK_EACH, "the tiles of one or two rounds");
static_assert(IMAGE_BACK_OUTPUTS == BACK_WARPS * (int)SLOT, "a warp has the biases of a slot");

template <class M> struct back_call {
    op_view forward[2], backward[2];
    cut t; /* its tile: of the gradient of the outputs, two; the other: of the activations, two, and of q */
    int n, first_net, pieces;
    const void *weights[2]; /* packed, backward */
    plain_load<M> dy, x;
    gradient_store<M> store;
    float *partial[2]; /* [piece][tile][OP_TILE_WEIGHTS]; NULL: not wanted */
    size_t stride;     /* from piece to piece */
};

/* ROUNDS: of a warp's tiles of weights. */
template <class M, int TOGETHER, int GROUP, int ROUNDS>
static __global__ void __launch_bounds__(BACK_WARPS * 32, 2)
    back_kernel(const __grid_constant__ back_call<M> c) {
    enum { WARPS = BACK_WARPS, EACH = BACK_EACH, PAIRS = EACH / 2 };
    LAUNCH_MEMORY;
    __shared__ float2 sums[WARPS], moments[2];
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const op_view &op = c.backward[net], &forward = c.forward[net];
    const cut &t = c.t;
    const int other = t.other_pixels * t.other_bytes;
    char *const activations = memory + 2 * t.bytes, *const q_tile = activations + 2 * other;
    int4 *const sets = (int4 *)(q_tile + other);
    int *const slot_at = (int *)(sets + op.sets);
    place_slots(slot_at, op, t, M::bytes);
    for (int i = (int)threadIdx.x; i < op.sets; i += WARPS * 32) sets[i] = op.set[i];
    /* The warp's tiles of weights. Where these are few, warps share the pixels of each. */
    const int biases = (forward.out + SLOT - 1) / SLOT, tiles = forward.gradients - biases,
              groups = (tiles + EACH - 1) / EACH, shares = groups < WARPS ? WARPS / groups : 1,
              share = groups < WARPS ? warp / groups : 0, first_group = groups < WARPS ? warp % groups : warp;
    float sum[ROUNDS][EACH][4], bias_sum[4] = {0, 0, 0, 0};
    typename M::place
        place[ROUNDS][PAIRS]; /* two neighbours read the same inputs, and their outputs follow each other */
    int channels[ROUNDS][PAIRS]; /* of the outputs, in bytes */
#pragma unroll
    for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            const int number = (first_group + r * WARPS) * EACH + 2 * i;
            const int2 tile = forward.gradient[number < tiles ? number : 0];
            const int2 slot0 = forward.slot[2 * tile.x], slot1 = forward.slot[2 * tile.x + 1];
            channels[r][i] = tile.y * M::bytes;
            M::find(place[r][i], slot0.y * M::bytes, slot1.y * M::bytes, lane);
#pragma unroll
            for (int k = 0; k < 8; k++) sum[r][2 * i + k / 4][k % 4] = 0;
        }

    const size_t units = (size_t)c.n * (size_t)t.bands,
                 end = piece_begin(units, c.pieces, (int)blockIdx.x + 1);
    size_t unit = piece_begin(units, c.pieces, (int)blockIdx.x);
    auto fill = [&](size_t next, int buffer) {
        const int sample = (int)next / t.bands, band = (int)next - sample * t.bands;
        const int present = rows_of_band(op, t, band) * op.w, first = band * t.rows * op.w;
        fill_plain<M>(memory + buffer * t.bytes, t.pixel_bytes, t.other_pixels, present, c.dy, op.in, net,
                      sample, first);
        fill_plain<typename M::raw>(activations + buffer * other, t.other_bytes, t.other_pixels, present, c.x,
                                    op.out, net, sample, first);
        if ((int)threadIdx.x == WARPS * 32 - 1) moments[buffer] = c.store.moments(net, sample);
    };
    after_the_last();
    if (unit < end) fill(unit, 0);
    for (int buffer = 0; unit < end; unit++, buffer ^= 1) {
        const int sample = (int)unit / t.bands, band = (int)unit - sample * t.bands,
                  present = rows_of_band(op, t, band) * op.w, start = band * t.rows * op.w;
        const char *const dy = memory + buffer * t.bytes;
        char *const normal = activations + buffer * other; /* at first as they are */
        wait_for_copies();
        __syncthreads();
        if (unit + 1 < end) fill(unit + 1, buffer ^ 1);

        /* q, set by set of outputs and group by group of pixels */
        const int pixel_groups = (present + GROUP * TILE_ROWS - 1) / (GROUP * TILE_ROWS);
        for (int item = warp; item < op.sets * pixel_groups; item += WARPS) {
            const int number = item / pixel_groups,
                      begin = (item - number * pixel_groups) * GROUP * TILE_ROWS;
            const int4 set = sets[number];
            unsigned row[GROUP];
            float q[GROUP][TOGETHER][4];
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                int p = begin + i * TILE_ROWS + lane % 16;
                row[i] = shared_address(dy + (p < present ? p : present - 1) * t.pixel_bytes);
#pragma unroll
                for (int j = 0; j < TOGETHER; j++) q[i][j][0] = q[i][j][1] = q[i][j][2] = q[i][j][3] = 0;
            }
            const typename M::weights *w =
                (const typename M::weights *)c.weights[net] + (size_t)set.w * 32 + lane;
            const int *slot = slot_at + 2 * set.y;
            typename M::weights b[TOGETHER], ahead[TOGETHER];
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) b[j] = w[j * 32];
            for (int step = 0; step < set.z; step++) {
                w += TOGETHER * 32;
#pragma unroll
                for (int j = 0; j < TOGETHER; j++)
                    if (step + 1 < set.z) ahead[j] = w[j * 32];
                const int slot0 = slot[2 * step], slot1 = slot[2 * step + 1];
#pragma unroll
                for (int i = 0; i < GROUP; i++) {
                    typename M::operand a;
                    M::load(a, row[i], slot0, slot1, lane);
#pragma unroll
                    for (int j = 0; j < TOGETHER; j++) M::multiply(q[i][j], a, b[j]);
                }
#pragma unroll
                for (int j = 0; j < TOGETHER; j++) b[j] = ahead[j];
            }
#pragma unroll
            for (int i = 0; i < 2 * GROUP; i++) {
                const int p = begin + i * 8 + lane / 4;
                if (p >= present) break;
                typename M::number *to =
                    (typename M::number *)(q_tile + p * t.other_bytes) + set.x + lane % 4 * 2;
#pragma unroll
                for (int j = 0; j < TOGETHER; j++)
                    M::put2(to + j * TILE_COLUMNS, q[i / 2][j][i % 2 * 2], q[i / 2][j][i % 2 * 2 + 1]);
            }
        }

        /* q on its way out, in the order of memory: what is worked on by a thread are eights of channels.
         * Their parameters are asked for one ahead. */
        const int slots = op.out / SLOT, eights = present * slots;
        const norm_view<M> &norm = c.store.norm;
        const typename M::number *g = norm.g[net] + norm.place(start, 0);
        typename M::eight next_g, next_b;
        auto ask = [&](int i) {
            i = i < eights ? i : eights - 1;
            const typename M::number *at =
                g + (norm.per_element ? i : i - divided(i, c.x.by_slots) * slots) * SLOT;
            next_g = M::fetch(at), next_b = M::fetch(at + norm.bias_behind);
        };
        ask((int)threadIdx.x);
        __syncthreads();
        const float scale = moments[buffer].y, shift = -moments[buffer].x * scale;
        typename M::number *out =
            c.store.q[net] + ((size_t)sample * (size_t)c.store.pixels + (size_t)start) * (size_t)op.out;
        float sum_a = 0, sum_b = 0;
        for (int i = (int)threadIdx.x; i < eights; i += WARPS * 32) {
            const int pixel = divided(i, c.x.by_slots), own = i - pixel * slots,
                      place = pixel * t.other_bytes + own * SLOT * M::bytes;
            const typename M::eight of_g = next_g, of_b = next_b,
                                    x = *(const typename M::eight *)(normal + place);
            ask(i + WARPS * 32);
            c.store.eight({out + i * SLOT, NULL, NULL, scale, shift}, {x, of_g}, q_tile + place, 0, sum_a,
                          sum_b);
            M::put_operands(normal + place, normalise<M>(x, of_g, of_b, norm.slope, scale, shift));
        }
        const float2 of_warp = warp_sum(sum_a, sum_b);
        if (lane == 0) sums[warp] = of_warp;
        __syncthreads();
        if (threadIdx.x == 0) {
            float2 all = make_float2(0, 0);
            for (int i = 0; i < WARPS; i++) all.x += sums[i].x, all.y += sums[i].y;
            c.store.take(net, sample, band, all);
        }
        if (!c.partial[net]) continue;

        /* the gradient of the weights, and of the biases */
        for (int block = share; share < shares && block * TILE_ROWS < present; block += shares) {
            unsigned from[4], columns[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                from[i] = shared_address(normal + (block * TILE_ROWS + M::pixel(lane, i)) * t.other_bytes);
                columns[i] =
                    shared_address(dy + (block * TILE_ROWS + M::column_pixel(lane, i)) * t.pixel_bytes);
            }
#pragma unroll
            for (int r = 0; r < ROUNDS; r++) {
                if (ROUNDS > 1 && (first_group + r * WARPS) * EACH >= tiles) break;
                typename M::operand a[PAIRS];
                typename M::column b[EACH];
#pragma unroll
                for (int i = 0; i < PAIRS; i++) M::load_channels(a[i], from, place[r][i]);
#pragma unroll
                for (int i = 0; i < EACH; i++)
                    M::load_columns(b[i], columns, channels[r][i / 2] + i % 2 * SLOT * M::bytes, lane);
#pragma unroll
                for (int i = 0; i < EACH; i++) M::multiply_columns(sum[r][i], a[i / 2], b[i]);
            }
        }
        if (warp < biases)
            for (int block = 0; block * TILE_ROWS < present; block++) {
                unsigned columns[4];
                typename M::operand ones;
                typename M::column b;
#pragma unroll
                for (int i = 0; i < 4; i++)
                    columns[i] =
                        shared_address(dy + (block * TILE_ROWS + M::column_pixel(lane, i)) * t.pixel_bytes);
                M::ones(ones);
                M::load_columns(b, columns, warp * SLOT * M::bytes, lane);
                M::multiply_columns(bias_sum, ones, b);
            }
    }

    if (!c.partial[net]) return;
    float *to = c.partial[net] + (size_t)blockIdx.x * c.stride;
    auto leave = [&](float *at, const float v[4]) {
        at += lane / 4 * TILE_COLUMNS + lane % 4 * 2;
        *(float2 *)at = make_float2(v[0], v[1]);
        *(float2 *)(at + 8 * TILE_COLUMNS) = make_float2(v[2], v[3]);
    };
    if (warp < biases) leave(to + (size_t)(tiles + warp) * OP_TILE_WEIGHTS, bias_sum);
    if (shares == 1) {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++)
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const int number = (first_group + r * WARPS) * EACH + i;
                if (number < tiles) leave(to + (size_t)number * OP_TILE_WEIGHTS, sum[r][i]);
            }
        return;
    }
    float *parts = (float *)memory; /* [share][group][EACH][OP_TILE_WEIGHTS] */
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) /* of the warps that have no share, too */
        leave(parts + (size_t)(warp * EACH + i) * OP_TILE_WEIGHTS, sum[0][i]);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < tiles * OP_TILE_WEIGHTS; i += WARPS * 32) {
        float all = 0;
        for (int s = 0; s < shares; s++) all += parts[s * groups * EACH * OP_TILE_WEIGHTS + i];
        to[i] = all;
    }
}

#endif
