/* One ResNeXt network for images [h][w][.], as devices see it: a 3x3 convolution in, `depth` residual blocks
 * of K channels, a 3x3 convolution out (net/resnext.c has the formula). Each part comes with the offsets of
 * its two parameters. */
#ifndef JF_COMPUTE_IMAGE_NET_H
#define JF_COMPUTE_IMAGE_NET_H

#include "compute/compute.h"

#define IMAGE_MAX_BRANCHES 8

typedef struct image_conv {
    conv_shape shape;
    size_t w, b;
} image_conv;
typedef struct image_norm {
    norm_shape shape;
    size_t g, b;
} image_norm;
typedef struct image_residual { /* n0, c0 (1x1), n1, branches (3x3, dilated), n2, c1 (1x1) */
    image_norm n0, n1, n2;
    image_conv c0, branch[IMAGE_MAX_BRANCHES], c1;
} image_residual;
typedef struct image_net {
    int h, w, K, concat; /* concat: channels after the branches; K = 0: there is no such network */
    int branches, depth; /* branches of a residual block, and how many of those, all of the same shapes */
    image_conv in, out;
    image_norm last;
    image_residual *blocks; /* (depth) */
} image_net;

#endif
