/* Public: whether two samples have the same distribution. */
#include "api/api.h"
#include "two_sample/two_sample.h"
#include <stdlib.h>

#define USUAL_ROWS 10000
#define LEAST_ROWS 20 /* of each: five folds of a few rows */
#define MOST_ROWS  1000000
#define MOST_WIDTH 400 /* columns: the classifier has ten units for each */

static jf_status check(jf_context *ctx, const jf_table *a, const jf_table *b, size_t columns, size_t rows) {
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

jf_status jf_compare(jf_comparison *out, jf_context *ctx, const jf_table *a, const jf_table *b,
                     const jf_compare_options *options) {
    JF_NEEDS(ctx, out, ctx, a, b);
    if (a->rows && b->rows) JF_NEEDS(ctx, a->values, b->values);
    jf_compare_options o;
    jf_comparison made = {0};
    two_sample_result results[JF_MAX_TWO_SAMPLE];
    double *cut_a = NULL, *cut_b = NULL;
    jf_status status;
    JF_TRY(SIZED_BEGIN(ctx, jf_comparison, out));
    JF_TRY(SIZED_TAKE(ctx, jf_compare_options, &o, options));
    size_t least = a->rows < b->rows ? a->rows : b->rows, most = o.rows ? o.rows : USUAL_ROWS;
    made.rows = least < most ? least : most;
    JF_TRY(check(ctx, a, b, o.columns, made.rows));
    size_t columns = o.columns > 0 ? o.columns : a->columns;
    JF_TRY_DONE(cut(ctx, &cut_a, a, columns));
    JF_TRY_DONE(cut(ctx, &cut_b, b, columns));
    JF_TRY_DONE(compare_samples(ctx, cut_a, a->rows, cut_b, b->rows, (int)columns, made.rows, o.seed,
                                o.threads, results));
    for (int i = 0; two_sample_measures[i]; i++) {
        const two_sample_measure *k = two_sample_measures[i];
        made.measures[made.count++] =
            (jf_two_sample){k->name, k->label, k->about, results[i].value, results[i].same, results[i].limit};
    }
    SIZED_GIVE(jf_comparison, out, &made);
done:
    free(cut_a);
    free(cut_b);
    return status;
}
