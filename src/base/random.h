/* Counter-based random numbers (Philox 4x32-10, from Random123): a draw is a pure function of
 * (seed, purpose, epoch, sample, position), so it is the same whatever thread, device or rank asks for it. */
#ifndef JF_BASE_RANDOM_H
#define JF_BASE_RANDOM_H

#include <stdint.h>

typedef enum rng_purpose {
    RNG_INIT = 1, /* weights */
    RNG_MASK,     /* order of the masks */
    RNG_DATA,     /* toy points */
    RNG_NOISE,    /* dequantising and annealing noise */
    RNG_SHUFFLE,  /* order of samples */
    RNG_SAMPLE,   /* latent points for users */
    RNG_JUDGE,    /* evaluation points */
    RNG_TEST,
    RNG_ROW,        /* what data sets add to their rows */
    RNG_MIXING,     /* order of the elements of a mixing */
    RNG_COMPARE,    /* dealing out the rows of two samples, and what measures of them draw */
    RNG_DROPOUT,    /* masks of dropout; streams are of steps, not of samples */
    RNG_VALIDATION, /* order of held-out rows */
} rng_purpose;

/* What stands in the place of the epoch in draws that belong to no epoch of training. */
enum rng_use {
    RNG_USE_JUDGED = 0,    /* RNG_JUDGE, RNG_NOISE: the judged points and their noise */
    RNG_USE_FIGURE = 1,    /* RNG_JUDGE: data points of figures */
    RNG_USE_GIVEN = 1,     /* RNG_ROW: degrading of images that a user hands in */
    RNG_USE_FLOOR = 2,     /* RNG_JUDGE, RNG_NOISE: rows of the linear-Gaussian floor and their noise */
    RNG_USE_COVERAGE = 3,  /* RNG_NOISE: on the truth that samples are to cover */
    RNG_USE_REFERENCE = 4, /* RNG_JUDGE: random points from which distances are ranked */
    RNG_USE_UNIFORM = 5,   /* RNG_JUDGE: ranks of a right model */
    RNG_USE_QUALITY = 4,   /* RNG_JUDGE: training images that samples are compared with */
};

typedef struct rng_key {
    uint64_t seed;
    uint32_t purpose, epoch;
} rng_key;

/* The stream of one sample. Passing it by value copies its position. */
typedef struct rng {
    uint32_t key[2], counter[4], block[4];
    int used; /* words of block already given out */
    int has_spare;
    double spare; /* second deviate of a Box-Muller pair */
} rng;

rng rng_stream(rng_key key, uint64_t sample);
uint32_t rng_bits(rng *r);
double rng_uniform(rng *r); /* (0, 1), 53 bits */
double rng_range(rng *r, double lo, double hi);
double rng_normal(rng *r);              /* N(0, 1) */
uint32_t rng_below(rng *r, uint32_t n); /* 0 .. n-1, without bias */
void rng_shuffle(rng *r, int *items, int n);

#endif
