/* An image network in one kernel, forward, with the sample on the chip.
 *
 * A cluster of thread blocks takes one sample of a network after the other, each of them a band of its rows,
 * each warp 32 pixels of a band with all their channels. Products leave results where the next product wants
 * its operands (the layouts of C and A agree), so that what belongs to a pixel alone stays with its warp: 1x1
 * convolutions, norms, the residual stream. The branches look at neighbours; they read a tile in shared
 * memory, whose rows beyond the band come from the blocks that have them. So do the convolutions in and out
 * (image_onchip_ends.cuh), by the same tile.
 *
 * Of the norm between the branches and the second 1x1 convolution the moments are known only when the
 * branches are done with. The convolution does not wait for them: with t = act(x), mean m, deviation 1/r,
 * scale g and bias b of the norm, and weights W,
 *
 *     W ((t - m) r g + b) = r W(t g) - m r W(g) + W(b),
 *
 * whose last two products are the same for all samples (onchip_tables_kernel). So wide activations never
 * leave registers, unless they are saved for the backward pass.
 *
 * Blocks exchange sums and rows by stores into each other's shared memory, which count down a barrier there.
 * In bf16 alone. */
#ifndef JF_COMPUTE_CUDA_IMAGE_ONCHIP_CUH
#define JF_COMPUTE_CUDA_IMAGE_ONCHIP_CUH

#include "compute/cuda/image_cluster.cuh"
#include "compute/cuda/image_norm.cuh"
#include "compute/cuda/image_onchip_fragments.cuh"

enum { ONCHIP_THREADS = 32 * ONCHIP_WARPS };

typedef struct onchip_call {
    op_view in[2], branches[2], out[2];
    onchip_plan shape;
    int n, first_net, depth, wide; /* samples; wide: channels of the branches */
    /* The ends: what is read, of the state (n, dim) by a map from pixels and channels; what is given, (n,
     * pixels, channels). */
    const float *state;
    const int32_t *source;
    int dim, in_channels, out_channels[2];
    float *given[2];
    const uint2 *in_weights[2], *out_weights[2];
    const float *in_bias[2], *out_bias[2];
    float slope, epsilon;
    double share[2]; /* one over the elements of a sample: thin, wide */
    /* Of the first residual block; a block more is so many numbers further. */
    const uint2 *weights[2]; /* the first 1x1 convolution, branches, the second one */
    size_t weight_stride;
    const float *thin_bias[2], *wide_bias[2];
    int bias_stride;
    const uint4 *tables[2]; /* onchip_tables_kernel */
    __nv_bfloat16 *stream[2], *thin[2], *wide_acts[2];
    size_t act_stride; /* of saved activations */
    float2 *sums[2];   /* those of norm 0 */
    size_t sum_stride;
} onchip_call;

/* ---- the kernel ---- */

/* What one thread knows of its sample. Sums: `acc` has of each of the warp's tiles of pixels all tiles of 8
 * channels. */
template <int PAIRS, bool KEEPS> struct onchip_thread {
    enum { K = 16 * PAIRS, TILES = 2 * PAIRS, SET = PAIRS % 2 ? 2 : 4 };
    typedef float sums_of_pixels[UNIT_TILES][TILES][4];
    const onchip_call &c;
    const onchip_plan &s;
    const op_view &op;
    const int net, rank, thread, threads, lane, wide_pairs;
    int sample;

    /* Shared memory: what the branches read; weights and biases of a residual block; the residual stream, as
     * fragments of each thread; where branches find their operands. */
    char *tile;
    uint2 *first_weights, *wide_weights, *second_weights;
    uint4 *stream;
    float *thin_bias, *wide_bias;
    int4 *pair_at; /* of 16 channels: step and steps of the lower ones; step of the upper ones, and whether
                      there are any */
    int *slot_at, *in_slot_at, *out_slot_at;

    bool has[UNIT_TILES][2]; /* whether rows g and g + 8 of a tile are pixels of the image */
    unsigned own_place[UNIT_TILES][2],
        row_place[UNIT_TILES]; /* of those in `tile`; of the row that is loaded */
    size_t pixel0;             /* of row g of the first tile, in all activations */
    const uint4 *tables;       /* of this residual block, for this lane */
    int tile0, next_tile;      /* in the tables */
    float2 *sums;              /* of the last norm that has been summed */
    cluster_view others;
    float sum, square; /* of the norm that comes next */
    float2 scale;      /* of the one that has come: 1 / deviation, - mean / deviation */

    __device__ int t() const { return lane % 4; }
    __device__ uint4 &stream_at(int i, int pair) const {
        return stream[(i * PAIRS + pair) * threads + thread];
    }

    __device__ void lay_out(char *memory) {
        tile = memory;
        first_weights = (uint2 *)(tile + s.tile_bytes);
        wide_weights = first_weights + PAIRS * TILES * 32;
        second_weights = wide_weights + op.steps * 32; /* branches: as many tiles as steps */
        stream = (uint4 *)(second_weights + wide_pairs * TILES * 32);
        thin_bias = (float *)(stream + UNIT_TILES * PAIRS * threads);
        wide_bias = thin_bias + s.thin_biases;
        pair_at = (int4 *)(wide_bias + s.wide_biases);
        slot_at = (int *)(pair_at + wide_pairs);
        in_slot_at = slot_at + 2 * (op.steps + 2);
        out_slot_at = in_slot_at + 2 * s.in_steps;
    }
    /* From a pixel of the tile to the slots of an operator, in bytes. */
    __device__ void place_slots(int *to, int count, const op_view &of, int steps) const {
        const int row = of.w + of.halo;
        for (int i = thread; i < 2 * count; i += threads) {
            const int2 slot = i < 2 * steps ? of.slot[i] : make_int2(0, 0);
            const int down = (slot.x + of.halo * (row + 1)) / row - of.halo;
            to[i] = (slot.x + down * (s.width - row)) * s.pixel_bytes + slot.y * 2;
        }
    }
    /* Zeros around the image, and the operator's tables. */
    __device__ void prepare() const {
        for (int i = thread; i < s.tile_bytes / 16; i += threads) ((uint4 *)tile)[i] = make_uint4(0, 0, 0, 0);
        place_slots(slot_at, op.steps + 2, op, op.steps);
        place_slots(in_slot_at, s.in_steps, c.in[net], s.in_steps);
        place_slots(out_slot_at, c.out[net].steps, c.out[net], c.out[net].steps);
        for (int i = thread; i < op.sets; i += threads) {
            const int4 set = op.set[i];
            int4 &pair = pair_at[set.x / 16];
            if (set.x % 16 != 0)
                pair.z = set.y, pair.w = 1;
            else {
                pair.x = set.y, pair.y = set.z;
                if (set.x + 8 >= c.wide) pair.z = set.y, pair.w = 0;
            }
        }
    }
    __device__ unsigned place_of(int pixel, int present) const {
        pixel = pixel < present ? pixel : present - 1;
        int row = pixel / op.w;
        return shared_address(tile) +
               (unsigned)((op.halo + (row + op.halo) * s.width + pixel - row * op.w) * s.pixel_bytes);
    }
    __device__ void find_pixels() {
        const int left = op.h - rank * s.rows, present = (left < s.rows ? left : s.rows) * op.w,
                  warp = thread / 32, begin = warp * ONCHIP_PIXELS;
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int pixel = begin + i * TILE_ROWS + half * 8 + lane / 4;
                has[i][half] = pixel < present;
                own_place[i][half] = place_of(pixel, present) + (unsigned)(4 * t());
            }
            row_place[i] = place_of(begin + i * TILE_ROWS + lane % 16, present);
        }
        tile0 = s.table_tiles > 1 ? (rank * (threads / 32) + warp) * UNIT_TILES : 0;
        next_tile = s.table_tiles > 1 ? 1 : 0;
    }
    __device__ void begin(int number) {
        sample = number;
        pixel0 = ((size_t)sample * (size_t)op.h + (size_t)(rank * s.rows)) * (size_t)op.w +
                 (size_t)(thread / 32 * ONCHIP_PIXELS + lane / 4);
        tables = c.tables[net] + lane;
        sums = c.sums[net] + (size_t)sample * MAX_BANDS + rank;
        sum = square = 0;
    }

    /* ---- weights ---- */

    __device__ void copy(void *to, const void *from, int vectors) const {
        for (int i = thread; i < vectors; i += threads)
            copy_16(shared_address((uint4 *)to + i), (const uint4 *)from + i, 1);
    }
    /* Of a residual block; there may be none. */
    __device__ void fetch_first(int block) const {
        if (block < c.depth) {
            copy(first_weights, c.weights[net] + (size_t)block * c.weight_stride, PAIRS * TILES * 16);
            copy(thin_bias, c.thin_bias[net] + block * c.bias_stride, s.thin_biases / 4);
        }
        commit_copies();
    }
    __device__ void fetch_wide(int block) const {
        if (block < c.depth) {
            copy(wide_weights, c.weights[net] + (size_t)block * c.weight_stride + PAIRS * TILES * 32,
                 (op.steps + wide_pairs * TILES) * 16);
            copy(wide_bias, c.wide_bias[net] + block * c.bias_stride, s.wide_biases / 4);
        }
        commit_copies();
    }

    /* ---- activations and parameters of norms in memory ---- */

    __device__ void keep(__nv_bfloat16 *acts, int channels, int i, int channel, const unsigned w[4]) const {
        __nv_bfloat16 *at = acts + (pixel0 + (size_t)(i * TILE_ROWS)) * (size_t)channels + (size_t)channel;
        store_fragment(at, at + 8 * channels, w, has[i][0], has[i][1], t());
    }
    __device__ uint4 of_thin(int kind, int i, int pair) const {
        return tables[kind * s.table_tiles * PAIRS * 32 + ((tile0 + i * next_tile) * PAIRS + pair) * 32];
    }
    __device__ uint4 of_wide(int i, int pair) const {
        return tables[THIN_TABLES * s.table_tiles * PAIRS * 32 +
                      ((tile0 + i * next_tile) * wide_pairs + pair) * 32];
    }
    __device__ float4 of_sums(int kind, int i, int j) const {
        return *(const float4 *)&tables[s.table_tiles * ((THIN_TABLES + 2 * kind) * PAIRS + wide_pairs) * 32 +
                                        ((tile0 + i * next_tile) * TILES + j) * 32];
    }
    /* Scale and bias of 16 channels: they are asked for before they are needed. */
    struct ahead {
        uint4 of[UNIT_TILES][2];
        __device__ void ask(const onchip_thread &h, int kind, int pair) {
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++)
                of[i][0] = h.of_thin(kind, i, pair), of[i][1] = h.of_thin(kind + 1, i, pair);
        }
    };

    /* ---- moments ---- */

    __device__ void take_moments(double2 all, double share) {
        const double mean = all.x * share, var = all.y * share - mean * mean;
        const float r = 1 / sqrtf(fmaxf((float)var, 0) + c.epsilon);
        scale = make_float2(r, -(float)mean * r);
        sum = square = 0;
    }
    __device__ void add(int i, int half, float v) {
        if (has[i][half]) sum += v, square = fmaf(v, v, square);
    }
    /* All warps meet here. */
    __device__ void end_norm(double share) {
        take_moments(others.add_up(sum, square, sums), share);
        sums += c.sum_stride;
    }

    /* ---- the parts of a residual block ---- */

    __device__ void convolution_in(sums_of_pixels &acc);
    __device__ void convolution_out(ahead &next);
    __device__ void branches(unsigned a[UNIT_TILES][4], int pair, int block);
    __device__ void keep_wide(const float v[2][UNIT_TILES][4], int pair, int both, __nv_bfloat16 *acts) const;
    __device__ void branches_and_second_convolution(sums_of_pixels &acc, int block);

    __device__ void first_convolution(sums_of_pixels &acc, ahead &next, int block) {
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            const float2 bias = *(const float2 *)(thin_bias + 8 * j + 2 * t());
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++)
                acc[i][j][0] = acc[i][j][2] = bias.x, acc[i][j][1] = acc[i][j][3] = bias.y;
        }
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++) {
            const ahead now = next;
            unsigned a[UNIT_TILES][4];
            if (pair + 1 < PAIRS)
                next.ask(*this, 0, pair + 1);
            else
                next.ask(*this, 2, 0); /* of the second norm */
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++) {
                unsigned x[4], g[4], b[4];
                words_of(x, stream_at(i, pair));
                words_of(g, now.of[i][0]);
                words_of(b, now.of[i][1]);
#pragma unroll
                for (int k = 0; k < 4; k++)
                    a[i][k] = normalised(leaky(low_bf16(x[k]), c.slope), leaky(high_bf16(x[k]), c.slope),
                                         g[k], b[k]);
            }
#pragma unroll
            for (int j = 0; j < TILES; j++) {
                const uint2 w = first_weights[((j / SET * PAIRS + pair) * SET + j % SET) * 32 + lane];
#pragma unroll
                for (int i = 0; i < UNIT_TILES; i++) multiply_bf16(acc[i][j], a[i], w);
            }
        }
        if (KEEPS) keep_thin(acc, c.thin[net] + (size_t)block * c.act_stride);
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
#pragma unroll
                for (int k = 0; k < 4; k++) add(i, k / 2, acc[i][j][k] = leaky(acc[i][j][k], c.slope));
    }
    __device__ unsigned normalised(float a, float b, unsigned of_g, unsigned of_b) const {
        return scaled_pair(pair_bf16(fmaf(a, scale.x, scale.y), fmaf(b, scale.x, scale.y)), of_g, of_b);
    }
    __device__ void keep_thin(const sums_of_pixels &acc, __nv_bfloat16 *to) const {
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++) {
                const float *lower = acc[i][2 * pair], *upper = acc[i][2 * pair + 1];
                const unsigned w[4] = {pair_bf16(lower[0], lower[1]), pair_bf16(lower[2], lower[3]),
                                       pair_bf16(upper[0], upper[1]), pair_bf16(upper[2], upper[3])};
                keep(to, K, i, 16 * pair, w);
            }
    }

    /* Normalised, for the branches of this block and of those above and below. */
    __device__ void fill_tile(const sums_of_pixels &acc, ahead &next) {
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++) {
            const ahead now = next;
            if (pair + 1 < PAIRS) next.ask(*this, 2, pair + 1);
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++) {
                unsigned g[4], b[4];
                words_of(g, now.of[i][0]);
                words_of(b, now.of[i][1]);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const float *v = acc[i][2 * pair + k / 2] + k % 2 * 2;
                    const unsigned w = normalised(v[0], v[1], g[k], b[k]);
                    if (has[i][k % 2])
                        store_word(own_place[i][k % 2] + (unsigned)(32 * pair + k / 2 * 16), w);
                }
            }
        }
        wait_for_earlier_copies(); /* of fetch_wide() */
        share_tile();
    }
    /* All of the tile is there, for all warps. */
    __device__ void share_tile() {
        if (s.ranks > 1)
            exchange_rows();
        else
            __syncthreads();
    }
    /* The rows at the edges of the band go to its neighbours, theirs arrive. */
    __device__ void exchange_rows() {
        const int slots = K / 8, count = op.halo * op.w * slots, above = rank > 0, below = rank + 1 < s.ranks,
                  row_bytes = s.width * s.pixel_bytes;
        others.expect((above + below) * count * 16);
        __syncthreads();
        for (int side = above ? -1 : 1; side <= below; side += 2) {
            const int row_from = side < 0 ? 0 : s.rows - op.halo, row_to = side < 0 ? s.rows : -op.halo;
            const unsigned barrier = in_block(others.barrier(), rank + side);
            for (int i = thread; i < count; i += threads) {
                const int pixel = i / slots, row = pixel / op.w;
                const char *at = tile + (op.halo + op.halo * s.width + pixel - row * op.w) * s.pixel_bytes +
                                 (i - pixel * slots) * 16;
                send_16(in_block(shared_address(at + (row_to + row) * row_bytes), rank + side),
                        *(const uint4 *)(at + (row_from + row) * row_bytes), barrier);
            }
        }
        others.arrived();
    }

    /* The results, normalised at last, onto the residual stream. */
    struct sums_ahead {
        float4 of_mean[UNIT_TILES], of_bias[UNIT_TILES];
        __device__ void ask(const onchip_thread &h, int j) {
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++)
                of_mean[i] = h.of_sums(0, i, j), of_bias[i] = h.of_sums(1, i, j);
        }
    };
    __device__ void add_to_stream(const sums_of_pixels &acc, sums_ahead &next) {
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            const sums_ahead now = next;
            if (j + 1 < TILES) next.ask(*this, j + 1);
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++) {
                uint2 *at = (uint2 *)&stream_at(i, j / 2) + j % 2;
                const uint2 h = *at;
                const float *v = acc[i][j],
                            old[4] = {low_bf16(h.x), high_bf16(h.x), low_bf16(h.y), high_bf16(h.y)};
                const float4 m = now.of_mean[i], b = now.of_bias[i];
                const float means[4] = {m.x, m.y, m.z, m.w}, biases[4] = {b.x, b.y, b.z, b.w};
                float made[4];
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    made[k] = old[k] + fmaf(v[k], scale.x, fmaf(scale.y, means[k], biases[k]));
                    add(i, k / 2, leaky(made[k], c.slope));
                }
                *at = make_uint2(pair_bf16(made[0], made[1]), pair_bf16(made[2], made[3]));
            }
        }
    }
    __device__ void keep_stream(__nv_bfloat16 *to) const {
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++) {
                unsigned w[4];
                words_of(w, stream_at(i, pair));
                keep(to, K, i, 16 * pair, w);
            }
    }

    __device__ void enter(ahead &next) {
        sums_of_pixels acc;
        convolution_in(acc);
        next.ask(*this, 0, 0);
        wait_for_earlier_copies(); /* of fetch_first() */
        end_norm(c.share[0]);
    }
    /* Weights that all warps are done with make room for the next ones as soon as these have met: those of
     * block `then`. */
    __device__ void residual_block(ahead &next, int block, int then) {
        sums_of_pixels acc;
        first_convolution(acc, next, block);
        end_norm(c.share[0]);
        fetch_first(then);
        fill_tile(acc, next);
        branches_and_second_convolution(acc, block);
        sums_ahead next_sums;
        next_sums.ask(*this, 0);
        end_norm(c.share[1]);
        fetch_wide(then);
        add_to_stream(acc, next_sums);
        tables += s.block_tables;
        next.ask(*this, 0, 0); /* behind the last one: of the last norm */
        if (KEEPS) keep_stream(c.stream[net] + (size_t)(block + 1) * c.act_stride);
        wait_for_earlier_copies(); /* of fetch_first() */
        end_norm(c.share[0]);
    }
};

#include "compute/cuda/image_onchip_branches.cuh"
#include "compute/cuda/image_onchip_ends.cuh"

template <int PAIRS, bool KEEPS>
static __global__ void __launch_bounds__(ONCHIP_THREADS, 1)
    onchip_kernel(const __grid_constant__ onchip_call c) {
#if __CUDA_ARCH__ >= 900
    LAUNCH_MEMORY;
    CLUSTER_MEMORY(float2, slots, [2][MAX_RANKS][ONCHIP_WARPS]);
    CLUSTER_MEMORY(unsigned long long, barriers, [2]);
    const int net = c.first_net + (int)blockIdx.y, rank = (int)blockIdx.x % c.shape.ranks,
              threads = (int)blockDim.x;
    onchip_thread<PAIRS, KEEPS> h = {c,
                                     c.shape,
                                     c.branches[net],
                                     net,
                                     rank,
                                     (int)threadIdx.x,
                                     threads,
                                     (int)threadIdx.x % 32,
                                     (c.wide + 15) / 16};
    h.others = {c.shape.ranks, rank, threads / 32, shared_address(barriers), slots, 0, 0};
    h.lay_out(memory);
    h.prepare();
    if (threadIdx.x == 0) barrier_open(h.others.barriers), barrier_open(h.others.barriers + 8);
    after_the_last();
    h.fetch_first(0);
    h.fetch_wide(0);
    if (c.shape.ranks > 1) meet_cluster();
    __syncthreads();
    h.find_pixels();
    typename onchip_thread<PAIRS, KEEPS>::ahead next;
    const int clusters = (int)gridDim.x / c.shape.ranks;
    for (int sample = (int)blockIdx.x / c.shape.ranks; sample < c.n; sample += clusters) {
        const int after_last = sample + clusters < c.n ? 0 : c.depth; /* the next sample begins anew */
        h.begin(sample);
        h.enter(next);
        for (int block = 0; block < c.depth; block++)
            h.residual_block(next, block, block + 1 < c.depth ? block + 1 : after_last);
        h.convolution_out(next);
        __syncthreads(); /* the tile is done with */
    }
#endif
}

#endif
