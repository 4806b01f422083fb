/* Super-resolution in two steps: samples of the coarse model, and for each of them samples of the fine one.
 */
#ifndef JF_INFERENCE_SUPERRES_H
#define JF_INFERENCE_SUPERRES_H

#include "inference/image_conditions.h"

typedef struct superres_result {
    image_array truth;        /* count 0: not known */
    image_array input;        /* one */
    image_array coarse, fine; /* (coarse count), (coarse count, fine count) */
    double coarse_psnr, psnr; /* of the reconstructions, degraded again, against the input, dB */
    double y_error;           /* mean |y_back - y| per element over both steps, model units */
} superres_result;

/* The models in either order. given: one image, an input of the coarse model or a whole one of the fine
 * model. */
typedef struct superres_request {
    int coarse_count, fine_count;
    uint64_t seed;
    int denoise; /* takes the noise of training off the images of each step */
} superres_request;
jf_status superres_create(const model *one, const model *other, const image_array *given,
                          const superres_request *q, superres_result *out);
void superres_free(superres_result *r);

#endif
