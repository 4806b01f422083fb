#include "io/memory_rows.h"
#include "base/memory.h"
#include "io/csv.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that `fill` is asked for at a time, about. */
#define FILL_NUMBERS 65536
/* As in a table of a file. */
#define MOST_COLUMNS 1000000

/* An array of the caller, or of the rows' own. */
typedef struct memory_array {
    const char *values;
    int is_float; /* of type float; otherwise double */
    size_t columns;
    ptrdiff_t row_stride, column_stride;
} memory_array;

struct jf_data {
    jf_context *ctx;
    atomic_size_t holders;
    size_t rows;
    memory_array x, y; /* y.columns may be 0 */
    double *own;       /* (rows, columns of x) and then (rows, columns of y), where they were filled */
    char **names;      /* (columns of x and y) or NULL */
    y_axes axes;       /* of y */
    word_list words;   /* of y; empty: it holds numbers */
    void (*release)(void *user);
    void *release_user;
    memory_rows *original; /* of rows that were renamed: whose values these are */
};

/* ---- making ---- */

static jf_status create(jf_context *ctx, memory_rows **out, size_t rows, const memory_array *x,
                        const memory_array *y) {
    JF_TRY(MEM_NEW(ctx, out, 1));
    atomic_init(&(*out)->holders, 1);
    (*out)->ctx = context_hold(ctx);
    (*out)->rows = rows;
    (*out)->x = *x;
    if (y) (*out)->y = *y;
    return JF_OK;
}

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

jf_status memory_rows_create(jf_context *ctx, memory_rows **out, const jf_array *x, const jf_array *y) {
    *out = NULL;
    JF_TRY(check_array(ctx, "x", x));
    if (y) JF_TRY(check_array(ctx, "y", y));
    if (y && y->rows != x->rows)
        return jf_fail(ctx, JF_ERROR_SHAPE,
                       "data in memory: x has %zu rows and y has %zu, expected as many, a row beside each",
                       x->rows, y->rows);
    memory_array of_x = array_of(x), of_y = y ? array_of(y) : (memory_array){0};
    JF_TRY(check_once(ctx, &of_x, &of_y));
    return create(ctx, out, x->rows, &of_x, &of_y);
}

static memory_array dense(const double *values, size_t columns) {
    return (memory_array){.values = (const char *)values,
                          .columns = columns,
                          .row_stride = (ptrdiff_t)(columns * sizeof(double)),
                          .column_stride = sizeof(double)};
}

static jf_status fill_all(jf_context *ctx, memory_rows *r, jf_fill_fn fill, void *user) {
    size_t dim_x = r->x.columns, dim_y = r->y.columns, piece = FILL_NUMBERS / (dim_x + dim_y) + 1;
    double *x = r->own, *y = r->own + r->rows * dim_x;
    for (size_t at = 0; at < r->rows; at += piece) {
        size_t count = r->rows - at < piece ? r->rows - at : piece;
        if (fill(user, at, count, x + at * dim_x, y + at * dim_y))
            return jf_fail(ctx, JF_STOPPED,
                           "data: the function that fills rows stopped in rows %zu to %zu of %zu", at + 1,
                           at + count, r->rows);
    }
    return JF_OK;
}

jf_status memory_rows_fill(jf_context *ctx, memory_rows **out, size_t rows, size_t dim_x, size_t dim_y,
                           jf_fill_fn fill, void *user) {
    double *values;
    *out = NULL;
    JF_TRY(check_size(ctx, "x", rows, dim_x, 1));
    JF_TRY(check_size(ctx, "y", rows, dim_y, 0));
    if (dim_x + dim_y == 0 || rows > SIZE_MAX / sizeof(double) / (dim_x + dim_y))
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "data: %zu rows of %zu and %zu columns have no size", rows,
                       dim_x, dim_y);
    JF_TRY(MEM_NEW(ctx, &values, rows * (dim_x + dim_y) + 1));
    memory_array x = dense(values, dim_x), y = dense(values + rows * dim_x, dim_y);
    jf_status status = create(ctx, out, rows, &x, &y);
    if (status != JF_OK) {
        free(values);
        return status;
    }
    (*out)->own = values;
    status = fill_all(ctx, *out, fill, user);
    if (status == JF_OK) return JF_OK;
    memory_rows_free(*out);
    *out = NULL;
    return status;
}

jf_status memory_rows_renamed(jf_context *ctx, memory_rows **out, memory_rows *rows,
                              const char *const *names) {
    *out = NULL;
    JF_TRY(create(ctx, out, rows->rows, &rows->x, &rows->y));
    (*out)->original = memory_rows_hold(rows);
    (*out)->axes = rows->axes;
    jf_status status = memory_rows_set_names(*out, names);
    if (status == JF_OK && rows->words.count)
        status =
            memory_rows_set_words(*out, (const char *const *)rows->words.word, (size_t)rows->words.count);
    if (status == JF_OK) return JF_OK;
    memory_rows_free(*out);
    *out = NULL;
    return status;
}

/* ---- names ---- */

static void names_free(char **names, size_t count) {
    for (size_t i = 0; names && i < count; i++) free(names[i]);
    free(names);
}

jf_status memory_rows_set_names(memory_rows *r, const char *const *names) {
    size_t count = memory_rows_columns(r);
    jf_context *ctx = r->ctx;
    char **copy = NULL;
    jf_status status = JF_OK;
    if (names) JF_TRY(MEM_NEW(ctx, &copy, count));
    for (size_t i = 0; names && i < count && status == JF_OK; i++) {
        status = mem_copy_text(ctx, &copy[i], names[i] ? names[i] : "");
        if (status == JF_OK) status = csv_check_name(ctx, "data in memory", i, copy[i]);
    }
    if (status != JF_OK) {
        names_free(copy, count);
        return status;
    }
    names_free(r->names, count);
    r->names = copy;
    return JF_OK;
}

jf_status memory_rows_set_words(memory_rows *r, const char *const *words, size_t count) {
    if (r->y.columns != 1)
        return jf_fail(r->ctx, JF_ERROR_SHAPE, "data in memory: y has %zu columns, expected 1 of classes",
                       r->y.columns);
    for (size_t k = 0; k < count; k++)
        if (!words[k] || !words[k][0])
            return jf_fail(r->ctx, JF_ERROR_ARGUMENT, "data in memory: class %zu of y has no name", k + 1);
    words_clear(&r->words);
    for (size_t k = 0; k < count; k++) {
        char *word;
        double code;
        JF_TRY(mem_copy_text(r->ctx, &word, words[k]));
        words_add(&r->words, word, &code);
        if (code == (double)k) continue;
        words_clear(&r->words);
        return jf_fail(r->ctx, JF_ERROR_DATA,
                       "data in memory: class %zu of y, expected at most %d different names without control "
                       "characters",
                       k + 1, MAX_CLASSES);
    }
    return JF_OK;
}

const word_list *memory_rows_words(const memory_rows *r) {
    return &r->words;
}

jf_status memory_rows_set_axes(memory_rows *r, const size_t *sizes, size_t count) {
    y_axes axes = {0};
    double product = 1;
    if (count < 1 || count > Y_AXES_MOST)
        return jf_fail(r->ctx, JF_ERROR_ARGUMENT, "data in memory: y has %zu axes, expected 1 to %d", count,
                       Y_AXES_MOST);
    for (size_t i = 0; i < count; i++) {
        product *= (double)sizes[i];
        axes.size[axes.rank++] = sizes[i] <= MOST_COLUMNS ? (int)sizes[i] : 0;
    }
    if (product != (double)r->y.columns)
        return jf_fail(r->ctx, JF_ERROR_SHAPE,
                       "data in memory: the axes of y have %.0f numbers, expected %zu, its columns", product,
                       r->y.columns);
    r->axes = count > 1 ? axes : (y_axes){0};
    return JF_OK;
}

y_axes memory_rows_axes(const memory_rows *r) {
    return r->axes;
}

/* ---- holding ---- */

void memory_rows_on_release(memory_rows *r, void (*release)(void *user), void *user) {
    r->release = release;
    r->release_user = user;
}

memory_rows *memory_rows_hold(memory_rows *r) {
    if (r) atomic_fetch_add(&r->holders, 1);
    return r;
}

void memory_rows_free(memory_rows *r) {
    if (!r || atomic_fetch_sub(&r->holders, 1) > 1) return;
    if (r->release) r->release(r->release_user);
    memory_rows_free(r->original);
    names_free(r->names, memory_rows_columns(r));
    words_clear(&r->words);
    jf_context_free(r->ctx);
    free(r->own);
    free(r);
}

/* ---- reading ---- */

jf_context *memory_rows_context(const memory_rows *r) {
    return r->ctx;
}

size_t memory_rows_count(const memory_rows *r) {
    return r->rows;
}

size_t memory_rows_columns_x(const memory_rows *r) {
    return r->x.columns;
}

size_t memory_rows_columns(const memory_rows *r) {
    return r->x.columns + r->y.columns;
}

size_t memory_rows_bytes(const memory_rows *r) {
    return r->own ? r->rows * memory_rows_columns(r) * sizeof(double) : 0;
}

const char *memory_rows_name(const memory_rows *r, size_t column) {
    return r->names && column < memory_rows_columns(r) ? r->names[column] : NULL;
}

double memory_rows_value(const memory_rows *r, size_t row, size_t column) {
    int is_x = column < r->x.columns;
    const memory_array *a = is_x ? &r->x : &r->y;
    ptrdiff_t place = (ptrdiff_t)(is_x ? column : column - r->x.columns);
    const char *at = a->values + (ptrdiff_t)row * a->row_stride + place * a->column_stride;
    float single;
    double value;
    if (a->is_float) { /* copied: a stride may lead to any address */
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
    memcpy(&value, at, sizeof value);
    return value;
}
