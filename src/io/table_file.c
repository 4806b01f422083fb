#include "io/table_file.h"
#include "base/file.h"
#include "base/finite.h"
#include "base/number.h"
#include "io/csv.h"
#include "io/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void table_free(jf_table *t) {
    free(t->values);
    *t = (jf_table){0};
}

static jf_status read_npy(jf_context *ctx, jf_table *out, const char *path) {
    int rank;
    size_t sizes[NPY_MAX_RANK];
    JF_TRY(npy_read(ctx, path, &out->values, &rank, sizes));
    if (rank < 1 || rank > 2) {
        table_free(out);
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

jf_status table_check_finite(jf_context *ctx, jf_table *t, const char *path, const row_file *f,
                             const size_t *columns) {
    char words[160];
    size_t count = t->rows * t->columns, at = count_finite(t->values, count);
    if (at == count) return JF_OK;
    const char *found = isnan(t->values[at]) ? "missing (nan)" : t->values[at] > 0 ? "inf" : "-inf";
    if (f)
        row_file_column_words(f, columns[at % t->columns], words, sizeof words);
    else
        format_text(words, sizeof words, "column %zu", at % t->columns + 1);
    jf_status status = jf_fail(ctx, JF_ERROR_DATA, "%s: row %zu, %s is %s, expected a finite number", path,
                               at / t->columns + 1, words, found);
    table_free(t);
    return status;
}

jf_status table_read(jf_context *ctx, jf_table *out, const char *path) {
    const char *ending = file_extension(path);
    *out = (jf_table){0};
    if (strcmp(ending, ".npy") == 0)
        JF_TRY(read_npy(ctx, out, path));
    else if (row_file_is_text(path))
        JF_TRY(read_csv(ctx, out, path));
    else
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv, .tsv, .txt or .npy", path);
    return table_check_finite(ctx, out, path, NULL, NULL);
}

jf_status table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path) {
    const char *ending = file_extension(path);
    if (strcmp(ending, ".npy") == 0)
        return npy_write(ctx, path, t->values, 2, (size_t[]){t->rows, t->columns}, 0);
    if (strcmp(ending, ".csv") == 0) return csv_write(ctx, path, names, t->values, t->rows, t->columns);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv or .npy", path);
}
