/* The chain of two models, as the paper has it. */
#include "inference/superres.h"
#include "base/statistics.h"
#include "inference/chain.h"

static image_array take(image_array *from) {
    image_array taken = *from;
    *from = (image_array){0};
    return taken;
}

static jf_status answer(const chain *c, const image_array *given, const superres_request *q,
                        superres_result *out) {
    chain_result r;
    chain_request request = {
        .counts = {q->coarse_count, q->fine_count}, .seed = q->seed, .denoise = q->denoise};
    if (given->count != 1)
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "%d images to start from, expected one", given->count);
    JF_TRY(chain_answer(c, given, &request, &r));
    *out = (superres_result){.truth = take(&r.truth),
                             .input = take(&r.input),
                             .coarse = take(&r.made[0]),
                             .fine = take(&r.made[1]),
                             .coarse_psnr = psnr(r.square[0], 1),
                             .psnr = psnr(r.square[1], 1),
                             .y_error = r.y_error};
    chain_result_free(&r);
    return JF_OK;
}

jf_status superres_create(const model *one, const model *other, const image_array *given,
                          const superres_request *q, superres_result *out) {
    chain c;
    *out = (superres_result){0};
    JF_TRY(chain_open(&c, 2, (const model *const[]){one, other}));
    jf_status status = answer(&c, given, q, out);
    chain_close(&c);
    return status;
}

void superres_free(superres_result *r) {
    image_array_free(&r->truth);
    image_array_free(&r->input);
    image_array_free(&r->coarse);
    image_array_free(&r->fine);
    *r = (superres_result){0};
}
