/* What is known of a coupling layer of image networks before it runs (image_plan.c).
 *
 * The parts of a network in their order: the convolution in, then of each residual block the first 1x1
 * convolution, the branches, the second 1x1 convolution, and at the end the convolution out. Part q gives the
 * activations q, which norm q normalises for part q + 1. Activations 0, 3, 6, ... are the residual stream:
 * part 3, 6, ... adds to the one before. */
#ifndef JF_COMPUTE_CUDA_IMAGE_PLAN_H
#define JF_COMPUTE_CUDA_IMAGE_PLAN_H

#include "compute/cuda/cuda.h"
#include "compute/cuda/image_op.h"

enum { OP_IN, OP_FIRST, OP_BRANCHES, OP_SECOND, OP_OUT, OP_KINDS };
enum { FORWARD, BACKWARD };

#define NORM_NUMBERS                                                                                         \
    5 /* of a norm in the table: scale, bias, width, place among partial gradients, blocks of a piece */

/* Where a part of a network has what, from the beginning of its kind. */
typedef struct part_place {
    int tile[2];  /* of its packed weights: forward, backward */
    int gradient; /* the first tile of the gradient of its weights */
    int bias;
} part_place;

/* How a cluster of thread blocks holds a sample while it passes a network (image_onchip.cuh). */
#define ONCHIP_WARPS  13 /* of a block, at most: 416 pixels, and room for 152 registers a thread */
#define ONCHIP_PIXELS 32 /* of a warp */
#define MAX_RANKS     8  /* blocks of a cluster */
typedef struct onchip_plan {
    int ranks;                          /* blocks of a cluster; 0: samples do not stay on the chip */
    int rows, warps;                    /* of a block */
    int width, pixel_bytes, tile_bytes; /* of what the branches read: pixels from row to row; in bytes */
    int table_tiles;                    /* of 16 pixels that have norm parameters of their own */
    int block_tables;                   /* vectors of norm parameters of a residual block */
    int thin_biases, wide_biases;       /* numbers, in 32s */
    int odd;                            /* the last step of every tile of the branches is half a one */
    int in_steps;                       /* of a tile of the convolution in: the same for all */
    int out_together[2];                /* tiles of a set of the convolution out */
    size_t bytes;                       /* of shared memory */
} onchip_plan;

/* How teams of warps go back through the branches in a stream of rows (image_stream.cuh). Of each set of
 * eight channels that branches read, the table says: which convolution's biases it has beside those of the
 * first (0: none); of each convolution the first of the eight channels that it gives them; of each
 * convolution and tap where the weights lie among the packed ones (twice the tile, and which half), and where
 * their gradient lies among those of the part (in numbers). */
#define STREAM_WARPS            16 /* of a block, at most: room for 128 registers a thread */
#define STREAM_ROWS             3  /* of a step */
#define STREAM_STAGES           3
#define STREAM_CONVS            3
#define STREAM_WIDE_EACH        3 /* vectors that a thread copies of the rows of a step, at most */
#define STREAM_THIN_EACH        2
#define STREAM_CHANNELS         1
#define STREAM_WEIGHTS(convs)   (1 + (convs))
#define STREAM_GRADIENTS(convs) (1 + 10 * (convs))
#define STREAM_NUMBERS(convs)   (1 + 19 * (convs))
typedef struct stream_plan {
    int convs;                     /* 0: not for such branches */
    int sets, strips, teams;       /* of a team: sets of channels, strips of 16 columns; of a block: teams */
    int wide_bytes, thin_bytes;    /* of a pixel in shared memory: of what branches gave, and read */
    int back_bytes, weights_bytes; /* of a team, in either kernel */
    int32_t *table;                /* on the device */
} stream_plan;

typedef struct image_plan {
    layer_plan plan;
    coupling_layer layer;
    const image_net *nets;           /* [2] */
    int first_net, net_count, depth; /* those that there are */
    int h, w, K, concat, in, outs[2];
    int per_element;
    float slope, epsilon;
    int parts, norms; /* 3 depth + 2, 3 depth + 1 */
    int back_in_one;  /* the backward pass through 1x1 convolutions is one kernel each (image_back.cuh) */
    onchip_plan onchip;
    stream_plan stream;
    image_op ops[2][OP_KINDS][2];  /* [network][kind][direction] */
    part_place *place[2];          /* (parts) */
    size_t *norm_at;               /* (norms): where its packed scale begins; its bias lies behind it */
    size_t *norm_gradient_at;      /* (norms): where its gradients begin among those of a piece */
    size_t norm_numbers;           /* of all of them */
    size_t norm_gradients;         /* numbers of a piece of their partial gradients */
    int tiles[2][2], gradients[2]; /* all tiles of a network */
    int biases[2];                 /* numbers of packed biases of a network */
    int32_t *weight_map[2][2];     /* on the device: [network][direction] */
    int32_t *bias_map[2], *gradient_map[2], *norm_table;
    int32_t *second_table; /* of each network and residual block the second 1x1 convolution: weights, bias */
    int32_t *source, *target;
} image_plan;

static inline int part_kind(const image_plan *p, int part) {
    return part == 0 ? OP_IN : part == p->parts - 1 ? OP_OUT : OP_FIRST + (part - 1) % 3;
}
static inline int norm_channels(const image_plan *p, int norm) {
    return norm % 3 == 2 ? p->concat : p->K;
}
static inline const image_norm *norm_of(const image_net *net, int norm) {
    const image_residual *b = &net->blocks[norm / 3 < net->depth ? norm / 3 : 0];
    return norm == 3 * net->depth ? &net->last : norm % 3 == 0 ? &b->n0 : norm % 3 == 1 ? &b->n1 : &b->n2;
}

jf_status image_plan_create(device *d, image_plan **out,
                            const coupling_layer *layer); /* NULL: not for such a layer */
void image_plan_free(device *d, image_plan *p);

/* Elements that a block of norm_back_kernel takes: what partial gradients of norms for each channel are
 * summed over. */
#define NORM_ELEMENTS 2048 /* of a block of the backward pass through a norm */
#define NORM_SAMPLES  64   /* at most */

#endif
