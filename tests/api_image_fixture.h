/* Small models of images for the tests of the public interface: a stack of 60 images of 8 x 8, two
 * classes. */
#ifndef JF_TESTS_API_IMAGE_FIXTURE_H
#define JF_TESTS_API_IMAGE_FIXTURE_H

#include "test.h"

#include "io/npy.h"
#include "io/png.h"
#include "jointflow/jointflow.h"

enum { COUNT = 60, SIDE = 8, PIXELS = SIDE * SIDE };

static inline jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

/* Pixel i of picture k: smooth, different in every one, brighter in the second class. */
static inline double intensity(int k, int i) {
    return 0.25 + 0.2 * (k % 2) +
           0.2 * sin(0.7 * k + 0.9 * (i % SIDE)) * cos(0.4 * k + 0.5 * (double)(i / SIDE));
}

/* A stack of images and their labels, and a model of them. `more`: further lines of [data]. */
static inline jf_model *trained(jf_context *ctx, const char *more, const char *run) {
    static double values[COUNT * PIXELS], labels[COUNT];
    char recipe[2048];
    for (int i = 0; i < COUNT * PIXELS; i++) values[i] = intensity(i / PIXELS, i % PIXELS);
    for (int k = 0; k < COUNT; k++) labels[k] = k % 2;
    CHECK_STATUS(npy_write(ctx, test_path("stack.npy"), values, 3, (size_t[]){COUNT, SIDE, SIDE}, 1), JF_OK);
    CHECK_STATUS(npy_write(ctx, test_path("labels.npy"), labels, 1, (size_t[]){COUNT}, 1), JF_OK);
    snprintf(recipe, sizeof recipe,
             "[data]\nset = images\nimages = %s\nlabels = %s\nvalidation = 0.2\n%s\n"
             "[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\n"
             "[train]\nbatch = 8\nprecondition = 0\nanneal = 0\nepochs = 1\nks_every = 0\nnoise = 0.02\n",
             test_path("stack.npy"), test_path("labels.npy"), more);
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_recipe_parse(&r, ctx, recipe, "images.recipe"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r,
                          &(jf_train_options){.size = sizeof(jf_train_options), .folder = run, .threads = 1}),
                 JF_OK);
    jf_recipe_free(r);
    return m;
}
static inline jf_model *class_model(jf_context *ctx) {
    return trained(ctx, "task = class", test_path("class"));
}
static inline jf_model *fine_model(jf_context *ctx) {
    return trained(ctx, "task = superres", test_path("fine"));
}
static inline jf_model *coarse_model(jf_context *ctx) {
    return trained(ctx, "task = superres\ndown = 1", test_path("coarse"));
}

/* One image, as a user would hand it in. */
static inline jf_images one_image(int h, int w, double *values) {
    for (int i = 0; i < h * w; i++) values[i] = 0.1 + 0.8 * ((i * 7) % 11) / 11.0;
    return (jf_images){.values = values, .count = 1, .h = h, .w = w, .channels = 1};
}

#endif
