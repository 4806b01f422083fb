/* A GPU on the host: the threads of a cluster of thread blocks as fibers that take turns.
 *
 * A kernel must not rely on what a GPU leaves open. So threads take turns upwards, downwards and in any
 * order; copies to shared memory arrive at once or not before they are waited for, and so do stores into the
 * memory of other blocks; what nobody has written to shared memory is no number, and nobody may write behind
 * it. Which of these, changes from launch to launch, and a kernel that gives other bits in another order is
 * found by whoever runs it twice. Threads that wait for one another for ever end the program, with a
 * sentence. */
#ifndef JF_TESTS_EMULATED_MACHINE_H
#define JF_TESTS_EMULATED_MACHINE_H

#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

namespace emulated {

enum {
    WARP = 32,
    LAUNCH_BYTES = 227 << 10, /* of shared memory of a block: what a launch may ask for, */
    BLOCK_BYTES = 1 << 18,    /* and with what its kernel has besides */
    MOST_THREADS = 1024,      /* of a block */
    MOST_RANKS = 8,           /* blocks of a cluster */
    BARRIERS = 16             /* of a block */
};
enum order { ASCENDING, DESCENDING, SHUFFLED };

/* How the threads of a launch take turns, and whether copies are late. */
struct manner {
    order turns;
    bool late;
};

/* All clusters of a grid, one after the other; blocks of a cluster at once. shared: bytes that the launch
 * asks for. */
void run(dim3 grid, int threads, int ranks, size_t shared, manner in, const std::function<void()> &kernel);

/* ---- for threads that run ---- */

/* Shared memory of this block; and of what lies behind that of the launch the next piece, which all threads
 * ask for in the same order. */
char *block_memory();
void *fixed_memory(size_t size);

/* So many threads of the block meet at one of its barriers; all of the cluster. */
void meet(int barrier, int threads);
void meet_cluster();

/* All lanes of a warp meet: f(what lane i brought), by the last of them for all. Lanes that the block does
 * not have: NULL. */
void together(void *mine, void (*f)(void *of[WARP]));
template <class T> static void together(T &mine, void (*f)(T *of[WARP])) {
    together((void *)&mine, (void (*)(void *[WARP]))f);
}

/* Copies of up to 16 bytes to shared memory, in groups; a copy from NULL is of zeros. */
void copy(void *to, const void *from, size_t bytes);
void commit_copies();
void wait_for_copies(size_t groups_left);
void wait_for_all_copies(); /* those of no group, too */

/* Addresses in shared memory are numbers, from the beginning of the block's own; those of another block of
 * the cluster say which. */
unsigned address_of(const void *p);
unsigned address_in(unsigned address, int rank);
char *at(unsigned address, size_t bytes, size_t aligned);

/* Barriers that count bytes on their way (mbarrier), with one thread that arrives. */
void open_barrier(unsigned barrier);
void expect_bytes(unsigned barrier, int bytes);
void wait_at_barrier(unsigned barrier, int parity);
void send(unsigned to, const void *from, size_t bytes, unsigned barrier);

} // namespace emulated

#endif
