#include "ranks_fixture.h"
#include "ranks/private.h"
#include "test.h"
#include <pthread.h>

/* What one rank has for another: pointers to both ends of a transfer, whoever comes second copies. */
typedef struct mailbox {
    const void *out;
    size_t bytes;
    int full;
} mailbox;

typedef struct room {
    pthread_mutex_t lock;
    mailbox boxes[RANKS_MOST][RANKS_MOST]; /* [from][to] */
    uint64_t next;                         /* number to be taken */
    int beats[RANKS_MOST]; /* of each rank, not yet heard: 0, or the patience that is asked for and 1 */
} room;

typedef struct member {
    room *room;
    int rank, size, silent;
    ranks_transfer t;
    int put, got; /* of the transfer under way */
    rank_fn fn;
    void *arg;
    double limit;
} member;

static int begin(void *own, const ranks_transfer *t) {
    member *m = own;
    m->t = *t;
    m->put = t->out_bytes == 0;
    m->got = t->in_bytes == 0;
    return 0;
}

/* A sender offers its bytes and is done when they were taken. */
static int ended(void *own) {
    member *m = own;
    pthread_mutex_lock(&m->room->lock);
    if (!m->put) {
        mailbox *box = &m->room->boxes[m->rank][m->t.to];
        if (m->put == 0 && !box->full && box->out != m->t.out) {
            *box = (mailbox){m->t.out, m->t.out_bytes, 1};
        } else if (!box->full && box->out == m->t.out) {
            box->out = NULL;
            m->put = 1;
        }
    }
    if (!m->got) {
        mailbox *box = &m->room->boxes[m->t.from][m->rank];
        if (box->full) {
            CHECK(box->bytes == m->t.in_bytes);
            memcpy(m->t.in, box->out, box->bytes);
            box->full = 0;
            m->got = 1;
        }
    }
    int both = m->put && m->got;
    pthread_mutex_unlock(&m->room->lock);
    return both;
}

static void beat(void *own, int patience) {
    member *m = own;
    pthread_mutex_lock(&m->room->lock);
    if (!m->silent) m->room->beats[m->rank] = patience + 1;
    pthread_mutex_unlock(&m->room->lock);
}

static int heard(void *own) {
    member *m = own;
    int *beats = &m->room->beats[(m->rank + m->size - 1) % m->size], last;
    pthread_mutex_lock(&m->room->lock);
    last = *beats - 1;
    *beats = 0;
    pthread_mutex_unlock(&m->room->lock);
    return last;
}

static int take(void *own, uint64_t *number) {
    member *m = own;
    pthread_mutex_lock(&m->room->lock);
    *number = m->room->next++;
    pthread_mutex_unlock(&m->room->lock);
    return 1;
}

static void leave(void *own) {
    (void)own;
}

static const ranks_link link_of_threads = {.version = RANKS_LINK_VERSION,
                                           .name = "threads",
                                           .begin = begin,
                                           .ended = ended,
                                           .beat = beat,
                                           .heard = heard,
                                           .take = take,
                                           .leave = leave};

static void *run_member(void *arg) {
    member *m = arg;
    jf_context *ctx;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(ranks_join_link(ctx, &link_of_threads, m, m->rank, m->size, m->limit), JF_OK);
    m->fn(ctx, m->arg);
    jf_context_free(ctx);
    return NULL;
}

void ranks_run(int size, double limit, rank_fn fn, void *arg) {
    room r = {.lock = PTHREAD_MUTEX_INITIALIZER};
    member members[RANKS_MOST];
    pthread_t threads[RANKS_MOST];
    for (int i = 0; i < size; i++) {
        members[i] = (member){.room = &r, .rank = i, .size = size, .fn = fn, .arg = arg, .limit = limit};
        CHECK(pthread_create(&threads[i], NULL, run_member, &members[i]) == 0);
    }
    for (int i = 0; i < size; i++) pthread_join(threads[i], NULL);
}

void ranks_fall_silent(jf_context *ctx) {
    ranks *r = ranks_of(ctx);
    member *m = r->own;
    pthread_mutex_lock(&m->room->lock);
    m->silent = 1;
    pthread_mutex_unlock(&m->room->lock);
}
