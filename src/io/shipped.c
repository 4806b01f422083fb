#include "io/shipped.h"
#include "base/file.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

jf_status shipped_find(jf_context *ctx, char **out, const char *name) {
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

void shipped_list(jf_context *ctx, text *t) {
    char *folder;
    for (int i = 0; recipes_folder(ctx, i, &folder); i++) {
        char *paper = NULL;
        if (folder && file_is_folder(folder)) {
            list_folder(ctx, t, folder, "");
            if (file_join(ctx, &paper, folder, "paper") == JF_OK) list_folder(ctx, t, paper, "paper/");
        }
        free(paper);
        free(folder);
        if (t->length) break;
    }
}
