#include "flow/shared_law.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

static int elements(const shared_map *s) {
    return s->rows * s->m;
}

static int is_whole(const transform_spec *spec, const int32_t *order) {
    int count = shape_size(spec->active_shape), whole = count == spec->dim && !order;
    for (int i = 0; whole && i < count; i++) whole = spec->active[i] == i;
    return whole;
}

jf_status shared_map_create(jf_context *ctx, shared_map *s, device *d, const transform_spec *spec, law_id law,
                            const int32_t *order) {
    s->law = (law_config){.id = law};
    s->rows = spec->active_shape.h * spec->active_shape.w;
    s->m = spec->active_shape.c;
    size_t count = (size_t)elements(s);
    JF_TRY(MEM_NEW(ctx, &s->host_from, count));
    JF_TRY(MEM_NEW(ctx, &s->host_to, count));
    memcpy(s->host_from, spec->active, count * sizeof *s->host_from);
    for (int r = 0; r < s->rows; r++)
        for (int i = 0; i < s->m; i++)
            s->host_to[r * s->m + i] = spec->active[r * s->m + (order ? order[i] : i)];
    if (is_whole(spec, order)) return JF_OK;
    JF_TRY(d->kind->alloc_map(d, &s->from, s->host_from, count));
    return d->kind->alloc_map(d, &s->to, s->host_to, count);
}

void shared_map_free(transform *t, device *d) {
    shared_map *s = t->own;
    if (!s) return;
    if (s->from) d->kind->release_map(d, s->from);
    if (s->to) d->kind->release_map(d, s->to);
    free(s->host_from);
    free(s->host_to);
    free(s);
}

/* The elements and their gradients, and gradients of parameters in passes that want none. */
size_t shared_map_workspace(const transform *t, const device *d, int n, layer_use use) {
    const shared_map *s = t->own;
    size_t part = s->from ? (size_t)n * (size_t)elements(s) : 0;
    (void)d;
    if (!use.backward) return part;
    return 2 * part + (size_t)law_outputs(&s->law, s->m) + (size_t)law_shifts(&s->law, s->m);
}

const real *shared_map_read(const transform *t, const pass *p, int n, const real *state) {
    const shared_map *s = t->own;
    if (!s->from) return state;
    p->d->kind->gather(p->d, p->work, state, s->from, n, elements(s), t->dim);
    return p->work;
}

static law_batch batch_of(const shared_map *s, const pass *p, int n) {
    const real *b = law_shifts(&s->law, s->m) ? real_at(p->d, p->params, s->b) : NULL;
    return (law_batch){s->law, n, s->m, real_at(p->d, p->params, s->A), b, NULL, s->rows};
}

typedef void (*law_fn)(device *, const law_batch *, real *, real *);

/* One way: read by one map, written by the other. */
static void apply(law_fn law, const transform *t, const pass *p, int n, const int32_t *from,
                  const int32_t *to, real *state, real *logdet) {
    const shared_map *s = t->own;
    const device_kind *k = p->d->kind;
    law_batch batch = batch_of(s, p, n);
    real *part = from ? p->work : state;
    if (from) k->gather(p->d, part, state, from, n, elements(s), t->dim);
    law(p->d, &batch, part, logdet);
    if (from) k->scatter(p->d, state, part, to, n, elements(s), t->dim);
}

void shared_map_forward(const transform *t, const pass *p, int n, real *state, real *logdet) {
    const shared_map *s = t->own;
    apply(p->d->kind->law_forward, t, p, n, s->from, s->to, state, logdet);
}

void shared_map_inverse(const transform *t, const pass *p, int n, real *state, real *logdet) {
    const shared_map *s = t->own;
    apply(p->d->kind->law_inverse, t, p, n, s->to, s->from, state, logdet);
}

void shared_map_backward(const transform *t, const pass *p, int n, real *state, real *dstate,
                         const real *dlogdet) {
    const shared_map *s = t->own;
    const int32_t *from = s->to, *to = s->from;
    const device_kind *k = p->d->kind;
    law_batch batch = batch_of(s, p, n);
    size_t count = (size_t)n * (size_t)elements(s);
    real *part = from ? p->work : state, *dpart = from ? real_at(p->d, p->work, count) : dstate;
    real *unwanted = from ? real_at(p->d, dpart, count) : p->work;
    real *dA = p->grad ? real_at(p->d, p->grad, s->A) : unwanted;
    real *db =
        p->grad ? real_at(p->d, p->grad, s->b) : real_at(p->d, unwanted, (size_t)law_outputs(&s->law, s->m));
    if (from) k->gather(p->d, part, state, from, n, elements(s), t->dim);
    if (from) k->gather(p->d, dpart, dstate, from, n, elements(s), t->dim);
    k->law_backward(p->d, &batch, part, dpart, dlogdet, dA, batch.b ? db : NULL, NULL);
    if (from) k->scatter(p->d, state, part, to, n, elements(s), t->dim);
    if (from) k->scatter(p->d, dstate, dpart, to, n, elements(s), t->dim);
}

transform_form shared_map_describe(const transform *t) {
    const shared_map *s = t->own;
    return (transform_form){.law = s->law,
                            .rows = s->rows,
                            .m = s->m,
                            .A = s->A,
                            .b = s->b,
                            .from = s->host_from,
                            .to = s->host_to};
}
