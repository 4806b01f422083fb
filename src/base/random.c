#include "base/random_formulas.h"

rng rng_stream(rng_key key, uint64_t sample) {
    return stream_of(key, sample);
}

uint32_t rng_bits(rng *r) {
    return stream_bits(r);
}

double rng_uniform(rng *r) {
    return stream_uniform(r);
}

double rng_range(rng *r, double lo, double hi) {
    return lo + (hi - lo) * stream_uniform(r);
}

double rng_normal(rng *r) {
    return stream_normal(r);
}

uint32_t rng_below(rng *r, uint32_t n) {
    return stream_below(r, n);
}

/* Fisher-Yates. */
void rng_shuffle(rng *r, int *items, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = (int)stream_below(r, (uint32_t)i + 1);
        int moved = items[i];
        items[i] = items[j];
        items[j] = moved;
    }
}
