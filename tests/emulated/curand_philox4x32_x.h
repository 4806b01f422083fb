/* Philox by the name that CUDA's toolkit gives it. */
#ifndef JF_TESTS_EMULATED_CURAND_PHILOX4X32_X_H
#define JF_TESTS_EMULATED_CURAND_PHILOX4X32_X_H

#include <Random123/philox.h>
#include <cuda_runtime.h>

static inline uint4 curand_Philox4x32_10(uint4 counter, uint2 key) {
    const philox4x32_ctr_t c = {{counter.x, counter.y, counter.z, counter.w}};
    const philox4x32_key_t k = {{key.x, key.y}};
    const philox4x32_ctr_t found = philox4x32(c, k);
    return make_uint4(found.v[0], found.v[1], found.v[2], found.v[3]);
}

#endif
