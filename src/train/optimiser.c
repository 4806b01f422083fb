/* Adam over the flat buffers, with clipping by the norm of the whole gradient, weights that decay, parameters
 * that are averaged, and their bounds. All of it is decided on the device; the host reads how it went when it
 * likes. */
#include "base/memory.h"
#include "train/train.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BETA1   0.9
#define BETA2   0.999
#define EPSILON 1e-7

#define READINGS (sizeof(train_readings) / sizeof(double))

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

/* Weights of networks start orthogonal. Shifts, scales and linear maps have nothing to gain from being small.
 */
static jf_status decays_create(optimiser *o, const model *m) {
    const param_list *list = &m->parameters;
    double *flags;
    JF_TRY(MEM_NEW(m->ctx, &flags, list->total));
    for (int i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++)
            flags[list->items[i].offset + k] = list->items[i].init == INIT_ORTHOGONAL;
    jf_status status = m->d->kind->alloc(m->d, &o->decays, list->total);
    if (status == JF_OK) m->d->kind->put(m->d, o->decays, flags, list->total);
    free(flags);
    return status;
}

jf_status optimiser_create(optimiser *o, const model *m) {
    device *d = m->d;
    *o = (optimiser){.clip = recipe_real(m->recipe, "train.clip"),
                     .decay = recipe_real(m->recipe, "train.weight_decay"),
                     .share = recipe_real(m->recipe, "train.average")};
    real **buffers[] = {&o->grad, &o->first, &o->second};
    for (int i = 0; i < 3; i++) JF_TRY(d->kind->alloc(d, buffers[i], m->parameters.total));
    JF_TRY(d->kind->alloc_scalars(d, &o->readings, READINGS));
    if (o->decay > 0) JF_TRY(decays_create(o, m));
    if (o->share > 0) JF_TRY(d->kind->alloc(d, &o->average, m->parameters.total));
    return bounds_create(o, m);
}

void optimiser_free(optimiser *o, const model *m) {
    device *d = m->d;
    real *buffers[] = {o->grad, o->first, o->second, o->lo, o->hi, o->decays, o->average};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) d->kind->release(d, buffers[i]);
    if (o->bounds) d->kind->release_map(d, o->bounds);
    if (o->readings) d->kind->release_scalars(d, o->readings);
    *o = (optimiser){0};
}

/* One of the readings, as a scalar of the device. */
static scalar *reading_at(const optimiser *o, size_t offset) {
    return scalar_at(o->readings, offset / sizeof(double));
}

scalar *optimiser_terms(const optimiser *o) {
    return reading_at(o, offsetof(train_readings, sums));
}

scalar *optimiser_drift(const optimiser *o) {
    return reading_at(o, offsetof(train_readings, drift));
}

dropout_source optimiser_dropout(const optimiser *o, const model *m) {
    size_t done = offsetof(train_readings, step) + offsetof(step_state, done);
    return (dropout_source){.seed = m->seed, .step = reading_at(o, done)};
}

void optimiser_set(optimiser *o, const model *m, const train_readings *r) {
    double values[READINGS];
    memcpy(values, r, sizeof values);
    m->d->kind->put_scalars(m->d, o->readings, values, READINGS);
}

jf_status optimiser_read(const optimiser *o, const model *m, train_readings *r) {
    double values[READINGS];
    m->d->kind->get_scalars(m->d, values, o->readings, READINGS);
    memcpy(r, values, sizeof values);
    loss_terms_total(&r->sums);
    return m->d->kind->status(m->d);
}

void optimiser_keep_bounds(const optimiser *o, model *m) {
    device *d = m->d;
    if (o->bounded == 0) return;
    d->kind->clamp(d, m->params, o->bounds, o->lo, o->hi, o->bounded);
    if (o->average) d->kind->clamp(d, o->average, o->bounds, o->lo, o->hi, o->bounded);
}

void optimiser_step(const optimiser *o, model *m) {
    adam_step step = {.params = m->params,
                      .grad = o->grad,
                      .first = o->first,
                      .second = o->second,
                      .count = m->parameters.total,
                      .beta1 = BETA1,
                      .beta2 = BETA2,
                      .epsilon = EPSILON,
                      .decay = o->decay,
                      .decays = o->decays,
                      .average = o->average,
                      .share = o->share,
                      .clip = o->clip,
                      .state = reading_at(o, offsetof(train_readings, step)),
                      .terms = optimiser_terms(o),
                      .term_count = TERM_COUNT};
    m->d->kind->adam(m->d, &step);
    optimiser_keep_bounds(o, m);
}
