/* The emulated GPU itself: what is wrong with a kernel shows. */
#include "compute/cuda/kernels.cuh"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#define _Noreturn [[noreturn]]
extern "C" {
#include "test.h"
}

enum { THREADS_OF_BLOCK = 64, NUMBERS = 4 * THREADS_OF_BLOCK };
static const emulated::manner manners[] = {{emulated::ASCENDING, false},  {emulated::ASCENDING, true},
                                           {emulated::DESCENDING, false}, {emulated::DESCENDING, true},
                                           {emulated::SHUFFLED, false},   {emulated::SHUFFLED, true}};

/* Each thread copies four numbers to shared memory and gives those of another thread, twice as large. */
enum fault { NONE, NO_BARRIER, NO_WAIT };
static void neighbours_kernel(float *to, const float *from, fault f) {
    LAUNCH_FLOATS;
    const int thread = (int)threadIdx.x, other = THREADS_OF_BLOCK - 1 - thread;
    copy_16(shared_address(memory + 4 * thread), from + 4 * thread, 1);
    commit_copies();
    if (f != NO_WAIT) wait_for_copies();
    if (f != NO_BARRIER) __syncthreads();
    for (int i = 0; i < 4; i++) to[4 * thread + i] = 2 * memory[4 * other + i];
}
/* In how many manners that is as it should be. */
static int right(fault f) {
    int count = 0;
    for (const emulated::manner &in : manners) {
        alignas(16) float from[NUMBERS];
        float to[NUMBERS];
        int same = 1;
        for (int i = 0; i < NUMBERS; i++) from[i] = (float)i;
        emulated::run(dim3(1), THREADS_OF_BLOCK, 1, sizeof from, in, [&] { neighbours_kernel(to, from, f); });
        for (int i = 0; i < NUMBERS; i++)
            same &= to[i] == 2.f * (float)(4 * (THREADS_OF_BLOCK - 1 - i / 4) + i % 4);
        count += same;
    }
    return count;
}
TEST(emulated__a_kernel_that_waits_as_it_should_is_right_in_every_manner) {
    CHECK(right(NONE) == 6);
}
TEST(emulated__a_missing_barrier_shows) {
    CHECK(right(NO_BARRIER) == 0);
}
TEST(emulated__a_copy_that_is_not_waited_for_shows_where_copies_are_late) {
    CHECK(right(NO_WAIT) == 3);
}

/* A store behind the memory of a launch, by a pointer. */
static void beyond_kernel(int place) {
    LAUNCH_FLOATS;
    memory[place] = 1;
}
TEST(emulated__a_store_behind_shared_memory_shows) {
    for (int place = 15; place < 18; place += 2) {
        const pid_t child = fork();
        int status = 0;
        if (child == 0) {
            emulated::run(dim3(1), 1, 1, 16 * sizeof(float), manners[0], [&] { beyond_kernel(place); });
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(place < 16 ? WIFEXITED(status) : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* Blocks of a cluster send each other numbers, which a barrier counts; each gives what it got from the next
 * one. */
static void ring_kernel(float *to, int ranks) {
    CLUSTER_MEMORY(float2, got, [32]);
    CLUSTER_MEMORY(unsigned long long, barrier, [1]);
    const int thread = (int)threadIdx.x, rank = (int)blockIdx.x % ranks, next = (rank + 1) % ranks;
    if (thread == 0) barrier_open(shared_address(barrier));
    meet_cluster();
    if (thread == 0) barrier_expect(shared_address(barrier), (int)sizeof got);
    send_8(in_block(shared_address(&got[thread]), next), (float)(100 * (int)blockIdx.x), (float)thread,
           in_block(shared_address(barrier), next));
    barrier_wait(shared_address(barrier), 0);
    to[blockIdx.x * 32 + threadIdx.x] = got[thread].x + got[thread].y;
}
TEST(emulated__blocks_of_a_cluster_send_each_other_numbers) {
    for (const emulated::manner &in : manners) {
        std::vector<float> to(6 * 32);
        emulated::run(dim3(6), 32, 3, 0, in, [&] { ring_kernel(to.data(), 3); });
        for (int i = 0; i < 6 * 32; i++) {
            const int rank = i / 32, from = rank % 3 == 0 ? rank + 2 : rank - 1;
            CHECK_NEAR(to[(size_t)i], 100 * from + i % 32, 0);
        }
    }
}

/* A sum over a warp, and the largest of all. */
static void warp_kernel(float *sums, unsigned long long *largest) {
    float v = (float)threadIdx.x;
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffff, v, step);
    sums[threadIdx.x] = v;
    atomicMax(largest, (unsigned long long)threadIdx.x);
}
TEST(emulated__lanes_of_a_warp_trade_numbers) {
    for (const emulated::manner &in : manners) {
        float sums[96];
        unsigned long long largest = 0;
        emulated::run(dim3(1), 96, 1, 0, in, [&] { warp_kernel(sums, &largest); });
        CHECK(largest == 95);
        for (int i = 0; i < 96; i++) CHECK_NEAR(sums[i], 32 * (i / 32 * 32) + 31 * 16, 0);
    }
}

/* What is asked of a stream of the lowest priority is late in three of four cases, but there once another has
 * waited for it. */
static void number_kernel(int *to, int v) {
    *to = v;
}
TEST(emulated__late_work_of_a_stream_is_there_when_another_has_waited_for_it) {
    cudaStream_t first, beside;
    cudaEvent_t event;
    int value = 0, late = 0;
    CHECK(cudaStreamCreateWithPriority(&first, 0, -5) == cudaSuccess);
    CHECK(cudaStreamCreateWithPriority(&beside, 0, 0) == cudaSuccess);
    CHECK(cudaEventCreate(&event) == cudaSuccess);
    for (int i = 1; i <= 8; i++) {
        launch_in(beside, number_kernel, 1, 1, 0, &value, i);
        CHECK(cudaEventRecord(event, beside) == cudaSuccess);
        late += value != i;
        CHECK(cudaStreamWaitEvent(first, event, 0) == cudaSuccess);
        CHECK(value == i);
        launch_in(first, number_kernel, 1, 1, 0, &value, -i);
        CHECK(value == -i);
    }
    CHECK(late == 6);
    cudaEventDestroy(event);
    cudaStreamDestroy(beside);
    cudaStreamDestroy(first);
}

/* Work that is recorded is done when the recording is replayed, each time. */
TEST(emulated__recorded_work_is_done_when_it_is_replayed) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replayed;
    int value = 0;
    CHECK(cudaStreamCreateWithPriority(&stream, 0, -5) == cudaSuccess);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    launch_in(stream, number_kernel, 1, 1, 0, &value, 7);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    CHECK(cudaGraphInstantiate(&replayed, graph, 0) == cudaSuccess);
    cudaGraphDestroy(graph);
    for (int i = 0; i < 2; i++) {
        CHECK(value == 0);
        CHECK(cudaGraphLaunch(replayed, stream) == cudaSuccess);
        CHECK(value == 7);
        value = 0;
    }
    cudaGraphExecDestroy(replayed);
    cudaStreamDestroy(stream);
}
