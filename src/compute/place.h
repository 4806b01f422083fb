/* Devices of which a machine may have several, and processes that share them. */
#ifndef JF_COMPUTE_PLACE_H
#define JF_COMPUTE_PLACE_H

#define DEVICE_MAX_NAME 32
/* The name of the device for process number `place` of a machine: of several GPUs each process has its own,
 * as far as there are enough, where `name` does not say which. NULL: the default. Returns `name`, or `out`.
 */
const char *device_name_at(const char *name, int place, char out[DEVICE_MAX_NAME]);

#endif
