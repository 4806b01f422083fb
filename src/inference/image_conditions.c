#include "inference/image_conditions.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/dataset.h"
#include <stdlib.h>

static jf_status check_images(const model *m) {
    if (m->units.image.h > 0) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                   "this is a model of vectors (x of %d number%s), expected one of images", m->units.dim_x,
                   m->units.dim_x == 1 ? "" : "s");
}

jf_status model_task(const model *m, task **out) {
    *out = NULL;
    JF_TRY(check_images(m));
    return task_of_size(m->ctx, out, m->recipe, m->units.image);
}

/* Refuses tasks whose condition is not made of images. */
static jf_status check_inputs(const task *t) {
    if (t->kind->condition && t->kind->degrade) return JF_OK;
    return jf_fail(t->ctx, JF_ERROR_UNSUPPORTED,
                   "the condition of this model is not an image: its task is \"%s\"", t->kind->name);
}

/* ---- rows and images ---- */

jf_status restore_images(const task *t, int n, row_view x, row_view y, image_array *out) {
    JF_TRY(image_array_create(t->ctx, out, n, t->size.h, t->size.w, t->image_channels));
    for (int i = 0; i < n; i++)
        t->kind->restore(t, x.values + (size_t)i * x.stride,
                         y.values ? y.values + (size_t)i * y.stride : NULL, image_at(out, i));
    jf_status status = image_array_check(t->ctx, out, "images made of x and y");
    if (status != JF_OK) image_array_free(out);
    return status;
}

jf_status degrade_images(const task *t, const image_array *whole, uint64_t seed, image_array *inputs) {
    *inputs = (image_array){0};
    JF_TRY(check_inputs(t));
    if (whole->h != t->size.h || whole->w != t->size.w || whole->channels != t->image_channels)
        return jf_fail(t->ctx, JF_ERROR_SHAPE,
                       "images of %d x %d and %d channel(s) to degrade, expected %d x %d and %d", whole->h,
                       whole->w, whole->channels, t->size.h, t->size.w, t->image_channels);
    JF_TRY(image_array_check(t->ctx, whole, "images to degrade"));
    JF_TRY(image_array_create(t->ctx, inputs, whole->count, t->input_h, t->input_w, t->input_channels));
    for (int i = 0; i < whole->count; i++) {
        rng stream = rng_stream((rng_key){seed, RNG_ROW, RNG_USE_GIVEN}, (uint64_t)i);
        t->kind->degrade(t, image_at(whole, i), &stream, image_at(inputs, i));
    }
    jf_status status = image_array_check(t->ctx, inputs, "degraded images");
    if (status != JF_OK) image_array_free(inputs);
    return status;
}

/* Rows to train on come first, then those held out; `fetch` counts through both. */
static jf_status fetch_image(const model *m, const dataset *data, long row, int of_training,
                             image_array *out) {
    const char *which = of_training ? "to train on" : "held out";
    long rows = of_training ? data->rows : data->validation_rows;
    double *xy;
    if (!data->task || data->dim_x != m->units.dim_x)
        return jf_fail(m->ctx, JF_ERROR_SHAPE,
                       "data set \"%s\": found %d elements of x, expected %d for this model",
                       recipe_get(m->recipe, "data.images"), data->dim_x, m->units.dim_x);
    if (row < 0 || row >= rows)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "row %ld: the data have %ld row%s %s, counted from 0", row,
                       rows, rows == 1 ? "" : "s", which);
    JF_TRY(MEM_NEW(m->ctx, &xy, (size_t)dataset_dim(data) + data->scratch));
    rng stream = rng_stream((rng_key){0, RNG_ROW, RNG_USE_GIVEN}, (uint64_t)row);
    data->kind->fetch(data, of_training ? row : data->rows + row, &stream, xy + dataset_dim(data), xy,
                      xy + data->dim_x);
    jf_status status = dataset_check(data);
    if (status == JF_OK)
        status = restore_images(data->task, 1, (row_view){xy, 0}, (row_view){xy + data->dim_x, 0}, out);
    free(xy);
    return status;
}

jf_status data_image(const model *m, long row, int of_training, image_array *out) {
    dataset *data;
    *out = (image_array){0};
    JF_TRY(check_images(m));
    JF_TRY(dataset_open(m->ctx, &data, m->recipe));
    jf_status status = fetch_image(m, data, row, of_training, out);
    dataset_free(data);
    return status;
}

/* ---- conditions ---- */

void image_conditions_free(image_conditions *c) {
    free(c->y);
    image_array_free(&c->inputs);
    image_array_free(&c->whole);
    *c = (image_conditions){0};
}

/* Whether images of a PNG file can stand for those of so many channels: grey ones for coloured ones, and
 * coloured ones that are grey all over for grey ones. */
static int channels_fit(const image_array *images, int channels) {
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

static jf_status copy_with_channels(jf_context *ctx, image_array *out, const image_array *images,
                                    int channels) {
    JF_TRY(image_array_create(ctx, out, images->count, images->h, images->w, channels));
    size_t points = (size_t)images->count * (size_t)images->h * (size_t)images->w;
    for (size_t i = 0; i < points; i++)
        for (int c = 0; c < channels; c++)
            out->values[i * (size_t)channels + (size_t)c] =
                images->values[i * (size_t)images->channels + (size_t)(images->channels == channels ? c : 0)];
    return JF_OK;
}

static jf_status refuse_images(const task *t, const image_array *given, int degrade) {
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
static jf_status choose_role(const task *t, const image_array *given, int degrade, int *is_whole) {
    int whole_size = given->h == t->size.h && given->w == t->size.w;
    int input_size = given->h == t->input_h && given->w == t->input_w;
    int whole = whole_size && channels_fit(given, t->image_channels);
    int input = !degrade && input_size &&
                (t->masked ? given->channels == t->input_channels : channels_fit(given, t->input_channels));
    if (whole && input && t->image_channels != t->input_channels) {
        whole = given->channels == t->image_channels;
        input = !whole;
    }
    *is_whole = whole && !input;
    return whole || input ? JF_OK : refuse_images(t, given, degrade);
}

static jf_status conditions_by_task(const model *m, const task *t, image_conditions *out,
                                    const image_array *given, int degrade, uint64_t seed) {
    int is_whole;
    JF_TRY(check_inputs(t));
    JF_TRY(choose_role(t, given, degrade, &is_whole));
    JF_TRY(image_array_check(m->ctx, given, "images to answer to"));
    if (is_whole) {
        JF_TRY(copy_with_channels(m->ctx, &out->whole, given, t->image_channels));
        JF_TRY(degrade_images(t, &out->whole, seed, &out->inputs));
    } else {
        JF_TRY(copy_with_channels(m->ctx, &out->inputs, given, t->input_channels));
    }
    JF_TRY(mem_alloc(m->ctx, &out->y, (size_t)given->count + 1, (size_t)m->units.dim_y * sizeof(double)));
    for (int i = 0; i < given->count; i++)
        t->kind->condition(t, image_at(&out->inputs, i), out->y + (size_t)i * (size_t)m->units.dim_y);
    return JF_OK;
}

/* ---- answers that are given ---- */

/* Images of the data, where the model has learned them halved and y is not made of them. */
static int is_before_halving(const task *t, const image_array *whole) {
    return !t->kind->condition && t->h > t->size.h && whole->h == t->h && whole->w == t->w;
}

static jf_status refuse_whole(const task *t, const image_array *whole) {
    char halved[64] = "";
    if (!t->kind->condition && t->h > t->size.h)
        format_text(halved, sizeof halved, ", or one of %d x %d, which is halved first", t->h, t->w);
    return jf_fail(t->ctx, JF_ERROR_SHAPE,
                   "an image of %d x %d and %d channel(s), expected a whole one of %d x %d and %d%s",
                   whole->h, whole->w, whole->channels, t->size.h, t->size.w, t->image_channels, halved);
}

static jf_status halve(const task *t, image_array *images) {
    image_array small;
    JF_TRY(image_array_create(t->ctx, &small, images->count, t->size.h, t->size.w, images->channels));
    for (int i = 0; i < images->count; i++)
        task_shrink(image_at(images, i), small.h, small.w, small.channels, t->h / t->size.h,
                    image_at(&small, i));
    image_array_free(images);
    *images = small;
    return JF_OK;
}

static jf_status answers_by_task(const model *m, const task *t, const image_array *whole, const double *y,
                                 double *x) {
    image_array fitted = {0};
    int halved = is_before_halving(t, whole);
    if ((!halved && (whole->h != t->size.h || whole->w != t->size.w)) ||
        !channels_fit(whole, t->image_channels))
        return refuse_whole(t, whole);
    JF_TRY(image_array_check(m->ctx, whole, "whole images"));
    JF_TRY(copy_with_channels(m->ctx, &fitted, whole, t->image_channels));
    jf_status status = halved ? halve(t, &fitted) : JF_OK;
    if (status != JF_OK) {
        image_array_free(&fitted);
        return status;
    }
    for (int i = 0; i < fitted.count; i++)
        t->kind->answer(t, image_at(&fitted, i), y + (size_t)i * (size_t)m->units.dim_y,
                        x + (size_t)i * (size_t)m->units.dim_x);
    image_array_free(&fitted);
    size_t dim_x = (size_t)m->units.dim_x, count = (size_t)whole->count * dim_x, at = count_finite(x, count);
    if (at == count) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_DATA,
                   "image %zu: element %zu has no logit, expected intensities from 0 to 1", at / dim_x + 1,
                   at % dim_x);
}

jf_status image_answers(const model *m, const image_array *whole, const double *y, double *x) {
    task *t;
    JF_TRY(model_task(m, &t));
    jf_status status = answers_by_task(m, t, whole, y, x);
    task_free(t);
    return status;
}

/* ---- conditions of users ---- */

jf_status image_conditions_create(const model *m, image_conditions *out, const image_array *given,
                                  int degrade, uint64_t seed) {
    task *t;
    *out = (image_conditions){0};
    JF_TRY(model_task(m, &t));
    jf_status status = conditions_by_task(m, t, out, given, degrade, seed);
    task_free(t);
    if (status != JF_OK) image_conditions_free(out);
    return status;
}
