/* NumPy's arrays: as numbers, as a stack of images, and as images that a command is given. */
#include "fuzz.h"
#include "inference/images.h"
#include "io/npy.h"
#include <stdlib.h>

static size_t product(const size_t *shape, int rank) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    return count;
}

static void read_stack(jf_context *ctx, const char *path) {
    npy_stack stack;
    if (npy_read_stack(ctx, &stack, path) != JF_OK) return;
    FUZZ_EXPECT(!stack.bytes != !stack.reals);
    size_t count = product(stack.shape, stack.rank);
    if (stack.bytes) fuzz_touch(stack.bytes, count);
    if (stack.reals) fuzz_touch(stack.reals, count * sizeof *stack.reals);
    npy_stack_free(&stack);
}

static void read_images(jf_context *ctx, const char *path) {
    image_array images;
    if (image_array_read(ctx, &images, path) != JF_OK) return;
    fuzz_touch(images.values, (size_t)images.count * image_numbers(&images) * sizeof(double));
    image_array_free(&images);
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    double *values = NULL;
    int rank;
    size_t shape[NPY_MAX_RANK];
    read_stack(ctx, in->path);
    read_images(ctx, in->path);
    JF_TRY(npy_read(ctx, in->path, &values, &rank, shape));
    fuzz_touch(values, product(shape, rank) * sizeof *values);
    free(values);
    return JF_OK;
}

static jf_status example(jf_context *ctx, const char *path, int index) {
    const double values[6] = {0, 0.25, 0.5, 0.75, 1, -1};
    const size_t shape[3] = {1, 2, 3};
    return npy_write(ctx, path, values, 3, shape, index);
}

const fuzz_reader fuzz_npy = {.name = "npy",
                              .file = "input.npy",
                              .most_bytes = 1024,
                              .read = read_input,
                              .example = example,
                              .examples = 2};
