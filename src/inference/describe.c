#include "inference/describe.h"
#include "inference/image_conditions.h"

/* "images      14 x 14, 1 channel (superres, from 7 x 7)"; nothing for models of vectors. */
static jf_status describe_images(const model *m, text *out) {
    task *t;
    if (m->units.image.h == 0) return JF_OK;
    JF_TRY(model_task(m, &t));
    text_add(out, "images      %d x %d, %d channel%s (%s", t->size.h, t->size.w, t->image_channels,
             t->image_channels == 1 ? "" : "s", t->kind->name);
    if (t->kind->condition) text_add(out, ", from %d x %d", t->input_h, t->input_w);
    if (t->kind->condition && t->input_channels != t->image_channels)
        text_add(out, " in %d channel%s", t->input_channels, t->input_channels == 1 ? "" : "s");
    text_add(out, ")\n");
    if (model_then(m))
        text_add(out, "then        %s makes them larger; densities are of %d x %d\n", model_then(m),
                 t->size.h, t->size.w);
    task_free(t);
    return JF_OK;
}

static void describe_classes(const model_units *u, text *out) {
    for (int c = 0; c < u->classes; c++) {
        text_add(out, "%s", c ? ", " : "classes     ");
        text_add_number(out, u->label[c]);
        if (u->class_name[c][0]) text_add(out, " (%s)", u->class_name[c]);
    }
    if (u->classes) text_add(out, "\n");
}

/* "columns     a (0 to 1), b; given c, d"; nothing where they have neither names nor supports. */
static void describe_columns(const model_units *u, text *out) {
    enum { SHOWN = 40 };
    int dim = u->dim_x + u->dim_y;
    char words[96];
    if (!u->names && !u->support) return;
    if (u->image.h == 0 && units_planes(u)) dim = u->dim_x + 1; /* one column has all classes */
    for (int i = 0; i < dim && i < SHOWN; i++) {
        int is_x = i < u->dim_x;
        text_add(out, "%s", i == 0 ? "columns     " : i == u->dim_x ? "; given " : ", ");
        if (u->names)
            text_add(out, "%s", u->names[i]);
        else
            text_add(out, "%s%d", is_x ? "x" : "y", is_x ? i : i - u->dim_x);
        if (u->support && u->support[i].kind != SUPPORT_LINE)
            text_add(out, " (%s)", support_words(&u->support[i], words, sizeof words));
    }
    text_add(out, dim > SHOWN ? ", ...\n" : "\n");
}

jf_status model_describe(const model *m, text *out) {
    const flow *f = m->flow;
    char device_words[DEVICE_MAX_WORDS];
    device_describe(m->d, device_words);
    text_add(out, "recipe      %s\n", recipe_short_name(m->recipe));
    const objective_kind *kind = m->objective.kind;
    text_add(out, "data        %s\n", kind->from_data ? recipe_get(m->recipe, "data.set") : "none");
    text_add(out, "objective   %s (%s)\n", kind->name, loss_summary(kind));
    text_add(out, "dimensions  x %d, y %d%s\n", f->dim_x, f->dim_y,
             f->dim_y ? f->fixed   ? ", condition fixed"
                        : f->apart ? ", condition flow"
                                   : ", condition joint"
                      : "");
    JF_TRY(describe_images(m, out));
    describe_classes(&m->units, out);
    describe_columns(&m->units, out);
    if (f->embed) {
        text_add(out, "embedding   ");
        embed_describe(f->embed, out);
        text_add(out, "\n");
    }
    text_add(out, "flow        ");
    flow_describe(f, out);
    text_add(out, ", law %s, networks %s\n", recipe_get(m->recipe, "model.law"),
             recipe_get(m->recipe, "model.net"));
    text_add(out, "parameters  %zu\n", m->parameters.total);
    text_add(out, "training    %s, seed %llu\n", m->trained[0] ? m->trained : "none",
             (unsigned long long)m->seed);
    text_add(out, "device      %s\n", device_words);
    return JF_OK;
}
