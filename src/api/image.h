/* What the files about images share. */
#ifndef JF_API_IMAGE_H
#define JF_API_IMAGE_H

#include "api/api.h"
#include "data/tasks/task.h"

/* The task of an image model; refuses models of vectors. */
jf_status model_task(const model *m, task **out);
jf_status images_create(jf_context *ctx, jf_images *out, int count, int h, int w, int channels);
size_t image_numbers(const jf_images *images);        /* h w channels */
double *image_at(const jf_images *images, int index); /* (h, w, channels) */
/* y as people call it: the name of a class, or "y = 0.5". */
void class_words(const model *m, double y, char *out, size_t size);

#endif
