/* The image of a class: x is the image, y a plane of its label, which the data set fills in.
 *
 * With data.logit x is spread out at both ends, so that what a model draws can never leave [0, 1] by much:
 *
 *     x = (logit(a + (1 - 2a) image) + m) / 2m,   m = logit(1 - a),   a = 0.01        [0, 1] -> [0, 1] */
#include "base/memory.h"
#include "data/tasks/task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const recipe_key keys[] = {
    {"data", "logit", KEY_BOOL, "no", 0, 0, NULL,
     "Learn the logit of the intensities, which keeps samples within their range."},
    {0}};

static const double margin = 0.01;

static double logit(double p) {
    return log(p / (1 - p));
}

static size_t elements(const task *t) {
    return (size_t)t->h * (size_t)t->w * (size_t)t->channels;
}

/* m; 0: without the logit */
static double range_of(const task *t) {
    return *(const double *)t->own;
}

static jf_status class_open(task *t, const recipe *r) {
    double *range;
    JF_TRY(MEM_NEW(t->ctx, &range, 1));
    if (recipe_bool(r, "data.logit")) *range = logit(1 - margin);
    t->own = range;
    t->size.y_channels = 1;
    return JF_OK;
}

static void class_close(task *t) {
    free(t->own);
}

static double class_of_pixel(const task *t, double pixel) {
    const double m = range_of(t);
    return m > 0 ? (logit(margin + (1 - 2 * margin) * pixel) + m) / (2 * m) : pixel;
}

static void class_apply(const task *t, const double *image, rng *stream, double *x, double *y) {
    (void)stream, (void)y;
    for (size_t i = 0; i < elements(t); i++) x[i] = class_of_pixel(t, image[i]);
}

static void class_answer(const task *t, const double *image, const double *y, double *x) {
    class_apply(t, image, NULL, x, (double *)y);
}

static void class_restore(const task *t, const double *x, const double *y, double *image) {
    (void)y;
    const double m = range_of(t);
    memcpy(image, x, elements(t) * sizeof *x);
    if (m == 0) return;
    for (size_t i = 0; i < elements(t); i++)
        image[i] = (1 / (1 + exp(m - 2 * m * x[i])) - margin) / (1 - 2 * margin);
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
    .of_pixel = class_of_pixel,
};
