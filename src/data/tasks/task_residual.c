/* What tasks share whose y is the degraded image and whose x is what was lost: x = image - y.
 *
 * A y of one channel counts for every channel of x; channels of y beyond those of x (a mask) are no part of
 * the image. */
#include "data/tasks/task.h"
#include <string.h>

/* out = a + sign y; out may be a */
static void add_condition(const task *t, const double *a, double sign, const double *y, double *out) {
    size_t pixels = (size_t)t->size.h * (size_t)t->size.w;
    int channels = t->size.x_channels, step = t->size.y_channels >= channels;
    for (size_t i = 0; i < pixels; i++, y += t->size.y_channels)
        for (int c = 0; c < channels; c++) *out++ = *a++ + sign * y[c * step];
}

void task_residual_apply(const task *t, const double *image, rng *stream, double *x, double *y) {
    t->kind->degrade(t, image, stream, y);
    add_condition(t, image, -1, y, x);
}

void task_residual_restore(const task *t, const double *x, const double *y, double *image) {
    add_condition(t, x, 1, y, image);
}

void task_residual_answer(const task *t, const double *image, const double *y, double *x) {
    add_condition(t, image, -1, y, x);
}

void task_residual_condition(const task *t, const double *input, double *y) {
    memcpy(y, input, (size_t)t->size.h * (size_t)t->size.w * (size_t)t->size.y_channels * sizeof *y);
}

int task_mirrored(int i, int n) {
    i %= 2 * n;
    if (i < 0) i += 2 * n;
    return i < n ? i : 2 * n - 1 - i;
}
