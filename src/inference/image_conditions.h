/* What the task of an image model makes of images, and of rows: conditions, degraded images, restored ones.
 */
#ifndef JF_INFERENCE_IMAGE_CONDITIONS_H
#define JF_INFERENCE_IMAGE_CONDITIONS_H

#include "data/tasks/task.h"
#include "inference/images.h"
#include "model/model.h"

/* The task of an image model; refuses models of vectors. */
jf_status model_task(const model *m, task **out);

/* The images of n rows of x and y, the data's units, `stride` numbers from one to the next. y may be NULL
 * where the model has none. */
typedef struct row_view {
    const double *values;
    size_t stride;
} row_view;
jf_status restore_images(const task *t, int n, row_view x, row_view y, image_array *out);
/* What the task makes of whole images of its own size; refuses others. Image i draws from stream i of the
 * seed. */
jf_status degrade_images(const task *t, const image_array *whole, uint64_t seed, image_array *inputs);
/* The x (count, dim_x) of whole images under the conditions y (count, dim_y), the data's units:
 * restore_images() gives the images back. Grey images stand for coloured ones, and coloured ones that are
 * grey all over for grey ones. Of models of a class that were trained on halved images (data.down) those of
 * the data's size are halved first. */
jf_status image_answers(const model *m, const image_array *whole, const double *y, double *x);
/* Row 0, 1, ... of the model's own data as an image: of those held out, or of those it was trained on. */
jf_status data_image(const model *m, long row, int of_training, image_array *out);

/* Conditions made of images: of degraded ones as they are, or of whole ones, which are degraded first. Their
 * size tells which they are; where both have the same, they are degraded ones unless `degrade` is set. */
typedef struct image_conditions {
    double *y;          /* (inputs.count, dim_y), the data's units */
    image_array inputs; /* the degraded images */
    image_array whole;  /* those that they were made of here; count 0: the inputs were given */
} image_conditions;
jf_status image_conditions_create(const model *m, image_conditions *out, const image_array *given,
                                  int degrade, uint64_t seed);
void image_conditions_free(image_conditions *c);

#endif
