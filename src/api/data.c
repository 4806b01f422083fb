/* Public: the data sets that are known by name. */
#include "api/api.h"
#include "data/known.h"

jf_status jf_data_list(jf_context *ctx, char **out) {
    text lines = {0};
    *out = NULL;
    jf_status status = known_list(ctx, &lines);
    return give_text(ctx, out, &lines, status);
}

jf_status jf_data_check(jf_context *ctx, char **out, const char *folder, int *bad) {
    text lines = {0};
    *out = NULL;
    jf_status status = known_check(ctx, &lines, folder, bad);
    return give_text(ctx, out, &lines, status);
}

jf_status jf_data_fetch(jf_context *ctx, char **out, const char *name, const jf_data_options *options) {
    static const jf_data_options defaults;
    const jf_data_options *o = options ? options : &defaults;
    text lines = {0};
    *out = NULL;
    const known_set *set = known_find(ctx, name);
    if (!set) return JF_ERROR_ARGUMENT;
    jf_status status = known_fetch(ctx, &lines, set,
                                   &(known_fetch_options){.folder = o->folder,
                                                          .mirrors = o->mirrors,
                                                          .mirror_count = o->mirror_count,
                                                          .progress = o->progress,
                                                          .user = o->user,
                                                          .stop = o->stop});
    return give_text(ctx, out, &lines, status);
}
