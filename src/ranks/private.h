/* Inside ranks/ alone. */
#ifndef JF_RANKS_PRIVATE_H
#define JF_RANKS_PRIVATE_H

#include "ranks/ranks.h"
#include <pthread.h>

struct ranks {
    jf_context *ctx; /* which owns this */
    const ranks_link *link;
    void *own; /* of the link */
    int rank, size;
    int agreed;       /* on a failure: nobody waits for this rank any more */
    int lost;         /* a rank, or the way to it */
    pthread_t thread; /* that joined, and alone uses the link */
    double limit;
    double beaten;   /* when the last sign of life was given, */
    double heard;    /* and the last one came, */
    double patience; /* after which the next may take so many seconds more */
    void *room;      /* (room_bytes): what others send, to be added */
    size_t room_bytes;
    uint64_t taken; /* numbers, where there is one rank */
    struct ranks
        *apart; /* what ranks_of() tells while this rank works by itself; NULL: it works with the others */
    struct ranks *whole; /* of such a one: the ranks that it belongs to */
};

/* Sends and receives at the same time, any number of bytes, and waits for both. */
jf_status ranks_exchange(ranks *r, const ranks_transfer *t);
void ranks_give_sign(ranks *r); /* of life, where the last one is a while ago and this thread has the link */
jf_status ranks_room(ranks *r, size_t bytes); /* at least so many */

#endif
