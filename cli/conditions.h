/* The option -y: which conditions to answer for. */
#ifndef CLI_CONDITIONS_H
#define CLI_CONDITIONS_H

#include "cli.h"

typedef struct conditions {
    double *values; /* (count, dim) */
    size_t count, room;
    int dim;
} conditions;

/* Reads all -y of the call for a model; without a condition there is one empty row. Returns an exit status.
 */
int conditions_read(const call *c, const jf_model *m, conditions *out);
void conditions_free(conditions *y);

#endif
