/* Products on tensor cores that are as exact as those of float. A tensor core takes factors of 11 bits: a
 * number is the sum of two of these, and of the four products of their halves the smallest, 2^-22 of the
 * whole, is left out. Eight such products are summed by the tensor core, which rounds toward zero; their sums
 * are added as floats are. */
#ifndef JF_COMPUTE_CUDA_TENSOR_CUH
#define JF_COMPUTE_CUDA_TENSOR_CUH

#include "compute/cuda/instructions.cuh"
#include <stdint.h>

typedef struct halves {
    uint32_t high, low;
} halves;

/* Of the low half the bits that are too many are not read. */
static __device__ __forceinline__ halves halves_of(float x) {
    halves h;
    h.high = __float_as_uint(nearest_tf32(x));
    h.low = __float_as_uint(x - __uint_as_float(h.high));
    return h;
}

/* sum (16, 8) += a (16, 8) b (8, 8), of a whole warp. With g = lane / 4 and q = lane % 4 a lane has
 *     a    (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4)
 *     b    (q, g), (q + 4, g)
 *     sum  (g, 2 q), (g, 2 q + 1), (g + 8, 2 q), (g + 8, 2 q + 1) */
static __device__ __forceinline__ void multiply_add(float (&sum)[4], const halves (&a)[4],
                                                    const halves (&b)[2]) {
    float part[4] = {0, 0, 0, 0};
    tensor_product(part, a[0].low, a[1].low, a[2].low, a[3].low, b[0].high, b[1].high);
    tensor_product(part, a[0].high, a[1].high, a[2].high, a[3].high, b[0].low, b[1].low);
    tensor_product(part, a[0].high, a[1].high, a[2].high, a[3].high, b[0].high, b[1].high);
    for (int i = 0; i < 4; i++) sum[i] += part[i];
}

/* The same with the products of unlike halves in sums of their own, so that the three do not wait for one
 * another: for a warp that has nothing else to do meanwhile. */
typedef struct split_sum {
    float high[4], low[2][4];
} split_sum;
static __device__ __forceinline__ void multiply_add(split_sum &s, const halves (&a)[4],
                                                    const halves (&b)[2]) {
    float part[4] = {0, 0, 0, 0};
    tensor_product(part, a[0].high, a[1].high, a[2].high, a[3].high, b[0].high, b[1].high);
    tensor_product(s.low[0], a[0].low, a[1].low, a[2].low, a[3].low, b[0].high, b[1].high);
    tensor_product(s.low[1], a[0].high, a[1].high, a[2].high, a[3].high, b[0].low, b[1].low);
    for (int i = 0; i < 4; i++) s.high[i] += part[i];
}
static __device__ __forceinline__ float whole(const split_sum &s, int i) {
    return s.high[i] + (s.low[0][i] + s.low[1][i]);
}

#endif
