/* The products of image networks (image_op.h): an operator over a batch, and the gradient of its weights.
 *
 * A block takes a band of rows of a sample, or a few whole small samples, into shared memory, as operands and with zeros around
 * them: what is read is made an operand on the way by a LOAD, for instance normalised. Its warps then share the tiles of results.
 * What becomes of these is up to a STORE, which also sums two numbers of each sample: for the layer norm that reads the
 * results, or for the gradient of the one before. Bands of a sample are summed by whoever reads the sums, in their order. */
#ifndef JF_COMPUTE_CUDA_IMAGE_PRODUCT_CUH
#define JF_COMPUTE_CUDA_IMAGE_PRODUCT_CUH

#include "compute/cuda/image_math.cuh"
extern "C" {
#include "compute/cuda/image_passes.h"
}

enum { WARPS = 8, MAX_UNITS = 16, MAX_BANDS = IMAGE_MAX_BANDS, BIAS = 0x7fff };

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

/* Samples as operands: rows from first_row - halo on, of the channels of the operator. */
template <class M, class LOAD>
static __device__ void fill_tile(char *to, const op_view &op, const cut &t, const LOAD &load, int net,
                                 int sample, int first_row, float2 moments) {
    enum { AHEAD = M::bytes == 2 ? 4 : 2 };
    int slots = op.in / SLOT, total = t.pixels * slots;
    divider by_slots = load.by_slots;
    for (int begin = (int)threadIdx.x; begin < total; begin += AHEAD * WARPS * 32) {
        typename LOAD::raw raw[AHEAD];
        int inside[AHEAD], place[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int i = begin + k * WARPS * 32, position = divided(i, by_slots), slot = i - position * slots;
            int line = divided(position - op.halo, t.by_width), column = position - op.halo - line * t.width;
            int row = first_row + line - op.halo;
            inside[k] = i < total && position >= op.halo && column < op.w && row >= 0 && row < op.h;
            place[k] = i < total ? position * t.pixel_bytes + slot * SLOT * M::bytes : -1;
            if (inside[k]) load.fetch(raw[k], net, sample, row * op.w + column, slot);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            float v[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            if (inside[k]) load.finish(v, raw[k], moments);
            if (place[k] >= 0) M::put_operands(to + place[k], v);
        }
    }
}

/* The same without anything around, and with zeros up to `pixels`. */
template <class M, class LOAD>
static __device__ void fill_plain(char *to, int pixel_bytes, int pixels, int present, const LOAD &load,
                                  int channels, int net, int sample, int first) {
    int slots = channels / SLOT, total = pixels * slots;
    for (int i = (int)threadIdx.x; i < total; i += WARPS * 32) {
        int pixel = divided(i, load.by_slots), slot = i - pixel * slots;
        float v[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (pixel < present) {
            typename LOAD::raw raw;
            load.fetch(raw, net, sample, first + pixel, slot);
            load.finish(v, raw, make_float2(0, 1));
        }
        M::put_operands(to + pixel * pixel_bytes + slot * SLOT * M::bytes, v);
    }
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
    for (int i = (int)threadIdx.x; i < 2 * op.steps; i += WARPS * 32)
        to[i] = op.slot[i].x * t.pixel_bytes + op.slot[i].y * bytes;
}

/* ---- an operator ---- */

/* The sum of two numbers over a warp, for its first lane. */
static __device__ inline float2 warp_sum(float a, float b) {
    for (int step = 16; step > 0; step /= 2) {
        a += __shfl_down_sync(0xffffffff, a, step);
        b += __shfl_down_sync(0xffffffff, b, step);
    }
    return make_float2(a, b);
}

/* TOGETHER: tiles of a set; GROUP: tiles of pixels that a warp takes at once. */
template <class M, int TOGETHER, int GROUP, class LOAD, class STORE>
static __global__ void __launch_bounds__(WARPS * 32, 2)
    product_kernel(const __grid_constant__ product_call c, const __grid_constant__ LOAD load,
                   const __grid_constant__ STORE store) {
    extern __shared__ __align__(16) char memory[];
    __shared__ float2 read_moments[MAX_UNITS], made_moments[MAX_UNITS], sums[MAX_UNITS][WARPS];
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const op_view &op = c.op[net];
    const cut &t = c.t;
    const int first = (int)blockIdx.x * t.units, total = c.n * t.bands,
              units = total - first < t.units ? total - first : t.units;
    int *slot_at = (int *)(memory + t.units * t.bytes);
    place_slots(slot_at, op, t, M::bytes);
    if ((int)threadIdx.x < units) {
        int sample = (first + (int)threadIdx.x) / t.bands;
        read_moments[threadIdx.x] = load.moments(net, sample);
        made_moments[threadIdx.x] = store.moments(net, sample);
    }
    for (int i = (int)threadIdx.x; i < MAX_UNITS * WARPS; i += WARPS * 32)
        sums[i / WARPS][i % WARPS] = make_float2(0, 0);
    __syncthreads();
    for (int u = 0; u < units; u++) {
        int sample = (first + u) / t.bands, band = (first + u) % t.bands;
        fill_tile<M>(memory + u * t.bytes, op, t, load, net, sample, band * t.rows, read_moments[u]);
    }
    __syncthreads();

    const int groups = (t.rows * op.w + GROUP * TILE_ROWS - 1) / (GROUP * TILE_ROWS),
              items = op.sets * groups;
    const typename M::weights *packed = (const typename M::weights *)c.weights[net] + lane;
    int current = -1;
    float sum_a = 0, sum_b = 0;
    for (int item = warp; item < units * items; item += WARPS) {
        int u = item / items, set_number = (item - u * items) / groups,
            group = item - u * items - set_number * groups;
        if (u != current && current >= 0) {
            float2 sum = warp_sum(sum_a, sum_b);
            if (lane == 0) sums[current][warp] = sum;
            sum_a = sum_b = 0;
        }
        current = u;
        int sample = (first + u) / t.bands, band = (first + u) % t.bands;
        int present = rows_of_band(op, t, band) * op.w;
        const int4 set = op.set[set_number];
        unsigned row[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            int p = (group * GROUP + i) * TILE_ROWS + lane % 16;
            row[i] = shared_address(memory + u * t.bytes + pixel_place(op, t, p < present ? p : present - 1));
        }
        float sum[GROUP][TOGETHER][4];
#pragma unroll
        for (int i = 0; i < GROUP; i++)
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
        const typename M::weights *w = packed + (size_t)set.w * 32;
        const int *slot = slot_at + 2 * set.y;
#pragma unroll 2
        for (int step = 0; step < set.z; step++) {
            typename M::weights b[TOGETHER];
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) b[j] = w[(step * TOGETHER + j) * 32];
            int slot0 = slot[2 * step], slot1 = slot[2 * step + 1];
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                typename M::operand a;
                M::load(a, row[i], slot0, slot1, lane);
#pragma unroll
                for (int j = 0; j < TOGETHER; j++) M::multiply(sum[i][j], a, b[j]);
            }
        }
        const int base = band * t.rows * op.w;
#pragma unroll
        for (int i = 0; i < GROUP; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int p = (group * GROUP + i) * TILE_ROWS + half * 8 + lane / 4;
                if (p >= present) continue;
#pragma unroll
                for (int j = 0; j < TOGETHER; j++) {
                    int channel = set.x + j * TILE_COLUMNS + lane % 4 * 2;
                    if (channel < op.out)
                        store.pair(net, sample, base + p, channel, sum[i][j][2 * half],
                                   sum[i][j][2 * half + 1], made_moments[u], sum_a, sum_b);
                }
            }
    }
    if (current >= 0) {
        float2 sum = warp_sum(sum_a, sum_b);
        if (lane == 0) sums[current][warp] = sum;
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
    float *partial[2]; /* [piece][tile][OP_TILE_WEIGHTS] */
    size_t stride;     /* from piece to piece */
} gradient_call;

/* Of a piece of the units (blockIdx.x), EACH tiles for each warp. X: what the operator reads; Y: the gradient of what it
 * gave. */
template <class M, int EACH, class X, class Y>
static __global__ void __launch_bounds__(WARPS * 32, 2)
    gradient_kernel(const __grid_constant__ gradient_call c, const __grid_constant__ X x,
                    const __grid_constant__ Y y) {
    extern __shared__ __align__(16) char memory[];
    __shared__ float2 moments;
    const int net = c.first_net + (int)blockIdx.y, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const op_view &op = c.op[net];
    const cut &t = c.t;
    char *other = memory + t.bytes;
    int *slot_at = (int *)(other + t.other_bytes * t.other_pixels);
    const int first_tile = ((int)blockIdx.z * WARPS + warp) * EACH,
              outputs = (op.out + SLOT - 1) / SLOT * SLOT;
    float sum[EACH][4];
    int tile[EACH]; /* step and first output, in one number; -1: none */
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0;
        int2 here = first_tile + i < op.gradients ? op.gradient[first_tile + i] : make_int2(0, 0);
        tile[i] = first_tile + i < op.gradients ? (here.x < 0 ? BIAS : here.x) << 16 | here.y : -1;
    }
    place_slots(slot_at, op, t, M::bytes);
    const size_t units = (size_t)c.n * (size_t)t.bands,
                 end = piece_begin(units, c.pieces, (int)blockIdx.x + 1);
    for (size_t unit = piece_begin(units, c.pieces, (int)blockIdx.x); unit < end; unit++) {
        int sample = (int)(unit / (size_t)t.bands), band = (int)(unit % (size_t)t.bands);
        int present = rows_of_band(op, t, band) * op.w;
        __syncthreads();
        if (threadIdx.x == 0) moments = x.moments(net, sample);
        __syncthreads();
        fill_tile<M>(memory, op, t, x, net, sample, band * t.rows, moments);
        fill_plain<M>(other, t.other_bytes, t.other_pixels, present, y, outputs, net, sample,
                      band * t.rows * op.w);
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
            typename M::operand a;
            typename M::column b;
            int step = -1, channel = -1;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                if (tile[i] < 0) break;
                if (tile[i] >> 16 != step) {
                    step = tile[i] >> 16;
                    if (step != BIAS)
                        M::load_channels(a, from, slot_at[2 * step], slot_at[2 * step + 1], lane);
                    else
                        M::ones(a);
                }
                if ((tile[i] & 0xffff) != channel) {
                    channel = tile[i] & 0xffff;
                    M::load_columns(b, columns, channel * M::bytes, lane);
                }
                M::multiply_columns(sum[i], a, b);
            }
        }
    }
    float *to = c.partial[net] + (size_t)blockIdx.x * c.stride;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (tile[i] < 0) break;
        float *at = to + (size_t)(first_tile + i) * OP_TILE_WEIGHTS + lane / 4 * TILE_COLUMNS + lane % 4 * 2;
        *(float2 *)at = make_float2(sum[i][0], sum[i][1]);
        *(float2 *)(at + 8 * TILE_COLUMNS) = make_float2(sum[i][2], sum[i][3]);
    }
}

#endif
