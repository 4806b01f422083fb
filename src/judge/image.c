/* What only image models are asked: do reconstructions fit their input, how far do the samples spread, how often is the
 * truth among them, and do they leave the range of the data? */
#include "base/statistics.h"
#include "data/tasks/task.h"
#include "judge/judge.h"
#include "model/denoise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES COVERAGE_SAMPLES
#define NOISE_MARGINS                                                                                        \
    3 /* out of range by more than so many deviations of the noise: more than noise explains */

/* Held-out rows and SAMPLES answers to each. */
typedef struct trial {
    const model *m;
    const task *t;
    int inputs;
    size_t dim, dim_x, dim_y, pixels; /* pixels: numbers of a restored image */
    double alpha;                     /* deviation of the noise, the model's units */
    double noise;                     /* of the truth that samples are compared with: as they have it */
    double *rows;                     /* (inputs, dim) clean, the data's units */
    double *samples;                  /* (inputs, SAMPLES, dim) */
} trial;

static const double *sample_at(const trial *t, int input, int k) {
    return t->samples + ((size_t)input * SAMPLES + (size_t)k) * t->dim;
}

static jf_status draw_samples(trial *t, uint64_t seed) {
    const model *m = t->m;
    long n = (long)t->inputs * SAMPLES;
    JF_TRY(MEM_NEW(m->ctx, &t->samples, (size_t)n * t->dim));
    for (long i = 0; i < n; i++)
        memcpy(t->samples + (size_t)i * t->dim, t->rows + (size_t)(i / SAMPLES) * t->dim,
               t->dim * sizeof(double));
    JF_TRY(model_sample(m, (latent_points){seed, LATENT_COVERAGE, 0}, DATA_UNITS, n, t->samples, NULL));
    for (long i = 0; i < n; i++) /* what was asked for, not what came back: they differ by y_error */
        memcpy(t->samples + (size_t)i * t->dim + t->dim_x,
               t->rows + (size_t)(i / SAMPLES) * t->dim + t->dim_x, t->dim_y * sizeof(double));
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

/* Of each element of x; its true value is noised as the samples are. */
static void count_coverage(const trial *t, uint64_t seed, image_judgement *out) {
    double values[SAMPLES];
    coverage c = {0};
    const model_units *u = &t->m->units;
    for (int i = 0; i < t->inputs; i++) {
        rng r = rng_stream((rng_key){seed, RNG_NOISE, RNG_USE_COVERAGE}, (uint64_t)i);
        for (size_t e = 0; e < t->dim_x; e++) {
            double truth = t->rows[(size_t)i * t->dim + e] + u->deviation[e] * t->noise * rng_normal(&r);
            for (int k = 0; k < SAMPLES; k++) values[k] = sample_at(t, i, k)[e];
            coverage_add(&c, values, truth);
        }
    }
    out->spread = c.spread / c.elements;
    out->coverage_50 = c.half / c.elements;
    out->coverage_90 = c.ninety / c.elements;
}

/* Samples beyond what images of the data have. */
static void count_range(const trial *t, double *image, image_judgement *out) {
    double low = INFINITY, high = -INFINITY, outside = 0, beyond = 0;
    for (int i = 0; i < t->inputs; i++) {
        restore(t, t->rows + (size_t)i * t->dim, image);
        for (size_t e = 0; e < t->pixels; e++) {
            low = fmin(low, image[e]);
            high = fmax(high, image[e]);
        }
    }
    double margin = NOISE_MARGINS * t->alpha * t->m->units.deviation[0];
    out->lowest = INFINITY;
    out->highest = -INFINITY;
    for (int i = 0; i < t->inputs * SAMPLES; i++) {
        restore(t, sample_at(t, 0, i), image);
        for (size_t e = 0; e < t->pixels; e++) {
            outside += image[e] < low || image[e] > high;
            beyond += image[e] < low - margin || image[e] > high + margin;
            out->lowest = fmin(out->lowest, image[e]);
            out->highest = fmax(out->highest, image[e]);
        }
    }
    double count = (double)t->inputs * SAMPLES * (double)t->pixels;
    out->outside = outside / count;
    out->far_outside = beyond / count;
}

/* PSNR of degraded reconstructions against the degraded truth, which is their input; intensities from 0 to 1. */
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

static jf_status measure(const trial *t, uint64_t seed, double *image, image_judgement *out) {
    out->inputs = t->inputs;
    out->samples = SAMPLES;
    count_range(t, image, out);
    if (!t->t->kind->by_class) count_coverage(t, seed, out);
    return t->t->kind->degrade && !t->t->kind->random ? measure_psnr(t, image, out) : JF_OK;
}

/* The same samples without the noise of training, beside the truth without. */
static jf_status measure_denoised(trial *t, uint64_t seed, double *image, image_judgement *out) {
    JF_TRY(model_denoise(t->m, DATA_UNITS, (long)t->inputs * SAMPLES, t->samples));
    t->noise = 0;
    return measure(t, seed, image, out);
}

jf_status judge_image(judgement *j, const model *m, const dataset *data, const judge_request *q) {
    trial t = {.m = m, .t = data->task, .dim = (size_t)m->flow->dim, .dim_x = (size_t)m->units.dim_x};
    double *image = NULL;
    jf_status status;
    int inputs = q->inputs > 0 ? q->inputs : IMAGE_INPUTS;
    t.dim_y = t.dim - t.dim_x;
    t.alpha = t.noise = recipe_real(m->recipe, "train.noise");
    t.pixels = (size_t)(t.t->size.h * t.t->size.w * t.t->image_channels);
    t.inputs = j->points < inputs ? (int)j->points : inputs;
    JF_TRY_DONE(MEM_NEW(m->ctx, &t.rows, (size_t)t.inputs * t.dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &image, t.pixels));
    for (int i = 0; i < t.inputs; i++) { /* spread over the judged rows, which may be sorted by class */
        long row = (long)i * j->points / t.inputs;
        memcpy(t.rows + (size_t)i * t.dim, j->clean + (size_t)row * t.dim, t.dim * sizeof(double));
    }
    JF_TRY_DONE(draw_samples(&t, q->seed));
    JF_TRY_DONE(measure(&t, q->seed, image, &j->image));
    JF_TRY_DONE(gaussian_floor(m, data, &j->image.floor));
    if (q->denoise) JF_TRY_DONE(measure_denoised(&t, q->seed, image, &j->denoised));
done:
    free(t.rows);
    free(t.samples);
    free(image);
    return status;
}
