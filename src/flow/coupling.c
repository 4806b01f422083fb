/* The coupling layer: v1 = u1, v2 = law(u2; A(u1), B(u1), s). */
#include "base/memory.h"
#include "flow/transform.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct coupling {
    law_id law;
    net *net;
    int32_t *source, *target; /* device maps */
    int k, m, na;             /* sizes of u1, u2 and A */
    size_t s;                 /* offset of the scale */
    /* where the device runs such a layer as one: */
    int whole_dense, whole_image;
    dense_coupling dense;
    image_coupling image;
} coupling;

/* Scratch of one pass, in the order of their sizes below. */
typedef struct buffers {
    real *u1, *u2, *A, *B, *du1, *du2, *dA, *dB, *net;
} buffers;

static buffers carve(const coupling *c, const pass *p, int n) {
    buffers b;
    real *at = p->work;
    struct {
        real **view;
        int width;
    } parts[] = {{&b.u1, c->k},  {&b.u2, c->m},  {&b.A, c->na}, {&b.B, c->m}, {&b.du1, c->k},
                 {&b.du2, c->m}, {&b.dA, c->na}, {&b.dB, c->m}, {&b.net, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].view = at;
        at = real_at(p->d, at, (size_t)n * (size_t)parts[i].width);
    }
    return b;
}

static void coupling_free(transform *t, device *d) {
    coupling *c = t->own;
    if (!c) return;
    net_free(c->net);
    if (c->source) d->kind->release_map(d, c->source);
    if (c->target) d->kind->release_map(d, c->target);
    free(c);
}

static size_t coupling_workspace(const transform *t, int n) {
    const coupling *c = t->own;
    if (c->whole_dense || c->whole_image) return 0; /* the device has its own */
    return (size_t)n * (size_t)(2 * c->k + 4 * c->m + 2 * c->na) + c->net->kind->workspace(c->net, n);
}

/* u1, u2, A and B of a state. */
static law_batch prepare(const coupling *c, const pass *p, int n, const real *state, int dim,
                         const buffers *b) {
    const device_kind *k = p->d->kind;
    k->gather(p->d, b->u1, state, c->source, n, c->k, dim);
    k->gather(p->d, b->u2, state, c->target, n, c->m, dim);
    c->net->kind->forward(c->net, p->d, p->params, b->net, n, b->u1, b->A, b->B);
    return (law_batch){c->law, n, c->m, b->A, b->B, real_at(p->d, p->params, c->s)};
}

/* The layer in one call, where the device has one for it. */
static int run_whole(const coupling *c, pass_kind kind, const pass *p, int n, real *state, real *dstate,
                     real *logdet, const real *dlogdet) {
    coupling_call call = {kind, n, p->params, p->grad, state, dstate, logdet, dlogdet, p->kept};
    if (c->whole_dense) p->d->kind->dense_coupling(p->d, &c->dense, &call);
    if (c->whole_image) p->d->kind->image_coupling(p->d, &c->image, &call);
    return c->whole_dense || c->whole_image;
}

static size_t coupling_kept(const transform *t, const device *d, int n) {
    const coupling *c = t->own;
    const device_kind *k = d->kind;
    if (c->whole_dense && k->dense_coupling_kept) return k->dense_coupling_kept(d, &c->dense, n);
    if (c->whole_image && k->image_coupling_kept) return k->image_coupling_kept(d, &c->image, n);
    return 0;
}

static void coupling_forward(const transform *t, const pass *p, int n, real *state, real *logdet) {
    const coupling *c = t->own;
    if (run_whole(c, PASS_FORWARD, p, n, state, NULL, logdet, NULL)) return;
    buffers b = carve(c, p, n);
    law_batch law = prepare(c, p, n, state, t->dim, &b);
    p->d->kind->law_forward(p->d, &law, b.u2, logdet);
    p->d->kind->scatter(p->d, state, b.u2, c->target, n, c->m, t->dim);
}

static void coupling_inverse(const transform *t, const pass *p, int n, real *state, real *logdet) {
    const coupling *c = t->own;
    if (run_whole(c, PASS_INVERSE, p, n, state, NULL, logdet, NULL)) return;
    buffers b = carve(c, p, n);
    law_batch law = prepare(c, p, n, state, t->dim, &b);
    p->d->kind->law_inverse(p->d, &law, b.u2, logdet);
    p->d->kind->scatter(p->d, state, b.u2, c->target, n, c->m, t->dim);
}

typedef void (*law_backward_fn)(device *, const law_batch *, real *, real *, const real *, real *, real *,
                                real *);

/* Both backward directions differ in the law's formula only. */
static void backward_by(law_backward_fn law_backward, const transform *t, const pass *p, int n, real *state,
                        real *dstate, const real *dlogdet) {
    const coupling *c = t->own;
    const device_kind *k = p->d->kind;
    buffers b = carve(c, p, n);
    law_batch law = prepare(c, p, n, state, t->dim, &b);
    k->gather(p->d, b.du2, dstate, c->target, n, c->m, t->dim);
    law_backward(p->d, &law, b.u2, b.du2, dlogdet, b.dA, b.dB, p->grad ? real_at(p->d, p->grad, c->s) : NULL);
    k->scatter(p->d, state, b.u2, c->target, n, c->m, t->dim);
    k->scatter(p->d, dstate, b.du2, c->target, n, c->m, t->dim);
    c->net->kind->backward(c->net, p->d, p->params, p->grad, b.net, n, b.u1, b.dA, b.dB, b.du1);
    k->scatter_add(p->d, dstate, b.du1, c->source, n, c->k, t->dim);
}

static void coupling_backward(const transform *t, const pass *p, int n, real *state, real *dstate,
                              const real *dlogdet) {
    if (run_whole(t->own, PASS_BACKWARD, p, n, state, dstate, NULL, dlogdet)) return;
    backward_by(p->d->kind->law_backward, t, p, n, state, dstate, dlogdet);
}

static void coupling_inverse_backward(const transform *t, const pass *p, int n, real *state, real *dstate,
                                      const real *dlogdet) {
    if (run_whole(t->own, PASS_INVERSE_BACKWARD, p, n, state, dstate, NULL, dlogdet)) return;
    backward_by(p->d->kind->law_inverse_backward, t, p, n, state, dstate, dlogdet);
}

static const transform_kind coupling_kind = {
    .name = "coupling",
    .free = coupling_free,
    .workspace = coupling_workspace,
    .kept = coupling_kept,
    .forward = coupling_forward,
    .inverse = coupling_inverse,
    .backward = coupling_backward,
    .inverse_backward = coupling_inverse_backward,
};

jf_status coupling_create(jf_context *ctx, transform *out, device *d, const coupling_spec *spec,
                          const recipe *r, param_list *params) {
    coupling *c;
    JF_TRY(MEM_NEW(ctx, &c, 1));
    *out = (transform){&coupling_kind, spec->dim, c};
    c->law = spec->law;
    c->k = shape_size(spec->source_shape);
    c->m = shape_size(spec->target_shape);
    c->na = law_outputs(spec->law, c->m);
    shape out_a = spec->target_shape;
    if (c->na != c->m) out_a = (shape){1, 1, c->na};
    char name[48];
    snprintf(name, sizeof name, "%s.s", spec->prefix);
    JF_TRY(params_add(params, &c->s, name, 1, (size_t[]){1}, INIT_CONSTANT, 1));
    params_bound(params, -LAW_SCALE_LIMIT, LAW_SCALE_LIMIT);
    net place = {.in = spec->source_shape,
                 .out_a = out_a,
                 .out_b = spec->target_shape,
                 .block = spec->block,
                 .halved = spec->halved};
    JF_TRY(net_create(ctx, &c->net, r, params, spec->prefix, &place));
    JF_TRY(d->kind->alloc_map(d, &c->source, spec->source, (size_t)c->k));
    JF_TRY(d->kind->alloc_map(d, &c->target, spec->target, (size_t)c->m));
    const net_kind *kind = c->net->kind;
    c->whole_dense = d->kind->dense_coupling && kind->dense;
    c->whole_image = d->kind->image_coupling && kind->image;
    if (c->whole_dense)
        c->dense =
            (dense_coupling){kind->dense(c->net), c->law, c->source, c->target, c->k, c->m, spec->dim, c->s};
    if (c->whole_image)
        c->image =
            (image_coupling){kind->image(c->net), c->law, c->source, c->target, c->k, c->m, spec->dim, c->s};
    return JF_OK;
}
