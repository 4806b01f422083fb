/* One residual dense network as a plain struct, A or B of a coupling (residual.c has the formula): what
 * net_kind.describe() gives of the kind "residual". No device has a plan for it. */
#ifndef JF_NET_RESIDUAL_NET_H
#define JF_NET_RESIDUAL_NET_H

#include <stddef.h>

#define RESIDUAL_MAX_BLOCKS 32
#define RESIDUAL_EPSILON    1e-3 /* of its norms */

/* Offsets of parameters: a layer, with the norm of its input where it has one. */
typedef struct residual_layer {
    size_t g, s; /* (in): scale and shift of the norm */
    size_t w, b; /* (in, out), (out) */
    int in, out;
} residual_layer;

typedef struct residual_net {
    int blocks, width, in, out;                                 /* out = 0: there is no such network */
    double slope;                                               /* of the Leaky ReLU below zero */
    double dropout;                                             /* share of units, while it is trained */
    residual_layer first, last, inner[2 * RESIDUAL_MAX_BLOCKS]; /* `first` has no norm */
} residual_net;

#endif
