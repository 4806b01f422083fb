/* Public: images, and what a model's task makes of them. */
#include "api/image.h"
#include "base/number.h"
#include "io/npy.h"
#include "io/png.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE     4096
#define MAX_CHANNELS 4 /* a longer last axis of an array is the width of images in grey */

/* ---- the task of a model ---- */

jf_status model_task(const model *m, task **out) {
    if (m->units.image.h == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "this is a model of vectors (x of %d number%s), expected one of images",
                       m->units.dim_x, m->units.dim_x == 1 ? "" : "s");
    return task_of_size(m->ctx, out, m->recipe, m->units.image);
}

jf_status jf_model_image_form(const jf_model *m, jf_image_form *out) {
    task *t;
    *out = (jf_image_form){.task = ""};
    if (m->units.image.h == 0) return JF_OK;
    JF_TRY(model_task(m, &t));
    *out = (jf_image_form){.task = t->kind->name,
                           .h = t->size.h,
                           .w = t->size.w,
                           .x_channels = t->size.x_channels,
                           .y_channels = t->size.y_channels,
                           .channels = t->image_channels,
                           .random = t->kind->random};
    if (t->kind->condition) {
        out->input_h = t->input_h;
        out->input_w = t->input_w;
        out->input_channels = t->input_channels;
    }
    task_free(t);
    return JF_OK;
}

void class_words(const model *m, double y, char *out, size_t size) {
    number_print(out, size, "y = %.4g", y);
    for (int c = 0; c < m->units.classes; c++)
        if (fabs(m->units.label[c] - y) < 1e-9 && m->units.class_name[c][0])
            number_print(out, size, "%s", m->units.class_name[c]);
}

/* ---- images ---- */

size_t image_numbers(const jf_images *images) {
    return (size_t)images->h * (size_t)images->w * (size_t)images->channels;
}

double *image_at(const jf_images *images, int index) {
    return images->values + (size_t)index * image_numbers(images);
}

jf_status images_create(jf_context *ctx, jf_images *out, int count, int h, int w, int channels) {
    jf_images made = {.count = count, .h = h, .w = w, .channels = channels};
    *out = (jf_images){0};
    JF_TRY(mem_alloc(ctx, &made.values, (size_t)count + 1, image_numbers(&made) * sizeof(double)));
    *out = made;
    return JF_OK;
}

void jf_images_free(jf_images *images) {
    free(images->values);
    *images = (jf_images){0};
}

static jf_status read_png(jf_context *ctx, jf_images *out, const char *path) {
    pixels p;
    JF_TRY(pixels_read(ctx, &p, path, MAX_SIDE));
    jf_status status = images_create(ctx, out, 1, p.h, p.w, p.channels);
    for (size_t i = 0; status == JF_OK && i < image_numbers(out); i++) out->values[i] = p.bytes[i] / 255.0;
    pixels_free(&p);
    return status;
}

/* Takes the axes apart: (..., h, w) or (..., h, w, channels). */
static jf_status stack_form(jf_context *ctx, const npy_stack *stack, const char *path, jf_images *form) {
    int channels_last = stack->rank >= 3 && stack->shape[stack->rank - 1] <= MAX_CHANNELS;
    int first = stack->rank - 2 - channels_last; /* the axis of h */
    if (first < 0)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: %d dimension%s, expected 2 or more: (..., h, w[, channels])",
                       path, stack->rank, stack->rank == 1 ? "" : "s");
    size_t count = 1, h = stack->shape[first], w = stack->shape[first + 1];
    for (int i = 0; i < first; i++)
        count *= stack->shape[i]; /* the file holds as many numbers: no overflow */
    if (count < 1 || count > INT_MAX || h < 1 || h > MAX_SIDE || w < 1 || w > MAX_SIDE)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "%s: %zu images of %zu x %zu, expected 1 to %d of at most %d x %d", path, count, h, w,
                       INT_MAX, MAX_SIDE, MAX_SIDE);
    *form = (jf_images){.count = (int)count, .h = (int)h, .w = (int)w};
    form->channels = channels_last ? (int)stack->shape[stack->rank - 1] : 1;
    if (form->channels < 1)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: images of no channel, expected 1 or more", path);
    return JF_OK;
}

static jf_status read_npy(jf_context *ctx, jf_images *out, const char *path) {
    npy_stack stack;
    jf_images form = {0};
    JF_TRY(npy_read_stack(ctx, &stack, path));
    jf_status status = stack_form(ctx, &stack, path, &form);
    if (status == JF_OK) status = images_create(ctx, out, form.count, form.h, form.w, form.channels);
    size_t n = status == JF_OK ? (size_t)out->count * image_numbers(out) : 0;
    for (size_t i = 0; status == JF_OK && i < n; i++) {
        out->values[i] = stack.bytes ? stack.bytes[i] / 255.0 : stack.reals[i];
        if (!isfinite(out->values[i]))
            status = jf_fail(ctx, JF_ERROR_DATA, "%s: number %zu is %g, expected a finite one", path, i + 1,
                             out->values[i]);
    }
    if (status != JF_OK) jf_images_free(out);
    npy_stack_free(&stack);
    return status;
}

jf_status jf_images_read(jf_context *ctx, jf_images *out, const char *path) {
    const char *ending = file_extension(path);
    *out = (jf_images){0};
    if (strcmp(ending, ".png") == 0) return read_png(ctx, out, path);
    if (strcmp(ending, ".npy") == 0) return read_npy(ctx, out, path);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: an image ends in .png or .npy", path);
}

jf_status jf_images_write(jf_context *ctx, const jf_images *images, int columns, const char *path) {
    if (strcmp(file_extension(path), ".npy") != 0)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a stack of images ends in .npy", path);
    if (columns > 0 && images->count % columns != 0)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%d images do not fill rows of %d", images->count, columns);
    size_t sizes[5];
    int rank = 0;
    sizes[rank++] = (size_t)(columns > 0 ? images->count / columns : images->count);
    if (columns > 0) sizes[rank++] = (size_t)columns;
    sizes[rank++] = (size_t)images->h;
    sizes[rank++] = (size_t)images->w;
    if (images->channels > 1) sizes[rank++] = (size_t)images->channels;
    return npy_write(ctx, path, images->values, rank, sizes, 1);
}

/* ---- rows and images ---- */

jf_status jf_restore(const jf_model *m, jf_images *out, int n, const double *x, const double *y) {
    task *t;
    *out = (jf_images){0};
    JF_TRY(check_rows(m, n, x, y));
    JF_TRY(model_task(m, &t));
    jf_status status = images_create(m->ctx, out, n, t->size.h, t->size.w, t->image_channels);
    for (int i = 0; status == JF_OK && i < n; i++)
        t->kind->restore(t, x + (size_t)i * (size_t)m->units.dim_x,
                         y ? y + (size_t)i * (size_t)m->units.dim_y : NULL, image_at(out, i));
    task_free(t);
    return status;
}

/* Whether images of a PNG file can stand for those of so many channels: grey ones for coloured ones, and
 * coloured ones that are grey all over for grey ones. */
static int channels_fit(const jf_images *images, int channels) {
    if (images->channels == channels || images->channels == 1) return 1;
    if (channels != 1) return 0;
    size_t points = (size_t)images->count * (size_t)images->h * (size_t)images->w;
    for (size_t i = 0; i < points; i++)
        for (int c = 1; c < images->channels; c++)
            if (images->values[i * (size_t)images->channels + (size_t)c] !=
                images->values[i * (size_t)images->channels])
                return 0;
    return 1;
}

static jf_status copy_with_channels(jf_context *ctx, jf_images *out, const jf_images *images, int channels) {
    JF_TRY(images_create(ctx, out, images->count, images->h, images->w, channels));
    size_t points = (size_t)images->count * (size_t)images->h * (size_t)images->w;
    for (size_t i = 0; i < points; i++)
        for (int c = 0; c < channels; c++)
            out->values[i * (size_t)channels + (size_t)c] =
                images->values[i * (size_t)images->channels + (size_t)(images->channels == channels ? c : 0)];
    return JF_OK;
}

static jf_status degrade_all(const task *t, jf_images *inputs, const jf_images *whole, uint64_t seed) {
    JF_TRY(images_create(t->ctx, inputs, whole->count, t->input_h, t->input_w, t->input_channels));
    for (int i = 0; i < whole->count; i++) {
        rng stream = rng_stream((rng_key){seed, RNG_ROW, RNG_USE_GIVEN}, (uint64_t)i);
        t->kind->degrade(t, image_at(whole, i), &stream, image_at(inputs, i));
    }
    return JF_OK;
}

/* The task of a model whose condition is made of images. */
static jf_status task_with_inputs(const model *m, task **out) {
    JF_TRY(model_task(m, out));
    if ((*out)->kind->condition && (*out)->kind->degrade) return JF_OK;
    jf_status status =
        jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                "the condition of this model is not an image: its task is \"%s\"", (*out)->kind->name);
    task_free(*out);
    *out = NULL;
    return status;
}

jf_status jf_degrade(const jf_model *m, jf_images *inputs, const jf_images *whole, uint64_t seed) {
    task *t;
    *inputs = (jf_images){0};
    JF_TRY(task_with_inputs(m, &t));
    jf_status status = JF_OK;
    if (whole->h != t->size.h || whole->w != t->size.w || whole->channels != t->image_channels)
        status = jf_fail(m->ctx, JF_ERROR_SHAPE,
                         "images of %d x %d and %d channel(s) to degrade, expected %d x %d and %d", whole->h,
                         whole->w, whole->channels, t->size.h, t->size.w, t->image_channels);
    if (status == JF_OK) status = degrade_all(t, inputs, whole, seed);
    task_free(t);
    return status;
}

void jf_image_conditions_free(jf_image_conditions *c) {
    free(c->y);
    jf_images_free(&c->inputs);
    jf_images_free(&c->whole);
    *c = (jf_image_conditions){0};
}

static jf_status refuse_images(const task *t, const jf_images *given, int degrade) {
    if (degrade)
        return jf_fail(t->ctx, JF_ERROR_SHAPE,
                       "an image of %d x %d and %d channel(s), expected one to degrade of %d x %d and %d",
                       given->h, given->w, given->channels, t->size.h, t->size.w, t->image_channels);
    return jf_fail(
        t->ctx, JF_ERROR_SHAPE,
        "an image of %d x %d and %d channel(s), expected an input of %d x %d and %d, or a whole image of "
        "%d x %d and %d, which is then degraded",
        given->h, given->w, given->channels, t->input_h, t->input_w, t->input_channels, t->size.h, t->size.w,
        t->image_channels);
}

/* Size and channels tell a whole image from a degraded one; channels alone only if they fit as they are. */
static jf_status choose_role(const task *t, const jf_images *given, int degrade, int *is_whole) {
    int whole_size = given->h == t->size.h && given->w == t->size.w;
    int input_size = given->h == t->input_h && given->w == t->input_w;
    int whole = whole_size && channels_fit(given, t->image_channels);
    int input = !degrade && input_size && channels_fit(given, t->input_channels);
    if (whole && input && t->image_channels != t->input_channels) {
        whole = given->channels == t->image_channels;
        input = !whole;
    }
    *is_whole = whole && !input;
    return whole || input ? JF_OK : refuse_images(t, given, degrade);
}

jf_status jf_image_conditions_create(const jf_model *m, jf_image_conditions *out, const jf_images *given,
                                     int degrade, uint64_t seed) {
    task *t;
    int is_whole;
    jf_status status;
    *out = (jf_image_conditions){0};
    JF_TRY(task_with_inputs(m, &t));
    JF_TRY_DONE(choose_role(t, given, degrade, &is_whole));
    if (is_whole) {
        JF_TRY_DONE(copy_with_channels(m->ctx, &out->whole, given, t->image_channels));
        JF_TRY_DONE(degrade_all(t, &out->inputs, &out->whole, seed));
    } else {
        JF_TRY_DONE(copy_with_channels(m->ctx, &out->inputs, given, t->input_channels));
    }
    JF_TRY_DONE(
        mem_alloc(m->ctx, &out->y, (size_t)given->count + 1, (size_t)m->units.dim_y * sizeof(double)));
    for (int i = 0; i < given->count; i++)
        t->kind->condition(t, image_at(&out->inputs, i), out->y + (size_t)i * (size_t)m->units.dim_y);
done:
    task_free(t);
    if (status != JF_OK) jf_image_conditions_free(out);
    return status;
}

/* ---- images of a model's data ---- */

/* Rows to train on come first, then those held out; `fetch` counts through both. */
static jf_status fetch_image(const model *m, const dataset *data, jf_images *out, long row, int of_training) {
    const char *which = of_training ? "to train on" : "held out";
    long rows = of_training ? data->rows : data->held;
    double *xy;
    if (!data->task || data->dim_x != m->units.dim_x)
        return jf_fail(m->ctx, JF_ERROR_SHAPE,
                       "data set \"%s\": found %d elements of x, expected %d for this model",
                       recipe_get(m->recipe, "data.images"), data->dim_x, m->units.dim_x);
    if (row < 0 || row >= rows)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "row %ld: the data have %ld row%s %s, counted from 0", row,
                       rows, rows == 1 ? "" : "s", which);
    JF_TRY(MEM_NEW(m->ctx, &xy, (size_t)dataset_dim(data)));
    rng stream = rng_stream((rng_key){0, RNG_ROW, RNG_USE_GIVEN}, (uint64_t)row);
    data->kind->fetch(data, of_training ? row : data->rows + row, &stream, xy, xy + data->dim_x);
    jf_status status = jf_restore(m, out, 1, xy, xy + data->dim_x);
    free(xy);
    return status;
}

jf_status jf_data_image(const jf_model *m, jf_images *out, long row, int of_training) {
    dataset *data;
    *out = (jf_images){0};
    if (m->units.image.h == 0) {
        task *none;
        return model_task(m, &none); /* its refusal */
    }
    JF_TRY(dataset_open(m->ctx, &data, m->recipe));
    jf_status status = fetch_image(m, data, out, row, of_training);
    dataset_free(data);
    return status;
}
