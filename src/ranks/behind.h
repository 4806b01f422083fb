/* Sums over the ranks that are taken by a thread of their own while the caller computes.
 *
 * From start to finish the link is that thread's: the caller calls nothing else of the ranks meanwhile. Sums are taken in the order
 * in which they were asked for, the same on all ranks, and have the bits of ranks_sum_floats(). The thread gives signs of life
 * while it waits and whenever a sum is asked for, so that a caller that hangs falls silent as before. */
#ifndef JF_RANKS_BEHIND_H
#define JF_RANKS_BEHIND_H

#include "ranks/ranks.h"

typedef struct ranks_behind ranks_behind;

/* most: sums between a start and a finish. *out is NULL where one of the ranks does not want it, or its link belongs to the thread
 * that joined. */
jf_status ranks_behind_open(ranks_behind **out, ranks *r, int most, int wanted);
void ranks_behind_close(ranks_behind *b);

void ranks_behind_start(ranks_behind *b);
void ranks_behind_sum(ranks_behind *b, float *values, size_t count); /* not to be touched until the finish */
jf_status ranks_behind_finish(ranks_behind *b);                      /* waits for all of them */

#endif
