/* The batches of training: which rows a batch is of, and how it gets to the device.
 *
 * A device that holds the data makes them itself; noise alone is drawn by every device. Otherwise the host
 * makes the rows and puts them, where the device has threads to spare for it beside the step before. */
#ifndef JF_TRAIN_BATCHES_H
#define JF_TRAIN_BATCHES_H

#include "train/phases.h"

/* Which batch of the run: everything a batch is made of follows from this and the seed. */
typedef struct batch_key {
    const phase *phase;
    int phase_epoch; /* from 1 */
    uint32_t epoch;  /* of the whole run, for the random numbers */
    int batch;       /* of the epoch */
} batch_key;
batch_request batch_of(const model *m, const dataset *data, const batch_key *key,
                       int n); /* n = train.batch */
/* The same of all classes together: a look at what a phase begins with. */
batch_request batch_mixed(const model *m, const phase *p, int n);
/* The same of the held-out rows first .. first+n-1; their noise is the same in every epoch. */
batch_request batch_validation(const model *m, const batch_key *key, long first, int n);

/* Its samples from .. from+count-1: a batch like any other. */
batch_request batch_part(const batch_request *q, int from, int count);

/* Samples from .. from+count-1 of a batch as rows (count, model dim) in host memory, in the model's units.
 * scratch: batch_scratch() numbers. Threads may make different samples at the same time. data: NULL where the
 * share is 0. */
void batch_rows(const model *m, const dataset *data, const batch_request *q, int from, int count,
                double *scratch, double *rows);
size_t batch_scratch(const dataset *data);

typedef struct feed feed;
/* For batches of up to run->n_max samples. data: NULL where the objective has none. */
jf_status feed_create(feed **out, const model *m, const dataset *data, flow_run *run);
void feed_free(feed *b);
/* The batch goes to run->state. */
void feed_take(feed *b, const batch_request *q);
/* It is wanted next: begins to make it beside what the device does until then. Changes nothing but the time
 * it takes. */
void feed_begin(feed *b, const batch_request *q);

#endif
