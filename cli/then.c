#include "then.h"
#include <stdlib.h>
#include <string.h>

int then_find(const call *c, const char *name, char *files[JF_CHAIN_MOST], int *count) {
    for (int i = 0;; i++) {
        char *file = NULL;
        if (jf_model_find(&file, c->ctx, name, i) != JF_OK) return cli_fail_library(c);
        if (!file) return CLI_OK;
        if (*count == JF_CHAIN_MOST) {
            free(file);
            return cli_misuse(c->command, "%s: more than %d models", name, JF_CHAIN_MOST);
        }
        files[(*count)++] = file;
    }
}

/* Names, separated by commas. */
static int find_all(const call *c, const char *names, char *files[JF_CHAIN_MOST], int *count) {
    int code = CLI_OK;
    for (const char *at = names; code == CLI_OK && *at;) {
        size_t length = strcspn(at, ",");
        char *name = cli_join("%.*s", (int)length, at);
        code = name ? then_find(c, name, files, count) : cli_fail_memory();
        free(name);
        at += length + (at[length] == ',');
    }
    return code;
}

int followers_load(const call *c, const jf_model *m, followers *out) {
    const char *given = option_text(c->arguments, "then"), *name = given ? given : jf_model_then(m);
    char *files[JF_CHAIN_MOST];
    int count = 0, code = CLI_OK;
    *out = (followers){.count = 0};
    if (!*name || strcmp(name, "none") == 0) return CLI_OK;
    code = find_all(c, name, files, &count);
    for (int i = 0; i < count; i++) {
        if (code == CLI_OK) code = cli_load_model(c, &out->models[i], files[i]);
        if (code == CLI_OK) out->count++;
        free(files[i]);
    }
    return code;
}

void followers_free(followers *f) {
    for (size_t i = 0; i < f->count; i++) jf_model_free(f->models[i]);
    f->count = 0;
}

int followers_enlarge(const call *c, const followers *f, jf_images *images) {
    jf_chain_options options = {.size = sizeof(jf_chain_options),
                                .seed = option_whole(c->arguments, "seed"),
                                .denoise = option_given(c->arguments, "denoise")};
    jf_chain_result r = {.size = sizeof(jf_chain_result)};
    if (f->count == 0) return CLI_OK;
    if (jf_superres_chain(&r, (const jf_model *const *)f->models, f->count, images, &options) != JF_OK)
        return cli_fail_library(c);
    jf_images_free(images);
    *images = r.made[r.steps - 1];
    r.made[r.steps - 1] = (jf_images){0};
    jf_chain_result_free(&r);
    return CLI_OK;
}
