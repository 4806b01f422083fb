/* Images in memory as they were read, with their labels. One file in this folder per source, one line in
 * list.c.
 *
 * A source recognises what data.images names and loads it: the rows to train on first, then those held out,
 * if the source itself tells them apart. What the recipe wants of them (classes, a share held out, a limit)
 * is chosen afterwards, for all sources alike, in select.c. */
#ifndef JF_DATA_IMAGES_IMAGE_SET_H
#define JF_DATA_IMAGES_IMAGE_SET_H

#include "io/recipe.h"
#include "types/limits.h"
#include <stdint.h>

#define IMAGE_MAX_SIDE     1024
#define IMAGE_MAX_CHANNELS 64
#define IMAGE_MAX_DIM      (1 << 20) /* h w channels */

typedef struct image_set {
    int h, w, channels;
    long rows, validation_rows;
    uint8_t *bytes;  /* (rows + validation_rows, h, w, channels), intensity byte/255; or NULL and */
    float *reals;    /* the same as numbers, as they are */
    uint8_t *labels; /* (rows + validation_rows): class of each; NULL: the images have none */
    int classes;
    char class_name[MAX_CLASSES][MAX_CLASS_NAME];
    int may_lack; /* classes that data.classes names: images to test on need not be of every class */
} image_set;

typedef struct image_source {
    const char *name, *summary; /* what data.images is for it, in a few words: for messages */
    /* Whether data.images is of this kind: by `name` as written where `found` is NULL, else by what lies at
     * `found`. */
    int (*recognises)(const char *name, const char *found);
    /* `found`: where data.images was found; NULL where the name alone was recognised. */
    jf_status (*load)(jf_context *ctx, image_set *out, const recipe *r, const char *found);
    int reads_labels; /* data.labels is for it */
} image_source;
extern const image_source *const image_sources[]; /* ends with NULL */
extern const recipe_key image_keys[]; /* data.images, data.labels, data.classes, data.limit, ... */

/* What the recipe names, with the classes, the held-out rows and the limit that it asks for. At least one
 * row. */
jf_status image_set_load(jf_context *ctx, image_set *out, const recipe *r);
/* The same, but that images of some of the classes that data.classes names may be missing. */
jf_status image_set_load_test(jf_context *ctx, image_set *out, const recipe *r);
void image_set_free(image_set *s);
size_t image_set_dim(const image_set *s);                       /* h w channels */
void image_set_at(const image_set *s, long row, double *image); /* (h, w, channels) */

/* ---- for sources ---- */

jf_status image_check_size(jf_context *ctx, const char *path, size_t h, size_t w, size_t channels);
/* Classes 0 .. count-1 are called by their numbers. */
void image_number_classes(image_set *s, int count);
/* The classes that data.classes asks for, in its order, as numbers of the source's; *count is 0 where it says
 * "all". A class that the set lacks and may lack is -1. */
jf_status image_chosen_classes(const recipe *r, const image_set *s, int chosen[MAX_CLASSES], int *count);
/* Brings a set as it was loaded to what the recipe asks for. */
jf_status image_select(jf_context *ctx, image_set *s, const recipe *r);

#endif
