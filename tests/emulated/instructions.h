/* Instructions of the GPU for threads of an emulated one (machine.h): in the place of
 * compute/cuda/instructions.cuh. */
#ifndef JF_COMPUTE_CUDA_INSTRUCTIONS_CUH
#define JF_COMPUTE_CUDA_INSTRUCTIONS_CUH

#include "machine.h"
#include <cuda_bf16.h>
#include <math.h>

#define __CUDA_ARCH__ 900

#define LAUNCH_MEMORY char *const memory = emulated::block_memory()
#define LAUNCH_FLOATS float *const memory = (float *)emulated::block_memory()
#define CLUSTER_MEMORY(type, name, extent)                                                                   \
    typedef type name##_memory extent;                                                                       \
    name##_memory &name = *(name##_memory *)emulated::fixed_memory(sizeof(name##_memory))

/* ---- functions of the language ---- */

template <class TO, class FROM> static inline TO same_bits(FROM v) {
    static_assert(sizeof(TO) == sizeof(FROM), "as many bits");
    TO to;
    memcpy(&to, &v, sizeof to);
    return to;
}
static inline float __uint_as_float(unsigned v) {
    return same_bits<float>(v);
}
static inline unsigned __float_as_uint(float v) {
    return same_bits<unsigned>(v);
}
static inline long long __double_as_longlong(double v) {
    return same_bits<long long>(v);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline void __syncthreads() {
    emulated::meet(0, (int)blockDim.x);
}
static inline void __syncwarp() {
    int nothing = 0;
    emulated::together<int>(nothing, [](int **) {});
}
static inline unsigned long long atomicMax(unsigned long long *to, unsigned long long v) {
    const unsigned long long old = *to; /* threads take turns where they wait, which is not here */
    if (v > old) *to = v;
    return old;
}

/* What lane i gives, and the lane whose it wants. */
template <class T> struct traded {
    T given, got;
    int from;
};
template <class T> static inline T trade(T v, int from) {
    traded<T> mine = {v, v, from};
    emulated::together<traded<T>>(mine, [](traded<T> **of) {
        for (int i = 0; i < emulated::WARP; i++)
            if (of[i] && of[i]->from >= 0 && of[i]->from < emulated::WARP && of[of[i]->from])
                of[i]->got = of[of[i]->from]->given;
    });
    return mine.got;
}
static inline int lane_of_warp() {
    return (int)threadIdx.x % emulated::WARP;
}
template <class T> static inline T __shfl_sync(unsigned, T v, int from) {
    return trade(v, from);
}
template <class T> static inline T __shfl_down_sync(unsigned, T v, int by) {
    return trade(v, lane_of_warp() + by);
}
template <class T> static inline T __shfl_xor_sync(unsigned, T v, int by) {
    return trade(v, lane_of_warp() ^ by);
}

/* ---- shared memory ---- */

static inline void after_the_last() {}
static inline unsigned shared_address(const void *p) {
    return emulated::address_of(p);
}
static inline unsigned load_word(unsigned address) {
    unsigned v;
    memcpy(&v, emulated::at(address, 4, 4), sizeof v);
    return v;
}
static inline uint2 load_words(unsigned address) {
    uint2 v;
    memcpy(&v, emulated::at(address, 8, 8), sizeof v);
    return v;
}
static inline void store_word(unsigned address, unsigned v) {
    memcpy(emulated::at(address, 4, 4), &v, sizeof v);
}
static inline void copy_16(unsigned to, const void *from, int present) {
    emulated::copy(emulated::at(to, 16, 16), present ? from : NULL, 16);
}
static inline void commit_copies() {
    emulated::commit_copies();
}
static inline void wait_for_copies() {
    emulated::wait_for_all_copies();
}
static inline void wait_for_earlier_copies() {
    emulated::wait_for_copies(1);
}
static inline void meet(int barrier, int threads) {
    emulated::meet(barrier, threads);
}

/* ---- matrices ---- */

/* COUNT 8x8 matrices of 16 bits, whose rows are where 8 lanes say. */
struct matrices {
    const char *row;
    unsigned *to;
};
template <int COUNT, bool TRANSPOSED> static inline void load_8x8(unsigned *to, unsigned address) {
    /* of fewer than four matrices not all lanes give an address that counts */
    matrices mine = {lane_of_warp() < 8 * COUNT ? emulated::at(address, 16, 16) : NULL, to};
    emulated::together<matrices>(mine, [](matrices **of) {
        auto number = [&](int matrix, int row, int column) {
            uint16_t v;
            memcpy(&v, of[8 * matrix + row]->row + 2 * column, sizeof v);
            return (unsigned)v;
        };
        for (int lane = 0; lane < emulated::WARP; lane++)
            for (int k = 0; k < COUNT; k++) {
                const int g = lane / 4, t = lane % 4 * 2;
                of[lane]->to[k] = TRANSPOSED ? number(k, t, g) | number(k, t + 1, g) << 16
                                             : number(k, g, t) | number(k, g, t + 1) << 16;
            }
    });
}
static inline void load_matrices(unsigned r[4], unsigned address) {
    load_8x8<4, false>(r, address);
}
static inline void load_half(unsigned r[2], unsigned address) {
    load_8x8<2, false>(r, address);
}
static inline void load_transposed(unsigned r[4], unsigned address) {
    load_8x8<4, true>(r, address);
}
static inline void load_two_transposed(unsigned r[2], unsigned address) {
    load_8x8<2, true>(r, address);
}
static inline void load_two_transposed_if(int wanted, unsigned r[2], unsigned address) {
    if (wanted) load_two_transposed(r, address);
}

/* C (16, 8) += A (16, DEPTH) B (DEPTH, 8). A lane has of A and B so many numbers of a register: two of bf16,
 * one of tf32. */
static inline float of_register(unsigned v, int i, int each) {
    return each == 1 ? __uint_as_float(v & 0xffffe000u) : __uint_as_float(i ? v & 0xffff0000u : v << 16);
}
struct factors {
    float *c;
    const unsigned *a, *b;
};
template <int DEPTH, int EACH> static inline void multiply(float *c, const unsigned *a, const unsigned *b) {
    factors mine = {c, a, b};
    emulated::together<factors>(mine, [](factors **of) {
        float A[16][DEPTH], B[DEPTH][8];
        for (int lane = 0; lane < emulated::WARP; lane++)
            for (int k = 0; k < DEPTH / (4 * EACH); k++)
                for (int i = 0; i < EACH; i++) {
                    const int g = lane / 4, term = 4 * EACH * k + lane % 4 * EACH + i;
                    A[g][term] = of_register(of[lane]->a[2 * k], i, EACH);
                    A[g + 8][term] = of_register(of[lane]->a[2 * k + 1], i, EACH);
                    B[term][g] = of_register(of[lane]->b[k], i, EACH);
                }
        float C[16][8];
        auto place = [&](int lane, int i) { return &C[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]; };
        for (int i = 0; i < 4 * emulated::WARP; i++) *place(i / 4, i % 4) = of[i / 4]->c[i % 4];
        for (int row = 0; row < 16; row++)
            for (int k = 0; k < DEPTH; k++)
                for (int column = 0; column < 8; column++) C[row][column] += A[row][k] * B[k][column];
        for (int i = 0; i < 4 * emulated::WARP; i++) of[i / 4]->c[i % 4] = *place(i / 4, i % 4);
    });
}
static inline void multiply_bf16(float c[4], const unsigned a[4], const unsigned b[2]) {
    multiply<16, 2>(c, a, b);
}
static inline void multiply_half(float c[4], const unsigned a[2], unsigned b) {
    multiply<8, 2>(c, a, &b);
}
static inline void multiply_tf32(float c[4], const unsigned a[4], const unsigned b[2]) {
    multiply<8, 1>(c, a, b);
}
static inline void tensor_product(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                  uint32_t b0, uint32_t b1) {
    const unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    multiply<8, 1>(sum, a, b);
}
/* To 11 bits, of two that are as near away from zero. */
static inline float nearest_tf32(float v) {
    return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u);
}
static inline unsigned scaled_pair(unsigned x, unsigned g, unsigned b) {
    unsigned r = 0;
    for (int i = 0; i < 2; i++)
        r |= (unsigned)__float2bfloat16_rn(
                 fmaf(of_register(x, i, 2), of_register(g, i, 2), of_register(b, i, 2)))
                 .bits
             << 16 * i;
    return r;
}

/* ---- clusters ---- */

static inline unsigned in_block(unsigned address, int rank) {
    return emulated::address_in(address, rank);
}
static inline void send_8(unsigned to, float a, float b, unsigned barrier) {
    const float two[2] = {a, b};
    emulated::send(to, two, sizeof two, barrier);
}
static inline void send_16(unsigned to, uint4 v, unsigned barrier) {
    emulated::send(to, &v, sizeof v, barrier);
}
static inline void barrier_open(unsigned barrier) {
    emulated::open_barrier(barrier);
}
static inline void barrier_expect(unsigned barrier, int bytes) {
    emulated::expect_bytes(barrier, bytes);
}
static inline void barrier_wait(unsigned barrier, int parity) {
    emulated::wait_at_barrier(barrier, parity);
}
static inline void meet_cluster() {
    emulated::meet_cluster();
}

#endif
