/* Kernels of the cuda device on the host: the threads of a block as fibers that take turns, with what they ask of the GPU in C++. In the
 * place of compute/cuda/kernels.cuh and compute/cuda/instructions.cuh, for a C++ compiler that knows CUDA's headers but not its language.
 *
 * Copies to shared memory happen at once or not before they are waited for, and threads take turns in several orders, so that a kernel
 * that relies on either is found out. */
#ifndef JF_TESTS_EMULATED_H
#define JF_TESTS_EMULATED_H

#define JF_COMPUTE_CUDA_KERNELS_CUH
#define JF_COMPUTE_CUDA_INSTRUCTIONS_CUH

#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <functional>
#include <random>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vector>

#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define LAUNCH_MEMORY static_assert(true)

namespace emulated {

enum { WARP = 32, MEMORY = 227 << 10, STACK = 128 << 10, MAX_THREADS = 1024, BARRIERS = 16 };
enum order { ASCENDING, DESCENDING, SHUFFLED };

struct copy {
    unsigned to;
    const void *from;
};
struct fiber {
    ucontext_t context;
    std::vector<char> stack;
    std::vector<std::vector<copy>> groups; /* committed, and not waited for */
    std::vector<copy> open;
    bool ended;
};
/* Where threads meet. Those of a warp bring what the last of them works on for all. */
struct meeting {
    int there;
    unsigned round;
    void *brought[WARP];
};

static std::vector<fiber> fibers(MAX_THREADS);
static meeting warps[MAX_THREADS / WARP], barriers[BARRIERS];
static ucontext_t outside;
static std::function<void()> kernel;
static int current;
static bool copies_are_late;
alignas(128) static char shared[MEMORY];

} // namespace emulated

static dim3 threadIdx, blockIdx, gridDim, blockDim;
static char *const memory = emulated::shared;

namespace emulated {

static void let_others() {
    swapcontext(&fibers[(size_t)current].context, &outside);
    threadIdx.x = (unsigned)current;
}
static void wait_at(meeting &m, int threads, const std::function<void()> &last) {
    const unsigned round = m.round;
    if (++m.there == threads) {
        last();
        m.there = 0, m.round++;
    }
    while (m.round == round) let_others();
}
/* f(what lane i brought) is there for all lanes once all of them are. */
template <class T> static void together(T &mine, void (*f)(T *of[WARP])) {
    meeting &m = warps[current / WARP];
    m.brought[current % WARP] = &mine;
    wait_at(m, WARP, [&] { f((T **)m.brought); });
}

static void arrive(std::vector<copy> &copies) {
    for (const copy &c : copies) memcpy(shared + c.to, c.from, 16);
    copies.clear();
}
static void run_fiber() {
    kernel();
    fibers[(size_t)current].ended = true;
    swapcontext(&fibers[(size_t)current].context, &outside);
}

static void run_block(int threads, order in) {
    std::vector<int> turns;
    std::mt19937 random(7);
    memset(shared, 0xff, sizeof shared); /* what nobody has written is no number */
    for (meeting &m : warps) m = meeting();
    for (meeting &m : barriers) m = meeting();
    for (int i = 0; i < threads; i++) {
        fiber &f = fibers[(size_t)i];
        f.stack.resize(STACK), f.groups.clear(), f.open.clear(), f.ended = false;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.data(), f.context.uc_stack.ss_size = f.stack.size();
        makecontext(&f.context, run_fiber, 0);
        turns.push_back(in == DESCENDING ? threads - 1 - i : i);
    }
    for (int left = threads; left > 0;) {
        if (in == SHUFFLED) std::shuffle(turns.begin(), turns.end(), random);
        for (int i : turns) {
            if (fibers[(size_t)i].ended) continue;
            current = i, threadIdx.x = (unsigned)i;
            swapcontext(&outside, &fibers[(size_t)i].context);
            left -= fibers[(size_t)i].ended;
        }
    }
}

/* All blocks, one after the other. */
static void launch(dim3 grid, int threads, bool late, order in, std::function<void()> f) {
    kernel = std::move(f), copies_are_late = late;
    gridDim = grid, blockDim = dim3((unsigned)threads);
    for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
            blockIdx = dim3(x, y);
            run_block(threads, in);
        }
}

static float of_bf16(unsigned word, int half) {
    const unsigned bits = (half ? word >> 16 : word & 0xffff) << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* COUNT 8x8 matrices of 16 bits, whose rows are where 8 lanes say. */
struct matrices {
    unsigned address, *to;
};
template <int COUNT, bool TRANSPOSED> static void load(unsigned *to, unsigned address) {
    matrices mine = {address, to};
    together<matrices>(mine, [](matrices *of[WARP]) {
        auto number = [&](int matrix, int row, int column) {
            const unsigned at = of[8 * matrix + row]->address;
            uint16_t v;
            if (at % 16 != 0 || at + 16 > MEMORY) abort();
            memcpy(&v, shared + at + 2 * column, sizeof v);
            return (unsigned)v;
        };
        for (int lane = 0; lane < WARP; lane++)
            for (int k = 0; k < COUNT; k++) {
                const int g = lane / 4, t = lane % 4 * 2;
                of[lane]->to[k] = TRANSPOSED ? number(k, t, g) | number(k, t + 1, g) << 16
                                             : number(k, g, t) | number(k, g, t + 1) << 16;
            }
    });
}

/* C (16, 8) += A (16, DEPTH) B (DEPTH, 8) */
struct factors {
    float *c;
    const unsigned *a, *b;
};
template <int DEPTH> static void multiply(float *c, const unsigned *a, const unsigned *b) {
    factors mine = {c, a, b};
    together<factors>(mine, [](factors *of[WARP]) {
        float A[16][DEPTH], B[DEPTH][8];
        for (int lane = 0; lane < WARP; lane++)
            for (int k = 0; k < DEPTH / 8; k++)
                for (int half = 0; half < 2; half++) {
                    const int g = lane / 4, term = 8 * k + lane % 4 * 2 + half;
                    A[g][term] = of_bf16(of[lane]->a[2 * k], half);
                    A[g + 8][term] = of_bf16(of[lane]->a[2 * k + 1], half);
                    B[term][g] = of_bf16(of[lane]->b[k], half);
                }
        for (int lane = 0; lane < WARP; lane++)
            for (int i = 0; i < 4; i++) {
                const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
                for (int k = 0; k < DEPTH; k++) of[lane]->c[i] += A[row][k] * B[k][column];
            }
    });
}

template <class T> struct traded {
    T value, got;
    int by;
};

} // namespace emulated

/* ---- what kernels ask for ---- */

static inline void after_the_last() {}
static inline size_t piece_begin(size_t rows, int pieces, int p) {
    return rows * (size_t)p / (size_t)pieces;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline float __uint_as_float(unsigned v) {
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}
static inline unsigned __float_as_uint(float v) {
    unsigned u;
    memcpy(&u, &v, sizeof u);
    return u;
}
static inline void meet(int barrier, int threads) {
    emulated::wait_at(emulated::barriers[barrier], threads, [] {});
}
static inline void __syncthreads() {
    meet(0, (int)blockDim.x);
}
static inline void __syncwarp() {}
static inline float __shfl_down_sync(unsigned, float v, int by) {
    emulated::traded<float> mine = {v, 0, by};
    emulated::together<emulated::traded<float>>(mine, [](emulated::traded<float> *of[]) {
        for (int i = 0; i < 32; i++) of[i]->got = of[i + of[i]->by < 32 ? i + of[i]->by : i]->value;
    });
    return mine.got;
}
static inline unsigned __shfl_xor_sync(unsigned, unsigned v, int by) {
    emulated::traded<unsigned> mine = {v, 0, by};
    emulated::together<emulated::traded<unsigned>>(mine, [](emulated::traded<unsigned> *of[]) {
        for (int i = 0; i < 32; i++) of[i]->got = of[i ^ of[i]->by]->value;
    });
    return mine.got;
}
static inline unsigned shared_address(const void *p) {
    return (unsigned)((const char *)p - emulated::shared);
}
static inline unsigned load_word(unsigned address) {
    unsigned v;
    memcpy(&v, emulated::shared + address, sizeof v);
    return v;
}
static inline uint2 load_words(unsigned address) {
    return make_uint2(load_word(address), load_word(address + 4));
}
static inline void store_word(unsigned address, unsigned v) {
    memcpy(emulated::shared + address, &v, sizeof v);
}
static inline void copy_16(unsigned to, const void *from, int present) {
    static const char zeros[16] = {0};
    emulated::fiber &f = emulated::fibers[(size_t)emulated::current];
    if (to % 16 != 0 || to + 16 > emulated::MEMORY) abort();
    f.open.push_back({to, present ? from : zeros});
    if (!emulated::copies_are_late) emulated::arrive(f.open);
}
static inline void commit_copies() {
    emulated::fiber &f = emulated::fibers[(size_t)emulated::current];
    f.groups.push_back(f.open);
    f.open.clear();
}
static inline void wait_for_groups(size_t left) {
    emulated::fiber &f = emulated::fibers[(size_t)emulated::current];
    for (; f.groups.size() > left; f.groups.erase(f.groups.begin())) emulated::arrive(f.groups[0]);
}
static inline void wait_for_earlier_copies() {
    wait_for_groups(1);
}
static inline void wait_for_copies() {
    wait_for_groups(0);
    emulated::arrive(emulated::fibers[(size_t)emulated::current].open);
}
static inline void load_matrices(unsigned r[4], unsigned address) {
    emulated::load<4, false>(r, address);
}
static inline void load_half(unsigned r[2], unsigned address) {
    emulated::load<2, false>(r, address);
}
static inline void load_transposed(unsigned r[4], unsigned address) {
    emulated::load<4, true>(r, address);
}
static inline void load_two_transposed(unsigned r[2], unsigned address) {
    emulated::load<2, true>(r, address);
}
static inline void load_two_transposed_if(int wanted, unsigned r[2], unsigned address) {
    if (wanted) load_two_transposed(r, address);
}
static inline void multiply_bf16(float c[4], const unsigned a[4], const unsigned b[2]) {
    emulated::multiply<16>(c, a, b);
}
static inline void multiply_half(float c[4], const unsigned a[2], unsigned b) {
    emulated::multiply<8>(c, a, &b);
}
static inline void multiply_tf32(float *, const unsigned *, const unsigned *) {
    abort(); /* not of any kernel that is tried */
}
static inline float nearest_tf32(float) {
    abort();
}
static inline unsigned scaled_pair(unsigned x, unsigned g, unsigned b) {
    unsigned r = 0;
    for (int i = 0; i < 2; i++) {
        const __nv_bfloat16 v = __float2bfloat16_rn(
            fmaf(emulated::of_bf16(x, i), emulated::of_bf16(g, i), emulated::of_bf16(b, i)));
        uint16_t bits;
        memcpy(&bits, &v, sizeof bits);
        r |= (unsigned)bits << (16 * i);
    }
    return r;
}

#endif
