/* Motion: an image that moved evenly while it was taken, along a straight line of data.length pixels at
 * data.angle. What is seen is the mean over the way; between pixels it is interpolated, and beyond its border
 * an image goes on as its mirror image. */
#include "base/memory.h"
#include "data/tasks/task.h"
#include <math.h>
#include <stdlib.h>

#define DEGREE 0.017453292519943295
enum { STEPS_PER_PIXEL = 4 };

static const recipe_key keys[] = {
    {"data", "length", KEY_REAL, "5", 0.1, 100, NULL, "How far the image moved, in pixels."},
    {"data", "angle", KEY_REAL, "0", -360, 360, NULL,
     "In which direction, in degrees: 0 along the rows, 90 along the columns, between them from the lower "
     "left to "
     "the upper right."},
    {0}};

/* Places on the way, each of which counts alike; symmetric around 0, so that the image stays where it is. */
typedef struct motion {
    int steps;
    double *down, *right; /* (steps), pixels */
} motion;

static jf_status motion_open(task *t, const recipe *r) {
    double length = recipe_real(r, "data.length"), angle = DEGREE * recipe_real(r, "data.angle");
    motion *own;
    JF_TRY(MEM_NEW(t->ctx, &own, 1));
    t->own = own;
    own->steps = (int)ceil(STEPS_PER_PIXEL * length);
    JF_TRY(MEM_NEW(t->ctx, &own->down, (size_t)own->steps));
    JF_TRY(MEM_NEW(t->ctx, &own->right, (size_t)own->steps));
    for (int i = 0; i < own->steps; i++) {
        double way = length * ((i + 0.5) / own->steps - 0.5);
        own->down[i] = -way * sin(angle);
        own->right[i] = way * cos(angle);
    }
    return JF_OK;
}

static void motion_close(task *t) {
    motion *own = t->own;
    if (!own) return;
    free(own->down);
    free(own->right);
    free(own);
}

/* Between four pixels; `channel` of image (h, w, channels). */
static double value_at(const task *t, const double *image, double row, double column, int channel) {
    int i = (int)floor(row), j = (int)floor(column);
    double part_i = row - i, part_j = column - j, sum = 0;
    for (int k = 0; k < 4; k++) {
        size_t at_i = (size_t)task_mirrored(i + k / 2, t->h), at_j = (size_t)task_mirrored(j + k % 2, t->w);
        double weight = (k / 2 ? part_i : 1 - part_i) * (k % 2 ? part_j : 1 - part_j);
        sum += weight * image[(at_i * (size_t)t->w + at_j) * (size_t)t->channels + (size_t)channel];
    }
    return sum;
}

static void motion_degrade(const task *t, const double *image, rng *stream, double *input) {
    const motion *own = t->own;
    (void)stream;
    for (int i = 0; i < t->h; i++)
        for (int j = 0; j < t->w; j++)
            for (int c = 0; c < t->channels; c++) {
                double sum = 0;
                for (int k = 0; k < own->steps; k++)
                    sum += value_at(t, image, i + own->down[k], j + own->right[k], c);
                *input++ = sum / own->steps;
            }
}

const task_kind task_motion = {
    .name = "motion",
    .summary = "a sharp image from one that moved",
    .keys = keys,
    .open = motion_open,
    .close = motion_close,
    .apply = task_residual_apply,
    .restore = task_residual_restore,
    .answer = task_residual_answer,
    .condition = task_residual_condition,
    .degrade = motion_degrade,
};
