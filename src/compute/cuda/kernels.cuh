/* What the .cu files share: the C headers, launching, and sums in a fixed order. */
#ifndef JF_COMPUTE_CUDA_KERNELS_CUH
#define JF_COMPUTE_CUDA_KERNELS_CUH

/* Headers of the system before the project's own, which are C and declare C functions. */
#include <cuda_runtime.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "compute/cuda/cuda.h"
#include "compute/cuda/profile.h"
}
#include "compute/cuda/instructions.cuh"

#define THREADS 256 /* of a block, unless said otherwise */

static inline unsigned blocks_for(size_t count, int threads) {
    size_t blocks = (count + (size_t)threads - 1) / (size_t)threads;
    return (unsigned)(blocks < 1 ? 1 : blocks > 0x7fffffff ? 0x7fffffff : blocks);
}

static inline unsigned at_most(unsigned limit, unsigned count) {
    return count < limit ? count : limit;
}

/* Notes what went wrong with the launches before; in a profile their time has this name. flops: of products.
 */
static inline void launched_product(cuda_device *own, const char *kernel, double flops) {
    cuda_note(own, cudaGetLastError(), kernel);
    if (own->profile) cuda_profile_mark(own, kernel, flops);
}
static inline void launched(cuda_device *own, const char *kernel) {
    launched_product(own, kernel, 0);
}

static inline cudaLaunchConfig_t config_of(dim3 grid, int threads, size_t shared, cudaStream_t stream) {
    cudaLaunchConfig_t c = {};
    c.gridDim = grid;
    c.blockDim = dim3((unsigned)threads);
    c.dynamicSmemBytes = shared;
    c.stream = stream;
    return c;
}

/* A kernel in a stream; launched() tells of failures. */
template <class... PARAMETERS, class... ARGUMENTS>
static void launch_in(cudaStream_t stream, void (*kernel)(PARAMETERS...), dim3 grid, int threads,
                      size_t shared, const ARGUMENTS &...arguments) {
    const cudaLaunchConfig_t c = config_of(grid, threads, shared, stream);
    (void)cudaLaunchKernelEx(&c, kernel, arguments...);
}
/* The same without shared memory of the launch's own, in the stream of the device. */
template <class... PARAMETERS, class... ARGUMENTS>
static void launch(const cuda_device *own, void (*kernel)(PARAMETERS...), dim3 grid, int threads,
                   const ARGUMENTS &...arguments) {
    launch_in(own->stream, kernel, grid, threads, 0, arguments...);
}

static inline cudaLaunchAttribute clusters_of(int ranks) {
    cudaLaunchAttribute a;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = (unsigned)ranks;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    return a;
}

/* A kernel that begins while the one before it ends, on GPUs that can: it calls after_the_last() before it
 * touches memory that others write. Its blocks form clusters of `ranks` along x, which is 1 on GPUs without
 * them. */
template <class... PARAMETERS, class... ARGUMENTS>
static void launch_clusters(const cuda_device *own, void (*kernel)(PARAMETERS...), dim3 grid, int ranks,
                            int threads, size_t shared, const ARGUMENTS &...arguments) {
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1] = clusters_of(ranks);
    cudaLaunchConfig_t c = config_of(grid, threads, shared, own->stream);
    c.attrs = attributes;
    c.numAttrs = own->major < 9 ? 0 : ranks > 1 ? 2 : 1;
    (void)cudaLaunchKernelEx(&c, kernel, arguments...);
}
template <class... PARAMETERS, class... ARGUMENTS>
static void launch_early(const cuda_device *own, void (*kernel)(PARAMETERS...), dim3 grid, int threads,
                         size_t shared, const ARGUMENTS &...arguments) {
    launch_clusters(own, kernel, grid, 1, threads, shared, arguments...);
}
/* Of such clusters, how many the GPU has room for at once; 0: that could not be found out. */
template <class... PARAMETERS>
static int clusters_at_once(const cuda_device *own, void (*kernel)(PARAMETERS...), int ranks, int threads,
                            size_t shared) {
    int count = 0;
    if (ranks == 1) {
        cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, threads, shared);
        return e == cudaSuccess ? count * own->processors : 0;
    }
    cudaLaunchAttribute attribute = clusters_of(ranks);
    cudaLaunchConfig_t c = config_of(dim3((unsigned)ranks), threads, shared, NULL);
    c.attrs = &attribute;
    c.numAttrs = 1;
    return cudaOccupancyMaxActiveClusters(&count, kernel, &c) == cudaSuccess ? count : 0;
}
/* for each index below count; blocks may be fewer than it takes */
#define FOR_EACH_INDEX(i, count)                                                                             \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (count);                              \
         i += (size_t)gridDim.x * blockDim.x)

static inline float *floats(real *p) {
    return (float *)p;
}
static inline const float *floats(const real *p) {
    return (const float *)p;
}

/* The sum over a block of THREADS threads, for its first thread, in an order that is always the same. */
template <class T> static __device__ T block_sum(T value) {
    __shared__ T of_warps[32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
    __syncthreads(); /* of_warps may still be read by a sum before */
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    if (threadIdx.x == 0)
        for (unsigned w = 0; w < blockDim.x / 32; w++) value += of_warps[w];
    return value;
}

/* The same for all threads of the block. */
template <class T> static __device__ T block_sum_for_all(T value) {
    __shared__ T total;
    T sum = block_sum(value);
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    sum = total;
    __syncthreads();
    return sum;
}

/* Of each sample the sum of `units` terms: f.term(sample, unit), then f.take(sample, sum). Samples of many
 * units have a block each, those of fewer as many lanes of a warp as they have units, a power of two. */
template <class F> static __global__ void sum_by_block(F f, int units) {
    auto sum = f.nothing();
    size_t sample = blockIdx.x;
    for (int unit = (int)threadIdx.x; unit < units; unit += (int)blockDim.x) sum += f.term(sample, unit);
    sum = block_sum(sum);
    if (threadIdx.x == 0) f.take(sample, sum);
}
template <class F> static __global__ void sum_by_lanes(F f, size_t samples, int units, int lanes) {
    const int lane = (int)threadIdx.x % lanes;
    const size_t sample = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / (size_t)lanes;
    auto sum = f.nothing();
    if (sample < samples)
        for (int unit = lane; unit < units; unit += lanes) sum += f.term(sample, unit);
    for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (sample < samples && lane == 0) f.take(sample, sum);
}
#define MANY_UNITS   48
#define FEW_UNITS_BY 64 /* threads of a block */
template <class F>
static void sum_of_samples(cuda_device *own, F f, int samples, int units, const char *name) {
    if (samples < 1) return;
    int lanes = 1;
    while (lanes < units && lanes < 32) lanes *= 2;
    if (units >= MANY_UNITS)
        launch(own, sum_by_block<F>, (unsigned)samples, THREADS, f, units);
    else
        launch(own, sum_by_lanes<F>, blocks_for((size_t)samples * (size_t)lanes, FEW_UNITS_BY), FEW_UNITS_BY,
               f, (size_t)samples, units, lanes);
    launched(own, name);
}

/* to (count) += parts (pieces, stride), in their order */
static __global__ void add_pieces(float *to, const float *parts, size_t stride, int pieces, size_t count) {
    FOR_EACH_INDEX (i, count) {
        float sum = 0;
        for (int p = 0; p < pieces; p++) sum += parts[(size_t)p * stride + i];
        to[i] += sum;
    }
}

/* Pieces that `rows` rows of work are cut into, where each has `stride` partial sums: enough for all of a
 * GPU, none of fewer rows than `least`, and no more than there is memory for. They follow from the sizes
 * alone. */
static inline int pieces_for(size_t rows, size_t stride, size_t least, size_t room) {
    size_t pieces = rows / (least < 1 ? 1 : least), fit = room / (stride < 1 ? 1 : stride);
    if (pieces > 512) pieces = 512;
    if (pieces > fit) pieces = fit;
    return pieces < 1 ? 1 : (int)pieces;
}
/* Where piece p of `rows` rows begins. */
static inline __host__ __device__ size_t piece_begin(size_t rows, int pieces, int p) {
    return rows * (size_t)p / (size_t)pieces;
}

#endif
