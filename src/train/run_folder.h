/* The run folder: one process at a time writes into it, and it holds the files of one run.
 *
 * A run that begins in a folder that holds another one sets that aside first, whole, in a folder in it, where
 * it can be used and resumed like any other. It is removed when the new run has finished. */
#ifndef JF_TRAIN_RUN_FOLDER_H
#define JF_TRAIN_RUN_FOLDER_H

#include "base/context.h"

#define RUN_CHECKPOINT          "checkpoint.safetensors"
#define RUN_CHECKPOINT_PREVIOUS "checkpoint-previous.safetensors" /* the one before it */
#define RUN_CHECKPOINT_NEXT     "checkpoint-next.safetensors"     /* while it is written */
#define RUN_MODEL               "model.safetensors"
#define RUN_HISTORY             "history.csv"
#define RUN_RECIPE              "recipe.ini"
#define RUN_SET_ASIDE           "old-run" /* then old-run-2, ... */

typedef struct run_folder run_folder;
/* Locks a folder that is there, and removes what a killed writer left half-written in it. */
jf_status run_folder_open(jf_context *ctx, run_folder **out, const char *path);
void run_folder_close(run_folder *f); /* may be NULL */
/* Refuses a folder without a checkpoint, and tells where the run is that it may have had. */
jf_status run_folder_check_resumable(const run_folder *f);
/* A new run is about to begin: sets aside what is there of another one. Killed at any moment, the old run is
 * whole in the folder or in the one it is set aside in, and nothing of the new one is there yet. */
jf_status run_folder_set_aside(run_folder *f);
/* The new run has failed; returns the failure. Where it has no checkpoint yet, the run that it set aside
 * comes back. */
jf_status run_folder_give_up(run_folder *f, jf_status failure);
/* The new run is whole: removes those set aside. That one of them cannot be removed is no failure of the run;
 * the log says so. */
void run_folder_finish(run_folder *f);

#endif
