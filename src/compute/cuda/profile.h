/* Measures where a GPU spends its time. Until profile_start() is called own->profile is NULL, and each
 * function costs one branch. */
#ifndef JF_COMPUTE_CUDA_PROFILE_H
#define JF_COMPUTE_CUDA_PROFILE_H

#include "compute/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif
/* For a device with a profile. begin: call before launches. mark: assigns the launches since the last mark to
 * `part`, a constant text; flops 0: not counted. waited: call when the host has waited for all launches. */
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
