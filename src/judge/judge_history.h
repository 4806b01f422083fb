/* What a run's history.csv says, for its training curves. */
#ifndef JF_JUDGE_JUDGE_HISTORY_H
#define JF_JUDGE_JUDGE_HISTORY_H

#include "draw/draw.h"
#include "loss/terms.h"

/* Columns that are read: the loss terms in the order of their list, then these. */
enum { HISTORY_VALIDATION = TERM_COUNT, HISTORY_RATE, HISTORY_KS_MAX, HISTORY_SECONDS, HISTORY_COLUMNS };

#define HISTORY_MAX_PHASES 8

typedef struct history {
    long rows;
    double *values[HISTORY_COLUMNS]; /* each (rows); NAN where a field is empty */
    double *number;                  /* (rows) 1, 2, ...: epochs of the whole run */
    int phase_count;
    char phase_names[HISTORY_MAX_PHASES][32];
    curve_phase phases[HISTORY_MAX_PHASES];
} history;

/* Any file is taken as far as it can be read: what is no number is a gap in its curve. */
jf_status history_read(jf_context *ctx, history *h, const char *path);
void history_free(history *h);

#endif
