/* What a training run will hold in memory, known before it starts. */
#ifndef JF_TRAIN_TRAIN_MEMORY_H
#define JF_TRAIN_TRAIN_MEMORY_H

#include "train/train.h"

/* Bytes, about. A device without memory of its own takes what is the device's from the host, too. */
typedef struct train_memory {
    /* of the device */
    double weights;  /* and gradients, moments, and the copies that a run can go back to */
    double model;    /* of these the weights alone, which are there before a run */
    double passes;   /* states, scratch, partial gradients */
    double saved;    /* activations for the backward pass, within train.keep */
    double resident; /* data that the device holds; 0 where its memory is the host's */
    /* of the host */
    double checkpoint; /* while one is written */
    double batches;
    double histograms, data;
    /* together */
    double device, host;
} train_memory;
train_memory train_memory_of(const model *m, const dataset *data);

double train_keep(const recipe *r, const device *d); /* MiB: train.keep */

/* Says how much it will be. JF_ERROR_MEMORY where the device has memory of its own and not enough of it free.
 */
jf_status train_tell_memory(const model *m, const dataset *data);

#endif
