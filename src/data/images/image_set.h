/* Images in memory as they were read, with their labels. One file in this folder a source, one line in list.c.
 *
 * A source recognises what data.images names and loads it: the rows to train on first, then those held out. */
#ifndef JF_DATA_IMAGES_IMAGE_SET_H
#define JF_DATA_IMAGES_IMAGE_SET_H

#include "io/recipe.h"
#include <stdint.h>

#define IMAGE_MAX_CLASSES 64
#define IMAGE_MAX_NAME    32
#define IMAGE_MAX_SIDE    1024
#define IMAGE_MAX_DIM     (1 << 20) /* h w channels */

typedef struct image_set {
    int h, w, channels;
    long rows, held;
    uint8_t *bytes;  /* (rows + held, h, w, channels), intensity byte/255; or NULL and */
    float *reals;    /* the same as numbers, as they are */
    uint8_t *labels; /* (rows + held): class of each; NULL: the images have none */
    int classes;
    char class_name[IMAGE_MAX_CLASSES][IMAGE_MAX_NAME];
} image_set;

typedef struct image_source {
    const char *name, *summary;
    /* Whether `path` (data.images as written where `found` is NULL, else where it was found) is of this kind. */
    int (*recognises)(const char *name, const char *found);
    jf_status (*load)(jf_context *ctx, image_set *out, const recipe *r, const char *found);
} image_source;
extern const image_source *const image_sources[]; /* ends with NULL */
extern const recipe_key image_keys[];             /* data.images, data.labels, data.limit, data.validation, ... */

jf_status image_set_load(jf_context *ctx, image_set *out, const recipe *r);
void image_set_free(image_set *s);
void image_set_at(const image_set *s, long row, double *image); /* (h, w, channels) */

#endif
