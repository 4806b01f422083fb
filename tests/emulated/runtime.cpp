/* CUDA's runtime for an emulated GPU. What is asked for is done at once, or recorded. A stream of the lowest
 * priority is late: what is asked of it is done when another stream waits for it, so that memory which is
 * given away too early shows; or at once, by turns.
 *
 *     EMULATED_PROCESSORS    multiprocessors, 8 by default: few, so that blocks have several samples
 *     EMULATED_MAJOR         compute capability, 9 by default; 8: without clusters of blocks */
#include "machine.h"

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

typedef std::function<void()> work;
struct CUstream_st {
    bool late;
    std::deque<work> left;
    size_t done; /* works */
};
struct CUevent_st {
    std::chrono::steady_clock::time_point at;
    cudaStream_t stream; /* that it was recorded in, NULL: none, */
    size_t behind;       /* and behind how many of its works */
};
typedef std::vector<work> recorded;
struct CUgraph_st {
    recorded all;
};
struct CUgraphExec_st {
    recorded all;
};

static const size_t ALL_MEMORY = (size_t)8 << 30, USUAL_SHARED = 48 << 10;

static std::mutex one_at_a_time; /* launches of several threads of the host; what follows */
static std::map<const void *, size_t> shared_allowed;
static std::map<void *, size_t> allocations;
static size_t allocated;
static unsigned long launches;

static std::recursive_mutex streams; /* what is left to do */
static std::set<cudaStream_t> all_streams;

static thread_local recorded *recording; /* NULL: nothing is recorded */
static thread_local cudaError_t last_error = cudaSuccess;

static int setting(const char *name, int usual) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : usual;
}
static int processors() {
    return setting("EMULATED_PROCESSORS", 8);
}

static cudaError_t tell(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

/* ---- streams ---- */

static void catch_up(cudaStream_t stream, size_t done) {
    std::lock_guard<std::recursive_mutex> lock(streams);
    while (stream->done < done && !stream->left.empty()) {
        const work next = std::move(stream->left.front());
        stream->left.pop_front();
        stream->done++;
        next();
    }
}
static void catch_up(cudaStream_t stream) {
    catch_up(stream, (size_t)-1);
}
/* Now, or when the recording is replayed. */
static void ask(work w) {
    if (recording)
        recording->push_back(std::move(w));
    else
        w();
}
/* Work of a stream: its turn comes now or later. */
static void ask_in(cudaStream_t stream, work w) {
    ask([=] {
        std::lock_guard<std::recursive_mutex> lock(streams);
        static unsigned long asked;
        stream->left.push_back(w);
        if (!stream->late || ++asked % 4 == 0) catch_up(stream);
    });
}

/* ---- launches ---- */

size_t emulated_allowed(const void *function) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    const auto found = shared_allowed.find(function);
    return found == shared_allowed.end() ? USUAL_SHARED : found->second;
}
cudaError_t emulated_allow(const void *function, size_t bytes) {
    if (bytes > emulated::LAUNCH_BYTES) return tell(cudaErrorInvalidValue);
    std::lock_guard<std::mutex> lock(one_at_a_time);
    shared_allowed[function] = bytes;
    return cudaSuccess;
}
int emulated_room_for(int ranks) {
    return processors() / ranks;
}

cudaError_t emulated_launch(const cudaLaunchConfig_t &config, const void *function,
                            std::function<void()> body) {
    const dim3 grid = config.gridDim;
    const int threads = (int)config.blockDim.x;
    const size_t shared = config.dynamicSmemBytes;
    int ranks = 1;
    for (unsigned i = 0; i < config.numAttrs; i++)
        if (config.attrs[i].id == cudaLaunchAttributeClusterDimension)
            ranks = (int)config.attrs[i].val.clusterDim.x;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535 || threads < 1 ||
        threads > emulated::MOST_THREADS || shared > emulated_allowed(function) || ranks < 1 ||
        ranks > emulated::MOST_RANKS || grid.x % (unsigned)ranks != 0)
        return tell(cudaErrorInvalidValue);
    ask_in(config.stream, [=] {
        std::lock_guard<std::mutex> lock(one_at_a_time);
        /* another manner from launch to launch */
        const emulated::manner in = {(emulated::order)(launches % 3), launches % 2 == 1};
        launches++;
        emulated::run(grid, threads, ranks, shared, in, body);
    });
    return cudaSuccess;
}

extern "C" {

extern const int gpu_is_emulated;
const int gpu_is_emulated = 1; /* for tests (test.h) */

/* ---- the device ---- */

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
    if (device != 0) return tell(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "emulated");
    p->major = setting("EMULATED_MAJOR", 9);
    p->multiProcessorCount = processors();
    p->sharedMemPerBlockOptin = emulated::LAUNCH_BYTES;
    p->sharedMemPerMultiprocessor = emulated::LAUNCH_BYTES + 1024;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : tell(cudaErrorInvalidDevice);
}
cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess                 ? "no error"
           : error == cudaErrorMemoryAllocation ? "out of memory"
           : error == cudaErrorInvalidValue     ? "invalid argument"
           : error == cudaErrorInvalidDevice    ? "invalid device ordinal"
                                                : "unknown error";
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0, *greatest = -5;
    return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t cudaMalloc(void **out, size_t bytes) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    void *p = NULL;
    if (bytes > ALL_MEMORY - allocated || posix_memalign(&p, 256, bytes) != 0)
        return tell(cudaErrorMemoryAllocation);
    memset(p, 0xff, bytes); /* no numbers */
    allocations[p] = bytes, allocated += bytes;
    *out = p;
    return cudaSuccess;
}
/* It waits for all that is left to do, as the real one does. */
cudaError_t cudaFree(void *p) {
    if (!p) return cudaSuccess;
    std::lock_guard<std::recursive_mutex> waits(streams);
    for (cudaStream_t stream : all_streams) catch_up(stream);
    std::lock_guard<std::mutex> lock(one_at_a_time);
    const auto found = allocations.find(p);
    if (found == allocations.end()) return tell(cudaErrorInvalidValue);
    allocated -= found->second;
    allocations.erase(found);
    free(p);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **out, size_t bytes) {
    *out = malloc(bytes);
    return *out ? cudaSuccess : tell(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void *p) {
    free(p);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    *left = ALL_MEMORY - allocated, *all = ALL_MEMORY;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    ask_in(stream, [=] { memmove(to, from, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    ask_in(stream, [=] { memset(to, value, bytes); });
    return cudaSuccess;
}

/* ---- streams and events ---- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned, int priority) {
    std::lock_guard<std::recursive_mutex> lock(streams);
    *out = new CUstream_st{priority == 0, {}, 0};
    all_streams.insert(*out);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    std::lock_guard<std::recursive_mutex> lock(streams);
    catch_up(stream);
    all_streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    catch_up(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return cudaStreamSynchronize(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    ask([=] {
        if (event->stream && event->stream != stream) catch_up(event->stream, event->behind);
    });
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) {
    *out = new CUevent_st();
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *out) {
    return cudaEventCreateWithFlags(out, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    ask([=] {
        std::lock_guard<std::recursive_mutex> lock(streams);
        event->at = std::chrono::steady_clock::now();
        event->stream = stream, event->behind = stream->done + stream->left.size();
    });
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->stream) catch_up(event->stream, event->behind);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    *ms = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return cudaSuccess;
}

/* ---- recordings ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    recording = new recorded;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *out) {
    *out = new CUgraph_st{std::move(*recording)};
    delete recording;
    recording = NULL;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long) {
    *out = new CUgraphExec_st{graph->all};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
    for (const work &w : graph->all) w();
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    delete graph;
    return cudaSuccess;
}

} /* extern "C" */
