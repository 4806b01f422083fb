/* CUDA's language for a C++ compiler: its words, its types, and launches. A launch is run at once, thread by
 * thread (machine.h), or recorded. */
#ifndef JF_TESTS_EMULATED_CUDA_RUNTIME_H
#define JF_TESTS_EMULATED_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"
#include <functional>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__       static thread_local /* blocks of a thread of the host come one after the other */

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
};

#define VECTORS(type, name)                                                                                  \
    struct alignas(2 * sizeof(type)) name##2 {                                                               \
        type x, y;                                                                                           \
    };                                                                                                       \
    struct alignas(16) name##4 {                                                                             \
        type x, y, z, w;                                                                                     \
    };                                                                                                       \
    static inline name##2 make_##name##2(type x, type y) {                                                   \
        return {x, y};                                                                                       \
    }                                                                                                        \
    static inline name##4 make_##name##4(type x, type y, type z, type w) {                                   \
        return {x, y, z, w};                                                                                 \
    }
VECTORS(float, float)
VECTORS(double, double)
VECTORS(int, int)
VECTORS(unsigned, uint)
#undef VECTORS

extern constinit thread_local dim3 threadIdx, blockIdx, gridDim, blockDim;

/* ---- launches ---- */

enum cudaLaunchAttributeID {
    cudaLaunchAttributeClusterDimension,
    cudaLaunchAttributeProgrammaticStreamSerialization
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        struct {
            unsigned x, y, z;
        } clusterDim;
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

/* In the stream of the config, which must be able to: of the function whose shared memory was allowed by its
 * address. */
cudaError_t emulated_launch(const cudaLaunchConfig_t &config, const void *function,
                            std::function<void()> body);
cudaError_t emulated_allow(const void *function, size_t bytes);
size_t emulated_allowed(const void *function);
int emulated_room_for(int ranks); /* clusters that run at once */

template <class... PARAMETERS, class... ARGUMENTS>
static cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(PARAMETERS...),
                                      const ARGUMENTS &...arguments) {
    const std::tuple<PARAMETERS...> values(arguments...);
    return emulated_launch(*config, (const void *)kernel, [=] { std::apply(kernel, values); });
}

struct cudaFuncAttributes {
    int maxDynamicSharedSizeBytes;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
template <class... PARAMETERS>
static cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *to, void (*kernel)(PARAMETERS...)) {
    to->maxDynamicSharedSizeBytes = (int)emulated_allowed((const void *)kernel);
    return cudaSuccess;
}
template <class... PARAMETERS>
static cudaError_t cudaFuncSetAttribute(void (*kernel)(PARAMETERS...), cudaFuncAttribute, int value) {
    return emulated_allow((const void *)kernel, (size_t)value);
}
template <class... PARAMETERS>
static cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void (*)(PARAMETERS...), int,
                                                                 size_t) {
    *count = 1;
    return cudaSuccess;
}
template <class... PARAMETERS>
static cudaError_t cudaOccupancyMaxActiveClusters(int *count, void (*)(PARAMETERS...),
                                                  const cudaLaunchConfig_t *config) {
    *count = emulated_room_for((int)config->attrs[0].val.clusterDim.x);
    return cudaSuccess;
}

#endif
