/* Image networks with products in fp32. */
#include "compute/cuda/image_network.cuh"

IMAGE_PASSES(image_passes_fp32, fp32_math);
