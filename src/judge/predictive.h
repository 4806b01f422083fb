/* Posterior predictive error: whether y simulated from an answer is as near to the y it answers as y
 * simulated from the truth.
 *
 * Of a pair (x, y) of the data and an answer x' ~ p(x | y), x and x' are alike if the model is right, and so
 * are simulations of both beside y. So the mean of |f(x') - y|^2 - |f(x) - y|^2 is 0 then, of every column of
 * y, but for its standard error. What simulates comes from outside. */
#ifndef JF_JUDGE_PREDICTIVE_H
#define JF_JUDGE_PREDICTIVE_H

#include "model/model.h"

#define PREDICTIVE_ROWS 1000 /* pairs, at most */

/* y (n, dim_y) of x (n, dim_x), the data's units; returns 0, or something else where it failed. */
typedef int (*predictive_simulator)(void *user, size_t n, const double *x, double *y);

typedef struct predictive_column {
    double error, of_truth; /* root of the mean square: of f(x') - y and of f(x) - y */
    double deviation;       /* of y in the data, to compare with */
    double off;             /* the difference of the mean squares, in standard errors */
} predictive_column;

typedef struct predictive {
    long rows;                 /* 0: not judged */
    int columns;               /* of y */
    predictive_column *column; /* (columns) */
    double limit;              /* what all columns stay below in 95 of 100 cases of a right model */
} predictive;

/* rows (n, dim): pairs in the data's units */
jf_status predictive_create(const model *m, predictive *out, long n, const double *rows, uint64_t seed,
                            double temperature, predictive_simulator simulate, void *user);
void predictive_free(predictive *p);
/* One or two sentences; yours to free. */
jf_status predictive_tell(const model *m, const predictive *p, char **out);

#endif
