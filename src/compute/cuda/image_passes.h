/* The passes of image networks in one precision (image_network.cuh), for the layer that asks for them
 * (image_coupling.cu). */
#ifndef JF_COMPUTE_CUDA_IMAGE_PASSES_H
#define JF_COMPUTE_CUDA_IMAGE_PASSES_H

#include "compute/cuda/image_plan.h"

/* What a pass over a batch, or a part of it, works on. Arrays are those of networks A and B; "numbers" are of
 * the precision. */
typedef struct image_batch {
    int rows;            /* samples of this part */
    int first, capacity; /* its first one, and how many there are, in acts and sums */
    int all; /* acts of all residual blocks are there; otherwise a block takes the place of the one before */
    void *acts[2];  /* numbers: activations, as the plan numbers them, each (capacity, pixels, channels) */
    float *sums[2]; /* (norms, capacity, MAX_BANDS, 2): for the moments of norms */
    void *weights[2], *norms[2]; /* packed */
    void *tables[2];             /* of norms, for samples on the chip (image_onchip.cuh) */
    float *biases[2];
    const float *state; /* (rows, dim) */
    float *out[2];      /* (rows, pixels, channels) */
    /* The backward pass. */
    const float *dout[2];
    float *du1[2];                   /* (rows, k) */
    void *dh[2], *wide[2], *thin[2]; /* numbers: (rows, pixels, K), (.., concat), (.., K) */
    void *last_thin[2];              /* as thin */
    void *normalised[3][2]; /* numbers: what norms 0, 3, .. and 1, 4, .. and 2, 5, .. made (back_in_one: [1]
                               alone) */
    float *back_sums[2];    /* (rows, MAX_BANDS, 2) */
    float *partial[2], *norm_partial[2]; /* NULL: gradients are not wanted */
    int pieces, gradient_tiles;          /* of partial: [piece][tile] */
    int norm_samples;                    /* of a piece of norm_partial */
} image_batch;

/* Limits of the backward pass in one kernel: tiles of the gradient of weights, and outputs. */
#define IMAGE_BACK_TILES   64
#define IMAGE_BACK_OUTPUTS 64
#define IMAGE_MAX_CONCAT   256
#define IMAGE_MAX_BANDS    32 /* of a sample, each with its own sums */

typedef struct image_passes {
    int number_bytes, lane_bytes; /* of a number; of a tile of weights, for each lane */
    int holds;                    /* whether it can hold samples on the chip */
    void (*pack)(cuda_device *own, const image_plan *p, const image_batch *b, const float *params,
                 int direction);
    void (*forward)(cuda_device *own, const image_plan *p, const image_batch *b);
    void (*backward)(cuda_device *own, const image_plan *p, const image_batch *b);
} image_passes;

#endif
