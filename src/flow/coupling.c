/* The coupling layer: v1 = u1, v2 = law(u2; A(u1), B(u1), s). */
#include "base/memory.h"
#include "flow/transform.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct coupling {
    coupling_layer layer; /* what it is; its maps are host_maps, its networks those of net */
    int32_t *host_maps;   /* (k + m): source, target */
    net *net;
    layer_plan *plan;         /* where the device runs such a layer as one; otherwise it is composed, with */
    int32_t *source, *target; /* device maps */
    int na, nb;               /* and so many outputs of A and B */
} coupling;

/* Scratch of one pass, in the order of their sizes below. */
typedef struct buffers {
    real *u1, *u2, *A, *B, *du1, *du2, *dA, *dB, *net;
} buffers;

static buffers layout_scratch(const coupling *c, const pass *p, int n) {
    buffers b;
    real *at = p->work;
    struct {
        real **view;
        int width;
    } parts[] = {{&b.u1, c->layer.k}, {&b.u2, c->layer.m},  {&b.A, c->na},
                 {&b.B, c->nb},       {&b.du1, c->layer.k}, {&b.du2, c->layer.m},
                 {&b.dA, c->na},      {&b.dB, c->nb},       {&b.net, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].view = at;
        at = real_at(p->d, at, (size_t)n * (size_t)parts[i].width);
    }
    return b;
}

static void coupling_free(transform *t, device *d) {
    coupling *c = t->own;
    if (!c) return;
    if (c->plan) d->kind->plan_close(d, c->plan);
    net_free(c->net);
    if (c->source) d->kind->release_map(d, c->source);
    if (c->target) d->kind->release_map(d, c->target);
    free(c->host_maps);
    free(c);
}

static size_t coupling_workspace(const transform *t, const device *d, int n, layer_use use) {
    const coupling *c = t->own;
    const coupling_layer *l = &c->layer;
    if (c->plan) return d->kind->plan_scratch(d, c->plan, n, use);
    return (size_t)n * (size_t)(2 * l->k + 2 * l->m + 2 * c->na + 2 * c->nb) +
           c->net->kind->workspace(c->net, n);
}

static size_t coupling_saved(const transform *t, const device *d, int n, precision in) {
    const coupling *c = t->own;
    return c->plan ? d->kind->plan_saved(d, c->plan, n, in) : 0;
}

/* The scale, or its gradient, in a flat buffer; NULL where there is none. */
static real *scale_in(const coupling *c, const device *d, const real *flat) {
    return flat && law_shape_of(c->layer.law.id)->has_scale ? real_at(d, flat, c->layer.s) : NULL;
}

static net_pass of_net(const pass *p, int n, const buffers *b) {
    return (net_pass){p->d, p->params, p->grad, b->net, n, p->dropout};
}

/* u1, u2, A and B of a state. */
static law_batch prepare(const coupling *c, const pass *p, int n, const real *state, const buffers *b) {
    const device_kind *k = p->d->kind;
    const coupling_layer *l = &c->layer;
    k->gather(p->d, b->u1, state, c->source, n, l->k, l->dim);
    k->gather(p->d, b->u2, state, c->target, n, l->m, l->dim);
    net_pass inside = of_net(p, n, b);
    c->net->kind->forward(c->net, &inside, b->u1, b->A, b->B);
    return (law_batch){l->law, n, l->m, b->A, c->nb ? b->B : NULL, scale_in(c, p->d, p->params), 1};
}

/* The layer in one call, where the device has a plan for it. */
static int run_plan(const coupling *c, pass_kind kind, const pass *p, int n, real *state, real *dstate,
                    real *logdet, const real *dlogdet) {
    if (!c->plan) return 0;
    layer_call call = {kind,   n,       p->params, p->grad, state,       dstate,
                       logdet, dlogdet, p->saved,  p->work, p->precision};
    p->d->kind->plan_run(p->d, c->plan, &call);
    return 1;
}

static void coupling_forward(const transform *t, const pass *p, int n, real *state, real *logdet) {
    const coupling *c = t->own;
    if (run_plan(c, PASS_FORWARD, p, n, state, NULL, logdet, NULL)) return;
    buffers b = layout_scratch(c, p, n);
    law_batch law = prepare(c, p, n, state, &b);
    p->d->kind->law_forward(p->d, &law, b.u2, logdet);
    p->d->kind->scatter(p->d, state, b.u2, c->target, n, c->layer.m, t->dim);
}

static void coupling_inverse(const transform *t, const pass *p, int n, real *state, real *logdet) {
    const coupling *c = t->own;
    if (run_plan(c, PASS_INVERSE, p, n, state, NULL, logdet, NULL)) return;
    buffers b = layout_scratch(c, p, n);
    law_batch law = prepare(c, p, n, state, &b);
    p->d->kind->law_inverse(p->d, &law, b.u2, logdet);
    p->d->kind->scatter(p->d, state, b.u2, c->target, n, c->layer.m, t->dim);
}

static void coupling_backward(const transform *t, const pass *p, int n, real *state, real *dstate,
                              const real *dlogdet) {
    const coupling *c = t->own;
    const device_kind *k = p->d->kind;
    if (run_plan(c, PASS_BACKWARD, p, n, state, dstate, NULL, dlogdet)) return;
    buffers b = layout_scratch(c, p, n);
    law_batch law = prepare(c, p, n, state, &b);
    k->gather(p->d, b.du2, dstate, c->target, n, c->layer.m, t->dim);
    k->law_backward(p->d, &law, b.u2, b.du2, dlogdet, b.dA, b.dB, scale_in(c, p->d, p->grad));
    k->scatter(p->d, state, b.u2, c->target, n, c->layer.m, t->dim);
    k->scatter(p->d, dstate, b.du2, c->target, n, c->layer.m, t->dim);
    net_pass inside = of_net(p, n, &b);
    c->net->kind->backward(c->net, &inside, b.u1, b.dA, b.dB, b.du1);
    k->scatter_add(p->d, dstate, b.du1, c->source, n, c->layer.k, t->dim);
}

static law_config law_of(const recipe *r) {
    law_config law = {.id = (law_id)law_find(recipe_get(r, "model.law"))};
    const recipe_key *key = law_shape_of(law.id)->keys;
    for (int i = 0; key && key->name && i < LAW_MAX_HYPER; i++, key++) {
        char dotted[64];
        snprintf(dotted, sizeof dotted, "%s.%s", key->section, key->name);
        law.hyper[i] = key->type == KEY_INT ? recipe_int(r, dotted) : recipe_real(r, dotted);
    }
    return law;
}

/* Both networks' outputs have the target's shape, with as many channels for each of its elements as the law
 * takes. */
static shape output_shape(shape target, int each, int count) {
    if (each < 0) return (shape){1, 1, count};
    target.c *= each;
    return target;
}

static jf_status create_net(jf_context *ctx, coupling *c, const transform_spec *spec, const recipe *r,
                            param_list *params) {
    const law_config *law = &c->layer.law;
    net place = {.in = spec->source_shape,
                 .out_a = output_shape(spec->target_shape, law_outputs_per_element(law), c->na),
                 .out_b = output_shape(spec->target_shape, law_shifts(law, 1), c->nb),
                 .block = spec->block,
                 .halved = spec->halved};
    return net_create(ctx, &c->net, r, params, spec->prefix, &place);
}

/* The device's plan, or else what the composed passes need. */
static jf_status plan(coupling *c, device *d) {
    coupling_layer *l = &c->layer;
    const net_kind *kind = c->net->kind;
    l->form = kind->name;
    l->nets = kind->describe ? kind->describe(c->net) : NULL;
    if (d->kind->plan_open && l->nets) JF_TRY(d->kind->plan_open(d, &c->plan, l));
    if (c->plan) return JF_OK;
    JF_TRY(d->kind->alloc_map(d, &c->source, l->source, (size_t)l->k));
    return d->kind->alloc_map(d, &c->target, l->target, (size_t)l->m);
}

static jf_status coupling_create(jf_context *ctx, transform *out, device *d, const transform_spec *spec,
                                 const recipe *r, param_list *params) {
    coupling *c;
    JF_TRY(MEM_NEW(ctx, &c, 1));
    out->own = c;
    int k = shape_size(spec->source_shape), m = shape_size(spec->target_shape);
    c->layer = (coupling_layer){.dim = spec->dim, .k = k, .m = m, .law = law_of(r)};
    c->na = law_outputs(&c->layer.law, m);
    c->nb = law_shifts(&c->layer.law, m);
    JF_TRY(MEM_NEW(ctx, &c->host_maps, (size_t)k + (size_t)m));
    memcpy(c->host_maps, spec->source, sizeof(int32_t) * (size_t)k);
    memcpy(c->host_maps + k, spec->target, sizeof(int32_t) * (size_t)m);
    c->layer.source = c->host_maps;
    c->layer.target = c->host_maps + k;
    char name[48];
    snprintf(name, sizeof name, "%s.s", spec->prefix);
    if (law_shape_of(c->layer.law.id)->has_scale) {
        JF_TRY(params_add(params, &c->layer.s, name, 1, (size_t[]){1}, INIT_CONSTANT, 1));
        params_bound(params, -LAW_SCALE_LIMIT, LAW_SCALE_LIMIT);
    }
    JF_TRY(create_net(ctx, c, spec, r, params));
    return params->only_names ? JF_OK : plan(c, d);
}

static transform_form coupling_describe(const transform *t) {
    const coupling *c = t->own;
    return (transform_form){.coupling = &c->layer};
}

const transform_kind transform_coupling = {
    .name = "coupling",
    .nonlinear = 1,
    .create = coupling_create,
    .free = coupling_free,
    .workspace = coupling_workspace,
    .saved = coupling_saved,
    .forward = coupling_forward,
    .inverse = coupling_inverse,
    .backward = coupling_backward,
    .describe = coupling_describe,
};
