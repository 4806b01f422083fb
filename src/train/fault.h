/* Where values that are not finite come from, for messages: the row, the weights or the gain that makes them.
 * Nothing of a run depends on it. */
#ifndef JF_TRAIN_FAULT_H
#define JF_TRAIN_FAULT_H

#include "train/batches.h"

typedef enum fault_kind { FAULT_OF_DATA, FAULT_OF_LAYER, FAULT_OF_LOSS, FAULT_OF_GRADIENT } fault_kind;

/* Of one batch. */
typedef struct fault {
    fault_kind kind;
    int layer; /* FAULT_OF_LAYER: the first whose output is not finite */
    long row; /* of the data set, of the sample that it shows in, from `rows` on those held out; -1: no file's
               */
    int element;     /* of that row as the batch has it: the one furthest off, */
    double off;      /* in deviations from the mean */
    const char *bad; /* a tensor of weights that are not finite; NULL: all are */
} fault;

/* Makes the batch again and looks for what is not finite in it, after each layer, and in the weights. The
 * run's state is lost. */
jf_status fault_find(const model *m, const dataset *data, feed *source, flow_run *run, const batch_request *q,
                     fault *out);

#define FAULT_MAX_WORDS 768
/* "after layer 3" */
const char *fault_where(const fault *f, char out[FAULT_MAX_WORDS]);
int fault_is_of_row(const fault *f); /* a row does it that is far off, or beyond the device's numbers */
/* What does it, and what to do: the row, the weights or a gain. Of faults that no rate can help. */
const char *fault_why(const fault *f, const model *m, const dataset *data, char out[FAULT_MAX_WORDS]);

#endif
