/* Summaries of posteriors: of the samples of each condition their means, deviations and quantiles, the most
 * likely x, and the highest-density sets, jointly by the density of the model and column by column by the
 * samples. */
#ifndef JF_JUDGE_SUMMARY_H
#define JF_JUDGE_SUMMARY_H

#include "jointflow/jointflow.h"

#include "base/memory.h"
#include "inference/hpd.h"
#include "model/model.h"

#define SUMMARY_MAX_LEVELS HPD_MAX_LEVELS /* masses, and quantiles */

typedef struct column_summary {
    double mean, deviation, median, mode, quantile[SUMMARY_MAX_LEVELS];
    hpd_set hpd[SUMMARY_MAX_LEVELS];
} column_summary;

typedef struct condition_summary {
    double log_p_mode;                /* of the most likely x */
    int refined;                      /* it is no sample, but where the ascent from the best one led */
    double log_p[SUMMARY_MAX_LEVELS]; /* {x: log p(x | y) >= this} is the smallest set with that mass */
} condition_summary;

typedef struct jf_summary summary; /* public name: jf_summary */
struct jf_summary {
    jf_context *ctx;
    int masses, quantiles; /* how many */
    double mass[SUMMARY_MAX_LEVELS], quantile[SUMMARY_MAX_LEVELS];
    int conditions, each, dim_x, dim_y;
    double *y;                    /* (conditions, dim_y), the data's units */
    condition_summary *condition; /* (conditions) */
    column_summary *column;       /* (conditions, dim_x) */
    int exact;                    /* densities are; otherwise the whole map's */
    text csv, json, table;
};

/* x (conditions, each, dim_x): samples of each y (conditions, dim_y), the data's units. */
jf_status summary_create(const model *m, summary **out, int conditions, int each, const double *x,
                         const double *y, const jf_summary_options *o);
void summary_free(summary *s);
/* summary_write.c: fills in csv, json and table */
jf_status summary_write(summary *s, const model *m);

/* summary_mode.c: from each row (n, dim), model units, up the density in the data's units, by steps along its
 * gradient times a covariance of x (n, dim_x, dim_x). Rows whose way is not to be had stay as they are. */
jf_status summary_climb(const model *m, int n, double *rows, const double *covariance);

#endif
