/* What a model has drawn, made larger by a chain of other models: one image of each. */
#ifndef JF_INFERENCE_ENLARGE_H
#define JF_INFERENCE_ENLARGE_H

#include "inference/chain.h"

/* Refuses a chain that does not start from images of this size, those of m. */
jf_status enlarge_check(const chain *c, int h, int w, int channels);
jf_status enlarge_check_model(const chain *c, const model *m);

typedef struct enlarge_request {
    uint64_t seed;
    int denoise;  /* takes the noise of training off the images of each step */
    int together; /* so many images that follow each other get the same latent points: those of a line */
} enlarge_request;
jf_status enlarge_images(const chain *c, const image_array *small, const enlarge_request *q,
                         image_array *out);

#endif
