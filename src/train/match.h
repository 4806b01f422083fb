/* Whether a run may go on from a checkpoint: what both have to have in common. */
#ifndef JF_TRAIN_MATCH_H
#define JF_TRAIN_MATCH_H

#include "train/checkpoint.h"

/* The text of the recipe that a checkpoint is of; train.precision and train.keep may be others. */
jf_status match_recipe(const char *path, const char *there, const recipe *r);
/* By the notes of the file: recipe, seed, precision, what is kept, and data unless they may differ. Another
 * device is not refused but told, and may have another precision and keep more or less. */
jf_status match_run(const char *path, const tensor_file *file, const model *m, checkpoint_data *data);

#endif
