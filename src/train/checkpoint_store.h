/* The checkpoints of a run folder: the newest, and the one before it, for the case that the newest is
 * damaged. */
#ifndef JF_TRAIN_CHECKPOINT_STORE_H
#define JF_TRAIN_CHECKPOINT_STORE_H

#include "train/checkpoint.h"

typedef struct checkpoint_store {
    char *newest, *previous, *next; /* paths; next: while it is written */
    int newest_unusable;            /* it is not kept as the previous one */
    checkpoint_data data;
} checkpoint_store;
jf_status checkpoint_store_create(jf_context *ctx, checkpoint_store *g, const char *folder);
void checkpoint_store_free(checkpoint_store *g);
/* Writes a checkpoint, and keeps the newest so far as the previous one. Killed at any moment, two whole ones
 * are there once there were two. */
jf_status checkpoint_store_save(checkpoint_store *g, const model *m, const optimiser *o, const real *best,
                                const epoch_start *start, const train_state *s);
/* Refuses a run of another recipe before anything is made of this one, which may ask for more than there is.
 */
jf_status checkpoint_store_check_recipe(const checkpoint_store *g, const recipe *r);
/* checkpoint_load of the newest, or of the previous one where the newest is missing or unusable; the log says
 * so. */
jf_status checkpoint_store_load(checkpoint_store *g, model *m, optimiser *o, real *best, epoch_start *start,
                                train_state *s);

#endif
