#ifndef JF_TRAIN_MEMORY_H
#define JF_TRAIN_MEMORY_H

#include "train/train.h"

/* Bytes, about. */
typedef struct train_memory {
    double weights;    /* and gradients, moments, and the copies that a run can go back to */
    double checkpoint; /* while one is written */
    double passes;     /* batches, scratch, partial gradients */
    double kept;       /* activations for the backward pass, within train.keep */
    double histograms, data, total;
} train_memory;
train_memory train_memory_of(const model *m, const dataset *data);

#endif
