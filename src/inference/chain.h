/* Super-resolution by a chain of models, each of which makes larger what the one before it made. */
#ifndef JF_INFERENCE_CHAIN_H
#define JF_INFERENCE_CHAIN_H

#include "inference/image_conditions.h"

#define CHAIN_MOST 8 /* steps */

typedef struct chain {
    jf_context *ctx;
    int steps;
    const model *m[CHAIN_MOST]; /* from the smallest images to the largest */
    task *t[CHAIN_MOST];
} chain;

/* Of models in any order; refuses those that do not follow each other. */
jf_status chain_open(chain *out, int count, const model *const *models);
void chain_close(chain *c);

typedef struct chain_request {
    int counts[CHAIN_MOST]; /* samples of each step for each image of the one before it */
    uint64_t seed;
    uint64_t first; /* number of the first image among all that are asked with this seed */
    int denoise;    /* takes the noise of training off the images of each step */
    int after;      /* steps of others that were drawn with this seed before */
} chain_request;

typedef struct chain_result {
    image_array truth; /* as many as were given; count 0: not known */
    image_array input; /* the same */
    int steps;
    image_array made[CHAIN_MOST]; /* of each step; those of one image before follow each other */
    /* Mean squares of the reconstructions, degraded again, against their inputs: of all, and (input.count) of
     * each input */
    double square[CHAIN_MOST], *square_of[CHAIN_MOST];
    double y_error; /* mean |y_back - y| per element over all steps, model units */
} chain_result;

/* given: inputs of the first step, or whole images of the last. Image i of the result, of any step, does not
 * depend on the others. */
jf_status chain_answer(const chain *c, const image_array *given, const chain_request *q, chain_result *out);
void chain_result_free(chain_result *r);

/* ---- chain_test.c: over a whole set of images ---- */

typedef struct chain_score {
    char name[MAX_CLASS_NAME]; /* of the class; "" for all */
    long images;
    double psnr[CHAIN_MOST]; /* of each step, dB: from the mean square over all images */
} chain_score;
typedef struct chain_test {
    const char *test, *test_labels; /* instead of the data of the last model; NULL: its held-out ones */
    long most;                      /* images; 0: all */
} chain_test;
typedef struct chain_scores {
    int count, steps;
    chain_score of[MAX_CLASSES + 1]; /* (count): all images, then each class */
    double y_error;
} chain_scores;
jf_status chain_score_set(const chain *c, const chain_request *q, const chain_test *test, chain_scores *out);

#endif
