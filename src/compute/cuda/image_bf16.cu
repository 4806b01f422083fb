/* Image networks with products in bf16. */
#include "compute/cuda/image_network.cuh"

IMAGE_PASSES(image_passes_bf16, bf16_math);
