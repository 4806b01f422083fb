/* Which elements are dropped, for every device. */
#ifndef JF_COMPUTE_DROPOUT_FORMULAS_H
#define JF_COMPUTE_DROPOUT_FORMULAS_H

#include "base/random_formulas.h"

enum { DROPOUT_BLOCK = STREAM_WORDS }; /* elements that share a block of random bits */

/* What elements DROPOUT_BLOCK * block and after of an array are multiplied by. */
FORMULA void dropout_factors(uint64_t seed, double step, uint32_t place, double rate, uint64_t block,
                             double factors[DROPOUT_BLOCK]) {
    rng_key key = {seed, RNG_DROPOUT, 0};
    rng r = stream_of(key, (uint64_t)step << 32 | place);
    r.counter[0] = (uint32_t)block;
    for (int i = 0; i < DROPOUT_BLOCK; i++)
        factors[i] = (double)stream_bits(&r) < rate * 4294967296.0 ? 0 : 1 / (1 - rate);
}

#endif
