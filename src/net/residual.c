/* Residual dense networks with layer norm: for tables, where plain ones of some depth are hard to train. With
 * norm(h) = layer norm of Leaky ReLU(h):
 *
 *     h = u1 W + b;   `residual` times: h += drop(norm(norm(h) W1 + b1)) W2 + b2;   output = norm(h) W + b
 *
 * drop() leaves out units while a model is trained, and is nothing otherwise. A and B are of one shape with
 * separate weights. Composed of single layers on every device. */
#include "base/memory.h"
#include "net/net.h"
#include "net/residual_net.h"
#include <stdio.h>
#include <stdlib.h>

static const recipe_key residual_keys[] = {
    {"model", "residual", KEY_INT, "2", 1, RESIDUAL_MAX_BLOCKS, NULL, "Residual blocks of each network."},
    NET_DENSE_KEYS,
    {"model", "dropout", KEY_REAL, "0", 0, 0.95, NULL,
     "Share of the units inside of each residual block that every step of training leaves out, against "
     "overfitting; nothing "
     "is left out where a model is used or measured."},
    {0},
};

/* ---- making the two networks: own is residual_net [2], A and B ---- */

static jf_status add_layer(residual_layer *l, param_list *params, const char *prefix, const char *name,
                           int in, int out, int normed, double gain) {
    char full[PARAM_MAX_NAME];
    size_t width = (size_t)in, outs = (size_t)out;
    *l = (residual_layer){.in = in, .out = out};
    if (normed) {
        snprintf(full, sizeof full, "%s.%s.g", prefix, name);
        JF_TRY(params_add(params, &l->g, full, 1, &width, INIT_CONSTANT, 1));
        snprintf(full, sizeof full, "%s.%s.s", prefix, name);
        JF_TRY(params_add(params, &l->s, full, 1, &width, INIT_CONSTANT, 0));
    }
    snprintf(full, sizeof full, "%s.%s.w", prefix, name);
    JF_TRY(params_add(params, &l->w, full, 2, (size_t[]){width, outs}, INIT_ORTHOGONAL, gain));
    snprintf(full, sizeof full, "%s.%s.b", prefix, name);
    return params_add(params, &l->b, full, 1, &outs, INIT_CONSTANT, 0);
}

static jf_status create_one(residual_net *r, const recipe *from, param_list *params, const char *prefix) {
    double gain = recipe_real(from, "model.hidden_gain");
    JF_TRY(add_layer(&r->first, params, prefix, "in", r->in, r->width, 0, gain));
    for (int i = 0; i < 2 * r->blocks; i++) {
        char name[16];
        snprintf(name, sizeof name, "%02d", i);
        JF_TRY(add_layer(&r->inner[i], params, prefix, name, r->width, r->width, 1, gain));
    }
    return add_layer(&r->last, params, prefix, "out", r->width, r->out, 1,
                     recipe_real(from, "model.output_gain"));
}

static jf_status residual_create(net *t, const recipe *r, param_list *params, const char *prefix) {
    residual_net *own;
    JF_TRY(MEM_NEW(t->ctx, &own, 2));
    t->own = own;
    int outs[2] = {shape_size(t->out_a), shape_size(t->out_b)};
    for (int k = 0; k < 2; k++) {
        char full[PARAM_MAX_NAME];
        own[k] = (residual_net){.blocks = recipe_int(r, "model.residual"),
                                .width = recipe_int(r, "model.width"),
                                .in = shape_size(t->in),
                                .out = outs[k],
                                .slope = recipe_real(r, "model.slope"),
                                .dropout = recipe_real(r, "model.dropout")};
        snprintf(full, sizeof full, "%s.%c", prefix, 'A' + k);
        if (outs[k] > 0) JF_TRY(create_one(&own[k], r, params, full));
    }
    return JF_OK;
}

static void residual_free(net *t) {
    free(t->own);
}

/* ---- passes ---- */

/* Scratch: per layer its input after the norm and its output, both (n, width); three gradients; the gradient
 * of the input. */
static size_t residual_workspace(const net *t, int n) {
    const residual_net *r = t->own;
    return (size_t)n * (size_t)(r->width * (2 * (2 * r->blocks + 1) + 4) + r->in);
}

static real *place(const net_pass *b, const residual_net *r, int i) {
    return real_at(b->d, b->work, (size_t)i * (size_t)b->n * (size_t)r->width);
}
/* h before block i, which stands where the output of the block before is; t inside of block i; norms of both.
 */
static real *h_of(const net_pass *b, const residual_net *r, int i) {
    return place(b, r, 4 * i);
}
static real *norm_h_of(const net_pass *b, const residual_net *r, int i) {
    return place(b, r, 4 * i + 1);
}
static real *t_of(const net_pass *b, const residual_net *r, int i) {
    return place(b, r, 4 * i + 2);
}
static real *norm_t_of(const net_pass *b, const residual_net *r, int i) {
    return place(b, r, 4 * i + 3);
}
static real *gradient_of(const net_pass *b, const residual_net *r, int i) {
    return place(b, r, 4 * r->blocks + 2 + i);
}

static void run_dense(const net_pass *b, const residual_layer *l, real *y, const real *x) {
    b->d->kind->dense_forward(b->d, y, x, real_at(b->d, b->params, l->w), real_at(b->d, b->params, l->b),
                              b->n, l->in, l->out, 1);
}

static norm_shape shape_of(const residual_net *r) {
    return (norm_shape){.pixels = 1, .channels = r->width, .slope = r->slope, .epsilon = RESIDUAL_EPSILON};
}

static void run_norm(const net_pass *b, const residual_net *r, const residual_layer *l, real *y,
                     const real *x) {
    norm_shape s = shape_of(r);
    b->d->kind->norm_forward(b->d, &s, b->n, y, x, real_at(b->d, b->params, l->g),
                             real_at(b->d, b->params, l->s));
}

/* Units of x, which go into a layer, or their gradients. Its weights lie at a place of their own. */
static void drop(const net_pass *b, const residual_net *r, const residual_layer *into, real *x) {
    dropout_mask mask = {b->dropout, (uint32_t)into->w, r->dropout,
                         (uint64_t)b->dropout.first * (uint64_t)r->width};
    if (mask.rate > 0 && mask.source.step)
        b->d->kind->dropout(b->d, x, (size_t)b->n * (size_t)r->width, &mask);
}

/* y NULL: all but the output. */
static void forward_one(const residual_net *r, const net_pass *b, const real *u1, real *y) {
    size_t count = (size_t)b->n * (size_t)r->width;
    run_dense(b, &r->first, h_of(b, r, 0), u1);
    for (int i = 0; i < r->blocks; i++) {
        const residual_layer *l = &r->inner[2 * i];
        run_norm(b, r, &l[0], norm_h_of(b, r, i), h_of(b, r, i));
        run_dense(b, &l[0], t_of(b, r, i), norm_h_of(b, r, i));
        run_norm(b, r, &l[1], norm_t_of(b, r, i), t_of(b, r, i));
        drop(b, r, &l[1], norm_t_of(b, r, i));
        run_dense(b, &l[1], h_of(b, r, i + 1), norm_t_of(b, r, i));
        b->d->kind->add(b->d, h_of(b, r, i + 1), h_of(b, r, i), count);
    }
    run_norm(b, r, &r->last, norm_h_of(b, r, r->blocks), h_of(b, r, r->blocks));
    if (y) run_dense(b, &r->last, y, norm_h_of(b, r, r->blocks));
}

static void residual_forward(const net *t, const net_pass *p, const real *u1, real *A, real *B) {
    const residual_net *own = t->own;
    real *outs[2] = {A, B};
    for (int k = 0; k < 2; k++)
        if (own[k].out > 0) forward_one(&own[k], p, u1, outs[k]);
}

/* Layers are linear: whatever stands for their outputs is not looked at. */
static void back_dense(const net_pass *b, real *grad, const residual_layer *l, real *dx, real *dy,
                       const real *x) {
    b->d->kind->dense_backward(b->d, dx, grad ? real_at(b->d, grad, l->w) : NULL,
                               grad ? real_at(b->d, grad, l->b) : NULL, dy, dy, x,
                               real_at(b->d, b->params, l->w), b->n, l->in, l->out, 1);
}

static void back_norm(const net_pass *b, real *grad, const residual_net *r, const residual_layer *l, real *dx,
                      const real *dy, const real *x) {
    norm_shape s = shape_of(r);
    b->d->kind->norm_backward(b->d, &s, b->n, dx, grad ? real_at(b->d, grad, l->g) : NULL,
                              grad ? real_at(b->d, grad, l->s) : NULL, dy, x, real_at(b->d, b->params, l->g));
}

static void backward_one(const residual_net *r, const net_pass *b, real *grad, const real *u1, real *dy,
                         real *dx) {
    real *dh = gradient_of(b, r, 0), *one = gradient_of(b, r, 1), *other = gradient_of(b, r, 2);
    size_t count = (size_t)b->n * (size_t)r->width;
    forward_one(r, b, u1, NULL);
    back_dense(b, grad, &r->last, one, dy, norm_h_of(b, r, r->blocks));
    back_norm(b, grad, r, &r->last, dh, one, h_of(b, r, r->blocks));
    for (int i = r->blocks - 1; i >= 0; i--) {
        const residual_layer *l = &r->inner[2 * i];
        back_dense(b, grad, &l[1], one, dh, norm_t_of(b, r, i));
        drop(b, r, &l[1], one);
        back_norm(b, grad, r, &l[1], other, one, t_of(b, r, i));
        back_dense(b, grad, &l[0], one, other, norm_h_of(b, r, i));
        back_norm(b, grad, r, &l[0], other, one, h_of(b, r, i));
        b->d->kind->add(b->d, dh, other, count);
    }
    back_dense(b, grad, &r->first, dx, dh, u1);
}

static void residual_backward(const net *t, const net_pass *p, const real *u1, real *dA, real *dB,
                              real *du1) {
    const residual_net *own = t->own;
    real *douts[2] = {dA, dB};
    for (int k = 0, first = 1; k < 2; k++) {
        if (own[k].out == 0) continue;
        real *dx = first ? du1 : gradient_of(p, &own[k], 3);
        backward_one(&own[k], p, p->grad, u1, douts[k], dx);
        if (!first) p->d->kind->add(p->d, du1, dx, (size_t)p->n * (size_t)own[k].in);
        first = 0;
    }
}

static const void *residual_describe(const net *t) {
    return t->own;
}

const net_kind net_residual = {
    .name = "residual",
    .summary = "dense, with residual blocks and layer norm",
    .keys = residual_keys,
    .create = residual_create,
    .free = residual_free,
    .workspace = residual_workspace,
    .forward = residual_forward,
    .backward = residual_backward,
    .describe = residual_describe,
};
