/* The image of a class: x is the image, halved data.down times before, y a plane of its label, or a plane for
 * each class, which the data set fills in.
 *
 * With data.logit x is spread out at both ends, so that what a model draws can never leave [0, 1] by much:
 *
 *     x = (logit(a + (1 - 2a) image) + m) / 2m,   m = logit(1 - a),   a = 0.01        [0, 1] -> [0, 1]
 *
 * With data.dequantise = uniform an intensity of b/255 becomes (b + u)/256, u ~ U(0, 1), before that. The
 * density of what is learned then bounds the probability of bytes:  log P(b) >= E_u log p(b + u). */
#include "base/memory.h"
#include "data/tasks/task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const recipe_key keys[] = {
    {"data", "logit", KEY_BOOL, "no", 0, 0, NULL,
     "Learn the logit of the intensities, which keeps samples within their range."},
    {"data", "dequantise", KEY_CHOICE, "none", 0, 0, "none uniform",
     "Add uniform noise to bytes, as wide as one of their steps, new in every epoch: the likelihood is then "
     "told in bits "
     "per dimension, too. Expects images of bytes and train.noise = 0."},
    {"data", "one_hot", KEY_BOOL, "no", 0, 0, NULL,
     "y has a plane for each class, 1 in that of the image and 0 in the others, instead of one with the "
     "number "
     "of the class."},
    {"data", "down", KEY_INT, "0", 0, TASK_MOST_DOWN, NULL,
     "How often images are halved before: of 28x28 images, 2 learns images of 7x7."},
    {"data", "then", KEY_TEXT, "none", 0, 0, NULL,
     "Models of super-resolution that make what is drawn larger again: run folders or "
     "model files, separated by commas, a folder of model files, or the name of models that come with the "
     "program; or none. A model file has those taken that lie below its own folder or came with the program; "
     "others "
     "are given by --then."},
    {0}};

static const double margin = 0.01;

typedef struct class_task {
    pixel_spread spread;
} class_task;

static double logit(double p) {
    return log(p / (1 - p));
}

static size_t elements(const task *t) {
    return (size_t)t->size.h * (size_t)t->size.w * (size_t)t->channels;
}

static pixel_spread spread_of(const task *t) {
    return ((const class_task *)t->own)->spread;
}

static jf_status class_open(task *t, const recipe *r) {
    class_task *own;
    JF_TRY(MEM_NEW(t->ctx, &own, 1));
    own->spread = (pixel_spread){margin, recipe_bool(r, "data.logit") ? logit(1 - margin) : 0};
    t->own = own;
    t->levels = recipe_is(r, "data.dequantise", "uniform");
    t->planes = recipe_bool(r, "data.one_hot");
    if (t->levels && recipe_int(r, "data.down") > 0)
        return recipe_fail(r, "data.dequantise",
                           "uniform noise stands for what bytes leave out, but means of pixels are none; "
                           "expected none, or data.down = 0");
    JF_TRY(task_halving_open(t, r, 1));
    t->size.y_channels = 1; /* with planes as many as classes, which the data know */
    return JF_OK;
}

static void class_close(task *t) {
    free(t->own);
}

static double class_of_pixel(const task *t, double pixel) {
    return pixel_spread_out(spread_of(t), pixel);
}

/* Without a stream: in the middle of the step. */
static void class_apply(const task *t, const double *image, rng *stream, double *x, double *y) {
    (void)y;
    task_shrink(image, t->size.h, t->size.w, t->channels, t->h / t->size.h, x);
    for (size_t i = 0; i < elements(t); i++) {
        double pixel = x[i];
        if (t->levels)
            pixel = pixel_of_level(rint((PIXEL_LEVELS - 1) * pixel), stream ? rng_uniform(stream) : 0.5);
        x[i] = class_of_pixel(t, pixel);
    }
}

/* As it is: it may have been restored before, between two levels. */
static void class_answer(const task *t, const double *image, const double *y, double *x) {
    (void)y;
    for (size_t i = 0; i < elements(t); i++) x[i] = class_of_pixel(t, image[i]);
}

static double logistic(double v) {
    return 1 / (1 + exp(-v));
}

static void class_restore(const task *t, const double *x, const double *y, double *image) {
    (void)y;
    const double m = spread_of(t).m;
    memcpy(image, x, elements(t) * sizeof *x);
    if (m == 0) return;
    for (size_t i = 0; i < elements(t); i++)
        image[i] = (logistic(2 * m * x[i] - m) - margin) / (1 - 2 * margin);
}

/* dx/dv = (1 - 2a)/(2m p (1 - p)) / 256 with the logit, 1/256 without */
static double class_log_slope(const task *t, double x) {
    const double m = spread_of(t).m;
    if (m == 0) return -log(PIXEL_LEVELS);
    double p = logistic(2 * m * x - m), q = logistic(m - 2 * m * x); /* q = 1 - p, without cancellation */
    return log((1 - 2 * margin) / (2 * m)) - log(p) - log(q) - log(PIXEL_LEVELS);
}

static void class_resident(const task *t, resident_data *out) {
    if (!t->levels) return;
    out->task = RESIDENT_LEVELS;
    out->spread = spread_of(t);
}

const task_kind task_class = {
    .name = "class",
    .summary = "images of a class",
    .keys = keys,
    .open = class_open,
    .close = class_close,
    .apply = class_apply,
    .restore = class_restore,
    .answer = class_answer,
    .by_class = 1,
    .reduction = task_halving_reduction,
    .of_pixel = class_of_pixel,
    .log_slope = class_log_slope,
    .resident = class_resident,
};
