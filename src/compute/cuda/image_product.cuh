/* The products of image networks (image_op.h): an operator over a batch, and the gradient of its weights.
 *
 * A block takes a band of rows of a sample, or a few whole small samples, into shared memory, as operands and
 * with zeros around them: what is read is made an operand on the way by a LOAD, for instance normalised. Its
 * warps then share the tiles of results. What becomes of these is up to a STORE, which also sums two numbers
 * of each sample: for the layer norm that reads the results, or for the gradient of the one before. Bands of
 * a sample are summed by whoever reads the sums, in their order. */
#ifndef JF_COMPUTE_CUDA_IMAGE_PRODUCT_CUH
#define JF_COMPUTE_CUDA_IMAGE_PRODUCT_CUH

#include "compute/cuda/image_math.cuh"
extern "C" {
#include "compute/cuda/image_passes.h"
}

enum { GRADIENT_WARPS = 8, MAX_UNITS = 16, MAX_BANDS = IMAGE_MAX_BANDS };

/* Division of small numbers (below 2^16) by one that is the same for all of a launch. */
typedef struct divider {
    unsigned by, inverse;
} divider;
static inline divider divider_of(int by) {
    return divider{(unsigned)by,
                   (unsigned)((((unsigned long long)1 << 32) + (unsigned)by - 1) / (unsigned)by)};
}
static __device__ inline int divided(int value, divider d) {
    return d.by == 1 ? value : (int)__umulhi((unsigned)value, d.inverse);
}

/* An operator as kernels see it. */
typedef struct op_view {
    int h, w, halo, in, out, sets, steps, gradients;
    const int4 *set;  /* channel, step, steps, tile */
    const int2 *slot; /* shift, channel */
    const int2 *gradient;
} op_view;

/* How samples are cut. A unit is a band of a sample. */
typedef struct cut {
    int rows, bands, units; /* rows of a band, bands of a sample, units of a block */
    int width, pixels;      /* of a tile in shared memory: from row to row; in all */
    int pixel_bytes,
        bytes; /* an odd number of 16 bytes, so that neighbours meet different banks; of a tile */
    int other_bytes, other_pixels; /* of a second tile, without zeros around: pixel, and how many */
    divider by_width, by_row;      /* by width, by the w of the image */
} cut;

typedef struct product_call {
    op_view op[2];
    cut t;
    int n, first_net;
    const void *weights[2]; /* packed */
} product_call;

/* ---- tiles of operands ---- */

/* AHEAD pixels, `step` bytes from each other: those of which `left` counts, stride by stride. next(k, inside)
 * says which one is next; what lies outside of the image becomes 0. */
template <class M, int AHEAD, class CURSOR, class NEXT>
static __device__ inline void fill_pixels(char *to, int step, int left, int stride, const CURSOR &cursor,
                                          NEXT next) {
    if constexpr (CURSOR::plain && M::plain) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int inside, pixel = next(k, inside);
            if (left > k * stride) cursor.copy(shared_address(to + k * step), inside ? pixel : 0, inside);
        }
    } else {
        typename CURSOR::raw raw[AHEAD];
        int inside[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int pixel = next(k, inside[k]);
            cursor.fetch(raw[k], inside[k] ? pixel : 0);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            typename M::eight v = cursor.finish(raw[k]);
            if (!inside[k]) v = typename M::eight{};
            if (left > k * stride) M::put_operands(to + k * step, v);
        }
    }
}

/* Samples as operands: rows from first_row - halo on, of the channels of the operator. Each thread has one
 * slot of channels, of every so manieth pixel. Where operands are what lies in memory they are copied, which
 * is waited for later. */
template <class M, class LOAD>
static __device__ void fill_tile(char *to, const op_view &op, const cut &t, const LOAD &load, int net,
                                 int sample, int first_row, float2 moments) {
    enum { AHEAD = M::bytes == 2 ? 4 : 2 };
    const int slots = op.in / SLOT, stride = divided((int)blockDim.x, load.by_slots);
    int position = divided((int)threadIdx.x, load.by_slots);
    const int slot = (int)threadIdx.x - position * slots;
    if (position >= stride) return;
    const typename LOAD::cursor cursor = load.at(net, sample, slot, moments);
    to += position * t.pixel_bytes + slot * SLOT * M::bytes;
    const int step = stride * t.pixel_bytes;
    int left = t.pixels - position;
    if (op.halo == 0) { /* pixels follow each other */
        int pixel = first_row * op.w + position, end = op.h * op.w;
        for (; left > 0; left -= AHEAD * stride, to += AHEAD * step, pixel += AHEAD * stride)
            fill_pixels<M, AHEAD>(to, step, left, stride, cursor, [&](int k, int &inside) {
                inside = pixel + k * stride < end;
                return pixel + k * stride;
            });
        return;
    }
    const int down = divided(stride, t.by_width), right = stride - down * t.width;
    position += t.width - op.halo; /* a row above, so that it is not negative */
    int line = divided(position, t.by_width), column = position - line * t.width;
    int row = first_row - op.halo + line - 1;
    for (; left > 0; left -= AHEAD * stride, to += AHEAD * step)
        fill_pixels<M, AHEAD>(to, step, left, stride, cursor, [&](int, int &inside) {
            int pixel = row * op.w + column;
            inside = column < op.w && (unsigned)row < (unsigned)op.h;
            row += down, column += right;
            if (column >= t.width) column -= t.width, row++;
            return pixel;
        });
}

/* The same without anything around, and with zeros up to `pixels`. */
template <class M, class LOAD>
static __device__ void fill_plain(char *to, int pixel_bytes, int pixels, int present, const LOAD &load,
                                  int channels, int net, int sample, int first) {
    const int slots = channels / SLOT, stride = divided((int)blockDim.x, load.by_slots);
    int pixel = divided((int)threadIdx.x, load.by_slots);
    const int slot = (int)threadIdx.x - pixel * slots;
    if (pixel >= stride) return;
    const typename LOAD::cursor cursor = load.at(net, sample, slot, make_float2(0, 1));
    to += slot * SLOT * M::bytes;
    enum { AHEAD = M::bytes == 2 ? 4 : 2 };
    const int step = stride * pixel_bytes;
    to += pixel * pixel_bytes;
    for (int left = pixels - pixel; left > 0;
         left -= AHEAD * stride, to += AHEAD * step, pixel += AHEAD * stride)
        fill_pixels<M, AHEAD>(to, step, left, stride, cursor, [&](int k, int &inside) {
            inside = pixel + k * stride < present;
            return first + pixel + k * stride;
        });
}

/* Where pixel p of a band begins in its tile. */
static __device__ inline int pixel_place(const op_view &op, const cut &t, int p) {
    int row = divided(p, t.by_row), column = p - row * op.w;
    return (op.halo + (row + op.halo) * t.width + column) * t.pixel_bytes;
}

static __device__ inline int rows_of_band(const op_view &op, const cut &t, int band) {
    int left = op.h - band * t.rows;
    return left < t.rows ? left : t.rows;
}

static __device__ void place_slots(int *to, const op_view &op, const cut &t, int bytes) {
    for (int i = (int)threadIdx.x; i < 2 * op.steps; i += (int)blockDim.x)
        to[i] = op.slot[i].x * t.pixel_bytes + op.slot[i].y * bytes;
}

/* ---- an operator ---- */

template <bool VALUE> struct known { static constexpr bool value = VALUE; };

/* The sum of two numbers over a warp, for its first lane. */
static __device__ inline float2 warp_sum(float a, float b) {
    for (int step = 16; step > 0; step /= 2) {
        a += __shfl_down_sync(0xffffffff, a, step);
        b += __shfl_down_sync(0xffffffff, b, step);
    }
    return make_float2(a, b);
}

/* Blocks that a multiprocessor should have room for. */
#define RESIDENT(warps) (16 / (warps))

/* Shared memory by which a warp turns a tile of results, of which each thread has pairs, into rows of whole
 * vectors: bytes of a row, the last 16 so that rows begin in different banks, and of all warps. */
static __host__ __device__ constexpr int stage_row(int tiles, int bytes) {
    return tiles * TILE_COLUMNS * bytes + 16;
}
static __host__ __device__ constexpr int stage_bytes(int warps, int tiles, int bytes) {
    return warps * TILE_ROWS * stage_row(tiles, bytes);
}

/* A warp takes GROUP tiles of pixels at once, of SETS sets of TOGETHER tiles each. */
template <class M, int WARPS, int SETS, int TOGETHER, int GROUP, class LOAD, class STORE>
static __global__ void __launch_bounds__(WARPS * 32, RESIDENT(WARPS))
    product_kernel(const __grid_constant__ product_call c, const __grid_constant__ LOAD load,
                   const __grid_constant__ STORE store) {
    enum { TILES = SETS * TOGETHER };
    LAUNCH_MEMORY;
    __shared__ float2 made_moments[MAX_UNITS], sums[MAX_UNITS][WARPS];
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const op_view &op = c.op[net];
    const cut &t = c.t;
    const int first = (int)blockIdx.x * t.units, total = c.n * t.bands,
              units = total - first < t.units ? total - first : t.units;
    char *stage = memory + t.units * t.bytes; /* all of it a multiple of 16 bytes */
    int4 *sets = (int4 *)(stage + (STORE::staged ? stage_bytes(WARPS, TILES, STORE::staged) : 0));
    int *slot_at = (int *)(sets + op.sets);
    if (STORE::staged) stage += warp * TILE_ROWS * stage_row(TILES, STORE::staged);
    place_slots(slot_at, op, t, M::bytes);
    for (int i = (int)threadIdx.x; i < op.sets; i += WARPS * 32) sets[i] = op.set[i];
    for (int i = (int)threadIdx.x; i < MAX_UNITS * WARPS; i += WARPS * 32)
        sums[i / WARPS][i % WARPS] = make_float2(0, 0);
    after_the_last();
    if ((int)threadIdx.x < units)
        made_moments[threadIdx.x] = store.moments(net, (first + (int)threadIdx.x) / t.bands);
    for (int u = 0; u < units;
         u++) { /* every thread finds the moments itself, which is sooner than to wait for one */
        int sample = (first + u) / t.bands, band = (first + u) % t.bands;
        fill_tile<M>(memory + u * t.bytes, op, t, load, net, sample, band * t.rows,
                     load.moments(net, sample));
    }
    wait_for_copies();
    __syncthreads();

    const int groups = (t.rows * op.w + GROUP * TILE_ROWS - 1) / (GROUP * TILE_ROWS),
              all_sets = (op.sets + SETS - 1) / SETS;
    const typename M::weights *packed = (const typename M::weights *)c.weights[net] + lane;
    float sum_a = 0, sum_b = 0;
    /* The warp's results in their order: unit, sets, group. What follows of the unit is worked out where it
     * changes. */
    int u = -1, set_number = all_sets - 1, group = groups + warp, sample = 0, band = 0, present = 0;
    for (;; group += WARPS) {
        int before = u;
        while (group >= groups) {
            group -= groups;
            if (++set_number == all_sets) set_number = 0, u++;
        }
        if (u != before) {
            if (before >= 0) {
                float2 sum = warp_sum(sum_a, sum_b);
                if (lane == 0) sums[before][warp] = sum;
                sum_a = sum_b = 0;
            }
            if (u >= units) break;
            sample = (first + u) / t.bands, band = first + u - sample * t.bands;
            present = rows_of_band(op, t, band) * op.w;
        }
        unsigned row[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            int p = (group * GROUP + i) * TILE_ROWS + lane % 16;
            row[i] = shared_address(memory + u * t.bytes + pixel_place(op, t, p < present ? p : present - 1));
        }
        const int begin = group * GROUP * TILE_ROWS, start = band * t.rows * op.w;
        int channels[SETS]; /* of each set the first one; -1: there is none */
#pragma unroll
        for (int k = 0; k < SETS; k++)
            channels[k] = set_number * SETS + k < op.sets ? sets[set_number * SETS + k].x : -1;
        /* Of each tile of pixels a lane stores VECTORS vectors of eight channels, always of the same
         * channels. What they meet in memory is asked for before the products, where there are registers for
         * it. */
        enum { VECTORS = TILES * TILE_ROWS / 32, EARLY = M::bytes == 2 && GROUP * VECTORS <= 4 };
        const int mine = lane % TILES;
        int set_channel = channels[0];
#pragma unroll
        for (int k = 1; k < SETS; k++)
            if (mine / TOGETHER == k) set_channel = channels[k];
        const int channel = (set_channel < 0 ? 0 : set_channel) + mine % TOGETHER * TILE_COLUMNS;
        const typename STORE::place place = store.at(net, sample, start, channel, made_moments[u]);
        typename STORE::extra extra[EARLY ? GROUP : 1][VECTORS];
        auto ask = [&](typename STORE::extra of[VECTORS], int i) {
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                int p = begin + i * TILE_ROWS + (lane + 32 * v) / TILES;
                of[v] = store.fetch(place, p < present ? p : present - 1);
            }
        };
        if constexpr (EARLY)
#pragma unroll
            for (int i = 0; i < GROUP; i++) ask(extra[i], i);
        float sum[GROUP][TILES][4];
        typename STORE::column columns[TILES];
#pragma unroll
        for (int i = 0; i < GROUP; i++)
#pragma unroll
            for (int j = 0; j < TILES; j++) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
#pragma unroll
        for (int k = 0; k < SETS; k++) {
            const int number = set_number * SETS + k;
            if (SETS > 1 && channels[k] < 0) continue;
            const int4 set = sets[number];
#pragma unroll
            for (int j = 0; j < TOGETHER; j++)
                columns[k * TOGETHER + j] = store.at_column(net, set.x + j * TILE_COLUMNS + lane % 4 * 2);
            const typename M::weights *w = packed + (size_t)set.w * 32;
            const int *slot = slot_at + 2 * set.y;
            typename M::weights b[TOGETHER], ahead[TOGETHER]; /* those of the next step arrive meanwhile */
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) b[j] = w[j * 32];
            for (int step = 0; step < set.z; step++) {
                w += TOGETHER * 32;
#pragma unroll
                for (int j = 0; j < TOGETHER; j++)
                    if (step + 1 < set.z) ahead[j] = w[j * 32];
                const int slot0 = slot[2 * step], slot1 = slot[2 * step + 1];
                enum { LOADS = M::bytes == 2 ? GROUP : 2 }; /* operands that are on their way together */
#pragma unroll
                for (int begin = 0; begin < GROUP; begin += LOADS) {
                    typename M::operand a[LOADS];
#pragma unroll
                    for (int i = 0; i < LOADS; i++) M::load(a[i], row[begin + i], slot0, slot1, lane);
#pragma unroll
                    for (int i = 0; i < LOADS; i++)
#pragma unroll
                        for (int j = 0; j < TOGETHER; j++)
                            M::multiply(sum[begin + i][k * TOGETHER + j], a[i], b[j]);
                }
#pragma unroll
                for (int j = 0; j < TOGETHER; j++) b[j] = ahead[j];
            }
        }
        if constexpr (STORE::staged) {
            enum { ROW = stage_row(TILES, STORE::staged) };
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                const int asked = EARLY ? i : 0;
                if constexpr (!EARLY) ask(extra[0], i);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const bool valid = begin + i * TILE_ROWS + half * 8 + lane / 4 < present;
                    char *to = stage + (half * 8 + lane / 4) * ROW + lane % 4 * 2 * STORE::staged;
#pragma unroll
                    for (int j = 0; j < TILES; j++)
                        store.fragment(to + j * TILE_COLUMNS * STORE::staged, columns[j], sum[i][j][2 * half],
                                       sum[i][j][2 * half + 1], valid && channels[j / TOGETHER] >= 0, sum_a,
                                       sum_b);
                }
                __syncwarp();
#pragma unroll
                for (int v = 0; v < VECTORS; v++) {
                    int r = (lane + 32 * v) / TILES, p = begin + i * TILE_ROWS + r;
                    if (p < present && set_channel >= 0)
                        store.eight(place, extra[asked][v],
                                    stage + r * ROW + mine * TILE_COLUMNS * STORE::staged, p, sum_a, sum_b);
                }
                __syncwarp();
            }
        } else {
#pragma unroll
            for (int i = 0; i < 2 * GROUP; i++) {
                int p = begin + i * 8 + lane / 4;
                if (p >= present) break;
#pragma unroll
                for (int j = 0; j < TILES; j++)
                    if (channels[j / TOGETHER] >= 0)
                        store.pair(net, sample, start + p,
                                   channels[j / TOGETHER] + j % TOGETHER * TILE_COLUMNS + lane % 4 * 2,
                                   columns[j], sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
            }
        }
    }
    __syncthreads();
    if ((int)threadIdx.x < units) {
        float2 sum = make_float2(0, 0);
        for (int i = 0; i < WARPS; i++) sum.x += sums[threadIdx.x][i].x, sum.y += sums[threadIdx.x][i].y;
        store.take(net, (first + (int)threadIdx.x) / t.bands, (first + (int)threadIdx.x) % t.bands, sum);
    }
}

/* ---- the gradient of its weights ---- */

typedef struct gradient_call {
    op_view op[2];
    cut t;
    int n, first_net, pieces;
    int outputs;       /* channels of what was given, in eights, of both networks */
    float *partial[2]; /* [piece][tile][OP_TILE_WEIGHTS] */
    size_t stride;     /* from piece to piece */
} gradient_call;

static constexpr int BIASES = 2; /* tiles of biases of a warp */

/* Of a piece of the units (blockIdx.x), EACH tiles for each warp, of which SHARE neighbours read the same
 * inputs. X: what the operator reads; Y: the gradient of what it gave. */
template <class M, int EACH, int SHARE, class X, class Y>
static __global__ void __launch_bounds__(GRADIENT_WARPS * 32, 2)
    gradient_kernel(const __grid_constant__ gradient_call c, const __grid_constant__ X x,
                    const __grid_constant__ Y y) {
    LAUNCH_MEMORY;
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const op_view &op = c.op[net];
    const cut &t = c.t;
    char *other = memory + t.bytes;
    const int all_warps = (int)gridDim.z * GRADIENT_WARPS,
              warp_number = (int)blockIdx.z * GRADIENT_WARPS + warp, first_tile = warp_number * EACH,
              biases = (op.out + SLOT - 1) / SLOT, tiles = op.gradients - biases;
    float sum[EACH][4], bias_sum[BIASES][4];
    typename M::place place[EACH / SHARE];     /* bytes from a pixel to what this lane reads of it */
    int channels[EACH], bias_channels[BIASES]; /* of the outputs, in bytes */
    /* Warps without so many tiles compute the first one again, and leave it. */
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0;
        const int2 tile = op.gradient[first_tile + i < tiles ? first_tile + i : 0];
        channels[i] = tile.y * M::bytes;
        if (i % SHARE != 0) continue;
        const int2 slot0 = op.slot[2 * tile.x], slot1 = op.slot[2 * tile.x + 1];
        M::find(place[i / SHARE], slot0.x * t.pixel_bytes + slot0.y * M::bytes,
                slot1.x * t.pixel_bytes + slot1.y * M::bytes, lane);
    }
#pragma unroll
    for (int i = 0; i < BIASES; i++) {
        bias_sum[i][0] = bias_sum[i][1] = bias_sum[i][2] = bias_sum[i][3] = 0;
        int tile = warp_number + i * all_warps;
        bias_channels[i] = (tile < biases ? tile : 0) * SLOT * M::bytes;
    }
    const size_t units = (size_t)c.n * (size_t)t.bands,
                 end = piece_begin(units, c.pieces, (int)blockIdx.x + 1);
    for (size_t unit = piece_begin(units, c.pieces, (int)blockIdx.x); unit < end; unit++) {
        const int sample = (int)unit / t.bands, band = (int)unit - sample * t.bands,
                  present = rows_of_band(op, t, band) * op.w;
        __syncthreads();
        fill_plain<M>(other, t.other_bytes, t.other_pixels, present, y, c.outputs, net, sample,
                      band * t.rows * op.w);
        fill_tile<M>(memory, op, t, x, net, sample, band * t.rows, make_float2(0, 1));
        wait_for_copies();
        __syncthreads();
        for (int block = 0; block * TILE_ROWS < present; block++) {
            unsigned from[4], columns[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int p = block * TILE_ROWS + M::pixel(lane, i),
                    q = block * TILE_ROWS + M::column_pixel(lane, i);
                from[i] = shared_address(memory + pixel_place(op, t, p < present ? p : present - 1));
                columns[i] = shared_address(other + q * t.other_bytes);
            }
            enum { LOADS = SHARE > 2 ? SHARE : 2 }; /* tiles whose operands are on their way together */
            typename M::operand a[LOADS / SHARE];
            typename M::column b[LOADS];
            if constexpr (SHARE == 1) { /* neighbours mostly share their outputs instead */
#pragma unroll
                for (int i = 0; i < EACH; i += LOADS) {
#pragma unroll
                    for (int k = 0; k < LOADS; k++) M::load_channels(a[k], from, place[i + k]);
#pragma unroll
                    for (int k = 0; k < LOADS; k++) {
                        M::load_columns_if(i + k == 0 || channels[i + k] != channels[i + k - 1], b[0],
                                           columns, channels[i + k], lane);
                        M::multiply_columns(sum[i + k], a[k], b[0]);
                    }
                }
            } else {
#pragma unroll
                for (int i = 0; i < EACH; i += LOADS) {
#pragma unroll
                    for (int k = 0; k < LOADS; k++) {
                        if (k % SHARE == 0) M::load_channels(a[k / SHARE], from, place[(i + k) / SHARE]);
                        M::load_columns(b[k], columns, channels[i + k], lane);
                    }
#pragma unroll
                    for (int k = 0; k < LOADS; k++) M::multiply_columns(sum[i + k], a[k / SHARE], b[k]);
                }
            }
            M::ones(a[0]);
#pragma unroll
            for (int i = 0; i < BIASES; i++) M::load_columns(b[i], columns, bias_channels[i], lane);
#pragma unroll
            for (int i = 0; i < BIASES; i++) M::multiply_columns(bias_sum[i], a[0], b[i]);
        }
    }
    float *to = c.partial[net] + (size_t)blockIdx.x * c.stride;
    auto leave = [&](int tile, const float v[4]) {
        float *at = to + (size_t)tile * OP_TILE_WEIGHTS + lane / 4 * TILE_COLUMNS + lane % 4 * 2;
        *(float2 *)at = make_float2(v[0], v[1]);
        *(float2 *)(at + 8 * TILE_COLUMNS) = make_float2(v[2], v[3]);
    };
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (first_tile + i < tiles) leave(first_tile + i, sum[i]);
#pragma unroll
    for (int i = 0; i < BIASES; i++)
        if (warp_number + i * all_warps < biases) leave(tiles + warp_number + i * all_warps, bias_sum[i]);
}

#endif
