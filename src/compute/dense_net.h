/* One dense network, as devices see it: `depth` hidden layers of `width` units with Leaky ReLU, then a linear
 * layer. Layer i: y = act(x W_i + b_i), W_i (in_i, out_i) at params + w[i], b_i (out_i) at params + b[i]. */
#ifndef JF_COMPUTE_DENSE_NET_H
#define JF_COMPUTE_DENSE_NET_H

#include <stddef.h>

typedef struct dense_net {
    int in, out, depth, width; /* out = 0: there is no such network */
    double slope;              /* of the Leaky ReLU below zero, in (0, 1] */
    const size_t *w, *b;       /* (depth + 1) */
} dense_net;

#endif
