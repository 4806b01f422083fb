/* Colour: y is the luminance of an image in colours, x what each of red, green and blue differs from it. */
#include "data/tasks/task.h"

static const double luminance[3] = {0.299, 0.587, 0.114}; /* ITU-R BT.601 */

static jf_status colour_open(task *t, const recipe *r) {
    if (t->channels != 3)
        return recipe_fail(r, "data.task", "colour needs images in colours: found %d channel%s, expected 3",
                           t->channels, t->channels == 1 ? "" : "s");
    t->size.y_channels = t->input_channels = 1;
    return JF_OK;
}

static void colour_degrade(const task *t, const double *image, rng *stream, double *input) {
    (void)stream;
    size_t pixels = (size_t)t->h * (size_t)t->w;
    for (size_t i = 0; i < pixels; i++, image += 3)
        input[i] = luminance[0] * image[0] + luminance[1] * image[1] + luminance[2] * image[2];
}

const task_kind task_colour = {
    .name = "colour",
    .summary = "an image in colours from one in grey",
    .open = colour_open,
    .apply = task_residual_apply,
    .restore = task_residual_restore,
    .answer = task_residual_answer,
    .condition = task_residual_condition,
    .degrade = colour_degrade,
};
