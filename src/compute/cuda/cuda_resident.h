/* A data set as the cuda device holds it. */
#ifndef JF_COMPUTE_CUDA_CUDA_RESIDENT_H
#define JF_COMPUTE_CUDA_CUDA_RESIDENT_H

#include "compute/cuda/cuda.h"

typedef float num;
#include "compute/batch_formulas.h"

struct device_data {
    resident_view view; /* all of it in the GPU's memory */
    void *owned[12];
    int owned_count;
};

#endif
