#include "cascade_option.h"

int cascade_option_load(const call *c, const jf_model *m, jf_cascade **out) {
    jf_load_options device = cli_device_options(c);
    const char *names = option_text(c->arguments, "then");
    return jf_cascade_load(out, c->ctx, names, m, &device) == JF_OK ? CLI_OK : cli_fail_library(c);
}

jf_status cascade_replace(const jf_cascade *cascade, const jf_cascade_options *options, jf_images *images) {
    jf_cascade_result made = {.size = sizeof(jf_cascade_result)};
    if (!cascade) return JF_OK;
    jf_status status = jf_cascade_enlarge(&made, cascade, images, options);
    if (status != JF_OK) return status;
    jf_images_free(images);
    *images = made.made[made.steps - 1];
    made.made[made.steps - 1] = (jf_images){0};
    jf_cascade_result_free(&made);
    return JF_OK;
}

int cascade_option_replace(const call *c, const jf_cascade *cascade, size_t together, jf_images *images) {
    const arguments *a = c->arguments;
    jf_cascade_options options = {.size = sizeof(jf_cascade_options),
                                  .seed = option_whole(a, "seed"),
                                  .denoise = option_is_known(a, "denoise") && option_given(a, "denoise"),
                                  .of_samples = 1,
                                  .together = together};
    return cascade_replace(cascade, &options, images) == JF_OK ? CLI_OK : cli_fail_library(c);
}
