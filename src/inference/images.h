/* Images of one size in host memory, and their files. */
#ifndef JF_INFERENCE_IMAGES_H
#define JF_INFERENCE_IMAGES_H

#include "base/context.h"
#include "jointflow/jointflow.h"

typedef struct image_array {
    double *values; /* (count, h, w, channels), intensities from 0 to 1 */
    int count, h, w, channels;
} image_array;
jf_status image_array_create(jf_context *ctx, image_array *out, int count, int h, int w, int channels);
void image_array_free(image_array *images);
/* The same images in the types of the library and of the public header; whose they are does not change. More
 * than an int counts are INT_MAX, which is refused for its size later on. */
image_array images_taken(const jf_images *images);
jf_images images_given(const image_array *images);
size_t image_numbers(const image_array *images);        /* h w channels */
double *image_at(const image_array *images, int index); /* (h, w, channels) */
/* Refuses images with a value that is not finite, naming it; `what`: "a restored image". */
jf_status image_array_check(jf_context *ctx, const image_array *images, const char *what);

/* A PNG or JPEG file, or a .npy array (..., h, w) or (..., h, w, c); a last axis of at most 4 is that of the
 * channels. Bytes are divided by 255, other numbers are intensities as they are. */
jf_status image_array_read(jf_context *ctx, image_array *out, const char *path);
/* The same for models whose inputs have a mask: what is transparent in a PNG file is missing. Such an image
 * has one more channel, 1 where it is missing and else 0, and is 0 there; others are as above. */
jf_status image_array_read_masked(jf_context *ctx, image_array *out, const char *path);
/* .npy: (count, h, w[, c]), or with columns > 0 (count/columns, columns, h, w[, c]). */
jf_status image_array_write(jf_context *ctx, const image_array *images, int columns, const char *path);

#endif
