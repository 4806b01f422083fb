/* Public: data in memory. */
#include "api/api.h"
#include "base/number.h"
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* As in a table of a file. */
#define MOST_COLUMNS 1000000

static jf_status check_size(jf_context *ctx, const char *part, size_t rows, size_t columns, size_t least) {
    if (columns < least || columns > MOST_COLUMNS)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: %s has %zu columns, expected %zu to %d", part,
                       columns, least, MOST_COLUMNS);
    if (rows > LONG_MAX)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: %s has %zu rows, expected less", part, rows);
    return JF_OK;
}

static jf_status check_array(jf_context *ctx, const char *part, const jf_array *a) {
    JF_TRY(check_size(ctx, part, a->rows, a->columns, 1));
    if (a->type != JF_FLOAT && a->type != JF_DOUBLE)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "data in memory: numbers of %s have the type %d, expected JF_FLOAT or JF_DOUBLE", part,
                       (int)a->type);
    if (!a->values && a->rows > 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: %s has no values, expected %zu rows", part,
                       a->rows);
    return JF_OK;
}

static memory_array array_of(const jf_array *a) {
    ptrdiff_t size = a->type == JF_FLOAT ? sizeof(float) : sizeof(double);
    int dense = a->row_stride == 0 && a->column_stride == 0;
    return (memory_array){.values = a->values,
                          .is_float = a->type == JF_FLOAT,
                          .columns = a->columns,
                          .row_stride = dense ? size * (ptrdiff_t)a->columns : a->row_stride,
                          .column_stride = dense ? size : a->column_stride};
}

/* The column of `b` that is column i of `a`; -1: there is none. */
static ptrdiff_t find_column(const memory_array *a, size_t i, const memory_array *b) {
    intptr_t apart = (intptr_t)a->values + (intptr_t)i * a->column_stride - (intptr_t)b->values, at = 0;
    if (a->is_float != b->is_float || a->row_stride != b->row_stride) return -1;
    if (b->column_stride == 0) return apart == 0 ? 0 : -1;
    at = apart / b->column_stride;
    return apart % b->column_stride == 0 && at >= 0 && (size_t)at < b->columns ? at : -1;
}

/* Views of one array may overlap. */
static jf_status check_once(jf_context *ctx, const memory_array *x, const memory_array *y) {
    if (x->columns > 1 && x->column_stride == 0)
        return jf_fail(ctx, JF_ERROR_DATA, "data in memory: all columns of x are one, expected each once");
    for (size_t i = 0; y->columns && i < x->columns; i++) {
        ptrdiff_t at = find_column(x, i, y);
        if (at >= 0)
            return jf_fail(ctx, JF_ERROR_DATA,
                           "data in memory: column %zu of x is column %zu of y, too, expected each once",
                           i + 1, (size_t)at + 1);
    }
    return JF_OK;
}

jf_status jf_data_create(jf_data **out, jf_context *ctx, const jf_array *x, const jf_array *y) {
    JF_GIVES(ctx, out, ctx, x);
    JF_TRY(check_array(ctx, "x", x));
    if (y) JF_TRY(check_array(ctx, "y", y));
    if (y && y->rows != x->rows)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "data in memory: x has %zu rows and y has %zu, expected as many, a row beside each",
                       x->rows, y->rows);
    memory_array of_x = array_of(x), of_y = y ? array_of(y) : (memory_array){0};
    JF_TRY(check_once(ctx, &of_x, &of_y));
    return memory_rows_create(ctx, out, x->rows, &of_x, &of_y);
}

jf_status jf_data_fill(jf_data **out, jf_context *ctx, size_t rows, size_t dim_x, size_t dim_y,
                       jf_fill_fn fill, void *user) {
    JF_GIVES(ctx, out, ctx);
    JF_TRY(check_size(ctx, "x", rows, dim_x, 1));
    JF_TRY(check_size(ctx, "y", rows, dim_y, 0));
    if (!fill) return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: no function to fill rows was given");
    return memory_rows_fill(ctx, out, rows, dim_x, dim_y, fill, user);
}

jf_status jf_data_set_names(jf_data *d, const char *const *names) {
    JF_NEEDS(NULL, d);
    return memory_rows_set_names(d, names);
}

jf_status jf_data_set_y_shape(jf_data *d, const size_t *sizes, size_t count) {
    JF_NEEDS(d ? memory_rows_context(d) : NULL, d, sizes);
    size_t columns = memory_rows_columns(d) - memory_rows_columns_x(d);
    jf_context *ctx = memory_rows_context(d);
    y_axes axes = {0};
    double product = 1;
    if (count < 1 || count > Y_AXES_MOST)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: y has %zu axes, expected 1 to %d", count,
                       Y_AXES_MOST);
    for (size_t i = 0; i < count; i++) {
        product *= (double)sizes[i];
        axes.size[axes.rank++] = sizes[i] <= MOST_COLUMNS ? (int)sizes[i] : 0;
    }
    if (product != (double)columns)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "data in memory: the axes of y have %.0f numbers, expected %zu, its columns", product,
                       columns);
    memory_rows_set_axes(d, count > 1 ? axes : (y_axes){0});
    return JF_OK;
}

jf_status jf_data_set_classes(jf_data *d, const char *const *names, size_t count) {
    JF_NEEDS(d ? memory_rows_context(d) : NULL, d, names);
    jf_context *ctx = memory_rows_context(d);
    size_t columns = memory_rows_columns(d) - memory_rows_columns_x(d);
    if (columns != 1)
        return jf_fail(ctx, JF_ERROR_SHAPE, "data in memory: y has %zu columns, expected 1 of classes",
                       columns);
    for (size_t k = 0; k < count; k++)
        if (!names[k] || !names[k][0])
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: class %zu of y has no name", k + 1);
    return memory_rows_set_words(d, names, count);
}

void jf_data_on_release(jf_data *d, void (*release)(void *user), void *user) {
    if (!d) return;
    memory_rows_on_release(d, release, user);
}

void jf_data_free(jf_data *d) {
    memory_rows_free(d);
}

static jf_status set_count(jf_recipe *r, const char *key, size_t count) {
    char digits[32];
    number_print(digits, sizeof digits, "%zu", count);
    return recipe_set(r, key, digits);
}

jf_status jf_recipe_set_data(jf_recipe *r, jf_data *data) {
    JF_NEEDS(r ? recipe_context(r) : NULL, r, data);
    size_t dim_x = memory_rows_columns_x(data);
    JF_TRY(recipe_set(r, "data.set", "table"));
    JF_TRY(recipe_set(r, "data.file", MEMORY_ROWS_FILE));
    JF_TRY(set_count(r, "data.x", dim_x));
    JF_TRY(set_count(r, "data.y", memory_rows_columns(data) - dim_x));
    recipe_set_rows(r, data);
    return JF_OK;
}

/* Of a table, since the recipe of anything else does not read them. */
jf_status jf_model_set_data(jf_model *m, jf_data *data) {
    JF_NEEDS(CONTEXT_OF(m), m);
    if (data && !recipe_is(m->recipe, "data.file", MEMORY_ROWS_FILE))
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "data in memory for a model that was not trained on such: expected data.file = "
                       "memory in its recipe; give them as data to judge on");
    recipe_set_rows(m->recipe, data);
    return JF_OK;
}
