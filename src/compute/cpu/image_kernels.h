/* Kernels of image networks, compiled once per instruction set from image_kernels.c: 3x3 convolutions and
 * layer norms of one sample [h][w][c]. Distances (rows, pixels, runs) are in floats.
 *
 * Vectors of a 3x3 convolution hold some of its outputs, and come in two kinds, so that narrow groups fill
 * them, too:
 *  - joined > 0: the outputs of `joined` groups side by side, one of the group's inputs at a time;
 *  - joined = 0: vector/q outputs of one group times q of its inputs: lane l is output l / q and input l % q.
 * A unit is as many outputs as one vector holds. Packed weights are such vectors, w[unit][row of taps][step
 * of inputs][column of taps], with zeros for absent outputs and inputs. Gradients of weights have the same
 * layout.
 *
 * Where it saves enough, rows of taps are taken at the points of Winograd's F(4, 3) (winograd.c; strip > 0):
 * weights and their gradients are then w[unit][point][input][row of taps]; lane l is output l / bundle of
 * group l % bundle of the bundle. */
#ifndef JF_COMPUTE_CPU_IMAGE_KERNELS_H
#define JF_COMPUTE_CPU_IMAGE_KERNELS_H

#include "compute/cpu/fetch.h"

typedef struct norm_kernels norm_kernels; /* norm_kernels.h */

/* One of the kernels' images: pixel (i, j) at + i row + j pixel. */
typedef struct image_view {
    float *at;
    size_t row, pixel;
} image_view;

typedef struct conv_job {
    int h, w, dilation;
    int groups, in, out;              /* groups, and channels of one */
    int joined, q, units, steps;      /* as above */
    int strip, strips, chunk, bundle; /* as in winograd.h; strip 0: not by points */
    float *scratch;                   /* winograd_scratch() numbers */
    image_view x, y; /* x (of conv) and y (of conv_dw): zeros for `dilation` pixels left and right of a row */
    float *packed;   /* weights, or their gradient */
    const float *b;  /* (groups, out), NULL: none */
    int add;         /* to what is there */
} conv_job;

struct image_kernels {
    int join; /* inputs that joined groups may have in all; 0: they cannot be joined */
    /* y = conv(x) + b, or += */
    void (*conv)(const conv_job *c);
    /* w = gradient from x and y = dL/dy, or += */
    void (*conv_dw)(const conv_job *c);
    /* y (rows, cols) = x (rows, k) w (k, cols) + b (cols) + h (rows, cols), with ldy for h, too; b and h, or
     * h, may be NULL. Meanwhile memory is fetched. */
    void (*product)(int rows, int cols, int k, const float *x, size_t ldx, const float *w, const float *b,
                    const float *h, float *y, size_t ldy, fetch_list *fetch);
    const norm_kernels *norm;
};

#endif
