/* What only image models are asked: do reconstructions fit their input, how far do the samples spread, how
 * often is the truth among them, do they leave the range of the data, and are those of a class like real ones
 * (quality.c)? */
#include "base/statistics.h"
#include "data/tasks/task.h"
#include "judge/enlarged.h"
#include "model/denoise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES COVERAGE_SAMPLES

/* Held-out rows and answers to each. */
typedef struct trial {
    const model *m;
    const task *t;
    int inputs, each;
    size_t dim, dim_x, dim_y, pixels; /* pixels: numbers of a restored image */
    double alpha;                     /* deviation of the noise, the model's units */
    double noise;                     /* of the truth that samples are compared with: as they have it */
    double *rows;                     /* (inputs, dim) clean, the data's units */
    double *noised;                   /* (inputs, dim) the same with that noise on x */
    double *samples;                  /* (inputs, each, dim) */
    int *class_of;                    /* (inputs): of class models; NULL: none */
} trial;

static const double *sample_at(const trial *t, int input, int k) {
    return t->samples + ((size_t)input * (size_t)t->each + (size_t)k) * t->dim;
}

static jf_status draw_samples(trial *t, const jf_judge_options *q) {
    const model *m = t->m;
    long n = (long)t->inputs * t->each;
    JF_TRY(MEM_NEW(m->ctx, &t->samples, (size_t)n * t->dim));
    for (long i = 0; i < n; i++)
        memcpy(t->samples + (size_t)i * t->dim, t->rows + (size_t)(i / t->each) * t->dim,
               t->dim * sizeof(double));
    latent_points from = {q->seed, LATENT_COVERAGE, 0, judge_temperature(q)};
    JF_TRY(model_sample(m, from, DATA_UNITS, n, t->samples, NULL));
    for (long i = 0; i < n; i++) /* what was asked for, not what came back: they differ by y_error */
        memcpy(t->samples + (size_t)i * t->dim + t->dim_x,
               t->rows + (size_t)(i / t->each) * t->dim + t->dim_x, t->dim_y * sizeof(double));
    return JF_OK;
}

static void restore(const trial *t, const double *row, double *image) {
    t->t->kind->restore(t->t, row, row + t->dim_x, image);
}

void coverage_add(coverage *c, double samples[COVERAGE_SAMPLES], double truth) {
    const int n = COVERAGE_SAMPLES;
    double sum = 0, square = 0;
    for (int k = 0; k < n; k++) sum += samples[k];
    for (int k = 0; k < n; k++) square += pow(samples[k] - sum / n, 2);
    sort_ascending(samples, (size_t)n);
    c->spread += sqrt(square / (n - 1));
    c->half += truth > samples[COVERAGE_HALF - 1] && truth < samples[n - COVERAGE_HALF];
    c->ninety += truth > samples[COVERAGE_NINETY - 1] && truth < samples[n - COVERAGE_NINETY];
    c->elements++;
}

static void add_noise(const trial *t, uint64_t seed) {
    const model_units *u = &t->m->units;
    memcpy(t->noised, t->rows, (size_t)t->inputs * t->dim * sizeof(double));
    for (int i = 0; i < t->inputs; i++) {
        rng r = rng_stream((rng_key){seed, RNG_NOISE, RNG_USE_COVERAGE}, (uint64_t)i);
        for (size_t e = 0; e < t->dim_x; e++)
            t->noised[(size_t)i * t->dim + e] += u->deviation[e] * t->noise * rng_normal(&r);
    }
}

/* Of each element of x; its true value is noised as the samples are. */
static void count_coverage(const trial *t, image_judgement *out) {
    double values[SAMPLES];
    coverage c = {0};
    for (int i = 0; i < t->inputs; i++)
        for (size_t e = 0; e < t->dim_x; e++) {
            for (int k = 0; k < SAMPLES; k++) values[k] = sample_at(t, i, k)[e];
            coverage_add(&c, values, t->noised[(size_t)i * t->dim + e]);
        }
    out->spread = c.spread / c.elements;
    out->coverage_50 = c.half / c.elements;
    out->coverage_90 = c.ninety / c.elements;
}

/* ---- range ---- */

typedef struct range {
    double low, high;
} range;

static range range_of(const trial *t, const double *rows, int n, double *image) {
    range r = {INFINITY, -INFINITY};
    for (int i = 0; i < n; i++) {
        restore(t, rows + (size_t)i * t->dim, image);
        for (size_t e = 0; e < t->pixels; e++) {
            r.low = fmin(r.low, image[e]);
            r.high = fmax(r.high, image[e]);
        }
    }
    return r;
}

/* Share of the pixels of rows that are further out than `margin`. */
static double share_outside(const trial *t, const double *rows, int n, range r, double margin,
                            double *image) {
    double outside = 0;
    for (int i = 0; i < n; i++) {
        restore(t, rows + (size_t)i * t->dim, image);
        for (size_t e = 0; e < t->pixels; e++)
            outside += image[e] < r.low - margin || image[e] > r.high + margin;
    }
    return outside / ((double)n * (double)t->pixels);
}

/* Samples beyond what images of the data have. Noise takes some of the real ones out of it, too. */
static void count_range(const trial *t, double *image, image_judgement *out) {
    int samples = t->inputs * t->each;
    range all = range_of(t, t->rows, t->inputs, image), found = range_of(t, t->samples, samples, image);
    double margin = NOISE_MARGINS * t->alpha * t->m->units.deviation[0];
    out->lowest = found.low;
    out->highest = found.high;
    out->outside = share_outside(t, t->samples, samples, all, 0, image);
    out->far_outside = share_outside(t, t->samples, samples, all, margin, image);
    out->far_validation = share_outside(t, t->noised, t->inputs, all, margin, image);
}

/* ---- images of a class ---- */

/* Samples, and held-out images with the noise that samples have: what a perfect model would reach. Without
 * images held out there is nothing to compare with, since every image to train on is its own neighbour. */
static jf_status measure_quality(const trial *t, const dataset *data, image_judgement *out) {
    const double *const rows[] = {t->samples, t->noised};
    image_quality *const results[] = {&out->quality, &out->held_out};
    double *images;
    JF_TRY(MEM_NEW(t->m->ctx, &images, (size_t)t->inputs * t->pixels));
    jf_status status = JF_OK;
    for (int k = 0; k < (data->validation_rows > 0 ? 2 : 1) && status == JF_OK; k++) {
        for (int i = 0; i < t->inputs; i++)
            restore(t, rows[k] + (size_t)i * t->dim, images + (size_t)i * t->pixels);
        status = quality_of_images(t->m, data, t->inputs, images, t->class_of, results[k]);
    }
    free(images);
    return status;
}

/* ---- PSNR ---- */

/* PSNR of degraded reconstructions against the degraded truth, which is their input; intensities from 0 to 1.
 */
static jf_status measure_psnr(const trial *t, double *image, image_judgement *out) {
    const task *how = t->t;
    size_t count = (size_t)how->input_h * (size_t)how->input_w * (size_t)how->input_channels;
    double *input, *again = NULL, square = 0;
    jf_status status;
    JF_TRY(MEM_NEW(t->m->ctx, &input, count));
    JF_TRY_DONE(MEM_NEW(t->m->ctx, &again, count));
    for (int i = 0; i < t->inputs; i++) {
        restore(t, t->rows + (size_t)i * t->dim, image);
        how->kind->degrade(how, image, NULL, input);
        for (int k = 0; k < SAMPLES; k++) {
            restore(t, sample_at(t, i, k), image);
            how->kind->degrade(how, image, NULL, again);
            for (size_t e = 0; e < count; e++) square += (again[e] - input[e]) * (again[e] - input[e]);
        }
    }
    out->psnr = psnr(square, (double)t->inputs * SAMPLES * (double)count);
done:
    free(input);
    free(again);
    return status;
}

/* Rows spread over those that are judged, which may be sorted by class. */
static void choose_inputs(const trial *t, const judgement *j) {
    for (int i = 0; i < t->inputs; i++) {
        long row = (long)i * j->points / t->inputs;
        memcpy(t->rows + (size_t)i * t->dim, j->clean + (size_t)row * t->dim, t->dim * sizeof(double));
        if (t->class_of) t->class_of[i] = j->class_of[row];
    }
}

static jf_status measure(const trial *t, const dataset *data, uint64_t seed, double *image,
                         image_judgement *out) {
    int by_class = t->t->kind->by_class;
    out->inputs = t->inputs;
    out->samples = t->each;
    add_noise(t, seed);
    count_range(t, image, out);
    if (by_class && (!data->is_test || data->validation_rows > 0))
        JF_TRY(measure_quality(t, data, out)); /* needs training images */
    if (!by_class) count_coverage(t, out);
    return t->t->kind->degrade && !t->t->kind->random ? measure_psnr(t, image, out) : JF_OK;
}

/* The same samples without the noise of training, beside the truth without. */
static jf_status measure_denoised(trial *t, const dataset *data, uint64_t seed, double *image,
                                  image_judgement *out) {
    JF_TRY(model_denoise(t->m, DATA_UNITS, (long)t->inputs * t->each, t->samples));
    t->noise = 0;
    return measure(t, data, seed, image, out);
}

int judged_inputs(const judgement *j, const jf_judge_options *q, int most) {
    size_t inputs = q->inputs > 0 ? q->inputs : (size_t)most;
    return inputs > (size_t)j->points ? (int)j->points : (int)inputs;
}

jf_status judge_image(judgement *j, const model *m, const dataset *data, const jf_judge_options *q) {
    trial t = {.m = m, .t = data->task, .dim = (size_t)m->flow->dim, .dim_x = (size_t)m->units.dim_x};
    int by_class = t.t->kind->by_class, most = by_class ? CLASS_INPUTS : IMAGE_INPUTS;
    double *image = NULL;
    jf_status status;
    if (q->cascade) {
        JF_TRY(judge_enlarged(j, m, data, q));
        return data->is_test ? JF_OK : gaussian_floor(m, data, &j->image.floor);
    }
    t.dim_y = t.dim - t.dim_x;
    t.alpha = t.noise = recipe_real(m->recipe, "train.noise");
    t.pixels = (size_t)(t.t->size.h * t.t->size.w * t.t->image_channels);
    t.each = by_class ? 1 : SAMPLES;
    t.inputs = judged_inputs(j, q, most);
    JF_TRY_DONE(MEM_NEW(m->ctx, &t.rows, (size_t)t.inputs * t.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &t.noised, (size_t)t.inputs * t.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &image, t.pixels));
    if (j->class_of) JF_TRY_DONE(MEM_NEW(m->ctx, &t.class_of, (size_t)t.inputs));
    choose_inputs(&t, j);
    JF_TRY_DONE(draw_samples(&t, q));
    JF_TRY_DONE(measure(&t, data, q->seed, image, &j->image));
    if (!data->is_test) JF_TRY_DONE(gaussian_floor(m, data, &j->image.floor)); /* fitted to data trained on */
    if (q->denoise) JF_TRY_DONE(measure_denoised(&t, data, q->seed, image, &j->denoised));
done:
    free(t.rows);
    free(t.noised);
    free(t.samples);
    free(t.class_of);
    free(image);
    return status;
}
