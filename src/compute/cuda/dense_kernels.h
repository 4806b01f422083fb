/* What a whole coupling layer of dense networks is computed by: the networks of all rows (dense_networks.cu,
 * dense_gradients.cu), and the law on elements of the state (dense_law.cu). The plan that calls them is
 * dense_coupling.c. */
#ifndef JF_COMPUTE_CUDA_DENSE_KERNELS_H
#define JF_COMPUTE_CUDA_DENSE_KERNELS_H

#include "compute/cuda/cuda.h"

enum {
    DENSE_MAX_LAYERS = 32,  /* of a network */
    DENSE_MAX_TOGETHER = 64 /* elements of a law that couples them with one another */
};

/* A network as its kernels see it. out 0: there is none. */
typedef struct dense_view {
    int in, out, depth, width;
    float slope;
    size_t w[DENSE_MAX_LAYERS], b[DENSE_MAX_LAYERS];
} dense_view;

/* What the networks of a batch work on. Activations and gradients are [network][layer][row][units], units 64
 * or 128. */
typedef struct dense_call {
    dense_view nets[2];
    int n, dim, k, layers, units;
    const float *params, *state;
    const int32_t *source;
    float *acts;   /* of all layers, or NULL: */
    float *out;    /* [network][row][units], of the last ones */
    float *grads;  /* of the layers' sums; the last ones come from the law */
    float *du1;    /* [network][row][k] */
    float *dstate; /* (n, dim) */
    float *grad;   /* of the parameters; NULL: not wanted */
    float *dscale; /* that of the law's scale among them, or NULL */
    float *ds;     /* (n): its terms */
} dense_call;

/* The law of all rows. */
typedef struct couple_call {
    law_config law;
    int n, dim, m, inverse, units;
    const int32_t *target;
    const float *A, *b, *s; /* (n, units); b NULL: no shift */
    float *state, *logdet;
    float *dstate; /* NULL: forward */
    const float *dlogdet;
    float *dA, *db, *ds; /* (n, units), (n, units), (n) */
} couple_call;

#ifdef __cplusplus
extern "C" {
#endif
void dense_prepare(cuda_device *own, int units); /* once before the others */
void dense_forward(cuda_device *own, const dense_call *c);
void dense_backward(cuda_device *own, const dense_call *c);
/* After it: grad += of all weights, dstate += du1, the gradient of the scale. */
void dense_gradients(cuda_device *own, const dense_call *c);
void dense_couple(cuda_device *own, const couple_call *c);
#ifdef __cplusplus
}
#endif

#endif
