/* Image networks with products in tf32. */
#include "compute/cuda/image_network.cuh"

IMAGE_PASSES(image_passes_tf32, tf32_math);
