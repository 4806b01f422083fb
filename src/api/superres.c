/* Public: super-resolution in two steps.
 *
 * The fine model answers to samples of the coarse one just as they are: up(sample), in the units in which
 * they left, is its condition. Its training conditions were (1 - a) up(image) + a N with the noise N of
 * each pixel on its own; a coarse sample is (1 - a) image + a N, too, but `up` repeats each deviate over
 * 2x2 pixels. So single pixels of the condition are as noisy as in training, their means over 2x2 twice as
 * noisy, and there is no noise within them. We leave it so:
 * - Noise cannot be taken off a sample without a model of images, and clipping it would shift the black
 *   background.
 * - Noise within the 2x2 pixels could be added. It says nothing about the answer, a clean condition of the
 *   coarse model goes without it as well, and the answers are not to depend on more random numbers than
 *   the latent points.
 *
 * A perfect pair then meets its input, degraded again, up to deviates of a/(1 - a) in the mean of 4 coarse
 * and of 16 fine pixels: 38.9 dB for a = 0.02. */
#include "api/image.h"
#include "base/number.h"
#include "base/statistics.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_COUNT = 10 };

/* ---- which is which ---- */

static int feeds(const jf_image_form *coarse, const jf_image_form *fine) {
    return coarse->h == fine->input_h && coarse->w == fine->input_w &&
           coarse->channels == fine->input_channels;
}

static jf_status check_superres(const model *m, const jf_image_form *form, const char *which) {
    if (form->h == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "the %s model (%s) is of vectors, expected one of super-resolution", which,
                       recipe_short_name(m->recipe));
    if (strcmp(form->task, "superres") != 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "the %s model (%s) is of the task \"%s\", expected one of \"superres\"", which,
                       recipe_short_name(m->recipe), form->task);
    return JF_OK;
}

/* Sizes tell the coarse model from the fine one. */
static jf_status order_models(const model *one, const model *other, const model **coarse,
                              const model **fine) {
    jf_image_form a, b;
    JF_TRY(jf_model_image_form(one, &a));
    JF_TRY(jf_model_image_form(other, &b));
    JF_TRY(check_superres(one, &a, "first"));
    JF_TRY(check_superres(other, &b, "second"));
    *coarse = feeds(&a, &b) ? one : other;
    *fine = feeds(&a, &b) ? other : one;
    if (feeds(&a, &b) || feeds(&b, &a)) return JF_OK;
    return jf_fail(
        one->ctx, JF_ERROR_SHAPE,
        "the models do not follow each other: one makes %d x %d of %d x %d (%d channel%s), the other "
        "%d x %d of %d x %d (%d channel%s); expected one to make what the other starts from",
        a.h, a.w, a.input_h, a.input_w, a.channels, a.channels == 1 ? "" : "s", b.h, b.w, b.input_h,
        b.input_w, b.channels, b.channels == 1 ? "" : "s");
}

/* ---- samples ---- */

/* `n` images of each condition, one condition after another; adds |y_back - y| of all elements to *error. */
static jf_status draw_answers(const model *m, const jf_image_conditions *given, int n, latent_points from,
                              jf_images *out, double *error) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    size_t rows = (size_t)given->inputs.count * (size_t)n;
    double *state = NULL, *x = NULL, *y = NULL;
    jf_status status;
    JF_TRY_DONE(mem_alloc(m->ctx, &state, rows, dim * sizeof(double)));
    JF_TRY_DONE(mem_alloc(m->ctx, &x, rows, dim_x * sizeof(double)));
    JF_TRY_DONE(mem_alloc(m->ctx, &y, rows, dim_y * sizeof(double)));
    for (size_t i = 0; i < rows; i++) {
        memcpy(y + i * dim_y, given->y + i / (size_t)n * dim_y, dim_y * sizeof(double));
        memcpy(state + i * dim + dim_x, y + i * dim_y, dim_y * sizeof(double));
    }
    JF_TRY_DONE(model_sample(m, from, DATA_UNITS, (long)rows, state, NULL));
    for (size_t i = 0; i < rows; i++) {
        memcpy(x + i * dim_x, state + i * dim, dim_x * sizeof(double));
        for (size_t e = dim_x; e < dim; e++)
            *error += fabs(state[i * dim + e] - y[i * dim_y + e - dim_x]) / m->units.deviation[e];
    }
    JF_TRY_DONE(jf_restore(m, out, (int)rows, x, y)); /* with the y that was asked for */
done:
    free(state);
    free(x);
    free(y);
    return status;
}

/* Of images against the one that all of them stand for, intensities from 0 to 1. */
static double psnr_of(const jf_images *images, const jf_images *truth) {
    double square = 0;
    size_t n = image_numbers(truth);
    for (int i = 0; i < images->count; i++)
        for (size_t e = 0; e < n; e++) square += pow(image_at(images, i)[e] - truth->values[e], 2);
    return psnr(square, (double)images->count * (double)n);
}

/* down(coarse) and down(down(fine)) against the input */
static jf_status measure_psnr(const model *coarse, const model *fine, jf_superres_result *r) {
    jf_images once = {0}, twice = {0};
    jf_status status;
    JF_TRY_DONE(jf_degrade(coarse, &once, &r->coarse, 0));
    r->coarse_psnr = psnr_of(&once, &r->input);
    jf_images_free(&once);
    JF_TRY_DONE(jf_degrade(fine, &once, &r->fine, 0));
    JF_TRY_DONE(jf_degrade(coarse, &twice, &once, 0));
    r->psnr = psnr_of(&twice, &r->input);
done:
    jf_images_free(&once);
    jf_images_free(&twice);
    return status;
}

/* ---- the two steps ---- */

/* The condition of the coarse model: `given` is its input, or whole in the size of the fine model. */
static jf_status first_condition(const model *coarse, const model *fine, const jf_images *given,
                                 jf_image_conditions *out, jf_images *truth) {
    jf_image_form small, large;
    jf_image_conditions middle = {0};
    jf_status status;
    JF_TRY(jf_model_image_form(coarse, &small));
    JF_TRY(jf_model_image_form(fine, &large));
    if (given->count != 1)
        return jf_fail(coarse->ctx, JF_ERROR_ARGUMENT, "%d images to start from, expected one", given->count);
    if (given->h == small.input_h && given->w == small.input_w)
        return jf_image_conditions_create(coarse, out, given, 0, 0);
    if (given->h != large.h || given->w != large.w)
        return jf_fail(
            coarse->ctx, JF_ERROR_SHAPE,
            "an image of %d x %d, expected an input of %d x %d, or a whole image of %d x %d to degrade",
            given->h, given->w, small.input_h, small.input_w, large.h, large.w);
    JF_TRY_DONE(jf_image_conditions_create(fine, &middle, given, 1, 0));
    JF_TRY_DONE(jf_image_conditions_create(coarse, out, &middle.inputs, 1, 0));
    *truth = middle.whole;
    middle.whole = (jf_images){0};
done:
    jf_image_conditions_free(&middle);
    return status;
}

static jf_status check_counts(const model *m, int coarse, int fine) {
    if (coarse >= 1 && fine >= 1 && (long)coarse * fine <= INT_MAX) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "%d coarse images and %d fine ones of each, expected 1 or more",
                   coarse, fine);
}

jf_status jf_superres(const jf_model *one, const jf_model *other, const jf_images *given,
                      const jf_superres_options *options, jf_superres_result *out) {
    jf_superres_options o = options ? *options : (jf_superres_options){0};
    const model *coarse, *fine;
    jf_image_conditions first = {0}, second = {0};
    jf_status status;
    *out = (jf_superres_result){0};
    if (o.coarse_count == 0) o.coarse_count = DEFAULT_COUNT;
    if (o.fine_count == 0) o.fine_count = DEFAULT_COUNT;
    JF_TRY(check_counts(one, o.coarse_count, o.fine_count));
    JF_TRY(order_models(one, other, &coarse, &fine));
    JF_TRY_DONE(first_condition(coarse, fine, given, &first, &out->truth));
    JF_TRY_DONE(draw_answers(coarse, &first, o.coarse_count, (latent_points){o.seed, LATENT_SAMPLES, 0},
                             &out->coarse, &out->y_error));
    JF_TRY_DONE(jf_image_conditions_create(fine, &second, &out->coarse, 0, 0));
    JF_TRY_DONE(draw_answers(fine, &second, o.fine_count, (latent_points){o.seed, LATENT_FINE, 0}, &out->fine,
                             &out->y_error));
    out->y_error /= (double)o.coarse_count * coarse->units.dim_y +
                    (double)o.coarse_count * o.fine_count * fine->units.dim_y;
    out->input = first.inputs;
    first.inputs = (jf_images){0};
    JF_TRY_DONE(measure_psnr(coarse, fine, out));
done:
    jf_image_conditions_free(&first);
    jf_image_conditions_free(&second);
    if (status != JF_OK) jf_superres_result_free(out);
    return status;
}

void jf_superres_result_free(jf_superres_result *r) {
    jf_images_free(&r->truth);
    jf_images_free(&r->input);
    jf_images_free(&r->coarse);
    jf_images_free(&r->fine);
    *r = (jf_superres_result){0};
}

/* ---- the picture ---- */

static jf_grid_cell cell_of(const jf_images *images, int index) {
    return (jf_grid_cell){
        .values = image_at(images, index), .h = images->h, .w = images->w, .channels = images->channels};
}

/* A row a coarse image, its fine ones after it; truth and input stand before the first. */
static jf_status draw_result(jf_context *ctx, const jf_superres_result *r, const char *title, int full_range,
                             const char *path) {
    int known = r->truth.count > 0, fine = r->fine.count / r->coarse.count, columns = known + 2 + fine;
    jf_grid_cell *cells = NULL;
    const char **labels = NULL;
    char(*words)[24] = NULL; /* (columns) */
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &cells, (size_t)r->coarse.count * (size_t)columns));
    JF_TRY_DONE(MEM_NEW(ctx, &labels, (size_t)columns));
    JF_TRY_DONE(mem_alloc(ctx, &words, (size_t)columns, sizeof *words));
    if (known) cells[0] = cell_of(&r->truth, 0);
    cells[known] = cell_of(&r->input, 0);
    for (int i = 0; i < r->coarse.count; i++) {
        jf_grid_cell *row = cells + (size_t)i * (size_t)columns + known + 1;
        row[0] = cell_of(&r->coarse, i);
        for (int k = 0; k < fine; k++) row[1 + k] = cell_of(&r->fine, i * fine + k);
    }
    for (int c = 0; c < columns; c++) {
        const jf_images *of = c < known + 1 ? &r->input : c == known + 1 ? &r->coarse : &r->fine;
        if (c < known)
            number_print(words[c], sizeof *words, "truth");
        else if (c <= known + 2)
            number_print(words[c], sizeof *words, "%d x %d", of->h, of->w);
        labels[c] = words[c];
    }
    JF_TRY_DONE(jf_grid_draw(ctx,
                             &(jf_grid){.rows = r->coarse.count,
                                        .columns = columns,
                                        .cells = cells,
                                        .column_labels = labels,
                                        .title = title,
                                        .full_range = full_range},
                             path));
done:
    free(cells);
    free(labels);
    free(words);
    return status;
}

jf_status jf_superres_write(jf_context *ctx, const jf_superres_result *r, const char *title, int full_range,
                            const char *path) {
    if (r->coarse.count < 1 || r->fine.count % r->coarse.count != 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%d fine images of %d coarse ones, expected as many of each",
                       r->fine.count, r->coarse.count);
    if (strcmp(file_extension(path), ".npy") == 0)
        return jf_images_write(ctx, &r->fine, r->fine.count / r->coarse.count, path);
    return draw_result(ctx, r, title, full_range, path);
}
