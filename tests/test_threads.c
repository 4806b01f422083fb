/* Tests of the pool of threads. */
#include "test.h"

#include "base/threads.h"

#include <stdatomic.h>
#include <unistd.h>

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

typedef struct tally {
    int runs[1000];        /* plain: each element is written by one task; the pool orders it for the reader */
    atomic_int working[8]; /* tasks that a worker is running right now */
    atomic_int wrong_worker; /* tasks run by a worker that does not exist, or two at once by one */
    int threads;
} tally;

static void count_task(void *arg, int task, int worker) {
    tally *t = arg;
    if (worker < 0 || worker >= t->threads || atomic_fetch_add(&t->working[worker], 1) != 0)
        atomic_fetch_add(&t->wrong_worker, 1);
    t->runs[task]++;
    if (worker >= 0 && worker < t->threads) atomic_fetch_sub(&t->working[worker], 1);
}

TEST(pool__runs_each_task_once_with_any_number_of_threads) {
    jf_context *ctx = new_context();
    static const int sizes[] = {0, 1, 2, 3, 7, 64, 1000};
    for (int threads = 1; threads <= 5; threads++) {
        thread_pool *pool = NULL;
        CHECK_STATUS(pool_create(ctx, &pool, threads), JF_OK);
        CHECK(pool_threads(pool) == threads);
        for (int round = 0; round < 210; round++) {
            int tasks = sizes[round % 7];
            tally *t = calloc(1, sizeof *t);
            t->threads = threads;
            pool_run(pool, tasks, count_task, t);
            for (int i = 0; i < 1000; i++) CHECK(t->runs[i] == (i < tasks));
            CHECK(t->wrong_worker == 0);
            free(t);
            if (round % 70 == 69) usleep(2000); /* let the workers fall asleep */
        }
        pool_free(pool);
    }
    jf_context_free(ctx);
}

static void meet(void *arg, int task, int worker) {
    (void)task, (void)worker;
    atomic_int *here = arg;
    atomic_fetch_add(here, 1);
    for (int i = 0; i < 5000 && atomic_load(here) < 3; i++) usleep(1000);
}

TEST(pool__threads_work_at_the_same_time) {
    jf_context *ctx = new_context();
    thread_pool *pool = NULL;
    CHECK_STATUS(pool_create(ctx, &pool, 3), JF_OK);
    atomic_int here = 0;
    pool_run(pool, 3, meet, &here); /* each task waits for the two others */
    CHECK(atomic_load(&here) == 3);
    pool_free(pool);
    jf_context_free(ctx);
}

static void nap(void *arg, int task, int worker) {
    (void)worker;
    if (task > 0) usleep(3000);
    ((int *)arg)[task] = task + 1;
}

TEST(pool__caller_sleeps_until_the_slowest_task_is_done) {
    jf_context *ctx = new_context();
    thread_pool *pool = NULL;
    CHECK_STATUS(pool_create(ctx, &pool, 4), JF_OK);
    for (int round = 0; round < 10; round++) {
        int done[4] = {0};
        pool_run(pool, 4, nap, done);
        for (int i = 0; i < 4; i++) CHECK(done[i] == i + 1);
    }
    pool_free(pool);
    jf_context_free(ctx);
}

/* ---- in the background ---- */

TEST(pool__background_tasks_run_once_each_between_and_after_others) {
    jf_context *ctx = new_context();
    static const int sizes[] = {0, 1, 2, 7, 64, 1000};
    for (int threads = 1; threads <= 5; threads++) {
        thread_pool *pool = NULL;
        CHECK_STATUS(pool_create(ctx, &pool, threads), JF_OK);
        pool_background_finish(pool); /* nothing was started */
        for (int round = 0; round < 120; round++) {
            tally *behind = calloc(1, sizeof *behind), *before = calloc(1, sizeof *before);
            behind->threads = before->threads = threads;
            pool_background_start(pool, sizes[round % 6], count_task, behind);
            for (int i = 0; i < round % 5; i++) pool_run(pool, 100, count_task, before);
            if (round % 40 == 39) usleep(2000); /* let the workers finish and fall asleep */
            pool_background_finish(pool);
            for (int i = 0; i < 1000; i++) {
                CHECK(behind->runs[i] == (i < sizes[round % 6]));
                CHECK(before->runs[i] == (i < 100 ? round % 5 : 0));
            }
            CHECK(behind->wrong_worker == 0 && before->wrong_worker == 0);
            free(behind), free(before);
        }
        pool_free(pool);
    }
    jf_context_free(ctx);
}

static void count_up(void *arg, int task, int worker) {
    (void)task, (void)worker;
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(pool__background_tasks_are_done_while_the_caller_does_something_else) {
    jf_context *ctx = new_context();
    thread_pool *pool = NULL;
    CHECK_STATUS(pool_create(ctx, &pool, 2), JF_OK);
    for (int asleep = 0; asleep < 2; asleep++) {
        atomic_int done = 0;
        if (asleep) usleep(20000);
        pool_background_start(pool, 50, count_up, &done);
        for (int i = 0; i < 5000 && atomic_load(&done) < 50; i++) usleep(1000);
        CHECK(atomic_load(&done) == 50); /* before it is finished */
        pool_background_finish(pool);
    }
    pool_free(pool);
    jf_context_free(ctx);
}

/* While a job is there that the caller waits for, workers take its tasks first. */
enum { IN_FRONT = 40 };
typedef struct priorities {
    atomic_int begun; /* of the tasks in front */
    atomic_int behind,
        late; /* tasks done in the background; of those, begun while some in front were left to take */
} priorities;

static void in_front(void *arg, int task, int worker) {
    (void)task, (void)worker;
    atomic_fetch_add(&((priorities *)arg)->begun, 1);
    usleep(300);
}

static void behind(void *arg, int task, int worker) {
    (void)task, (void)worker;
    priorities *p = arg;
    int begun = atomic_load(&p->begun);
    if (begun > 0 && begun < IN_FRONT) atomic_fetch_add(&p->late, 1);
    atomic_fetch_add(&p->behind, 1);
    usleep(300);
}

TEST(pool__background_tasks_give_way_to_those_the_caller_waits_for) {
    jf_context *ctx = new_context();
    thread_pool *pool = NULL;
    CHECK_STATUS(pool_create(ctx, &pool, 2), JF_OK);
    priorities p = {.begun = 0};
    pool_background_start(pool, 60, behind, &p);
    pool_run(pool, IN_FRONT, in_front, &p);
    CHECK(atomic_load(&p.begun) == IN_FRONT);
    CHECK(atomic_load(&p.late) <= 1); /* the one that the worker was about to begin */
    pool_background_finish(pool);
    CHECK(atomic_load(&p.behind) == 60);
    pool_free(pool);
    jf_context_free(ctx);
}

TEST(pool__refuses_impossible_numbers_of_threads) {
    jf_context *ctx = new_context();
    thread_pool *pool = NULL;
    CHECK_STATUS(pool_create(ctx, &pool, 0), JF_ERROR_ARGUMENT);
    CHECK(pool == NULL);
    CHECK_HAS(jf_context_error(ctx), "found 0, expected 1 to");
    CHECK_STATUS(pool_create(ctx, &pool, 1 << 20), JF_ERROR_ARGUMENT);
    pool_free(NULL);
    CHECK(threads_available() >= 1);
    jf_context_free(ctx);
}
