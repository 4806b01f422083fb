/* The score of a model, and what it is good for: samples without the noise of training. */
#ifndef JF_MODEL_DENOISE_H
#define JF_MODEL_DENOISE_H

#include "model/use.h"

/* Of each row (x, y) of (n, dim), model units: the gradient of log p(x|y) with respect to x, (n, dim_x), by
 * one backward pass; and log p(x|y) itself, (n), which may be NULL. p is the whole map's density, log
 * p_Z(F_Z) + log|det J_F|: of the three that agree where y' follows y the one that has a gradient at the
 * price of a pass. */
jf_status model_score(const model *m, long n, const double *rows, double *score, double *log_p);

/* The deviation of the noise that the model was trained with, in its own units; refuses models without. */
jf_status model_noise(const model *m, double *sigma);

/* Replaces the x of each row, which has that noise, by what is expected of it without. y may be any that
 * p(x|y) is asked for; it stays. */
jf_status model_denoise(const model *m, row_units units, long n, double *rows);

#endif
