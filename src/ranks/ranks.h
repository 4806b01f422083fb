/* Several processes that work on one thing: rank 0 .. size-1. Each holds all of the model; work is cut among
 * them, and what they found is added up or gathered.
 *
 * - A program that was started by itself has one rank, with which every function returns at once: callers
 *   need not ask.
 * - All ranks call the same functions in the same order, with the same counts. JF_STOPPED and failures of one
 *   rank alone lead to ranks_end(), or the others wait for it in vain.
 * - Sums are taken in a fixed order, the same for every rank: neighbours first, (0 + 1) + (2 + 3), then pairs
 *   of pairs. So what a process adds up by halves has the same bits on 2, 4, 8 ... ranks of equal parts, and
 *   all ranks have the same bits.
 * - Who waits, waits as long as the rank before it in the ring gives signs of life, which it does while it
 *   waits, and wherever it calls context_poll(). A rank that was silent for `limit` seconds is lost, and
 *   whoever notices fails with JF_ERROR_RANK. */
#ifndef JF_RANKS_RANKS_H
#define JF_RANKS_RANKS_H

#include "base/context.h"
#include "ranks/link.h"

typedef struct ranks ranks;

#define RANKS_LIMIT 20.0 /* seconds of silence */

/* The ranks of a context: borrowed; never NULL, one rank where none were joined. */
ranks *ranks_of(jf_context *ctx);
int ranks_rank(const ranks *r);
int ranks_size(const ranks *r);
int ranks_is_first(const ranks *r); /* rank 0, which alone writes and tells */

/* How many processes a launcher (mpirun, srun) has started, as the environment tells; 1: none, or just this
 * one. */
int ranks_launched(void);
/* Joins the processes of the launcher; they belong to the context from then on, and leave with it. expected:
 * how many there have to be, 0: any number. limit: seconds, 0: RANKS_LIMIT. */
jf_status ranks_join(jf_context *ctx, int expected, double limit);
/* The same over a link that is there: for tests, and what ranks_join() does in the end. */
jf_status ranks_join_link(jf_context *ctx, const ranks_link *link, void *own, int rank, int size,
                          double limit);
/* After a failure of this rank: ends all of them. Returns where there is one rank only, or all have agreed on
 * the failure. */
void ranks_end(ranks *r, int status);
/* This rank is about to be busy without a sign of life, with a file for instance: it is waited for so many
 * seconds more, at most 127. With 0 it is there again. */
void ranks_be_quiet(ranks *r, int seconds);
int ranks_have_failed(const ranks *r); /* whether all have agreed on a failure, which rank 0 then tells */
/* Whether this process was asked to be a rank, be it the only one. */
int ranks_are_joined(const ranks *r);
/* From now on, or no longer, this rank works by itself: ranks_of() is one rank, which writes, and what it
 * calls the others do not. It still has its place and its threads among them, and gives signs of life
 * wherever it calls context_poll(). */
jf_status ranks_set_apart(jf_context *ctx, int apart);
/* The next of the numbers 0, 1, 2, ... that no rank has taken yet, for work that takes whoever has time;
 * apart or not. Rank 0 answers whenever it waits or calls context_poll(). Fails where none have joined. */
jf_status ranks_take(jf_context *ctx, uint64_t *number);
/* Which of the ranks of its machine this one is, from 0, as the launcher tells. */
int ranks_place(const ranks *r);
int ranks_share_machine(const ranks *r); /* whether all of them are on this one, as the launcher tells */
/* How many threads a rank has that asked for `threads`: where it asked for none in particular, its part of
 * the processors of its machine. 0: as many as there are. Where all of them together are more than the
 * processors nobody spins from then on. */
int ranks_threads(ranks *r, int threads);

/* Of all ranks, on all ranks. */
jf_status ranks_sum_floats(ranks *r, float *values, size_t count);
jf_status ranks_sum_doubles(ranks *r, double *values, size_t count);
/* Bytes of one rank, on all. */
jf_status ranks_broadcast(ranks *r, void *bytes, size_t count, int from);
/* `count` bytes of every rank, one after the other, on all; mine may be their place in `all` (size * count).
 */
jf_status ranks_gather(ranks *r, const void *mine, size_t count, void *all);
/* The same where counts differ: counts (size) in bytes, known to all. */
jf_status ranks_gather_parts(ranks *r, const void *mine, const size_t *counts, void *all);
jf_status ranks_barrier(ranks *r); /* returns when all ranks have called it */
/* Waits for something of another kind that needs all ranks, as it does for their messages: until has_ended()
 * is 1, or -1 where it failed. One rank needs no others, and does not wait. */
jf_status ranks_wait(ranks *r, int (*has_ended)(void *arg), void *arg, const char *what);
/* What each rank has come to: JF_OK where all of them have, otherwise the status and the message of the first
 * that has not, on all: "rank 2: ...". */
jf_status ranks_agree(ranks *r, jf_status mine);
/* Fails on all ranks where a text is not that of rank 0, naming the first rank that differs and the first
 * lines that do: "rank 2: another WHAT than rank 0: "...", there "..."". */
jf_status ranks_same(ranks *r, const char *what, const char *mine);

/* What each rank does of n pieces of work: pieces begin .. end-1. Parts are as equal as they can be, and
 * equal where size divides n. */
typedef struct ranks_share {
    size_t begin, end;
} ranks_share;
ranks_share ranks_share_of(const ranks *r, size_t n);
ranks_share ranks_share_of_rank(const ranks *r, int rank, size_t n);

/* Work on n rows, which each rank does for some of them, begin .. end-1, cut at multiples of `unit`;
 * afterwards every rank has what all of them left in the arrays. One rank does all of it, and fails as `work`
 * does; of several the work may be none. */
typedef jf_status (*ranks_work)(void *arg, size_t begin, size_t end);
typedef struct ranks_rows {
    void *base;   /* (n); NULL: left out */
    size_t bytes; /* of a row */
} ranks_rows;
jf_status ranks_divide(ranks *r, size_t n, size_t unit, ranks_work work, void *arg, const ranks_rows *rows,
                       int count);

#endif
