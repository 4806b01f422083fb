/* Images in a .npy file, (images, height, width) or (images, height, width, channels): bytes, whose intensity
 * is byte/255, or reals, which are taken as they are. Labels, if any, are whole numbers in a second file. */
#include "base/file.h"
#include "base/memory.h"
#include "data/images/image_set.h"
#include "data/named.h"
#include "io/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int stack_recognises(const char *name, const char *found) {
    (void)name;
    return found && strcmp(file_extension(found), ".npy") == 0;
}

static jf_status check_finite(jf_context *ctx, const image_set *s, const char *path) {
    size_t dim = image_set_dim(s), count = (size_t)s->rows * dim;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(s->reals[i]))
            return jf_fail(ctx, JF_ERROR_DATA,
                           "%s: value %zu of image %zu is %g as a 32-bit real, expected finite ones", path,
                           i % dim + 1, i / dim + 1, (double)s->reals[i]);
    return JF_OK;
}

/* The images become the set's own. */
static jf_status take_images(jf_context *ctx, image_set *out, npy_stack *stack, const char *path) {
    if (stack->rank != 3 && stack->rank != 4)
        return jf_fail(
            ctx, JF_ERROR_SHAPE,
            "%s: the array has %d dimensions, expected 3 (images, height, width) or 4 (and channels)", path,
            stack->rank);
    size_t channels = stack->rank == 4 ? stack->shape[3] : 1;
    if (stack->shape[0] == 0)
        return jf_fail(ctx, JF_ERROR_DATA, "%s: no images, expected at least one", path);
    JF_TRY(image_check_size(ctx, path, stack->shape[1], stack->shape[2], channels));
    out->rows = (long)stack->shape[0];
    out->h = (int)stack->shape[1];
    out->w = (int)stack->shape[2];
    out->channels = (int)channels;
    out->bytes = stack->bytes;
    out->reals = stack->reals;
    *stack = (npy_stack){.rank = 0};
    return out->reals ? check_finite(ctx, out, path) : JF_OK;
}

static jf_status take_labels(jf_context *ctx, image_set *out, const char *path, const double *values,
                             int rank, const size_t *shape) {
    if (rank != 1 || shape[0] != (size_t)out->rows)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "%s: an array of %d dimensions with %zu rows, expected 1 with %ld labels", path, rank,
                       rank ? shape[0] : 1, out->rows);
    JF_TRY(MEM_NEW(ctx, &out->labels, shape[0]));
    int classes = 0;
    for (size_t i = 0; i < shape[0]; i++) {
        if (!(values[i] >= 0 && values[i] < MAX_CLASSES && values[i] == floor(values[i])))
            return jf_fail(ctx, JF_ERROR_DATA, "%s: label %zu is %g, expected a whole number from 0 to %d",
                           path, i + 1, values[i], MAX_CLASSES - 1);
        out->labels[i] = (uint8_t)values[i];
        if (out->labels[i] >= classes) classes = out->labels[i] + 1;
    }
    image_number_classes(out, classes);
    return JF_OK;
}

static jf_status read_labels(jf_context *ctx, image_set *out, const recipe *r) {
    char *path = NULL;
    double *values = NULL;
    int rank;
    size_t shape[NPY_MAX_RANK];
    jf_status status;
    JF_TRY_DONE(named_find(r, "data.labels", &path));
    JF_TRY_DONE(npy_read(ctx, path, &values, &rank, shape));
    JF_TRY_DONE(take_labels(ctx, out, path, values, rank, shape));
done:
    free(values);
    free(path);
    return status;
}

static jf_status stack_load(jf_context *ctx, image_set *out, const recipe *r, const char *found) {
    npy_stack stack;
    JF_TRY(npy_read_stack(ctx, &stack, found));
    jf_status status = take_images(ctx, out, &stack, found);
    npy_stack_free(&stack); /* what was not taken */
    if (status == JF_OK && !recipe_is(r, "data.labels", "none")) status = read_labels(ctx, out, r);
    return status;
}

const image_source image_stack = {
    .name = "stack",
    .summary = "a .npy file of images",
    .recognises = stack_recognises,
    .load = stack_load,
    .reads_labels = 1,
};
