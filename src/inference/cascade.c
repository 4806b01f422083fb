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
#include "inference/cascade.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "model/denoise.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- models and their order ---- */

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

/* Sorts by size; equal ones stay in the order in which they were given. */
static void sort_steps(cascade *c) {
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

static jf_status order_models(cascade *c, int count, const model *const *models) {
    static const char *const which[JF_CASCADE_MOST] = {"first", "second", "third",   "fourth",
                                                       "fifth", "sixth",  "seventh", "eighth"};
    for (; c->steps < count; c->steps++) {
        c->m[c->steps] = models[c->steps];
        JF_TRY(open_task(models[c->steps], which[c->steps], &c->t[c->steps]));
    }
    sort_steps(c);
    for (int k = 1; k < count; k++)
        if (!feeds(c->t[k - 1], c->t[k])) return fail_order(c->ctx, c->t[k - 1], c->t[k]);
    return JF_OK;
}

jf_status cascade_create(cascade **out, int count, const model *const *models) {
    cascade *c;
    *out = NULL;
    JF_TRY(MEM_NEW(models[0]->ctx, &c, 1));
    c->ctx = context_hold(models[0]->ctx);
    jf_status status = order_models(c, count, models);
    if (status == JF_OK)
        *out = c;
    else
        cascade_free(c);
    return status;
}

void cascade_free(cascade *c) {
    if (!c) return;
    for (int i = 0; i < JF_CASCADE_MOST; i++) {
        task_free(c->t[i]);
        model_free(c->owned[i]);
    }
    jf_context_free(c->ctx);
    free(c);
}

static jf_status check_start(const cascade *c, int h, int w, int channels) {
    const task *first = c->t[0];
    if (h == first->input_h && w == first->input_w && channels == first->input_channels) return JF_OK;
    return jf_fail(c->ctx, JF_ERROR_SHAPE,
                   "the models make images of %d x %d (%d channel%s) larger, expected one that starts from "
                   "%d x %d (%d), which the model before them draws",
                   first->input_h, first->input_w, first->input_channels,
                   first->input_channels == 1 ? "" : "s", h, w, channels);
}

jf_status cascade_check_start(const cascade *c, const model *m) {
    task *own;
    JF_TRY(model_task(m, &own));
    jf_status status = check_start(c, own->size.h, own->size.w, own->image_channels);
    task_free(own);
    return status;
}

/* ---- samples of one step ---- */

/* Each step has a stream of its own: two would begin with the same latent numbers otherwise. */
static latent_stream stream_of(int step) {
    return step == 0 ? LATENT_SAMPLES : (latent_stream)(LATENT_FINE + step - 1);
}

static size_t count_of(const jf_cascade_options *q, int step) {
    return q->counts[step] ? q->counts[step] : 1;
}

static size_t together_of(const jf_cascade_options *q) {
    return q->together ? q->together : 1;
}

/* `count` samples of each condition, one condition after another. */
typedef struct step_samples {
    const model *m;
    const image_conditions *given;
    size_t count, together;
    latent_points from;
    double *rows; /* (given->inputs.count * count, dim) */
} step_samples;

/* The row that sample `at` of all groups' conditions number `member` has. */
static size_t row_of(const step_samples *s, size_t member, size_t at) {
    return (at / s->count * s->together + member) * s->count + at % s->count;
}

/* Draws samples of one condition of each group, of `n` rows in all, which so have the latent points of their
 * groups; adds |y_back - y| of all elements to *error. `part` (n, dim): the rows themselves, where groups are
 * of one condition. */
static jf_status draw_member(const step_samples *s, size_t member, size_t n, double *part, double *error) {
    const model *m = s->m;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    for (size_t i = 0; i < n; i++)
        memcpy(part + i * dim + dim_x, s->given->y + row_of(s, member, i) / s->count * dim_y,
               dim_y * sizeof(double));
    JF_TRY(model_sample(m, s->from, DATA_UNITS, (long)n, part, NULL));
    for (size_t i = 0; i < n; i++) {
        double *back = part + i * dim + dim_x;
        const double *y = s->given->y + row_of(s, member, i) / s->count * dim_y;
        for (size_t e = 0; e < dim_y; e++) *error += fabs(back[e] - y[e]) / m->units.deviation[dim_x + e];
        memcpy(back, y, dim_y * sizeof(double)); /* what was asked for */
        if (part != s->rows)
            memcpy(s->rows + row_of(s, member, i) * dim, part + i * dim, dim * sizeof(double));
    }
    return JF_OK;
}

static jf_status draw_rows(const step_samples *s, size_t n, double *error) {
    double *part = s->rows;
    jf_status status = JF_OK;
    n /= s->together;
    if (s->together > 1) JF_TRY(mem_alloc(s->m->ctx, &part, n, (size_t)s->m->flow->dim * sizeof(double)));
    for (size_t member = 0; member < s->together && status == JF_OK; member++)
        status = draw_member(s, member, n, part, error);
    if (part != s->rows) free(part);
    return status;
}

static jf_status draw_step(const cascade *c, int step, const image_conditions *given,
                           const jf_cascade_options *q, uint64_t first, image_array *out, double *error) {
    const model *m = c->m[step];
    size_t dim = (size_t)m->flow->dim, inputs = (size_t)given->inputs.count, count = count_of(q, step);
    double *rows;
    jf_status status;
    if (count > INT_MAX / inputs)
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT,
                       "%zu images of step %d for each of %zu, expected at most %d in all", count, step + 1,
                       inputs, INT_MAX);
    size_t n = inputs * count;
    JF_TRY(mem_alloc(c->ctx, &rows, n, dim * sizeof(double)));
    step_samples s = {m, given, count, together_of(q), .rows = rows};
    s.from = (latent_points){q->seed, stream_of(step + (q->of_samples ? 1 : 0)), first, q->temperature};
    JF_TRY_DONE(draw_rows(&s, n, error));
    if (q->denoise) JF_TRY_DONE(model_denoise(m, DATA_UNITS, (long)n, rows));
    JF_TRY_DONE(restore_images(c->t[step], (int)n, (row_view){rows, dim},
                               (row_view){rows + m->units.dim_x, dim}, out));
done:
    free(rows);
    return status;
}

/* ---- images of a step against the input ---- */

/* Degrades images of a step down to the input's size. */
static jf_status degrade_to_input(const cascade *c, int step, const image_array *images, image_array *out) {
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

/* square (input->count): images that follow each other stand for one input. */
static jf_status measure_squares(const cascade *c, int step, const image_array *input,
                                 const image_array *made, double *square) {
    image_array again;
    size_t n = image_numbers(input);
    int each = made->count / input->count;
    JF_TRY(degrade_to_input(c, step, made, &again));
    memset(square, 0, (size_t)input->count * sizeof *square);
    for (int i = 0; i < again.count; i++)
        for (size_t e = 0; e < n; e++)
            square[i / each] +=
                pow(image_at(&again, i)[e] - image_at(input, i / each)[e], 2) / (each * (double)n);
    image_array_free(&again);
    return JF_OK;
}

static double mean_of(const double *values, int count) {
    double mean = 0;
    for (int i = 0; i < count; i++) mean += values[i] / count;
    return mean;
}

/* ---- all steps ---- */

/* Makes inputs of the first step of whole images of the last. */
static jf_status reduce(const cascade *c, const image_array *given, image_conditions *first,
                        jf_images *truth) {
    image_conditions now = {0}, next;
    jf_status status;
    for (int k = c->steps - 1; k >= 0; k--) {
        JF_TRY_DONE(image_conditions_create(c->m[k], &next, k == c->steps - 1 ? given : &now.inputs, 1, 0));
        if (k == c->steps - 1) {
            *truth = images_given(&next.whole);
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

/* Takes inputs of the first step, or whole images of the last. */
static jf_status first_conditions(const cascade *c, const image_array *given, image_conditions *first,
                                  jf_images *truth) {
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

static jf_status draw_steps(const cascade *c, const image_array *given, const jf_cascade_options *q,
                            jf_cascade_result *out, double *squares) {
    image_conditions now = {0};
    double elements = 0;
    uint64_t first = q->first;
    jf_status status;
    JF_TRY_DONE(first_conditions(c, given, &now, &out->truth));
    for (int k = 0; k < c->steps; k++) {
        image_array before = k > 0 ? images_taken(&out->made[k - 1]) : (image_array){0}, input, made;
        double *square = squares + (size_t)k * (size_t)given->count;
        if (k > 0) JF_TRY_DONE(image_conditions_create(c->m[k], &now, &before, 0, 0));
        first *= (uint64_t)count_of(q, k);
        JF_TRY_DONE(draw_step(c, k, &now, q, first, &made, &out->y_error));
        out->made[k] = images_given(&made);
        elements += (double)made.count * c->m[k]->units.dim_y;
        if (k == 0) {
            out->input = images_given(&now.inputs);
            now.inputs = (image_array){0};
        }
        image_conditions_free(&now);
        input = images_taken(&out->input);
        JF_TRY_DONE(measure_squares(c, k, &input, &made, square));
        out->psnr[k] = psnr(mean_of(square, given->count), 1);
    }
    out->y_error /= elements;
done:
    image_conditions_free(&now);
    return status;
}

/* Gives no images, in the sizes that some would have. */
static void give_none(const cascade *c, const image_array *given, jf_cascade_result *out) {
    out->input = images_given(&(image_array){.h = given->h, .w = given->w, .channels = given->channels});
    for (int k = 0; k < c->steps; k++) {
        const task *t = c->t[k];
        out->made[k] =
            images_given(&(image_array){.h = t->size.h, .w = t->size.w, .channels = t->image_channels});
        out->psnr[k] = NAN;
    }
    out->y_error = NAN;
}

jf_status cascade_enlarge(const cascade *c, const image_array *given, const jf_cascade_options *q,
                          jf_cascade_result *out, double *squares) {
    double *own = NULL;
    *out = (jf_cascade_result){.steps = (size_t)c->steps};
    if (q->of_samples) JF_TRY(check_start(c, given->h, given->w, given->channels));
    if ((size_t)given->count % together_of(q))
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "%d images in groups of %zu, expected whole groups",
                       given->count, together_of(q));
    if (given->count == 0) {
        give_none(c, given, out);
        return JF_OK;
    }
    if (!squares) JF_TRY(MEM_NEW(c->ctx, &own, (size_t)c->steps * (size_t)given->count));
    jf_status status = draw_steps(c, given, q, out, squares ? squares : own);
    free(own);
    if (status != JF_OK) cascade_result_free(out);
    return status;
}

static void free_images(jf_images *images) {
    free(images->values);
    *images = (jf_images){0};
}

void cascade_result_free(jf_cascade_result *r) {
    free_images(&r->truth);
    free_images(&r->input);
    for (int k = 0; k < JF_CASCADE_MOST; k++) free_images(&r->made[k]);
    r->steps = 0;
}
