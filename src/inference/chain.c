/* Super-resolution in steps.
 *
 * A model answers to samples of the one before it just as they are: up(sample), in the units in which they
 * left, is its condition. Its training conditions were (1 - a) up(image) + a N with the noise N of each pixel
 * on its own; a sample is (1 - a) image + a N, too, but `up` repeats each deviate over 2x2 pixels. So single
 * pixels of the condition are as noisy as in training, their means over 2x2 twice as noisy, and there is no
 * noise within them. We leave it so:
 * - As they are drawn, samples have the noise of training, and so has the condition. `denoise` takes it off,
 * by the gradient of the model's own density (model/denoise.h), before the next model is asked. Clipping
 * would shift the black background.
 * - Noise within the 2x2 pixels could be added. It says nothing about the answer, a clean condition of the
 * first model goes without it as well, and the answers are not to depend on more random numbers than the
 * latent points.
 *
 * A perfect pair then meets its input, degraded again, up to deviates of a/(1 - a) in the mean of 4 coarse
 * and of 16 fine pixels: 38.9 dB for a = 0.02. Without the noise that limit does not hold. */
#include "inference/chain.h"
#include "base/memory.h"
#include "model/denoise.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Sizes tell the order; of equal ones that in which they were given. */
static void sort_steps(chain *c) {
    for (int i = 1; i < c->steps; i++)
        for (int k = i; k > 0 && c->t[k]->size.h < c->t[k - 1]->size.h; k--) {
            task *t = c->t[k];
            const model *m = c->m[k];
            c->t[k] = c->t[k - 1];
            c->m[k] = c->m[k - 1];
            c->t[k - 1] = t;
            c->m[k - 1] = m;
        }
}

static jf_status order_models(chain *c, int count, const model *const *models) {
    static const char *const which[CHAIN_MOST] = {"first", "second", "third",   "fourth",
                                                  "fifth", "sixth",  "seventh", "eighth"};
    for (; c->steps < count; c->steps++) {
        JF_NEEDS(c->ctx, models[c->steps]);
        c->m[c->steps] = models[c->steps];
        JF_TRY(open_task(models[c->steps], which[c->steps], &c->t[c->steps]));
    }
    sort_steps(c);
    for (int k = 1; k < count; k++)
        if (!feeds(c->t[k - 1], c->t[k])) return fail_order(c->ctx, c->t[k - 1], c->t[k]);
    return JF_OK;
}

jf_status chain_open(chain *out, int count, const model *const *models) {
    *out = (chain){.ctx = count > 0 ? CONTEXT_OF(models[0]) : NULL};
    if (count < 1) return JF_ERROR_ARGUMENT;
    if (count > CHAIN_MOST)
        return jf_fail(out->ctx, JF_ERROR_ARGUMENT, "%d models, expected at most %d", count, CHAIN_MOST);
    jf_status status = order_models(out, count, models);
    if (status != JF_OK) chain_close(out);
    return status;
}

void chain_close(chain *c) {
    for (int i = 0; i < CHAIN_MOST; i++) task_free(c->t[i]);
    *c = (chain){.ctx = c->ctx};
}

/* ---- samples ---- */

/* Each step has a stream of its own: two would begin with the same latent numbers otherwise. */
static latent_stream stream_of(int step) {
    return step == 0 ? LATENT_SAMPLES : (latent_stream)(LATENT_FINE + step - 1);
}

/* Rows of `count` samples of each condition, one condition after another; adds |y_back - y| of all elements
 * to *error. */
static jf_status draw_rows(const model *m, const image_conditions *given, size_t count, latent_points from,
                           double *rows, double *error) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    size_t n = (size_t)given->inputs.count * count;
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * dim + dim_x, given->y + i / count * dim_y, dim_y * sizeof(double));
    JF_TRY(model_sample(m, from, DATA_UNITS, (long)n, rows, NULL));
    for (size_t i = 0; i < n; i++) {
        double *back = rows + i * dim + dim_x;
        const double *y = given->y + i / count * dim_y;
        for (size_t e = 0; e < dim_y; e++) *error += fabs(back[e] - y[e]) / m->units.deviation[dim_x + e];
        memcpy(back, y, dim_y * sizeof(double)); /* what was asked for */
    }
    return JF_OK;
}

static jf_status draw_answers(const chain *c, int step, const image_conditions *given, const chain_request *q,
                              uint64_t first, image_array *out, double *error) {
    const model *m = c->m[step];
    size_t dim = (size_t)m->flow->dim, count = (size_t)q->counts[step];
    size_t n = (size_t)given->inputs.count * count;
    double *rows;
    jf_status status;
    if (n > INT_MAX)
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "%zu images of step %d, expected at most %d", n, step + 1,
                       INT_MAX);
    JF_TRY(mem_alloc(c->ctx, &rows, n, dim * sizeof(double)));
    latent_points from = {q->seed, stream_of(q->after + step), first, 1};
    JF_TRY_DONE(draw_rows(m, given, count, from, rows, error));
    if (q->denoise) JF_TRY_DONE(model_denoise(m, DATA_UNITS, (long)n, rows));
    JF_TRY_DONE(restore_images(c->t[step], (int)n, (row_view){rows, dim},
                               (row_view){rows + m->units.dim_x, dim}, out));
done:
    free(rows);
    return status;
}

/* ---- how well they fit ---- */

/* Images of a step degraded down to the input's size. */
static jf_status degrade_to_input(const chain *c, int step, const image_array *images, image_array *out) {
    image_array now = {0}, next;
    JF_TRY(degrade_images(c->t[step], images, 0, &now));
    for (int k = step - 1; k >= 0; k--) {
        jf_status status = degrade_images(c->t[k], &now, 0, &next);
        image_array_free(&now);
        if (status != JF_OK) return status;
        now = next;
    }
    *out = now;
    return JF_OK;
}

/* Images that follow each other stand for one input. */
static jf_status measure_square(const chain *c, int step, chain_result *r) {
    image_array again;
    size_t n = image_numbers(&r->input);
    int each = r->made[step].count / r->input.count;
    JF_TRY(MEM_NEW(c->ctx, &r->square_of[step], (size_t)r->input.count));
    JF_TRY(degrade_to_input(c, step, &r->made[step], &again));
    for (int i = 0; i < again.count; i++)
        for (size_t e = 0; e < n; e++)
            r->square_of[step][i / each] +=
                pow(image_at(&again, i)[e] - image_at(&r->input, i / each)[e], 2) / (each * (double)n);
    for (int i = 0; i < r->input.count; i++) r->square[step] += r->square_of[step][i] / r->input.count;
    image_array_free(&again);
    return JF_OK;
}

/* ---- all steps ---- */

/* Whole images of the last step become inputs of the first. */
static jf_status reduce(const chain *c, const image_array *given, image_conditions *first,
                        image_array *truth) {
    image_conditions now = {0}, next;
    jf_status status;
    for (int k = c->steps - 1; k >= 0; k--) {
        JF_TRY_DONE(image_conditions_create(c->m[k], &next, k == c->steps - 1 ? given : &now.inputs, 1, 0));
        if (k == c->steps - 1) {
            *truth = next.whole;
            next.whole = (image_array){0};
        }
        image_conditions_free(&now);
        now = next;
    }
    *first = now;
    return JF_OK;
done:
    image_conditions_free(&now);
    return status;
}

/* Inputs of the first step, or whole images of the last. */
static jf_status first_conditions(const chain *c, const image_array *given, image_conditions *first,
                                  image_array *truth) {
    const task *small = c->t[0], *large = c->t[c->steps - 1];
    if (given->h == small->input_h && given->w == small->input_w)
        return image_conditions_create(c->m[0], first, given, 0, 0);
    if (given->h != large->size.h || given->w != large->size.w)
        return jf_fail(
            c->ctx, JF_ERROR_SHAPE,
            "an image of %d x %d, expected an input of %d x %d, or a whole image of %d x %d to degrade",
            given->h, given->w, small->input_h, small->input_w, large->size.h, large->size.w);
    return reduce(c, given, first, truth);
}

static jf_status answer(const chain *c, const image_array *given, const chain_request *q, chain_result *out) {
    image_conditions now = {0};
    double elements = 0;
    uint64_t first = q->first;
    jf_status status;
    JF_TRY_DONE(first_conditions(c, given, &now, &out->truth));
    for (int k = 0; k < c->steps; k++) {
        if (k > 0) JF_TRY_DONE(image_conditions_create(c->m[k], &now, &out->made[k - 1], 0, 0));
        first *= (uint64_t)q->counts[k];
        JF_TRY_DONE(draw_answers(c, k, &now, q, first, &out->made[k], &out->y_error));
        elements += (double)out->made[k].count * c->m[k]->units.dim_y;
        if (k == 0) {
            out->input = now.inputs;
            now.inputs = (image_array){0};
        }
        image_conditions_free(&now);
        JF_TRY_DONE(measure_square(c, k, out));
    }
    out->y_error /= elements;
done:
    image_conditions_free(&now);
    return status;
}

jf_status chain_answer(const chain *c, const image_array *given, const chain_request *q, chain_result *out) {
    *out = (chain_result){.steps = c->steps};
    for (int k = 0; k < c->steps; k++)
        if (q->counts[k] < 1)
            return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "%d images of step %d, expected 1 or more",
                           q->counts[k], k + 1);
    if (given->count < 1) return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "no images to start from");
    jf_status status = answer(c, given, q, out);
    if (status != JF_OK) chain_result_free(out);
    return status;
}

void chain_result_free(chain_result *r) {
    image_array_free(&r->truth);
    image_array_free(&r->input);
    for (int k = 0; k < CHAIN_MOST; k++) {
        image_array_free(&r->made[k]);
        free(r->square_of[k]);
    }
    *r = (chain_result){0};
}
