/* Public: cascades of models of super-resolution. */
#include "api/api_image.h"
#include "base/file.h"
#include "base/shell.h"
#include "inference/cascade.h"
#include "inference/pictures.h"
#include "io/shipped.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *jf_model_then(const jf_model *m) {
    if (!m) return "";
    return model_then(m) ? model_then(m) : "";
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

typedef struct loaded_models {
    model *m[JF_CASCADE_MOST];
    int count;
} loaded_models;

static void loaded_free(loaded_models *l) {
    for (int i = 0; i < l->count; i++) model_free(l->m[i]);
}

/* All models of one name; `from`: the model whose file has the name, NULL where the user gave it. */
static jf_status load_name(loaded_models *l, jf_context *ctx, const model *from, const char *name,
                           const jf_load_options *options) {
    for (int i = 0;; i++) {
        char *file;
        JF_TRY(from ? find_allowed(from, name, i, &file) : jf_model_find(&file, ctx, name, i));
        if (!file) return JF_OK;
        jf_status status =
            l->count < JF_CASCADE_MOST
                ? jf_model_load(&l->m[l->count], ctx, file, options)
                : jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: more than %d models", name, JF_CASCADE_MOST);
        free(file);
        JF_TRY(status);
        l->count++;
    }
}

static jf_status load_names(loaded_models *l, jf_context *ctx, const model *from, const char *names,
                            const jf_load_options *options) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        char *name;
        JF_TRY(MEM_NEW(ctx, &name, length + 1));
        memcpy(name, at, length);
        jf_status status = load_name(l, ctx, from, name, options);
        free(name);
        JF_TRY(status);
        at += length + (at[length] == ',');
    }
    if (l->count > 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT, "\"%s\": no models are named, expected some", names);
}

/* Hands the models over to a cascade; where this fails they stay. */
static jf_status create_owner(cascade **out, loaded_models *l, const model *before) {
    JF_TRY(cascade_create(out, l->count, (const model *const *)l->m));
    jf_status status = before ? cascade_check_start(*out, before) : JF_OK;
    if (status == JF_OK) {
        memcpy((*out)->owned, l->m, sizeof l->m);
        return JF_OK;
    }
    cascade_free(*out);
    *out = NULL;
    return status;
}

/* A name that nobody has given in this call says where it stands. */
static jf_status explain_source(jf_context *ctx, jf_status status, const char *names) {
    char why[1024];
    snprintf(why, sizeof why, "%s", jf_context_error(ctx));
    return jf_fail(ctx, status, "data.then = %s, which makes the images of the model larger: %s", names, why);
}

jf_status jf_cascade_load(jf_cascade **out, jf_context *ctx, const char *names, const jf_model *before,
                          const jf_load_options *options) {
    JF_GIVES(ctx, out, ctx);
    if (!names && !before)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "names of models: none are given, and no model whose recipe has them");
    const char *wanted = names ? names : jf_model_then(before);
    const model *from = !names && before->folder ? before : NULL;
    loaded_models l = {.count = 0};
    if (!*wanted || strcmp(wanted, "none") == 0) return JF_OK;
    jf_status status = load_names(&l, ctx, from, wanted, options);
    if (status == JF_OK) {
        status = create_owner(out, &l, before);
        if (status == JF_OK) return JF_OK;
    } else if (from && is_of_files(status)) {
        loaded_free(&l);
        return refuse(before, status, wanted);
    }
    loaded_free(&l);
    return names || status == JF_ERROR_MEMORY ? status : explain_source(ctx, status, wanted);
}

/* Without a model there is no context to leave a message on. */
jf_status jf_cascade_create(jf_cascade **out, const jf_model *const *models, size_t count) {
    jf_context *ctx = models && count > 0 ? CONTEXT_OF(models[0]) : NULL;
    JF_GIVES(ctx, out, models);
    if (count < 1) return JF_ERROR_ARGUMENT;
    if (count > JF_CASCADE_MOST)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%zu models, expected at most %d", count, JF_CASCADE_MOST);
    JF_NEEDS_EACH(ctx, models, count);
    return cascade_create(out, (int)count, models);
}

const jf_model *jf_cascade_model(const jf_cascade *c, size_t index) {
    return c && index < (size_t)c->steps ? c->m[index] : NULL;
}

void jf_cascade_free(jf_cascade *c) {
    cascade_free(c);
}

/* ---- use ---- */

/* With the temperature that is meant. */
static jf_status take_options(jf_context *ctx, jf_cascade_options *to, const jf_cascade_options *options) {
    jf_use_options use;
    JF_TRY(SIZED_TAKE(ctx, jf_cascade_options, to, options));
    JF_TRY(take_use_options(ctx, &use,
                            &(jf_use_options){.size = sizeof use,
                                              .temperature = to->temperature,
                                              .zero_temperature = to->zero_temperature}));
    to->temperature = use.temperature;
    return JF_OK;
}

jf_status jf_cascade_enlarge(jf_cascade_result *out, const jf_cascade *c, const jf_images *given,
                             const jf_cascade_options *options) {
    JF_NEEDS(CONTEXT_OF(c), out, c, given);
    jf_cascade_options o;
    jf_cascade_result made;
    image_array taken = images_taken(given);
    JF_TRY(SIZED_BEGIN(c->ctx, jf_cascade_result, out));
    JF_TRY(take_options(c->ctx, &o, options));
    JF_TRY(check_images(c->ctx, given));
    JF_TRY(cascade_enlarge(c, &taken, &o, &made, NULL));
    SIZED_GIVE(jf_cascade_result, out, &made);
    return JF_OK;
}

jf_status jf_cascade_write(const jf_cascade *c, const jf_cascade_result *r, const char *title, int full_range,
                           const char *path) {
    JF_NEEDS(CONTEXT_OF(c), c, r, path);
    if (r->steps < 1 || r->steps > JF_CASCADE_MOST || r->made[0].count < 1)
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "a cascade of %zu steps without images, expected some",
                       r->steps);
    if (r->input.count != 1)
        return jf_fail(c->ctx, JF_ERROR_ARGUMENT, "what was made of %zu images, expected of one",
                       r->input.count);
    for (size_t k = 1; k < r->steps; k++)
        if (r->made[k].count < 1 || r->made[k].count % r->made[k - 1].count != 0)
            return jf_fail(c->ctx, JF_ERROR_ARGUMENT,
                           "%zu images of step %zu of %zu before it, expected as many of each",
                           r->made[k].count, k + 1, r->made[k - 1].count);
    const jf_images *last = &r->made[r->steps - 1];
    size_t before = r->steps > 1 ? r->made[r->steps - 2].count : 1;
    if (strcmp(file_extension(path), ".npy") == 0)
        return jf_images_write(c->ctx, last, last->count / before, path);
    return picture_cascade(c->ctx, r, title, full_range, path);
}

void jf_cascade_result_free(jf_cascade_result *r) {
    if (r) cascade_result_free(r);
}

jf_status jf_cascade_score(jf_cascade_scores *out, const jf_cascade *c, const jf_cascade_test *test,
                           const jf_cascade_options *options) {
    JF_NEEDS(CONTEXT_OF(c), out, c);
    jf_cascade_scores made;
    jf_cascade_test t;
    jf_cascade_options o;
    JF_TRY(SIZED_BEGIN(c->ctx, jf_cascade_scores, out));
    JF_TRY(SIZED_TAKE(c->ctx, jf_cascade_test, &t, test));
    JF_TRY(take_options(c->ctx, &o, options));
    JF_TRY(cascade_score(c, &t, &o, &made));
    SIZED_GIVE(jf_cascade_scores, out, &made);
    return JF_OK;
}

void jf_cascade_scores_free(jf_cascade_scores *scores) {
    if (scores) cascade_scores_free(scores);
}
