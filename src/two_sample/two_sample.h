/* How far two samples are from having the same distribution.
 *
 * A measure is one file with a two_sample_measure, and a line in list.c. Each is told the pooled rows and
 * several ways to divide them into two halves: the first is the one that is asked about, in the others the
 * rows are dealt out at random, which is what two samples of the same distribution would show. */
#ifndef JF_TWO_SAMPLE_TWO_SAMPLE_H
#define JF_TWO_SAMPLE_TWO_SAMPLE_H

#include "base/context.h"
#include "base/random.h"
#include "base/threads.h"
#include "jointflow/jointflow.h"
#include <stddef.h>
#include <stdint.h>

/* The first division, and those at random: the largest of 19 is exceeded by chance once in twenty times. */
#define COMPARE_DIVISIONS 20

typedef struct two_samples {
    jf_context *ctx;
    thread_pool *pool;
    size_t n;            /* rows of each half */
    int dim;             /* columns */
    const float *rows;   /* (2n, dim): first those of A, standardised by A's means and deviations */
    const float *second; /* (2n, COMPARE_DIVISIONS): 1 in the second half, 0 in the first */
    uint64_t seed;
} two_samples;

typedef struct two_sample_measure {
    const char *name, *label, *about; /* of a field, of a line of a table, a few words */
    jf_status (*measure)(const two_samples *s, jf_two_sample *out); /* sets value, same and limit */
} two_sample_measure;

extern const two_sample_measure *const two_sample_measures[]; /* ends with NULL */

/* What streams of RNG_COMPARE are for, in place of an epoch. */
enum { COMPARE_ROWS, COMPARE_DIVIDE, COMPARE_FOLDS, COMPARE_WEIGHTS, COMPARE_ORDER, COMPARE_DIRECTIONS };

static inline rng compare_stream(const two_samples *s, uint32_t use, uint64_t index) {
    return rng_stream((rng_key){s->seed, RNG_COMPARE, use}, index);
}

/* The value of the first division beside the mean and the largest of the others. */
jf_two_sample two_sample_summary(const double values[COMPARE_DIVISIONS]);

/* Takes as many rows of each table, at random where there are more, and measures by all of
 * two_sample_measures.
 */
jf_status compare_tables(jf_context *ctx, const jf_table *a, const jf_table *b, const jf_compare_options *o,
                         jf_comparison *out);

#endif
