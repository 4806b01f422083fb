/* Numbers of bf16: the upper half of a float. */
#ifndef JF_TESTS_EMULATED_CUDA_BF16_H
#define JF_TESTS_EMULATED_CUDA_BF16_H

#include <stdint.h>
#include <string.h>

struct __nv_bfloat16 {
    uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

static inline float __bfloat162float(__nv_bfloat16 v) {
    const uint32_t bits = (uint32_t)v.bits << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
/* To the nearest, of two that are as near to the even one. */
static inline __nv_bfloat16 __float2bfloat16_rn(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

#endif
