/* What ranks need of whatever connects them: a table of functions. The library has one for threads of a test
 * and one that is loaded (module.c): libjointflow-mpi.so, which sees this header and nothing else of the
 * library.
 *
 * Only the thread that joined uses a link. Functions that return int: 0 is success. */
#ifndef JF_RANKS_LINK_H
#define JF_RANKS_LINK_H

#include <stddef.h>
#include <stdint.h>

#define RANKS_LINK_VERSION 3                      /* of this table; a module of another one is refused */
#define RANKS_LINK_SYMBOL  "jointflow_ranks_link" /* what a module exports: a const ranks_link */

/* Bytes to a rank and bytes from a rank, at the same time; a count of 0: none. */
typedef struct ranks_transfer {
    const void *out;
    void *in;
    size_t out_bytes, in_bytes;
    int to, from;
} ranks_transfer;

typedef struct ranks_link {
    unsigned version;
    const char *name; /* "Open MPI 4.1.4" */

    /* Meets the other ranks of the launcher; `why` (room) gets the reason where that fails. */
    int (*join)(void **own, int *rank, int *size, char *why, size_t room);
    void (*leave)(void *own);
    /* Ends every rank, this one too, with that exit status. Returns only where that is not possible. */
    void (*end)(void *own, int status);

    /* Begins a transfer of at most RANKS_MOST_BYTES each way: one at a time. Neither buffer is touched until
     * it has ended. */
    int (*begin)(void *own, const ranks_transfer *t);
    int (*ended)(void *own); /* 1: it has, 0: not yet, -1: it failed; drives what is under way */

    /* A sign of life for the rank after this one, with the seconds (0 .. 127) until the next may be expected,
     * beside those that it waits anyway; and whether any came from the rank before since this was asked last:
     * -1, or those of the last. Never waits. */
    void (*beat)(void *own, int patience);
    int (*heard)(void *own);

    /* The next of the numbers 0, 1, 2, ... that all ranks take from: no two get the same. 1: *number is it,
     * 0: not yet, to be asked again, -1: it failed. Rank 0 answers the others whenever it calls beat() or
     * heard(). */
    int (*take)(void *own, uint64_t *number);
} ranks_link;

#define RANKS_MOST_BYTES ((size_t)1 << 30)

#endif
