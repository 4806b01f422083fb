/* Figure A.3: generated digits, 0 and 1. As in the paper each image is scaled to its own least and greatest
 * pixel: where the model has made a pixel far too bright or too dark, the rest of that image looks pale or
 * grey. */
#include "figure/figure.h"
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 25, OWN_RANGE = 2 };
#define NOISE_MARGINS 3 /* deviations of the noise of training, as judgements have it */

/* The noise of training is told in deviations of the data. Every model that makes images larger adds its own.
 */
static double noise_of(const model *m) {
    return recipe_real(m->recipe, "train.noise") * m->units.deviation[0];
}
static double margin_of(const model *m, const jf_cascade *cascade) {
    double square = pow(noise_of(m), 2);
    const model *step;
    for (size_t i = 0; (step = jf_cascade_model(cascade, i)); i++) square += pow(noise_of(step), 2);
    return NOISE_MARGINS * sqrt(square);
}

/* Share of the pixels of an image outside of 0 .. 1 by more than the margin, its least and its greatest. */
static void add_line(text *table, const char *class_name, int sample, const double *values, size_t size,
                     double margin) {
    double low = INFINITY, high = -INFINITY, beyond = 0;
    for (size_t i = 0; i < size; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
        beyond += values[i] < -margin || values[i] > 1 + margin;
    }
    text_add(table, "%s,%d,%.4f,%.4f,%.5f\n", class_name, sample + 1, low, high, beyond / (double)size);
}

static jf_status write_ranges(const figure_job *job, const model *m, const jf_images *images, double margin) {
    text table = {0};
    size_t size = (size_t)images->h * (size_t)images->w * (size_t)images->channels;
    text_add(&table, "class,sample,least,greatest,share_beyond_noise\n");
    for (size_t i = 0; i < images->count; i++)
        add_line(&table, m->units.class_name[i / SAMPLES], (int)(i % SAMPLES), images->values + i * size,
                 size, margin);
    jf_status status = figure_write(job, "figure-A3.csv", &table);
    text_free(&table);
    return status;
}

static jf_status make(const figure_job *job) {
    model *m = NULL;
    jf_cascade *cascade = NULL;
    jf_images images = {0};
    double *x = NULL, *y = NULL;
    char *path = NULL;
    jf_status status;
    JF_TRY_DONE(figure_model(job, 0, &figure_mnist_class, &m));
    JF_TRY_DONE(figure_cascade(job, m, &cascade));
    size_t n = (size_t)(SAMPLES * m->units.classes), dim_y = (size_t)m->units.dim_y;
    JF_TRY_DONE(MEM_NEW(job->ctx, &x, n * (size_t)m->units.dim_x));
    JF_TRY_DONE(MEM_NEW(job->ctx, &y, n * dim_y));
    for (size_t i = 0; i < n; i++) units_fill_y(&m->units, m->units.label[i / SAMPLES], y + i * dim_y);
    JF_TRY_DONE(
        jf_sample(m, (int)n, y, x, NULL, NULL, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1}));
    JF_TRY_DONE(figure_path(job, &path, "figure-A3.png"));
    JF_TRY_DONE(figure_images(m, cascade, n, x, y, 1, &images));
    JF_TRY_DONE(jf_draw_images_of(m, &images, y, OWN_RANGE, path));
    JF_TRY_DONE(write_ranges(job, m, &images, margin_of(m, cascade)));
done:
    jf_cascade_free(cascade);
    jf_images_free(&images);
    free(x);
    free(y);
    free(path);
    model_free(m);
    return status;
}

const figure_kind figure_a3 = {
    .name = "A.3", .summary = "digits by class, each image with a range of its own", .make = make};
