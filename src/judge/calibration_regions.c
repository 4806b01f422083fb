/* For which y the answers are least calibrated.
 *
 * The rows are cut into thirds by each column of y, or into classes. Ranks u in 0 .. 1 of a right model are
 * uniform in every such region, so that the mean of u - 1/2 and that of (u - 1/2)^2 - 1/12 are 0 there, with
 * known standard errors. A region is named where one of these is further off than chance explains over all
 * that are compared (Bonferroni), and further off than in the other rows: what is wrong everywhere alike is
 * no matter of y. */
#include "base/memory.h"
#include "base/statistics.h"
#include "judge/calibration.h"
#include <math.h>
#include <stdlib.h>

#define FEW 30 /* rows; of fewer the mean is not normal enough */
enum { SCORES = 2 };

/* u - 1/2 and (u - 1/2)^2 - 1/12, and their variances for uniform u */
static double score(int which, int rank) {
    double u = (rank + 0.5) / CALIBRATION_RANKS - 0.5;
    return which == 0 ? u : u * u - 1.0 / 12;
}
static const double score_variance[SCORES] = {1.0 / 12, 1.0 / 180};

/* ---- which region a row is in ---- */

typedef struct cut {
    int column, regions; /* of y; -1: classes */
    int *of;             /* (rows), -1: none */
} cut;

static void cut_by_class(const model_units *u, cut *c, long n, const double *data) {
    c->column = -1;
    c->regions = u->classes;
    for (long i = 0; i < n; i++) c->of[i] = units_class_of(u, data + i * (u->dim_x + u->dim_y) + u->dim_x);
}

/* Rows of one value stay together, so that a column of few values has regions of other sizes, or empty ones.
 */
static void cut_by_thirds(const model_units *u, cut *c, long n, const double *data, int column,
                          double *sorted) {
    int dim = u->dim_x + u->dim_y;
    c->column = column;
    c->regions = 3;
    for (long i = 0; i < n; i++) sorted[i] = data[i * dim + u->dim_x + column];
    sort_ascending(sorted, (size_t)n);
    double first = sorted[(n - 1) / 3], second = sorted[2 * (n - 1) / 3];
    for (long i = 0; i < n; i++) {
        double value = data[i * dim + u->dim_x + column];
        c->of[i] = value <= first ? 0 : value <= second ? 1 : 2;
    }
}

static int cuts_of(const model_units *u) {
    return u->classes > 0 ? 1 : u->dim_y;
}

/* ---- comparing ---- */

typedef struct sums {
    double n, all, squares;
} sums;

static void sum_up(const cut *c, const int *ranks, long n, int which, int region, sums *in, sums *out) {
    *in = *out = (sums){0};
    for (long i = 0; i < n; i++) {
        double s = score(which, ranks[i]);
        sums *to = c->of[i] == region ? in : out;
        to->n++;
        to->all += s;
        to->squares += s * s;
    }
}

/* By how many standard errors the region differs from the other rows. */
static double contrast(const sums *in, const sums *out) {
    double n = in->n + out->n, mean = (in->all + out->all) / n;
    double variance = (in->squares + out->squares) / n - mean * mean;
    return (in->all / in->n - out->all / out->n) / sqrt(variance * (1 / in->n + 1 / out->n));
}

static void compare(const cut *c, const int *ranks, long n, int number, int which, int region, double limit,
                    calibration_region *worst) {
    sums in, out;
    sum_up(c, ranks, n, which, region, &in, &out);
    if (in.n < FEW || out.n < FEW) return;
    double off = in.all / sqrt(in.n * score_variance[which]);
    if (fabs(off) <= limit || fabs(off) <= worst->off || fabs(contrast(&in, &out)) <= limit) return;
    if (contrast(&in, &out) * off < 0) return; /* it is the others that are off, this way */
    calibration_verdict verdict = which == 0 ? off > 0 ? BIASED_LOW : BIASED_HIGH
                                  : off > 0  ? OVER_CONFIDENT
                                             : UNDER_CONFIDENT;
    *worst = (calibration_region){.rows = (long)in.n,
                                  .number = number,
                                  .column = c->column,
                                  .part = region,
                                  .off = fabs(off),
                                  .limit = limit,
                                  .verdict = verdict};
}

/* The values that the named region has of its column. */
static void find_range(const model_units *u, const cut *c, long n, const double *data,
                       calibration_region *out) {
    out->lo = INFINITY, out->hi = -INFINITY;
    for (long i = 0; i < n; i++) {
        if (c->of[i] != out->part) continue;
        double value = data[i * (u->dim_x + u->dim_y) + u->dim_x + (out->column < 0 ? 0 : out->column)];
        out->lo = fmin(out->lo, value);
        out->hi = fmax(out->hi, value);
    }
}

/* data (n, dim): the rows in the data's units */
static void compare_all(const model_units *u, calibration_region *out, long n, const double *data,
                        const int *ranks, cut *c, double *sorted) {
    int numbers = u->dim_x + 1, cuts = cuts_of(u);
    int compared = SCORES * numbers * (u->classes > 0 ? u->classes : 3 * cuts);
    double limit = normal_two_sided(CALIBRATION_REGION_LEVEL / compared);
    out->limit = limit;
    out->compared = compared;
    for (int k = 0; k < cuts; k++) {
        double before = out->off;
        if (u->classes > 0)
            cut_by_class(u, c, n, data);
        else
            cut_by_thirds(u, c, n, data, k, sorted);
        for (int i = 0; i < numbers * SCORES * c->regions; i++) {
            int region = i % c->regions, which = i / c->regions % SCORES, number = i / c->regions / SCORES;
            compare(c, ranks + number * n, n, number, which, region, limit, out);
        }
        if (out->off > before) find_range(u, c, n, data, out);
    }
    out->compared = compared;
}

jf_status calibration_find_region(const model *m, calibration_region *out, long n, const double *rows,
                                  const int *ranks) {
    const model_units *u = &m->units;
    size_t dim = (size_t)(u->dim_x + u->dim_y);
    double *data = NULL, *sorted = NULL;
    cut c = {0};
    jf_status status = JF_OK;
    *out = (calibration_region){0};
    if (u->dim_y == 0) return JF_OK;
    JF_TRY_DONE(MEM_NEW(m->ctx, &data, (size_t)n * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &sorted, (size_t)n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &c.of, (size_t)n));
    for (size_t i = 0; i < (size_t)n * dim; i++) data[i] = rows[i];
    units_unstandardise(u, (int)n, data);
    compare_all(u, out, n, data, ranks, &c, sorted);
done:
    free(data);
    free(sorted);
    free(c.of);
    return status;
}
