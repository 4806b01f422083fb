/* Adam over the flat buffers, with clipping by the norm of the whole gradient. */
#include "train/train.h"
#include <math.h>

#define BETA1   0.9
#define BETA2   0.999
#define EPSILON 1e-7

jf_status optimiser_create(optimiser *o, const model *m) {
    *o = (optimiser){0};
    real **buffers[] = {&o->grad, &o->first, &o->second};
    for (int i = 0; i < 3; i++) JF_TRY(m->d->kind->alloc(m->d, buffers[i], m->parameters.total));
    return JF_OK;
}

void optimiser_free(optimiser *o, const model *m) {
    real *buffers[] = {o->grad, o->first, o->second};
    for (int i = 0; i < 3; i++)
        if (buffers[i]) m->d->kind->release(m->d, buffers[i]);
    *o = (optimiser){0};
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
        flow_project(m->flow, m->params);
    }
    d->kind->fill(d, o->grad, 0, total);
    return norm;
}
