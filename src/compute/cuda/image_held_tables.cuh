/* What norms are to samples on the chip (image_held.cuh): their parameters in the order in which warps read them, the same for all
 * samples. */
#ifndef JF_COMPUTE_CUDA_IMAGE_HELD_TABLES_CUH
#define JF_COMPUTE_CUDA_IMAGE_HELD_TABLES_CUH

#include "compute/cuda/image_product.cuh"

enum { UNIT_TILES = HELD_PIXELS / TILE_ROWS, THIN_TABLES = 4 };

typedef struct tables_call {
    held_plan shape;
    const float *params;
    const int32_t *norms,
        *second; /* norms as for packing; of each residual block the second 1x1 convolution: weights, bias */
    uint4 *tables[2];
    int first_net, norm_count, depth, K, wide, h, w, per_element;
} tables_call;

/* Of a residual block (blockIdx.y) of a network (blockIdx.z) and 16 pixels of a warp (blockIdx.x), as fragments: scale and bias of the
 * first norm and of the second; scale of the third; and in floats W(g) and W(b) + the bias, W being the weights of the second 1x1
 * convolution. */
static __global__ void held_tables_kernel(const __grid_constant__ tables_call c) {
    extern __shared__ float of_pixels[]; /* g and b of the third norm: (2, 16, wide) */
    const int net = c.first_net + (int)blockIdx.z, block = (int)blockIdx.y, tile = (int)blockIdx.x;
    const int band = tile / (c.shape.warps * UNIT_TILES),
              first = tile % (c.shape.warps * UNIT_TILES) * TILE_ROWS, rows_left = c.h - band * c.shape.rows,
              present = (rows_left < c.shape.rows ? rows_left : c.shape.rows) * c.w;
    const int32_t *norms = c.norms + (net * c.norm_count + 3 * block) * NORM_NUMBERS,
                  *second = c.second + (net * c.depth + block) * 2;
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
    for (int i = (int)threadIdx.x; i < 2 * TILE_ROWS * c.wide; i += (int)blockDim.x) {
        const int which = i / (TILE_ROWS * c.wide), at = i - which * TILE_ROWS * c.wide;
        const float v = parameter(2, which, at / c.wide, at % c.wide);
        of_pixels[i] = which ? v : low_bf16(pair_bf16(v, v)); /* the scale as the products have it */
    }
    __syncthreads();
    const int pairs = c.K / 16, wide_pairs = (c.wide + 15) / 16,
              thin_table = c.shape.table_tiles * pairs * 32,
              wide_table = c.shape.table_tiles * wide_pairs * 32;
    uint4 *to = c.tables[net] + (size_t)block * (size_t)c.shape.block_tables;
    auto fragment = [&](int norm, int which, int pair, int lane) {
        unsigned w[4];
        for (int k = 0; k < 4; k++) {
            const int row = lane / 4 + k % 2 * 8, channel = 16 * pair + k / 2 * 8 + lane % 4 * 2;
            w[k] = pair_bf16(parameter(norm, which, row, channel), parameter(norm, which, row, channel + 1));
        }
        return make_uint4(w[0], w[1], w[2], w[3]);
    };
    for (int i = (int)threadIdx.x; i < THIN_TABLES * pairs * 32; i += (int)blockDim.x) {
        const int kind = i / (pairs * 32), pair = i / 32 % pairs, lane = i % 32;
        to[kind * thin_table + (tile * pairs + pair) * 32 + lane] = fragment(kind / 2, kind % 2, pair, lane);
    }
    for (int i = (int)threadIdx.x; i < wide_pairs * 32; i += (int)blockDim.x)
        to[THIN_TABLES * thin_table + tile * wide_pairs * 32 + i] = fragment(2, 0, i / 32, i % 32);
    for (int i = (int)threadIdx.x; i < 4 * pairs * 32;
         i += (int)blockDim.x) { /* tiles of 8 channels, twice */
        const int kind = i / (2 * pairs * 32), j = i / 32 % (2 * pairs), lane = i % 32,
                  channel = 8 * j + lane % 4 * 2;
        const float *of = of_pixels + (kind * TILE_ROWS + lane / 4) * c.wide,
                    *w = c.params + second[0] + channel, *bias = c.params + second[1] + channel;
        float4 sum = kind ? make_float4(bias[0], bias[1], bias[0], bias[1]) : make_float4(0, 0, 0, 0);
        for (int k = 0; k < c.wide; k++, w += c.K) {
            const unsigned both = pair_bf16(w[0], w[1]);
            const float upper = of[k], lower = of[k + 8 * c.wide];
            sum.x = fmaf(low_bf16(both), upper, sum.x), sum.y = fmaf(high_bf16(both), upper, sum.y);
            sum.z = fmaf(low_bf16(both), lower, sum.z), sum.w = fmaf(high_bf16(both), lower, sum.w);
        }
        *(float4 *)&to[(THIN_TABLES + 2 * kind) * thin_table + wide_table + (tile * 2 * pairs + j) * 32 +
                       lane] = sum;
    }
}

#endif
