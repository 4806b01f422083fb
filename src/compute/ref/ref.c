/* The reference device: every required entry, plain loops in double precision, one thread, nothing optional.
 * It is the oracle that the other devices answer to, so it is written to be read, not to be fast. */
#include "base/memory.h"
#include "compute/compute.h"
#include "compute/dropout_formulas.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double num;
#include "compute/image.h"
#include "compute/law/law_formulas.h"
#include "compute/rule/rule_formulas.h"

static num *N(real *p) {
    return (num *)p;
}
static const num *C(const real *p) {
    return (const num *)p;
}

static jf_status ref_open(device *d, int threads) {
    (void)d, (void)threads;
    return JF_OK;
}
static void ref_close(device *d) {
    (void)d;
}
static jf_status ref_status(device *d) {
    (void)d;
    return JF_OK;
}
static void ref_describe(const device *d, char *text_out, size_t size) {
    (void)d;
    snprintf(text_out, size, "double precision, 1 thread");
}

static jf_status ref_alloc(device *d, real **out, size_t count) {
    num *p;
    JF_TRY(MEM_NEW(d->ctx, &p, count));
    *out = (real *)p;
    return JF_OK;
}
static void ref_release(device *d, real *p) {
    (void)d;
    free(p);
}
static jf_status ref_alloc_map(device *d, int32_t **out, const int32_t *host, size_t count) {
    JF_TRY(MEM_NEW(d->ctx, out, count));
    memcpy(*out, host, count * sizeof *host);
    return JF_OK;
}
static void ref_release_map(device *d, int32_t *map) {
    (void)d;
    free(map);
}
static void ref_put(device *d, real *to, const double *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof(num));
}
static void ref_get(device *d, double *to, const real *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof(num));
}
static void ref_copy(device *d, real *to, const real *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof(num));
}
static void ref_fill(device *d, real *to, double value, size_t count) {
    (void)d;
    for (size_t i = 0; i < count; i++) N(to)[i] = value;
}

static void ref_add(device *d, real *to, const real *from, size_t count) {
    (void)d;
    for (size_t i = 0; i < count; i++) N(to)[i] += C(from)[i];
}

static void ref_normal(device *d, real *to, int n, int dim, rng_key key, uint64_t first) {
    (void)d;
    for (int s = 0; s < n; s++) {
        rng r = rng_stream(key, first + (uint64_t)s);
        for (int i = 0; i < dim; i++) N(to)[(size_t)s * dim + i] = rng_normal(&r);
    }
}

static void ref_dropout(device *d, real *x, size_t count, const dropout_mask *mask) {
    double step = *(const double *)mask->source.step, factors[DROPOUT_BLOCK];
    (void)d;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = mask->first + i;
        dropout_factors(mask->source.seed, step, mask->place, mask->rate, at / DROPOUT_BLOCK, factors);
        N(x)[i] *= factors[at % DROPOUT_BLOCK];
    }
}

static void ref_gather(device *d, real *part, const real *whole, const int32_t *map, int n, int count,
                       int dim) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < count; i++) N(part)[s * count + i] = C(whole)[s * dim + map[i]];
}
static void ref_scatter(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                        int dim) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < count; i++) N(whole)[s * dim + map[i]] = C(part)[s * count + i];
}
static void ref_scatter_add(device *d, real *whole, const real *part, const int32_t *map, int n, int count,
                            int dim) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < count; i++) N(whole)[s * dim + map[i]] += C(part)[s * count + i];
}

static void ref_dense_forward(device *d, real *y, const real *x, const real *w, const real *b, int n, int in,
                              int out, double slope) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int o = 0; o < out; o++) {
            num t = C(b)[o];
            for (int i = 0; i < in; i++) t += C(x)[s * in + i] * C(w)[(size_t)i * out + o];
            N(y)[s * out + o] = t > 0 ? t : slope * t;
        }
}

static void ref_dense_backward(device *d, real *dx, real *dw, real *db, real *dy, const real *y,
                               const real *x, const real *w, int n, int in, int out, double slope) {
    (void)d;
    for (size_t k = 0; k < (size_t)n * out; k++)
        if (!(C(y)[k] > 0)) N(dy)[k] *= slope;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < in; i++) {
            num sum = 0;
            for (int o = 0; o < out; o++) {
                num g = C(dy)[s * out + o];
                sum += g * C(w)[(size_t)i * out + o];
                if (dw) N(dw)[(size_t)i * out + o] += C(x)[s * in + i] * g;
            }
            if (dx) N(dx)[s * in + i] = sum;
        }
    if (db)
        for (size_t s = 0; s < (size_t)n; s++)
            for (int o = 0; o < out; o++) N(db)[o] += C(dy)[s * out + o];
}

static size_t conv_in(const conv_shape *c) {
    return (size_t)c->h * (size_t)c->w * (size_t)c->in;
}
static size_t conv_out(const conv_shape *c) {
    return (size_t)c->h * (size_t)c->w * (size_t)c->y_channels;
}
static void ref_conv_forward(device *d, const conv_shape *c, int n, real *y, const real *x, const real *w,
                             const real *b) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++)
        image_conv_forward(c, N(y) + s * conv_out(c), C(x) + s * conv_in(c), C(w), C(b));
}
static void ref_conv_backward(device *d, const conv_shape *c, int n, real *dx, real *dw, real *db,
                              const real *dy, const real *x, const real *w) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++)
        image_conv_backward(c, N(dx) + s * conv_in(c), N(dw), N(db), C(dy) + s * conv_out(c),
                            C(x) + s * conv_in(c), C(w));
}
static void ref_norm_forward(device *d, const norm_shape *s, int n, real *y, const real *x, const real *g,
                             const real *b) {
    (void)d;
    size_t count = (size_t)s->pixels * (size_t)s->channels;
    for (size_t i = 0; i < (size_t)n; i++)
        image_norm_forward(s, N(y) + i * count, C(x) + i * count, C(g), C(b));
}
static void ref_norm_backward(device *d, const norm_shape *s, int n, real *dx, real *dg, real *db,
                              const real *dy, const real *x, const real *g) {
    (void)d;
    size_t count = (size_t)s->pixels * (size_t)s->channels;
    for (size_t i = 0; i < (size_t)n; i++)
        image_norm_backward(s, N(dx) + i * count, N(dg), N(db), C(dy) + i * count, C(x) + i * count, C(g));
}

/* Row i of a batch of laws. */
typedef struct law_row {
    const law_functions *f;
    const num *A, *b;
    num s;
    size_t at, dA, db; /* where its elements and the gradients of A and b begin */
    size_t sample;
} law_row;

static size_t law_rows(const law_batch *c) {
    return (size_t)c->n * (size_t)c->rows;
}

static law_row row_of(const law_batch *c, size_t i) {
    const law_functions *f = &law_formulas[c->law.id];
    size_t own = f->shared ? 0 : i; /* its own A and b, or those of all */
    size_t na = own * (size_t)f->outputs(&c->law, c->m), nb = own * (size_t)law_shifts(&c->law, c->m);
    return (law_row){.f = f,
                     .A = C(c->A) + na,
                     .b = c->b ? C(c->b) + nb : NULL,
                     .s = c->s ? *C(c->s) : 0,
                     .at = i * (size_t)c->m,
                     .dA = na,
                     .db = nb,
                     .sample = i / (size_t)c->rows};
}

static void ref_law_forward(device *d, const law_batch *c, real *u, real *logdet) {
    (void)d;
    for (size_t i = 0; i < law_rows(c); i++) {
        law_row r = row_of(c, i);
        N(logdet)[r.sample] += r.f->forward(&c->law, c->m, r.A, r.b, r.s, N(u) + r.at);
    }
}
static void ref_law_inverse(device *d, const law_batch *c, real *v, real *logdet) {
    (void)d;
    for (size_t i = 0; i < law_rows(c); i++) {
        law_row r = row_of(c, i);
        N(logdet)[r.sample] += r.f->inverse(&c->law, c->m, r.A, r.b, r.s, N(v) + r.at);
    }
}
static void ref_law_backward(device *d, const law_batch *c, real *v, real *dv, const real *dlogdet, real *dA,
                             real *db, real *ds) {
    num sum = 0;
    (void)d;
    for (size_t i = 0; i < law_rows(c); i++) {
        law_row r = row_of(c, i);
        r.f->backward(&c->law, c->m, r.A, r.b, r.s, N(v) + r.at, N(dv) + r.at, C(dlogdet)[r.sample],
                      N(dA) + r.dA, N(db) + r.db, &sum);
    }
    if (ds) *N(ds) += sum;
}

static void ref_prior_term(device *d, real *term, real *dstate, const real *state, int n, layout l,
                           double weight) {
    (void)d;
    const double half_log_2pi = 0.91893853320467274178;
    size_t dim = (size_t)l.pixels * l.channels;
    for (size_t s = 0; s < (size_t)n; s++) {
        num sum = 0;
        for (size_t p = 0; p < (size_t)l.pixels; p++)
            for (int c = 0; c < l.x_channels; c++) {
                size_t k = s * dim + p * l.channels + c;
                sum += 0.5 * C(state)[k] * C(state)[k] + half_log_2pi;
                if (dstate) N(dstate)[k] = weight * C(state)[k];
            }
        N(term)[s] = sum;
    }
}

static void ref_distance_term(device *d, real *term, real *dstate, const real *state, const real *target,
                              int n, layout l, distance_kind kind, double lambda, double weight) {
    (void)d;
    size_t dim = (size_t)l.pixels * l.channels;
    for (size_t s = 0; s < (size_t)n; s++) {
        num sum = 0;
        for (size_t p = 0; p < (size_t)l.pixels; p++)
            for (int c = l.x_channels; c < l.channels; c++) {
                size_t k = s * dim + p * l.channels + c;
                num e = C(state)[k] - C(target)[k];
                sum += kind == DISTANCE_L1 ? fabs(e) : e * e;
                num slope = kind == DISTANCE_L1 ? (num)((e > 0) - (e < 0)) : 2 * e;
                if (dstate) N(dstate)[k] = weight * lambda * slope;
            }
        N(term)[s] = lambda * sum;
    }
}

static void ref_rule_term(device *d, real *term, real *dstate, const real *state, int n, const rule_energy *e,
                          double weight) {
    (void)d;
    for (size_t s = 0; s < (size_t)n; s++) {
        double g[2];
        N(term)[s] = rule_energy_at(e, C(state) + 2 * s, g);
        for (int k = 0; dstate && k < 2; k++) N(dstate)[2 * s + k] = weight * g[k];
    }
}

static void *ref_host(device *d, real *p) {
    (void)d;
    return p;
}

static jf_status ref_alloc_scalars(device *d, scalar **out, size_t count) {
    double *p;
    JF_TRY(MEM_NEW(d->ctx, &p, count));
    *out = (scalar *)p;
    return JF_OK;
}
static void ref_release_scalars(device *d, scalar *p) {
    (void)d;
    free(p);
}
static void ref_put_scalars(device *d, scalar *to, const double *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof *from);
}
static void ref_get_scalars(device *d, double *to, const scalar *from, size_t count) {
    (void)d;
    memcpy(to, from, count * sizeof *to);
}
static void ref_sum_into(device *d, scalar *to, const real *values, size_t count, double weight) {
    (void)d;
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += C(values)[i];
    *(double *)to += weight * sum;
}
static void ref_largest_difference_into(device *d, scalar *to, const real *a, const real *b, size_t count) {
    (void)d;
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(C(a)[i] - C(b)[i]));
    *(double *)to = largest;
}

static void ref_adam(device *d, const adam_step *a) {
    (void)d;
    adam_numbers step = {
        .beta1 = a->beta1, .beta2 = a->beta2, .epsilon = a->epsilon, .decay = a->decay, .average = a->share};
    num *p = N(a->params), *g = N(a->grad), *m = N(a->first), *v = N(a->second);
    double squares = 0;
    for (size_t i = 0; i < a->count; i++) squares += g[i] * g[i];
    if (step_begin((step_state *)a->state, squares, (const double *)a->terms, a->term_count, a->clip,
                   &step)) {
        double c1 = 1 - pow(a->beta1, step.step), c2 = 1 - pow(a->beta2, step.step);
        for (size_t i = 0; i < a->count; i++) {
            double gi = g[i] * step.gradient_scale;
            m[i] = a->beta1 * m[i] + (1 - a->beta1) * gi;
            v[i] = a->beta2 * v[i] + (1 - a->beta2) * gi * gi;
            if (a->decays) p[i] -= step.rate * step.decay * C(a->decays)[i] * p[i];
            p[i] -= step.rate * (m[i] / c1) / (sqrt(v[i] / c2) + a->epsilon);
            if (a->average) N(a->average)[i] += (1 - step.average) * (p[i] - N(a->average)[i]);
        }
    }
    memset(g, 0, a->count * sizeof *g);
}

static void ref_clamp(device *d, real *p, const int32_t *map, const real *lo, const real *hi, size_t count) {
    (void)d;
    for (size_t i = 0; i < count; i++) {
        num *at = N(p) + map[i];
        if (*at < C(lo)[i]) *at = C(lo)[i];
        if (*at > C(hi)[i]) *at = C(hi)[i];
    }
}

const device_kind device_ref = {
    .name = "ref",
    .summary = "reference: plain loops in double precision, slow",
    .real_size = sizeof(num),
    .open = ref_open,
    .close = ref_close,
    .status = ref_status,
    .describe = ref_describe,
    .alloc = ref_alloc,
    .release = ref_release,
    .alloc_map = ref_alloc_map,
    .release_map = ref_release_map,
    .put = ref_put,
    .get = ref_get,
    .copy = ref_copy,
    .fill = ref_fill,
    .add = ref_add,
    .host = ref_host,
    .alloc_scalars = ref_alloc_scalars,
    .release_scalars = ref_release_scalars,
    .put_scalars = ref_put_scalars,
    .get_scalars = ref_get_scalars,
    .sum_into = ref_sum_into,
    .largest_difference_into = ref_largest_difference_into,
    .normal = ref_normal,
    .dropout = ref_dropout,
    .gather = ref_gather,
    .scatter = ref_scatter,
    .scatter_add = ref_scatter_add,
    .dense_forward = ref_dense_forward,
    .dense_backward = ref_dense_backward,
    .conv_forward = ref_conv_forward,
    .conv_backward = ref_conv_backward,
    .norm_forward = ref_norm_forward,
    .norm_backward = ref_norm_backward,
    .law_forward = ref_law_forward,
    .law_inverse = ref_law_inverse,
    .law_backward = ref_law_backward,
    .prior_term = ref_prior_term,
    .distance_term = ref_distance_term,
    .rule_term = ref_rule_term,
    .adam = ref_adam,
    .clamp = ref_clamp,
};
