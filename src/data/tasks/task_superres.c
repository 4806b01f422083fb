/* Super-resolution by a factor of two: with `down` = means of 2x2 pixels and `up` = each pixel 2x2 times,
 *
 *     image' = down^k(image),   y = up(down(image')),   x = image' - y
 *
 * where k = data.down halvings make the image smaller first. x sums to 0 over every 2x2 pixels. */
#include "data/tasks/task.h"
#include <string.h>

static const recipe_key keys[] = {{"data", "down", KEY_INT, "0", 0, TASK_MOST_DOWN, NULL,
                                   "How often images are halved before: with 28x28 images, 0 learns 14x14 -> "
                                   "28x28 and 1 learns 7x7 -> 14x14."},
                                  {0}};

static jf_status superres_open(task *t, const recipe *r) {
    return task_halving_open(t, r, 2);
}

static void superres_degrade(const task *t, const double *image, rng *stream, double *input) {
    (void)stream;
    task_shrink(image, t->input_h, t->input_w, t->channels, 2, input);
}

static void superres_condition(const task *t, const double *input, double *y) {
    size_t channels = (size_t)t->channels;
    for (int i = 0; i < t->size.h; i++)
        for (int j = 0; j < t->size.w; j++, y += channels)
            memcpy(y, input + ((size_t)(i / 2) * (size_t)t->input_w + (size_t)(j / 2)) * channels,
                   channels * sizeof *y);
}

/* y is made of `image'` lying in x: the means of 2x2 pixels, then the same with each of them in its four
 * places. */
static void superres_apply(const task *t, const double *image, rng *stream, double *x, double *y) {
    (void)stream;
    size_t channels = (size_t)t->channels, line = (size_t)t->size.w * channels;
    task_shrink(image, t->size.h, t->size.w, t->channels, t->h / t->size.h, x);
    for (int i = 0; i < t->size.h; i += 2) {
        for (size_t at = (size_t)i * line; at < (size_t)(i + 1) * line; at += 2 * channels) {
            for (size_t c = at; c < at + channels; c++) {
                const size_t cell[] = {c, c + channels, c + line, c + line + channels};
                double mean = (x[cell[0]] + x[cell[1]] + x[cell[2]] + x[cell[3]]) / 4;
                for (int k = 0; k < 4; k++) {
                    y[cell[k]] = mean;
                    x[cell[k]] -= mean;
                }
            }
        }
    }
}

const task_kind task_superres = {
    .name = "superres",
    .summary = "an image from one of half its size",
    .keys = keys,
    .open = superres_open,
    .apply = superres_apply,
    .restore = task_residual_restore,
    .answer = task_residual_answer,
    .condition = superres_condition,
    .degrade = superres_degrade,
    .reduction = task_halving_reduction,
};
