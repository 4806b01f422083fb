/* ResNeXt coupling networks for images: a 3x3 convolution in, residual blocks, a 3x3 convolution out; A and B
 * of one shape with separate weights. With N = layer norm after Leaky ReLU, a residual block is
 *
 *     h  +  conv1x1( N( concat over d of grouped, dilated conv3x3_d( N( conv1x1( N(h) ) ) ) ) )
 *
 * Branch d has K/d outputs in cardinality/d groups and reads all K channels; d = 1, 2, 4, ... while the
 * dilated kernel 2d + 1 spans at most half of the image and d divides the cardinality. */
#include "base/memory.h"
#include "base/number.h"
#include "compute/image_net.h"
#include "net/net.h"
#include <stdio.h>
#include <stdlib.h>

#define EPSILON 1e-3

static const recipe_key resnext_keys[] = {
    {"model", "kernels", KEY_WORDS, "64", 0, 0, NULL,
     "Channels K of the networks of each block of couplings, the last for all that follow; checkerboard "
     "layers have half."},
    {"model", "cardinality", KEY_WORDS, "8", 0, 0, NULL,
     "Groups of the undilated 3x3 convolutions, for each block."},
    {"model", "residual", KEY_INT, "3", 1, 64, NULL, "Residual blocks of each network."},
    {"model", "norm", KEY_CHOICE, "element", 0, 0, "element channel",
     "Scale and bias of a layer norm: one for each element of a sample, or for each channel."},
    {"model", "slope", KEY_REAL, "0.3", 1e-3, 1, NULL, "Slope of the Leaky ReLU below zero."},
    {"model", "gain", KEY_REAL, "0.1", 0, 10, NULL, "Gain of the orthogonal start of the convolutions."},
    {0},
};

/* ---- making the two networks: own is image_net [2], A and B ---- */

static jf_status add_conv(param_list *params, image_conv *c, const char *prefix, const char *name,
                          conv_shape s, double gain) {
    char full[48];
    if (s.y_channels == 0) s.y_channels = s.out;
    c->shape = s;
    size_t size[4] = {(size_t)s.kernel, (size_t)s.kernel, (size_t)(s.in / s.groups), (size_t)s.out};
    snprintf(full, sizeof full, "%s.%s.w", prefix, name);
    JF_TRY(params_add_groups(params, &c->w, full, 4, size, gain, s.groups));
    snprintf(full, sizeof full, "%s.%s.b", prefix, name);
    return params_add(params, &c->b, full, 1, size + 3, INIT_CONSTANT, 0);
}

static jf_status add_norm(const image_net *own, const recipe *r, param_list *params, image_norm *m,
                          const char *prefix, const char *name, int channels) {
    char full[48];
    int per_element = recipe_is(r, "model.norm", "element");
    m->shape = (norm_shape){own->h * own->w, channels, per_element, recipe_real(r, "model.slope"), EPSILON};
    size_t element[3] = {(size_t)own->h, (size_t)own->w, (size_t)channels};
    const size_t *size = per_element ? element : element + 2;
    int rank = per_element ? 3 : 1;
    snprintf(full, sizeof full, "%s.%s.g", prefix, name);
    JF_TRY(params_add(params, &m->g, full, rank, size, INIT_CONSTANT, 1));
    snprintf(full, sizeof full, "%s.%s.b", prefix, name);
    return params_add(params, &m->b, full, rank, size, INIT_CONSTANT, 0);
}

static jf_status add_residual(const image_net *own, const recipe *r, param_list *params, image_residual *b,
                              const char *prefix, int cardinality, double gain) {
    int K = own->K;
    conv_shape one = {own->h, own->w, K, K, 1, 1, 1, 0, 0};
    JF_TRY(add_norm(own, r, params, &b->n0, prefix, "n0", K));
    JF_TRY(add_conv(params, &b->c0, prefix, "c0", one, gain));
    JF_TRY(add_norm(own, r, params, &b->n1, prefix, "n1", K));
    int offset = 0;
    for (int i = 0; i < own->branches; i++) {
        int d = 1 << i;
        char name[8];
        snprintf(name, sizeof name, "d%d", d);
        conv_shape s = {own->h, own->w, K, K / d, 3, d, cardinality / d, own->concat, offset};
        JF_TRY(add_conv(params, &b->branch[i], prefix, name, s, gain));
        offset += K / d;
    }
    JF_TRY(add_norm(own, r, params, &b->n2, prefix, "n2", own->concat));
    one.in = own->concat;
    return add_conv(params, &b->c1, prefix, "c1", one, gain);
}

/* Entry `index` of a list of numbers, the last where it is shorter. */
static jf_status list_number(const recipe *r, const char *key, int index, int *out) {
    char word[32];
    long long value;
    while (index > 0 && !recipe_words(r, key, index, word, sizeof word)) index--;
    if (!recipe_words(r, key, index, word, sizeof word) || !number_parse_int(word, &value) || value < 1 ||
        value > 65536)
        return recipe_fail(r, key, "found \"%s\", expected whole numbers from 1 to 65536",
                           recipe_get(r, key));
    *out = (int)value;
    return JF_OK;
}

static jf_status choose_sizes(const net *t, const recipe *r, image_net *own, int *cardinality) {
    own->h = t->in.h;
    own->w = t->in.w;
    own->depth = recipe_int(r, "model.residual");
    JF_TRY(list_number(r, "model.kernels", t->block, &own->K));
    JF_TRY(list_number(r, "model.cardinality", t->block, cardinality));
    if (t->halved) own->K /= 2;
    if (own->K < 1 || own->K % *cardinality != 0)
        return recipe_fail(
            r, "model.cardinality",
            "%d groups do not divide the %d channels of a %s layer of block %d; a divisor of %d would",
            *cardinality, own->K, t->halved ? "checkerboard" : "channelwise", t->block + 1, own->K);
    int span = own->h < own->w ? own->h : own->w;
    for (int d = 1;
         own->branches < IMAGE_MAX_BRANCHES && (d == 1 || (2 * (2 * d + 1) <= span && *cardinality % d == 0));
         d *= 2) {
        own->branches++;
        own->concat += own->K / d;
    }
    return JF_OK;
}

static jf_status resnext_create(net *t, const recipe *r, param_list *params, const char *prefix) {
    image_net *nets;
    int cardinality, outs[2] = {t->out_a.c, t->out_b.c};
    double gain = recipe_real(r, "model.gain");
    JF_TRY(MEM_NEW(t->ctx, &nets, 2));
    t->own = nets;
    if (t->out_a.h != t->in.h || t->out_a.w != t->in.w || t->out_b.h != t->in.h || t->out_b.w != t->in.w)
        return jf_fail(t->ctx, JF_ERROR_SHAPE,
                       "model.net = resnext is for laws that treat each element by itself");
    for (int k = 0; k < 2; k++) {
        image_net *own = &nets[k];
        if (outs[k] == 0) continue;
        char at[48], name[48];
        snprintf(at, sizeof at, "%s.%c", prefix, 'A' + k);
        JF_TRY(choose_sizes(t, r, own, &cardinality));
        JF_TRY(MEM_NEW(t->ctx, &own->blocks, (size_t)own->depth));
        conv_shape in = {own->h, own->w, t->in.c, own->K, 3, 1, 1, 0, 0};
        JF_TRY(add_conv(params, &own->in, at, "in", in, gain));
        for (int i = 0; i < own->depth; i++) {
            snprintf(name, sizeof name, "%.32s.r%d", at, i);
            JF_TRY(add_residual(own, r, params, &own->blocks[i], name, cardinality, gain));
        }
        JF_TRY(add_norm(own, r, params, &own->last, at, "n", own->K));
        conv_shape out = {own->h, own->w, own->K, outs[k], 3, 1, 1, 0, 0};
        JF_TRY(add_conv(params, &own->out, at, "out", out, gain));
    }
    return JF_OK;
}

static void resnext_free(net *t) {
    image_net *nets = t->own;
    if (!nets) return;
    free(nets[0].blocks);
    free(nets[1].blocks);
    free(nets);
}

/* ---- running it ---- */

/* Scratch of one network: inputs of every norm of every residual block (h, after c0, concat), the last h, and
 * four arrays of the widest kind for what lies between. */
typedef struct scratch {
    device *d;
    real *work;
    size_t thin, wide; /* (n, h, w, K) and (n, h, w, concat) */
} scratch;

static scratch scratch_of(const image_net *own, device *d, real *work, int n) {
    size_t pixels = (size_t)n * (size_t)own->h * (size_t)own->w;
    return (scratch){d, work, pixels * (size_t)own->K, pixels * (size_t)own->concat};
}
static real *input_of(const scratch *s, int block) { /* h before residual block i; i = depth: the last h */
    return real_at(s->d, s->work, (size_t)block * (2 * s->thin + s->wide));
}
static real *middle_of(const scratch *s, int block) { /* after its first 1x1 convolution */
    return real_at(s->d, input_of(s, block), s->thin);
}
static real *concat_of(const scratch *s, int block) {
    return real_at(s->d, input_of(s, block), 2 * s->thin);
}
static real *spare_of(const scratch *s, int depth, int i) {
    return real_at(s->d, input_of(s, depth), s->thin + (size_t)i * s->wide);
}

/* A and B have one shape. */
static const image_net *present(const net *t) {
    const image_net *nets = t->own;
    return nets[0].K > 0 ? &nets[0] : &nets[1];
}

static size_t resnext_workspace(const net *t, int n) {
    const image_net *own = present(t);
    scratch s = scratch_of(own, NULL, NULL, n);
    return (size_t)own->depth * (2 * s.thin + s.wide) + s.thin + 4 * s.wide;
}

static void run_conv(device *d, const image_conv *c, const real *params, int n, real *y, const real *x) {
    d->kind->conv_forward(d, &c->shape, n, y, x, real_at(d, params, c->w), real_at(d, params, c->b));
}
static void run_norm(device *d, const image_norm *m, const real *params, int n, real *y, const real *x) {
    d->kind->norm_forward(d, &m->shape, n, y, x, real_at(d, params, m->g), real_at(d, params, m->b));
}

/* Up to the last norm's input; what the backward pass needs stays in the scratch. */
static void run_hidden(const image_net *own, const scratch *s, const real *params, int n, const real *u1) {
    device *d = s->d;
    real *t = spare_of(s, own->depth, 0);
    run_conv(d, &own->in, params, n, input_of(s, 0), u1);
    for (int i = 0; i < own->depth; i++) {
        const image_residual *b = &own->blocks[i];
        run_norm(d, &b->n0, params, n, t, input_of(s, i));
        run_conv(d, &b->c0, params, n, middle_of(s, i), t);
        run_norm(d, &b->n1, params, n, t, middle_of(s, i));
        for (int j = 0; j < own->branches; j++) run_conv(d, &b->branch[j], params, n, concat_of(s, i), t);
        run_norm(d, &b->n2, params, n, t, concat_of(s, i));
        run_conv(d, &b->c1, params, n, input_of(s, i + 1), t);
        d->kind->add(d, input_of(s, i + 1), input_of(s, i), s->thin);
    }
}

static void resnext_forward(const net *t, const net_pass *p, const real *u1, real *A, real *B) {
    const image_net *own = t->own;
    device *d = p->d;
    const real *params = p->params;
    int n = p->n;
    scratch s = scratch_of(present(t), d, p->work, n);
    real *outs[2] = {A, B}, *y = spare_of(&s, present(t)->depth, 0);
    for (int k = 0; k < 2; k++, own++) {
        if (own->K == 0) continue;
        run_hidden(own, &s, params, n, u1);
        run_norm(d, &own->last, params, n, y, input_of(&s, own->depth));
        run_conv(d, &own->out, params, n, outs[k], y);
    }
}

/* dx overwritten (`count` numbers). */
static void back_conv(device *d, const image_conv *c, const real *params, real *grad, int n, real *dx,
                      size_t count, const real *dy, const real *x) {
    if (dx && count) d->kind->fill(d, dx, 0, count);
    d->kind->conv_backward(d, &c->shape, n, dx, grad ? real_at(d, grad, c->w) : NULL,
                           grad ? real_at(d, grad, c->b) : NULL, dy, x, real_at(d, params, c->w));
}
static void back_norm(device *d, const image_norm *m, const real *params, real *grad, int n, real *dx,
                      const real *dy, const real *x) {
    d->kind->norm_backward(d, &m->shape, n, dx, grad ? real_at(d, grad, m->g) : NULL,
                           grad ? real_at(d, grad, m->b) : NULL, dy, x, real_at(d, params, m->g));
}

/* dh: gradient after block i, becomes that before it. Spares: 0 a normalised input, 1 and 2 gradients. */
static void back_residual(const image_net *own, const image_residual *b, int i, const scratch *s,
                          const real *params, real *grad, int n, real *dh) {
    device *d = s->d;
    real *y = spare_of(s, own->depth, 0), *g1 = spare_of(s, own->depth, 1), *g2 = spare_of(s, own->depth, 2);
    run_norm(d, &b->n2, params, n, y, concat_of(s, i));
    back_conv(d, &b->c1, params, grad, n, g1, s->wide, dh, y);
    back_norm(d, &b->n2, params, grad, n, g2, g1, concat_of(s, i));
    run_norm(d, &b->n1, params, n, y, middle_of(s, i));
    d->kind->fill(d, g1, 0, s->thin);
    for (int j = 0; j < own->branches; j++) back_conv(d, &b->branch[j], params, grad, n, g1, 0, g2, y);
    back_norm(d, &b->n1, params, grad, n, g2, g1, middle_of(s, i));
    run_norm(d, &b->n0, params, n, y, input_of(s, i));
    back_conv(d, &b->c0, params, grad, n, g1, s->thin, g2, y);
    back_norm(d, &b->n0, params, grad, n, g2, g1, input_of(s, i));
    d->kind->add(d, dh, g2, s->thin);
}

static void resnext_backward(const net *t, const net_pass *p, const real *u1, real *dA, real *dB, real *du1) {
    const image_net *own = t->own;
    device *d = p->d;
    const real *params = p->params;
    real *grad = p->grad;
    int depth = present(t)->depth, n = p->n;
    scratch s = scratch_of(present(t), d, p->work, n);
    const real *douts[2] = {dA, dB};
    real *y = spare_of(&s, depth, 0), *g = spare_of(&s, depth, 1), *dh = spare_of(&s, depth, 3);
    d->kind->fill(d, du1, 0, (size_t)n * (size_t)shape_size(t->in));
    for (int k = 0; k < 2; k++, own++) {
        if (own->K == 0) continue;
        run_hidden(own, &s, params, n, u1);
        run_norm(d, &own->last, params, n, y, input_of(&s, own->depth));
        back_conv(d, &own->out, params, grad, n, g, s.thin, douts[k], y);
        back_norm(d, &own->last, params, grad, n, dh, g, input_of(&s, own->depth));
        for (int i = own->depth - 1; i >= 0; i--)
            back_residual(own, &own->blocks[i], i, &s, params, grad, n, dh);
        back_conv(d, &own->in, params, grad, n, du1, 0, dh, u1);
    }
}

static const void *resnext_describe(const net *t) {
    return t->own;
}

const net_kind net_resnext = {
    .name = "resnext",
    .summary = "residual blocks of grouped, dilated convolutions, for images",
    .keys = resnext_keys,
    .create = resnext_create,
    .free = resnext_free,
    .workspace = resnext_workspace,
    .forward = resnext_forward,
    .backward = resnext_backward,
    .describe = resnext_describe,
};
