/* A small pool of threads.
 *
 * All there is to know about a job fits one atomic word, the ticket: its number (high half) and how
 * many of its tasks nobody has taken yet (low half). A thread takes a task by decrementing the ticket. Once
 * it has, the job cannot end before the thread reports the task as done, so the fields that describe the job
 * (fn, arg, tasks) are stable and need no lock. A thread that comes late finds nothing left and disturbs
 * nobody: a launch never waits for a thread that took no task, which matters where a processor has been lent
 * to someone else.
 *
 * Several callers may come at once. One of them has the pool for its job; another that comes meanwhile does
 * its own tasks in place, as with a pool of one thread, instead of waiting.
 *
 * There are two jobs: the one that the caller waits for, and one in the background, of which a worker takes a
 * task only while nothing of the first is left to take, and after each looks again.
 *
 * Threads that wait, for a job or for its end, spin for a while and then sleep on a condition variable.
 * Whoever changes the state looks afterwards whether somebody sleeps; whoever goes to sleep says so and then
 * looks at the state again. With both sequentially consistent, one of the two sees the other.
 *
 * A forked child has a copy of the pool and none of its threads. There the caller does all tasks, nobody is
 * waited for, and the lock and its conditions, which a lost thread may hold, are not touched. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 1024, SPINS = 4000, CACHE_LINE = 64 };

typedef struct worker {
    thread_pool *pool;
    pthread_t thread;
    int index;
} worker;

typedef struct job {
    /* written between jobs only */
    task_fn fn;
    void *arg;
    int tasks;
    /* each of these on a cache line of its own */
    alignas(CACHE_LINE) _Atomic uint64_t ticket;
    alignas(CACHE_LINE) atomic_int unfinished; /* tasks not yet reported as done */
} job;

struct thread_pool {
    int threads;
    int spins; /* 0 where threads outnumber processors: a spinning thread would keep a working one waiting */
    worker *workers; /* (threads - 1); the caller of pool_run() is worker 0 */
    int started;
    pid_t process; /* that has the threads */
    job now, background;
    alignas(CACHE_LINE) atomic_int taken;    /* somebody has the pool for its job */
    alignas(CACHE_LINE) atomic_int sleepers; /* workers asleep, or about to be */
    atomic_int caller_sleeps;
    atomic_int stop;
    alignas(CACHE_LINE) pthread_mutex_t lock; /* for sleeping and waking only */
    pthread_cond_t job_there, job_done;
};

static inline void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Containers limit processors by quota, "quota period" in microseconds or "max period". 0: no limit known. */
static int quota_processors(void) {
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!file) return 0;
    long quota = 0, period = 0;
    int found = fscanf(file, "%ld %ld", &quota, &period);
    fclose(file);
    if (found != 2 || quota <= 0 || period <= 0) return 0;
    return (int)((quota + period - 1) / period);
}

int threads_available(void) {
    cpu_set_t set;
    long count = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
    if (count < 1) count = sysconf(_SC_NPROCESSORS_ONLN);
    int quota = quota_processors();
    if (quota > 0 && quota < count) count = quota;
    if (count < 1) count = 1;
    return count > MAX_THREADS ? MAX_THREADS : (int)count;
}

/* A system call: asked only where a thread would sleep or wake others. */
static int is_forked(const thread_pool *pool) {
    return getpid() != pool->process;
}

static int has_tasks(job *j) {
    return (uint32_t)atomic_load(&j->ticket) != 0;
}

/* Takes a task of a job; 0 where none is left. */
static int take_task(job *j, int *task) {
    uint64_t ticket = atomic_load_explicit(&j->ticket, memory_order_relaxed);
    while ((uint32_t)ticket != 0) {
        if (atomic_compare_exchange_weak_explicit(&j->ticket, &ticket, ticket - 1, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
            *task = j->tasks - (int)(uint32_t)ticket;
            return 1;
        }
    }
    return 0;
}

/* Wakes the caller if that was the last report. */
static void report(thread_pool *pool, job *j, int done) {
    if (atomic_fetch_sub(&j->unfinished, done) == done && atomic_load(&pool->caller_sleeps) &&
        !is_forked(pool)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->job_done);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Works until no task is left. Reports once, at the end. */
static void work(thread_pool *pool, job *j, int index) {
    int task = 0, done = 0;
    while (take_task(j, &task)) {
        j->fn(j->arg, task, index);
        done++;
    }
    if (done > 0) report(pool, j, done);
}

/* Works in the background until something more urgent is there. */
static void work_in_background(thread_pool *pool, int index) {
    job *j = &pool->background;
    for (int task = 0; !has_tasks(&pool->now) && take_task(j, &task);) {
        j->fn(j->arg, task, index);
        report(pool, j, 1);
    }
}

static int has_work(thread_pool *pool) {
    return has_tasks(&pool->now) || has_tasks(&pool->background) || atomic_load(&pool->stop);
}

static void wait_for_work(thread_pool *pool) {
    for (int i = 0; i < pool->spins; i++) {
        if (has_work(pool)) return;
        spin_pause();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_work(pool)) pthread_cond_wait(&pool->job_there, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *arg) {
    worker *self = arg;
    thread_pool *pool = self->pool;
    while (!atomic_load(&pool->stop)) {
        wait_for_work(pool);
        work(pool, &pool->now, self->index);
        work_in_background(pool, self->index);
    }
    return NULL;
}

static void wake_workers(thread_pool *pool) {
    if (atomic_load(&pool->sleepers) == 0 || is_forked(pool)) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->job_there);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_for_end(thread_pool *pool, job *j) {
    for (int i = 0; i < pool->spins; i++) {
        if (atomic_load(&j->unfinished) == 0) return;
        spin_pause();
    }
    if (is_forked(pool)) return; /* a task that a lost thread had begun is not finished */
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, 1);
    while (atomic_load(&j->unfinished) != 0) pthread_cond_wait(&pool->job_done, &pool->lock);
    atomic_store(&pool->caller_sleeps, 0);
    pthread_mutex_unlock(&pool->lock);
}

static void begin(thread_pool *pool, job *j, int tasks, task_fn fn, void *arg) {
    j->fn = fn;
    j->arg = arg;
    j->tasks = tasks;
    atomic_store(&j->unfinished, tasks);
    uint64_t number = (atomic_load_explicit(&j->ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store(&j->ticket, number << 32 | (uint32_t)tasks);
    wake_workers(pool);
}

static void finish(thread_pool *pool, job *j) {
    work(pool, j, 0);
    wait_for_end(pool, j);
}

/* Whether the caller has the pool now. The end of its job is seen by whoever has it next. */
static int take_pool(thread_pool *pool) {
    return atomic_load_explicit(&pool->taken, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&pool->taken, 1, memory_order_acquire) == 0;
}

void pool_run(thread_pool *pool, int tasks, task_fn fn, void *arg) {
    if (pool->threads == 1 || tasks <= 1 || !take_pool(pool)) {
        for (int task = 0; task < tasks; task++) fn(arg, task, 0);
        return;
    }
    begin(pool, &pool->now, tasks, fn, arg);
    finish(pool, &pool->now);
    atomic_store_explicit(&pool->taken, 0, memory_order_release);
}

void pool_background_start(thread_pool *pool, int tasks, task_fn fn, void *arg) {
    begin(pool, &pool->background, tasks, fn, arg);
}

void pool_background_finish(thread_pool *pool) {
    finish(pool, &pool->background);
}

/* Signals are for the program's own threads: ours block them all. */
static int start_worker(worker *w) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void end_threads(thread_pool *pool) {
    atomic_store(&pool->stop, 1);
    wake_workers(pool);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->job_done);
    pthread_cond_destroy(&pool->job_there);
    pthread_mutex_destroy(&pool->lock);
}

jf_status pool_create(jf_context *ctx, thread_pool **out, int threads) {
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "number of threads: found %d, expected 1 to %d", threads,
                       MAX_THREADS);
    thread_pool *pool = aligned_alloc(CACHE_LINE, sizeof *pool);
    if (!pool) return jf_fail(ctx, JF_ERROR_MEMORY, "not enough memory for a pool of %d threads", threads);
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pool->process = getpid();
    pool->spins = threads <= threads_available() && !context_is_crowded(ctx) ? SPINS : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->job_there, NULL);
    pthread_cond_init(&pool->job_done, NULL);

    jf_status status = MEM_NEW(ctx, &pool->workers, (size_t)threads);
    for (int i = 0; status == JF_OK && i < threads - 1; i++) {
        worker *w = &pool->workers[i];
        *w = (worker){.pool = pool, .index = i + 1};
        int error = start_worker(w);
        if (error)
            status = jf_fail(ctx, JF_ERROR_MEMORY, "could not start thread %d of %d: %s", i + 2, threads,
                             strerror(error));
        else
            pool->started++;
    }
    if (status != JF_OK) {
        pool_free(pool);
        return status;
    }
    *out = pool;
    return JF_OK;
}

void pool_free(thread_pool *pool) {
    if (!pool) return;
    if (!is_forked(pool)) end_threads(pool);
    free(pool->workers);
    free(pool);
}

int pool_threads(const thread_pool *pool) {
    return pool->threads;
}
