#include "ranks/behind.h"
#include "base/memory.h"
#include "ranks/private.h"
#include <stdlib.h>
#include <string.h>

typedef struct job {
    float *values;
    size_t count;
} job;

struct ranks_behind {
    ranks *r;
    pthread_t thread, caller;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* any of these: */
    job *jobs;              /* (most) */
    int asked, done, leaving;
    jf_status status; /* of the first that failed; those after it are not taken */
    char why[512];
};

/* Of a thread that has the link: a failure is kept for the caller, since messages belong to threads. */
static void take_job(ranks_behind *b, job j) {
    jf_status status = b->status;
    ranks_give_sign(b->r);
    if (status == JF_OK) status = ranks_sum_floats(b->r, j.values, j.count);
    pthread_mutex_lock(&b->lock);
    if (status != JF_OK && b->status == JF_OK) {
        b->status = status;
        strncpy(b->why, jf_context_error(b->r->ctx), sizeof b->why - 1);
    }
    b->done++;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void *work(void *arg) {
    ranks_behind *b = arg;
    for (;;) {
        pthread_mutex_lock(&b->lock);
        while (b->done == b->asked && !b->leaving) pthread_cond_wait(&b->changed, &b->lock);
        int leaving = b->done == b->asked;
        job next = leaving ? (job){0} : b->jobs[b->done];
        pthread_mutex_unlock(&b->lock);
        if (leaving) return NULL;
        take_job(b, next);
    }
}

/* All ranks, or none. */
static jf_status agree(ranks *r, int *wanted) {
    double against = !(*wanted && r->link->any_thread && r->link->any_thread(r->own));
    JF_TRY(ranks_sum_doubles(r, &against, 1));
    *wanted = against == 0;
    return JF_OK;
}

jf_status ranks_behind_open(ranks_behind **out, ranks *r, int most, int wanted) {
    ranks_behind *b;
    *out = NULL;
    if (r->size == 1) return JF_OK;
    JF_TRY(agree(r, &wanted));
    if (!wanted) return JF_OK;
    JF_TRY(MEM_NEW(r->ctx, &b, 1));
    *b = (ranks_behind){.r = r, .caller = pthread_self(), .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_cond_init(&b->changed, NULL);
    jf_status status = MEM_NEW(r->ctx, &b->jobs, (size_t)most);
    if (status == JF_OK && pthread_create(&b->thread, NULL, work, b) != 0)
        status = jf_fail(r->ctx, JF_ERROR_MEMORY, "a thread for sums over ranks cannot be started");
    if (status != JF_OK) {
        free(b->jobs);
        free(b);
        return status;
    }
    *out = b;
    return JF_OK;
}

void ranks_behind_close(ranks_behind *b) {
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->leaving = 1;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b->jobs);
    free(b);
}

void ranks_behind_start(ranks_behind *b) {
    pthread_mutex_lock(&b->lock);
    b->asked = b->done = 0;
    b->r->thread = b->thread;
    atomic_store(&b->r->unhurried, 1);
    pthread_mutex_unlock(&b->lock);
}

void ranks_behind_sum(ranks_behind *b, float *values, size_t count) {
    pthread_mutex_lock(&b->lock);
    b->jobs[b->asked++] = (job){values, count};
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

jf_status ranks_behind_finish(ranks_behind *b) {
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->r->unhurried, 0);
    while (b->done < b->asked) pthread_cond_wait(&b->changed, &b->lock);
    b->r->thread = b->caller;
    jf_status status = b->status;
    pthread_mutex_unlock(&b->lock);
    return status == JF_OK ? JF_OK : jf_fail(b->r->ctx, status, "%s", b->why);
}
