/* One dense network on one chunk of samples, whose activations stay in the cache.
 *
 * Weights are used as they lie where their rows are whole vectors, otherwise packed with zeros; for the
 * backward pass they are also packed transposed. Rows of scratch have one leading dimension, `ld`, the widest
 * padded layer. */
#ifndef JF_COMPUTE_CPU_NETWORK_H
#define JF_COMPUTE_CPU_NETWORK_H

#include "compute/cpu/cpu.h"
#include "compute/dense_net.h"

#define NETWORK_MAX_LAYERS 65

/* Sizes, and where packed weights and partial gradients go: the same for every call. */
typedef struct network {
    const dense_net *net;
    int layers, ld;
    int in[NETWORK_MAX_LAYERS], out[NETWORK_MAX_LAYERS];
    int in_pad[NETWORK_MAX_LAYERS], out_pad[NETWORK_MAX_LAYERS]; /* whole vectors */
    int narrow_out; /* the last layer's gradient is (out, in_pad): transposed */
    size_t dw[NETWORK_MAX_LAYERS], db[NETWORK_MAX_LAYERS]; /* offsets into a slice's partial gradient */
    size_t packed[NETWORK_MAX_LAYERS];                     /* offsets of packed weights */
    size_t packed_count, partial_count; /* floats of packed weights and of a partial gradient */
} network;

/* The weights of a call as kernels read them, of the layers that there are: apart, so that a call copies and
 * clears nothing of a size that only the deepest networks need. */
typedef struct network_weights {
    const float *w[NETWORK_MAX_LAYERS];  /* (in, out_pad) */
    const float *b[NETWORK_MAX_LAYERS];  /* (out_pad) */
    const float *wt[NETWORK_MAX_LAYERS]; /* (out, in_pad): of narrow outputs, and backward */
} network_weights;

void network_plan(network *t, const dense_net *net, int vector);
/* Fills one layer's part of `packed` (packed_count floats) and its pointers; the transposed weights where
 * they are needed. */
void network_pack(const network *t, network_weights *to, int layer, const float *params, float *packed,
                  int backward);

/* h[0] holds the input (rows, in); h[i + 1] gets the output of layer i, for the first `layers` layers. m:
 * this worker's meter, or NULL. */
void network_forward(const network *t, const network_weights *of, const cpu_kernels *k, meter *m, int rows,
                     float *const *h, int layers);
/* From h of network_forward (all but the last layer) and g (rows, out), the gradient of the output; g and
 * g_next are overwritten. Returns the one of them that holds the gradient of the input. partial: NULL, or
 * this slice's partial gradient, added to where `accumulate`. next: NULL, or activations that will be wanted
 * after those of this network. */
float *network_backward(const network *t, const network_weights *of, const cpu_kernels *k, meter *m, int rows,
                        float *const *h, float *g, float *g_next, float *partial, int accumulate,
                        const float *next);
/* grad (flat, like params) += the partial gradients (slices, stride) of all slices, in their order. */
void network_reduce(const network *t, const cpu_kernels *k, int layer, const float *partial, size_t stride,
                    int slices, float *grad);

#endif
