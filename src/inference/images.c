#include "inference/images.h"
#include "base/file.h"
#include "base/finite.h"
#include "base/memory.h"
#include "io/npy.h"
#include "io/picture.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE     4096
#define MAX_CHANNELS 4 /* a longer last axis of an array is the width of images in grey */

image_array images_taken(const jf_images *images) {
    return (image_array){.values = images->values,
                         .count = images->count > INT_MAX ? INT_MAX : (int)images->count,
                         .h = images->h,
                         .w = images->w,
                         .channels = images->channels};
}

jf_images images_given(const image_array *images) {
    return (jf_images){.values = images->values,
                       .count = (size_t)images->count,
                       .h = images->h,
                       .w = images->w,
                       .channels = images->channels};
}

size_t image_numbers(const image_array *images) {
    return (size_t)images->h * (size_t)images->w * (size_t)images->channels;
}

double *image_at(const image_array *images, int index) {
    return images->values + (size_t)index * image_numbers(images);
}

jf_status image_array_create(jf_context *ctx, image_array *out, int count, int h, int w, int channels) {
    image_array made = {.count = count, .h = h, .w = w, .channels = channels};
    *out = (image_array){0};
    JF_TRY(mem_alloc(ctx, &made.values, (size_t)count + 1, image_numbers(&made) * sizeof(double)));
    *out = made;
    return JF_OK;
}

void image_array_free(image_array *images) {
    free(images->values);
    *images = (image_array){0};
}

jf_status image_array_check(jf_context *ctx, const image_array *images, const char *what) {
    size_t size = image_numbers(images), count = (size_t)images->count * size,
           at = count_finite(images->values, count);
    if (at == count) return JF_OK;
    size_t pixel = at % size / (size_t)images->channels;
    return jf_fail(ctx, JF_ERROR_DATA,
                   "%s: number %zu, row %zu, column %zu is %g, expected a finite intensity", what,
                   at / size + 1, pixel / (size_t)images->w, pixel % (size_t)images->w, images->values[at]);
}

/* ---- files ---- */

static jf_status read_picture(jf_context *ctx, image_array *out, const char *path) {
    pixels p;
    JF_TRY(picture_read(ctx, &p, path, MAX_SIDE));
    jf_status status = image_array_create(ctx, out, 1, p.h, p.w, p.channels);
    for (size_t i = 0; status == JF_OK && i < image_numbers(out); i++) out->values[i] = p.bytes[i] / 255.0;
    pixels_free(&p);
    return status;
}

/* From alpha: what is less than half opaque is missing. */
static jf_status read_transparent(jf_context *ctx, image_array *out, const char *path) {
    pixels p;
    JF_TRY(pixels_read_alpha(ctx, &p, path, MAX_SIDE));
    jf_status status = image_array_create(ctx, out, 1, p.h, p.w, p.channels);
    size_t channels = (size_t)p.channels, masked = channels % 2 == 0;
    for (size_t i = 0; status == JF_OK && i < image_numbers(out); i++) {
        size_t last = i / channels * channels + channels - 1;
        int missing = masked && p.bytes[last] < 128;
        out->values[i] = masked && i == last ? missing : missing ? 0 : p.bytes[i] / 255.0;
    }
    pixels_free(&p);
    return status;
}

/* Takes the axes apart: (..., h, w) or (..., h, w, channels). */
static jf_status stack_form(jf_context *ctx, const npy_stack *stack, const char *path, image_array *form) {
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
    *form = (image_array){.count = (int)count, .h = (int)h, .w = (int)w};
    form->channels = channels_last ? (int)stack->shape[stack->rank - 1] : 1;
    if (form->channels < 1)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: images of no channel, expected 1 or more", path);
    return JF_OK;
}

static jf_status read_npy(jf_context *ctx, image_array *out, const char *path) {
    npy_stack stack;
    image_array form = {0};
    JF_TRY(npy_read_stack(ctx, &stack, path));
    jf_status status = stack_form(ctx, &stack, path, &form);
    if (status == JF_OK) status = image_array_create(ctx, out, form.count, form.h, form.w, form.channels);
    size_t n = status == JF_OK ? (size_t)out->count * image_numbers(out) : 0;
    for (size_t i = 0; i < n; i++) out->values[i] = stack.bytes ? stack.bytes[i] / 255.0 : stack.reals[i];
    size_t at = n > 0 ? count_finite(out->values, n) : 0;
    if (at < n)
        status = jf_fail(ctx, JF_ERROR_DATA, "%s: number %zu is %g, expected a finite one", path, at + 1,
                         out->values[at]);
    if (status != JF_OK) image_array_free(out);
    npy_stack_free(&stack);
    return status;
}

jf_status image_array_read(jf_context *ctx, image_array *out, const char *path) {
    const char *ending = file_extension(path);
    *out = (image_array){0};
    if (picture_named(path)) return read_picture(ctx, out, path);
    if (strcmp(ending, ".npy") == 0) return read_npy(ctx, out, path);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: an image ends in " PICTURE_ENDINGS ", or in .npy", path);
}

jf_status image_array_read_masked(jf_context *ctx, image_array *out, const char *path) {
    *out = (image_array){0};
    int is_png;
    JF_TRY(picture_is_png(ctx, &is_png, path));
    return is_png ? read_transparent(ctx, out, path) : image_array_read(ctx, out, path);
}

jf_status image_array_write(jf_context *ctx, const image_array *images, int columns, const char *path) {
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
