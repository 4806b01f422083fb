/* Tables of the parameters of norms for samples on the chip (image_onchip.cuh), in the order in which warps
 * read them. All samples share them. */
#ifndef JF_COMPUTE_CUDA_IMAGE_ONCHIP_TABLES_CUH
#define JF_COMPUTE_CUDA_IMAGE_ONCHIP_TABLES_CUH

#include "compute/cuda/image_product.cuh"

enum { UNIT_TILES = ONCHIP_PIXELS / TILE_ROWS, THIN_TABLES = 4 };

typedef struct tables_call {
    onchip_plan shape;
    const float *params;
    const int32_t *norms,
        *second; /* norms as for packing; of each residual block the second 1x1 convolution: weights, bias */
    uint4 *tables[2];
    int first_net, norm_count, depth, K, wide, h, w, per_element;
} tables_call;

enum { TABLE_WARPS = 8 };

/* Bytes of a row of the pixels' numbers in shared memory: an odd number of 16s, so that rows meet different
 * banks. */
static __host__ __device__ inline int table_row_bytes(int wide) {
    return (wide + 15) / 16 * 32 + 16;
}

/* Of a residual block (blockIdx.y) of a network (blockIdx.z) and 16 pixels of a warp (blockIdx.x), as
 * fragments: scale and bias of the first norm and of the second; scale of the third; and in floats W(g) and
 * W(b) + the bias, W being the weights of the second 1x1 convolution. Behind the last residual block: scale
 * and bias of the last norm. */
static __global__ void __launch_bounds__(TABLE_WARPS * 32)
    onchip_tables_kernel(const __grid_constant__ tables_call c) {
    LAUNCH_MEMORY; /* of the third norm g, b, and what rounding leaves of b */
    const int net = c.first_net + (int)blockIdx.z, block = (int)blockIdx.y, tile = (int)blockIdx.x,
              thread = (int)threadIdx.x, lane = thread % 32;
    const int band = tile / (c.shape.warps * UNIT_TILES),
              first = tile % (c.shape.warps * UNIT_TILES) * TILE_ROWS, rows_left = c.h - band * c.shape.rows,
              present = (rows_left < c.shape.rows ? rows_left : c.shape.rows) * c.w;
    const int32_t *norms = c.norms + (net * c.norm_count + 3 * block) * NORM_NUMBERS;
    auto parameter =
        [&](int norm, int which, int row,
            int channel) { /* which: scale, bias */
                           const int channels = norm == 2 ? c.wide : c.K, pixel = first + row;
                           if (channel >= channels || pixel >= present) return 0.f;
                           size_t at = (size_t)norms[norm * NORM_NUMBERS + which] + (size_t)channel;
                           if (c.per_element)
                               at += (size_t)(band * c.shape.rows * c.w + pixel) * (size_t)channels;
                           return c.params[at];
        };
    const int pairs = c.K / 16, wide_pairs = (c.wide + 15) / 16,
              thin_table = c.shape.table_tiles * pairs * 32,
              wide_table = c.shape.table_tiles * wide_pairs * 32;
    uint4 *to = c.tables[net] + (size_t)block * (size_t)c.shape.block_tables;
    auto fragment = [&](int norm, int which, int pair) {
        unsigned w[4];
        for (int k = 0; k < 4; k++) {
            const int row = lane / 4 + k % 2 * 8, channel = 16 * pair + k / 2 * 8 + lane % 4 * 2;
            w[k] = pair_bf16(parameter(norm, which, row, channel), parameter(norm, which, row, channel + 1));
        }
        return make_uint4(w[0], w[1], w[2], w[3]);
    };
    const int thin = block < c.depth ? THIN_TABLES : 2;
    for (int i = thread / 32; i < thin * pairs; i += TABLE_WARPS) {
        const int kind = i / pairs, pair = i % pairs;
        to[kind * thin_table + (tile * pairs + pair) * 32 + lane] = fragment(kind / 2, kind % 2, pair);
    }
    if (block == c.depth) return after_the_last();
    for (int i = thread / 32; i < wide_pairs; i += TABLE_WARPS)
        to[THIN_TABLES * thin_table + (tile * wide_pairs + i) * 32 + lane] = fragment(2, 0, i);

    const int row_bytes = table_row_bytes(c.wide), columns = 16 * wide_pairs;
    for (int i = thread; i < 2 * TILE_ROWS * columns; i += TABLE_WARPS * 32) {
        const int which = i / (TILE_ROWS * columns), at = i - which * TILE_ROWS * columns, row = at / columns,
                  channel = at - row * columns;
        const float v = parameter(2, which, row, channel);
        const __nv_bfloat16 rounded = __float2bfloat16_rn(v);
        __nv_bfloat16 *place = (__nv_bfloat16 *)(memory + (which * TILE_ROWS + row) * row_bytes) + channel;
        *place = rounded;
        if (which) place[TILE_ROWS * row_bytes / 2] = __float2bfloat16_rn(v - __bfloat162float(rounded));
    }
    __syncthreads();
    const int32_t *second = c.second + (net * c.depth + block) * 2;
    for (int j = thread / 32; j < 2 * pairs; j += TABLE_WARPS) { /* eight outputs each */
        const float *w = c.params + second[0] + 8 * j + lane / 4,
                    *bias = c.params + second[1] + 8 * j + lane % 4 * 2;
        float of_g[4] = {0, 0, 0, 0}, of_b[4] = {bias[0], bias[1], bias[0], bias[1]};
        auto weight = [&](int channel) { return channel < c.wide ? w[channel * c.K] : 0.f; };
#pragma unroll 2
        for (int step = 0; step < wide_pairs; step++) {
            const int channel = 16 * step + lane % 4 * 2;
            const unsigned b[2] = {pair_bf16(weight(channel), weight(channel + 1)),
                                   pair_bf16(weight(channel + 8), weight(channel + 9))};
            const unsigned row =
                shared_address(memory) + (unsigned)(lane % 16 * row_bytes + lane / 16 * 16 + step * 32);
            unsigned a[4];
            load_matrices(a, row);
            multiply_bf16(of_g, a, b);
            load_matrices(a, row + (unsigned)(TILE_ROWS * row_bytes));
            multiply_bf16(of_b, a, b);
            load_matrices(a, row + (unsigned)(2 * TILE_ROWS * row_bytes));
            multiply_bf16(of_b, a, b);
        }
        uint4 *sums = to + THIN_TABLES * thin_table + wide_table + (tile * 2 * pairs + j) * 32 + lane;
        *(float4 *)sums = make_float4(of_g[0], of_g[1], of_g[2], of_g[3]);
        *(float4 *)(sums + 2 * thin_table) = make_float4(of_b[0], of_b[1], of_b[2], of_b[3]);
    }
    after_the_last();
}

#endif
