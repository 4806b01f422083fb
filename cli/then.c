#include "then.h"

int then_load(const call *c, const jf_model *m, jf_then *out) {
    jf_load_options device = cli_device_options(c);
    return jf_then_load(out, m, option_text(c->arguments, "then"), &device) == JF_OK ? CLI_OK
                                                                                     : cli_fail_library(c);
}

int then_enlarge(const call *c, const jf_then *then, size_t together, jf_images *images) {
    const arguments *a = c->arguments;
    jf_then_options options = {.size = sizeof(jf_then_options),
                               .seed = option_whole(a, "seed"),
                               .denoise = option_is_known(a, "denoise") && option_given(a, "denoise"),
                               .together = together};
    jf_images large;
    if (then->count == 0) return CLI_OK;
    if (jf_then_enlarge(&large, c->ctx, then, images, &options) != JF_OK) return cli_fail_library(c);
    jf_images_free(images);
    *images = large;
    return CLI_OK;
}
