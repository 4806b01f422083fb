/* The list of figures, and the public functions over it. */
#include "base/file.h"
#include "base/sized.h"
#include "figure/figure.h"
#include <string.h>

extern const figure_kind figure_1, figure_3, figure_4, figure_5, figure_6, figure_7, figure_a3, figure_c1,
    figure_d1, figure_e1, figure_f1, figure_f2, figure_f3, figure_f4, figure_f5, figure_f6, figure_f7,
    figure_f8;

const figure_kind *const figure_kinds[] = {&figure_1,  &figure_c1, &figure_3,  &figure_4,  &figure_d1,
                                           &figure_5,  &figure_a3, &figure_6,  &figure_f1, &figure_f2,
                                           &figure_f3, &figure_f4, &figure_f5, &figure_f6, &figure_f7,
                                           &figure_f8, &figure_7,  &figure_e1, NULL};

const char *jf_figure_name(int index) {
    for (int i = 0; figure_kinds[i]; i++)
        if (i == index) return figure_kinds[i]->name;
    return NULL;
}

const char *jf_figure_summary(int index) {
    for (int i = 0; figure_kinds[i]; i++)
        if (i == index) return figure_kinds[i]->summary;
    return NULL;
}

/* ---- drawing ---- */

/* "A.3" and "A3" are the same. */
static int same_name(const char *a, const char *b) {
    for (;; a++, b++) {
        a += *a == '.';
        b += *b == '.';
        if (*a != *b) return 0;
        if (!*a) return 1;
    }
}

/* "all", or "F" for F.1 to F.8. */
static int in_group(const char *group, const figure_kind *kind) {
    return strcmp(group, "all") == 0 || (strcmp(group, "F") == 0 && kind->name[0] == 'F');
}

static int is_group(const char *name) {
    return strcmp(name, "all") == 0 || strcmp(name, "F") == 0;
}

/* What is not there is left out and said; other failures end it. */
static jf_status draw_group(jf_context *ctx, const char *group, const jf_figure_options *o) {
    for (int i = 0; figure_kinds[i]; i++) {
        const figure_kind *kind = figure_kinds[i];
        if (!in_group(group, kind)) continue;
        jf_status status = kind->make(&(figure_job){ctx, o, kind, o->fresh});
        if (status == JF_ERROR_IO || status == JF_ERROR_DATA)
            jf_warn(ctx, "figure %s is left out: %s", kind->name, jf_context_error(ctx));
        else if (status != JF_OK)
            return status;
        else
            jf_log(ctx, "figure %s: drawn", kind->name);
    }
    return JF_OK;
}

jf_status jf_figure(jf_context *ctx, const char *name, const jf_figure_options *options) {
    JF_NEEDS(ctx, ctx, name);
    jf_figure_options o;
    text known = {0};
    const figure_kind *kind = NULL;
    JF_TRY(SIZED_TAKE(ctx, jf_figure_options, &o, options));
    JF_NEEDS_EACH(ctx, o.models, o.model_count);
    for (int i = 0; figure_kinds[i]; i++) {
        if (same_name(figure_kinds[i]->name, name)) kind = figure_kinds[i];
        text_add(&known, "%s%s", i ? ", " : "", figure_kinds[i]->name);
    }
    jf_status status = JF_OK;
    if (!kind && !is_group(name))
        status = jf_fail(ctx, JF_ERROR_ARGUMENT, "no figure \"%s\"; there are: %s, F and all", name,
                         known.chars ? known.chars : "");
    else if (!o.folder)
        status = jf_fail(ctx, JF_ERROR_ARGUMENT, "figure %s: no folder was given", name);
    text_free(&known);
    if (status == JF_OK) status = file_make_folder(ctx, o.folder);
    if (status != JF_OK) return status;
    if (!kind) return draw_group(ctx, name, &o);
    return kind->make(&(figure_job){ctx, &o, kind, !o.model_folder});
}
