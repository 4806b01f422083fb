/* A pseudo-random permutation of 0 .. size-1 that needs no memory: a Feistel network on the next even number
 * of bits, walked until it lands inside the range. Keyed by a Philox stream, so it is a pure function of
 * (key, cycle).
 *
 * The network (L, R) -> (R, L xor f(R, key)) is a bijection whatever f is; following its cycle from a number
 * inside the range to the next one inside it is a bijection of the range. */
#ifndef JF_BASE_PERMUTATION_H
#define JF_BASE_PERMUTATION_H

#include "base/random_formulas.h"

#define PERMUTATION_ROUNDS 8

typedef struct permutation {
    uint64_t size;
    int half_bits; /* the network permutes 0 .. 4^half_bits - 1, less than four times `size` */
    uint32_t round_key[PERMUTATION_ROUNDS];
} permutation;

/* size: 1 .. 2^62 */
FORMULA permutation permutation_create(rng_key key, uint64_t cycle, uint64_t size) {
    permutation p = {size, 1, {0}};
    while (p.half_bits < 31 && ((uint64_t)1 << (2 * p.half_bits)) < size) p.half_bits++;
    rng stream = stream_of(key, cycle);
    for (int i = 0; i < PERMUTATION_ROUNDS; i++) p.round_key[i] = stream_bits(&stream);
    return p;
}

/* Mixes all bits (multiply and shift, as in common integer hashes): cheap beside reading a row. */
FORMULA uint32_t permutation_scramble(uint32_t half, uint32_t key) {
    uint32_t h = (half ^ key) * 0x9E3779B1u;
    h = (h ^ (h >> 15)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    return h ^ (h >> 16);
}

/* index: below size */
FORMULA uint64_t permutation_at(const permutation *p, uint64_t index) {
    uint32_t mask = ((uint32_t)1 << p->half_bits) - 1;
    do {
        uint32_t left = (uint32_t)(index >> p->half_bits), right = (uint32_t)index & mask;
        for (int i = 0; i < PERMUTATION_ROUNDS; i++) {
            uint32_t next = left ^ (permutation_scramble(right, p->round_key[i]) & mask);
            left = right;
            right = next;
        }
        index = ((uint64_t)left << p->half_bits) | right;
    } while (index >= p->size);
    return index;
}

/* Held-out row of a sample: a fixed random order, over and over, so that the first n samples are a random
 * choice of n rows however the file is sorted. The same for every seed: models are compared on the same rows.
 */
FORMULA uint64_t validation_row(uint64_t validation_rows, uint64_t sample) {
    rng_key key = {0, RNG_VALIDATION, 0};
    permutation order = permutation_create(key, 0, validation_rows);
    return permutation_at(&order, sample % validation_rows);
}

#endif
