/* The list of figures, and the public functions over it. */
#include "base/file.h"
#include "figure/figure.h"
#include <string.h>

extern const figure_kind figure_1, figure_3, figure_4, figure_5, figure_6, figure_7, figure_a5, figure_c1,
    figure_d1, figure_e1, figure_f;

const figure_kind *const figure_kinds[] = {&figure_1,  &figure_c1, &figure_3,  &figure_4,
                                           &figure_d1, &figure_5,  &figure_a5, &figure_6,
                                           &figure_f,  &figure_7,  &figure_e1, NULL};

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

jf_status jf_figure(jf_context *ctx, const char *name, const jf_figure_options *options) {
    text known = {0};
    const figure_kind *kind = NULL;
    for (int i = 0; figure_kinds[i]; i++) {
        if (strcmp(figure_kinds[i]->name, name) == 0) kind = figure_kinds[i];
        text_add(&known, "%s%s", i ? ", " : "", figure_kinds[i]->name);
    }
    jf_status status = JF_OK;
    if (!kind)
        status = jf_fail(ctx, JF_ERROR_ARGUMENT, "no figure \"%s\"; there are: %s", name,
                         known.chars ? known.chars : "");
    else if (!options || !options->folder)
        status = jf_fail(ctx, JF_ERROR_ARGUMENT, "figure %s: no folder was given", name);
    text_free(&known);
    if (status == JF_OK) status = file_make_folder(ctx, options->folder);
    return status == JF_OK ? kind->make(&(figure_job){ctx, options}) : status;
}
