/* Networks as graphs. Images are taken channel by channel, (N, channels, h, w), as ONNX has them; weights and
 * norms are put into that order here. */
#include "compute/dense_net.h"
#include "compute/image_net.h"
#include "export/onnx_parts.h"
#include "net/residual_net.h"
#include <string.h>

static onnx_tensor add(onnx_graph *g, onnx_tensor a, onnx_tensor b) {
    return ONNX(g, "Add", a, b);
}

static onnx_tensor leaky(onnx_graph *g, onnx_tensor t, double slope) {
    return onnx_node(g, "LeakyRelu", 1, &t, 1,
                     &(onnx_attribute){.name = "alpha", .type = ONNX_REAL, .real = slope});
}

/* (t - mean)/sqrt(variance + epsilon) over all axes but the first, t = Leaky ReLU(x); scale and shift are
 * left to do. */
static onnx_tensor normed(onnx_graph *g, onnx_tensor x, int rank, double slope, double epsilon) {
    onnx_tensor t = leaky(g, x, slope), centred = ONNX(g, "Sub", t, onnx_mean(g, t, rank));
    onnx_tensor variance = onnx_mean(g, ONNX(g, "Mul", centred, centred), rank);
    return ONNX(g, "Div", centred, ONNX(g, "Sqrt", add(g, variance, onnx_number(g, epsilon))));
}

/* ---- layers of vectors ---- */

static onnx_tensor parameters(onnx_graph *g, const export_source *s, size_t offset, int rank,
                              const int *dims) {
    return onnx_floats(g, rank, dims, onnx_array_at, s->params + offset);
}

/* x W + b */
static onnx_tensor dense_layer(onnx_graph *g, const export_source *s, size_t w, size_t b, int in, int out,
                               onnx_tensor x) {
    return ONNX(g, "Gemm", x, parameters(g, s, w, 2, (int[]){in, out}), parameters(g, s, b, 1, &out));
}

static int one_pixel(const void *nets) {
    (void)nets;
    return 1;
}

/* ---- dense ---- */

static int dense_exists(const void *nets, int k) {
    return ((const dense_net *)nets)[k].out > 0;
}

static onnx_tensor dense_run(onnx_graph *g, const export_source *s, const void *nets, int k, onnx_tensor u) {
    const dense_net *t = (const dense_net *)nets + k;
    for (int i = 0; i <= t->depth; i++) {
        int in = i ? t->width : t->in, last = i == t->depth;
        u = dense_layer(g, s, t->w[i], t->b[i], in, last ? t->out : t->width, u);
        if (!last) u = leaky(g, u, t->slope);
    }
    return u;
}

/* ---- residual ---- */

static int residual_exists(const void *nets, int k) {
    return ((const residual_net *)nets)[k].out > 0;
}

static onnx_tensor residual_layer_run(onnx_graph *g, const export_source *s, const residual_net *t,
                                      const residual_layer *l, onnx_tensor x) {
    onnx_tensor n =
        ONNX(g, "Mul", normed(g, x, 2, t->slope, RESIDUAL_EPSILON), parameters(g, s, l->g, 1, &l->in));
    return dense_layer(g, s, l->w, l->b, l->in, l->out, add(g, n, parameters(g, s, l->s, 1, &l->in)));
}

static onnx_tensor residual_run(onnx_graph *g, const export_source *s, const void *nets, int k,
                                onnx_tensor u) {
    const residual_net *t = (const residual_net *)nets + k;
    onnx_tensor h = dense_layer(g, s, t->first.w, t->first.b, t->in, t->width, u);
    for (int i = 0; i < t->blocks; i++) {
        onnx_tensor inner = residual_layer_run(g, s, t, &t->inner[2 * i], h);
        h = add(g, h, residual_layer_run(g, s, t, &t->inner[2 * i + 1], inner));
    }
    return residual_layer_run(g, s, t, &t->last, h);
}

/* ---- resnext ---- */

static const image_net *image_of(const void *nets, int k) {
    return (const image_net *)nets + k;
}

static int image_exists(const void *nets, int k) {
    return image_of(nets, k)->K > 0;
}

static int image_pixels(const void *nets) {
    const image_net *t = image_of(nets, image_exists(nets, 0) ? 0 : 1);
    return t->h * t->w;
}

/* Parameters in another order: (a, b) as (b, a). */
typedef struct turned {
    const double *values;
    size_t rows, columns; /* of what is written */
} turned;

static double turned_at(const void *with, size_t i) {
    const turned *t = with;
    return t->values[i % t->columns * t->rows + i / t->columns];
}

/* (kernel, kernel, in/groups, out) becomes (out, in/groups, kernel, kernel) */
typedef struct kernels {
    const double *values;
    size_t taps, in, out;
} kernels;

static double kernel_at(const void *with, size_t i) {
    const kernels *k = with;
    size_t tap = i % k->taps, in = i / k->taps % k->in, out = i / k->taps / k->in;
    return k->values[(tap * k->in + in) * k->out + out];
}

static onnx_tensor conv(onnx_graph *g, const export_source *s, const image_conv *c, onnx_tensor x) {
    const conv_shape *q = &c->shape;
    int in = q->in / q->groups, reach = q->dilation * (q->kernel / 2);
    const int64_t pads[] = {reach, reach, reach, reach}, dilations[] = {q->dilation, q->dilation};
    kernels k = {s->params + c->w, (size_t)(q->kernel * q->kernel), (size_t)in, (size_t)q->out};
    onnx_attribute attributes[] = {{.name = "pads", .type = ONNX_INTS, .count = 4, .list = pads},
                                   {.name = "dilations", .type = ONNX_INTS, .count = 2, .list = dilations},
                                   {.name = "group", .type = ONNX_INT, .whole = q->groups}};
    onnx_tensor parts[] = {x, onnx_floats(g, 4, (int[]){q->out, in, q->kernel, q->kernel}, kernel_at, &k),
                           parameters(g, s, c->b, 1, &q->out)};
    return onnx_node(g, "Conv", 3, parts, 3, attributes);
}

static onnx_tensor norm_parameters(onnx_graph *g, const export_source *s, const image_net *t,
                                   const image_norm *m, size_t offset) {
    int each = m->shape.per_element, dims[] = {m->shape.channels, each ? t->h : 1, each ? t->w : 1};
    turned order = {s->params + offset, (size_t)m->shape.channels, each ? (size_t)m->shape.pixels : 1};
    return onnx_floats(g, 3, dims, turned_at, &order);
}

static onnx_tensor norm(onnx_graph *g, const export_source *s, const image_net *t, const image_norm *m,
                        onnx_tensor x) {
    onnx_tensor n = normed(g, x, 4, m->shape.slope, m->shape.epsilon);
    return add(g, ONNX(g, "Mul", n, norm_parameters(g, s, t, m, m->g)), norm_parameters(g, s, t, m, m->b));
}

static onnx_tensor image_block(onnx_graph *g, const export_source *s, const image_net *t,
                               const image_residual *b, onnx_tensor h) {
    onnx_tensor branches[IMAGE_MAX_BRANCHES];
    onnx_tensor x = norm(g, s, t, &b->n1, conv(g, s, &b->c0, norm(g, s, t, &b->n0, h)));
    for (int i = 0; i < t->branches; i++) branches[i] = conv(g, s, &b->branch[i], x);
    x = onnx_concat(g, t->branches, branches, 1);
    return add(g, h, conv(g, s, &b->c1, norm(g, s, t, &b->n2, x)));
}

static onnx_tensor image_run(onnx_graph *g, const export_source *s, const void *nets, int k, onnx_tensor u) {
    const image_net *t = image_of(nets, k);
    onnx_tensor h = conv(g, s, &t->in, onnx_reshape(g, u, 4, (int[]){0, t->in.shape.in, t->h, t->w}));
    for (int i = 0; i < t->depth; i++) h = image_block(g, s, t, &t->blocks[i], h);
    h = conv(g, s, &t->out, norm(g, s, t, &t->last, h));
    return onnx_reshape(g, h, 2, (int[]){0, t->out.shape.out * t->h * t->w});
}

/* ---- the list ---- */

static const onnx_net_kind kinds[] = {
    {"dense", dense_exists, one_pixel, dense_run},
    {"residual", residual_exists, one_pixel, residual_run},
    {"resnext", image_exists, image_pixels, image_run},
};

const onnx_net_kind *onnx_net_find(const char *form) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].form, form) == 0) return &kinds[i];
    return NULL;
}
