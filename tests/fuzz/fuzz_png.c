/* PNG files. */
#include "fuzz.h"
#include "io/png.h"

enum { MOST_SIDE = 64 };

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    pixels p;
    JF_TRY(pixels_read(ctx, &p, in->path, MOST_SIDE));
    fuzz_take_picture(&p, MOST_SIDE);
    return JF_OK;
}

static jf_status example(jf_context *ctx, const char *path, int index) {
    uint8_t bytes[12] = {0, 50, 100, 150, 200, 250, 255};
    return pixels_write(ctx, path, &(pixels){.h = 2, .w = 2, .channels = index ? 3 : 1, .bytes = bytes});
}

const fuzz_reader fuzz_png = {.name = "png",
                              .file = "input.png",
                              .most_bytes = 1024,
                              .read = read_input,
                              .example = example,
                              .examples = 2};
