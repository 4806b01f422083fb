/* Pictures of a judged model; PNG files. Used by the report and by the paper's figures. */
#ifndef JF_JUDGE_JUDGE_PICTURES_H
#define JF_JUDGE_JUDGE_PICTURES_H

#include "draw/draw.h"
#include "judge/judge.h"

jf_status picture_maps(const model *m, const judgement *j, uint64_t seed, const char *path);
/* Image models: samples of each class, or truth, input and samples of held-out images. */
jf_status picture_images(const model *m, const judgement *j, uint64_t seed, const char *path);
jf_status picture_latent(const model *m, const judgement *j, const char *path);
/* The same into a panel of a larger picture. */
jf_status paint_latent(panel *p, const model *m, const judgement *j, const char *title);
jf_status picture_history(jf_context *ctx, const char *history, const char *path); /* from history.csv */

#endif
