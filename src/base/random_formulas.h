/* Counter-based random numbers, as formulas; random.c makes the functions of random.h of them.
 *
 * Philox 4x32-10 with  key     = seed (low word, high word)
 *                      counter = (block, sample low, sample high, purpose << 26 | epoch)
 * so that two different (seed, purpose < 64, epoch < 2^26, sample) never share a block. Each block gives four
 * words, handed out in order; a uniform takes two words (high first), a pair of normals two uniforms: one
 * block. */
#ifndef JF_BASE_RANDOM_FORMULAS_H
#define JF_BASE_RANDOM_FORMULAS_H

#include "base/formula.h"
#include "base/random.h"

#ifdef __CUDACC__
#include "base/philox.cuh"
#else
#include <Random123/philox.h>
#endif
#include <math.h>

enum { STREAM_EPOCH_BITS = 26, STREAM_WORDS = 4 };

/* One block of Philox 4x32-10; of CUDA's own, since Random123 needs the C++ library there. */
FORMULA void stream_block(const uint32_t counter[4], const uint32_t key[2], uint32_t block[STREAM_WORDS]) {
#ifdef __CUDACC__
    cuda_philox(counter, key, block);
#else
    philox4x32_ctr_t c = {{counter[0], counter[1], counter[2], counter[3]}};
    philox4x32_key_t k = {{key[0], key[1]}};
    philox4x32_ctr_t found = philox4x32(c, k);
    for (int i = 0; i < STREAM_WORDS; i++) block[i] = found.v[i];
#endif
}

FORMULA rng stream_of(rng_key key, uint64_t sample) {
    rng r = {{(uint32_t)key.seed, (uint32_t)(key.seed >> 32)}, {0}, {0}, 0, 0, 0};
    r.counter[1] = (uint32_t)sample;
    r.counter[2] = (uint32_t)(sample >> 32);
    r.counter[3] = key.purpose << STREAM_EPOCH_BITS | (key.epoch & ((UINT32_C(1) << STREAM_EPOCH_BITS) - 1));
    r.used = STREAM_WORDS;
    return r;
}

FORMULA uint32_t stream_bits(rng *r) {
    if (r->used == STREAM_WORDS) {
        stream_block(r->counter, r->key, r->block);
        r->counter[0]++;
        r->used = 0;
    }
    return r->block[r->used++];
}

/* The odd multiples of 2^-53: symmetric about 1/2, and neither 0 nor 1 can be rounded to. */
FORMULA double stream_uniform(rng *r) {
    uint64_t high = stream_bits(r);
    uint64_t bits = high << 32 | stream_bits(r);
    return (double)(bits >> 11 | 1) * 0x1p-53;
}

/* Box-Muller: sqrt(-2 log u) (cos, sin)(2 pi v) is a pair of independent N(0, 1). */
FORMULA double stream_normal(rng *r) {
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    double radius = sqrt(-2.0 * log(stream_uniform(r)));
    double angle = 2.0 * 3.14159265358979323846 * stream_uniform(r);
    r->spare = radius * sin(angle);
    r->has_spare = 1;
    return radius * cos(angle);
}

/* Uniform number `at` of a stream of uniforms alone, without those before it. */
FORMULA double stream_uniform_at(rng_key key, uint64_t sample, uint32_t at) {
    rng r = stream_of(key, sample);
    r.counter[0] = at / 2;
    double first = stream_uniform(&r);
    return at % 2 ? stream_uniform(&r) : first;
}

/* Normal number `at` of a stream of normals alone, without those before it. */
FORMULA double stream_normal_at(rng_key key, uint64_t sample, uint32_t at) {
    rng r = stream_of(key, sample);
    r.counter[0] = at / 2;
    double first = stream_normal(&r);
    return at % 2 ? r.spare : first;
}

/* Lemire's method: the high word of bits * n is uniform once the 2^32 mod n short low words are rejected. */
FORMULA uint32_t stream_below(rng *r, uint32_t n) {
    if (n == 0) return 0;
    uint64_t product = (uint64_t)stream_bits(r) * n;
    if ((uint32_t)product < n) {
        uint32_t reject_below = (0 - n) % n; /* 2^32 mod n */
        while ((uint32_t)product < reject_below) product = (uint64_t)stream_bits(r) * n;
    }
    return (uint32_t)(product >> 32);
}

#endif
