/* Ranks that are threads of a test: a link by memory, on which everything can be tried that a network would
 * do. */
#ifndef JF_RANKS_FIXTURE_H
#define JF_RANKS_FIXTURE_H

#include "ranks/ranks.h"

enum { RANKS_MOST = 8 };

typedef void (*rank_fn)(jf_context *ctx, void *arg);
/* Runs fn on `size` threads, each with a context of its own that has joined the others. limit: of
 * ranks_join(). */
void ranks_run(int size, double limit, rank_fn fn, void *arg);
/* From now on this rank gives no sign of life: as a process that was stopped. */
void ranks_fall_silent(jf_context *ctx);

#endif
