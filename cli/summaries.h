/* jointflow sample --summary: quantiles, mode and highest-density regions of what was drawn. */
#ifndef CLI_SUMMARIES_H
#define CLI_SUMMARIES_H

#include "cli.h"

#define OPTIONS_SUMMARY                                                                                      \
    {"summary",                                                                                              \
     0,                                                                                                      \
     OPTION_TEXT,                                                                                            \
     "FILE",                                                                                                 \
     NULL,                                                                                                   \
     0,                                                                                                      \
     0,                                                                                                      \
     "mean, quantiles, mode and highest posterior density regions of the samples of each condition, as a "   \
     ".csv or .json file, or for people with -; without -o samples are not written"},                        \
        {"masses",    0,                                                                                     \
         OPTION_TEXT, "SHARES",                                                                              \
         NULL,        0,                                                                                     \
         0,           "masses of the regions in --summary, above 0 and below 1 (default 0.5,0.9)"},          \
    {                                                                                                        \
        "quantiles", 0, OPTION_TEXT, "SHARES", NULL, 0, 0,                                                   \
            "quantiles in --summary, 0 to 1 (default 0.05,0.25,0.5,0.75,0.95)"                               \
    }

/* Both return an exit status. Before any work is done: whether the options go together. */
int summary_check(const call *c);
/* x (conditions, each, dim_x), y (conditions, dim_y) */
int summary_give(const call *c, const jf_model *m, size_t conditions, size_t each, const double *x,
                 const double *y);

#endif
