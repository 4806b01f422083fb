/* A pseudo-random permutation of 0 .. size-1 that needs no memory: a Feistel network on the next even number
 * of bits, walked until it lands inside the range. Keyed by a Philox stream, so it is a pure function of
 * (key, cycle). */
#ifndef JF_DATA_PERMUTATION_H
#define JF_DATA_PERMUTATION_H

#include "base/random.h"

#define PERMUTATION_ROUNDS 8

typedef struct permutation {
    uint64_t size;
    int half_bits; /* the network permutes 0 .. 4^half_bits - 1, less than four times `size` */
    uint32_t round_key[PERMUTATION_ROUNDS];
} permutation;

permutation permutation_create(rng_key key, uint64_t cycle, uint64_t size); /* size: 1 .. 2^62 */
uint64_t permutation_at(const permutation *p, uint64_t index);              /* index: below size */

#endif
