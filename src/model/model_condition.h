/* Conditions of a model in the data's units: where those of its training data are, and how far others are
 * from them. */
#ifndef JF_MODEL_MODEL_CONDITION_H
#define JF_MODEL_MODEL_CONDITION_H

#include "model/model.h"

/* The range of an element of y in the training data; classes: their labels. */
jf_status condition_limits(const model *m, int element, double *lo, double *hi);
/* Adds words on a y (dim_y) that the training data do not have; nothing where they do, or where the model
 * does not know. */
jf_status condition_describe_beyond(const model *m, const double *y, text *words);
/* Mean |y_back - y| per element of n rows, model units. */
double condition_error(const model *m, size_t n, const double *y, const double *y_back);

#endif
