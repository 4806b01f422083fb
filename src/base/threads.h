/* A small pool of threads. The caller works too; a pool of one thread runs everything in place. Several
 * threads may call pool_run() at once: whoever finds the pool at work does its tasks alone. In a forked child
 * the caller does all tasks. */
#ifndef JF_BASE_THREADS_H
#define JF_BASE_THREADS_H

#include "base/context.h"

typedef struct thread_pool thread_pool;
/* task: 0 .. tasks-1, each run once by some worker 0 .. threads-1 (of one call of pool_run() a worker runs
 * one task at a time) */
typedef void (*task_fn)(void *arg, int task, int worker);

int threads_available(void); /* processors this process may use */
jf_status pool_create(jf_context *ctx, thread_pool **out, int threads);
void pool_free(thread_pool *pool);
int pool_threads(const thread_pool *pool);
void pool_run(thread_pool *pool, int tasks, task_fn fn, void *arg); /* returns when all tasks are done */
/* Tasks for threads that have nothing else to do: pool_run() goes first, so they should be short. One such
 * job at a time, of one caller: every start is followed by a finish before the next one.
 * pool_background_finish() does what is left with all threads, the caller among them, and returns when all is
 * done; it returns at once where nothing was started. A pool of one thread does everything then. */
void pool_background_start(thread_pool *pool, int tasks, task_fn fn, void *arg);
void pool_background_finish(thread_pool *pool);

#endif
