/* What the files about images share. */
#ifndef JF_API_API_IMAGE_H
#define JF_API_API_IMAGE_H

#include "api/api.h"
#include "inference/images.h"

/* Refuses images without values. */
jf_status check_images(jf_context *ctx, const jf_images *images);
/* The same images in the types of the library and of the public header; whose they are does not change. */
image_array images_taken(const jf_images *images);
jf_images images_given(const image_array *images);

#endif
