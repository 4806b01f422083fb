/* What the files of the public interface share. The functions here check arguments, convert units and call
 * one module each; they hold no logic of their own. */
#ifndef JF_API_API_H
#define JF_API_API_H

#include "jointflow/jointflow.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "io/recipe.h"
#include "judge/judge.h"
#include "model/model.h"
#include "model/use.h"
#include "train/train.h"

/* Where the recipes that came with the program are: "NAME.ini" below one of a few folders. `**out` yours to
 * free. */
jf_status shipped_recipe(jf_context *ctx, char **out, const char *name);
/* Loads a recipe by path or shipped name, with all keys declared and checked. */
jf_status load_recipe(jf_context *ctx, recipe **out, const char *path);
/* Joins x (n, dim_x) and y (n, dim_y) into rows of the model's units; refuses values that are not finite. */
jf_status join_rows(const model *m, int n, const double *x, const double *y, int standardised, double *rows);
void split_rows(const model *m, int n, const double *rows, double *x, double *y);
/* Opens data and model of a recipe (the data set is NULL for a rule). */
jf_status open_run(jf_context *ctx, const recipe *r, const jf_device_options *options, uint64_t seed,
                   dataset **data, model **m);

#endif
