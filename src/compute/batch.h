/* A batch of training, as a request: which rows, and what is mixed in. */
#ifndef JF_COMPUTE_BATCH_H
#define JF_COMPUTE_BATCH_H

#include "base/formula.h"
#include "base/random.h"
#include "types/resident.h"

/* Which rows of the data, and what becomes of them after standardisation:
 *     share ((1 - alpha) row + alpha N) + (1 - share) N',   then  y += y_noise N''          N ~ N(0, 1) each
 */
typedef struct batch_request {
    int n;
    int validation;  /* rows held out, in their fixed random order; otherwise rows to train on, shuffled */
    int class_index; /* of one class alone; -1: of all */
    uint64_t first;  /* number of the first sample in the sequence of rows */
    rng_key
        order;   /* that shuffles them, anew each time that all were taken; generated sets: that draws them */
    rng_key row; /* of what a task draws for a row */
    double share, alpha, y_noise;
    rng_key noise; /* of N, N' and N'': sample i of the batch has stream noise_first + i */
    uint64_t noise_first;
} batch_request;

FORMULA double batch_mix(const batch_request *q, double value, double noise, double prior) {
    return q->share > 0 ? q->share * ((1 - q->alpha) * value + q->alpha * noise) + (1 - q->share) * prior
                        : prior;
}

/* Whether anything is mixed in at all. */
FORMULA int batch_is_mixed(const batch_request *q) {
    return q->share < 1 || q->alpha > 0 || q->y_noise > 0;
}

#endif
