/* Public: super-resolution in two steps. */
#include "answer/pictures.h"
#include "api/image.h"
#include <string.h>

enum { DEFAULT_COUNT = 10 };

jf_status jf_superres(const jf_model *one, const jf_model *other, const jf_images *given,
                      const jf_superres_options *options, jf_superres_result *out) {
    jf_superres_options o = options ? *options : (jf_superres_options){0};
    image_array taken = images_taken(given);
    superres_result r;
    superres_request q = {.coarse_count = o.coarse_count ? o.coarse_count : DEFAULT_COUNT,
                          .fine_count = o.fine_count ? o.fine_count : DEFAULT_COUNT,
                          .seed = o.seed,
                          .denoise = o.denoise};
    jf_status status = superres_create(one, other, &taken, &q, &r);
    *out = (jf_superres_result){.truth = images_given(&r.truth),
                                .input = images_given(&r.input),
                                .coarse = images_given(&r.coarse),
                                .fine = images_given(&r.fine),
                                .coarse_psnr = r.coarse_psnr,
                                .psnr = r.psnr,
                                .y_error = r.y_error};
    return status;
}

jf_status jf_superres_write(jf_context *ctx, const jf_superres_result *r, const char *title, int full_range,
                            const char *path) {
    if (r->coarse.count < 1 || r->fine.count % r->coarse.count != 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%d fine images of %d coarse ones, expected as many of each",
                       r->fine.count, r->coarse.count);
    if (strcmp(file_extension(path), ".npy") == 0)
        return jf_images_write(ctx, &r->fine, r->fine.count / r->coarse.count, path);
    superres_result taken = {.truth = images_taken(&r->truth),
                             .input = images_taken(&r->input),
                             .coarse = images_taken(&r->coarse),
                             .fine = images_taken(&r->fine)};
    return picture_superres(ctx, &taken, title, full_range, path);
}

void jf_superres_result_free(jf_superres_result *r) {
    jf_images_free(&r->truth);
    jf_images_free(&r->input);
    jf_images_free(&r->coarse);
    jf_images_free(&r->fine);
    *r = (jf_superres_result){0};
}
