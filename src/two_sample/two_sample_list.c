/* The list of measures, and what they have in common. A new one is a file here and a line in MEASURE_LIST. */
#include "base/memory.h"
#include "two_sample/two_sample.h"
#include <math.h>
#include <stdlib.h>

#define USUAL_ROWS 10000
#define LEAST_ROWS 20 /* of each: five folds of a few rows */
#define MOST_ROWS  1000000
#define MOST_WIDTH 400 /* columns: the classifier has ten units for each */

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

jf_two_sample two_sample_summary(const double values[COMPARE_DIVISIONS]) {
    jf_two_sample r = {.value = values[0], .limit = values[1]};
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

/* The rows that were taken are in `s`. */
static jf_status measure_all(const two_samples *s, jf_comparison *out) {
    for (int i = 0; two_sample_measures[i]; i++) {
        const two_sample_measure *k = two_sample_measures[i];
        jf_two_sample found = {0};
        JF_TRY(context_poll(s->ctx, k->name, 0, 0));
        JF_TRY(k->measure(s, &found));
        found.name = k->name;
        found.label = k->label;
        found.about = k->about;
        out->measures[out->count++] = found;
    }
    return JF_OK;
}

static jf_status compare_samples(jf_context *ctx, const double *a, size_t rows_a, const double *b,
                                 size_t rows_b, int dim, const jf_compare_options *o, jf_comparison *out) {
    two_samples s = {.ctx = ctx, .n = out->rows, .dim = dim, .seed = o->seed};
    double *mean = NULL, *deviation = NULL;
    float *rows = NULL, *second = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &mean, (size_t)dim));
    JF_TRY_DONE(MEM_NEW(ctx, &deviation, (size_t)dim));
    JF_TRY_DONE(MEM_NEW(ctx, &rows, 2 * s.n * (size_t)dim));
    JF_TRY_DONE(MEM_NEW(ctx, &second, 2 * s.n * COMPARE_DIVISIONS));
    JF_TRY_DONE(pool_create(ctx, &s.pool, o->threads > 0 ? o->threads : threads_available()));
    moments(a, rows_a, (size_t)dim, mean, deviation);
    JF_TRY_DONE(take_rows(&s, rows, a, rows_a, 0, mean, deviation));
    JF_TRY_DONE(take_rows(&s, rows + s.n * (size_t)dim, b, rows_b, 1, mean, deviation));
    s.rows = rows;
    s.second = second;
    JF_TRY_DONE(divide(&s, second));
    JF_TRY_DONE(measure_all(&s, out));
done:
    pool_free(s.pool);
    free(mean);
    free(deviation);
    free(rows);
    free(second);
    return status;
}

/* ---- tables ---- */

static jf_status check_tables(jf_context *ctx, const jf_table *a, const jf_table *b, size_t columns,
                              size_t rows) {
    if (columns == 0 && a->columns != b->columns)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "%zu columns in the first table and %zu in the second, expected equally many, or the "
                       "number of those that are to be compared",
                       a->columns, b->columns);
    size_t least = a->columns < b->columns ? a->columns : b->columns;
    if (columns > least || least == 0)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%zu columns to compare, but a table has only %zu", columns,
                       least);
    if ((columns ? columns : least) > MOST_WIDTH)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%zu columns, expected at most %d", columns ? columns : least,
                       MOST_WIDTH);
    if (rows < LEAST_ROWS || rows > MOST_ROWS)
        return jf_fail(ctx, JF_ERROR_SHAPE, "%zu rows to compare of each table, expected %d to %d", rows,
                       LEAST_ROWS, MOST_ROWS);
    return JF_OK;
}

/* The first `columns` of a table. */
static jf_status cut(jf_context *ctx, double **out, const jf_table *t, size_t columns) {
    JF_TRY(MEM_NEW(ctx, out, t->rows * columns));
    for (size_t i = 0; i < t->rows * columns; i++)
        (*out)[i] = t->values[i / columns * t->columns + i % columns];
    return JF_OK;
}

jf_status compare_tables(jf_context *ctx, const jf_table *a, const jf_table *b, const jf_compare_options *o,
                         jf_comparison *out) {
    size_t least = a->rows < b->rows ? a->rows : b->rows, most = o->rows ? o->rows : USUAL_ROWS;
    double *cut_a = NULL, *cut_b = NULL;
    jf_status status;
    out->rows = least < most ? least : most;
    JF_TRY(check_tables(ctx, a, b, o->columns, out->rows));
    size_t columns = o->columns > 0 ? o->columns : a->columns;
    JF_TRY_DONE(cut(ctx, &cut_a, a, columns));
    JF_TRY_DONE(cut(ctx, &cut_b, b, columns));
    JF_TRY_DONE(compare_samples(ctx, cut_a, a->rows, cut_b, b->rows, (int)columns, o, out));
done:
    free(cut_a);
    free(cut_b);
    return status;
}
