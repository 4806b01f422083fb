/* The list of measures, and what they have in common. A new one is a file here and a line in MEASURE_LIST. */
#include "base/memory.h"
#include "two_sample/two_sample.h"
#include <math.h>
#include <stdlib.h>

#define MEASURE_LIST(X)                                                                                      \
    X(c2st)                                                                                                  \
    X(mmd)                                                                                                   \
    X(sliced)

#define X(name) extern const two_sample_measure measure_##name;
MEASURE_LIST(X)
#undef X

const two_sample_measure *const two_sample_measures[] = {
#define X(name) &measure_##name,
    MEASURE_LIST(X)
#undef X
        NULL};

two_sample_result two_sample_summary(const double values[COMPARE_DIVISIONS]) {
    two_sample_result r = {.value = values[0], .limit = values[1]};
    for (int i = 1; i < COMPARE_DIVISIONS; i++) {
        r.same += values[i] / (COMPARE_DIVISIONS - 1);
        if (values[i] > r.limit) r.limit = values[i];
    }
    return r;
}

/* The numbers 0 .. count-1, shuffled. */
static jf_status shuffled(jf_context *ctx, int **out, const two_samples *s, uint32_t use, uint64_t index,
                          size_t count) {
    JF_TRY(MEM_NEW(ctx, out, count));
    for (size_t i = 0; i < count; i++) (*out)[i] = (int)i;
    rng stream = compare_stream(s, use, index);
    rng_shuffle(&stream, *out, (int)count);
    return JF_OK;
}

/* n of the rows, all in their order where there are no more. */
static jf_status take_rows(const two_samples *s, float *to, const double *from, size_t rows, int which,
                           const double *mean, const double *deviation) {
    int *order = NULL;
    size_t dim = (size_t)s->dim;
    if (rows > s->n) JF_TRY(shuffled(s->ctx, &order, s, COMPARE_ROWS, (uint64_t)which, rows));
    for (size_t r = 0; r < s->n; r++)
        for (size_t k = 0; k < dim; k++)
            to[r * dim + k] =
                (float)((from[(order ? (size_t)order[r] : r) * dim + k] - mean[k]) / deviation[k]);
    free(order);
    return JF_OK;
}

/* Of all rows of A. A column that never changes is only moved. */
static void moments(const double *a, size_t rows, size_t dim, double *mean, double *deviation) {
    for (size_t k = 0; k < dim; k++) {
        double sum = 0, squares = 0;
        for (size_t r = 0; r < rows; r++) sum += a[r * dim + k];
        mean[k] = sum / (double)rows;
        for (size_t r = 0; r < rows; r++) squares += (a[r * dim + k] - mean[k]) * (a[r * dim + k] - mean[k]);
        deviation[k] = sqrt(squares / (double)(rows > 1 ? rows - 1 : 1));
        if (!(deviation[k] > 0)) deviation[k] = 1;
    }
}

static jf_status divide(const two_samples *s, float *second) {
    for (size_t d = 0; d < COMPARE_DIVISIONS; d++) {
        int *order = NULL;
        if (d > 0) JF_TRY(shuffled(s->ctx, &order, s, COMPARE_DIVIDE, d, 2 * s->n));
        for (size_t r = 0; r < 2 * s->n; r++)
            second[(order ? (size_t)order[r] : r) * COMPARE_DIVISIONS + d] = r >= s->n;
        free(order);
    }
    return JF_OK;
}

jf_status compare_samples(jf_context *ctx, const double *a, size_t rows_a, const double *b, size_t rows_b,
                          int dim, size_t n, uint64_t seed, int threads, two_sample_result *out) {
    two_samples s = {.ctx = ctx, .n = n, .dim = dim, .seed = seed};
    double *mean = NULL, *deviation = NULL;
    float *rows = NULL, *second = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &mean, (size_t)dim));
    JF_TRY_DONE(MEM_NEW(ctx, &deviation, (size_t)dim));
    JF_TRY_DONE(MEM_NEW(ctx, &rows, 2 * n * (size_t)dim));
    JF_TRY_DONE(MEM_NEW(ctx, &second, 2 * n * COMPARE_DIVISIONS));
    JF_TRY_DONE(pool_create(ctx, &s.pool, threads > 0 ? threads : threads_available()));
    moments(a, rows_a, (size_t)dim, mean, deviation);
    JF_TRY_DONE(take_rows(&s, rows, a, rows_a, 0, mean, deviation));
    JF_TRY_DONE(take_rows(&s, rows + n * (size_t)dim, b, rows_b, 1, mean, deviation));
    s.rows = rows;
    s.second = second;
    JF_TRY_DONE(divide(&s, second));
    for (int i = 0; two_sample_measures[i]; i++) {
        JF_TRY_DONE(context_poll(ctx, two_sample_measures[i]->name, 0, 0));
        JF_TRY_DONE(two_sample_measures[i]->measure(&s, &out[i]));
    }
done:
    pool_free(s.pool);
    free(mean);
    free(deviation);
    free(rows);
    free(second);
    return status;
}
