/* The list of image sources, and what all of them share. A new source is a file here that defines
 * `image_NAME`, and one line below: the first that recognises data.images loads it. */
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/images/image_set.h"
#include "data/known.h"
#include "data/named.h"
#include <stdlib.h>
#include <string.h>

#define SOURCE_LIST(X)                                                                                       \
    X(glyphs)                                                                                                \
    X(idx)                                                                                                   \
    X(folder)                                                                                                \
    X(stack)

#define X(name) extern const image_source image_##name;
SOURCE_LIST(X)
#undef X

const image_source *const image_sources[] = {
#define X(name) &image_##name,
    SOURCE_LIST(X)
#undef X
        NULL};

const recipe_key image_keys[] = {
    {"data", "images", KEY_TEXT, NULL, 0, 0, NULL,
     "The images: fashion-mnist or mnist, glyphs (drawn by the program), a folder of IDX files, a folder "
     "with one folder of pictures (PNG or JPEG) per class, or a .npy file (images, height, width[, "
     "channels])."},
    {"data", "labels", KEY_TEXT, "none", 0, 0, NULL,
     "For a .npy file of images: a .npy file with the class of each."},
    {"data", "classes", KEY_WORDS, "all", 0, 0, NULL,
     "The classes to keep, by name or number, in the order that numbers them anew; or all."},
    {"data", "limit", KEY_INT, "0", 0, 1e9, NULL, "At most so many images to train on; 0: all."},
    {"data", "validation", KEY_REAL, "0.1", 0, 0.9, NULL,
     "Share of the images that is held out, where they do not come with a test set of their own."},
    {0}};

/* ---- loading ---- */

/* Of a known set that is not here the message tells how to get it. */
static jf_status find_files(jf_context *ctx, char **out, const recipe *r) {
    const char *name = recipe_get(r, "data.images");
    jf_status status = named_find(r, "data.images", out);
    for (const known_set *set = known_sets; status == JF_ERROR_IO && set->name; set++)
        if (strcmp(set->name, name) == 0)
            return jf_fail(ctx, status, "%s; \"jointflow data fetch %s\" fetches it", jf_context_error(ctx),
                           name);
    return status;
}

static const image_source *find_source(const char *name, const char *found) {
    for (int i = 0; image_sources[i]; i++)
        if (image_sources[i]->recognises(name, found)) return image_sources[i];
    return NULL;
}

static jf_status fail_unknown(const recipe *r, const char *found) {
    text expected = {0};
    for (int i = 0; image_sources[i]; i++)
        text_add(&expected, "%s%s",
                 i == 0                 ? ""
                 : image_sources[i + 1] ? ", "
                                        : " or ",
                 image_sources[i]->summary);
    jf_status status = text_check(recipe_context(r), &expected);
    if (status == JF_OK)
        status = recipe_fail(r, "data.images", "found \"%s\", expected %s", found, expected.chars);
    text_free(&expected);
    return status;
}

static jf_status load_from(jf_context *ctx, image_set *out, const recipe *r, const char *found,
                           int may_lack) {
    const image_source *source = find_source(recipe_get(r, "data.images"), found);
    if (!source) return fail_unknown(r, found);
    if (!source->reads_labels && !recipe_is(r, "data.labels", "none"))
        return recipe_fail(r, "data.labels", "found \"%s\", expected none: it is for images in a .npy file",
                           recipe_get(r, "data.labels"));
    JF_TRY(source->load(ctx, out, r, found));
    out->may_lack = may_lack;
    return image_select(ctx, out, r);
}

static jf_status load(jf_context *ctx, image_set *out, const recipe *r, int may_lack) {
    *out = (image_set){.h = 0};
    const char *name = recipe_get(r, "data.images");
    char *found = NULL;
    if (!find_source(name, NULL)) JF_TRY(find_files(ctx, &found, r));
    jf_status status = named_opened(r, load_from(ctx, out, r, found, may_lack));
    free(found);
    if (status != JF_OK) image_set_free(out);
    return status;
}

jf_status image_set_load(jf_context *ctx, image_set *out, const recipe *r) {
    return load(ctx, out, r, 0);
}

jf_status image_set_load_test(jf_context *ctx, image_set *out, const recipe *r) {
    return load(ctx, out, r, 1);
}

void image_set_free(image_set *s) {
    free(s->bytes);
    free(s->reals);
    free(s->labels);
    *s = (image_set){.h = 0};
}

/* ---- looking ---- */

size_t image_set_dim(const image_set *s) {
    return (size_t)s->h * (size_t)s->w * (size_t)s->channels;
}

void image_set_at(const image_set *s, long row, double *image) {
    size_t dim = image_set_dim(s), first = (size_t)row * dim;
    for (size_t i = 0; i < dim; i++)
        image[i] = s->bytes ? s->bytes[first + i] / 255.0 : (double)s->reals[first + i];
}

/* ---- for sources ---- */

jf_status image_check_size(jf_context *ctx, const char *path, size_t h, size_t w, size_t channels) {
    if (h < 1 || w < 1 || h > IMAGE_MAX_SIDE || w > IMAGE_MAX_SIDE)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "%s: images of %zux%zu (height x width), expected sides of 1 to %d", path, h, w,
                       IMAGE_MAX_SIDE);
    if (channels < 1 || channels > IMAGE_MAX_CHANNELS)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: images of %zu channels, expected 1 to %d", path, channels,
                       IMAGE_MAX_CHANNELS);
    if (h * w * channels > IMAGE_MAX_DIM)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: images of %zux%zux%zu numbers, expected at most %d together",
                       path, h, w, channels, IMAGE_MAX_DIM);
    return JF_OK;
}

void image_number_classes(image_set *s, int count) {
    s->classes = count;
    for (int k = 0; k < count; k++) format_text(s->class_name[k], MAX_CLASS_NAME, "%d", k);
}
