/* Batches of training, made of the data that the GPU holds. */
#include "base/philox.cuh"
#include "compute/cuda/kernels.cuh"
extern "C" {
#include "base/random_formulas.h"
#include "compute/cuda/cuda_resident.h"
}

/* A block per sample: its row, label and hole are found once. */
static __global__ void batch_kernel(resident_view v, batch_request q, float *state) {
    __shared__ batch_sample sample;
    int i = (int)blockIdx.x, dim = v.dim_x + v.model_y;
    if (threadIdx.x == 0) sample = batch_sample_of(&v, &q, i);
    __syncthreads();
    for (int k = (int)threadIdx.x; k < dim; k += (int)blockDim.x)
        state[(size_t)i * (size_t)dim + (size_t)k] = (float)batch_element(&v, &q, &sample, i, k);
}

void cuda_data_batch(device *d, const device_data *data, const batch_request *q, real *state) {
    cuda_device *own = cuda_use(d);
    if (q->n < 1) return;
    launch(own, batch_kernel, (unsigned)q->n, 128, data->view, *q, floats(state));
    launched(own, "batches of data");
}
