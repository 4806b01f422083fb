/* Occlusion: a hole of data.occlusion of the height and width, anywhere in the image, where all is 0. */
#include "base/memory.h"
#include "data/tasks/task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const recipe_key keys[] = {{"data", "occlusion", KEY_REAL, "0.4", 0.01, 1, NULL,
                                   "Side of the hole, as a share of the image's height and width."},
                                  {0}};

typedef struct hole {
    int h, w;
} hole;

static int share_of(int side, double share) {
    int part = (int)lround(share * side);
    return part < 1 ? 1 : part;
}

static jf_status occlusion_open(task *t, const recipe *r) {
    hole *own;
    JF_TRY(MEM_NEW(t->ctx, &own, 1));
    double share = recipe_real(r, "data.occlusion");
    *own = (hole){share_of(t->h, share), share_of(t->w, share)};
    t->own = own;
    return JF_OK;
}

static void occlusion_close(task *t) {
    free(t->own);
}

static void occlusion_degrade(const task *t, const double *image, rng *stream, double *input) {
    const hole *own = t->own;
    size_t channels = (size_t)t->channels, line = (size_t)t->w * channels;
    size_t top = rng_below(stream, (uint32_t)(t->h - own->h + 1)),
           left = rng_below(stream, (uint32_t)(t->w - own->w + 1));
    memcpy(input, image, (size_t)t->h * line * sizeof *input);
    for (size_t i = top; i < top + (size_t)own->h; i++)
        memset(input + i * line + left * channels, 0, (size_t)own->w * channels * sizeof *input);
}

static void occlusion_resident(const task *t, resident_data *out) {
    const hole *own = t->own;
    out->task = RESIDENT_HOLE;
    out->h = t->h;
    out->w = t->w;
    out->channels = t->channels;
    out->hole_h = own->h;
    out->hole_w = own->w;
}

const task_kind task_occlusion = {
    .name = "occlusion",
    .summary = "a whole image from one with a hole",
    .keys = keys,
    .open = occlusion_open,
    .close = occlusion_close,
    .apply = task_residual_apply,
    .restore = task_residual_restore,
    .answer = task_residual_answer,
    .condition = task_residual_condition,
    .degrade = occlusion_degrade,
    .random = 1,
    .resident = occlusion_resident,
};
