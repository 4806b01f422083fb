/* The history of a run, history.csv: a line per epoch, for people and pictures. No run depends on it. */
#ifndef JF_TRAIN_HISTORY_H
#define JF_TRAIN_HISTORY_H

#include "base/context.h"
#include "loss/terms.h"

typedef struct history_row {
    const char *phase;
    int epoch;
    long step;
    loss_terms terms;
    double validation; /* loss of the held-out rows, NAN where there are none */
    double rate, ks_median, ks_max, drift, seconds;
} history_row;
/* Begins the file, or cuts it back to its first *rows rows. Where it has less or is missing, the log says so,
 * and *rows is how many it has. */
jf_status history_begin(jf_context *ctx, const char *path, long *rows);
jf_status history_add(jf_context *ctx, const char *path, const history_row *row);

#endif
