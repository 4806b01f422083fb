/* Public: version, devices, recipes. */
#include "api/api.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *jf_version(void) {
    return JF_VERSION;
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

/* Folder i to look for shipped recipes in, yours to free: $JOINTFLOW_RECIPES, ./recipes, and from the
 * program's own place ../recipes (a build in its source tree) and ../share/jointflow/recipes (installed).
 * Returns 0 past the last; *out is NULL where a candidate does not apply. */
static int recipes_folder(jf_context *ctx, int i, char **out) {
    static const char *const from_program[] = {"recipes", "share/jointflow/recipes"};
    *out = NULL;
    if (i == 0) {
        if (getenv("JOINTFLOW_RECIPES")) mem_copy_text(ctx, out, getenv("JOINTFLOW_RECIPES"));
    } else if (i == 1) {
        mem_copy_text(ctx, out, "recipes");
    } else if (i < 4) {
        char program[4096];
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        if (length <= 0) return 1;
        program[length] = 0;
        for (int up = 0; up < 2; up++)
            if (strrchr(program, '/')) *strrchr(program, '/') = 0;
        file_join(ctx, out, program, from_program[i - 2]);
    } else {
        return 0;
    }
    return 1;
}

/* Where the recipe of that name that came with the program is: "NAME.ini" below one of these folders. */
static jf_status shipped_recipe(jf_context *ctx, char **out, const char *name) {
    char *folder, file[512];
    snprintf(file, sizeof file, "%s.ini", name);
    text places = {0};
    *out = NULL;
    for (int i = 0; !*out && recipes_folder(ctx, i, &folder); i++) {
        if (!folder) continue;
        char *path = NULL;
        if (file_join(ctx, &path, folder, file) == JF_OK && file_exists(path))
            *out = path;
        else
            free(path);
        text_add(&places, "%s%s", places.length ? ", " : "", folder);
        free(folder);
    }
    jf_status status = JF_OK;
    if (!*out)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: no such file, and no recipe of that name in %s", name,
                         places.chars ? places.chars : "any known folder");
    text_free(&places);
    return status;
}

/* By path or shipped name. */
static jf_status load_recipe(jf_context *ctx, recipe **out, const char *path) {
    char *shipped = NULL;
    *out = NULL;
    if (!file_exists(path) || file_is_folder(path)) JF_TRY(shipped_recipe(ctx, &shipped, path));
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

jf_status jf_recipe_load(jf_context *ctx, jf_recipe **out, const char *path) {
    JF_TRY(load_recipe(ctx, out, path));
    return declare_and_check(out);
}

jf_status jf_recipe_parse(jf_context *ctx, jf_recipe **out, const char *chars, const char *name) {
    JF_TRY(recipe_parse(ctx, out, chars, name));
    return declare_and_check(out);
}

jf_status jf_recipe_set(jf_recipe *r, const char *key, const char *value) {
    return recipe_set(r, key, value);
}

const char *jf_recipe_get(const jf_recipe *r, const char *key) {
    return recipe_get(r, key);
}

jf_status jf_recipe_text(const jf_recipe *r, char **out, int with_docs) {
    text t = {0};
    JF_TRY(recipe_check(r));
    recipe_write(r, &t, with_docs);
    jf_status status = text_check(recipe_context(r), &t);
    if (status != JF_OK) {
        text_free(&t);
        return status;
    }
    *out = t.chars;
    return JF_OK;
}

void jf_recipe_free(jf_recipe *r) {
    recipe_free(r);
}

/* First comment line of a recipe, for the list. */
static void summary_of(jf_context *ctx, const char *path, char *out, size_t size) {
    char *bytes;
    size_t length;
    *out = 0;
    if (file_read(ctx, &bytes, &length, path, 1 << 20) != JF_OK) return;
    if (bytes[0] == '#') snprintf(out, size, "%.*s", (int)strcspn(bytes + 1, "\n"), bytes + 1);
    free(bytes);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list_folder(jf_context *ctx, text *t, const char *folder, const char *prefix) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *dot = strrchr(name, '.');
        char *path = NULL, summary[160];
        if (dot && strcmp(dot, ".ini") == 0 && file_join(ctx, &path, folder, name) == JF_OK) {
            summary_of(ctx, path, summary, sizeof summary);
            text_add(t, "%s%.*s\t%s\n", prefix, (int)(dot - name), name,
                     summary[0] == ' ' ? summary + 1 : summary);
        }
        free(path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

jf_status jf_recipe_list(jf_context *ctx, char **out) {
    text t = {0};
    char *folder;
    *out = NULL;
    for (int i = 0; recipes_folder(ctx, i, &folder); i++) {
        char *paper = NULL;
        if (folder && file_is_folder(folder)) {
            list_folder(ctx, &t, folder, "");
            if (file_join(ctx, &paper, folder, "paper") == JF_OK) list_folder(ctx, &t, paper, "paper/");
        }
        free(paper);
        free(folder);
        if (t.length) break;
    }
    text_add(&t, "%s", "");
    jf_status status = text_check(ctx, &t);
    if (status == JF_OK)
        *out = t.chars;
    else
        text_free(&t);
    return status;
}
