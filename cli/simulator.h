/* A command that simulates: it reads rows of x from standard input, numbers separated by commas, and writes
 * as many rows of y to standard output. No header lines. */
#ifndef CLI_SIMULATOR_H
#define CLI_SIMULATOR_H

#include "cli.h"

typedef struct simulator {
    const char *command; /* for /bin/sh */
    double timeout;      /* seconds that a run may take */
    int dim_x, dim_y;
    char problem[512]; /* what went wrong, a sentence; "" while nothing did */
} simulator;

/* The `simulate` of jf_judge_options; user: a simulator. */
int simulator_run(void *user, size_t n, const double *x, double *y);

#endif
