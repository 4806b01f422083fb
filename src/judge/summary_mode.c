/* The way up from a sample to the nearest maximum of the density, by steps
 *
 *     x + s C grad log p(x | y)
 *
 * with C the covariance of the samples: of a Gaussian s = 1 is Newton's step, and arrives. s is halved until
 * the density rises by a part of what the gradient promises. The density is that in the data's units, whose
 * maximum is another one than that of the model's where columns have supports. */
#include "judge/summary.h"
#include "model/denoise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSES   100  /* of the model, at most */
#define LONGEST  3.0  /* step, in deviations */
#define ARMIJO   1e-4 /* part of the promised rise that has to come true */
#define ENOUGH   1e-6 /* nats that are not worth a step */
#define SMALLEST 1e-5 /* factor of a step */

typedef struct climb {
    const model *m;
    int n;
    double *rows, *trial;        /* (n, dim): the best so far, and where to look next */
    double *score, *log_p;       /* of trial: (n, dim_x), (n) */
    double *height, *step;       /* (n): log p at rows; the factor s; 0: arrived */
    double *direction, *promise; /* (n, dim_x) C g, and (n) g C g, at rows */
} climb;

/* Adds what the maps of supports make of log p and its gradient. */
static void to_data_units(const climb *c) {
    const model_units *u = &c->m->units;
    size_t dim = (size_t)c->m->flow->dim, dim_x = (size_t)u->dim_x;
    for (size_t s = 0; u->support && s < (size_t)c->n; s++) {
        const double *row = c->trial + s * dim;
        c->log_p[s] = model_is_beyond(c->m, row) ? -INFINITY : c->log_p[s] - units_log_volume_at(u, row);
        for (size_t i = 0; i < dim_x; i++) {
            double t = row[i] * u->deviation[i] + u->mean[i], h = 1e-5 * fmax(1, fabs(t));
            double slope =
                support_log_slope(&u->support[i], t + h) - support_log_slope(&u->support[i], t - h);
            c->score[s * dim_x + i] -= slope / (2 * h) * u->deviation[i];
        }
    }
}

/* Which way is up at row s, whose gradient is at hand. */
static void aim(climb *c, size_t s, const double *covariance) {
    size_t dim_x = (size_t)c->m->units.dim_x;
    const double *g = c->score + s * dim_x, *C = covariance + s * dim_x * dim_x;
    double *d = c->direction + s * dim_x, promise = 0;
    for (size_t i = 0; i < dim_x; i++) {
        d[i] = 0;
        for (size_t j = 0; j < dim_x; j++) d[i] += C[i * dim_x + j] * g[j];
        promise += g[i] * d[i];
    }
    c->promise[s] = promise;
    double length = sqrt(fmax(promise, 0)); /* of d, in deviations */
    if (length > LONGEST) c->step[s] = fmin(c->step[s], LONGEST / length);
    if (!(c->step[s] * promise > ENOUGH)) c->step[s] = 0;
}

/* Beyond a cut interval there is no density: the way ends at its bound. */
static double within_cut(const model_units *u, size_t i, double value) {
    const column_support *s = u->support ? &u->support[i] : NULL;
    if (!s || !support_is_cut(s)) return value;
    return fmin(fmax(value, (s->lo - u->mean[i]) / u->deviation[i]), (s->hi - u->mean[i]) / u->deviation[i]);
}

static void try_next(climb *c) {
    size_t dim = (size_t)c->m->flow->dim, dim_x = (size_t)c->m->units.dim_x;
    memcpy(c->trial, c->rows, (size_t)c->n * dim * sizeof(double));
    for (size_t s = 0; s < (size_t)c->n; s++)
        for (size_t i = 0; i < dim_x; i++) {
            double to = c->trial[s * dim + i] + c->step[s] * c->direction[s * dim_x + i];
            c->trial[s * dim + i] = within_cut(&c->m->units, i, to);
        }
}

/* Takes the trials that are higher, shortens the others. Returns how many are still under way. */
static int judge_trials(climb *c, const double *covariance) {
    size_t dim = (size_t)c->m->flow->dim;
    int open = 0;
    for (size_t s = 0; s < (size_t)c->n; s++) {
        if (c->step[s] == 0) continue;
        if (c->log_p[s] >= c->height[s] + ARMIJO * c->step[s] * c->promise[s]) {
            memcpy(c->rows + s * dim, c->trial + s * dim, dim * sizeof(double));
            c->height[s] = c->log_p[s];
            c->step[s] = fmin(1, 2 * c->step[s]);
            aim(c, s, covariance);
        } else if ((c->step[s] /= 2) < SMALLEST || c->step[s] * c->promise[s] < ENOUGH) {
            c->step[s] = 0;
        }
        open += c->step[s] > 0;
    }
    return open;
}

static jf_status allocate(climb *c) {
    size_t n = (size_t)c->n, dim = (size_t)c->m->flow->dim, dim_x = (size_t)c->m->units.dim_x;
    JF_TRY(MEM_NEW(c->m->ctx, &c->trial, n * dim));
    JF_TRY(MEM_NEW(c->m->ctx, &c->score, n * dim_x));
    JF_TRY(MEM_NEW(c->m->ctx, &c->direction, n * dim_x));
    JF_TRY(MEM_NEW(c->m->ctx, &c->log_p, n));
    JF_TRY(MEM_NEW(c->m->ctx, &c->height, n));
    JF_TRY(MEM_NEW(c->m->ctx, &c->step, n));
    return MEM_NEW(c->m->ctx, &c->promise, n);
}

jf_status summary_climb(const model *m, int n, double *rows, const double *covariance) {
    climb c = {.m = m, .n = n, .rows = rows};
    int open = 0;
    jf_status status;
    JF_TRY_DONE(allocate(&c));
    memcpy(c.trial, rows, (size_t)n * (size_t)m->flow->dim * sizeof(double));
    JF_TRY_DONE(model_score(m, n, c.trial, c.score, c.log_p));
    to_data_units(&c);
    for (size_t s = 0; s < (size_t)n; s++) {
        c.height[s] = c.log_p[s];
        c.step[s] = 1;
        aim(&c, s, covariance);
        open += c.step[s] > 0;
    }
    for (int i = 0; i < PASSES && open > 0; i++) {
        try_next(&c);
        JF_TRY_DONE(model_score(m, n, c.trial, c.score, c.log_p));
        to_data_units(&c);
        open = judge_trials(&c, covariance);
    }
done:
    free(c.trial);
    free(c.score);
    free(c.direction);
    free(c.log_p);
    free(c.height);
    free(c.step);
    free(c.promise);
    /* a step that led where the map has no finite gradient ends the way; what was reached so far is higher
     * than the start */
    return status == JF_ERROR_NUMERIC ? JF_OK : status;
}
