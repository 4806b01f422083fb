/* A run while it trains: what the loop (loop.c), its beginning and end of buffers (prepare.c) and what is
 * measured on the way (measure.c) have in common. */
#ifndef JF_TRAIN_TRAINER_H
#define JF_TRAIN_TRAINER_H

#include "train/checkpoint_store.h"
#include "train/data_parallel.h"

typedef struct trainer {
    model *m;
    const dataset *data;
    const jf_train_options *options;
    double interval; /* seconds between two reads of the device */
    optimiser opt;
    training_step step;
    flow_run *run;
    int batch; /* samples */
    data_parallel parallel;
    int rows; /* of a batch that are evaluated at once: all of them, unless work is shared */
    feed *feed;
    scalar *scratch_terms; /* (TERM_COUNT) */
    real *best;            /* weights of the best epoch of this phase */
    epoch_start start;     /* of this epoch, for rollbacks */
    train_state s;
    checkpoint_store checkpoints;
    const char *folder;  /* NULL: this run, or this rank of it, writes nothing */
    char *history;       /* likewise */
    double saved_epochs; /* that the last checkpoint holds; below 0: there is none of this run */
    double clock_start, seconds_before, last_checkpoint, last_read;
    int stop;       /* `progress` asked for it */
    int told_phase; /* whose held-out loss was said not to be finite, from 1; 0: none */
} trainer;

/* loop.c */
double trainer_clock(void);                                      /* seconds */
void trainer_copy(const trainer *t, real *to, const real *from); /* flat buffers */
const real *
trainer_weights(const trainer *t); /* that are measured and kept: averaged ones, where they are averaged */
void trainer_return_to_epoch_start(trainer *t);

/* prepare.c: allocates every buffer once; of a run that is resumed it reads the checkpoint. trainer_release()
 * takes whatever of that there is. */
jf_status trainer_prepare(trainer *t);
void trainer_release(trainer *t, jf_status ended);

/* measure.c */
int trainer_has_validation(const trainer *t);
/* Until the pass that it returns is put back, objectives are evaluated as models are used. */
pass trainer_begin_measuring(trainer *t);
jf_status trainer_measure_ks(trainer *t); /* latent histograms against the prior, into the state */
/* Mean loss over the held-out rows, with the phase's share of data and fixed noise; NAN where there are none.
 */
jf_status trainer_validate(trainer *t, const phase *p, double *out);
/* Of the weights that the run leaves: mean over held-out rows, or over points as the histograms have them. */
jf_status trainer_final_loss(trainer *t, double *out);

#endif
