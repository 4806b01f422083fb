/* The checkpoint: everything that a run is, so that a resumed one continues bit for bit. */
#ifndef JF_TRAIN_CHECKPOINT_H
#define JF_TRAIN_CHECKPOINT_H

#include "train/train.h"

/* Scalars of a run, and sums of the loss terms. All doubles, so that the checkpoint stores them as one
 * tensor, in this order. */
#define TRAIN_STATE_FIELDS(X, X_TERMS)                                                                       \
    X(phase)       /* index */                                                                               \
    X(epoch)       /* of the phase, from 1 */                                                                \
    X(batch)       /* next batch of the epoch */                                                             \
    X(total_epoch) /* of the run, for the random numbers */                                                  \
    X(step)        /* of the optimiser */                                                                    \
    X(best)        /* best loss of the phase */                                                              \
    X(since_best)  /* epochs */                                                                              \
    X(rate_factor) /* halved by every rollback */                                                            \
    X(rollbacks)                                                                                             \
    X(seconds) /* spent */                                                                                   \
    X(history_rows)                                                                                          \
    X(ks_median)                                                                                             \
    X(ks_max)                                                                                                \
    X_TERMS(sums) /* of the epoch's batches so far, in the order of LOSS_TERMS */                            \
    X(drift)      /* of inputs recovered by inverting, in the first batch of the epoch */                    \
    X(finished)                                                                                              \
    X(best_epoch)      /* of the phase, whose weights are the best so far; 0: none */                        \
    X(validation_loss) /* the held-out loss of the last epoch; NAN: none */                                  \
    X(kept_epoch)      /* of the last phase that ended, */                                                   \
    X(kept_of)         /* and how many it had */                                                             \
    X(best_before)     /* best loss of the phase when its last tenth began; NAN: not yet */                  \
    X(fell) /* of the last phase that ended: the held-out loss in its last tenth; 0: it did not fall */

typedef struct train_state {
#define X(name)       double name;
#define X_TERMS(name) loss_terms name;
    TRAIN_STATE_FIELDS(X, X_TERMS)
#undef X
#undef X_TERMS
} train_state;

/* A run as it was when its epoch began: what a rollback goes back to. */
typedef struct epoch_start {
    real *params, *first, *second; /* weights and moments, flat */
    real *average;                 /* likewise; NULL: weights are not averaged */
    train_state state;
} epoch_start;

/* Which data a run is of, and what to do where a checkpoint is of others. */
typedef struct checkpoint_data {
    char identity[DATASET_MAX_IDENTITY]; /* dataset_identity; "": nothing to compare */
    int may_differ;                      /* resuming goes on with changed data */
    int differ;                          /* they are; from loading */
} checkpoint_data;

/* In the middle of an epoch `start` is saved, too. */
jf_status checkpoint_save(const char *path, const model *m, const optimiser *o, const real *best,
                          const epoch_start *start, const train_state *s, const checkpoint_data *data);
/* Compares the recipes alone, before data and a model are made of this one. *unusable, where it fails: as
 * below. */
jf_status checkpoint_check_recipe(const char *path, const recipe *r, int *unusable);
/* Refuses a checkpoint of another recipe, seed, precision or, unless they may differ, other data (match.h),
 * naming what differs, and one that is damaged or holds weights that are not finite. `start` is filled in
 * only where the checkpoint is in the middle of an epoch (s->batch > 0). *unusable, where it fails: 1 if no
 * run can go on from this file, 0 if this run cannot. */
jf_status checkpoint_load(const char *path, model *m, optimiser *o, real *best, epoch_start *start,
                          train_state *s, checkpoint_data *data, int *unusable);

#endif
