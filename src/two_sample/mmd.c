/* Maximum mean discrepancy: |E k(a, .) - E k(b, .)| in the space of a Gaussian kernel k, whose width is the
 * median distance between rows. With weights w = 1/n of A's rows and -1/n of B's its square is the sum of w_i
 * w_j k(i, j) over all pairs (the biased estimate, which is never negative). */
#include "base/memory.h"
#include "base/statistics.h"
#include "two_sample/two_sample.h"
#include <math.h>
#include <stdlib.h>

#define MEDIAN_ROWS 1000 /* of the pool, whose distances are looked at for the width */
#define TASKS       64

typedef struct call {
    const two_samples *s;
    float scale;  /* k = exp(scale |i - j|^2) */
    double *sums; /* (TASKS, COMPARE_DIVISIONS) of s_i s_j k(i, j) over i < j, s = 1 of A and -1 of B */
} call;

static float squared_distance(const float *a, const float *b, int dim) {
    float sum = 0;
    for (int k = 0; k < dim; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/* Pairs of row i with all behind it. In float for a few hundred of them at a time, in double beyond. */
static void add_row(const call *c, size_t i, double *sums) {
    const two_samples *s = c->s;
    size_t dim = (size_t)s->dim, count = 2 * s->n;
    const float *mine = s->second + i * COMPARE_DIVISIONS;
    double row[COMPARE_DIVISIONS] = {0};
    for (size_t first = i + 1; first < count; first += 256) {
        size_t end = first + 256 < count ? first + 256 : count;
        float part[COMPARE_DIVISIONS] = {0};
        for (size_t j = first; j < end; j++) {
            float k = expf(c->scale * squared_distance(s->rows + i * dim, s->rows + j * dim, s->dim));
            const float *other = s->second + j * COMPARE_DIVISIONS;
            for (int d = 0; d < COMPARE_DIVISIONS; d++) part[d] += k * (1 - 2 * other[d]);
        }
        for (int d = 0; d < COMPARE_DIVISIONS; d++) row[d] += part[d];
    }
    for (int d = 0; d < COMPARE_DIVISIONS; d++) sums[d] += row[d] * (1 - 2 * mine[d]);
}

/* Every TASKS-th row: those in front have more pairs than those behind. */
static void add_rows(void *arg, int task, int worker) {
    (void)worker;
    const call *c = arg;
    for (size_t i = (size_t)task; i < 2 * c->s->n; i += TASKS)
        add_row(c, i, c->sums + (size_t)task * COMPARE_DIVISIONS);
}

/* Of every so many-th row of the pool. */
static jf_status median_distance(const two_samples *s, double *out) {
    size_t rows = 2 * s->n < MEDIAN_ROWS ? 2 * s->n : MEDIAN_ROWS, count = 0, dim = (size_t)s->dim;
    double *distances;
    JF_TRY(MEM_NEW(s->ctx, &distances, rows * (rows - 1) / 2));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < i; j++)
            distances[count++] = sqrt(squared_distance(s->rows + i * (2 * s->n) / rows * dim,
                                                       s->rows + j * (2 * s->n) / rows * dim, s->dim));
    sort_ascending(distances, count);
    *out = quantile(distances, count, 0.5);
    free(distances);
    return JF_OK;
}

static jf_status measure(const two_samples *s, jf_two_sample *out) {
    call c = {.s = s};
    double width, values[COMPARE_DIVISIONS], n = (double)s->n;
    JF_TRY(median_distance(s, &width));
    c.scale = (float)(-0.5 / (width > 0 ? width * width : 1));
    JF_TRY(MEM_NEW(s->ctx, &c.sums, (size_t)TASKS * COMPARE_DIVISIONS));
    pool_run(s->pool, TASKS, add_rows, &c);
    for (int d = 0; d < COMPARE_DIVISIONS; d++) {
        double pairs = 0;
        for (int t = 0; t < TASKS; t++) pairs += c.sums[t * COMPARE_DIVISIONS + d];
        double square = (2 * pairs + 2 * n) / (n * n); /* 2n: each row with itself */
        values[d] = square > 0 ? sqrt(square) : 0;
    }
    *out = two_sample_summary(values);
    free(c.sums);
    return JF_OK;
}

const two_sample_measure measure_mmd = {
    .name = "mmd",
    .label = "MMD",
    .about = "maximum mean discrepancy, Gaussian kernel as wide as the median distance",
    .measure = measure,
};
