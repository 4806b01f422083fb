/* One operator of an image network as products: a convolution, or several side by side, or its gradient with
 * respect to its input, over tiles of 16 pixels and 8 outputs.
 *
 * For a tile of outputs the sum over taps and inputs is cut into slots: eight input channels at one tap. Two
 * slots are a step of a product. Outputs that need the same slots are a set of tiles. Groups, dilations and
 * concatenations are in these tables alone, and so is where each weight lies among the parameters: a tile of
 * weights is a table of 16 terms and 8 outputs, with -1 where there is none. */
#ifndef JF_COMPUTE_CUDA_IMAGE_OP_H
#define JF_COMPUTE_CUDA_IMAGE_OP_H

#include "compute/image_net.h"

#define OP_TILE_WEIGHTS 128 /* 16 terms, 8 outputs */

typedef struct op_set {
    int channel; /* its first output */
    int step, steps;
    int tile; /* the first of its tiles of weights: [step][tile of the set] */
} op_set;

typedef struct op_slot {
    int shift;   /* from a pixel to the one that is read, in pixels of a tile (op_row()) */
    int channel; /* the first of eight */
    int conv, tap;
} op_slot;

/* A tile of the gradient of the weights: 16 terms, 8 outputs. */
typedef struct op_gradient {
    int step; /* -1: of the bias, which is the first row */
    int channel;
} op_gradient;

typedef struct image_op {
    int h, w, halo; /* halo: the largest radius of the taps */
    int in;         /* channels that are read: a multiple of 8 */
    int out;        /* channels that there are of the results */
    int backward;   /* the gradient with respect to the input: from outputs to inputs */
    int together;   /* tiles of a set */
    int sets, steps, tiles, gradients;
    op_set *set;           /* those of many steps first */
    op_slot *slot;         /* (2 steps) */
    op_gradient *gradient; /* of the forward direction: as its tiles, and then those of the bias */
    int32_t *tables;       /* on the device: sets (4 numbers), slots (2: shift, channel), gradients (2) */
} image_op;

/* Pixels from row to row of a tile: between rows lie as many zeros as taps reach. */
static inline int op_row(int w, int halo) {
    return w + halo;
}

/* Of `count` convolutions of one input, whose outputs lie side by side. After a failure, too, it has to be
 * freed. */
jf_status op_create(device *d, image_op *op, const image_conv *convs, int count, int backward, int together);
void op_free(device *d, image_op *op);
/* Where the weights of convolutions of the same shapes lie: weights (tiles, OP_TILE_WEIGHTS), gradients
 * likewise, with the biases. */
void op_weights(const image_op *op, const image_conv *convs, int32_t *weights);
void op_gradients(const image_op *op, const image_conv *convs, int32_t *weights);
void op_biases(const image_op *op, const image_conv *convs, int32_t *biases); /* (out) */

#endif
