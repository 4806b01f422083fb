/* Products on tensor cores in three precisions, with sums in float.
 *
 * A precision says in which form numbers lie in memory (`number`), how eight of them are read and become
 * operands in shared memory, and how a warp multiplies: C (16 rows, 8 columns) += A (16, 16) B (16, 8). The
 * 16 terms of such a step are two slots of eight channels, each of which may lie anywhere in shared memory.
 *
 * - bf16: operands of 8 bits in memory, too.
 * - tf32: operands rounded to 11 bits.
 * - fp32: each operand as the sum of two tf32 numbers, and three products of four: about as exact as products
 * in float.
 *
 * Registers of a warp's tile, with g = lane / 4 and t = lane % 4: a thread has C of rows g and g + 8, columns
 * 2t and 2t + 1. */
#ifndef JF_COMPUTE_CUDA_IMAGE_MATH_CUH
#define JF_COMPUTE_CUDA_IMAGE_MATH_CUH

#include "compute/cuda/kernels.cuh"
#include <cuda_bf16.h>

enum { SLOT = 8, STEP_DEPTH = 2 * SLOT, TILE_ROWS = 16, TILE_COLUMNS = 8 };

static __device__ inline unsigned pair_bf16(float low, float high) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(unsigned *)&pair;
}
static __device__ inline float low_bf16(unsigned pair) {
    return __uint_as_float(pair << 16);
}
static __device__ inline float high_bf16(unsigned pair) {
    return __uint_as_float(pair & 0xffff0000u);
}

/* For slopes up to 1. */
static __device__ inline float leaky(float x, float slope) {
    return fmaxf(x, slope * x);
}

/* x g of two numbers of bf16 at once. */
static __device__ inline unsigned product_pair(unsigned x, unsigned g) {
    return scaled_pair(x, g, 0x80008000u); /* adding -0 changes nothing */
}

struct bf16_math {
    typedef __nv_bfloat16 number;
    typedef uint2 weights; /* of one lane, of one tile of B */
    typedef unsigned operand[4];
    enum { bytes = 2 };

    enum { plain = 1 };    /* numbers are operands as they are */
    typedef bf16_math raw; /* for copies of numbers as they are */
    typedef uint4 eight;   /* numbers as they lie in memory */
    enum { across = 8 };   /* numbers of a vector, 16 bytes */
    typedef uint4 vector;
    static __device__ vector vector_at(const number *p) { return *(const uint4 *)p; }
    static __device__ void split(float v[8], const vector &w) { floats_of(v, w); }
    static __device__ vector join(const float v[8]) { return numbers_of(v); }
    static __device__ number stored(float v) { return __float2bfloat16_rn(v); }
    static __device__ eight fetch(const number *p) { return *(const uint4 *)p; }
    static __device__ void floats_of(float v[8], const eight &w) {
        const unsigned words[4] = {w.x, w.y, w.z, w.w};
        for (int i = 0; i < 4; i++) v[2 * i] = low_bf16(words[i]), v[2 * i + 1] = high_bf16(words[i]);
    }
    static __device__ void put8(number *p, const float v[8]) { *(uint4 *)p = numbers_of(v); }
    static __device__ void put_operands(void *shared, const eight &v) { *(uint4 *)shared = v; }
    static __device__ eight numbers_of(const float v[8]) {
        return make_uint4(pair_bf16(v[0], v[1]), pair_bf16(v[2], v[3]), pair_bf16(v[4], v[5]),
                          pair_bf16(v[6], v[7]));
    }
    static __device__ void put2(number *p, float a, float b) { *(unsigned *)p = pair_bf16(a, b); }

    /* Of eights: a b, and v g + b. */
    static __device__ void products(float v[8], const eight &a, const eight &b) {
        floats_of(v, make_uint4(product_pair(a.x, b.x), product_pair(a.y, b.y), product_pair(a.z, b.z),
                                product_pair(a.w, b.w)));
    }
    static __device__ eight scaled(const float v[8], const eight &g, const eight &b) {
        const eight x = numbers_of(v);
        return make_uint4(scaled_pair(x.x, g.x, b.x), scaled_pair(x.y, g.y, b.y), scaled_pair(x.z, g.z, b.z),
                          scaled_pair(x.w, g.w, b.w));
    }

    /* A of 16 rows: `row` is the address of row lane % 16, the slots lie so many bytes behind. */
    static __device__ void load(operand a, unsigned row, int slot0, int slot1, int lane) {
        load_matrices(a, row + (unsigned)(lane < 16 ? slot0 : slot1));
    }
    /* B from its packed form: terms 2t, 2t + 1, 2t + 8, 2t + 9 of column g */
    static __device__ int term(int lane, int i) { return i % 2 + 2 * (lane % 4) + i / 2 * 8; }
    static __device__ void multiply(float c[4], const operand a, const weights &b) {
        const unsigned words[2] = {b.x, b.y};
        multiply_bf16(c, a, words);
    }

    /* Transposed: rows of A are channels, its 16 terms are pixels, whose addresses pixel() gives for each
     * lane. */
    typedef unsigned column[2];
    static __device__ int pixel(int lane, int) { return lane % 8 + lane / 16 * 8; }
    typedef int place;
    static __device__ void find(place &p, int slot0, int slot1, int lane) {
        p = lane / 8 % 2 ? slot1 : slot0;
    }
    static __device__ void load_channels(operand a, const unsigned pixels[4], place p) {
        load_transposed(a, pixels[0] + (unsigned)p);
    }
    static __device__ int column_pixel(int lane, int) { return lane % 16; }
    static __device__ void load_columns(column b, const unsigned pixels[4], int at, int) {
        load_two_transposed(b, pixels[0] + (unsigned)at);
    }
    static __device__ void load_columns_if(int wanted, column b, const unsigned pixels[4], int at, int) {
        load_two_transposed_if(wanted, b, pixels[0] + (unsigned)at);
    }
    static __device__ void ones(operand a) { a[0] = a[1] = a[2] = a[3] = 0x3f803f80u; }
    static __device__ void multiply_columns(float c[4], const operand a, const column b) {
        multiply_bf16(c, a, b);
    }
};

/* What tf32 and fp32 share: numbers are floats, and a step is two products of eight terms. */
struct float_math {
    typedef float number;
    typedef uint4 weights;
    typedef unsigned operand[8];
    typedef unsigned column[4];
    enum { bytes = 4 };

    typedef struct eight {
        float4 a, b;
    } eight;
    enum { across = 4 };
    typedef float4 vector;
    static __device__ vector vector_at(const float *p) { return *(const float4 *)p; }
    static __device__ void split(float v[4], const vector &w) {
        v[0] = w.x, v[1] = w.y, v[2] = w.z, v[3] = w.w;
    }
    static __device__ vector join(const float v[4]) { return make_float4(v[0], v[1], v[2], v[3]); }
    static __device__ float stored(float v) { return v; }
    static __device__ eight numbers_of(const float v[8]) {
        return eight{make_float4(v[0], v[1], v[2], v[3]), make_float4(v[4], v[5], v[6], v[7])};
    }
    static __device__ eight fetch(const float *p) {
        return eight{((const float4 *)p)[0], ((const float4 *)p)[1]};
    }
    static __device__ void floats_of(float v[8], const eight &e) {
        const float4 &a = e.a, &b = e.b;
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
    }
    static __device__ void put8(float *p, const float v[8]) { *(eight *)p = numbers_of(v); }
    static __device__ void put2(float *p, float a, float b) { *(float2 *)p = make_float2(a, b); }
    static __device__ void products(float v[8], const eight &a, const eight &b) {
        float of_b[8];
        floats_of(v, a);
        floats_of(of_b, b);
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] *= of_b[i];
    }
    static __device__ eight scaled(const float v[8], const eight &g, const eight &b) {
        float of_g[8], of_b[8];
        floats_of(of_g, g);
        floats_of(of_b, b);
#pragma unroll
        for (int i = 0; i < 8; i++) of_b[i] = fmaf(v[i], of_g[i], of_b[i]);
        return numbers_of(of_b);
    }
    static __device__ void load(operand a, unsigned row, int slot0, int slot1, int lane) {
        unsigned half = lane < 16 ? 0 : 16;
        load_matrices(a, row + (unsigned)slot0 + half);
        load_matrices(a + 4, row + (unsigned)slot1 + half);
    }
    static __device__ int term(int lane, int i) {
        return lane % 4 + i * 4;
    }

    static __device__ int pixel(int lane, int i) {
        return lane % 4 + i * 4;
    }
    typedef int2 place;
    static __device__ void find(place &p, int slot0, int slot1, int lane) {
        p = make_int2(slot0 + lane / 4 * 4, slot1 + lane / 4 * 4);
    }
    static __device__ void load_channels(operand a, const unsigned pixels[4], place p) {
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < 2; i++) {
                a[4 * half + 2 * i] = load_word(pixels[2 * half + i] + (unsigned)p.x);
                a[4 * half + 2 * i + 1] = load_word(pixels[2 * half + i] + (unsigned)p.y);
            }
    }
    static __device__ int column_pixel(int lane, int i) {
        return lane % 4 + i * 4;
    }
    static __device__ void load_columns(column b, const unsigned pixels[4], int at, int lane) {
        for (int i = 0; i < 4; i++) b[i] = load_word(pixels[i] + (unsigned)at + (unsigned)(lane / 4) * 4);
    }
    static __device__ void load_columns_if(int wanted, column b, const unsigned pixels[4], int at, int lane) {
        if (wanted) load_columns(b, pixels, at, lane);
    }
    static __device__ void ones(operand a) {
        for (int i = 0; i < 8; i++) a[i] = 0x3f800000u;
    }
};

struct tf32_math : float_math {
    enum { plain = 0 };
    struct raw : float_math {
        enum { plain = 1 };
    };
    static __device__ float round(float v) { return nearest_tf32(v); }
    static __device__ void put_operands(void *shared, const eight &v) {
        float rounded[8];
        floats_of(rounded, v);
        for (int i = 0; i < 8; i++) rounded[i] = round(rounded[i]);
        put8((float *)shared, rounded);
    }
    static __device__ void multiply(float c[4], const operand a, const weights &b) {
        const unsigned words[4] = {b.x, b.y, b.z, b.w};
        multiply_tf32(c, a, words);
        multiply_tf32(c, a + 4, words + 2);
    }
    static __device__ void multiply_columns(float c[4], const operand a, const column b) {
        multiply_tf32(c, a, b);
        multiply_tf32(c, a + 4, b + 2);
    }
};

struct fp32_math : float_math {
    enum { plain = 1 };
    typedef fp32_math raw;
    static __device__ float round(float v) { return v; }
    static __device__ void put_operands(void *shared, const eight &v) { *(eight *)shared = v; }

    /* v as the sum of a number of tf32, the nearest, and a rest. Tensor cores cut off what tf32 cannot hold
     * of the rest. */
    static __device__ void in_two(unsigned v, unsigned &high, unsigned &rest) {
        high = (v + 0x1000u) & 0xffffe000u; /* half of the last place is added, the rest cut off */
        rest = __float_as_uint(__uint_as_float(v) - __uint_as_float(high));
    }
    static __device__ void multiply_half(float c[4], const unsigned a[4], const unsigned b[2]) {
        unsigned high_a[4], rest_a[4], high_b[2], rest_b[2];
        for (int i = 0; i < 4; i++) in_two(a[i], high_a[i], rest_a[i]);
        for (int i = 0; i < 2; i++) in_two(b[i], high_b[i], rest_b[i]);
        multiply_tf32(c, rest_a, high_b);
        multiply_tf32(c, high_a, rest_b);
        multiply_tf32(c, high_a, high_b);
    }
    static __device__ void multiply(float c[4], const operand a, const weights &b) {
        const unsigned words[4] = {b.x, b.y, b.z, b.w};
        multiply_half(c, a, words);
        multiply_half(c, a + 4, words + 2);
    }
    static __device__ void multiply_columns(float c[4], const operand a, const column b) {
        multiply_half(c, a, b);
        multiply_half(c, a + 4, b + 2);
    }
};

/* act(x) normalised: (scale act(x) + shift) g + b */
template <class M>
static __device__ inline typename M::eight normalise(const typename M::eight &x, const typename M::eight &g,
                                                     const typename M::eight &b, float slope, float scale,
                                                     float shift) {
    float e[8];
    M::floats_of(e, x);
#pragma unroll
    for (int i = 0; i < 8; i++) e[i] = fmaf(leaky(e[i], slope), scale, shift);
    return M::scaled(e, g, b);
}

#endif
