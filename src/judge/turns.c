/* Circular elements: the flow works on the line, on which a place of the circle is there once in every turn.
 * What samples are drawn from is therefore the sum over turns; the data lie in one of them, and neighbours
 * are all that matters. */
#include "judge/judge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double log_add(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    double most = fmax(a, b);
    return isinf(most) ? most : most + log1p(exp(-fabs(a - b)));
}

static jf_status add_turn(const model *m, densities *d, long n, const double *xy, int element, double shift) {
    size_t dim = (size_t)m->flow->dim, count = (size_t)n;
    double *moved;
    densities turned = {0};
    JF_TRY(MEM_NEW(m->ctx, &moved, count * dim));
    memcpy(moved, xy, count * dim * sizeof *moved);
    for (size_t s = 0; s < count; s++) moved[s * dim + (size_t)element] += shift;
    jf_status status = densities_create(m, &turned, n, moved, 1);
    for (size_t s = 0; status == JF_OK && s < count; s++) {
        d->paper[s] = log_add(d->paper[s], turned.paper[s]);
        d->whole[s] = log_add(d->whole[s], turned.whole[s]);
        if (!isnan(turned.sampler[s])) d->sampler[s] = log_add(d->sampler[s], turned.sampler[s]);
    }
    densities_free(&turned);
    free(moved);
    return status;
}

jf_status densities_add_turns(const model *m, densities *d, long n, const double *xy) {
    const model_units *u = &m->units;
    for (int i = 0; u->support && i < u->dim_x; i++) {
        if (u->support[i].kind != SUPPORT_CIRCLE) continue;
        double turn = (u->support[i].hi - u->support[i].lo) / u->deviation[i];
        JF_TRY(add_turn(m, d, n, xy, i, -turn));
        JF_TRY(add_turn(m, d, n, xy, i, turn));
    }
    return JF_OK;
}
