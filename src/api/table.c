/* Public: tables in .csv and .npy files. */
#include "api/api.h"
#include "base/finite.h"
#include "io/csv.h"
#include "io/npy.h"
#include <stdlib.h>
#include <string.h>

static jf_status read_npy(jf_context *ctx, jf_table *out, const char *path) {
    int rank;
    size_t sizes[NPY_MAX_RANK];
    JF_TRY(npy_read(ctx, path, &out->values, &rank, sizes));
    if (rank < 1 || rank > 2) {
        jf_table_free(out);
        return jf_fail(ctx, JF_ERROR_SHAPE, "%s: %d dimensions, expected 2 (rows, columns)", path, rank);
    }
    out->rows = sizes[0];
    out->columns = rank == 2 ? sizes[1] : 1;
    return JF_OK;
}

static jf_status read_csv(jf_context *ctx, jf_table *out, const char *path) {
    csv_table t;
    JF_TRY(csv_read(ctx, path, &t));
    *out = (jf_table){t.values, t.rows, t.columns};
    t.values = NULL;
    csv_free(&t);
    return JF_OK;
}

jf_status jf_table_read(jf_context *ctx, jf_table *out, const char *path) {
    const char *ending = file_extension(path);
    *out = (jf_table){0};
    if (strcmp(ending, ".npy") == 0)
        JF_TRY(read_npy(ctx, out, path));
    else if (strcmp(ending, ".csv") == 0 || strcmp(ending, ".txt") == 0 || strcmp(ending, ".tsv") == 0)
        JF_TRY(read_csv(ctx, out, path));
    else
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv or .npy", path);
    size_t count = out->rows * out->columns, at = count_finite(out->values, count);
    if (at == count) return JF_OK;
    jf_status status = jf_fail(ctx, JF_ERROR_DATA, "%s: row %zu, column %zu is %g, expected a finite number",
                               path, at / out->columns + 1, at % out->columns + 1, out->values[at]);
    jf_table_free(out);
    return status;
}

jf_status jf_table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path) {
    const char *ending = file_extension(path);
    if (strcmp(ending, ".npy") == 0)
        return npy_write(ctx, path, t->values, 2, (size_t[]){t->rows, t->columns}, 0);
    if (strcmp(ending, ".csv") == 0) return csv_write(ctx, path, names, t->values, t->rows, t->columns);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv or .npy", path);
}

void jf_table_free(jf_table *t) {
    free(t->values);
    *t = (jf_table){0};
}
