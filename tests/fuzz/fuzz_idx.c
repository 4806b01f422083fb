/* IDX files: images, and their labels. */
#include "fuzz.h"
#include "io/idx.h"

static jf_status read_array(jf_context *ctx, const char *path, int rank) {
    idx_array array;
    JF_TRY(idx_read(ctx, &array, path, rank));
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= array.shape[i];
    FUZZ_EXPECT(array.rank == rank && count > 0);
    fuzz_touch(array.bytes, count);
    idx_free(&array);
    return JF_OK;
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    jf_status labels = read_array(ctx, in->path, 1), images = read_array(ctx, in->path, 3);
    FUZZ_EXPECT(labels != JF_OK || images != JF_OK); /* no file is both */
    return labels == JF_OK ? labels : images;
}

const fuzz_reader fuzz_idx = {
    .name = "idx", .file = "train-images-idx3-ubyte", .most_bytes = 1024, .read = read_input};
