/* Numbers one by one: clearing, adding, index maps, random numbers, sums. */
#include "base/philox.cuh"
#include "compute/cuda/kernels.cuh"
extern "C" {
#include "compute/dropout_formulas.h"
}

static __global__ void fill_kernel(float *to, float value, size_t count) {
    FOR_EACH_INDEX (i, count) to[i] = value;
}
void cuda_fill(device *d, real *to, double value, size_t count) {
    cuda_device *own = cuda_use(d);
    if (count == 0) return;
    launch(own, fill_kernel, blocks_for(count, THREADS), THREADS, floats(to), (float)value, count);
    launched(own, "fill");
}

static __global__ void add_kernel(float *to, const float *from, size_t count) {
    FOR_EACH_INDEX (i, count) to[i] += from[i];
}
void cuda_add(device *d, real *to, const real *from, size_t count) {
    cuda_device *own = cuda_use(d);
    if (count == 0) return;
    launch(own, add_kernel, blocks_for(count, THREADS), THREADS, floats(to), floats(from), count);
    launched(own, "add");
}

/* ---- sums ---- */

static __global__ void sum_kernel(double *to, const float *values, size_t count, double weight) {
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += values[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *to += weight * sum;
}
void cuda_sum_into(device *d, scalar *to, const real *values, size_t count, double weight) {
    cuda_device *own = cuda_use(d);
    launch(own, sum_kernel, 1, 1024, (double *)to, floats(values), count, weight);
    launched(own, "sums into scalars");
}

/* Bits of doubles that are not negative are in the order of the doubles; the largest does not depend on any
 * order. */
static __global__ void largest_kernel(unsigned long long *to, const float *a, const float *b, size_t count) {
    double largest = 0;
    FOR_EACH_INDEX (i, count) largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    for (int step = 16; step > 0; step /= 2)
        largest = fmax(largest, __shfl_down_sync(0xffffffff, largest, step));
    if (threadIdx.x % 32 == 0) atomicMax(to, (unsigned long long)__double_as_longlong(largest));
}
void cuda_largest_difference_into(device *d, scalar *to, const real *a, const real *b, size_t count) {
    cuda_device *own = cuda_use(d);
    cuda_note(own, cudaMemsetAsync(to, 0, sizeof(double), own->stream), "clearing");
    if (count == 0) return;
    unsigned blocks = at_most(1024, blocks_for(count, THREADS));
    launch(own, largest_kernel, blocks, THREADS, (unsigned long long *)to, floats(a), floats(b), count);
    launched(own, "largest differences");
}

/* ---- random numbers: pairs, as Box and Muller make them ---- */

static __global__ void normal_kernel(float *to, size_t n, int dim, rng_key key, uint64_t first) {
    int pairs = (dim + 1) / 2;
    FOR_EACH_INDEX (i, n * (size_t)pairs) {
        size_t sample = i / (size_t)pairs;
        int pair = (int)(i % (size_t)pairs);
        rng r = stream_of(key, first + sample);
        r.counter[0] = (uint32_t)pair;
        float *at = to + sample * (size_t)dim + 2 * pair;
        at[0] = (float)stream_normal(&r);
        if (2 * pair + 1 < dim) at[1] = (float)r.spare;
    }
}
void cuda_normal(device *d, real *to, int n, int dim, rng_key key, uint64_t first) {
    cuda_device *own = cuda_use(d);
    if (n < 1 || dim < 1) return;
    size_t count = (size_t)n * (size_t)((dim + 1) / 2);
    launch(own, normal_kernel, blocks_for(count, THREADS), THREADS, floats(to), (size_t)n, dim, key, first);
    launched(own, "normal numbers");
}

/* ---- dropout: a thread for each block of random bits ---- */

static __global__ void dropout_kernel(float *x, size_t count, uint64_t seed, const double *step,
                                      uint32_t place, double rate, uint64_t first, size_t blocks) {
    FOR_EACH_INDEX (i, blocks) {
        double factors[DROPOUT_BLOCK];
        uint64_t block = first / DROPOUT_BLOCK + i;
        dropout_factors(seed, *step, place, rate, block, factors);
        for (int k = 0; k < DROPOUT_BLOCK; k++) {
            uint64_t at = block * DROPOUT_BLOCK + k;
            if (at >= first && at - first < count) x[at - first] *= (float)factors[k];
        }
    }
}
void cuda_dropout(device *d, real *x, size_t count, const dropout_mask *mask) {
    cuda_device *own = cuda_use(d);
    if (count == 0) return;
    size_t blocks = (size_t)((mask->first + count - 1) / DROPOUT_BLOCK - mask->first / DROPOUT_BLOCK) + 1;
    launch(own, dropout_kernel, blocks_for(blocks, THREADS), THREADS, floats(x), count, mask->source.seed,
           (const double *)mask->source.step, mask->place, mask->rate, mask->first, blocks);
    launched(own, "dropout");
}

/* ---- index maps ---- */

typedef enum map_use { GATHER, SCATTER, SCATTER_ADD } map_use;

template <map_use USE>
static __global__ void map_kernel(float *part, float *whole, const int32_t *map, size_t n, int count,
                                  int dim) {
    FOR_EACH_INDEX (i, n * (size_t)count) {
        size_t sample = i / (size_t)count;
        float *at = whole + sample * (size_t)dim + map[i % (size_t)count];
        if (USE == GATHER)
            part[i] = *at;
        else if (USE == SCATTER)
            *at = part[i];
        else
            *at += part[i];
    }
}
template <map_use USE>
static void map_run(device *d, const real *part, const real *whole, const int32_t *map, int n, int count,
                    int dim) {
    cuda_device *own = cuda_use(d);
    size_t all = (size_t)n * (size_t)count;
    if (all == 0) return;
    launch(own, map_kernel<USE>, blocks_for(all, THREADS), THREADS, (float *)part, (float *)whole, map,
           (size_t)n, count, dim);
    launched(own, "index maps");
}
void cuda_gather(device *d, real *part, const real *whole, const int32_t *map, int n, int count, int dim) {
    map_run<GATHER>(d, part, whole, map, n, count, dim);
}
void cuda_scatter(device *d, real *whole, const real *part, const int32_t *map, int n, int count, int dim) {
    map_run<SCATTER>(d, part, whole, map, n, count, dim);
}
void cuda_scatter_add(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                      int dim) {
    map_run<SCATTER_ADD>(d, part, whole, map, n, count, dim);
}
