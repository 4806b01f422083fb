/* Super-resolution by a cascade of models, each of which makes larger what the one before it made. */
#ifndef JF_INFERENCE_CASCADE_H
#define JF_INFERENCE_CASCADE_H

#include "inference/image_conditions.h"

struct jf_cascade {
    jf_context *ctx;
    int steps;
    const model *m[JF_CASCADE_MOST]; /* from the smallest images to the largest */
    task *t[JF_CASCADE_MOST];
    model *owned[JF_CASCADE_MOST]; /* freed with the cascade; the rest is NULL */
};
typedef struct jf_cascade cascade;

/* Takes models in any order, which stay the caller's; refuses those that do not follow each other. */
jf_status cascade_create(cascade **out, int count, const model *const *models);
void cascade_free(cascade *c);
/* Refuses a cascade that does not start from the images of m. */
jf_status cascade_check_start(const cascade *c, const model *m);

/* Makes images larger. The temperature of the options is the one that is meant, 0 too. squares (steps,
 * given->count): mean squares of the images of a step, degraded again, against each input; may be NULL. Image
 * i of the result, of any step, does not depend on the others. */
jf_status cascade_enlarge(const cascade *c, const image_array *given, const jf_cascade_options *q,
                          jf_cascade_result *out, double *squares);
void cascade_result_free(jf_cascade_result *r);

/* ---- cascade_score.c ---- */

/* Measures all images of a set and those of each class; of the options counts, seed, temperature and denoise
 * count. */
jf_status cascade_score(const cascade *c, const jf_cascade_test *test, const jf_cascade_options *q,
                        jf_cascade_scores *out);
void cascade_scores_free(jf_cascade_scores *s);

#endif
