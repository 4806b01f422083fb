/* Where the time of a GPU goes. Without a profile (own->profile NULL, as it is until profile_start) all of
 * this is a branch. */
#ifndef JF_COMPUTE_CUDA_PROFILE_H
#define JF_COMPUTE_CUDA_PROFILE_H

#include "compute/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The three below are for a device that has a profile. begin: launches follow. mark: what was launched since
 * the mark before is of this part, a constant text; flops 0: not counted. waited: the host has waited for
 * everything. */
void cuda_profile_begin(cuda_device *own);
void cuda_profile_mark(cuda_device *own, const char *part, double flops);
void cuda_profile_waited(cuda_device *own);
void cuda_profile_close(cuda_device *own);
jf_status cuda_profile_start(device *d);
int cuda_profile_read(const device *d, int part, profile_part *out);
#ifdef __cplusplus
}
#endif

#endif
