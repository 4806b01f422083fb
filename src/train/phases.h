/* The phases of training: epochs, batches and rate of each. */
#ifndef JF_TRAIN_PHASES_H
#define JF_TRAIN_PHASES_H

#include "train/train.h"

/* How a phase makes its batches: sample = share * data + (1 - share) * N(0, 1). */
typedef struct phase {
    const char *name;
    const char *epochs_key, *patience_key, *batches_key; /* patience NULL: runs all its epochs */
    double (*data_share)(int epoch, int epochs);         /* epoch from 1 */
    int needs_data;                                      /* skipped by objectives that train without data */
    int decays;                                          /* the learning rate follows train.decay */
} phase;
extern const phase phases[];
extern const int phase_count;

int phase_epochs(const phase *p, const model *m);
int phase_patience(const phase *p, const model *m);
int phase_batches(const phase *p, const model *m, const dataset *data);
int phase_by_class(const model *m, const dataset *data); /* whether batches are of one class each */
/* Batches of one class in a file's epoch. */
int phase_class_batches(const model *m, const dataset *data, int class_index);
/* The learning rate of a phase of epochs of `batches` steps that began after so many steps. */
rate_schedule phase_schedule(const phase *p, const model *m, int batches, double steps_before, double factor);

#endif
