#include "io/memory_rows.h"
#include "base/memory.h"
#include "io/csv.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that `fill` is asked for at a time, about. */
#define FILL_NUMBERS 65536

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

jf_status memory_rows_create(jf_context *ctx, memory_rows **out, size_t rows, const memory_array *x,
                             const memory_array *y) {
    *out = NULL;
    return create(ctx, out, rows, x, y);
}

static memory_array dense(const double *values, size_t columns) {
    return (memory_array){.values = (const char *)values,
                          .columns = columns,
                          .row_stride = (ptrdiff_t)(columns * sizeof(double)),
                          .column_stride = sizeof(double)};
}

static jf_status fill_all(jf_context *ctx, memory_rows *r, memory_fill fill, void *user) {
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
                           memory_fill fill, void *user) {
    double *values;
    *out = NULL;
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

void memory_rows_set_axes(memory_rows *r, y_axes axes) {
    r->axes = axes;
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
