/* Dropout: elements become 0 with a probability, and the others make up for them. Which ones, is a function
 * of counters alone (dropout_formulas.h), so that a pass and its backward pass, which computes everything
 * again, see the same mask, whatever the device and its threads, and so does a run that is resumed. */
#ifndef JF_COMPUTE_DROPOUT_H
#define JF_COMPUTE_DROPOUT_H

#include <stdint.h>

struct scalar;

/* What the masks of a run of training follow from. */
typedef struct dropout_source {
    uint64_t seed;
    const struct scalar
        *step; /* steps of training so far, in the device's memory; NULL: nothing is dropped */
    int first; /* row of the batch that the pass begins with, where it has only a part of them */
} dropout_source;

typedef struct dropout_mask {
    dropout_source source;
    uint32_t place; /* another one for each use in a model */
    double rate;    /* probability, below 1 */
    uint64_t first; /* element of the whole batch's array that the given one begins with */
} dropout_mask;

#endif
