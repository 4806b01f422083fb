/* JPEG files. */
#include "fuzz.h"
#include "io/jpeg.h"
#include "jpeg_fixture.h"

enum { MOST_SIDE = 64 };

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    pixels p;
    JF_TRY(jpeg_read(ctx, &p, in->path, MOST_SIDE));
    fuzz_take_picture(&p, MOST_SIDE);
    return JF_OK;
}

static jf_status example(jf_context *ctx, const char *path, int index) {
    uint8_t bytes[12] = {0, 50, 100, 150, 200, 250, 255};
    if (jpeg_put(path, 2, 2, index ? 3 : 1, bytes, index == 2)) return JF_OK;
    return jf_fail(ctx, JF_ERROR_IO, "%s: could not be written", path);
}

const fuzz_reader fuzz_jpeg = {.name = "jpeg",
                               .file = "input.jpg",
                               .most_bytes = 2048,
                               .read = read_input,
                               .example = example,
                               .examples = 3};
