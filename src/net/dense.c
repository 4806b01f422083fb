/* Dense coupling networks: `depth` hidden layers of `width` units, Leaky ReLU, linear output; A and B of one
 * shape with separate weights. Hidden layers start orthogonal with gain 1, so that a signal passes any depth;
 * the output layer with a small gain, so that every coupling starts near the identity. */
#include "base/memory.h"
#include "compute/dense_net.h"
#include "net/net.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 64

static const recipe_key dense_keys[] = {
    {"model", "depth", KEY_INT, "12", 1, MAX_DEPTH, NULL, "Hidden layers of each network."},
    NET_DENSE_KEYS,
    {0},
};

typedef struct dense {
    dense_net nets[2];
    size_t w[2][MAX_DEPTH + 1], b[2][MAX_DEPTH + 1];
} dense;

static jf_status add_layer(net *t, const recipe *r, param_list *params, const char *prefix, int k, int i) {
    dense *own = t->own;
    const dense_net *net_k = &own->nets[k];
    int last = i == net_k->depth;
    size_t in = (size_t)(i ? net_k->width : net_k->in), out = (size_t)(last ? net_k->out : net_k->width);
    char name[48];
    snprintf(name, sizeof name, "%s.%c.%02d.w", prefix, 'A' + k, i);
    JF_TRY(params_add(params, &own->w[k][i], name, 2, (size_t[]){in, out}, INIT_ORTHOGONAL,
                      recipe_real(r, last ? "model.output_gain" : "model.hidden_gain")));
    snprintf(name, sizeof name, "%s.%c.%02d.b", prefix, 'A' + k, i);
    return params_add(params, &own->b[k][i], name, 1, (size_t[]){out}, INIT_CONSTANT, 0);
}

static jf_status dense_create(net *t, const recipe *r, param_list *params, const char *prefix) {
    dense *own;
    JF_TRY(MEM_NEW(t->ctx, &own, 1));
    t->own = own;
    int outs[2] = {shape_size(t->out_a), shape_size(t->out_b)};
    for (int k = 0; k < 2; k++) {
        own->nets[k] = (dense_net){.in = shape_size(t->in),
                                   .out = outs[k],
                                   .depth = recipe_int(r, "model.depth"),
                                   .width = recipe_int(r, "model.width"),
                                   .slope = recipe_real(r, "model.slope"),
                                   .w = own->w[k],
                                   .b = own->b[k]};
        for (int i = 0; outs[k] > 0 && i <= own->nets[k].depth; i++)
            JF_TRY(add_layer(t, r, params, prefix, k, i));
    }
    return JF_OK;
}

static void dense_free(net *t) {
    free(t->own);
}

/* Composition from single layers: outputs of all hidden layers, two gradients, the output, the gradient of
 * the input. */
static size_t dense_workspace(const net *t, int n) {
    const dense_net *a = &((const dense *)t->own)->nets[0], *b = a + 1;
    int out = a->out > b->out ? a->out : b->out;
    return (size_t)n * (size_t)(a->width * (a->depth + 2) + out + a->in);
}

/* Output (n, width) of hidden layer i. */
static real *layer_output(const dense_net *t, const device *d, real *work, int n, int i) {
    return real_at(d, work, (size_t)i * (size_t)n * (size_t)t->width);
}

static void net_forward(const dense_net *t, device *d, const real *params, real *work, int n, const real *x,
                        real *y) {
    for (int i = 0; i <= t->depth; i++) {
        int in = i ? t->width : t->in, last = i == t->depth;
        real *to = last ? y : layer_output(t, d, work, n, i);
        d->kind->dense_forward(d, to, x, real_at(d, params, t->w[i]), real_at(d, params, t->b[i]), n, in,
                               last ? t->out : t->width, last ? 1 : t->slope);
        x = to;
    }
}

static void dense_forward(const net *t, const net_pass *p, const real *u1, real *A, real *B) {
    const dense *own = t->own;
    real *outs[2] = {A, B};
    for (int k = 0; k < 2; k++)
        if (own->nets[k].out > 0) net_forward(&own->nets[k], p->d, p->params, p->work, p->n, u1, outs[k]);
}

/* dx overwritten. `spare`: two gradients (n, width) and the output (n, out). */
static void net_backward(const dense_net *t, device *d, const real *params, real *grad, real *work,
                         real *spare, int n, const real *x, real *dy, real *dx) {
    real *g[2] = {spare, real_at(d, spare, (size_t)n * (size_t)t->width)};
    real *y = real_at(d, g[1], (size_t)n * (size_t)t->width);
    net_forward(t, d, params, work, n, x, y);
    for (int i = t->depth; i >= 0; i--) {
        int in = i ? t->width : t->in, last = i == t->depth;
        const real *layer_x = i ? layer_output(t, d, work, n, i - 1) : x;
        d->kind->dense_backward(d, i ? g[i % 2] : dx, grad ? real_at(d, grad, t->w[i]) : NULL,
                                grad ? real_at(d, grad, t->b[i]) : NULL, last ? dy : g[(i + 1) % 2],
                                last ? y : layer_output(t, d, work, n, i), layer_x,
                                real_at(d, params, t->w[i]), n, in, last ? t->out : t->width,
                                last ? 1 : t->slope);
    }
}

static void dense_backward(const net *t, const net_pass *p, const real *u1, real *dA, real *dB, real *du1) {
    const dense *own = t->own;
    device *d = p->d;
    int n = p->n;
    real *douts[2] = {dA, dB};
    for (int k = 0, first = 1; k < 2; k++) {
        const dense_net *t_k = &own->nets[k];
        if (t_k->out == 0) continue;
        real *spare = real_at(d, p->work, (size_t)n * (size_t)t_k->width * (size_t)t_k->depth);
        real *dx = first ? du1 : real_at(d, spare, (size_t)n * (size_t)(2 * t_k->width + t_k->out));
        net_backward(t_k, d, p->params, p->grad, p->work, spare, n, u1, douts[k], dx);
        if (!first) d->kind->add(d, du1, dx, (size_t)n * (size_t)t_k->in);
        first = 0;
    }
}

static const void *dense_describe(const net *t) {
    return ((const dense *)t->own)->nets;
}

const net_kind net_dense = {
    .name = "dense",
    .summary = "hidden layers of equal width, Leaky ReLU",
    .keys = dense_keys,
    .create = dense_create,
    .free = dense_free,
    .workspace = dense_workspace,
    .forward = dense_forward,
    .backward = dense_backward,
    .describe = dense_describe,
};
