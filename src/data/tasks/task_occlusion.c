/* Occlusion: a hole of data.occlusion of the height and width, anywhere in the image, where all is 0. With
 * data.mask y has one more channel, which is 1 in the hole: black pixels are then told from missing ones. */
#include "base/memory.h"
#include "data/tasks/task.h"
#include <math.h>
#include <stdlib.h>

static const recipe_key keys[] = {{"data", "occlusion", KEY_REAL, "0.4", 0.01, 1, NULL,
                                   "Side of the hole, as a share of the image's height and width."},
                                  {"data", "mask", KEY_BOOL, "no", 0, 0, NULL,
                                   "The condition also tells where the hole is, in a channel of its own."},
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
    t->masked = recipe_bool(r, "data.mask");
    t->input_channels = t->size.y_channels = t->channels + t->masked;
    return JF_OK;
}

static void occlusion_close(task *t) {
    free(t->own);
}

static void occlusion_degrade(const task *t, const double *image, rng *stream, double *input) {
    const hole *own = t->own;
    size_t channels = (size_t)t->channels, wide = (size_t)t->input_channels, w = (size_t)t->w;
    size_t top = rng_below(stream, (uint32_t)(t->h - own->h + 1)),
           left = rng_below(stream, (uint32_t)(t->w - own->w + 1));
    for (size_t i = 0; i < (size_t)t->h * w; i++, image += channels, input += wide) {
        size_t row = i / w, column = i % w;
        int inside =
            row >= top && row < top + (size_t)own->h && column >= left && column < left + (size_t)own->w;
        for (size_t c = 0; c < channels; c++) input[c] = inside ? 0 : image[c];
        if (t->masked) input[channels] = inside;
    }
}

static void occlusion_resident(const task *t, resident_data *out) {
    const hole *own = t->own;
    if (t->masked) return; /* devices do not know it with a mask */
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
