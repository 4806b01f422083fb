#include "model/condition_range.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 0.05 /* of the range, or of the largest distance */
#define RIDGE                                                                                                \
    1e-6 /* added to the variances, which are about 1: elements that follow from others have a place, too */

jf_status condition_range_alloc(jf_context *ctx, condition_range **out, int dim) {
    condition_range *r;
    size_t size = (size_t)dim;
    *out = NULL;
    JF_TRY(MEM_NEW(ctx, &r, 1));
    r->dim = dim;
    jf_status status = MEM_NEW(ctx, &r->lo, size);
    if (status == JF_OK) status = MEM_NEW(ctx, &r->hi, size);
    if (status == JF_OK) status = MEM_NEW(ctx, &r->mean, size);
    if (status == JF_OK && dim <= CONDITION_RANGE_MAX_DIM) status = MEM_NEW(ctx, &r->whiten, size * size);
    if (status != JF_OK) {
        condition_range_free(r);
        return status;
    }
    *out = r;
    return JF_OK;
}

void condition_range_free(condition_range *r) {
    if (!r) return;
    free(r->lo);
    free(r->hi);
    free(r->mean);
    free(r->whiten);
    free(r);
}

jf_status condition_range_copy(jf_context *ctx, condition_range **out, const condition_range *from) {
    size_t size = (size_t)from->dim;
    JF_TRY(condition_range_alloc(ctx, out, from->dim));
    condition_range *to = *out;
    to->rows = from->rows;
    to->near = from->near;
    to->far = from->far;
    memcpy(to->lo, from->lo, size * sizeof *to->lo);
    memcpy(to->hi, from->hi, size * sizeof *to->hi);
    memcpy(to->mean, from->mean, size * sizeof *to->mean);
    if (to->whiten) memcpy(to->whiten, from->whiten, size * size * sizeof *to->whiten);
    return JF_OK;
}

/* ---- measuring ---- */

static void find_ranges(condition_range *r, long n, const double *y) {
    for (int i = 0; i < r->dim; i++) {
        r->lo[i] = INFINITY;
        r->hi[i] = -INFINITY;
        for (long s = 0; s < n; s++) {
            double v = y[s * r->dim + i];
            r->lo[i] = fmin(r->lo[i], v);
            r->hi[i] = fmax(r->hi[i], v);
            r->mean[i] += v / (double)n;
        }
    }
}

/* Lower triangle of the covariance, then its Cholesky factor in place. */
static void factorise(const condition_range *r, long n, const double *y, double *a) {
    int dim = r->dim;
    for (long s = 0; s < n; s++)
        for (int i = 0; i < dim; i++)
            for (int k = 0; k <= i; k++)
                a[i * dim + k] += (y[s * dim + i] - r->mean[i]) * (y[s * dim + k] - r->mean[k]) / (double)n;
    for (int i = 0; i < dim; i++) a[i * dim + i] += RIDGE;
    for (int k = 0; k < dim; k++) {
        for (int j = 0; j < k; j++) a[k * dim + k] -= a[k * dim + j] * a[k * dim + j];
        a[k * dim + k] = sqrt(fmax(a[k * dim + k], RIDGE));
        for (int i = k + 1; i < dim; i++) {
            for (int j = 0; j < k; j++) a[i * dim + k] -= a[i * dim + j] * a[k * dim + j];
            a[i * dim + k] /= a[k * dim + k];
        }
    }
}

/* whiten = L^-1 of the factor. */
static void invert(const double *l, int dim, double *out) {
    for (int k = 0; k < dim; k++)
        for (int i = k; i < dim; i++) {
            double sum = i == k ? 1 : 0;
            for (int j = k; j < i; j++) sum -= l[i * dim + j] * out[j * dim + k];
            out[i * dim + k] = sum / l[i * dim + i];
        }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static jf_status measure_distances(jf_context *ctx, condition_range *r, long n, const double *y) {
    size_t size = (size_t)r->dim;
    double *factor = NULL, *distances = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &factor, size * size));
    JF_TRY_DONE(MEM_NEW(ctx, &distances, (size_t)n));
    factorise(r, n, y, factor);
    invert(factor, r->dim, r->whiten);
    for (long s = 0; s < n; s++) distances[s] = condition_range_distance(r, y + s * r->dim);
    qsort(distances, (size_t)n, sizeof *distances, by_size);
    r->near = distances[(long)(0.99 * (double)(n - 1))];
    r->far = distances[n - 1];
done:
    free(factor);
    free(distances);
    return status;
}

jf_status condition_range_create(jf_context *ctx, condition_range **out, int dim, long n, const double *y) {
    JF_TRY(condition_range_alloc(ctx, out, dim));
    (*out)->rows = (double)n;
    find_ranges(*out, n, y);
    jf_status status = (*out)->whiten ? measure_distances(ctx, *out, n, y) : JF_OK;
    if (status != JF_OK) {
        condition_range_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- asking ---- */

double condition_range_distance(const condition_range *r, const double *y) {
    double square = 0;
    for (int i = 0; r->whiten && i < r->dim; i++) {
        double w = 0;
        for (int k = 0; k <= i; k++) w += r->whiten[i * r->dim + k] * (y[k] - r->mean[k]);
        square += w * w;
    }
    return sqrt(square);
}

int condition_range_excludes(const condition_range *r, const double *y, int *element, double *off) {
    *element = -1;
    *off = 0;
    for (int i = 0; i < r->dim; i++) {
        double over = fmax(y[i] - r->hi[i], r->lo[i] - y[i]);
        if (over <= MARGIN * (r->hi[i] - r->lo[i]) || over <= *off) continue;
        *element = i;
        *off = over; /* model units are deviations */
    }
    return *element >= 0 || (r->whiten && condition_range_distance(r, y) > (1 + MARGIN) * r->far);
}
