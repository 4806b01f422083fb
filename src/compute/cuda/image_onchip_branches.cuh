/* The branches of a network whose sample is on the chip, and the second 1x1 convolution, which takes their
 * results from registers: members of onchip_thread (image_onchip.cuh, which includes this). */
#ifndef JF_COMPUTE_CUDA_IMAGE_ONCHIP_BRANCHES_CUH
#define JF_COMPUTE_CUDA_IMAGE_ONCHIP_BRANCHES_CUH

/* 16 channels of the branches, as operands of the second convolution. */
template <int PAIRS, bool KEEPS>
__device__ inline void onchip_thread<PAIRS, KEEPS>::branches(unsigned a[UNIT_TILES][4], int pair, int block) {
    float v[2][UNIT_TILES][4];
    const int4 of_pair = pair_at[pair];
    uint4 of_g[UNIT_TILES];
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++) of_g[i] = of_wide(i, pair);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const float2 bias = *(const float2 *)(wide_bias + 16 * pair + 8 * k + 2 * t());
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
            v[k][i][0] = v[k][i][2] = bias.x, v[k][i][1] = v[k][i][3] = bias.y;
    }
    const unsigned weights = shared_address(wide_weights) + (unsigned)(lane * 8),
                   apart = (unsigned)(slot_at[2 * of_pair.z] - slot_at[2 * of_pair.x]);
    sum_steps(v, of_pair.y, s.odd, row_place, apart, shared_address(slot_at + 2 * of_pair.x + lane / 16),
              weights + (unsigned)(of_pair.x * 256), weights + (unsigned)(of_pair.z * 256));
    if (!of_pair.w) { /* there are no upper channels */
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++) v[1][i][0] = v[1][i][1] = v[1][i][2] = v[1][i][3] = 0;
    }
    if (KEEPS) keep_wide(v, pair, of_pair.w, c.wide_acts[net] + (size_t)block * c.act_stride);
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++) {
        unsigned g[4];
        words_of(g, of_g[i]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float x = leaky(v[k / 2][i][k % 2 * 2], c.slope),
                        y = leaky(v[k / 2][i][k % 2 * 2 + 1], c.slope);
            add(i, k % 2, x);
            add(i, k % 2, y);
            a[i][k] = product_pair(pair_bf16(x, y), g[k]);
        }
    }
}

template <int PAIRS, bool KEEPS>
__device__ inline void onchip_thread<PAIRS, KEEPS>::keep_wide(const float v[2][UNIT_TILES][4], int pair,
                                                              int both, __nv_bfloat16 *acts) const {
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++) {
        const unsigned w[4] = {pair_bf16(v[0][i][0], v[0][i][1]), pair_bf16(v[0][i][2], v[0][i][3]),
                               pair_bf16(v[1][i][0], v[1][i][1]), pair_bf16(v[1][i][2], v[1][i][3])};
        if (both) {
            keep(acts, c.wide, i, 16 * pair, w);
            continue;
        }
        __nv_bfloat16 *at = acts + (pixel0 + (size_t)(i * TILE_ROWS)) * (size_t)c.wide + 16 * pair + 2 * t();
        if (has[i][0]) *(unsigned *)at = w[0];
        if (has[i][1]) *(unsigned *)(at + 8 * c.wide) = w[1];
    }
}

template <int PAIRS, bool KEEPS>
__device__ inline void onchip_thread<PAIRS, KEEPS>::branches_and_second_convolution(sums_of_pixels &acc,
                                                                                    int block) {
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++)
#pragma unroll
        for (int j = 0; j < TILES; j++) acc[i][j][0] = acc[i][j][1] = acc[i][j][2] = acc[i][j][3] = 0;
#pragma unroll 1
    for (int pair = 0; pair < wide_pairs; pair++) {
        unsigned a[UNIT_TILES][4];
        branches(a, pair, block);
        const uint2 *w = second_weights + pair * SET * 32 + lane;
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            const uint2 of_tile = w[(j / SET * wide_pairs * SET + j % SET) * 32];
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++) multiply_bf16(acc[i][j], a[i], of_tile);
        }
    }
}

#endif
