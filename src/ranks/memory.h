/* Memory that the ranks of one machine have in common: a file without a name, which goes with the last of them, however they end.
 *
 * What a rank writes there is seen by others after both have met (ranks_memory_meet, ranks_memory_sum). Who waits there waits as for a
 * message: signs of life go on, and a rank that is lost is noticed. */
#ifndef JF_RANKS_MEMORY_H
#define JF_RANKS_MEMORY_H

#include "ranks/ranks.h"

typedef struct ranks_memory ranks_memory;

enum { RANKS_MEMORY_SUMS = 32 }; /* numbers of a sum, at most */

/* Zeros. *out is NULL, on all, where one of the ranks does not want it, is on another machine or may not open rank 0's files (another
 * container). */
jf_status ranks_memory_open(ranks_memory **out, ranks *r, size_t bytes, int wanted);
void ranks_memory_close(ranks_memory *m);        /* waits for nobody */
void *ranks_memory_bytes(const ranks_memory *m); /* borrowed; from a page on */

jf_status ranks_memory_meet(ranks_memory *m); /* returns when all ranks have called it */
/* The same, with the sums of all ranks: the bits of ranks_sum_doubles(). */
jf_status ranks_memory_sum(ranks_memory *m, double *values, int count);

#endif
