/* Images of a class that a cascade makes larger (data.then), judged in the size that they have in the end.
 */
#ifndef JF_JUDGE_ENLARGED_H
#define JF_JUDGE_ENLARGED_H

#include "judge/judge.h"

/* Fills in j->image and, where asked for, j->denoised, but for the floor. `data`: of the model. Samples are
 * judged beside the same held-out images in their larger size, which have the noise of all steps. */
jf_status judge_enlarged(judgement *j, const model *m, const dataset *data, const jf_judge_options *q);

#endif
