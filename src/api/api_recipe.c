/* Public: version, devices, recipes. */
#include "api/api.h"
#include "io/shipped.h"
#include "train/table_recipe.h"
#include <stdlib.h>

const char *jf_version(void) {
    return JF_VERSION;
}

int jf_version_check(int major, int minor, int patch) {
    if (major != JF_VERSION_MAJOR || minor < 0 || patch < 0) return 0;
    if (minor != JF_VERSION_MINOR) return JF_VERSION_MAJOR > 0 && minor < JF_VERSION_MINOR;
    return patch <= JF_VERSION_PATCH;
}

void jf_text_free(char *chars) {
    free(chars);
}

const char *jf_device_name(int index) {
    for (int i = 0; device_kinds[i]; i++)
        if (i == index) return device_kinds[i]->name;
    return NULL;
}

const char *jf_device_summary(int index) {
    for (int i = 0; device_kinds[i]; i++)
        if (i == index) return device_kinds[i]->summary;
    return NULL;
}

int jf_device_is_missing(int index, char *why, size_t size) {
    for (int i = 0; device_kinds[i]; i++)
        if (i == index) return device_is_missing(device_kinds[i], why, size);
    return 1;
}

/* By path or shipped name. */
static jf_status load_recipe(jf_context *ctx, recipe **out, const char *path) {
    char *shipped = NULL;
    *out = NULL;
    if (!file_exists(path) || file_is_folder(path))
        JF_TRY(shipped_find(ctx, &shipped, &shipped_recipes, path));
    jf_status status = recipe_load(ctx, out, shipped ? shipped : path);
    free(shipped);
    return status;
}

static jf_status declare_and_check(recipe **r) {
    jf_status status = recipe_declare_all(*r);
    if (status == JF_OK) status = recipe_check(*r);
    if (status == JF_OK) return JF_OK;
    recipe_free(*r);
    *r = NULL;
    return status;
}

jf_status jf_recipe_load(jf_recipe **out, jf_context *ctx, const char *path) {
    JF_GIVES(ctx, out, ctx, path);
    JF_TRY(load_recipe(ctx, out, path));
    return declare_and_check(out);
}

jf_status jf_recipe_parse(jf_recipe **out, jf_context *ctx, const char *chars, const char *name) {
    JF_GIVES(ctx, out, ctx, chars, name);
    JF_TRY(recipe_parse(ctx, out, chars, name));
    return declare_and_check(out);
}

jf_status jf_recipe_for_table(jf_recipe **out, jf_context *ctx, const jf_table_request *request) {
    JF_GIVES(ctx, out, ctx, request);
    jf_table_request q;
    JF_TRY(SIZED_TAKE(ctx, jf_table_request, &q, request));
    if (!q.x && !q.data)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "a recipe for a table: neither a file of x nor data were given");
    if (q.data && (q.x || q.y))
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "a recipe for a table: both data in memory and a file were given");
    return table_recipe_create(ctx, out, &q);
}

jf_status jf_recipe_set(jf_recipe *r, const char *key, const char *value) {
    JF_NEEDS(r ? recipe_context(r) : NULL, r, key, value);
    return recipe_set(r, key, value);
}

const char *jf_recipe_get(const jf_recipe *r, const char *key) {
    if (!r || !key) return NULL;
    return recipe_get(r, key);
}

jf_status jf_recipe_text(char **out, const jf_recipe *r, int with_docs) {
    JF_GIVES(r ? recipe_context(r) : NULL, out, r);
    text t = {0};
    JF_TRY(recipe_check(r));
    recipe_write(r, &t, with_docs);
    return give_text(recipe_context(r), out, &t, JF_OK);
}

void jf_recipe_free(jf_recipe *r) {
    recipe_free(r);
}

jf_status jf_recipe_list(char **out, jf_context *ctx) {
    JF_GIVES(ctx, out, ctx);
    text t = {0};
    shipped_list(ctx, &t, &shipped_recipes);
    return give_text(ctx, out, &t, JF_OK);
}
