/* Steps of ranks that are on one machine: the flat buffers of a run lie in memory that they have in common, once, and each rank adds up
 * and updates its shard of them. The bits are those of ranks that send each other their gradients.
 *
 * - A gradient of its own has each rank; weights, moments, averages and what is kept of them are all ranks'.
 * - In a step each writes its shard. Outside of steps rank 0 alone writes them, and where others read what it writes they meet before
 *   and after (sharded_meet). Nobody is in a step before all are, so that what rank 0 alone reads needs no meeting. */
#ifndef JF_TRAIN_SHARDED_H
#define JF_TRAIN_SHARDED_H

#include "ranks/memory.h"
#include "train/train.h"

typedef struct sharded sharded;

enum {
    SHARDED_FLATS =
        7, /* of all: weights, two moments, the best weights, and the first three as the epoch began */
    SHARDED_AVERAGES = 2 /* more where weights are averaged: the average, and that as the epoch began */
};

/* *out is NULL where it cannot be done: ranks on several machines or in several containers, a device whose numbers lie elsewhere; and
 * where JOINTFLOW_SHARED=off, of all ranks, says so. */
jf_status sharded_create(sharded **out, ranks *r, const model *m);
/* The weights of the model are in its own memory again. */
void sharded_free(sharded *s, model *m);

size_t sharded_bytes(const sharded *s); /* of all ranks together */

/* Instead of what the device has allocated, which is released; `flat` is NULL where there is none yet. */
void sharded_take_gradient(sharded *s, const model *m, real **flat); /* this rank's */
void sharded_take(sharded *s, const model *m, real **flat);          /* one of all ranks; zeros */
jf_status sharded_take_weights(sharded *s, model *m, flow_run *run); /* the same of all; as they are */
void sharded_forget(const sharded *s, real **flat); /* before it would be released to the device */

jf_status sharded_meet(sharded *s);
/* When each rank has its gradient: sums of a few other numbers, and then the step. */
jf_status sharded_sum(sharded *s, double *values, int count);
jf_status sharded_step(sharded *s, const optimiser *o, const model *m);

#endif
