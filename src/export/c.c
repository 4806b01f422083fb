/* Export as a C file: C99, no dependencies but libm, nothing allocated. Constant tables of the layers and
 * their weights, and those of the parts in export/c/ that run them: every export holds only what its model
 * needs. */
#include "base/file.h"
#include "export/c_file.h"
#include "export/export.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORMAT      ".c"
#define ARRAY_NAME  32
#define MOST_PLACES 65536 /* elements of a row that 16 bits tell apart */

/* ---- what the file holds ---- */

/* The law and the networks of the couplings, which are of one kind in all of them. */
typedef struct c_couplings {
    law_config law;
    const c_net_kind *kind;
    const void *nets; /* of the first */
} c_couplings;

static const char *law_part(law_id law) {
    static const char *const parts[law_count] = {
        [law_affine] = "affine", [law_shear] = "shear", [law_additive] = "additive",
        [law_spline] = "spline", [law_scale] = "scale", [law_linear] = "linear"};
    return parts[law];
}

static jf_status find_couplings(const export_source *s, c_couplings *out) {
    *out = (c_couplings){0};
    for (int i = 0; i < s->layers; i++) {
        const coupling_layer *c = s->layer[i].form.coupling;
        law_id law = c ? c->law.id : s->layer[i].form.law.id;
        const c_net_kind *kind = c && c->nets ? c_net_find(c->form) : NULL;
        if (!law_part(law)) return export_refuse(s, FORMAT, "the law", law_name(law));
        if (!c) continue;
        if (!kind || (out->kind && kind != out->kind))
            return export_refuse(s, FORMAT, "networks of the kind", c->form);
        if (!out->kind) *out = (c_couplings){c->law, kind, c->nets};
    }
    return JF_OK;
}

static int has_shared(const export_source *s, law_id law) {
    int found = 0;
    for (int i = 0; i < s->layers; i++) found |= !s->layer[i].form.coupling && s->layer[i].form.law.id == law;
    return found;
}

/* Numbers that a layer needs beside the row. */
static size_t layer_scratch(const export_layer *l, const c_net_kind *kind) {
    const coupling_layer *c = l->form.coupling;
    size_t most = 0;
    if (!c) return (size_t)l->form.m;
    for (int k = 0; k < 2; k++)
        if (kind->exists(c->nets, k) && kind->scratch(c->nets, k) > most) most = kind->scratch(c->nets, k);
    return (size_t)c->k + (size_t)c->m + (size_t)law_outputs(&c->law, c->m) +
           (size_t)law_shifts(&c->law, c->m) + most;
}

static size_t scratch_of(const export_source *s, const c_net_kind *kind) {
    size_t most = 0;
    for (int i = 0; i < s->layers; i++) {
        size_t scratch = layer_scratch(&s->layer[i], kind);
        if (scratch > most) most = scratch;
    }
    return 2 * (size_t)s->dim + most; /* the row, and where it ends */
}

/* ---- the head ---- */

/* Whether a character may follow another in a comment: names of columns and classes are anybody's, and shall
 * neither end it, nor begin one, nor be a trigraph or join two lines. */
static int may_follow(char before, char c) {
    return !(before == '*' && c == '/') && !(before == '/' && c == '*') && !(before == '?' && c == '?') &&
           c != '\\' && c != '\r';
}

/* Words about the model as lines of a comment. */
static void add_comment(c_file *f) {
    text words = {0};
    char before = ' ';
    export_describe(f->s, &words);
    for (size_t i = 0; i < words.length; i++) {
        char c = words.chars[i];
        if (c == '\n') {
            text_add(&f->out, i + 1 < words.length ? "\n * " : "");
            before = ' ';
        } else if (may_follow(before, c)) {
            text_add_chars(&f->out, &c, 1);
            before = c;
        }
    }
    f->out.failed |= words.failed;
    text_free(&words);
}

static void add_head(c_file *f, const c_net_kind *kind) {
    text defines = {0};
    text_add(
        &f->out,
        "/* %s: a model, exported by jointflow. C99, to be linked with libm; nothing is allocated.\n *\n * ",
        f->s->name);
    add_comment(f);
    text_add(&f->out, "\n *\n * Other files that call it include this one with ");
    c_add_text(f, "MODEL_ONLY_DECLARE defined, which leaves the declarations.\n */\n");
    text_add(&defines, "#define MODEL_DIM_X %d\n#define MODEL_DIM_Y %d\n#define MODEL_WORK  %zu\n\n",
             f->s->dim_x, f->s->dim_y, scratch_of(f->s, kind));
    if (defines.chars) c_add_text(f, defines.chars);
    f->out.failed |= defines.failed;
    text_free(&defines);
    c_add_part(f, "declare");
    c_add_text(f, "\n#ifndef MODEL_ONLY_DECLARE\n\n");
}

/* ---- layers ---- */

static void array_name(char out[ARRAY_NAME], int layer, const char *what) {
    snprintf(out, ARRAY_NAME, "layer_%03d_%s", layer, what);
}

static void add_map(c_file *f, int layer, const char *what, const int32_t *map, size_t count) {
    char name[ARRAY_NAME];
    array_name(name, layer, what);
    text_add(&f->out, "static const place %s[] = {", name);
    for (size_t i = 0; i < count; i++) text_add(&f->out, "%s%d", i % 20 ? ", " : i ? ",\n    " : "", map[i]);
    text_add(&f->out, "%s};\n", count ? "" : "0");
}

static void add_floats(c_file *f, int layer, const char *what, size_t offset, size_t count) {
    char name[ARRAY_NAME];
    array_name(name, layer, what);
    c_array a = c_array_begin(f, name);
    c_add_numbers(&a, f->s->params + offset, count);
    c_array_end(&a);
}

static void add_arrays(c_file *f, int i, const c_net_kind *kind) {
    static const char *const names[] = {"A", "B"};
    const export_layer *l = &f->s->layer[i];
    const transform_form *form = &l->form;
    const coupling_layer *c = form->coupling;
    size_t elements = (size_t)form->rows * (size_t)form->m;
    add_map(f, i, "from", l->from, c ? (size_t)c->k : elements);
    add_map(f, i, "to", l->to, c ? (size_t)c->m : elements);
    for (int k = 0; c && k < 2; k++) {
        char name[ARRAY_NAME];
        if (!kind->exists(c->nets, k)) continue;
        array_name(name, i, names[k]);
        c_array a = c_array_begin(f, name);
        kind->weights(&a, c->nets, k);
        c_array_end(&a);
    }
    if (c) return;
    add_floats(f, i, "w", form->A, (size_t)law_outputs(&form->law, form->m));
    if (law_shifts(&form->law, form->m)) add_floats(f, i, "b", form->b, (size_t)form->m);
}

static void add_coupling(c_file *f, int i, const c_net_kind *kind) {
    const coupling_layer *c = f->s->layer[i].form.coupling;
    char name[ARRAY_NAME];
    text_add(&f->out, ".run = run_coupling, .k = %d, .m = %d, .na = %d, .nb = %d", c->k, c->m,
             law_outputs(&c->law, c->m), law_shifts(&c->law, c->m));
    if (law_shape_of(c->law.id)->has_scale) {
        text_add(&f->out, ", .s = ");
        c_add_float(&f->out, f->s->params[c->s]);
    }
    for (int k = 0; k < 2; k++) {
        if (!kind->exists(c->nets, k)) continue;
        array_name(name, i, k ? "B" : "A");
        text_add(&f->out, ",\n     .%c = {", 'A' + k);
        kind->fields(&f->out, c->nets, k, name);
        text_add(&f->out, "}");
    }
}

static void add_shared(c_file *f, int i) {
    const transform_form *form = &f->s->layer[i].form;
    text_add(&f->out, ".run = run_%s, .rows = %d, .m = %d, .w = layer_%03d_w", law_part(form->law.id),
             form->rows, form->m, i);
    if (law_shifts(&form->law, form->m)) text_add(&f->out, ", .b = layer_%03d_b", i);
}

static void add_layers(c_file *f, const c_net_kind *kind) {
    for (int i = 0; i < f->s->layers; i++) add_arrays(f, i, kind);
    text_add(&f->out, "\nstatic const layer layers[LAYERS] = {\n");
    for (int i = 0; i < f->s->layers; i++) {
        text_add(&f->out, "    {.from = layer_%03d_from, .to = layer_%03d_to,%s ", i, i,
                 f->s->layer[i].of_y ? " .of_y = 1," : "");
        if (f->s->layer[i].form.coupling)
            add_coupling(f, i, kind);
        else
            add_shared(f, i);
        text_add(&f->out, "},\n");
    }
    text_add(&f->out, "};\n");
}

/* ---- units ---- */

static void add_support(c_file *f, int i) {
    static const char *const words[SUPPORT_KINDS] = {
        [SUPPORT_LINE] = "LINE",   [SUPPORT_INTERVAL] = "INTERVAL", [SUPPORT_ABOVE] = "ABOVE",
        [SUPPORT_BELOW] = "BELOW", [SUPPORT_CIRCLE] = "CIRCLE",     [SUPPORT_UNIFORM] = "UNIFORM",
        [SUPPORT_CUT] = "CUT",     [SUPPORT_CONSTANT] = "CONSTANT"};
    int whole;
    column_support c = export_support(f->s, i, &whole);
    const double numbers[] = {c.lo, c.hi, c.cut};
    text_add(&f->out, ", %s, %d", words[c.kind], whole);
    for (int k = 0; k < 3; k++) {
        text_add(&f->out, ", ");
        c_add_real(&f->out, isfinite(numbers[k]) ? numbers[k] : 0); /* a bound that the kind has not */
    }
}

static void add_units(c_file *f) {
    const model_units *u = &f->s->m->units;
    int supports = export_has_supports(f->s);
    c_add_part(f, supports ? "support" : "column");
    text_add(&f->out, "\nstatic const column columns[DIM] = {\n");
    for (int i = 0; i < f->s->dim; i++) {
        text_add(&f->out, "    {");
        c_add_real(&f->out, u->mean[i]);
        text_add(&f->out, ", ");
        c_add_real(&f->out, u->deviation[i]);
        if (supports) add_support(f, i);
        text_add(&f->out, "},\n");
    }
    text_add(&f->out, "};\n");
}

/* ---- the file ---- */

static void add_body(c_file *f, const c_couplings *c) {
    const export_source *s = f->s;
    c_add_part(f, "begin");
    text_add(&f->out,
             "typedef uint%d_t place;\n\nenum { DIM = %d, LAYERS = %d, APART = %d, TO_DATA = %d };\n",
             s->dim <= MOST_PLACES ? 16 : 32, s->dim, s->layers, s->apart, s->to_data);
    if (c->kind->constants) c->kind->constants(f, c->nets);
    for (int i = 0; c->kind->parts[i]; i++) c_add_part(f, c->kind->parts[i]);
    if (c->law.id == law_spline)
        text_add(&f->out, "\n#define BINS  %d\n#define BOUND %.17g\n", (int)c->law.hyper[0], c->law.hyper[1]);
    c_add_part(f, law_part(c->law.id));
    c_add_part(f, "layer");
    if (has_shared(s, law_scale)) c_add_part(f, "scale");
    if (has_shared(s, law_linear)) c_add_part(f, "linear");
    text_add(&f->out, "\n");
    add_layers(f, c->kind);
    add_units(f);
    c_add_part(f, "latent");
    c_add_part(f, "use");
    text_add(&f->out, "\n#endif\n");
}

static jf_status write_c(const export_source *s, const char *path, text *written) {
    c_file f = {.s = s};
    c_couplings couplings;
    JF_TRY(find_couplings(s, &couplings));
    add_head(&f, couplings.kind);
    add_body(&f, &couplings);
    jf_status status = text_check(s->ctx, &f.out);
    if (status == JF_OK) status = file_write(s->ctx, path, f.out.chars, f.out.length);
    if (status == JF_OK) text_add(written, "%s\n", path);
    text_free(&f.out);
    return status;
}

const export_format export_c = {
    .ending = FORMAT,
    .summary = "a C file: C99, libm alone, nothing allocated",
    .write = write_c,
};
