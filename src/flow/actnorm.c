/* Actnorm: v = exp(a) u + b with one a and b for each element of a vector, or for each channel of an image;
 * logdet = sum a, times the pixels. It starts from data: x gets mean 0 and deviation 1 over the first batch.
 * y starts as it is, since y' = y is what training wants, and one batch may hold few of its values. */
#include "base/memory.h"
#include "flow/shared_law.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_DEVIATION 1e-3 /* elements that vary less are only moved: what they vary may be noise */

typedef struct actnorm {
    shared_map map;
    char is_x[]; /* (m) */
} actnorm;

static jf_status actnorm_create(jf_context *ctx, transform *out, device *d, const transform_spec *spec,
                                const recipe *r, param_list *params) {
    actnorm *t;
    char name[48];
    size_t m = (size_t)spec->active_shape.c;
    (void)r;
    JF_TRY(mem_alloc(ctx, &t, 1, sizeof *t + m));
    out->own = t;
    for (size_t i = 0; i < m; i++) t->is_x[i] = !spec_is_y(spec, spec->active[i]);
    snprintf(name, sizeof name, "%s.actnorm.a", spec->prefix);
    JF_TRY(params_add(params, &t->map.A, name, 1, &m, INIT_CONSTANT, 0));
    snprintf(name, sizeof name, "%s.actnorm.b", spec->prefix);
    JF_TRY(params_add(params, &t->map.b, name, 1, &m, INIT_CONSTANT, 0));
    return params->only_names ? JF_OK : shared_map_create(ctx, &t->map, d, spec, law_scale, NULL);
}

/* a and b that give one element of all rows mean 0 and deviation 1. */
static void standardise(const double *values, size_t rows, size_t m, double *a, double *b) {
    double mean = 0, variance = 0;
    for (size_t r = 0; r < rows; r++) mean += values[r * m] / (double)rows;
    for (size_t r = 0; r < rows; r++) variance += pow(values[r * m] - mean, 2) / (double)rows;
    *a = sqrt(variance) > LEAST_DEVIATION ? -0.5 * log(variance) : 0;
    *b = -mean * exp(*a);
}

static jf_status actnorm_start(const transform *t, const pass *p, int n, const real *state, real *params) {
    const actnorm *own = t->own;
    device *d = p->d;
    size_t rows = (size_t)n * (size_t)own->map.rows, m = (size_t)own->map.m;
    double *values;
    JF_TRY(MEM_NEW(d->ctx, &values, (rows + 2) * m));
    double *a = values + rows * m, *b = a + m; /* zero: y stays as it is */
    d->kind->get(d, values, shared_map_read(t, p, n, state), rows * m);
    for (size_t i = 0; i < m; i++)
        if (own->is_x[i]) standardise(values + i, rows, m, &a[i], &b[i]);
    d->kind->put(d, real_at(d, params, own->map.A), a, m);
    d->kind->put(d, real_at(d, params, own->map.b), b, m);
    jf_status status = d->kind->status(d); /* and what was put is there before it is freed */
    free(values);
    return status;
}

const transform_kind transform_actnorm = {
    .name = "actnorm",
    .create = actnorm_create,
    .free = shared_map_free,
    .workspace = shared_map_workspace,
    .start = actnorm_start,
    .forward = shared_map_forward,
    .inverse = shared_map_inverse,
    .backward = shared_map_backward,
    .describe = shared_map_describe,
};
