/* Pictures of answers: samples, lines, super-resolution; PNG files. */
#ifndef JF_INFERENCE_PICTURES_H
#define JF_INFERENCE_PICTURES_H

#include "inference/image_conditions.h"
#include "inference/lines.h"

/* ---- picture_vectors.c ---- */

/* A panel for each different y: x (n, dim_x), y (n, dim_y) in the data's units. values (n): colour, -2 .. 2;
 * NULL: by panel. title may be NULL. */
jf_status picture_samples(const model *m, long n, const double *x, const double *y, const double *values,
                          const char *title, const char *path);
/* The different y of the rows, at most so many, in order of appearance: `first` row of each; which (n): of
 * each row, -1 for those that are too many. */
int picture_distinct(long n, const double *y, int dim_y, int most, int *which, long *first);
/* "y = 1 (grid)" in the data's units, "range = 0.5" where the one column of y has a name */
void picture_y_title(const model *m, const double *y, char *out, size_t size);
/* Height of a panel of this width that shows `limits` (x from, to, y from, to), in equal units or not. */
int picture_panel_height(int width, int equal_units, const double limits[4]);

/* ---- picture_corner.c ---- */

/* Every column of x against every other, and each by itself on the diagonal; a colour for each y. */
jf_status picture_corner(const model *m, long n, const double *x, const double *y, const char *path);

/* ---- picture_groups.c ---- */

/* A dot for each value and a bar at the mean of each group, of which the first stands out. */
jf_status picture_groups(jf_context *ctx, const jf_groups *g, const char *path);

/* ---- picture_images.c ---- */

/* The same of image models. full_range: black and white are the least and the greatest value; 2: of each
 * image by itself, so that a single pixel far out of range darkens or brightens all the rest of its image. */
jf_status picture_image_samples(const model *m, int n, const double *x, const double *y, int full_range,
                                const char *path);
/* The same of images that were made of samples under the conditions y (images.count, dim_y). */
jf_status picture_images_of(const model *m, const image_array *images, const double *y, int full_range,
                            const char *path);

/* ---- picture_grids.c: image models ---- */

/* A row for each line; the places of classes are boxed. images: (rows * steps) that were made of those of the
 * lines; NULL: these. */
jf_status picture_lines(const model *m, const jf_lines *l, const image_array *images, const char *title,
                        int full_range, const char *path);
/* Truth, input, and a row for each image of the first step with those that the further ones made of it; of
 * one input. */
jf_status picture_cascade(jf_context *ctx, const jf_cascade_result *r, const char *title, int full_range,
                          const char *path);

/* y as people call it: the name of a class, or "y = 0.5", or "boot 0.75" where y has a plane for each class.
 */
void class_words(const model *m, const double *y, char *out, size_t size);

#endif
