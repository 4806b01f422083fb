/* Adam over the flat buffers, with clipping by the norm of the whole gradient, and the parameters' bounds. */
#include "base/memory.h"
#include "train/train.h"
#include <math.h>
#include <stdlib.h>

#define BETA1   0.9
#define BETA2   0.999
#define EPSILON 1e-7

/* Which numbers have bounds, and which, as the device wants them. */
static void list_bounds(const param_list *list, int32_t *map, double *lo, double *hi) {
    size_t at = 0;
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        for (size_t k = 0; param_is_bounded(p) && k < p->count; k++, at++) {
            map[at] = (int32_t)(p->offset + k);
            lo[at] = p->lo;
            hi[at] = p->hi;
        }
    }
}

static jf_status bounds_create(optimiser *o, const model *m) {
    device *d = m->d;
    int32_t *map = NULL;
    double *lo = NULL, *hi = NULL;
    jf_status status;
    o->bounded = params_bounded(&m->parameters);
    if (o->bounded == 0) return JF_OK;
    if (m->parameters.total > INT32_MAX)
        return jf_fail(m->ctx, JF_ERROR_SHAPE, "%zu parameters, expected at most %d", m->parameters.total,
                       INT32_MAX);
    JF_TRY_DONE(MEM_NEW(m->ctx, &map, o->bounded));
    JF_TRY_DONE(MEM_NEW(m->ctx, &lo, o->bounded));
    JF_TRY_DONE(MEM_NEW(m->ctx, &hi, o->bounded));
    list_bounds(&m->parameters, map, lo, hi);
    JF_TRY_DONE(d->kind->alloc_map(d, &o->bounds, map, o->bounded));
    JF_TRY_DONE(d->kind->alloc(d, &o->lo, o->bounded));
    JF_TRY_DONE(d->kind->alloc(d, &o->hi, o->bounded));
    d->kind->put(d, o->lo, lo, o->bounded);
    d->kind->put(d, o->hi, hi, o->bounded);
done:
    free(map);
    free(lo);
    free(hi);
    return status;
}

run_use train_run_use(const model *m) {
    return (run_use){.backward = 1, .keep_mib = recipe_real(m->recipe, "train.keep")};
}

jf_status optimiser_create(optimiser *o, const model *m) {
    *o = (optimiser){0};
    real **buffers[] = {&o->grad, &o->first, &o->second};
    for (int i = 0; i < 3; i++) JF_TRY(m->d->kind->alloc(m->d, buffers[i], m->parameters.total));
    return bounds_create(o, m);
}

void optimiser_free(optimiser *o, const model *m) {
    real *buffers[] = {o->grad, o->first, o->second, o->lo, o->hi};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) m->d->kind->release(m->d, buffers[i]);
    if (o->bounds) m->d->kind->release_map(m->d, o->bounds);
    *o = (optimiser){0};
}

void optimiser_keep_bounds(const optimiser *o, model *m) {
    if (o->bounded > 0) m->d->kind->clamp(m->d, m->params, o->bounds, o->lo, o->hi, o->bounded);
}

double optimiser_step(optimiser *o, model *m, double rate, double clip) {
    device *d = m->d;
    size_t total = m->parameters.total;
    double norm = sqrt(d->kind->sum_squares(d, o->grad, total));
    if (isfinite(norm)) {
        adam_step step = {.rate = rate,
                          .beta1 = BETA1,
                          .beta2 = BETA2,
                          .epsilon = EPSILON,
                          .gradient_scale = clip > 0 && norm > clip ? clip / norm : 1,
                          .step = ++o->step};
        d->kind->adam(d, m->params, o->grad, o->first, o->second, total, &step);
        optimiser_keep_bounds(o, m);
    }
    d->kind->fill(d, o->grad, 0, total);
    return norm;
}
