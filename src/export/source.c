#include "export/source.h"
#include "base/number.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int export_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static jf_status take_map(const export_source *s, int32_t **out, const int32_t *map, size_t count) {
    JF_TRY(MEM_NEW(s->ctx, out, count));
    for (size_t i = 0; i < count; i++) (*out)[i] = flow_row_element(s->m->flow, map[i]);
    return JF_OK;
}

static jf_status take_layer(const export_source *s, export_layer *l, const transform *t) {
    l->form = t->kind->describe(t);
    l->of_y = t->of_y;
    const coupling_layer *c = l->form.coupling;
    size_t elements = (size_t)l->form.rows * (size_t)l->form.m;
    JF_TRY(take_map(s, &l->from, c ? c->source : l->form.from, c ? (size_t)c->k : elements));
    return take_map(s, &l->to, c ? c->target : l->form.to, c ? (size_t)c->m : elements);
}

static jf_status fill(export_source *s, const char *name) {
    const model *m = s->m;
    const flow *f = m->flow;
    JF_TRY(mem_copy_text(s->ctx, &s->name, name));
    JF_TRY(MEM_NEW(s->ctx, &s->params, m->parameters.total));
    m->d->kind->get(m->d, s->params, m->params, m->parameters.total);
    JF_TRY(m->d->kind->status(m->d));
    JF_TRY(MEM_NEW(s->ctx, &s->layer, (size_t)f->layers));
    for (; s->layers < f->layers; s->layers++)
        JF_TRY(take_layer(s, &s->layer[s->layers], &f->chain[s->layers]));
    return JF_OK;
}

jf_status export_source_create(export_source **out, const model *m, const char *name) {
    const flow *f = m->flow;
    export_source *s;
    *out = NULL;
    JF_TRY(MEM_NEW(m->ctx, &s, 1));
    *s = (export_source){.m = m,
                         .ctx = m->ctx,
                         .dim_x = f->dim_x,
                         .dim_y = f->dim_y,
                         .dim = f->dim,
                         .apart = f->apart,
                         .to_data = !model_is_encoder(m)};
    jf_status status = fill(s, name);
    if (status == JF_OK)
        *out = s;
    else
        export_source_free(s);
    return status;
}

void export_source_free(export_source *s) {
    if (!s) return;
    for (int i = 0; s->layer && i < s->m->flow->layers; i++) {
        free(s->layer[i].from);
        free(s->layer[i].to);
    }
    free(s->layer);
    free(s->params);
    free(s->name);
    free(s);
}

column_support export_support(const export_source *s, int i, int *whole) {
    const model_units *u = &s->m->units;
    column_support c = u->support ? u->support[i] : (column_support){.kind = SUPPORT_LINE};
    *whole = c.kind == SUPPORT_WHOLE;
    return *whole ? support_around_whole(&c) : c;
}

int export_has_supports(const export_source *s) {
    const column_support *support = s->m->units.support;
    int found = 0;
    for (int i = 0; support && i < s->dim; i++) found |= support[i].kind != SUPPORT_LINE;
    return found;
}

/* ---- in words ---- */

static void describe_columns(const export_source *s, text *out) {
    const model_units *u = &s->m->units;
    for (int i = 0; i < s->dim && (u->names || u->support); i++) {
        char words[96] = "any number";
        int is_class = i >= s->dim_x && u->image.h == 0 && units_planes(u);
        if (u->support) support_words(&u->support[i], words, sizeof words);
        text_add(out, "%c%d: %s%s%s\n", i < s->dim_x ? 'x' : 'y', i < s->dim_x ? i : i - s->dim_x,
                 u->names ? u->names[i] : "", u->names ? ", " : "", is_class ? "0 or 1, for a class" : words);
    }
}

static void describe_images(const export_source *s, text *out) {
    image_size size = s->m->units.image;
    if (size.h == 0) return;
    text_add(out, "x: an image [%d][%d][%d], y: [%d][%d][%d], of the task \"%s\"\n", size.h, size.w,
             size.x_channels, size.h, size.w, size.y_channels, recipe_get(s->m->recipe, "data.task"));
    if (model_then(s->m))
        text_add(out, "what makes these images larger is exported by itself: %s\n", model_then(s->m));
}

static void describe_classes(const export_source *s, text *out) {
    const model_units *u = &s->m->units;
    for (int i = 0; s->dim_y > 0 && i < u->classes; i++) {
        text_add(out, "class %d%s%s: ", i, u->class_name[i][0] ? ", " : "", u->class_name[i]);
        if (units_planes(u)) {
            text_add(out,
                     u->image.h > 0 ? "y = 1 in channel %d, 0 in the others\n" : "y%d = 1, all others 0\n",
                     i);
            continue;
        }
        text_add(out, "y = ");
        text_add_number(out, u->label[i]);
        text_add(out, "\n");
    }
}

void export_describe(const export_source *s, text *out) {
    text_add(out, "p(x | y), x of %d number%s, y of %d\n", s->dim_x, s->dim_x == 1 ? "" : "s", s->dim_y);
    describe_columns(s, out);
    describe_images(s, out);
    describe_classes(s, out);
    if (s->m->trained[0]) text_add(out, "%s\n", s->m->trained);
}

jf_status export_refuse(const export_source *s, const char *format, const char *what, const char *name) {
    return jf_fail(s->ctx, JF_ERROR_UNSUPPORTED,
                   "%s files cannot hold %s \"%s\" of this model; expected another format, or a model "
                   "without it",
                   format, what, name);
}
