/* 3x3 convolutions with half of the multiplications (winograd.c): which ones, and what they need.
 *
 * Pixels and rows are sorted by their remainders modulo the dilation, so that taps are neighbours. A column
 * is one tile of 3 or 4 outputs of a remainder of pixels, in all rows of the image; its rows are lines, with
 * a line of zeros before and after those of each remainder; strips of lines are summed together. A bundle is
 * as many narrow groups of the convolution as fill a vector with their outputs (1: a group has whole
 * vectors), a chunk as many groups as fill whole vectors with their inputs, and with their outputs. */
#ifndef JF_COMPUTE_CPU_WINOGRAD_H
#define JF_COMPUTE_CPU_WINOGRAD_H

#include "compute/cpu/image_kernels.h"

#define WINOGRAD_POINTS 6
#define WINOGRAD_STRIPS                                                                                      \
    { 7, 8 } /* lines of a strip: accumulators of a unit */

/* Weights at the points, from three taps. */
extern const float winograd_weights[WINOGRAD_POINTS][3];

/* Plans c (shapes are set) for vectors of so many floats; 0, and nothing is changed, where it does not fit or
 * saves too little. */
int winograd_plan(conv_job *c, int vector);
/* Numbers of scratch for a job that was planned, and how many pixels of zeros it needs right of a row. */
size_t winograd_scratch(const conv_job *c);
int winograd_halo(const conv_job *c);

/* Vectors of packed weights of a unit, by points or not. */
static inline int conv_unit_vectors(const conv_job *c) {
    return 3 * (c->strip ? WINOGRAD_POINTS : 3) * c->steps;
}

/* Pixels or rows of one remainder. */
static inline int winograd_share(int size, int remainder, int dilation) {
    return remainder < size ? (size - remainder + dilation - 1) / dilation : 0;
}
static inline int winograd_classes(const conv_job *c) { /* remainders of rows */
    return c->dilation < c->h ? c->dilation : c->h;
}
static inline int winograd_class_lines(const conv_job *c) {
    return c->strips * c->strip + 2;
}
/* Tiles of a remainder with so many outputs, and how many of them are short, with 3 outputs instead of 4. */
static inline int winograd_tiles(int outputs) {
    return (outputs + 3) / 4;
}
static inline int winograd_short(int outputs) {
    int tiles = winograd_tiles(outputs), spare = 4 * tiles - outputs;
    return spare < tiles ? spare : tiles;
}

#endif
