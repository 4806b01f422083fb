#include "model/model_table.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/csv.h"
#include "io/table_file.h"
#include <stdlib.h>
#include <string.h>

/* ---- columns by name ---- */

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
    JF_TRY(table_check_finite(m->ctx, out, row_file_path(f), f, w->at));
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

jf_status model_table_read(const model *m, jf_table *out, const char *path, size_t first, size_t count) {
    row_file *f;
    size_t dim = (size_t)(m->units.dim_x + m->units.dim_y);
    *out = (jf_table){0};
    if (first >= dim || count < 1 || count > dim - first)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu elements from %zu on of a model with %zu, expected some of them", count, first,
                       dim);
    JF_TRY(row_file_open(m->ctx, &f, path));
    jf_status status = check_axes(m, f, first, count);
    if (status == JF_OK) status = take_named(m, f, (int)first, (int)count, out);
    if (status != JF_OK) table_free(out);
    row_file_close(f);
    return status;
}

/* ---- writing ---- */

typedef struct class_columns {
    const model_units *units;
    const unsigned char *is_class;
} class_columns;

static const char *word_of(const void *with, size_t column, double value) {
    const class_columns *c = with;
    return c->is_class[column] ? units_word_of_label(c->units, value) : NULL;
}

jf_status model_table_write(const model *m, const jf_table *t, const char *const *names,
                            const unsigned char *is_class, const char *path) {
    if (strcmp(file_extension(path), ".csv") != 0) return table_write(m->ctx, t, names, path);
    return csv_write_words(m->ctx, path, names, t->values, t->rows, t->columns, word_of,
                           &(class_columns){&m->units, is_class});
}
