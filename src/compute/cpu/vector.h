/* Vectors of the instruction set that a source is compiled for (CPU_ISA), by compiler vector extensions;
 * included by the sources that are compiled once for each of them. */
#ifndef JF_COMPUTE_CPU_VECTOR_H
#define JF_COMPUTE_CPU_VECTOR_H

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h> /* for what the compilers do not find by themselves */
#endif

#ifndef CPU_ISA
#define CPU_ISA baseline
#endif
#if defined(__AVX512F__)
#define LANES 16
#define WIDE  4 /* vectors of a register tile's row: 24 accumulators of 32 registers */
#elif defined(__AVX2__)
#define LANES 8
#define WIDE  2 /* 12 accumulators of 16 registers */
#else
#define LANES 4
#define WIDE  2
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int veci __attribute__((vector_size(LANES * 4)));
typedef float vec_any __attribute__((vector_size(LANES * 4), aligned(4), may_alias)); /* unaligned access */

#define INLINE static inline __attribute__((always_inline))

/* Loops over the arrays of accumulators must vanish, or the arrays live in memory. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

INLINE vec load(const float *p) {
    return *(const vec_any *)p;
}
INLINE void store(float *p, vec v) {
    *(vec_any *)p = v;
}
INLINE vec choose(veci mask, vec yes, vec no) {
    return (vec)(((veci)yes & mask) | ((veci)no & ~mask));
}
/* 0, 1, 2, ... */
#if LANES == 16
static const veci lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif LANES == 8
static const veci lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7};
#else
static const veci lane_numbers = {0, 1, 2, 3};
#endif
INLINE vec larger(vec a, vec b) {
#if LANES == 16
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif LANES == 8
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return choose(a > b, a, b);
#endif
}

/* SHUFFLE(v, f): lane i of the result is lane f(i) of v. EACH_Q: the numbers of lanes that one thing may
 * take. */
#if LANES == 16
#define EACH_Q(f) f(1) f(2) f(4) f(8) f(16)
#define EACH_LANE(f)                                                                                         \
    f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#elif LANES == 8
#define EACH_Q(f)    f(1) f(2) f(4) f(8)
#define EACH_LANE(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
#define EACH_Q(f)    f(1) f(2) f(4)
#define EACH_LANE(f) f(0), f(1), f(2), f(3)
#endif
#define SHUFFLE(v, f) __builtin_shufflevector(v, v, EACH_LANE(f))

/* The q numbers at p, again and again: p[0] .. p[q - 1], p[0] .. */
INLINE vec repeat(const float *p, const int q) {
    typedef double pair __attribute__((vector_size(LANES * 4)));
    if (q == LANES) return load(p);
    if (q == 1) return *p - (vec){0}; /* in all lanes */
    if (q == 2) {
        double two;
        memcpy(&two, p, sizeof two);
        return (vec)(two - (pair){0});
    }
#if LANES == 16
    if (q == 8) return (vec)_mm512_broadcast_f32x8(_mm256_loadu_ps(p));
    return (vec)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
#elif LANES == 8
    return (vec)_mm256_broadcast_ps((const __m128 *)p);
#else
    return load(p);
#endif
}

/* The first LANES / q numbers at p, in the first lanes; nothing is said of the others. */
INLINE vec load_part(const float *p, const int q) {
#if LANES == 16
    if (q == 2) return (vec)_mm512_castps256_ps512(_mm256_loadu_ps(p));
    if (q == 4) return (vec)_mm512_castps128_ps512(_mm_loadu_ps(p));
    if (q == 8) return (vec)_mm512_castps128_ps512(_mm_castsi128_ps(_mm_loadu_si64(p)));
#elif LANES == 8
    if (q == 2) return (vec)_mm256_castps128_ps256(_mm_loadu_ps(p));
    if (q == 4) return (vec)_mm256_castps128_ps256(_mm_castsi128_ps(_mm_loadu_si64(p)));
#endif
    vec v = {0};
    memcpy(&v, p, sizeof v / (size_t)q);
    return v;
}
INLINE void store_part(float *p, vec v, const int q) {
#if LANES == 16
    if (q == 2) _mm256_storeu_ps(p, _mm512_castps512_ps256((__m512)v));
    if (q == 4) _mm_storeu_ps(p, _mm512_castps512_ps128((__m512)v));
    if (q == 2 || q == 4) return;
#elif LANES == 8
    if (q == 2) _mm_storeu_ps(p, _mm256_castps256_ps128((__m256)v));
    if (q == 2) return;
#endif
    memcpy(p, &v, sizeof v / (size_t)q);
}

/* The first `count` numbers at p, and 0 in the other lanes; nothing beyond them is touched. `whole`, a
 * constant: all lanes. */
INLINE vec load_first(const float *p, const int whole, int count) {
    if (whole) return load(p);
#if LANES == 16
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
#elif LANES == 8
    return (vec)_mm256_maskload_ps(p, (__m256i)(lane_numbers < count));
#else
    vec v = {0};
    memcpy(&v, p, sizeof *p * (size_t)count);
    return v;
#endif
}
INLINE void store_first(float *p, vec v, const int whole, int count) {
    if (whole) {
        store(p, v);
        return;
    }
#if LANES == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
#elif LANES == 8
    _mm256_maskstore_ps(p, (__m256i)(lane_numbers < count), (__m256)v);
#else
    memcpy(p, &v, sizeof *p * (size_t)count);
#endif
}

/* Lane i of the result is lane at[i] of v. */
INLINE vec reorder(vec v, veci at) {
#if LANES == 16
    return (vec)_mm512_permutexvar_ps((__m512i)at, (__m512)v);
#elif LANES == 8
    return (vec)_mm256_permutevar8x32_ps((__m256)v, (__m256i)at);
#else
    vec w;
    for (int l = 0; l < LANES; l++) w[l] = v[at[l]];
    return w;
#endif
}

/* pick(p, at): lane i is p[at[i]] of the JOIN_VECTORS * LANES numbers at p; 0 where there is no instruction
 * for it. */
#if LANES == 16
#define JOIN_VECTORS 2
INLINE vec pick(const float *p, veci at) {
    return (vec)_mm512_permutex2var_ps((__m512)load(p), (__m512i)at, (__m512)load(p + LANES));
}
#elif LANES == 8
#define JOIN_VECTORS 1
INLINE vec pick(const float *p, veci at) {
    return (vec)_mm256_permutevar8x32_ps((__m256)load(p), (__m256i)at);
}
#else
#define JOIN_VECTORS 0
INLINE vec pick(const float *p, veci at) {
    (void)at;
    return load(p);
}
#endif

#endif
