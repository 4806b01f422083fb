/* How fast a model trains and samples, and where the time of a step goes. */
#ifndef JF_TRAIN_BENCH_H
#define JF_TRAIN_BENCH_H

#include "train/train.h"

/* A part of a step: values are per step, `ms` of all threads together. */
typedef struct bench_part {
    const char *name;
    double calls, ms;
    double share;  /* of the whole step, 0 .. 1 */
    double gflops; /* 10^9 operations per second of one thread; 0: they are not counted */
} bench_part;

typedef struct bench_profile {
    bench_part *parts; /* (count), the longest first; the last one is what they leave of the step */
    int count;         /* 0: not asked for */
    double ms;         /* thread time of one step */
} bench_profile;

typedef struct bench_options {
    int batch;             /* samples */
    double seconds;        /* of each of the two measurements */
    int profile;           /* also measure the parts */
    int sample_as_trained; /* sampling has the precision of training, not PRECISION_FP32 */
} bench_options;

typedef struct bench_result {
    double train_samples_per_s, sample_samples_per_s, peak_memory_mib;
    int steps; /* of training */
    precision train_precision, sample_precision;
    bench_profile train, sample;
} bench_result;

/* Trains and samples `m`, whose weights change. JF_ERROR_DEVICE where a profile is asked for of a device that
 * has none; JF_STOPPED where the progress callback wants it, after the steps under way. */
jf_status bench_run(model *m, const bench_options *options, bench_result *out);
void bench_result_free(bench_result *r);

#endif
