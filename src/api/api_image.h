/* What the files about images share. */
#ifndef JF_API_API_IMAGE_H
#define JF_API_API_IMAGE_H

#include "api/api.h"
#include "inference/images.h"

/* Refuses images without values. */
jf_status check_images(jf_context *ctx, const jf_images *images);

#endif
