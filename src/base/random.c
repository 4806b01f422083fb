/* Counter-based random numbers.
 *
 * Philox 4x32-10 with  key     = seed (low word, high word)
 *                      counter = (block, sample low, sample high, purpose << 26 | epoch)
 * so that two different (seed, purpose < 64, epoch < 2^26, sample) never share a block. Each block gives four
 * words, handed out in order; a uniform takes two words (high first), a pair of normals two uniforms. */
#include "base/random.h"

#include <Random123/philox.h>
#include <math.h>

enum { EPOCH_BITS = 26, WORDS = 4 };

rng rng_stream(rng_key key, uint64_t sample) {
    rng r = {0};
    r.key[0] = (uint32_t)key.seed;
    r.key[1] = (uint32_t)(key.seed >> 32);
    r.counter[1] = (uint32_t)sample;
    r.counter[2] = (uint32_t)(sample >> 32);
    r.counter[3] = key.purpose << EPOCH_BITS | (key.epoch & ((UINT32_C(1) << EPOCH_BITS) - 1));
    r.used = WORDS;
    return r;
}

static void next_block(rng *r) {
    philox4x32_ctr_t counter = {{r->counter[0], r->counter[1], r->counter[2], r->counter[3]}};
    philox4x32_key_t key = {{r->key[0], r->key[1]}};
    philox4x32_ctr_t block = philox4x32(counter, key);
    for (int i = 0; i < WORDS; i++) r->block[i] = block.v[i];
    r->counter[0]++;
    r->used = 0;
}

uint32_t rng_bits(rng *r) {
    if (r->used == WORDS) next_block(r);
    return r->block[r->used++];
}

/* The odd multiples of 2^-53: symmetric about 1/2, and neither 0 nor 1 can be rounded to. */
double rng_uniform(rng *r) {
    uint64_t high = rng_bits(r);
    uint64_t bits = high << 32 | rng_bits(r);
    return (double)(bits >> 11 | 1) * 0x1p-53;
}

double rng_range(rng *r, double lo, double hi) {
    return lo + (hi - lo) * rng_uniform(r);
}

/* Box-Muller: sqrt(-2 log u) (cos, sin)(2 pi v) is a pair of independent N(0, 1). */
double rng_normal(rng *r) {
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    double radius = sqrt(-2.0 * log(rng_uniform(r)));
    double angle = 2.0 * 3.14159265358979323846 * rng_uniform(r);
    r->spare = radius * sin(angle);
    r->has_spare = 1;
    return radius * cos(angle);
}

/* Lemire's method: the high word of bits * n is uniform once the 2^32 mod n short low words are rejected. */
uint32_t rng_below(rng *r, uint32_t n) {
    if (n == 0) return 0;
    uint64_t product = (uint64_t)rng_bits(r) * n;
    if ((uint32_t)product < n) {
        uint32_t reject_below = (0 - n) % n; /* 2^32 mod n */
        while ((uint32_t)product < reject_below) product = (uint64_t)rng_bits(r) * n;
    }
    return (uint32_t)(product >> 32);
}

/* Fisher-Yates. */
void rng_shuffle(rng *r, int *items, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(r, (uint32_t)i + 1);
        int moved = items[i];
        items[i] = items[j];
        items[j] = moved;
    }
}
