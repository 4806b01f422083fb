/* The steps count from the model that has drawn the images, which is the first: with its seed they have other
 * latent points than it had. */
#include "inference/enlarge.h"
#include "base/memory.h"
#include <string.h>

jf_status enlarge_check(const chain *c, int h, int w, int channels) {
    const task *first = c->t[0];
    if (h == first->input_h && w == first->input_w && channels == first->input_channels) return JF_OK;
    return jf_fail(c->ctx, JF_ERROR_SHAPE,
                   "the models make images of %d x %d (%d channel%s) larger, expected one that starts from "
                   "%d x %d (%d), which the model before them draws",
                   first->input_h, first->input_w, first->input_channels,
                   first->input_channels == 1 ? "" : "s", h, w, channels);
}

jf_status enlarge_check_model(const chain *c, const model *m) {
    task *own;
    JF_TRY(model_task(m, &own));
    jf_status status = enlarge_check(c, own->size.h, own->size.w, own->image_channels);
    task_free(own);
    return status;
}

/* Image `at` of each group, or the other way. */
static void copy_column(const image_array *from, int from_stride, int from_at, image_array *to, int to_stride,
                        int to_at, int count) {
    size_t size = image_numbers(from) * sizeof(double);
    for (int i = 0; i < count; i++)
        memcpy(image_at(to, i * to_stride + to_at), image_at(from, i * from_stride + from_at), size);
}

static jf_status answer(const chain *c, const image_array *small, const enlarge_request *q,
                        image_array *out) {
    chain_request request = {.seed = q->seed, .denoise = q->denoise, .after = 1};
    chain_result r;
    for (int k = 0; k < CHAIN_MOST; k++) request.counts[k] = 1;
    JF_TRY(chain_answer(c, small, &request, &r));
    *out = r.made[c->steps - 1];
    r.made[c->steps - 1] = (image_array){0};
    chain_result_free(&r);
    return JF_OK;
}

/* Each group gives one image at a time, so that its images have the latent points of its number. */
jf_status enlarge_images(const chain *c, const image_array *small, const enlarge_request *q,
                         image_array *out) {
    int together = q->together > 1 ? q->together : 1, groups = small->count / together;
    const task *last = c->t[c->steps - 1];
    image_array part = {0}, made = {0};
    jf_status status;
    *out = (image_array){0};
    JF_TRY(enlarge_check(c, small->h, small->w, small->channels));
    if (small->count % together)
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "%d images in groups of %d, expected whole groups",
                       small->count, together);
    if (together == 1) return answer(c, small, q, out);
    JF_TRY_DONE(
        image_array_create(c->ctx, out, small->count, last->size.h, last->size.w, last->image_channels));
    JF_TRY_DONE(image_array_create(c->ctx, &part, groups, small->h, small->w, small->channels));
    for (int t = 0; t < together; t++) {
        copy_column(small, together, t, &part, 1, 0, groups);
        JF_TRY_DONE(answer(c, &part, q, &made));
        copy_column(&made, 1, 0, out, together, t, groups);
        image_array_free(&made);
    }
done:
    image_array_free(&part);
    if (status != JF_OK) image_array_free(out);
    return status;
}
