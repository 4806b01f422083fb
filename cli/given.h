/* Whole images that users give, as rows of a model: each with its condition. */
#ifndef CLI_GIVEN_H
#define CLI_GIVEN_H

#include "cli.h"

typedef struct given_rows {
    int count;
    double *x, *y; /* (count, dim_x), (count, dim_y), the data's units */
} given_rows;

/* Whether a name is that of a file of images: .png, .jpg, .jpeg or .npy. */
int given_named_image(const char *path);
/* Whether a file is one of images for this model: a picture by its name, or a .npy array of the size of its
 * images. */
int given_is_image(const call *c, const jf_image_form *form, const char *path);
/* Reads all images of the files. The option `name` ("y", shown as "-y") tells their conditions, one for all
 * or one for each; where the condition of the model is an image it may be absent: each image is then degraded
 * by itself. Returns an exit status. */
int given_read(const call *c, const jf_model *m, const char *name, const char *shown, int files,
               const char *const *paths, given_rows *out);
void given_free(given_rows *rows);

#endif
