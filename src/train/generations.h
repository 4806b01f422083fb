/* The checkpoints of a run folder: the newest, and the one before it, for the case that the newest is
 * damaged. */
#ifndef JF_TRAIN_GENERATIONS_H
#define JF_TRAIN_GENERATIONS_H

#include "train/checkpoint.h"

typedef struct generations {
    char *newest, *previous, *next; /* paths; next: while it is written */
    int newest_unusable;            /* it is not kept as the previous one */
    checkpoint_data data;
} generations;
jf_status generations_create(jf_context *ctx, generations *g, const char *folder);
void generations_free(generations *g);
/* Writes a checkpoint, and keeps the newest so far as the previous one. Killed at any moment, two whole ones
 * are there once there were two. */
jf_status generations_save(generations *g, const model *m, const optimiser *o, const real *best,
                           const epoch_start *start, const train_state *s);
/* Refuses a run of another recipe before anything is made of this one, which may ask for more than there is.
 */
jf_status generations_check_recipe(const generations *g, const recipe *r);
/* checkpoint_load of the newest, or of the previous one where the newest is missing or unusable; the log says
 * so. */
jf_status generations_load(generations *g, model *m, optimiser *o, real *best, epoch_start *start,
                           train_state *s);

#endif
