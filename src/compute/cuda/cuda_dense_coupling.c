/* Plans of whole coupling layers of dense networks: what follows from a layer's description, where its
 * numbers lie, and which kernels run in which order (dense_kernels.h). */
#include "base/memory.h"
#include "compute/cuda/dense_kernels.h"
#include "compute/dense_net.h"
#include <stdlib.h>
#include <string.h>

#define MOST_UNITS 128 /* of a layer of a network */

typedef struct dense_plan {
    layer_plan plan;
    dense_view nets[2];
    law_config law;
    int dim, k, m;
    int units;  /* numbers from row to row of activations: 64 or 128 */
    int layers; /* of the deeper network */
    size_t s;
    int32_t *source, *target; /* on the device */
} dense_plan;

/* ---- making one ---- */

static int widest(const dense_net *net) {
    int most = net->in > net->out ? net->in : net->out;
    return net->depth > 0 && net->width > most ? net->width : most;
}

static int can_plan(const coupling_layer *l, const dense_net nets[2]) {
    for (int i = 0; i < 2; i++)
        if (nets[i].out > 0 && (widest(&nets[i]) > MOST_UNITS || nets[i].depth + 1 > DENSE_MAX_LAYERS))
            return 0;
    return nets[0].out + nets[1].out > 0 &&
           (law_outputs_per_element(&l->law) >= 0 || l->m <= DENSE_MAX_TOGETHER);
}

static dense_view view_of(const dense_net *net) {
    dense_view v = {0};
    if (net->out == 0) return v;
    v.in = net->in, v.out = net->out, v.depth = net->depth, v.width = net->width;
    v.slope = (float)net->slope;
    for (int i = 0; i <= net->depth; i++) v.w[i] = net->w[i], v.b[i] = net->b[i];
    return v;
}

static void dense_close(device *d, layer_plan *plan) {
    dense_plan *p = (dense_plan *)plan;
    if (p->source) d->kind->release_map(d, p->source);
    if (p->target) d->kind->release_map(d, p->target);
    free(p);
}

extern const cuda_plan_kind cuda_plan_dense;

static jf_status dense_open(device *d, layer_plan **out, const coupling_layer *l) {
    const dense_net *nets = l->nets;
    dense_plan *p;
    jf_status status;
    int most = 0;
    if (!can_plan(l, nets)) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &p, 1));
    p->plan.kind = &cuda_plan_dense;
    for (int i = 0; i < 2; i++) {
        p->nets[i] = view_of(&nets[i]);
        if (nets[i].out == 0) continue;
        if (nets[i].depth + 1 > p->layers) p->layers = nets[i].depth + 1;
        if (widest(&nets[i]) > most) most = widest(&nets[i]);
    }
    p->units = most <= MOST_UNITS / 2 ? MOST_UNITS / 2 : MOST_UNITS;
    p->law = l->law;
    p->dim = l->dim, p->k = l->k, p->m = l->m, p->s = l->s;
    dense_prepare(cuda_use(d), p->units);
    JF_TRY_DONE(d->kind->alloc_map(d, &p->source, l->source, (size_t)l->k));
    JF_TRY_DONE(d->kind->alloc_map(d, &p->target, l->target, (size_t)l->m));
    *out = &p->plan;
done:
    if (status != JF_OK) dense_close(d, &p->plan);
    return status;
}

/* ---- memory ---- */

static size_t acts_size(const dense_plan *p, int n) {
    return 2 * (size_t)p->layers * (size_t)n * (size_t)p->units;
}

static size_t dense_saved(const layer_plan *p, int n, precision in) {
    (void)in; /* dense networks are always in float */
    return acts_size((const dense_plan *)p, n);
}

typedef struct places {
    float *out, *acts, *grads, *du1, *ds;
} places;
static places lay_out(const dense_plan *p, cuda_room *r, int n, layer_use use) {
    places at = {0};
    size_t rows = (size_t)n;
    if (!use.saved) at.out = cuda_take(r, sizeof(float) * 2 * rows * (size_t)p->units);
    if (!use.backward) return at;
    if (!use.saved) at.acts = cuda_take(r, sizeof(float) * acts_size(p, n));
    at.grads = cuda_take(r, sizeof(float) * acts_size(p, n));
    at.du1 = cuda_take(r, sizeof(float) * 2 * rows * (size_t)p->k);
    at.ds = cuda_take(r, sizeof(float) * rows);
    return at;
}

static size_t dense_scratch(const layer_plan *p, int n, layer_use use) {
    cuda_room r = {NULL, 0};
    lay_out((const dense_plan *)p, &r, n, use);
    return cuda_room_reals(&r);
}

/* ---- running ---- */

static dense_call networks_of(const dense_plan *p, const layer_call *call, const places *at) {
    dense_call c = {.nets = {p->nets[0], p->nets[1]},
                    .n = call->n,
                    .dim = p->dim,
                    .k = p->k,
                    .layers = p->layers,
                    .units = p->units,
                    .params = (const float *)call->params,
                    .state = (const float *)call->state,
                    .source = p->source,
                    .acts = call->saved ? (float *)call->saved : at->acts,
                    .out = at->out,
                    .grads = at->grads,
                    .du1 = at->du1,
                    .dstate = (float *)call->dstate,
                    .grad = (float *)call->grad,
                    .ds = at->ds};
    if (c.grad && law_shape_of(p->law.id)->has_scale) c.dscale = c.grad + p->s;
    return c;
}

/* What the last layer of a network has among [network][layer][row][units]. */
static float *last_rows(const dense_call *c, float *base, int net) {
    size_t layer = (size_t)net * (size_t)c->layers + (size_t)c->nets[net].depth;
    return base + layer * (size_t)c->n * (size_t)c->units;
}

static couple_call law_of(const dense_plan *p, const layer_call *call, const dense_call *c) {
    float *b = c->acts ? last_rows(c, c->acts, 1) : c->out + (size_t)c->n * (size_t)c->units;
    couple_call k = {.law = p->law,
                     .n = c->n,
                     .dim = c->dim,
                     .m = p->m,
                     .inverse = call->kind == PASS_INVERSE,
                     .units = c->units,
                     .target = p->target,
                     .A = c->acts ? last_rows(c, c->acts, 0) : c->out,
                     .b = c->nets[1].out > 0 ? b : NULL,
                     .s = law_shape_of(p->law.id)->has_scale ? c->params + p->s : NULL,
                     .state = (float *)call->state,
                     .logdet = (float *)call->logdet};
    if (call->kind != PASS_BACKWARD) return k;
    k.dstate = c->dstate;
    k.dlogdet = (const float *)call->dlogdet;
    k.dA = last_rows(c, c->grads, 0);
    k.db = last_rows(c, c->grads, 1);
    k.ds = c->ds;
    return k;
}

static void dense_run(device *d, const layer_plan *plan, const layer_call *call) {
    const dense_plan *p = (const dense_plan *)plan;
    cuda_device *own = cuda_use(d);
    int backward = call->kind == PASS_BACKWARD;
    if (call->n < 1) return;
    cuda_room r = {(char *)call->scratch, 0};
    layer_use use = {backward, call->grad != NULL, call->saved != NULL, call->precision};
    places at = lay_out(p, &r, call->n, use);
    dense_call c = networks_of(p, call, &at);
    couple_call k = law_of(p, call, &c);
    if (!backward || !call->saved) dense_forward(own, &c);
    dense_couple(own, &k);
    if (!backward) return;
    dense_backward(own, &c);
    dense_gradients(own, &c);
}

const cuda_plan_kind cuda_plan_dense = {"dense",     dense_open,    dense_close,
                                        dense_saved, dense_scratch, dense_run};
