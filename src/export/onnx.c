/* Export as ONNX: two graphs of the same weights, since what runs a graph wants all of its inputs: NAME.onnx
 * decodes, (z, y) -> (x, y_back), and NAME.density.onnx encodes and tells the density of the whole map, (x,
 * y) -> (z, y_out, log_p, y_error). Rows are (N, dim), for any N; all in float, in the units of the data. */
#include "base/file.h"
#include "export/export.h"
#include "export/onnx_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT  ".onnx"
#define DENSITY ".density"
#define LOG_2PI 1.83787706640934548356

/* Rows on their way through the flow. */
typedef struct walk {
    onnx_graph *g;
    const export_source *s;
    onnx_tensor state; /* (N, dim) in model units */
    onnx_tensor
        logdet; /* (N, 1) of the layers' order, of x alone where y has a flow of its own; if has_logdet */
    int has_logdet;
    double constant; /* and what of it is the same for all rows */
} walk;

static void add_logdet(walk *w, onnx_tensor logdet) {
    w->logdet = w->has_logdet ? ONNX(w->g, "Add", w->logdet, logdet) : logdet;
    w->has_logdet = 1;
}

/* ---- elements of the state ---- */

/* Places of elements, in the order of a graph: `pixels` and channels of the map change their places. */
typedef struct place_order {
    const int32_t *map;
    size_t pixels, channels;
} place_order;

static int place_at(const void *with, size_t i) {
    const place_order *o = with;
    return o->map[i % o->pixels * o->channels + i / o->pixels];
}

/* (N, count): elements of the state, channel by channel where they are images of so many pixels. */
static onnx_tensor take(const walk *w, const int32_t *map, int count, int pixels) {
    place_order order = {map, (size_t)pixels, (size_t)(count / pixels)};
    return onnx_gather(w->g, w->state, 1, count, place_at, &order);
}

static int int_at(const void *list, size_t i) {
    return ((const int *)list)[i];
}

/* Replaces elements of the state: each is taken from the old one, or from what is put behind it. */
static jf_status put(walk *w, const int32_t *map, int count, int pixels, onnx_tensor values) {
    place_order order = {map, (size_t)pixels, (size_t)(count / pixels)};
    int dim = w->s->dim, *from;
    JF_TRY(MEM_NEW(w->s->ctx, &from, (size_t)dim));
    for (int i = 0; i < dim; i++) from[i] = i;
    for (int i = 0; i < count; i++) from[place_at(&order, (size_t)i)] = dim + i;
    onnx_tensor both = onnx_concat(w->g, 2, (onnx_tensor[]){w->state, values}, 1);
    w->state = onnx_gather(w->g, both, 1, dim, int_at, from);
    free(from);
    return JF_OK;
}

/* ---- couplings ---- */

/* A and b of the law, in the order of u2. */
static onnx_tensor law_input(walk *w, const coupling_layer *c, const onnx_net_kind *kind, int k,
                             onnx_tensor u1) {
    int pixels = kind->pixels(c->nets), each = k == 0 ? law_outputs_per_element(&c->law) : 1;
    onnx_tensor out = kind->run(w->g, w->s, c->nets, k, u1);
    if (each <= 1) return out;
    if (pixels == 1) return onnx_reshape(w->g, out, 3, (int[]){0, c->m, each});
    out = onnx_reshape(w->g, out, 4, (int[]){0, c->m / pixels, each, pixels});
    return onnx_reshape(w->g, onnx_transpose(w->g, out, 4, (int[]){0, 1, 3, 2}), 3, (int[]){0, c->m, each});
}

static jf_status walk_coupling(walk *w, const export_layer *l, int inverse) {
    const coupling_layer *c = l->form.coupling;
    const onnx_net_kind *kind = c->nets ? onnx_net_find(c->form) : NULL;
    onnx_law law = onnx_law_find(c->law.id);
    if (!kind) return export_refuse(w->s, FORMAT, "networks of the kind", c->form);
    if (!law) return export_refuse(w->s, FORMAT, "the law", law_name(c->law.id));
    int pixels = kind->pixels(c->nets);
    onnx_law_call call = {.law = &c->law, .inverse = inverse, .m = c->m};
    if (law_shape_of(c->law.id)->has_scale) call.s = w->s->params[c->s];
    onnx_tensor u1 = take(w, l->from, c->k, pixels), u2 = take(w, l->to, c->m, pixels);
    if (kind->exists(c->nets, 0)) call.A = law_input(w, c, kind, 0, u1);
    if (kind->exists(c->nets, 1)) call.b = law_input(w, c, kind, 1, u1);
    onnx_tensor v2 = law(w->g, &call, u2);
    if (call.has_logdet && !l->of_y) add_logdet(w, call.logdet);
    return put(w, l->to, c->m, pixels, v2);
}

/* ---- maps that are the same for all rows ---- */

/* v = exp(a) u + b of the whole state, with a = b = 0 for elements that are none of the layer's. */
static jf_status walk_scale(walk *w, const export_layer *l, int inverse) {
    const transform_form *f = &l->form;
    size_t dim = (size_t)w->s->dim;
    double *scale;
    JF_TRY(MEM_NEW(w->s->ctx, &scale, 2 * dim));
    double *shift = scale + dim;
    for (size_t i = 0; i < dim; i++) scale[i] = 1;
    for (int k = 0; k < f->rows * f->m; k++) {
        double a = w->s->params[f->A + (size_t)(k % f->m)], b = w->s->params[f->b + (size_t)(k % f->m)];
        scale[l->from[k]] = inverse ? exp(-a) : exp(a);
        shift[l->from[k]] = inverse ? -b * exp(-a) : b;
        if (!l->of_y) w->constant += a;
    }
    w->state = ONNX(w->g, "Mul", w->state, onnx_floats(w->g, 1, &w->s->dim, onnx_array_at, scale));
    w->state = ONNX(w->g, "Add", w->state, onnx_floats(w->g, 1, &w->s->dim, onnx_array_at, shift));
    free(scale);
    return JF_OK;
}

/* v = L U u, or its inverse, of one vector. */
static void linear_apply(int m, const double *A, int inverse, double *u) {
    for (int i = 0; !inverse && i < m; i++) {
        u[i] *= exp(A[i * m + i]);
        for (int j = i + 1; j < m; j++) u[i] += A[i * m + j] * u[j];
    }
    for (int i = m - 1; !inverse && i > 0; i--)
        for (int j = 0; j < i; j++) u[i] += A[i * m + j] * u[j];
    for (int i = 1; inverse && i < m; i++)
        for (int j = 0; j < i; j++) u[i] -= A[i * m + j] * u[j];
    for (int i = m - 1; inverse && i >= 0; i--) {
        for (int j = i + 1; j < m; j++) u[i] -= A[i * m + j] * u[j];
        u[i] *= exp(-A[i * m + i]);
    }
}

/* As one matrix, whose row j is what becomes of element j. */
static jf_status walk_linear(walk *w, const export_layer *l, int inverse) {
    const transform_form *f = &l->form;
    const double *A = w->s->params + f->A;
    int m = f->m, count = f->rows * m;
    double *matrix;
    JF_TRY(MEM_NEW(w->s->ctx, &matrix, (size_t)m * (size_t)m));
    for (int j = 0; j < m; j++) {
        matrix[j * m + j] = 1;
        linear_apply(m, A, inverse, matrix + (size_t)j * (size_t)m);
        if (!l->of_y) w->constant += f->rows * A[j * m + j];
    }
    onnx_tensor u = take(w, inverse ? l->to : l->from, count, 1), v;
    u = onnx_reshape(w->g, u, 3, (int[]){0, f->rows, m});
    v = ONNX(w->g, "MatMul", u, onnx_floats(w->g, 2, (int[]){m, m}, onnx_array_at, matrix));
    free(matrix);
    return put(w, inverse ? l->from : l->to, count, 1, onnx_reshape(w->g, v, 2, (int[]){0, count}));
}

/* ---- the flow ---- */

static jf_status walk_layer(walk *w, int i, int inverse) {
    const export_layer *l = &w->s->layer[i];
    if (l->form.coupling) return walk_coupling(w, l, inverse);
    if (l->form.law.id == law_scale) return walk_scale(w, l, inverse);
    if (l->form.law.id == law_linear) return walk_linear(w, l, inverse);
    return export_refuse(w->s, FORMAT, "the law", law_name(l->form.law.id));
}

/* All layers, in their order or back. */
static jf_status walk_layers(walk *w, int inverse) {
    int layers = w->s->layers;
    for (int i = 0; i < layers; i++) JF_TRY(walk_layer(w, inverse ? layers - 1 - i : i, inverse));
    return JF_OK;
}

/* (x, y) -> (z, y') */
static jf_status walk_encode(walk *w) {
    return walk_layers(w, w->s->to_data);
}

/* (z, y) -> (x, y*). A y with a flow of its own is first taken to its end, where the backward pass begins. */
static jf_status walk_decode(walk *w) {
    for (int i = 0; i < w->s->layers; i++)
        if (w->s->layer[i].of_y) JF_TRY(walk_layer(w, i, 0));
    return walk_layers(w, !w->s->to_data);
}

/* (x, y) or (z, y) in model units; y is left in *y. */
static onnx_tensor read_rows(onnx_graph *g, const export_source *s, const char *first, int is_latent,
                             onnx_tensor *y) {
    onnx_tensor x = onnx_input(g, first, s->dim_x);
    if (!is_latent) x = onnx_to_model(g, s, 0, s->dim_x, x);
    if (s->dim_y == 0) return x;
    *y = onnx_to_model(g, s, s->dim_x, s->dim_y, onnx_input(g, "y", s->dim_y));
    return onnx_concat(g, 2, (onnx_tensor[]){x, *y}, 1);
}

/* y of the state, or as it came in, which it stays where it has a flow of its own. */
static void write_y(const walk *w, onnx_tensor given, const char *name) {
    const export_source *s = w->s;
    if (s->dim_y == 0) return;
    onnx_tensor y = s->apart ? given : onnx_slice(w->g, w->state, 1, s->dim_x, s->dim);
    onnx_output(w->g, onnx_to_data(w->g, s, s->dim_x, s->dim_y, y), name, s->dim_y);
}

static jf_status build_decode(onnx_graph *g, const export_source *s) {
    onnx_tensor y = {""};
    walk w = {.g = g, .s = s};
    w.state = read_rows(g, s, "z", 1, &y);
    JF_TRY(walk_decode(&w));
    onnx_tensor x = onnx_slice(g, w.state, 1, 0, s->dim_x);
    onnx_output(g, onnx_to_data(g, s, 0, s->dim_x, x), "x", s->dim_x);
    write_y(&w, y, "y_back");
    return JF_OK;
}

/* ---- the density ---- */

/* One turn of a circle of x, model units; of other elements 0. */
static double turn_of(const export_source *s, int element) {
    int whole;
    column_support c = export_support(s, element, &whole);
    return element < s->dim_x && c.kind == SUPPORT_CIRCLE ? (c.hi - c.lo) / s->m->units.deviation[element]
                                                          : 0;
}

/* The rows as they are, and for each circle of x a turn back and a turn ahead. */
static int count_turns(const export_source *s) {
    int turns = 1;
    for (int i = 0; i < s->dim_x; i++) turns += turn_of(s, i) > 0 ? 2 : 0;
    return turns;
}

/* How far element i % dim of turn i / dim is moved. */
static double shift_at(const void *with, size_t i) {
    const export_source *s = with;
    int turn = (int)(i / (size_t)s->dim), element = (int)(i % (size_t)s->dim), seen = 0;
    for (int k = 0; k < element; k++) seen += turn_of(s, k) > 0;
    if (turn_of(s, element) == 0 || turn == 0 || (turn - 1) / 2 != seen) return 0;
    return turn % 2 ? -turn_of(s, element) : turn_of(s, element);
}

/* (N, dim) -> (turns N, dim), turn by turn, and results (turns N, count) back to those of the rows as they
 * are. */
static onnx_tensor all_turns(onnx_graph *g, const export_source *s, int turns, onnx_tensor rows) {
    onnx_tensor shifts = onnx_floats(g, 3, (int[]){turns, 1, s->dim}, shift_at, s);
    onnx_tensor moved = ONNX(g, "Add", onnx_reshape(g, rows, 3, (int[]){1, -1, s->dim}), shifts);
    return onnx_reshape(g, moved, 2, (int[]){-1, s->dim});
}

static onnx_tensor first_turn(onnx_graph *g, int turns, int count, onnx_tensor t) {
    if (turns == 1) return t;
    onnx_tensor each = onnx_slice(g, onnx_reshape(g, t, 3, (int[]){turns, -1, count}), 0, 0, 1);
    return onnx_reshape(g, each, 2, (int[]){-1, count});
}

/* log p_Z(z) + log-determinant, less the logarithms of the deviations: (rows, 1) */
static onnx_tensor log_density(const walk *w) {
    onnx_graph *g = w->g;
    const export_source *s = w->s;
    double of_layers = s->to_data ? -w->constant : w->constant;
    double constant = of_layers - units_log_volume(&s->m->units) - 0.5 * LOG_2PI * s->dim_x;
    onnx_tensor z = onnx_slice(g, w->state, 1, 0, s->dim_x);
    onnx_tensor squares = ONNX(g, "Mul", onnx_sum(g, ONNX(g, "Mul", z, z), 1, 1), onnx_number(g, -0.5));
    onnx_tensor log_p = ONNX(g, "Add", squares, onnx_number(g, constant));
    return w->has_logdet ? ONNX(g, s->to_data ? "Sub" : "Add", log_p, w->logdet) : log_p;
}

static onnx_tensor over_turns(onnx_graph *g, int turns, onnx_tensor log_p) {
    if (turns == 1) return log_p;
    onnx_tensor all = onnx_reshape(g, log_p, 3, (int[]){turns, -1, 1});
    return onnx_node(
        g, "ReduceLogSumExp", 1, &all, 2,
        (onnx_attribute[]){{.name = "axes", .type = ONNX_INTS, .count = 1, .list = &(int64_t){0}},
                           {.name = "keepdims", .type = ONNX_INT, .whole = 0}});
}

/* mean |y' - y| in the model's units */
static void write_y_error(const walk *w, onnx_tensor y) {
    onnx_graph *g = w->g;
    const export_source *s = w->s;
    if (s->dim_y == 0) return;
    onnx_tensor end = s->apart ? y : onnx_slice(g, w->state, 1, s->dim_x, s->dim);
    onnx_tensor error = onnx_sum(g, ONNX(g, "Abs", ONNX(g, "Sub", end, y)), 1, 0);
    onnx_output(g, ONNX(g, "Mul", error, onnx_number(g, 1.0 / s->dim_y)), "y_error", 0);
}

static jf_status build_density(onnx_graph *g, const export_source *s) {
    onnx_tensor y = {""}, slopes, rows = read_rows(g, s, "x", 0, &y);
    int turns = count_turns(s);
    walk w = {.g = g, .s = s, .state = turns > 1 ? all_turns(g, s, turns, rows) : rows};
    JF_TRY(walk_encode(&w));
    onnx_tensor log_p = over_turns(g, turns, log_density(&w));
    if (onnx_log_slopes(g, s, onnx_slice(g, rows, 1, 0, s->dim_x), &slopes))
        log_p = ONNX(g, "Sub", log_p, slopes);
    w.state = first_turn(g, turns, s->dim, w.state);
    onnx_output(g, onnx_reshape(g, log_p, 1, (int[]){-1}), "log_p", 0);
    onnx_output(g, onnx_slice(g, w.state, 1, 0, s->dim_x), "z", s->dim_x);
    write_y(&w, y, "y_out");
    write_y_error(&w, y);
    return JF_OK;
}

/* ---- the files ---- */

typedef jf_status (*build_fn)(onnx_graph *g, const export_source *s);

static jf_status graph_bytes(const export_source *s, build_fn build, text *out) {
    onnx_graph g = {0};
    text words = {0};
    jf_status status;
    export_describe(s, &words);
    JF_TRY_DONE(text_check(s->ctx, &words));
    JF_TRY_DONE(build(&g, s));
    JF_TRY_DONE(onnx_graph_bytes(s->ctx, &g, s->name, words.chars, out));
done:
    onnx_graph_free(&g);
    text_free(&words);
    return status;
}

/* Both are there before either is written. */
static jf_status write_onnx(const export_source *s, const char *path, text *written) {
    text decode = {0}, density = {0}, density_path = {0};
    jf_status status;
    text_add(&density_path, "%.*s" DENSITY FORMAT, (int)(strlen(path) - strlen(FORMAT)), path);
    JF_TRY_DONE(text_check(s->ctx, &density_path));
    JF_TRY_DONE(graph_bytes(s, build_decode, &decode));
    JF_TRY_DONE(graph_bytes(s, build_density, &density));
    JF_TRY_DONE(file_write(s->ctx, path, decode.chars, decode.length));
    JF_TRY_DONE(file_replace(s->ctx, density_path.chars, density.chars, density.length));
    text_add(written, "%s\n%s\n", path, density_path.chars);
done:
    text_free(&decode);
    text_free(&density);
    text_free(&density_path);
    return status;
}

const export_format export_onnx = {
    .ending = FORMAT,
    .summary = "ONNX, two graphs: one decodes, NAME.density.onnx encodes and tells densities",
    .write = write_onnx,
};
