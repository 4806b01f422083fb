/* The condition that a request names: numbers, a class, or an image. */
#ifndef EXPLORE_CONDITIONS_ASKED_H
#define EXPLORE_CONDITIONS_ASKED_H

#include "answers.h"

/* An image of the request: "image": {"h", "w", "channels", "values"}, intensities from 0 to 1. Yours to free.
 */
jf_status asked_image(ask *asked, jf_images *out);
/* One y (dim_y), yours to free(). Vectors: field `name` has dim_y numbers. Images of a class: it has one, the
 * label. Images of images: it is made of "image", and *inputs, where it is not NULL, is what the model sees
 * of it, yours to free. */
jf_status asked_condition(const shown_model *s, ask *asked, const char *name, double **y, jf_images *inputs);
/* The same y for n rows (n, dim_y), yours to free(). */
double *repeat_condition(ask *asked, const shown_model *s, const double *y, int n);

#endif
