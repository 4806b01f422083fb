/* A condition at a time: its samples column by column, their densities, and the way up from the likeliest of
 * them. */
#include "judge/summary.h"
#include "base/statistics.h"
#include "judge/judge.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

static void moments(size_t n, const double *values, column_summary *out) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++) square += (values[i] - mean) * (values[i] - mean);
    out->mean = mean;
    out->deviation = n > 1 ? sqrt(square / (double)(n - 1)) : 0;
}

static jf_status summarise_column(const summary *s, const model *m, const double *x, int column,
                                  double *values, column_summary *out) {
    size_t n = (size_t)s->each, dim_x = (size_t)s->dim_x;
    for (size_t i = 0; i < n; i++) values[i] = x[i * dim_x + (size_t)column];
    moments(n, values, out);
    sort_ascending(values, n);
    out->median = quantile(values, n, 0.5);
    for (int i = 0; i < s->quantiles; i++) out->quantile[i] = quantile(values, n, s->quantile[i]);
    return hpd_of_column(s->ctx, n, values, m->units.support ? &m->units.support[column] : NULL, s->masses,
                         s->mass, out->hpd);
}

/* ---- densities ---- */

/* log p (n) in the data's units of rows (n, dim) in the model's. */
static jf_status log_densities(summary *s, const model *m, long n, const double *rows, double *log_p) {
    densities d;
    JF_TRY(densities_create(m, &d, n, rows, 0));
    jf_status status = densities_check(m, &d, n);
    if (status == JF_OK) status = densities_on_supports(m, &d, n, rows);
    if (status == JF_OK) {
        densities_to_data_units(m, &d, n, rows);
        memcpy(log_p, d.paper, (size_t)n * sizeof *log_p);
        s->exact = d.exact;
    }
    densities_free(&d);
    return status;
}

/* The thresholds of one condition; log_p is sorted. Returns which sample is the likeliest. */
static size_t thresholds(const summary *s, double *log_p, condition_summary *out) {
    size_t n = (size_t)s->each, best = 0;
    for (size_t i = 1; i < n; i++)
        if (log_p[i] > log_p[best]) best = i;
    out->log_p_mode = log_p[best];
    sort_ascending(log_p, n);
    for (int i = 0; i < s->masses; i++) out->log_p[i] = quantile(log_p, n, 1 - s->mass[i]);
    return best;
}

static void covariance_of(const model *m, size_t n, const double *rows, double *mean, double *C) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    memset(mean, 0, dim_x * sizeof *mean);
    memset(C, 0, dim_x * dim_x * sizeof *C);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < dim_x; i++) mean[i] += rows[s * dim + i] / (double)n;
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < dim_x; i++)
            for (size_t j = 0; j <= i; j++)
                C[i * dim_x + j] += (rows[s * dim + i] - mean[i]) * (rows[s * dim + j] - mean[j]) / (double)n;
    for (size_t i = 0; i < dim_x; i++)
        for (size_t j = i + 1; j < dim_x; j++) C[i * dim_x + j] = C[j * dim_x + i];
}

/* ---- the whole ---- */

/* What belongs to the modes of all conditions, model units. */
typedef struct modes {
    double *rows, *start;      /* (conditions, dim): where they are, and the likeliest samples */
    double *covariance, *mean; /* (conditions, dim_x, dim_x), (dim_x) */
    double *log_p;             /* (conditions) */
} modes;

static int can_climb(const model *m) {
    for (int i = 0; m->units.support && i < m->units.dim_x; i++)
        if (m->units.support[i].kind == SUPPORT_WHOLE) return 0; /* no way leads through whole numbers */
    return 1;
}

/* Climbs from the likeliest samples, and stays with those where that does not lead higher. */
static jf_status find_modes(summary *s, const model *m, modes *w) {
    size_t dim = (size_t)m->flow->dim, count = (size_t)s->conditions, dim_x = (size_t)s->dim_x;
    memcpy(w->start, w->rows, count * dim * sizeof(double));
    if (can_climb(m)) {
        JF_TRY(summary_climb(m, s->conditions, w->rows, w->covariance));
        JF_TRY(log_densities(s, m, s->conditions, w->rows, w->log_p));
        for (size_t k = 0; k < count; k++) {
            condition_summary *c = &s->condition[k];
            c->refined = w->log_p[k] > c->log_p_mode;
            if (c->refined) c->log_p_mode = w->log_p[k];
            if (!c->refined) memcpy(w->rows + k * dim, w->start + k * dim, dim * sizeof(double));
        }
    }
    units_unstandardise(&m->units, s->conditions, w->rows);
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < dim_x; i++) s->column[k * dim_x + i].mode = w->rows[k * dim + i];
    return JF_OK;
}

static jf_status summarise(summary *s, const model *m, const double *x, modes *w) {
    size_t n = (size_t)s->each, dim = (size_t)m->flow->dim, dim_x = (size_t)s->dim_x, dim_y = dim - dim_x;
    double *rows = NULL, *values = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, n * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &values, n));
    for (size_t k = 0; k < (size_t)s->conditions; k++) {
        const double *of_k = x + k * n * dim_x;
        JF_TRY_DONE(context_poll(m->ctx, "summaries", k, (uint64_t)s->conditions));
        for (size_t i = 0; i < dim_x; i++)
            JF_TRY_DONE(summarise_column(s, m, of_k, (int)i, values, &s->column[k * dim_x + i]));
        for (size_t i = 0; i < n; i++) {
            memcpy(rows + i * dim, of_k + i * dim_x, dim_x * sizeof(double));
            if (dim_y) memcpy(rows + i * dim + dim_x, s->y + k * dim_y, dim_y * sizeof(double));
        }
        units_standardise(&m->units, s->each, rows);
        JF_TRY_DONE(log_densities(s, m, s->each, rows, values));
        size_t best = thresholds(s, values, &s->condition[k]);
        memcpy(w->rows + k * dim, rows + best * dim, dim * sizeof(double));
        covariance_of(m, n, rows, w->mean, w->covariance + k * dim_x * dim_x);
    }
    JF_TRY_DONE(find_modes(s, m, w));
done:
    free(rows);
    free(values);
    return status;
}

/* Shares that are asked for, or as people mostly want them; 0 and 1 are allowed where `closed`. */
static jf_status take_shares(jf_context *ctx, const char *what, size_t count, const double *given, int closed,
                             double to[SUMMARY_MAX_LEVELS], int *taken) {
    if (count < 1 || count > SUMMARY_MAX_LEVELS)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%zu %s of a summary, expected 1 to %d", count, what,
                       SUMMARY_MAX_LEVELS);
    for (size_t i = 0; i < count; i++) {
        int inside = closed ? given[i] >= 0 && given[i] <= 1 : given[i] > 0 && given[i] < 1;
        if (!inside)
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s of a summary: found %g, expected %s", what, given[i],
                           closed ? "0 to 1" : "a number above 0 and below 1");
    }
    memcpy(to, given, count * sizeof *to);
    *taken = (int)count;
    return JF_OK;
}

static jf_status take_options(summary *s, const jf_summary_options *o) {
    static const double masses[] = {0.5, 0.9}, quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    JF_TRY(take_shares(s->ctx, "masses", o->masses ? o->mass_count : 2, o->masses ? o->masses : masses, 0,
                       s->mass, &s->masses));
    return take_shares(s->ctx, "quantiles", o->quantiles ? o->quantile_count : 5,
                       o->quantiles ? o->quantiles : quantiles, 1, s->quantile, &s->quantiles);
}

static jf_status check(const model *m, int conditions, int each, const double *x, const double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y;
    for (int k = 0; m->units.support && k < conditions; k++)
        for (int i = 0; i < each; i++)
            for (size_t j = 0; j < dim_x + dim_y; j++) {
                double value = j < dim_x ? x[((size_t)k * (size_t)each + (size_t)i) * dim_x + j]
                                         : y[(size_t)k * dim_y + j - dim_x];
                char words[96];
                if (!units_take(&m->units, (int)j, value))
                    return jf_fail(m->ctx, JF_ERROR_DATA,
                                   "condition %d, sample %d: element %zu is %g, expected %s", k + 1, i + 1, j,
                                   value, support_words(&m->units.support[j], words, sizeof words));
            }
    return JF_OK;
}

jf_status summary_create(const model *m, summary **out, int conditions, int each, const double *x,
                         const double *y, const jf_summary_options *o) {
    size_t count = (size_t)conditions, dim_x = (size_t)m->units.dim_x, dim = (size_t)m->flow->dim;
    modes w = {0};
    summary *s = NULL;
    jf_status status;
    *out = NULL;
    if (m->units.image.h > 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "summaries are of vectors, and this model is of images");
    if (conditions < 1 || each < 2)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "a summary of %d conditions with %d samples each: expected 1 or more, and 2 or more",
                       conditions, each);
    JF_TRY(check(m, conditions, each, x, y));
    JF_TRY(MEM_NEW(m->ctx, &s, 1));
    *s = (summary){.ctx = m->ctx,
                   .conditions = conditions,
                   .each = each,
                   .dim_x = m->units.dim_x,
                   .dim_y = m->units.dim_y};
    JF_TRY_DONE(take_options(s, o));
    JF_TRY_DONE(MEM_NEW(m->ctx, &s->y, count * (dim - dim_x) + 1));
    if (dim > dim_x) memcpy(s->y, y, count * (dim - dim_x) * sizeof *y);
    JF_TRY_DONE(MEM_NEW(m->ctx, &s->condition, count));
    JF_TRY_DONE(MEM_NEW(m->ctx, &s->column, count * dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.rows, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.start, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.covariance, count * dim_x * dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.mean, dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.log_p, count));
    JF_TRY_DONE(summarise(s, m, x, &w));
    JF_TRY_DONE(summary_write(s, m));
done:
    free(w.rows);
    free(w.start);
    free(w.covariance);
    free(w.mean);
    free(w.log_p);
    if (status == JF_OK)
        *out = s;
    else
        summary_free(s);
    return status;
}

void summary_free(summary *s) {
    if (!s) return;
    free(s->y);
    free(s->condition);
    free(s->column);
    text_free(&s->csv);
    text_free(&s->json);
    text_free(&s->table);
    free(s);
}
