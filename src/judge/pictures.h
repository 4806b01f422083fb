/* Pictures of a model; PNG files. Used by the report and by the paper's figures. */
#ifndef JF_JUDGE_PICTURES_H
#define JF_JUDGE_PICTURES_H

#include "judge/judge.h"

/* One panel for each different y: x (n, dim_x), y (n, dim_y) in the data's units. values (n): colour, -2 ..
 * 2; NULL: by panel. title may be NULL. */
jf_status picture_samples(const model *m, long n, const double *x, const double *y, const double *values,
                          const char *title, const char *path);
jf_status picture_maps(const model *m, const judgement *j, uint64_t seed, const char *path);
/* Image models: samples of each class, or truth, input and samples of held-out images. */
jf_status picture_images(const model *m, const judgement *j, uint64_t seed, const char *path);
jf_status picture_latent(const model *m, const judgement *j, const char *path);
jf_status picture_history(jf_context *ctx, const char *history, const char *path); /* from history.csv */

#endif
