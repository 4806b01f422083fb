/* Measures how fast a model trains and samples, and where the time of a step goes. */
#ifndef JF_TRAIN_BENCH_H
#define JF_TRAIN_BENCH_H

#include "train/train.h"

#define BENCH_SECONDS 3 /* of each of the two measurements, by default */

/* Trains and samples `m`, whose weights change, and fills in `out`, which is zeroed before. JF_ERROR_DEVICE
 * if a profile is requested from a device that has none; JF_STOPPED if the progress callback returns
 * non-zero, after the steps under way. */
jf_status bench_run(model *m, const jf_bench_options *options, jf_bench_result *out);
void bench_result_free(jf_bench_result *r);

#endif
