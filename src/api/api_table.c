/* Public: tables in text (.csv, .tsv, .txt) and .npy files. */
#include "api/api.h"
#include "base/finite.h"
#include "base/number.h"
#include "io/csv.h"
#include "io/npy.h"
#include "io/rows.h"
#include <math.h>
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

/* f, columns: the file and those of its columns that the table has, which messages name; NULL: their numbers
 */
static jf_status check_finite(jf_context *ctx, jf_table *t, const char *path, const row_file *f,
                              const size_t *columns) {
    char words[160];
    size_t count = t->rows * t->columns, at = count_finite(t->values, count);
    if (at == count) return JF_OK;
    const char *found = isnan(t->values[at]) ? "missing (nan)" : t->values[at] > 0 ? "inf" : "-inf";
    if (f)
        row_file_column_words(f, columns[at % t->columns], words, sizeof words);
    else
        number_print(words, sizeof words, "column %zu", at % t->columns + 1);
    jf_status status = jf_fail(ctx, JF_ERROR_DATA, "%s: row %zu, %s is %s, expected a finite number", path,
                               at / t->columns + 1, words, found);
    jf_table_free(t);
    return status;
}

jf_status jf_table_read(jf_table *out, jf_context *ctx, const char *path) {
    JF_GIVES(ctx, out, ctx, path);
    const char *ending = file_extension(path);
    if (strcmp(ending, ".npy") == 0)
        JF_TRY(read_npy(ctx, out, path));
    else if (row_file_is_text(path))
        JF_TRY(read_csv(ctx, out, path));
    else
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv, .tsv, .txt or .npy", path);
    return check_finite(ctx, out, path, NULL, NULL);
}

/* ---- by the names of a model's columns ---- */

/* The columns of the file that the elements are. A name that several elements have stands as often in the
 * file, in their order. */
typedef struct named_columns {
    size_t *columns; /* (count), and room for all of the file */
    int found;
    const char *missing, *ambiguous; /* names; NULL: there is none */
} named_columns;

static size_t find_column(const row_file *f, const char *name, int earlier) {
    size_t k = 0, all = row_file_columns(f);
    while (k < all && (strcmp(row_file_name(f, k), name) != 0 || earlier-- > 0)) k++;
    return k;
}

static void find_columns(const model *m, const row_file *f, int first, int count, named_columns *out) {
    char *const *names = m->units.names + first;
    size_t all = row_file_columns(f);
    for (int i = 0; i < count; i++) {
        int earlier = 0, same = 0;
        for (int k = 0; k < count; k++) {
            int is = strcmp(names[k], names[i]) == 0;
            same += is;
            earlier += is && k < i;
        }
        out->columns[i] = find_column(f, names[i], earlier);
        out->found += out->columns[i] < all;
        if (out->columns[i] == all) out->missing = names[i];
        if (find_column(f, names[i], same) < all) out->ambiguous = names[i];
    }
}

/* ---- classes ---- */

/* Columns of a file that are wanted: `at` (count), which of them is the class; -1: none. */
typedef struct wanted {
    const size_t *at;
    size_t count;
    int class_at;
} wanted;

/* "8", or the name of a class */
static jf_status refuse_class(const model *m, const row_file *f, size_t row, size_t column, double value) {
    text known = {0};
    char digits[NUMBER_SIZE];
    size_t words = row_file_words(f, column);
    number_shortest(digits, value);
    units_list_classes(&m->units, &known);
    jf_status status =
        jf_fail(m->ctx, JF_ERROR_DATA, "%s: row %zu: y is %s, which is no class, expected one of %s",
                row_file_path(f), row + 1, words ? row_file_word(f, column, (size_t)value) : digits,
                known.chars ? known.chars : "");
    text_free(&known);
    return status;
}

/* Words become labels. A y of several elements is of one of these, a single one may lie between them. */
static jf_status take_labels(const model *m, const row_file *f, size_t column, jf_table *t, size_t at) {
    const model_units *u = &m->units;
    size_t words = row_file_words(f, column);
    for (size_t row = 0; row < t->rows; row++) {
        double *value = &t->values[row * t->columns + at];
        int k = words ? units_find_class(u, row_file_word(f, column, (size_t)*value))
                      : units_class_of_label(u, *value);
        if (k < 0 && (words || units_planes(u))) return refuse_class(m, f, row, column, *value);
        if (k >= 0) *value = u->label[k];
    }
    return JF_OK;
}

/* The label in the last column becomes y. */
static jf_status spread_labels(const model *m, jf_table *t) {
    const model_units *u = &m->units;
    size_t before = t->columns - 1, width = before + (size_t)u->dim_y;
    double *values;
    JF_TRY(MEM_NEW(m->ctx, &values, t->rows * width + 1));
    for (size_t row = 0; row < t->rows; row++) {
        const double *from = t->values + row * t->columns;
        memcpy(values + row * width, from, before * sizeof *values);
        units_fill_y(u, from[before], values + row * width + before);
    }
    free(t->values);
    *t = (jf_table){values, t->rows, width};
    return JF_OK;
}

static jf_status take_columns(const model *m, const row_file *f, const wanted *w, jf_table *out) {
    out->rows = row_file_rows(f);
    out->columns = w->count;
    for (size_t i = 0; i < w->count; i++)
        JF_TRY(
            ((int)i == w->class_at ? row_file_check_classes : row_file_check_numbers)(m->ctx, f, w->at[i]));
    JF_TRY(MEM_NEW(m->ctx, &out->values, out->rows * w->count + 1));
    for (size_t row = 0; row < out->rows; row++)
        row_file_take(f, row, w->at, w->count, out->values + row * w->count);
    JF_TRY(row_file_check(m->ctx, f));
    JF_TRY(check_finite(m->ctx, out, row_file_path(f), f, w->at));
    if (w->class_at < 0) return JF_OK;
    JF_TRY(take_labels(m, f, w->at[w->class_at], out, (size_t)w->class_at));
    return units_planes(&m->units) ? spread_labels(m, out) : JF_OK;
}

/* Elements from `first` on end with the y of a class, of which files have one column. */
static int ends_with_class(const model *m, int first, int count) {
    const model_units *u = &m->units;
    return u->image.h == 0 && u->classes > 0 && count >= u->dim_y && first + count == u->dim_x + u->dim_y;
}

static jf_status take_named(const model *m, const row_file *f, int first, int count, jf_table *out) {
    int of_class = ends_with_class(m, first, count);
    if (of_class) count -= m->units.dim_y - 1; /* the first of them has the name of the column */
    named_columns named = {0};
    size_t all = row_file_columns(f);
    JF_TRY(MEM_NEW(m->ctx, &named.columns, (size_t)count + all));
    if (m->units.names && row_file_name(f, 0)) find_columns(m, f, first, count, &named);
    jf_status status;
    if (named.found > 0 && named.found < count) {
        status = jf_fail(
            m->ctx, JF_ERROR_SHAPE,
            "%s: there is no column \"%s\", expected all that the model knows by name, or a table without "
            "their names and %d columns",
            row_file_path(f), named.missing, count);
    } else if (named.ambiguous) {
        status =
            jf_fail(m->ctx, JF_ERROR_SHAPE,
                    "%s: more columns are called \"%s\" than the model has, expected as many, or a table "
                    "without names and %d columns",
                    row_file_path(f), named.ambiguous, count);
    } else {
        for (size_t i = 0; named.found == 0 && i < all; i++) named.columns[i] = i;
        wanted w = {named.columns, named.found ? (size_t)count : all, -1};
        if (of_class && w.count == (size_t)count) w.class_at = count - 1;
        status = take_columns(m, f, &w, out);
    }
    free(named.columns);
    return status;
}

/* A y that is a series or an image has to be the model's; of x, or of x and y together, there are columns. */
static jf_status check_axes(const model *m, const row_file *f, size_t first, size_t count) {
    y_axes found = row_file_axes(f), expected;
    char found_words[Y_AXES_WORDS], expected_words[Y_AXES_WORDS];
    if (first < (size_t)m->units.dim_x || count != (size_t)m->units.dim_y)
        return row_file_check_flat(m->ctx, f);
    if (found.rank == 0 || !m->flow->embed) return JF_OK;
    expected = m->flow->embed->axes;
    if (expected.rank == 1 || y_axes_same(&found, &expected))
        return JF_OK; /* dense layers know numbers alone */
    return jf_fail(m->ctx, JF_ERROR_SHAPE,
                   "%s: each y is of %s numbers, expected %s, as the model's embedding takes them",
                   row_file_path(f), y_axes_words(&found, found_words),
                   y_axes_words(&expected, expected_words));
}

jf_status jf_table_read_for(jf_table *out, const jf_model *m, const char *path, size_t first, size_t count) {
    JF_GIVES(CONTEXT_OF(m), out, m, path);
    row_file *f;
    size_t dim = (size_t)(m->units.dim_x + m->units.dim_y);
    if (first >= dim || count < 1 || count > dim - first)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu elements from %zu on of a model with %zu, expected some of them", count, first,
                       dim);
    JF_TRY(row_file_open(m->ctx, &f, path));
    jf_status status = check_axes(m, f, first, count);
    if (status == JF_OK) status = take_named(m, f, (int)first, (int)count, out);
    if (status != JF_OK) jf_table_free(out);
    row_file_close(f);
    return status;
}

jf_status jf_table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path) {
    JF_NEEDS(ctx, ctx, t, path);
    if (t->rows) JF_NEEDS(ctx, t->values);
    if (names) JF_NEEDS_EACH(ctx, names, t->columns);
    const char *ending = file_extension(path);
    if (strcmp(ending, ".npy") == 0)
        return npy_write(ctx, path, t->values, 2, (size_t[]){t->rows, t->columns}, 0);
    if (strcmp(ending, ".csv") == 0) return csv_write(ctx, path, names, t->values, t->rows, t->columns);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv or .npy", path);
}

typedef struct class_columns {
    const model_units *units;
    const unsigned char *is_class;
} class_columns;

static const char *word_of(const void *with, size_t column, double value) {
    const class_columns *c = with;
    return c->is_class[column] ? units_word_of_label(c->units, value) : NULL;
}

jf_status jf_table_write_for(const jf_table *t, const jf_model *m, const char *const *names,
                             const unsigned char *is_class, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), t, m, is_class, path);
    if (t->rows) JF_NEEDS(m->ctx, t->values);
    if (strcmp(file_extension(path), ".csv") != 0) return jf_table_write(m->ctx, t, names, path);
    return csv_write_words(m->ctx, path, names, t->values, t->rows, t->columns, word_of,
                           &(class_columns){&m->units, is_class});
}

void jf_table_free(jf_table *t) {
    if (!t) return;
    free(t->values);
    *t = (jf_table){0};
}
