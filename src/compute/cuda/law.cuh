/* Laws as types: the formulas of law/NAME.h, for the kernels that run them unit by unit. A unit is one
 * element where the law treats each by itself, otherwise a row of m elements. */
#ifndef JF_COMPUTE_CUDA_LAW_CUH
#define JF_COMPUTE_CUDA_LAW_CUH

#include "compute/cuda/kernels.cuh"
#include <tgmath.h>

typedef float num;
#define LAW_FN static __host__ __device__ inline
extern "C" {
#include "compute/law/law_formulas.h"
}

/* Each law as a type with the same functions: of one unit, with A, b and the gradients where it has its own.
 * The gradient of b goes through a variable: of a pointer that is either to it or to nothing, nvcc 13.0 loses
 * what is stored. */
#define EACH(name, is_shared)                                                                                \
    struct law_of_##name {                                                                                   \
        enum { each = 1, shared = is_shared };                                                               \
        static __host__ __device__ int outputs(const law_config *c, int) { return name##_outputs(c, 1); }    \
        static __device__ num forward(const law_config *c, int, const num *A, const num *b, num s, num *u) { \
            return name##_forward(c, A, b ? *b : 0, s, u);                                                   \
        }                                                                                                    \
        static __device__ num inverse(const law_config *c, int, const num *A, const num *b, num s, num *v) { \
            return name##_inverse(c, A, b ? *b : 0, s, v);                                                   \
        }                                                                                                    \
        static __device__ void backward(const law_config *c, int, const num *A, const num *b, num s, num *v, \
                                        num *dv, num dl, num *dA, num *db, num *ds) {                        \
            num shift = 0;                                                                                   \
            name##_backward(c, A, b ? *b : 0, s, v, dv, dl, dA, &shift, ds);                                 \
            if (b) *db = is_shared ? *db + shift : shift;                                                    \
        }                                                                                                    \
    };
#define ALL(name, is_shared)                                                                                 \
    struct law_of_##name {                                                                                   \
        enum { each = 0, shared = is_shared };                                                               \
        static __host__ __device__ int outputs(const law_config *c, int m) { return name##_outputs(c, m); }  \
        static __device__ num forward(const law_config *c, int m, const num *A, const num *b, num s,         \
                                      num *u) {                                                              \
            return name##_forward(c, m, A, b, s, u);                                                         \
        }                                                                                                    \
        static __device__ num inverse(const law_config *c, int m, const num *A, const num *b, num s,         \
                                      num *v) {                                                              \
            return name##_inverse(c, m, A, b, s, v);                                                         \
        }                                                                                                    \
        static __device__ void backward(const law_config *c, int m, const num *A, const num *b, num s,       \
                                        num *v, num *dv, num dl, num *dA, num *db, num *ds) {                \
            name##_backward(c, m, A, b, s, v, dv, dl, dA, db, ds);                                           \
        }                                                                                                    \
    };
#define LAW_EACH(name)    EACH(name, 0)
#define LAW_ALL(name)     ALL(name, 0)
#define SHARED_EACH(name) EACH(name, 1)
#define SHARED_ALL(name)  ALL(name, 1)
#define X(name, form)     form(name)
LAW_LIST(X)
#undef X

/* *to += the sum of the parts */
static __global__ void add_sum_kernel(float *to, const float *parts, size_t count) {
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *to += (float)sum;
}

#endif
