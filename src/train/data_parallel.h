/* A step of training that is taken in slices: by several ranks, of which each makes and evaluates its own
 * rows of the batch, and by one process that wants the bits of several (deterministic).
 *
 * The gradient and the terms are added up by halves: those of a rank's slices, then those of the ranks
 * (ranks/ranks.h). So with the same slices 1, 2, 4 ... ranks have the same bits. Each rank has its own
 * weights and moments, which are the same everywhere. */
#ifndef JF_TRAIN_DATA_PARALLEL_H
#define JF_TRAIN_DATA_PARALLEL_H

#include "ranks/ranks.h"
#include "train/batches.h"

#define DATA_PARALLEL_SLICES                                                                                 \
    8 /* of a deterministic step, at most: as many as divide the batch, and so as many ranks at most */

typedef struct data_parallel_evaluation data_parallel_evaluation;

typedef struct data_parallel {
    ranks *r;
    int batch;                   /* samples of all ranks */
    int first, end;              /* those of this rank */
    int slices;                  /* that it evaluates one after the other, */
    int slice;                   /* of so many samples each */
    int rows;                    /* that any rank evaluates at once, at most */
    int levels;                  /* sums of slices that wait for their neighbours: */
    real **waiting;              /* (levels) flat, like the parameters */
    device_group *group;         /* devices that add up by themselves; NULL: their hosts do */
    device_recording *recording; /* of the evaluation of a slice, where the device records; NULL: none yet */
    data_parallel_evaluation *evaluation; /* what it evaluates */
} data_parallel;

/* Who does what. Refuses a batch that is too small for the ranks, or whose slices they cannot share equally.
 */
jf_status data_parallel_create(data_parallel *s, const model *m, int batch, int deterministic);
void data_parallel_free(data_parallel *s, model *m,
                        int failed);              /* failed: nobody waits for others any more */
int data_parallel_needed(const data_parallel *s); /* whether steps differ from those of a process by itself */

/* Beside the step: what rank 0 wants all of them to do after it, and of an epoch's first batch how far inputs
 * were off. */
enum { DATA_PARALLEL_READ = 1, DATA_PARALLEL_STOP = 2 };
typedef struct data_parallel_call {
    model *m;
    flow_run *run; /* for s->rows samples */
    feed *feed;
    optimiser *opt;
    scalar *terms; /* (TERM_COUNT): scratch */
    batch_request batch, next;
    int has_next, wants_drift;
    int control; /* of rank 0: what it wants; then, on all: what it wanted */
} data_parallel_call;
jf_status data_parallel_step(data_parallel *s, data_parallel_call *c);

/* The ranks have the weights, moments, best weights and state of rank 0, which has read them. */
jf_status data_parallel_spread(const data_parallel *s, const model *m, real *const *buffers, int count,
                               void *state, size_t bytes);

/* Refuses ranks whose devices round differently or whose data are others; data: NULL where there are none. */
jf_status data_parallel_check_same(const model *m, const dataset *data);

#endif
