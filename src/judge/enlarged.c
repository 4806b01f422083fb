/* Noise: a sample carries that of its own model and of every step, each in pixels of the step's size,
 *
 *     N = up..up(s_0 N_0) + ... + up(s_(k-1) N_(k-1)) + s_k N_k,
 *
 * since a step takes the noisy image before it for its condition and adds to it. Held-out images get the
 * same. */
#include "judge/enlarged.h"
#include "base/sized.h"
#include "data/tasks/task.h"
#include "inference/cascade.h"
#include "model/denoise.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    const model *m;
    const cascade *steps;
    dataset *large; /* the data in the size of the last step */
    int inputs;
    image_array real, noised; /* (inputs) held-out ones */
    int *class_of;            /* (inputs) */
    double deviation;         /* of the noise of a pixel */
} trial;

/* ---- held-out images ---- */

/* The data, halved as much less as there are steps. */
static jf_status open_large(trial *t, const jf_judge_options *q) {
    const model *m = t->m;
    recipe *r;
    char down[16];
    int now = recipe_int(m->recipe, "data.down"), left = now - t->steps->steps;
    const task *last = t->steps->t[t->steps->steps - 1];
    if (left < 0)
        return jf_fail(m->ctx, JF_ERROR_SHAPE,
                       "%d models make images of %d x %d larger than those of the data, which were halved %d "
                       "times; expected at most %d",
                       t->steps->steps, last->size.h, last->size.w, now, now);
    snprintf(down, sizeof down, "%d", left);
    JF_TRY(recipe_clone(&r, m->recipe));
    jf_status status = recipe_set(r, "data.down", down);
    if (status == JF_OK) status = recipe_check(r);
    if (status == JF_OK) status = judge_open_data(m, r, &t->large, q);
    recipe_free(r);
    if (status != JF_OK) return status;
    const image_size *size = &t->large->image;
    if (size->h == last->size.h && size->w == last->size.w && size->x_channels == last->image_channels)
        return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_SHAPE,
                   "the models make images of %d x %d (%d channels), those of the data are %d x %d (%d)",
                   last->size.h, last->size.w, last->image_channels, size->h, size->w, size->x_channels);
}

/* The rows that judge_create() has drawn, in their larger size. */
static jf_status choose_inputs(trial *t, const judgement *j, uint64_t seed) {
    const dataset *data = t->large;
    const task *how = data->task;
    row_sequence sequence = judged_rows(data, seed);
    size_t dim = (size_t)dataset_dim(data);
    double *row;
    JF_TRY(image_array_create(t->m->ctx, &t->real, t->inputs, how->size.h, how->size.w, how->image_channels));
    JF_TRY(MEM_NEW(t->m->ctx, &t->class_of, (size_t)t->inputs));
    JF_TRY(MEM_NEW(t->m->ctx, &row, dim + data->scratch));
    for (int i = 0; i < t->inputs; i++) {
        long at = (long)i * j->points / t->inputs;
        dataset_rows(data, &sequence, (uint64_t)at, 1, row + dim, row);
        how->kind->restore(how, row, row + data->dim_x, image_at(&t->real, i));
        t->class_of[i] = j->class_of[at];
    }
    free(row);
    return JF_OK;
}

/* Of one pixel, each `side` pixels large. */
static void add_scale(image_array *images, int side, double deviation, uint64_t seed, int scale) {
    int h = images->h / side, w = images->w / side, channels = images->channels;
    for (int i = 0; i < images->count; i++) {
        rng r = rng_stream((rng_key){seed, RNG_NOISE, RNG_USE_COVERAGE},
                           (uint64_t)i * (JF_CASCADE_MOST + 1) + (uint64_t)scale);
        for (int p = 0; p < h * w * channels; p++) {
            double noise = deviation * rng_normal(&r), *image = image_at(images, i);
            int row = p / channels / w * side, column = p / channels % w * side;
            for (int k = 0; k < side * side; k++)
                image[((row + k / side) * images->w + column + k % side) * channels + p % channels] += noise;
        }
    }
}

static double noise_of(const model *m) {
    return recipe_real(m->recipe, "train.noise") * m->units.deviation[0];
}

static jf_status add_noise(trial *t, uint64_t seed) {
    const cascade *c = t->steps;
    double square = 0;
    JF_TRY(image_array_create(t->m->ctx, &t->noised, t->inputs, t->real.h, t->real.w, t->real.channels));
    memcpy(t->noised.values, t->real.values, (size_t)t->inputs * image_numbers(&t->real) * sizeof(double));
    for (int k = 0; k <= c->steps; k++) { /* the model itself, then each step */
        double deviation = noise_of(k ? c->m[k - 1] : t->m);
        add_scale(&t->noised, 1 << (c->steps - k), deviation, seed, k);
        square += deviation * deviation;
    }
    t->deviation = sqrt(square);
    return JF_OK;
}

/* ---- samples ---- */

static jf_status draw_small(const trial *t, const judgement *j, const jf_judge_options *q, int denoise,
                            image_array *out) {
    const model *m = t->m;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x, dim_y = dim - dim_x;
    double *rows;
    task *how = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &rows, (size_t)t->inputs * dim));
    for (int again = 0; again < 2; again++) { /* y is what was asked for, not what came back */
        for (int i = 0; i < t->inputs; i++)
            memcpy(rows + (size_t)i * dim + dim_x,
                   j->clean + (size_t)((long)i * j->points / t->inputs) * dim + dim_x,
                   dim_y * sizeof(double));
        if (again) break;
        latent_points from = {q->seed, LATENT_COVERAGE, 0, judge_temperature(q)};
        JF_TRY_DONE(model_sample(m, from, DATA_UNITS, t->inputs, rows, NULL));
    }
    if (denoise) JF_TRY_DONE(model_denoise(m, DATA_UNITS, t->inputs, rows));
    JF_TRY_DONE(model_task(m, &how));
    JF_TRY_DONE(restore_images(how, t->inputs, (row_view){rows, dim}, (row_view){rows + dim_x, dim}, out));
done:
    task_free(how);
    free(rows);
    return status;
}

static jf_status draw_large(const trial *t, const judgement *j, const jf_judge_options *q, int denoise,
                            jf_cascade_result *out) {
    image_array small = {0};
    jf_cascade_options options = {.seed = q->seed, .temperature = 1, .denoise = denoise};
    jf_status status = draw_small(t, j, q, denoise, &small);
    if (status == JF_OK) status = cascade_enlarge(t->steps, &small, &options, out, NULL);
    image_array_free(&small);
    return status;
}

/* ---- what they are like ---- */

static void range_of(const image_array *images, double *low, double *high) {
    size_t n = (size_t)images->count * image_numbers(images);
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        *low = fmin(*low, images->values[i]);
        *high = fmax(*high, images->values[i]);
    }
}

static double share_outside(const image_array *images, double low, double high) {
    size_t n = (size_t)images->count * image_numbers(images), outside = 0;
    for (size_t i = 0; i < n; i++) outside += images->values[i] < low || images->values[i] > high;
    return (double)outside / (double)n;
}

static jf_status measure(const trial *t, const image_array *samples, const image_array *others,
                         image_judgement *out) {
    double low, high, margin = NOISE_MARGINS * t->deviation;
    range_of(&t->real, &low, &high);
    range_of(samples, &out->lowest, &out->highest);
    out->inputs = t->inputs;
    out->samples = 1;
    out->enlarged_h = samples->h;
    out->enlarged_w = samples->w;
    out->outside = share_outside(samples, low, high);
    out->far_outside = share_outside(samples, low - margin, high + margin);
    out->far_validation = share_outside(others, low - margin, high + margin);
    if (t->large->is_test && t->large->validation_rows == 0)
        return JF_OK; /* no training images to compare with */
    JF_TRY(quality_of_images(t->m, t->large, t->inputs, samples->values, t->class_of, &out->quality));
    if (t->large->validation_rows == 0) return JF_OK; /* every image to train on is its own neighbour */
    return quality_of_images(t->m, t->large, t->inputs, others->values, t->class_of, &out->held_out);
}

/* The first of each class, in the order in which they were drawn. */
static jf_status keep_sheet(const trial *t, const image_array *samples, judgement *j) {
    int classes = t->m->units.classes;
    JF_TRY(image_array_create(j->ctx, &j->sheet, classes * SHEET_EACH, samples->h, samples->w,
                              samples->channels));
    for (int i = 0; i < t->inputs; i++) {
        int class_index = t->class_of[i], *each = &j->sheet_each[class_index];
        if (*each == SHEET_EACH) continue;
        memcpy(image_at(&j->sheet, class_index * SHEET_EACH + (*each)++), image_at(samples, i),
               image_numbers(samples) * sizeof(double));
    }
    return JF_OK;
}

static jf_status try_out(trial *t, judgement *j, const jf_judge_options *q) {
    jf_status status = JF_OK;
    JF_TRY(open_large(t, q));
    JF_TRY(choose_inputs(t, j, q->seed));
    JF_TRY(add_noise(t, q->seed));
    for (int denoise = 0; denoise <= q->denoise && status == JF_OK; denoise++) {
        jf_cascade_result r = {0};
        status = draw_large(t, j, q, denoise, &r);
        image_array large = images_taken(&r.made[t->steps->steps - 1]);
        if (status == JF_OK)
            status = measure(t, &large, denoise ? &t->real : &t->noised, denoise ? &j->denoised : &j->image);
        if (status == JF_OK && !denoise) status = keep_sheet(t, &large, j);
        cascade_result_free(&r);
    }
    return status;
}

jf_status judge_enlarged(judgement *j, const model *m, const dataset *data, const jf_judge_options *q) {
    trial t = {.m = m, .steps = q->cascade, .inputs = judged_inputs(j, q, CLASS_INPUTS)};
    if (!data->task->kind->by_class || !j->class_of)
        return jf_fail(
            m->ctx, JF_ERROR_UNSUPPORTED,
            "models that make what is drawn larger are for models of images of a class, this one is "
            "of the task \"%s\"",
            data->task->kind->name);
    jf_status status = try_out(&t, j, q);
    dataset_free(t.large);
    image_array_free(&t.real);
    image_array_free(&t.noised);
    free(t.class_of);
    return status;
}
