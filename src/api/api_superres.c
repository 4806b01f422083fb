/* Public: super-resolution in two steps, and by any chain of models. */
#include "api/api_image.h"
#include "base/statistics.h"
#include "inference/pictures.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_COUNT = 10 };

jf_status jf_superres(jf_superres_result *out, const jf_model *one, const jf_model *other,
                      const jf_images *given, const jf_superres_options *options) {
    JF_NEEDS(CONTEXT_OF(one), out, one, other, given);
    JF_TRY(check_images(one->ctx, given));
    jf_superres_options o;
    image_array taken = images_taken(given);
    superres_result r;
    JF_TRY(SIZED_BEGIN(one->ctx, jf_superres_result, out));
    JF_TRY(SIZED_TAKE(one->ctx, jf_superres_options, &o, options));
    superres_request q = {.coarse_count = o.coarse_count ? count_as_int(o.coarse_count) : DEFAULT_COUNT,
                          .fine_count = o.fine_count ? count_as_int(o.fine_count) : DEFAULT_COUNT,
                          .seed = o.seed,
                          .denoise = o.denoise};
    jf_status status = superres_create(one, other, &taken, &q, &r);
    SIZED_GIVE(jf_superres_result, out,
               (&(jf_superres_result){.truth = images_given(&r.truth),
                                      .input = images_given(&r.input),
                                      .coarse = images_given(&r.coarse),
                                      .fine = images_given(&r.fine),
                                      .coarse_psnr = r.coarse_psnr,
                                      .psnr = r.psnr,
                                      .y_error = r.y_error}));
    return status;
}

jf_status jf_superres_write(jf_context *ctx, const jf_superres_result *r, const char *title, int full_range,
                            const char *path) {
    JF_NEEDS(ctx, ctx, r, path);
    if (r->coarse.count < 1 || r->fine.count % r->coarse.count != 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%zu fine images of %zu coarse ones, expected as many of each",
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
    if (!r) return;
    jf_images_free(&r->truth);
    jf_images_free(&r->input);
    jf_images_free(&r->coarse);
    jf_images_free(&r->fine);
}

/* ---- chains ---- */

_Static_assert(JF_CHAIN_MOST == CHAIN_MOST, "as many steps for users as there are");
_Static_assert(sizeof((jf_chain_score *)0)->name >= MAX_CLASS_NAME, "names of classes fit");

static jf_status take_request(jf_context *ctx, chain_request *out, const jf_chain_options *options) {
    jf_chain_options o;
    JF_TRY(SIZED_TAKE(ctx, jf_chain_options, &o, options));
    *out = (chain_request){.seed = o.seed, .denoise = o.denoise};
    for (int k = 0; k < CHAIN_MOST; k++) out->counts[k] = o.counts[k] ? count_as_int(o.counts[k]) : 1;
    return JF_OK;
}

static jf_context *context_of_models(const jf_model *const *models, size_t count) {
    return models && count > 0 ? CONTEXT_OF(models[0]) : NULL;
}

/* Without a model there is no context to leave a message on. */
static jf_status open_chain(chain *c, const jf_model *const *models, size_t count) {
    if (count < 1) return JF_ERROR_ARGUMENT;
    return chain_open(c, count > CHAIN_MOST ? CHAIN_MOST + 1 : (int)count, models);
}

static jf_status answer(const chain *c, const jf_images *given, const chain_request *q,
                        jf_chain_result *out) {
    image_array taken = images_taken(given);
    chain_result r;
    JF_TRY(chain_answer(c, &taken, q, &r));
    out->truth = images_given(&r.truth);
    out->input = images_given(&r.input);
    out->steps = (size_t)r.steps;
    out->y_error = r.y_error;
    for (int k = 0; k < r.steps; k++) {
        out->made[k] = images_given(&r.made[k]);
        out->psnr[k] = psnr(r.square[k], 1);
        r.made[k] = (image_array){0};
    }
    r.truth = r.input = (image_array){0}; /* the caller's now */
    chain_result_free(&r);
    return JF_OK;
}

jf_status jf_superres_chain(jf_chain_result *out, const jf_model *const *models, size_t count,
                            const jf_images *given, const jf_chain_options *options) {
    jf_context *ctx = context_of_models(models, count);
    JF_NEEDS(ctx, out, models, given);
    jf_chain_result made = {.steps = 0};
    chain_request q;
    chain c;
    JF_TRY(SIZED_BEGIN(ctx, jf_chain_result, out));
    JF_TRY(take_request(ctx, &q, options));
    JF_TRY(check_images(ctx, given));
    JF_TRY(open_chain(&c, models, count));
    jf_status status = answer(&c, given, &q, &made);
    chain_close(&c);
    SIZED_GIVE(jf_chain_result, out, &made);
    return status;
}

jf_status jf_superres_chain_write(jf_context *ctx, const jf_chain_result *r, const char *title,
                                  int full_range, const char *path) {
    JF_NEEDS(ctx, ctx, r, path);
    chain_result taken = {
        .truth = images_taken(&r->truth), .input = images_taken(&r->input), .steps = (int)r->steps};
    if (r->steps < 1 || r->steps > CHAIN_MOST || r->made[0].count < 1)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "a chain of %zu steps without images, expected some",
                       r->steps);
    if (r->input.count != 1)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "what was made of %zu images, expected of one",
                       r->input.count);
    for (size_t k = 0; k < r->steps; k++) taken.made[k] = images_taken(&r->made[k]);
    const jf_images *last = &r->made[r->steps - 1];
    size_t before = r->steps > 1 ? r->made[r->steps - 2].count : 1;
    if (strcmp(file_extension(path), ".npy") == 0)
        return jf_images_write(ctx, last, last->count / before, path);
    return picture_chain(ctx, &taken, title, full_range, path);
}

void jf_chain_result_free(jf_chain_result *r) {
    if (!r) return;
    jf_images_free(&r->truth);
    jf_images_free(&r->input);
    for (int k = 0; k < CHAIN_MOST; k++) jf_images_free(&r->made[k]);
    r->steps = 0;
}

void jf_chain_scores_free(jf_chain_score *scores) {
    free(scores);
}

static jf_status give_scores(jf_context *ctx, const chain_scores *s, jf_chain_score **scores, size_t *count) {
    JF_TRY(MEM_NEW(ctx, scores, (size_t)s->count));
    *count = (size_t)s->count;
    for (int i = 0; i < s->count; i++) {
        jf_chain_score *to = &(*scores)[i];
        to->images = s->of[i].images;
        memcpy(to->name, s->of[i].name, MAX_CLASS_NAME);
        memcpy(to->psnr, s->of[i].psnr, sizeof to->psnr);
    }
    return JF_OK;
}

jf_status jf_superres_test(jf_chain_score **scores, size_t *score_count, const jf_model *const *models,
                           size_t count, const jf_chain_test *test, const jf_chain_options *options,
                           double *y_error) {
    jf_context *ctx = context_of_models(models, count);
    JF_GIVES(ctx, scores, score_count, models);
    jf_chain_test t;
    chain_request q;
    chain_scores *s = NULL;
    chain c;
    *score_count = 0;
    JF_TRY(SIZED_TAKE(ctx, jf_chain_test, &t, test));
    JF_TRY(take_request(ctx, &q, options));
    JF_TRY(open_chain(&c, models, count));
    jf_status status = MEM_NEW(c.ctx, &s, 1);
    if (status == JF_OK)
        status = chain_score_set(&c, &q, &(chain_test){t.test, t.test_labels, (long)t.most}, s);
    if (status == JF_OK && y_error) *y_error = s->y_error;
    if (status == JF_OK) status = give_scores(c.ctx, s, scores, score_count);
    free(s);
    chain_close(&c);
    return status;
}
