/* What the kernels of dense networks share: sizes of layers, and where their rows are. */
#ifndef JF_COMPUTE_CUDA_DENSE_LAYERS_CUH
#define JF_COMPUTE_CUDA_DENSE_LAYERS_CUH

#include "compute/cuda/kernels.cuh"
extern "C" {
#include "compute/cuda/dense_kernels.h"
}

static __host__ __device__ int layer_in(const dense_view &v, int i) {
    return i == 0 ? v.in : v.width;
}
static __host__ __device__ int layer_out(const dense_view &v, int i) {
    return i == v.depth ? v.out : v.width;
}

template <int UNITS>
static __device__ float *layer_rows(float *base, const dense_call &c, int net, int layer) {
    return base + ((size_t)net * (size_t)c.layers + (size_t)layer) * (size_t)c.n * UNITS;
}

/* Of both networks in one direction. */
static double flops_of(const dense_call *c) {
    double weights = 0;
    for (int net = 0; net < 2; net++)
        for (int i = 0; c->nets[net].out > 0 && i <= c->nets[net].depth; i++)
            weights += (double)layer_in(c->nets[net], i) * layer_out(c->nets[net], i);
    return 2 * weights * c->n;
}

#endif
