/* Super-resolution in two steps.
 *
 * The fine model answers to samples of the coarse one just as they are: up(sample), in the units in which they left, is
 * its condition. Its training conditions were (1 - a) up(image) + a N with the noise N of each pixel on its own; a coarse
 * sample is (1 - a) image + a N, too, but `up` repeats each deviate over 2x2 pixels. So single pixels of the condition are
 * as noisy as in training, their means over 2x2 twice as noisy, and there is no noise within them. We leave it so:
 * - As they are drawn, samples have the noise of training, and so has the condition. `denoise` takes it off, by the gradient
 *   of the model's own density (model/denoise.h), before the next model is asked. Clipping would shift the black background.
 * - Noise within the 2x2 pixels could be added. It says nothing about the answer, a clean condition of the coarse model
 *   goes without it as well, and the answers are not to depend on more random numbers than the latent points.
 *
 * A perfect pair then meets its input, degraded again, up to deviates of a/(1 - a) in the mean of 4 coarse and of 16 fine
 * pixels: 38.9 dB for a = 0.02. Without the noise that limit does not hold. */
#include "answer/superres.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "model/denoise.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One of the two models. */
typedef struct step {
    const model *m;
    task *t;
    int count; /* samples of each condition */
    int denoise;
    latent_stream stream; /* the two would begin with the same latent numbers otherwise */
} step;

/* ---- which is which ---- */

static int feeds(const task *coarse, const task *fine) {
    return coarse->size.h == fine->input_h && coarse->size.w == fine->input_w &&
           coarse->image_channels == fine->input_channels;
}

/* Opens the task of a model, if it makes images larger. */
static jf_status open_task(const model *m, const char *which, task **out) {
    if (m->units.image.h == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "the %s model (%s) is of vectors, expected one of super-resolution", which,
                       recipe_short_name(m->recipe));
    JF_TRY(model_task(m, out));
    const task *t = *out;
    if (t->kind->condition && t->input_h < t->size.h && t->input_w < t->size.w) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                   "the %s model (%s) is of the task \"%s\", expected one that makes images larger, such as "
                   "\"superres\"",
                   which, recipe_short_name(m->recipe), t->kind->name);
}

static jf_status fail_order(jf_context *ctx, const task *a, const task *b) {
    return jf_fail(
        ctx, JF_ERROR_SHAPE,
        "the models do not follow each other: one makes %d x %d of %d x %d (%d channel%s), the other "
        "%d x %d of %d x %d (%d channel%s); expected one to make what the other starts from",
        a->size.h, a->size.w, a->input_h, a->input_w, a->image_channels, a->image_channels == 1 ? "" : "s",
        b->size.h, b->size.w, b->input_h, b->input_w, b->image_channels, b->image_channels == 1 ? "" : "s");
}

/* Sizes tell the coarse model from the fine one. */
static jf_status order_models(const model *one, const model *other, step *coarse, step *fine) {
    coarse->m = one;
    fine->m = other;
    JF_TRY(open_task(one, "first", &coarse->t));
    JF_TRY(open_task(other, "second", &fine->t));
    if (feeds(coarse->t, fine->t)) return JF_OK;
    if (!feeds(fine->t, coarse->t)) return fail_order(one->ctx, coarse->t, fine->t);
    task *t = coarse->t;
    coarse->t = fine->t;
    fine->t = t;
    coarse->m = other;
    fine->m = one;
    return JF_OK;
}

/* ---- samples ---- */

/* `count` images of each condition, one condition after another; adds |y_back - y| of all elements to *error. */
static jf_status draw_answers(const step *s, const image_conditions *given, uint64_t seed, image_array *out,
                              double *error) {
    const model *m = s->m;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    size_t n = (size_t)given->inputs.count * (size_t)s->count;
    double *rows = NULL, *y = NULL;
    jf_status status;
    JF_TRY_DONE(mem_alloc(m->ctx, &rows, n, dim * sizeof(double)));
    JF_TRY_DONE(mem_alloc(m->ctx, &y, n, dim_y * sizeof(double)));
    for (size_t i = 0; i < n; i++) {
        memcpy(y + i * dim_y, given->y + i / (size_t)s->count * dim_y, dim_y * sizeof(double));
        memcpy(rows + i * dim + dim_x, y + i * dim_y, dim_y * sizeof(double));
    }
    JF_TRY_DONE(model_sample(m, (latent_points){seed, s->stream, 0}, DATA_UNITS, (long)n, rows, NULL));
    for (size_t i = 0; i < n; i++)
        for (size_t e = 0; e < dim_y; e++)
            *error += fabs(rows[i * dim + dim_x + e] - y[i * dim_y + e]) / m->units.deviation[dim_x + e];
    /* with the y that was asked for */
    for (size_t i = 0; i < n; i++) memcpy(rows + i * dim + dim_x, y + i * dim_y, dim_y * sizeof(double));
    if (s->denoise) JF_TRY_DONE(model_denoise(m, DATA_UNITS, (long)n, rows));
    JF_TRY_DONE(restore_images(s->t, (int)n, (row_view){rows, dim}, (row_view){y, dim_y}, out));
done:
    free(rows);
    free(y);
    return status;
}

/* Of images against the one that all of them stand for. */
static double psnr_of(const image_array *images, const image_array *truth) {
    double square = 0;
    size_t n = image_numbers(truth);
    for (int i = 0; i < images->count; i++)
        for (size_t e = 0; e < n; e++) square += pow(image_at(images, i)[e] - truth->values[e], 2);
    return psnr(square, (double)images->count * (double)n);
}

/* down(coarse) and down(down(fine)) against the input */
static jf_status measure_psnr(const step *coarse, const step *fine, superres_result *r) {
    image_array once = {0}, twice = {0};
    jf_status status;
    JF_TRY_DONE(degrade_images(coarse->t, &r->coarse, 0, &once));
    r->coarse_psnr = psnr_of(&once, &r->input);
    image_array_free(&once);
    JF_TRY_DONE(degrade_images(fine->t, &r->fine, 0, &once));
    JF_TRY_DONE(degrade_images(coarse->t, &once, 0, &twice));
    r->psnr = psnr_of(&twice, &r->input);
done:
    image_array_free(&once);
    image_array_free(&twice);
    return status;
}

/* ---- the two steps ---- */

/* The condition of the coarse model: `given` is its input, or whole in the size of the fine model. */
static jf_status first_condition(const step *coarse, const step *fine, const image_array *given,
                                 image_conditions *out, image_array *truth) {
    const task *small = coarse->t, *large = fine->t;
    image_conditions middle = {0};
    jf_status status;
    if (given->count != 1)
        return jf_fail(coarse->m->ctx, JF_ERROR_ARGUMENT, "%d images to start from, expected one",
                       given->count);
    if (given->h == small->input_h && given->w == small->input_w)
        return image_conditions_create(coarse->m, out, given, 0, 0);
    if (given->h != large->size.h || given->w != large->size.w)
        return jf_fail(
            coarse->m->ctx, JF_ERROR_SHAPE,
            "an image of %d x %d, expected an input of %d x %d, or a whole image of %d x %d to degrade",
            given->h, given->w, small->input_h, small->input_w, large->size.h, large->size.w);
    JF_TRY_DONE(image_conditions_create(fine->m, &middle, given, 1, 0));
    JF_TRY_DONE(image_conditions_create(coarse->m, out, &middle.inputs, 1, 0));
    *truth = middle.whole;
    middle.whole = (image_array){0};
done:
    image_conditions_free(&middle);
    return status;
}

static jf_status answer(const step *coarse, const step *fine, const image_array *given, uint64_t seed,
                        superres_result *out) {
    image_conditions first = {0}, second = {0};
    jf_status status;
    JF_TRY_DONE(first_condition(coarse, fine, given, &first, &out->truth));
    JF_TRY_DONE(draw_answers(coarse, &first, seed, &out->coarse, &out->y_error));
    JF_TRY_DONE(image_conditions_create(fine->m, &second, &out->coarse, 0, 0));
    JF_TRY_DONE(draw_answers(fine, &second, seed, &out->fine, &out->y_error));
    out->y_error /=
        (double)out->coarse.count * coarse->m->units.dim_y + (double)out->fine.count * fine->m->units.dim_y;
    out->input = first.inputs;
    first.inputs = (image_array){0};
    JF_TRY_DONE(measure_psnr(coarse, fine, out));
done:
    image_conditions_free(&first);
    image_conditions_free(&second);
    return status;
}

jf_status superres_create(const model *one, const model *other, const image_array *given,
                          const superres_request *q, superres_result *out) {
    step coarse = {.count = q->coarse_count, .denoise = q->denoise, .stream = LATENT_SAMPLES},
         fine = {.count = q->fine_count, .denoise = q->denoise, .stream = LATENT_FINE};
    *out = (superres_result){0};
    if (q->coarse_count < 1 || q->fine_count < 1 || (long)q->coarse_count * q->fine_count > INT_MAX)
        return jf_fail(one->ctx, JF_ERROR_ARGUMENT,
                       "%d coarse images and %d fine ones of each, expected 1 or more", q->coarse_count,
                       q->fine_count);
    jf_status status = order_models(one, other, &coarse, &fine);
    if (status == JF_OK) status = answer(&coarse, &fine, given, q->seed, out);
    task_free(coarse.t);
    task_free(fine.t);
    if (status != JF_OK) superres_free(out);
    return status;
}

void superres_free(superres_result *r) {
    image_array_free(&r->truth);
    image_array_free(&r->input);
    image_array_free(&r->coarse);
    image_array_free(&r->fine);
    *r = (superres_result){0};
}
