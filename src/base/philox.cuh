/* Philox 4x32-10 of the CUDA toolkit, for formulas that run on a GPU. */
#ifndef JF_BASE_PHILOX_CUH
#define JF_BASE_PHILOX_CUH

#ifndef QUALIFIERS
#define QUALIFIERS static __forceinline__ __device__
#endif
#include <curand_philox4x32_x.h>
#include <stdint.h>

/* The host has its own: there it is never called. */
static inline __host__ __device__ void cuda_philox(const uint32_t *counter, const uint32_t *key,
                                                   uint32_t *block) {
#ifdef __CUDA_ARCH__
    uint4 found = curand_Philox4x32_10(make_uint4(counter[0], counter[1], counter[2], counter[3]),
                                       make_uint2(key[0], key[1]));
    block[0] = found.x, block[1] = found.y, block[2] = found.z, block[3] = found.w;
#else
    (void)counter, (void)key, (void)block;
#endif
}

#endif
