/* Half precision (IEEE 754 binary16) as it is stored: a sign, 5 bits of exponent, 10 of fraction. Compilers
 * differ in whether they have such a type; these two have none of that. */
#ifndef JF_BASE_HALF_H
#define JF_BASE_HALF_H

#include <stdint.h>
#include <string.h>

#define HALF_MAX 65504.0 /* the largest; from 65520 on a number becomes infinite */

/* The nearest half, of two equally near ones that with an even last bit. */
static inline uint16_t half_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);  /* not a number */
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more */
    if (size < 0x33000001) return (uint16_t)sign;             /* at most 2^-25: half of the smallest */
    int exponent = (int)(size >> 23) - 112;                   /* the bias of 127 becomes one of 15 */
    uint32_t fraction = (size & 0x7fffff) | 0x800000;         /* with the leading 1 */
    int dropped = exponent > 0 ? 13 : 14 - exponent;          /* subnormal ones drop more bits */
    uint32_t kept = fraction >> dropped, rest = fraction & ((1u << dropped) - 1),
             middle = 1u << (dropped - 1);
    if (rest > middle || (rest == middle && (kept & 1)))
        kept++; /* may carry into the exponent, as it should */
    return (uint16_t)(sign | (exponent > 0 ? kept + ((uint32_t)(exponent - 1) << 10) : kept));
}

/* Exact: every half is a float. */
static inline float float_of_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    float value;
    uint32_t bits;
    if (exponent == 0) { /* zero or subnormal: so many times 2^-24 */
        value = (float)fraction * 0x1p-24f;
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    } else {
        bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
