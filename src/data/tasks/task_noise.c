/* Noise: N(0, data.deviation^2) is added to every intensity. */
#include "base/memory.h"
#include "data/tasks/task.h"
#include <stdlib.h>

static const recipe_key keys[] = {
    {"data", "deviation", KEY_REAL, "0.2", 1e-6, 10, NULL, "Deviation of the noise, in intensities."}, {0}};

static jf_status noise_open(task *t, const recipe *r) {
    double *deviation;
    JF_TRY(MEM_NEW(t->ctx, &deviation, 1));
    *deviation = recipe_real(r, "data.deviation");
    t->own = deviation;
    return JF_OK;
}

static void noise_close(task *t) {
    free(t->own);
}

static void noise_degrade(const task *t, const double *image, rng *stream, double *input) {
    const double *deviation = t->own;
    size_t elements = (size_t)t->h * (size_t)t->w * (size_t)t->channels;
    for (size_t i = 0; i < elements; i++) input[i] = image[i] + *deviation * rng_normal(stream);
}

static void noise_resident(const task *t, resident_data *out) {
    out->task = RESIDENT_NOISE;
    out->noise = *(const double *)t->own;
}

const task_kind task_noise = {
    .name = "noise",
    .summary = "a clean image from a noisy one",
    .keys = keys,
    .open = noise_open,
    .close = noise_close,
    .apply = task_residual_apply,
    .restore = task_residual_restore,
    .answer = task_residual_answer,
    .condition = task_residual_condition,
    .degrade = noise_degrade,
    .random = 1,
    .resident = noise_resident,
};
