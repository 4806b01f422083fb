/* What the files of the public interface share. The functions here check arguments, convert types and call
 * one function of another folder each; they hold no logic of their own. */
#ifndef JF_API_API_H
#define JF_API_API_H

#include "jointflow/jointflow.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sized.h"
#include "data/dataset.h"
#include "io/recipe.h"
#include "judge/judge.h"
#include "model/model.h"
#include "model/use.h"
#include "train/train.h"
#include <limits.h>

/* With the temperature that is meant: 1 where none was set, 0 where zero_temperature is. */
jf_status take_use_options(jf_context *ctx, jf_use_options *to, const jf_use_options *options);
/* Hands a text over, to be freed by the caller, or frees it where something failed. */
jf_status give_text(jf_context *ctx, char **out, text *t, jf_status status);
/* Refuses more rows than an int counts, rows without x (or z) or, where the model has a condition, without y,
 * and values that are not finite. */
jf_status check_values(const model *m, size_t n, const double *x, const double *y);
/* The same of y alone. */
jf_status check_conditions(const model *m, size_t n, const double *y);
/* And of x alone. */
jf_status check_samples(const model *m, size_t n, const double *x);

#endif
