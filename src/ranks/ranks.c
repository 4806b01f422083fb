/* Who takes part, and how one waits for another. */
#include "base/memory.h"
#include "ranks/private.h"
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define BEAT_INTERVAL 0.5 /* seconds between two signs of life */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ranks *ranks_of(jf_context *ctx) {
    static const ranks alone = {.size = 1}; /* nothing is ever written to one rank */
    ranks *r = context_communicator(ctx);
    return !r ? (ranks *)&alone : r->apart ? r->apart : r;
}

int ranks_rank(const ranks *r) {
    return r->rank;
}
int ranks_size(const ranks *r) {
    return r->size;
}
int ranks_is_first(const ranks *r) {
    return r->rank == 0;
}
int ranks_are_joined(const ranks *r) {
    return r->ctx != NULL;
}

ranks_share ranks_share_of_rank(const ranks *r, int rank, size_t n) {
    size_t size = (size_t)r->size, at = (size_t)rank;
    return (ranks_share){n / size * at + n % size * at / size,
                         n / size * (at + 1) + n % size * (at + 1) / size};
}
ranks_share ranks_share_of(const ranks *r, size_t n) {
    return ranks_share_of_rank(r, r->rank, n);
}

/* ---- membership ---- */

void ranks_give_sign(ranks *r) {
    double t = now();
    if (t - r->beaten < BEAT_INTERVAL || !pthread_equal(r->thread, pthread_self())) return;
    r->beaten = t;
    r->link->beat(r->own, 0);
}

static void give_sign(void *communicator) {
    ranks_give_sign(communicator);
}

/* Whoever is done waits for the others, quietly. Without one of them there is nothing to leave. */
static void leave(void *communicator) {
    ranks *r = communicator;
    if (!r->lost && ranks_barrier(r) == JF_OK) r->link->leave(r->own);
    free(r->apart);
    free(r->room);
    free(r);
}

jf_status ranks_join_link(jf_context *ctx, const ranks_link *link, void *own, int rank, int size,
                          double limit) {
    ranks *r;
    if (context_communicator(ctx))
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "ranks: they were joined before with this context");
    JF_TRY(MEM_NEW(ctx, &r, 1));
    *r = (ranks){.ctx = ctx,
                 .link = link,
                 .own = own,
                 .rank = rank,
                 .size = size,
                 .thread = pthread_self(),
                 .limit = limit > 0 ? limit : RANKS_LIMIT,
                 .heard = now()};
    context_set_communicator(ctx, r, give_sign, leave);
    if (rank > 0) context_set_read_only(ctx, 1);
    return JF_OK;
}

jf_status ranks_set_apart(jf_context *ctx, int apart) {
    ranks *r = context_communicator(ctx);
    if (!r || !apart == !r->apart) return JF_OK;
    if (apart) {
        JF_TRY(MEM_NEW(ctx, &r->apart, 1));
        *r->apart = (ranks){.size = 1, .whole = r};
    } else {
        free(r->apart);
        r->apart = NULL;
    }
    context_set_read_only(ctx, r->rank > 0 && !apart);
    return JF_OK;
}

void ranks_end(ranks *r, int status) {
    if (r->whole) r = r->whole;
    if (r->size > 1 && !r->agreed) r->link->end(r->own, status);
}

void ranks_be_quiet(ranks *r, int seconds) {
    if (r->whole) r = r->whole;
    if (r->size == 1) return;
    r->beaten = now();
    r->link->beat(r->own, seconds);
}

int ranks_have_failed(const ranks *r) {
    return r->agreed;
}

jf_status ranks_room(ranks *r, size_t bytes) {
    if (bytes <= r->room_bytes) return JF_OK;
    free(r->room);
    r->room = NULL;
    r->room_bytes = 0;
    JF_TRY(mem_alloc(r->ctx, &r->room, bytes, 1));
    r->room_bytes = bytes;
    return JF_OK;
}

/* ---- waiting ---- */

/* Others are often there within microseconds; a processor that is shared goes to who has work. */
static void pause_a_little(ranks *r, long tries) {
    long patient = context_is_crowded(r->ctx) ? 400 : 20000;
    if (tries < 200) return;
    if (tries < patient)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* *ended: what `has_ended` told last, which is not 0. */
static jf_status wait_until(ranks *r, int (*has_ended)(void *arg), void *arg, int *ended) {
    double began = 0, at;
    for (long tries = 0; (*ended = has_ended(arg)) == 0; tries++) {
        pause_a_little(r, tries);
        if (tries % 64 != 63) continue; /* clocks and neighbours now and then */
        at = now();
        if (began == 0) began = at;
        ranks_give_sign(r);
        int patience = r->link->heard(r->own);
        if (patience >= 0) r->heard = at;
        if (patience >= 0) r->patience = patience;
        if (r->heard < began) r->heard = began; /* silence counts while one listens */
        if (at - r->heard <= r->limit + r->patience) continue;
        r->lost = 1;
        return jf_fail(r->ctx, JF_ERROR_RANK,
                       "rank %d: no sign of life from rank %d for %.0f seconds: it was stopped, hangs or is "
                       "cut off; all ranks end",
                       r->rank, (r->rank + r->size - 1) % r->size, r->limit);
    }
    return JF_OK;
}

static jf_status wait_for(ranks *r, const ranks_transfer *t) {
    int ended;
    JF_TRY(wait_until(r, r->link->ended, r->own, &ended));
    if (ended > 0) return JF_OK;
    r->lost = 1;
    return jf_fail(r->ctx, JF_ERROR_RANK,
                   "rank %d: the connection to rank %d failed, or it has failed itself; all ranks end",
                   r->rank, t->in_bytes ? t->from : t->to);
}

jf_status ranks_wait(ranks *r, int (*has_ended)(void *arg), void *arg, const char *what) {
    int ended;
    if (r->size == 1) return JF_OK;
    JF_TRY(wait_until(r, has_ended, arg, &ended));
    if (ended > 0) return JF_OK;
    r->lost = 1;
    return jf_fail(r->ctx, JF_ERROR_RANK, "rank %d: %s failed; all ranks end", r->rank, what);
}

typedef struct number_wanted {
    const ranks *r;
    uint64_t *number;
} number_wanted;

static int has_taken(void *arg) {
    const number_wanted *w = arg;
    return w->r->link->take(w->r->own, w->number);
}

jf_status ranks_take(jf_context *ctx, uint64_t *number) {
    ranks *r = context_communicator(ctx);
    if (!r)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "ranks: a number is taken of those that have joined, and by the thread that did");
    if (r->size > 1)
        return ranks_wait(r, has_taken, &(number_wanted){r, number}, "asking rank 0 for a number");
    *number = r->taken++;
    return JF_OK;
}

jf_status ranks_exchange(ranks *r, const ranks_transfer *t) {
    ranks_transfer left = *t;
    while (left.out_bytes > 0 || left.in_bytes > 0) {
        ranks_transfer piece = left;
        if (piece.out_bytes > RANKS_MOST_BYTES) piece.out_bytes = RANKS_MOST_BYTES;
        if (piece.in_bytes > RANKS_MOST_BYTES) piece.in_bytes = RANKS_MOST_BYTES;
        if (r->link->begin(r->own, &piece) != 0) r->lost = 1;
        if (r->lost)
            return jf_fail(r->ctx, JF_ERROR_RANK, "rank %d: %s cannot begin a transfer; all ranks end",
                           r->rank, r->link->name);
        JF_TRY(wait_for(r, &piece));
        left.out = (const char *)left.out + piece.out_bytes;
        left.in = (char *)left.in + piece.in_bytes;
        left.out_bytes -= piece.out_bytes;
        left.in_bytes -= piece.in_bytes;
    }
    return JF_OK;
}
