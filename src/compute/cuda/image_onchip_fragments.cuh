/* Fragments of 16 pixels and 16 channels: the part of a sample on the chip (image_onchip.cuh) that a warp
 * keeps in registers, and the products of the branches with it. */
#ifndef JF_COMPUTE_CUDA_IMAGE_ONCHIP_FRAGMENTS_CUH
#define JF_COMPUTE_CUDA_IMAGE_ONCHIP_FRAGMENTS_CUH

#include "compute/cuda/image_onchip_tables.cuh"

static __device__ inline void multiply_bf16(float c[4], const unsigned a[4], uint2 b) {
    const unsigned words[2] = {b.x, b.y};
    multiply_bf16(c, a, words);
}

/* A fragment of 16 pixels and 16 channels: of rows g and g + 8 channels 2t, 2t + 1 and 2t + 8, 2t + 9, in the
 * order g, g + 8 of the lower ones, g, g + 8 of the upper ones. Two tiles of results have the same places. */
static __device__ inline void words_of(unsigned w[4], uint4 v) {
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
}

/* To memory: lanes of even and odd t trade words, so that each has four channels side by side of both rows.
 */
static __device__ inline void store_fragment(__nv_bfloat16 *upper, __nv_bfloat16 *lower, const unsigned w[4],
                                             bool has_upper, bool has_lower, int t) {
    const bool odd = t % 2;
    const unsigned a = __shfl_xor_sync(0xffffffff, odd ? w[0] : w[2], 1),
                   b = __shfl_xor_sync(0xffffffff, odd ? w[1] : w[3], 1);
    const int channel = odd ? 6 + 2 * t : 2 * t;
    if (has_upper) *(uint2 *)(upper + channel) = odd ? make_uint2(a, w[2]) : make_uint2(w[0], a);
    if (has_lower) *(uint2 *)(lower + channel) = odd ? make_uint2(b, w[3]) : make_uint2(w[1], b);
}

/* Two tiles of 8 channels for all pixels of a warp, summed over their steps, of which the last may be half a
 * one. Operands of one of them are on their way while those of the other are multiplied. */
static __device__ inline void sum_steps(float v[2][UNIT_TILES][4], int steps, int odd,
                                        const unsigned row[UNIT_TILES], unsigned apart, unsigned slot,
                                        unsigned weights0, unsigned weights1) {
    unsigned a[2][UNIT_TILES][4], at = load_word(slot), next = load_word(slot + 8);
    uint2 b[2] = {load_words(weights0), load_words(weights1)};
    auto load = [&](int k) {
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++) load_matrices(a[k][i], row[i] + at + (k ? apart : 0));
    };
    auto multiply = [&](int k) {
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++) multiply_bf16(v[k][i], a[k][i], b[k]);
    };
    load(0);
    load(1);
#pragma unroll 1
    for (int step = 1; step < steps - odd; step++) {
        slot += 8, weights0 += 256, weights1 += 256;
        at = next, next = load_word(slot + 8); /* of the last step that behind it, in vain */
        multiply(0);
        load(0);
        b[0] = load_words(weights0);
        multiply(1);
        load(1);
        b[1] = load_words(weights1);
    }
    multiply(0);
    if (!odd) return multiply(1);
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++) load_half(a[0][i], row[i] + next);
    const unsigned half0 = load_word(weights0 + 256);
    multiply(1);
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++) load_half(a[1][i], row[i] + next + apart);
    const unsigned half1 = load_word(weights1 + 256);
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++) {
        multiply_half(v[0][i], a[0][i], half0);
        multiply_half(v[1][i], a[1][i], half1);
    }
}

#endif
