/* What tasks share that halve images before: image' = down^k(image), with `down` = means of 2x2 pixels and k
 * = data.down. */
#include "data/tasks/task.h"

int task_halving_reduction(const recipe *r) {
    return 1 << recipe_int(r, "data.down");
}

static jf_status fail_size(const task *t, const recipe *r, int down, int least) {
    int most = 0;
    while (most <= TASK_MOST_DOWN && t->h % (least << most) == 0 && t->w % (least << most) == 0) most++;
    if (most == 0)
        return recipe_fail(r, "data.task", "superres cannot halve images of %dx%d, expected even sides", t->h,
                           t->w);
    return recipe_fail(r, "data.down",
                       "found %d, expected at most %d for images of %dx%d: with %d, sides must divide by %d",
                       down, most - 1, t->h, t->w, down, least << down);
}

jf_status task_halving_open(task *t, const recipe *r, int least) {
    int down = recipe_int(r, "data.down");
    if (t->h % (least << down) || t->w % (least << down)) return fail_size(t, r, down, least);
    t->size.h = t->h >> down;
    t->size.w = t->w >> down;
    t->input_h = t->size.h / least;
    t->input_w = t->size.w / least;
    return JF_OK;
}

void task_shrink(const double *image, int h, int w, int channels, int side, double *out) {
    size_t line = (size_t)w * (size_t)side * (size_t)channels;
    for (int i = 0; i < h; i++) {
        for (int j = 0; j < w; j++) {
            for (int c = 0; c < channels; c++) {
                const double *at =
                    image + (size_t)i * (size_t)side * line + (size_t)j * (size_t)(side * channels) + c;
                double sum = 0;
                for (int k = 0; k < side; k++)
                    for (int l = 0; l < side; l++) sum += at[(size_t)k * line + (size_t)(l * channels)];
                *out++ = sum / (side * side);
            }
        }
    }
}
