/* A device for tests: the reference, but it counts what is asked of it, holds data sets, and fails late if
 * told to.
 *
 * Every call leaves a letter in its trace:
 *     .  queued work         S  the start of a batch (data_batch, normal)
 *     O  a step of the optimiser (adam)
 *     R  returns something to the host, for which a queue would have to be waited for
 *     T  transfers           A  allocates or releases */
#ifndef JF_TESTS_COUNTING_DEVICE_H
#define JF_TESTS_COUNTING_DEVICE_H

#include "compute/compute.h"

extern const device_kind counting_device;

void counting_mark(device *d, char mark);   /* adds a letter of the test's own */
const char *counting_trace(device *d);      /* without the queued work; valid until the next call */
long counting_calls(const device *d);       /* of any kind */
long counting_last_return(const device *d); /* number of the last one that returned something to the host */
/* From call number `calls` on all that is asked comes to nothing, what is read is NAN, and status() fails. 0:
 * never. */
void counting_fail_after(device *d, long calls);

#endif
