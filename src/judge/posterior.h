/* The posterior of one condition, for the report: a corner plot and a summary. */
#ifndef JF_JUDGE_POSTERIOR_H
#define JF_JUDGE_POSTERIOR_H

#include "base/memory.h"
#include "model/model.h"

/* At the y of a row (dim), the data's units: writes the plot, and adds the summary as a table to `words`. */
jf_status posterior_show(const model *m, const double *row, uint64_t seed, const char *path, text *words);

#endif
