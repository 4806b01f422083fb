/* Blur by a Gaussian of data.blur pixels. Beyond its border an image goes on as its mirror image, so that the
 * sum of its intensities stays the same. */
#include "base/memory.h"
#include "data/images/image_set.h"
#include "data/tasks/task.h"
#include <math.h>
#include <stdlib.h>

static const recipe_key keys[] = {
    {"data", "blur", KEY_REAL, "1", 0.1, 10, NULL, "Deviation of the Gaussian that blurs, in pixels."}, {0}};

enum { MAX_RADIUS = 40 }; /* four deviations */

typedef struct blur {
    int radius;
    double weight[MAX_RADIUS + 1]; /* of a pixel so far away; over both sides they sum to 1 */
} blur;

static jf_status blur_open(task *t, const recipe *r) {
    blur *own;
    JF_TRY(MEM_NEW(t->ctx, &own, 1));
    t->own = own;
    double deviation = recipe_real(r, "data.blur"), sum = 0;
    own->radius = (int)ceil(4 * deviation);
    for (int i = 0; i <= own->radius; i++) {
        own->weight[i] = exp(-0.5 * i * i / (deviation * deviation));
        sum += own->weight[i] * (i ? 2 : 1);
    }
    for (int i = 0; i <= own->radius; i++) own->weight[i] /= sum;
    return JF_OK;
}

static void blur_close(task *t) {
    free(t->own);
}

/* One line of n pixels that lie `step` apart. `in` and `out` may be the same. */
static void blur_line(const blur *b, const double *in, double *out, int n, size_t step) {
    double line[IMAGE_MAX_SIDE];
    for (int i = 0; i < n; i++) line[i] = in[(size_t)i * step];
    for (int i = 0; i < n; i++) {
        double sum = b->weight[0] * line[i];
        for (int k = 1; k <= b->radius; k++)
            sum += b->weight[k] * (line[task_mirrored(i - k, n)] + line[task_mirrored(i + k, n)]);
        out[(size_t)i * step] = sum;
    }
}

static void blur_degrade(const task *t, const double *image, rng *stream, double *input) {
    (void)stream;
    size_t channels = (size_t)t->channels, line = (size_t)t->w * channels;
    for (size_t i = 0; i < (size_t)t->h; i++)
        for (size_t c = 0; c < channels; c++)
            blur_line(t->own, image + i * line + c, input + i * line + c, t->w, channels);
    for (size_t at = 0; at < line; at++) blur_line(t->own, input + at, input + at, t->h, line);
}

const task_kind task_blur = {
    .name = "blur",
    .summary = "a sharp image from a blurred one",
    .keys = keys,
    .open = blur_open,
    .close = blur_close,
    .apply = task_residual_apply,
    .restore = task_residual_restore,
    .answer = task_residual_answer,
    .condition = task_residual_condition,
    .degrade = blur_degrade,
};
