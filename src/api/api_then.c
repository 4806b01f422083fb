/* Public: models that make larger what another one draws. */
#include "api/api_image.h"
#include "base/file.h"
#include "base/shell.h"
#include "inference/enlarge.h"
#include "io/shipped.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *jf_model_then(const jf_model *m) {
    if (!m) return "";
    return model_then(m) ? model_then(m) : "";
}

void jf_then_free(jf_then *then) {
    if (!then) return;
    for (size_t i = 0; i < then->count; i++) jf_model_free(then->models[i]);
    *then = (jf_then){.count = 0};
}

/* ---- names in a model file, which a stranger may have written ---- */

/* A regular file, or a folder, that is really below `folder`; NULL: there is no such one. Yours to free. */
static char *path_below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    char *found = realpath(path, NULL);
    int below = found && strncmp(found, folder, length) == 0 && (length == 1 || found[length] == '/');
    if (below && (file_is_regular(found) || file_is_folder(found))) return found;
    free(found);
    return NULL;
}

/* Below the folder of the model, from there or from the working folder. */
static jf_status find_below(const model *m, const char *name, char **out) {
    char *path;
    JF_TRY(file_join(m->ctx, &path, *name == '/' ? "" : m->folder, name));
    *out = path_below(m->folder, path);
    if (!*out) *out = path_below(m->folder, name);
    free(path);
    return JF_OK;
}

/* Model `index` of that name below the folder of m, or of those that came with the program; *file NULL: there
 * is none. */
static jf_status find_allowed(const model *m, const char *name, int index, char **file) {
    char *own, *folder = NULL;
    JF_TRY(find_below(m, name, &own));
    jf_status status = JF_OK;
    *file = NULL;
    if (own) {
        status = jf_model_find(file, m->ctx, own, index);
        char *found = status == JF_OK && *file ? path_below(m->folder, *file) : NULL;
        free(*file);
        *file = found;
    } else if (*name != '/' && !strstr(name, "..")) {
        status = shipped_find_folder(m->ctx, &folder, &shipped_models, name);
        if (status == JF_OK && folder) status = shipped_file_at(m->ctx, file, &shipped_models, folder, index);
        if (status == JF_OK && !folder && index == 0)
            status = shipped_find(m->ctx, file, &shipped_models, name);
    }
    free(own);
    free(folder);
    if (status == JF_OK && *file && file_is_regular(*file)) return JF_OK;
    free(*file);
    *file = NULL;
    return status == JF_OK && index == 0 ? jf_fail(m->ctx, JF_ERROR_IO, "%s: not found", name) : status;
}

/* A name in a model file may lead to any file of the user's, so the message quotes nothing of it. */
static jf_status refuse(const model *m, jf_status status, const char *names) {
    text words = {0};
    shell_add_path(&words, names);
    JF_TRY(text_check(m->ctx, &words));
    jf_fail(m->ctx, status,
            "data.then = %s, which makes the images of the model larger: found no model that could be "
            "used, neither among those that came with the program nor below %s; models from elsewhere are "
            "given by "
            "--then %s",
            names, m->folder, words.chars);
    text_free(&words);
    return status;
}

static int is_of_files(jf_status status) {
    return status != JF_ERROR_MEMORY && status != JF_ERROR_DEVICE && status != JF_ERROR_RANK &&
           status != JF_STOPPED;
}

/* ---- loading ---- */

/* All models of one name; `from`: the model whose file has the name, NULL where the user gave it. */
static jf_status load_name(jf_then *t, jf_context *ctx, const model *from, const char *name,
                           const jf_load_options *options) {
    for (int i = 0;; i++) {
        char *file;
        JF_TRY(from ? find_allowed(from, name, i, &file) : jf_model_find(&file, ctx, name, i));
        if (!file) return JF_OK;
        jf_status status = t->count < JF_CHAIN_MOST ? jf_model_load(&t->models[t->count], ctx, file, options)
                                                    : jf_fail(ctx, JF_ERROR_ARGUMENT,
                                                              "%s: more than %d models", name, JF_CHAIN_MOST);
        free(file);
        JF_TRY(status);
        t->count++;
    }
}

static jf_status load_names(jf_then *t, jf_context *ctx, const model *from, const char *names,
                            const jf_load_options *options) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        char *name;
        JF_TRY(MEM_NEW(ctx, &name, length + 1));
        memcpy(name, at, length);
        jf_status status = load_name(t, ctx, from, name, options);
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
    JF_GIVES(CONTEXT_OF(m), out, m);
    const char *wanted = names ? names : jf_model_then(m);
    const model *from = !names && m->folder ? m : NULL;
    if (!*wanted || strcmp(wanted, "none") == 0) return JF_OK;
    jf_status status = load_names(out, m->ctx, from, wanted, options);
    if (status != JF_OK) jf_then_free(out);
    if (status != JF_OK && from && is_of_files(status)) return refuse(m, status, wanted);
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
    JF_GIVES(ctx, out, ctx, then, small);
    jf_then_options o;
    image_array taken = images_taken(small), made = {0};
    chain c;
    JF_TRY(SIZED_TAKE(ctx, jf_then_options, &o, options));
    JF_TRY(check_images(ctx, small));
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
