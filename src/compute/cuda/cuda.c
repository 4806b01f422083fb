/* What the host does for the cuda device: finding the GPU, its memory, transfers, and failures that come
 * late. */
#include "compute/cuda/cuda.h"
#include "base/memory.h"
#include "compute/cuda/profile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cuda_device *cuda_use(const device *d) {
    cuda_device *own = d->own;
    cuda_note(own, cudaSetDevice(own->index), "choosing the GPU");
    if (own->profile) cuda_profile_begin(own);
    return own;
}

void cuda_note(cuda_device *own, cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    pthread_mutex_lock(&own->failure_lock);
    if (own->failed == cudaSuccess) {
        own->failed = error;
        own->failed_in = what;
    }
    pthread_mutex_unlock(&own->failure_lock);
}

static cudaError_t first_failure(cuda_device *own, const char **what) {
    pthread_mutex_lock(&own->failure_lock);
    cudaError_t error = own->failed;
    *what = own->failed_in;
    pthread_mutex_unlock(&own->failure_lock);
    return error;
}

/* ---- life ---- */

/* The driver is looked for when the first function is called; a program that is built with CUDA starts
 * without it. */
static int cuda_missing(int index, char *why, size_t size) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && index < count) return 0;
    (void)cudaGetLastError();
    if (error == cudaErrorInsufficientDriver)
        snprintf(why, size, "no driver for NVIDIA GPUs is here, or one that is older than CUDA %d.%d",
                 CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else if (error != cudaSuccess)
        snprintf(why, size, "no NVIDIA GPU can be used here: %s", cudaGetErrorString(error));
    else if (count == 0)
        snprintf(why, size, "no NVIDIA GPU is here");
    else
        snprintf(why, size, "cuda:%d is not here; there are %d, from cuda:0 on", index, count);
    return 1;
}

static void cuda_close(device *d) {
    cuda_device *own = d->own;
    (void)cudaSetDevice(own->index);
    if (own->stream) (void)cudaStreamSynchronize(own->stream);
    cuda_profile_close(own);
    for (int i = 0; i < 2; i++) {
        if (own->slots[i].empty) (void)cudaEventDestroy(own->slots[i].empty);
        (void)cudaFreeHost(own->slots[i].memory);
    }
    (void)cudaFree(own->partial);
    (void)cudaFree(own->numbers);
    for (int i = 0; i < CUDA_SIDES; i++)
        if (own->done[i]) (void)cudaEventDestroy(own->done[i]);
    if (own->fork) (void)cudaEventDestroy(own->fork);
    if (own->side) (void)cudaStreamDestroy(own->side);
    if (own->stream) (void)cudaStreamDestroy(own->stream);
    (void)cudaGetLastError();
    pool_free(own->pool);
    pthread_mutex_destroy(&own->lock);
    pthread_mutex_destroy(&own->failure_lock);
    free(own);
}

static jf_status fail_cuda(const device *d, cudaError_t error, const char *what) {
    (void)cudaGetLastError(); /* what was told is told once */
    return jf_fail(d->ctx, error == cudaErrorMemoryAllocation ? JF_ERROR_MEMORY : JF_ERROR_DEVICE,
                   "cuda device: %s: %s", what, cudaGetErrorString(error));
}

#define CUDA_TRY_DONE(call, what)                                                                            \
    do {                                                                                                     \
        cudaError_t cuda_error = (call);                                                                     \
        if (cuda_error != cudaSuccess) {                                                                     \
            status = fail_cuda(d, cuda_error, what);                                                         \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

static jf_status open_parts(device *d, int threads) {
    cuda_device *own = d->own;
    struct cudaDeviceProp properties;
    jf_status status;
    CUDA_TRY_DONE(cudaSetDevice(own->index), "choosing the GPU");
    CUDA_TRY_DONE(cudaGetDeviceProperties(&properties, own->index), "asking for its properties");
    snprintf(own->name, sizeof own->name, "%.*s", (int)sizeof own->name - 1, properties.name);
    own->major = properties.major;
    own->processors = properties.multiProcessorCount;
    own->shared_block = properties.sharedMemPerBlockOptin;
    own->shared_processor = properties.sharedMemPerMultiprocessor;
    int low = 0, high = 0;
    CUDA_TRY_DONE(cudaDeviceGetStreamPriorityRange(&low, &high), "asking for priorities");
    CUDA_TRY_DONE(cudaStreamCreateWithPriority(&own->stream, cudaStreamNonBlocking, high), "making a stream");
    CUDA_TRY_DONE(cudaStreamCreateWithPriority(&own->side, cudaStreamNonBlocking, low), "making a stream");
    CUDA_TRY_DONE(cudaEventCreateWithFlags(&own->fork, cudaEventDisableTiming), "making an event");
    for (int i = 0; i < CUDA_SIDES; i++)
        CUDA_TRY_DONE(cudaEventCreateWithFlags(&own->done[i], cudaEventDisableTiming), "making an event");
    for (int i = 0; i < 2; i++) {
        CUDA_TRY_DONE(cudaMallocHost(&own->slots[i].memory, CUDA_TRANSFER * sizeof(double)),
                      "memory for transfers");
        CUDA_TRY_DONE(cudaEventCreateWithFlags(&own->slots[i].empty, cudaEventDisableTiming),
                      "making an event");
    }
    JF_TRY_DONE(cuda_reserve(d, (void **)&own->partial, CUDA_PARTIAL, sizeof(float), "partial sums"));
    JF_TRY_DONE(cuda_reserve(d, (void **)&own->numbers, CUDA_NUMBERS, sizeof(double), "numbers of a step"));
    JF_TRY_DONE(pool_create(d->ctx, &own->pool, threads > 0 ? threads : threads_available()));
done:
    return status;
}

static jf_status cuda_open(device *d, int threads) {
    char why[200];
    cuda_device *own;
    if (cuda_missing(d->index, why, sizeof why))
        return jf_fail(d->ctx, JF_ERROR_DEVICE, "device cuda: %s; the device cpu works everywhere", why);
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    own->index = d->index;
    pthread_mutex_init(&own->lock, NULL);
    pthread_mutex_init(&own->failure_lock, NULL);
    jf_status status = open_parts(d, threads);
    if (status != JF_OK) cuda_close(d);
    return status;
}

static jf_status cuda_status(device *d) {
    cuda_device *own = cuda_use(d);
    const char *what = NULL;
    cuda_note(own, cudaStreamSynchronize(own->stream), "running what was queued");
    if (own->profile) cuda_profile_waited(own);
    cudaError_t error = first_failure(own, &what);
    return error == cudaSuccess ? JF_OK : fail_cuda(d, error, what);
}

static void cuda_describe(const device *d, char *out, size_t size) {
    const cuda_device *own = d->own;
    if (own->index > 0)
        snprintf(out, size, "float, GPU %d: %s", own->index, own->name);
    else
        snprintf(out, size, "float, %s", own->name);
}

/* ---- memory ---- */

static void cuda_memory(const device *d, size_t *left, size_t *all) {
    cuda_device *own = cuda_use(d);
    *left = *all = 0;
    cuda_note(own, cudaMemGetInfo(left, all), "asking for its memory");
}

jf_status cuda_reserve(const device *d, void **out, size_t count, size_t size, const char *unit) {
    cuda_device *own = cuda_use(d);
    *out = NULL;
    if (count > SIZE_MAX / 16)
        return jf_fail(d->ctx, JF_ERROR_MEMORY, "cuda device: found %zu %s, more than there can be", count,
                       unit);
    size_t bytes = count > 0 ? count * size : size, left = 0, all = 0;
    cudaError_t error = cudaMalloc(out, bytes);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&left, &all);
        return jf_fail(
            d->ctx, JF_ERROR_MEMORY,
            "cuda device: no memory for %zu %s, %.3g MiB; %.3g of its %.3g MiB are free. A smaller batch or "
            "train.keep takes less",
            count, unit, (double)bytes / 1048576, (double)left / 1048576, (double)all / 1048576);
    }
    if (error == cudaSuccess) error = cudaMemsetAsync(*out, 0, bytes, own->stream);
    if (error == cudaSuccess) return JF_OK;
    (void)cudaFree(*out);
    *out = NULL;
    return fail_cuda(d, error, "allocating memory");
}

static void give_up(device *d, void *p) {
    cuda_device *own = cuda_use(d);
    if (p) cuda_note(own, cudaFree(p), "freeing memory");
}

static jf_status cuda_alloc(device *d, real **out, size_t count) {
    return cuda_reserve(d, (void **)out, count, sizeof(float), "numbers");
}
static void cuda_release(device *d, real *p) {
    give_up(d, p);
}
static jf_status cuda_alloc_map(device *d, int32_t **out, const int32_t *host, size_t count) {
    JF_TRY(cuda_reserve(d, (void **)out, count, sizeof **out, "positions"));
    cuda_send(d->own, *out, host, count * sizeof *host);
    return JF_OK;
}
static void cuda_release_map(device *d, int32_t *map) {
    give_up(d, map);
}
static jf_status cuda_alloc_scalars(device *d, scalar **out, size_t count) {
    return cuda_reserve(d, (void **)out, count, sizeof(double), "scalars");
}
static void cuda_release_scalars(device *d, scalar *p) {
    give_up(d, p);
}

/* ---- transfers ---- */

/* The next slot, once what was sent through it before has arrived. Under the lock. */
static cuda_slot *next_slot(cuda_device *own) {
    cuda_slot *s = &own->slots[own->next_slot];
    own->next_slot = !own->next_slot;
    cuda_note(own, cudaEventSynchronize(s->empty), "waiting for a transfer");
    return s;
}

static void send_slot(cuda_device *own, cuda_slot *s, void *to, size_t bytes) {
    cuda_note(own, cudaMemcpyAsync(to, s->memory, bytes, cudaMemcpyHostToDevice, own->stream),
              "sending numbers");
    cuda_note(own, cudaEventRecord(s->empty, own->stream), "recording an event");
    if (own->profile) cuda_profile_mark(own, "numbers from the host", 0);
}

static size_t piece_of(size_t count, size_t at) {
    return count - at < CUDA_TRANSFER ? count - at : CUDA_TRANSFER;
}

static void cuda_put(device *d, real *to, const double *from, size_t count) {
    cuda_device *own = cuda_use(d);
    pthread_mutex_lock(&own->lock);
    for (size_t at = 0; at < count; at += CUDA_TRANSFER) {
        size_t piece = piece_of(count, at);
        cuda_slot *s = next_slot(own);
        float *numbers = s->memory;
        for (size_t i = 0; i < piece; i++) numbers[i] = (float)from[at + i];
        send_slot(own, s, (float *)to + at, piece * sizeof *numbers);
    }
    pthread_mutex_unlock(&own->lock);
}

void cuda_send(cuda_device *own, void *to, const void *from, size_t bytes) {
    const size_t most = CUDA_TRANSFER * sizeof(double);
    pthread_mutex_lock(&own->lock);
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;
        cuda_slot *s = next_slot(own);
        memcpy(s->memory, (const char *)from + at, piece);
        send_slot(own, s, (char *)to + at, piece);
    }
    pthread_mutex_unlock(&own->lock);
}

/* Waits for the bytes; what a device that has failed sends is not to be taken for numbers. */
static int receive(cuda_device *own, cuda_slot *s, const void *from, size_t bytes) {
    cudaError_t error = cudaMemcpyAsync(s->memory, from, bytes, cudaMemcpyDeviceToHost, own->stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(own->stream);
    cuda_note(own, error, "fetching numbers");
    if (own->profile) cuda_profile_waited(own);
    return error == cudaSuccess;
}

/* Floats or doubles of the device, by their size. */
static void fetch_numbers(device *d, double *to, const void *from, size_t count, size_t size) {
    cuda_device *own = cuda_use(d);
    pthread_mutex_lock(&own->lock);
    for (size_t at = 0; at < count; at += CUDA_TRANSFER) {
        size_t piece = piece_of(count, at);
        cuda_slot *s = next_slot(own);
        const float *floats = s->memory;
        const double *doubles = s->memory;
        int arrived = receive(own, s, (const char *)from + at * size, piece * size);
        for (size_t i = 0; i < piece; i++)
            to[at + i] = !arrived ? NAN : size == sizeof *floats ? (double)floats[i] : doubles[i];
    }
    pthread_mutex_unlock(&own->lock);
}

static void cuda_get(device *d, double *to, const real *from, size_t count) {
    fetch_numbers(d, to, from, count, sizeof(float));
}

static void cuda_put_scalars(device *d, scalar *to, const double *from, size_t count) {
    cuda_send(cuda_use(d), to, from, count * sizeof *from);
}

static void cuda_get_scalars(device *d, double *to, const scalar *from, size_t count) {
    fetch_numbers(d, to, from, count, sizeof(double));
}

static void cuda_copy(device *d, real *to, const real *from, size_t count) {
    cuda_device *own = cuda_use(d);
    cuda_note(own, cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice, own->stream),
              "copying");
    if (own->profile) cuda_profile_mark(own, "copies", 0);
}

/* ---- beside the GPU ---- */

static void cuda_background(device *d, int tasks, task_fn fn, void *arg) {
    pool_background_start(((cuda_device *)d->own)->pool, tasks, fn, arg);
}
static void cuda_background_wait(device *d) {
    pool_background_finish(((cuda_device *)d->own)->pool);
}

cudaStream_t cuda_side_begin(cuda_device *own) {
    if (own->profile) return own->stream;
    cuda_note(own, cudaEventRecord(own->fork, own->stream), "recording an event");
    cuda_note(own, cudaStreamWaitEvent(own->side, own->fork, 0), "waiting for an event");
    return own->side;
}
void cuda_side_end(cuda_device *own, int number) {
    if (own->profile) return;
    cuda_note(own, cudaEventRecord(own->done[number], own->side), "recording an event");
    own->under_way[number] = 1;
}
void cuda_side_wait(cuda_device *own, int number) {
    if (!own->under_way[number]) return;
    cuda_note(own, cudaStreamWaitEvent(own->stream, own->done[number], 0), "waiting for an event");
    own->under_way[number] = 0;
}

/* ---- recordings: graphs ---- */

struct device_recording {
    cudaGraphExec_t graph;
    void (*work)(void *arg); /* which is asked for again while a profile is taken: events inside of a graph
                                tell no time */
    void *arg;
};

static jf_status cuda_record(device *d, device_recording **out, void (*work)(void *arg), void *arg) {
    cuda_device *own = cuda_use(d);
    cudaGraph_t graph = NULL;
    device_recording *r;
    *out = NULL;
    JF_TRY(MEM_NEW(d->ctx, &r, 1));
    r->work = work;
    r->arg = arg;
    cudaError_t error = cudaStreamBeginCapture(own->stream, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) {
        own->capturing = 1;
        work(arg);
        own->capturing = 0;
        error = cudaStreamEndCapture(own->stream, &graph);
    }
    if (error == cudaSuccess) error = cudaGraphInstantiate(&r->graph, graph, 0);
    if (graph) (void)cudaGraphDestroy(graph);
    if (error != cudaSuccess) {
        free(r);
        return fail_cuda(d, error, "recording a step");
    }
    *out = r;
    return JF_OK;
}

static void cuda_replay(device *d, const device_recording *r) {
    cuda_device *own = cuda_use(d);
    if (own->profile)
        r->work(r->arg);
    else
        cuda_note(own, cudaGraphLaunch(r->graph, own->stream), "replaying a step");
}

static void cuda_recording_free(device *d, device_recording *r) {
    cuda_device *own = cuda_use(d);
    cuda_note(own, cudaStreamSynchronize(own->stream), "running what was queued");
    cuda_note(own, cudaGraphExecDestroy(r->graph), "freeing a recording");
    free(r);
}

const device_kind device_cuda = {
    .name = "cuda",
    .summary = "an NVIDIA GPU, in float; cuda:1 is the second one",
    .real_size = sizeof(float),
    .precisions = 1u << PRECISION_FP32 | 1u << PRECISION_TF32 | 1u << PRECISION_BF16,
    .training = PRECISION_BF16,
    .missing = cuda_missing,
    .open = cuda_open,
    .close = cuda_close,
    .status = cuda_status,
    .describe = cuda_describe,
    .memory = cuda_memory,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .alloc_map = cuda_alloc_map,
    .release_map = cuda_release_map,
    .put = cuda_put,
    .get = cuda_get,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .add = cuda_add,
    .alloc_scalars = cuda_alloc_scalars,
    .release_scalars = cuda_release_scalars,
    .put_scalars = cuda_put_scalars,
    .get_scalars = cuda_get_scalars,
    .sum_into = cuda_sum_into,
    .largest_difference_into = cuda_largest_difference_into,
    .normal = cuda_normal,
    .dropout = cuda_dropout,
    .gather = cuda_gather,
    .scatter = cuda_scatter,
    .scatter_add = cuda_scatter_add,
    .dense_forward = cuda_dense_forward,
    .dense_backward = cuda_dense_backward,
    .conv_forward = cuda_conv_forward,
    .conv_backward = cuda_conv_backward,
    .norm_forward = cuda_norm_forward,
    .norm_backward = cuda_norm_backward,
    .law_forward = cuda_law_forward,
    .law_inverse = cuda_law_inverse,
    .law_backward = cuda_law_backward,
    .prior_term = cuda_prior_term,
    .distance_term = cuda_distance_term,
    .rule_term = cuda_rule_term,
    .adam = cuda_adam,
    .clamp = cuda_clamp,
    .plan_open = cuda_plan_open,
    .plan_close = cuda_plan_close,
    .plan_saved = cuda_plan_saved,
    .plan_scratch = cuda_plan_scratch,
    .plan_run = cuda_plan_run,
    .data_open = cuda_data_open,
    .data_close = cuda_data_close,
    .data_batch = cuda_data_batch,
    .record = cuda_record,
    .replay = cuda_replay,
    .recording_free = cuda_recording_free,
    .background = cuda_background,
    .background_wait = cuda_background_wait,
    .group_id = cuda_group_id,
    .group_open = cuda_group_open,
    .group_close = cuda_group_close,
    .group_sum = cuda_group_sum,
    .group_sum_scalars = cuda_group_sum_scalars,
    .group_done = cuda_group_done,
    .profile_start = cuda_profile_start,
    .profile_read = cuda_profile_read,
};
