/* Networks of exported C files: which numbers they read, in which order. Each kind matches the part of its
 * name in export/c/. */
#include "compute/dense_net.h"
#include "compute/image_net.h"
#include "export/c_file.h"
#include "net/residual_net.h"
#include <string.h>

static void add(c_array *a, size_t offset, size_t count) {
    c_add_numbers(a, a->f->s->params + offset, count);
}

/* ---- dense ---- */

static const dense_net *dense_of(const void *nets, int k) {
    return (const dense_net *)nets + k;
}

static int dense_exists(const void *nets, int k) {
    return dense_of(nets, k)->out > 0;
}

static void dense_weights(c_array *a, const void *nets, int k) {
    const dense_net *t = dense_of(nets, k);
    for (int i = 0; i <= t->depth; i++) {
        size_t in = (size_t)(i ? t->width : t->in), out = (size_t)(i < t->depth ? t->width : t->out);
        add(a, t->w[i], in * out);
        add(a, t->b[i], out);
    }
}

static void dense_fields(text *out, const void *nets, int k, const char *array) {
    const dense_net *t = dense_of(nets, k);
    text_add(out, "%d, %d, %d, %d, %.9g, %s", t->in, t->out, t->depth, t->width, t->slope, array);
}

static size_t dense_scratch(const void *nets, int k) {
    return 2 * (size_t)dense_of(nets, k)->width;
}

static const char *const dense_parts[] = {"dense_layer", "dense", NULL};

/* ---- residual ---- */

static const residual_net *residual_of(const void *nets, int k) {
    return (const residual_net *)nets + k;
}

static int residual_exists(const void *nets, int k) {
    return residual_of(nets, k)->out > 0;
}

static void residual_layer_weights(c_array *a, const residual_layer *l, int normed) {
    size_t in = (size_t)l->in, out = (size_t)l->out;
    if (normed) add(a, l->g, in);
    if (normed) add(a, l->s, in);
    add(a, l->w, in * out);
    add(a, l->b, out);
}

static void residual_weights(c_array *a, const void *nets, int k) {
    const residual_net *t = residual_of(nets, k);
    residual_layer_weights(a, &t->first, 0);
    for (int i = 0; i < 2 * t->blocks; i++) residual_layer_weights(a, &t->inner[i], 1);
    residual_layer_weights(a, &t->last, 1);
}

static void residual_fields(text *out, const void *nets, int k, const char *array) {
    const residual_net *t = residual_of(nets, k);
    text_add(out, "%d, %d, %d, %d, %.9g, %s", t->in, t->out, t->blocks, t->width, t->slope, array);
}

static size_t residual_scratch(const void *nets, int k) {
    return 3 * (size_t)residual_of(nets, k)->width;
}

static void residual_constants(c_file *f, const void *nets) {
    (void)nets;
    text_add(&f->out, "\n#define EPSILON %.9g /* of the norms */\n", RESIDUAL_EPSILON);
}

static const char *const residual_parts[] = {"norm", "dense_layer", "residual", NULL};

/* ---- resnext ---- */

static const image_net *image_of(const void *nets, int k) {
    return (const image_net *)nets + k;
}

static int image_exists(const void *nets, int k) {
    return image_of(nets, k)->K > 0;
}

static void conv_weights(c_array *a, const image_conv *c) {
    const conv_shape *s = &c->shape;
    add(a, c->w, (size_t)s->kernel * (size_t)s->kernel * (size_t)(s->in / s->groups) * (size_t)s->out);
    add(a, c->b, (size_t)s->out);
}

static void norm_weights(c_array *a, const image_norm *m) {
    size_t count = (size_t)m->shape.channels * (size_t)(m->shape.per_element ? m->shape.pixels : 1);
    add(a, m->g, count);
    add(a, m->b, count);
}

static void image_weights(c_array *a, const void *nets, int k) {
    const image_net *t = image_of(nets, k);
    conv_weights(a, &t->in);
    for (int i = 0; i < t->depth; i++) {
        const image_residual *b = &t->blocks[i];
        norm_weights(a, &b->n0);
        conv_weights(a, &b->c0);
        norm_weights(a, &b->n1);
        for (int j = 0; j < t->branches; j++) conv_weights(a, &b->branch[j]);
        norm_weights(a, &b->n2);
        conv_weights(a, &b->c1);
    }
    norm_weights(a, &t->last);
    conv_weights(a, &t->out);
}

static void image_fields(text *out, const void *nets, int k, const char *array) {
    const image_net *t = image_of(nets, k);
    const norm_shape *norm = &t->last.shape;
    text_add(out, "%d, %d, %d, %d, %d, %d, %d, %d, %d, %.9g, {", t->h, t->w, t->in.shape.in, t->out.shape.out,
             t->K, t->depth, t->branches, t->concat, norm->per_element, norm->slope);
    for (int j = 0; j < t->branches; j++) {
        const conv_shape *s = &t->blocks[0].branch[j].shape;
        text_add(out, "%s{%d, %d, %d}", j ? ", " : "", s->dilation, s->groups, s->out);
    }
    text_add(out, "}, %s", array);
}

static size_t image_scratch(const void *nets, int k) {
    const image_net *t = image_of(nets, k);
    size_t wide = (size_t)(t->K > t->concat ? t->K : t->concat);
    return (size_t)t->h * (size_t)t->w * ((size_t)t->K + 2 * wide);
}

static void image_constants(c_file *f, const void *nets) {
    const image_net *t = image_of(nets, image_exists(nets, 0) ? 0 : 1);
    text_add(&f->out, "\n#define EPSILON       %.9g /* of the norms */\n#define MOST_BRANCHES %d\n",
             t->last.shape.epsilon, IMAGE_MAX_BRANCHES);
}

static const char *const image_parts[] = {"norm", "resnext", NULL};

/* ---- the list ---- */

static const c_net_kind kinds[] = {
    {"dense", dense_parts, NULL, dense_exists, dense_weights, dense_fields, dense_scratch},
    {"residual", residual_parts, residual_constants, residual_exists, residual_weights, residual_fields,
     residual_scratch},
    {"resnext", image_parts, image_constants, image_exists, image_weights, image_fields, image_scratch},
};

const c_net_kind *c_net_find(const char *form) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].form, form) == 0) return &kinds[i];
    return NULL;
}
