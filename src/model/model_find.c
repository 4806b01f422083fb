#include "model/model_find.h"
#include "base/file.h"
#include "base/memory.h"
#include "compute/place.h"
#include "io/shipped.h"
#include "model/use.h"
#include "ranks/ranks.h"
#include <stdlib.h>

static int is_run(jf_context *ctx, const char *folder) {
    char *recipe_file = NULL;
    int found = file_join(ctx, &recipe_file, folder, "recipe.ini") == JF_OK && file_exists(recipe_file);
    free(recipe_file);
    return found;
}

/* Model `index` of a folder of several: one that is there, or one that came with the program. The folder of a
 * run has one model, or none yet. */
static jf_status member_at(jf_context *ctx, char **out, const char *name, int index) {
    char *shipped = NULL;
    *out = NULL;
    if (file_is_folder(name) && is_run(ctx, name)) return JF_OK;
    if (!file_is_folder(name)) JF_TRY(shipped_find_folder(ctx, &shipped, &shipped_models, name));
    const char *folder = shipped ? shipped : name;
    jf_status status =
        file_is_folder(folder) ? shipped_file_at(ctx, out, &shipped_models, folder, index) : JF_OK;
    free(shipped);
    return status;
}

/* A run folder's model file, yours to free; NULL: it has none, or `path` is no folder. */
static jf_status model_of_run(jf_context *ctx, char **out, const char *path) {
    *out = NULL;
    if (!file_is_folder(path)) return JF_OK;
    JF_TRY(file_join(ctx, out, path, "model.safetensors"));
    if (!file_exists(*out)) {
        free(*out);
        *out = NULL;
    }
    return JF_OK;
}

jf_status model_find(jf_context *ctx, char **out, const char *name, int index) {
    JF_TRY(model_of_run(ctx, out, name));
    if (!*out && file_exists(name) && !file_is_folder(name)) JF_TRY(mem_copy_text(ctx, out, name));
    if (*out) {
        if (index == 0) return JF_OK;
        free(*out);
        *out = NULL;
        return JF_OK;
    }
    JF_TRY(member_at(ctx, out, name, index));
    if (*out || index > 0) return JF_OK;
    if (file_is_folder(name))
        return jf_fail(ctx, JF_ERROR_IO, "%s: a folder without model.safetensors, so not a finished run",
                       name);
    return shipped_find(ctx, out, &shipped_models, name);
}

static jf_status load_for_all(jf_context *ctx, model **out, const char *file, const char *on, int threads,
                              jf_status (*declare_all)(recipe *r)) {
    ranks *r = ranks_of(ctx);
    char name[DEVICE_MAX_NAME];
    on = device_name_at(on, ranks_place(r), name);
    jf_status status = ranks_agree(r, model_load(ctx, out, file, on, ranks_threads(r, threads), declare_all));
    if (status == JF_OK) status = model_check_same(*out, "model (checksum of its weights)");
    if (status == JF_OK) return JF_OK;
    model_free(*out);
    *out = NULL;
    return status;
}

jf_status model_open(jf_context *ctx, model **out, const char *name, const char *on, int threads,
                     jf_status (*declare_all)(recipe *r)) {
    char *file = NULL, *second = NULL;
    jf_status status;
    *out = NULL;
    JF_TRY(model_find(ctx, &file, name, 0));
    JF_TRY_DONE(model_find(ctx, &second, name, 1));
    if (second)
        JF_TRY_DONE(jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: several models (%s, %s, ...), expected one: name it",
                            name, file, second));
    JF_TRY_DONE(load_for_all(ctx, out, file, on, threads, declare_all));
done:
    free(file);
    free(second);
    return status;
}
