/* The phases of training and the batches of each. */
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
/* Batches of one class in a file's epoch. */
int phase_class_batches(const model *m, const dataset *data, int class_index);
/* The learning rate of a phase of epochs of `batches` steps that began after so many steps. */
rate_schedule phase_schedule(const phase *p, const model *m, int batches, double steps_before, double factor);

/* Which batch of the run: everything a batch is made of follows from this and the seed. */
typedef struct batch_key {
    const phase *phase;
    int phase_epoch; /* from 1 */
    uint32_t epoch;  /* of the whole run, for the random numbers */
    int batch;       /* of the epoch */
} batch_key;
/* Fills host (n, model dim) in the model's units; n = train.batch. Scratch: (n, data dim). */
void batch_make(const model *m, const dataset *data, const batch_key *key, int n, double *scratch,
                double *host);

/* The same of all classes together: a look at what a phase begins with. */
void batch_mixed(const model *m, const dataset *data, const phase *p, int n, double *scratch, double *host);

/* The same for the held-out rows first .. first+n-1; their noise is the same in every epoch. */
void batch_held_out(const model *m, const dataset *data, const batch_key *key, long first, int n,
                    double *scratch, double *host);

#endif
