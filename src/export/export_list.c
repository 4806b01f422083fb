/* The list of formats: a new one is a file in this folder that defines `export_NAME`, and one line here. */
#include "base/file.h"
#include "export/export.h"
#include "model/use.h"
#include <stdlib.h>
#include <string.h>

#define FORMAT_LIST(X)                                                                                       \
    X(c)                                                                                                     \
    X(onnx)

#define X(name) extern const export_format export_##name;
FORMAT_LIST(X)
#undef X

const export_format *const export_formats[] = {
#define X(name) &export_##name,
    FORMAT_LIST(X)
#undef X
        NULL};

static const export_format *find(const char *path) {
    for (int i = 0; export_formats[i]; i++)
        if (strcmp(file_extension(path), export_formats[i]->ending) == 0) return export_formats[i];
    return NULL;
}

static jf_status fail_format(jf_context *ctx, const char *path) {
    text endings = {0};
    for (int i = 0; export_formats[i]; i++)
        text_add(&endings, "%s%s (%s)", i ? " or " : "", export_formats[i]->ending,
                 export_formats[i]->summary);
    jf_status status =
        jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: no format of exports has this ending; expected %s", path,
                endings.chars ? endings.chars : "another");
    text_free(&endings);
    return status;
}

static int begins_with_digit(const char *name) {
    return *name >= '0' && *name <= '9';
}

/* "out/My model-2.c" -> "My_model_2" */
static jf_status name_after(jf_context *ctx, char **out, const char *path, const char *ending) {
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    size_t length = strlen(stem) - strlen(ending), at = 0;
    JF_TRY(MEM_NEW(ctx, out, length + sizeof "model_"));
    if (length == 0 || begins_with_digit(stem)) at = strlen(strcpy(*out, "model_"));
    for (size_t i = 0; i < length; i++) (*out)[at++] = export_is_word(stem[i]) ? stem[i] : '_';
    return JF_OK;
}

static jf_status check_name(jf_context *ctx, const char *name) {
    int good = *name && !begins_with_digit(name);
    for (const char *c = name; *c; c++) good &= export_is_word(*c);
    if (good) return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT,
                   "name of an export: found \"%s\", expected letters, digits and _, and no digit first",
                   name);
}

jf_status export_model(const model *m, const char *path, const char *name, text *written) {
    const export_format *format = find(path);
    export_source *s = NULL;
    char *after_file = NULL;
    jf_status status;
    if (!format) return fail_format(m->ctx, path);
    if (!name) JF_TRY(name_after(m->ctx, &after_file, path, format->ending));
    JF_TRY_DONE(check_name(m->ctx, name ? name : after_file));
    JF_TRY_DONE(export_source_create(&s, m, name ? name : after_file));
    if (m->flow->embed)
        JF_TRY_DONE(export_refuse(s, format->ending, "the embedding", m->flow->embed->kind->name));
    JF_TRY_DONE(format->write(s, path, written));
    if (model_is_cut(m))
        jf_warn(
            m->ctx,
            "%s: it cannot draw again, as this program does for columns that are cut: what would lie beyond "
            "their bounds ends up on them, and densities are not divided by the share inside",
            path);
    if (model_then(m))
        jf_warn(m->ctx,
                "%s: it draws images of %d x %d, as the model does; what makes them larger (data.then = %s) "
                "is not "
                "part of it, and is exported by itself",
                path, m->units.image.h, m->units.image.w, model_then(m));
done:
    export_source_free(s);
    free(after_file);
    return status;
}
