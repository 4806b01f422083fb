/* Samples of a model: latent points and what they become.
 *
 * Where a column of x is cut (types/support.h), a sample beyond its bounds is drawn again, with the next of
 * its own random points, so that every sample is that of its number alone, whatever becomes of the others. */
#include "base/memory.h"
#include "base/random.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 100 };

/* The try-th point of a sample. */
static void draw_point(const model *m, latent_points from, long sample, int try, double *z) {
    rng_key key = {from.seed, RNG_SAMPLE, (uint32_t)try};
    rng r = rng_stream(key, (uint64_t)from.stream * LATENT_STREAM_SIZE + from.first + (uint64_t)sample);
    for (int i = 0; i < m->units.dim_x; i++)
        z[i] = from.temperature > 0 ? from.temperature * rng_normal(&r) : 0;
}

void model_draw_latent(const model *m, latent_points from, long n, double *rows) {
    for (long s = 0; s < n; s++) draw_point(m, from, s, 0, rows + (size_t)s * (size_t)m->flow->dim);
}

int model_is_cut(const model *m) {
    for (int i = 0; m->units.support && i < m->units.dim_x; i++)
        if (support_is_cut(&m->units.support[i])) return 1;
    return 0;
}

int model_is_beyond(const model *m, const double *row) {
    const model_units *u = &m->units;
    for (int i = 0; u->support && i < u->dim_x; i++)
        if (support_is_beyond(&u->support[i], row[i] * u->deviation[i] + u->mean[i])) return 1;
    return 0;
}

/* Samples that are still to be found: their numbers, and rows for them. */
typedef struct search {
    long *number, open;
    double *conditions, *rows, *logdet; /* (n, dim) all rows as they were given; those that are tried; (n) */
} search;

static jf_status search_create(const model *m, search *s, long n, const double *rows) {
    size_t dim = (size_t)m->flow->dim, count = (size_t)n;
    *s = (search){0};
    JF_TRY(MEM_NEW(m->ctx, &s->number, count));
    JF_TRY(MEM_NEW(m->ctx, &s->conditions, count * dim));
    JF_TRY(MEM_NEW(m->ctx, &s->rows, count * dim));
    JF_TRY(MEM_NEW(m->ctx, &s->logdet, count));
    memcpy(s->conditions, rows, count * dim * sizeof *rows);
    return JF_OK;
}

static void search_free(search *s) {
    free(s->number);
    free(s->conditions);
    free(s->rows);
    free(s->logdet);
}

/* One more try for all samples that are open. */
static jf_status try_again(const model *m, latent_points from, search *s, int try, double *rows, double *z,
                           double *logdet) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    long still = 0;
    for (long k = 0; k < s->open; k++) {
        memcpy(s->rows + (size_t)k * dim, s->conditions + (size_t)s->number[k] * dim, dim * sizeof *rows);
        draw_point(m, from, s->number[k], try, s->rows + (size_t)k * dim);
        if (z) memcpy(z + (size_t)s->number[k] * dim_x, s->rows + (size_t)k * dim, dim_x * sizeof *z);
    }
    JF_TRY(model_inverse(m, s->open, s->rows, s->logdet));
    for (long k = 0; k < s->open; k++) {
        const double *made = s->rows + (size_t)k * dim;
        long number = s->number[k];
        memcpy(rows + (size_t)number * dim, made, dim * sizeof *rows);
        if (logdet) logdet[number] = s->logdet[k];
        if (model_is_beyond(m, made)) s->number[still++] = number;
    }
    s->open = still;
    return JF_OK;
}

/* What is not found in all tries ends up on the bounds of its columns, as it comes back from the line. */
static void tell_lost(const model *m, long lost, long n, int tries) {
    jf_warn(m->ctx,
            "%ld of %ld samples lie on the bounds of their columns: the model had them beyond in each of %d "
            "tries, which says that it knows nothing of such a y",
            lost, n, tries);
}

static jf_status sample_inside(const model *m, latent_points from, long n, double *rows, double *z,
                               double *logdet) {
    search s;
    jf_status status;
    int tries = from.temperature > 0 ? MOST_TRIES : 1; /* at 0 another one is the same */
    JF_TRY_DONE(search_create(m, &s, n, rows));
    for (long i = 0; i < n; i++) s.number[i] = i;
    s.open = n;
    for (int try = 0; try < tries && s.open > 0; try++)
        JF_TRY_DONE(try_again(m, from, &s, try, rows, z, logdet));
    if (s.open > 0) tell_lost(m, s.open, n, tries);
done:
    search_free(&s);
    return status;
}

jf_status model_answer(const model *m, latent_points from, long n, double *rows, double *z, double *logdet) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    if (model_is_cut(m)) return sample_inside(m, from, n, rows, z, logdet);
    model_draw_latent(m, from, n, rows);
    for (size_t i = 0; z && i < (size_t)n; i++) memcpy(z + i * dim_x, rows + i * dim, dim_x * sizeof *z);
    return model_inverse(m, n, rows, logdet);
}
