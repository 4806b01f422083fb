/* Public: models that make larger what another one draws. */
#include "answer/enlarge.h"
#include "api/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *jf_model_then(const jf_model *m) {
    return model_then(m) ? model_then(m) : "";
}

void jf_then_free(jf_then *then) {
    if (!then) return;
    for (size_t i = 0; i < then->count; i++) jf_model_free(then->models[i]);
    *then = (jf_then){.count = 0};
}

/* All models of one name. */
static jf_status load_name(jf_then *t, jf_context *ctx, const char *name, const jf_load_options *options) {
    for (int i = 0;; i++) {
        char *file;
        JF_TRY(jf_model_find(&file, ctx, name, i));
        if (!file) return JF_OK;
        jf_status status = t->count < JF_CHAIN_MOST ? jf_model_load(&t->models[t->count], ctx, file, options)
                                                    : jf_fail(ctx, JF_ERROR_ARGUMENT,
                                                              "%s: more than %d models", name, JF_CHAIN_MOST);
        free(file);
        JF_TRY(status);
        t->count++;
    }
}

static jf_status load_names(jf_then *t, jf_context *ctx, const char *names, const jf_load_options *options) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        char *name;
        JF_TRY(MEM_NEW(ctx, &name, length + 1));
        memcpy(name, at, length);
        jf_status status = load_name(t, ctx, name, options);
        free(name);
        JF_TRY(status);
        at += length + (at[length] == ',');
    }
    return JF_OK;
}

/* From the smallest images to the largest. */
static jf_status put_in_order(jf_then *t, const jf_model *m) {
    chain c;
    JF_TRY(chain_open(&c, (int)t->count, (const model *const *)t->models));
    jf_status status = enlarge_check_model(&c, m);
    for (int k = 0; k < c.steps; k++) t->models[k] = (jf_model *)c.m[k]; /* those that were loaded here */
    t->h = c.t[c.steps - 1]->size.h;
    t->w = c.t[c.steps - 1]->size.w;
    chain_close(&c);
    return status;
}

/* A name that nobody has given in this call says where it stands. */
static jf_status say_whence(jf_context *ctx, jf_status status, const char *names) {
    char why[1024];
    snprintf(why, sizeof why, "%s", jf_context_error(ctx));
    return jf_fail(ctx, status, "data.then = %s, which makes the images of the model larger: %s", names, why);
}

jf_status jf_then_load(jf_then *out, const jf_model *m, const char *names, const jf_load_options *options) {
    const char *wanted = names ? names : jf_model_then(m);
    *out = (jf_then){.count = 0};
    if (!*wanted || strcmp(wanted, "none") == 0) return JF_OK;
    jf_status status = load_names(out, m->ctx, wanted, options);
    if (status == JF_OK) status = put_in_order(out, m);
    if (status == JF_OK) return JF_OK;
    jf_then_free(out);
    return names || status == JF_ERROR_MEMORY ? status : say_whence(m->ctx, status, wanted);
}

static jf_status copy_images(jf_context *ctx, const image_array *from, image_array *out) {
    JF_TRY(image_array_create(ctx, out, from->count, from->h, from->w, from->channels));
    if (from->count)
        memcpy(out->values, from->values, (size_t)from->count * image_numbers(from) * sizeof(double));
    return JF_OK;
}

jf_status jf_then_enlarge(jf_images *out, jf_context *ctx, const jf_then *then, const jf_images *small,
                          const jf_then_options *options) {
    jf_then_options o;
    image_array taken = images_taken(small), made = {0};
    chain c;
    *out = (jf_images){0};
    JF_TRY(SIZED_TAKE(ctx, jf_then_options, &o, options));
    if (then->count == 0 || small->count == 0) {
        if (then->count) taken = (image_array){.h = then->h, .w = then->w, .channels = small->channels};
        JF_TRY(copy_images(ctx, &taken, &made));
        *out = images_given(&made);
        return JF_OK;
    }
    JF_TRY(chain_open(&c, count_as_int(then->count), (const model *const *)then->models));
    jf_status status = enlarge_images(
        &c, &taken,
        &(enlarge_request){.seed = o.seed, .denoise = o.denoise, .together = count_as_int(o.together)},
        &made);
    chain_close(&c);
    *out = images_given(&made);
    return status;
}
