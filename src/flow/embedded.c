#include "flow/embedded.h"
#include "base/memory.h"
#include <stdlib.h>

struct embedded_maps {
    int32_t *x,
        *y;     /* device maps: where they lie in the state (dim_x), (dim_y); x lies so in the chain's, too */
    int32_t *e; /* where E(y) lies in the state of the chain (embed->size) */
};

#define ALIGNED 64 /* numbers: plans of devices want their scratch at such places */

/* Scratch in this order: what is before `embed` stays from a pass to its backward pass. */
typedef struct buffers {
    real *state, *x, *y, *e; /* (n, chain_dim), (n, dim_x), (n, dim_y), (n, size) */
    real *embed;             /* of E */
    real *dstate, *de, *dy;  /* of the backward pass: as their namesakes */
    real *layers;
} buffers;

static size_t layout_scratch(const flow *f, const device *d, int n, int backward, real *work, buffers *b) {
    size_t samples = (size_t)n, x = (size_t)f->dim_x, y = (size_t)f->dim_y, size = (size_t)f->embed->size,
           chain = (size_t)f->chain_dim, used = 0;
    struct {
        real **view;
        size_t count;
        int back;
    } parts[] = {{&b->state, samples * chain, 0},
                 {&b->x, samples * x, 0},
                 {&b->y, samples * y, 0},
                 {&b->e, samples * size, 0},
                 {&b->embed, embed_workspace(f->embed, n, backward), 0},
                 {&b->dstate, samples * chain, 1},
                 {&b->de, samples * size, 1},
                 {&b->dy, samples * y, 1},
                 {&b->layers, 0, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int absent = parts[i].back && !backward;
        *parts[i].view = work && !absent ? real_at(d, work, used) : NULL;
        if (!absent) used += (parts[i].count + ALIGNED - 1) / ALIGNED * ALIGNED;
    }
    return used;
}

/* ---- making ---- */

static jf_status map_range(const flow *f, int32_t **out, int first, int count) {
    int32_t *map;
    JF_TRY(MEM_NEW(f->ctx, &map, (size_t)count));
    for (int i = 0; i < count; i++) map[i] = first + i;
    jf_status status = f->d->kind->alloc_map(f->d, out, map, (size_t)count);
    free(map);
    return status;
}

jf_status embedded_check_image(const recipe *r) {
    if (!embed_kind_of(r)) return JF_OK;
    return recipe_fail(
        r, "model.embed",
        "found %s, expected none: x is an image here, whose networks read y pixel by pixel beside "
        "it; embeddings are for vectors",
        recipe_get(r, "model.embed"));
}

/* An embedding can be what it likes to whoever does not look at y': there the distance of y' from y would be
 * made small by an E that gives nothing but zeros, and the density of E(y) large by the same. */
static jf_status check_embed(const flow *f, const recipe *r) {
    if (!embed_kind_of(r)) return JF_OK;
    if (f->dim_y == 0)
        return recipe_fail(r, "model.embed", "found %s, expected none: there is no y to embed",
                           recipe_get(r, "model.embed"));
    if (!recipe_is(r, "model.condition", "fixed"))
        return recipe_fail(
            r, "model.embed",
            "found %s with model.condition = %s, expected fixed: where y is a part of the flow, "
            "an embedding that shrinks would lower the loss for nothing",
            recipe_get(r, "model.embed"), recipe_get(r, "model.condition"));
    return JF_OK;
}

jf_status embedded_create(flow *f, const recipe *r, param_list *params, const char *prefix) {
    JF_TRY(check_embed(f, r));
    JF_TRY(embed_create(f->ctx, &f->embed, f->d, r, params, prefix, f->dim_y));
    f->chain_dim = f->embed ? f->dim_x + f->embed->size : f->dim;
    if (!f->embed || params->only_names) return JF_OK;
    JF_TRY(MEM_NEW(f->ctx, &f->maps, 1));
    JF_TRY(map_range(f, &f->maps->x, 0, f->dim_x));
    JF_TRY(map_range(f, &f->maps->y, f->dim_x, f->dim_y));
    return map_range(f, &f->maps->e, f->dim_x, f->embed->size);
}

void embedded_free(flow *f) {
    if (f->maps) {
        int32_t *all[] = {f->maps->x, f->maps->y, f->maps->e};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (all[i]) f->d->kind->release_map(f->d, all[i]);
        free(f->maps);
    }
    embed_free(f->embed);
}

size_t embedded_workspace(const flow *f, int n, int backward) {
    buffers b;
    return f->embed ? layout_scratch(f, f->d, n, backward, NULL, &b) : 0;
}

/* ---- running ---- */

static net_pass of_embed(const pass *p, int n, const buffers *b) {
    return (net_pass){.d = p->d, .params = p->params, .grad = p->grad, .work = b->embed, .n = n};
}

static inner_state as_it_is(const pass *p, real *state, real *dstate) {
    return (inner_state){*p, state, dstate};
}

static inner_state with_buffers(const pass *p, const buffers *b) {
    inner_state c = {*p, b->state, b->dstate};
    c.pass.work = b->layers;
    return c;
}

/* x from one of the two states to the other. */
static void move_x(const flow *f, int n, real *x, real *to, int to_dim, const real *from, int from_dim) {
    const device_kind *k = f->d->kind;
    k->gather(f->d, x, from, f->maps->x, n, f->dim_x, from_dim);
    k->scatter(f->d, to, x, f->maps->x, n, f->dim_x, to_dim);
}

inner_state embedded_enter(const flow *f, const pass *p, int n, real *state) {
    if (!f->embed) return as_it_is(p, state, NULL);
    const device_kind *k = p->d->kind;
    buffers b;
    layout_scratch(f, p->d, n, 0, p->work, &b);
    net_pass inside = of_embed(p, n, &b);
    k->gather(p->d, b.y, state, f->maps->y, n, f->dim_y, f->dim);
    embed_forward(f->embed, &inside, b.y, b.e);
    move_x(f, n, b.x, b.state, f->chain_dim, state, f->dim);
    k->scatter(p->d, b.state, b.e, f->maps->e, n, f->embed->size, f->chain_dim);
    return with_buffers(p, &b);
}

void embedded_leave(const flow *f, int n, const inner_state *c, real *state) {
    if (!f->embed) return;
    buffers b;
    layout_scratch(f, c->pass.d, n, 0, c->state, &b); /* the first of them */
    move_x(f, n, b.x, state, f->dim, b.state, f->chain_dim);
}

inner_state embedded_enter_back(const flow *f, const pass *p, int n, real *state, real *dstate) {
    if (!f->embed) return as_it_is(p, state, dstate);
    const device_kind *k = p->d->kind;
    buffers b;
    layout_scratch(f, p->d, n, 1, p->work, &b);
    move_x(f, n, b.x, b.state, f->chain_dim, state, f->dim);
    k->scatter(p->d, b.state, b.e, f->maps->e, n, f->embed->size, f->chain_dim);
    k->fill(p->d, b.dstate, 0, (size_t)n * (size_t)f->chain_dim);
    move_x(f, n, b.x, b.dstate, f->chain_dim, dstate, f->dim);
    return with_buffers(p, &b);
}

void embedded_leave_back(const flow *f, int n, const inner_state *c, real *state, real *dstate) {
    if (!f->embed) return;
    const pass *p = &c->pass;
    const device_kind *k = p->d->kind;
    buffers b;
    layout_scratch(f, p->d, n, 1, c->state, &b); /* the first of them */
    net_pass inside = of_embed(p, n, &b);
    move_x(f, n, b.x, state, f->dim, b.state, f->chain_dim);
    move_x(f, n, b.x, dstate, f->dim, b.dstate, f->chain_dim);
    k->gather(p->d, b.de, b.dstate, f->maps->e, n, f->embed->size, f->chain_dim);
    embed_backward(f->embed, &inside, b.y, b.e, b.de, p->leave_dy ? NULL : b.dy);
    if (!p->leave_dy) k->scatter_add(p->d, dstate, b.dy, f->maps->y, n, f->dim_y, f->dim);
}
