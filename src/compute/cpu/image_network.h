/* One image network on one sample, whose activations stay in the cache.
 *
 * Channels are padded to whole vectors (`pad`). Images are compact, (h, w, pad), or spaced: `halo` pixels of
 * zeros before the first row and after every row, so that taps of 3x3 convolutions need not look for the
 * border. Weights are packed once per call; all residual blocks have one shape, hence one plan. */
#ifndef JF_COMPUTE_CPU_IMAGE_NETWORK_H
#define JF_COMPUTE_CPU_IMAGE_NETWORK_H

#include "compute/cpu/cpu.h"
#include "compute/cpu/image_kernels.h"
#include "compute/image_net.h"

/* A 3x3 convolution: shapes of its vectors forward and backward, offsets of its packed weights (in a block's)
 * and of the gradient (in a block's part of a partial gradient). */
typedef struct conv_plan {
    conv_shape shape;
    conv_job forward, backward; /* sizes only */
    size_t w, wt, dw;
    size_t w_count, wt_count;
} conv_plan;

/* A 1x1 convolution as a product: w (in, out_pad), wt (out, in_pad), b (out_pad), dw (in, out_pad). */
typedef struct product_plan {
    int in, out, in_pad, out_pad;
    size_t w, wt, b, dw, db;
} product_plan;

typedef struct image_network {
    const image_net *net;
    const float *params;
    float *packed;                /* blocks after the head: in and out */
    int vector, thin, wide, edge; /* padded channels: of K, concat, and of input and output */
    int pixels, halo, spaced;     /* spaced: pixels from row to row of a spaced image */
    conv_plan in, out, branch[IMAGE_MAX_BRANCHES];
    product_plan c0, c1;
    size_t packed_head, packed_block, packed_count;
    size_t conv_scratch;
    /* partial gradients of the head: in.dw, in_db, last_dg ..; of a block: n0, c0, n1, branches, n2, c1 */
    size_t in_db, out_db, last_dg, n0_dg, n1_dg, n2_dg, branch_db;
    size_t partial_head, partial_block, partial_count;
} image_network;

/* Activations of one sample: the inputs of all norms of a network but the first, from which its backward pass
 * starts, and means and scales of all. */
typedef struct image_acts {
    float *at;
    int all; /* 0: every block takes the place of the one before; enough for a forward pass */
} image_acts;

/* What a worker needs besides, for any number of blocks. */
typedef struct image_spare {
    float *y, *y_spaced, *g, *g_spaced, *t, *h, *conv;
    meter *m; /* of the worker, or NULL; set by the caller */
} image_spare;

void image_network_plan(image_network *t, const image_net *net, const cpu_kernels *k);
/* Part `part` of 0 .. depth of the packed weights: the head, or a block; `backward`: the transposed ones,
 * too. */
void image_network_pack(const image_network *t, int part, int backward);

float *image_packed_block(const image_network *t, int block);
size_t image_norm_count(const image_norm *m); /* of g, and of b */

size_t image_acts_count(const image_network *t, int all);
size_t image_spare_count(const image_network *t);
/* Lays out a spare in memory; the zeros of its spaced images, which stay zero, have to be cleared once. */
image_spare image_spare_place(const image_network *t, float *at);
void image_spare_clear(const image_spare *s);
/* A spaced image of input or output: how many numbers it needs, and where its pixels are. */
size_t image_edge_count(const image_network *t);
image_view image_edge_view(const image_network *t, float *at);

/* out (h, w, .) dense, from a spaced input. */
void image_network_forward(const image_network *t, const cpu_kernels *k, image_view u1, image_acts acts,
                           const image_spare *s, float *out);
/* Partial gradients: those of the head (the first and last convolution and the last norm), and of block i at
 * blocks + i * block_stride, which is 0 where all blocks use one place after the other. head NULL: no
 * gradients of parameters wanted. */
typedef struct image_partial {
    float *head, *blocks;
    size_t block_stride;
} image_partial;

/* The backward pass of one sample, from the acts of a forward pass, in steps: step 0 goes through the last
 * convolution and norm, step i through block depth - i, the last step also through the first convolution. */
typedef struct image_return {
    const image_network *t;
    const cpu_kernels *k;
    image_acts acts;
    const image_spare *s;
    float *dh; /* of this sample, image_dh_count() numbers, from step to step */
    image_partial partial;
    int accumulate;      /* partial gradients are added to */
    image_view dout, u1; /* spaced: dL/dout for step 0, the input for the last step, */
    float *du1;          /* which gives du1 (h, w, .) dense */
} image_return;
int image_return_steps(const image_network *t);
size_t image_dh_count(const image_network *t);
void image_return_step(const image_return *w, int step);

/* Sums of the partial gradients of a step: tasks 0 .. image_reduce_tasks() - 1. `first` is that of the first
 * of `slices` slices, the others follow in steps of `stride`; grad (flat, like params) += all of them, in
 * their order. That of the first slice is overwritten. */
int image_reduce_tasks(const image_network *t, int step);
void image_network_reduce(const image_network *t, const cpu_kernels *k, int step, int task,
                          const image_partial *first, size_t stride, int slices, float *grad);

#endif
