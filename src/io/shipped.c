#define _GNU_SOURCE /* dladdr */
#include "io/shipped.h"
#include "base/file.h"
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const shipped_kind shipped_recipes = {"recipe", "JOINTFLOW_RECIPES", "recipes", ".ini"};
const shipped_kind shipped_models = {"model", "JOINTFLOW_MODELS", "models", ".safetensors"};

/* ---- where to look ---- */

/* Cuts the last parts off a path. */
static void go_up(char *path, int parts) {
    for (; parts > 0 && strrchr(path, '/'); parts--) *strrchr(path, '/') = 0;
}

static int program_path(char *out, size_t size) {
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length <= 0) return 0;
    out[length] = 0;
    return 1;
}

/* A folder from the place that the program's own folder (bin, build) lies in. */
static void beside_program(jf_context *ctx, char **out, const char *folder) {
    char program[4096];
    if (!program_path(program, sizeof program)) return;
    go_up(program, 2);
    file_join(ctx, out, program, folder);
}

/* The same from the place of the library, which programs such as interpreters load from elsewhere: `up` is 2
 * where it lies in lib or build, 3 where in lib/x86_64-linux-gnu. Does not apply where it is linked
 * statically. */
static void beside_library(jf_context *ctx, char **out, const char *folder, int up) {
    char library[4096], program[4096];
    Dl_info found;
    if (!dladdr(&shipped_models, &found) || !found.dli_fname || !realpath(found.dli_fname, library)) return;
    if (program_path(program, sizeof program) && strcmp(program, library) == 0) return;
    go_up(library, up);
    file_join(ctx, out, library, folder);
}

/* Folder i to look into, yours to free: the one that the environment names, the one below the working folder,
 * and from the program's and the library's own places those of a build in its source tree and of an
 * installation. Returns 0 past the last; *out is NULL where a candidate does not apply. */
static int candidate(jf_context *ctx, const shipped_kind *kind, int i, char **out) {
    char installed[64];
    *out = NULL;
    if (i == 0 && getenv(kind->variable)) mem_copy_text(ctx, out, getenv(kind->variable));
    if (i == 1) mem_copy_text(ctx, out, kind->folder);
    if (i == 2) beside_program(ctx, out, kind->folder);
    snprintf(installed, sizeof installed, "share/jointflow/%s", kind->folder);
    if (i == 3) beside_program(ctx, out, installed);
    if (i == 4) beside_library(ctx, out, kind->folder, 2);
    if (i == 5) beside_library(ctx, out, installed, 2);
    if (i == 6) beside_library(ctx, out, installed, 3);
    return i < 7;
}

/* Tries NAME + ending in each candidate; `places`, which may be NULL, gets those that were tried. */
static void look_for(jf_context *ctx, char **out, const shipped_kind *kind, const char *name,
                     const char *ending, text *places) {
    char *folder, file[512];
    snprintf(file, sizeof file, "%s%s", name, ending);
    *out = NULL;
    for (int i = 0; !*out && candidate(ctx, kind, i, &folder); i++) {
        char *path = NULL;
        if (!folder) continue;
        if (file_join(ctx, &path, folder, file) == JF_OK && file_exists(path) &&
            !file_is_folder(path) == (*ending != 0))
            *out = path;
        else
            free(path);
        if (places) text_add(places, "%s%s", places->length ? ", " : "", folder);
        free(folder);
    }
}

int shipped_is_folder(jf_context *ctx, const shipped_kind *kind, const char *folder) {
    char *one;
    int found = 0;
    for (int i = 0; !found && candidate(ctx, kind, i, &one); i++) {
        char *real = one && *one == '/' ? realpath(one, NULL) : NULL;
        found = real && strcmp(real, folder) == 0;
        free(real);
        free(one);
    }
    return found;
}

jf_status shipped_find(jf_context *ctx, char **out, const shipped_kind *kind, const char *name) {
    text places = {0};
    jf_status status = JF_OK;
    look_for(ctx, out, kind, name, kind->ending, &places);
    if (!*out)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: no such file, and no %s of that name in %s", name, kind->what,
                         places.chars ? places.chars : "any known folder");
    text_free(&places);
    return status;
}

jf_status shipped_find_folder(jf_context *ctx, char **out, const shipped_kind *kind, const char *name) {
    (void)ctx;
    *out = NULL;
    if (*name) look_for(ctx, out, kind, name, "", NULL);
    return JF_OK;
}

/* ---- what is there ---- */

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_of_kind(const shipped_kind *kind, const char *name) {
    size_t length = strlen(name), ending = strlen(kind->ending);
    return length > ending && strcmp(name + length - ending, kind->ending) == 0;
}

jf_status shipped_file_at(jf_context *ctx, char **out, const shipped_kind *kind, const char *folder,
                          int index) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    jf_status status = JF_OK;
    *out = NULL;
    for (int i = 0; i < count; i++) {
        if (is_of_kind(kind, entries[i]->d_name) && index-- == 0)
            status = file_join(ctx, out, folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return status;
}

/* The first comment of a recipe; of a model the first line of its card that is no heading. */
static void summary_of(jf_context *ctx, const char *path, const shipped_kind *kind, char *out, size_t size) {
    char *bytes = NULL, *card = NULL;
    size_t length;
    const char *line = NULL;
    *out = 0;
    if (kind == &shipped_recipes) {
        if (file_read(ctx, &bytes, &length, path, 1 << 20) == JF_OK && bytes[0] == '#') line = bytes + 1;
    } else if (mem_copy_text(ctx, &card, path) == JF_OK) { /* NAME.md is shorter than NAME.safetensors */
        strcpy(card + strlen(card) - strlen(kind->ending), ".md");
        if (file_exists(card) && file_read(ctx, &bytes, &length, card, 1 << 20) == JF_OK)
            for (line = bytes; *line == '#' || *line == '\n'; line += *line == '\n')
                line += strcspn(line, "\n");
    }
    if (line) line += strspn(line, " ");
    if (line) snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
    free(bytes);
    free(card);
}

static void list_file(jf_context *ctx, text *t, const shipped_kind *kind, const char *path,
                      const char *prefix) {
    const char *name = strrchr(path, '/') + 1;
    char summary[240];
    summary_of(ctx, path, kind, summary, sizeof summary);
    text_add(t, "%s%.*s\t%s\n", prefix, (int)(strlen(name) - strlen(kind->ending)), name, summary);
}

/* Its files first, then those of the folders in it. */
static void list_folder(jf_context *ctx, text *t, const shipped_kind *kind, const char *folder,
                        const char *prefix) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            const char *name = entries[i]->d_name;
            char *path = NULL, inner[300];
            if (name[0] == '.' || file_join(ctx, &path, folder, name) != JF_OK) continue;
            if (pass == 0 && is_of_kind(kind, name)) list_file(ctx, t, kind, path, prefix);
            if (pass == 1 && !*prefix && file_is_folder(path)) {
                snprintf(inner, sizeof inner, "%s/", name);
                list_folder(ctx, t, kind, path, inner);
            }
            free(path);
        }
    for (int i = 0; i < count; i++) free(entries[i]);
    if (count >= 0) free(entries);
}

void shipped_list(jf_context *ctx, text *t, const shipped_kind *kind) {
    char *folder;
    for (int i = 0; candidate(ctx, kind, i, &folder); i++) {
        if (folder && file_is_folder(folder)) list_folder(ctx, t, kind, folder, "");
        free(folder);
        if (t->length) break;
    }
}
