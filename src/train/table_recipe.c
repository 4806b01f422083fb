#include "train/table_recipe.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/bounds.h"
#include "io/rows.h"
#include "train/class_column.h"
#include "train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the files have, and what of it is x and y. */
typedef struct table_files {
    row_file *x, *y; /* y: NULL where it has no file of its own */
    table_size size;
    y_axes axes;  /* of a y that is a series or an image */
    text columns; /* data.columns; empty: the leading ones */
} table_files;

/* x and y together, all of their columns. */
static jf_status examine_memory(jf_context *ctx, table_files *t, const jf_table_request *q) {
    size_t dim_x = memory_rows_columns_x(q->data), dim_y = memory_rows_columns(q->data) - dim_x;
    if (q->x_columns || q->y_columns)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "data in memory: columns were named, expected none: x and y are given apart");
    t->size = (table_size){.rows = (long)memory_rows_count(q->data),
                           .dim_x = (int)dim_x,
                           .dim_y = (int)dim_y,
                           .discrete = q->discrete};
    t->axes = memory_rows_axes(q->data);
    return row_file_open_memory(ctx, &t->x, q->data);
}

static jf_status open_file(jf_context *ctx, row_file **out, const char *name) {
    char *path;
    JF_TRY(file_find_data(ctx, &path, name));
    jf_status status = row_file_open(ctx, out, path);
    free(path);
    return status;
}

/* How many columns a list names: all of the file where there is none. */
static int count_columns(const row_file *f, const char *list) {
    return (int)(list ? row_names_count(list) : row_file_columns(f));
}

/* The names of a list, or the numbers of all columns. */
static void add_columns(text *out, const row_file *f, const char *list) {
    if (out->length > 0) text_add(out, ",");
    if (list) text_add(out, "%s", list);
    for (size_t i = 0; !list && i < row_file_columns(f); i++) text_add(out, "%s%zu", i ? "," : "", i + 1);
}

static jf_status examine_files(jf_context *ctx, table_files *t, const jf_table_request *q) {
    JF_TRY(open_file(ctx, &t->x, q->x));
    if (q->y) JF_TRY(open_file(ctx, &t->y, q->y));
    JF_TRY(row_file_check_flat(ctx, t->x));
    if (t->y && !q->y_columns) t->axes = row_file_axes(t->y);
    const row_file *of_y = t->y ? t->y : t->x;
    int has_y = t->y || q->y_columns;
    if (!t->y && q->y_columns && !q->x_columns)
        return jf_fail(
            ctx, JF_ERROR_ARGUMENT,
            "%s: columns of y were named, but none of x, expected both, since x and y are in one file", q->x);
    t->size = (table_size){.rows = (long)row_file_rows(t->x),
                           .dim_x = count_columns(t->x, q->x_columns),
                           .dim_y = has_y ? count_columns(of_y, q->y_columns) : 0,
                           .discrete = q->discrete};
    if (t->size.dim_x < 1)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: no column of x was named, expected at least one", q->x);
    if (!q->x_columns && !q->y_columns) return JF_OK;
    add_columns(&t->columns, t->x, q->x_columns);
    if (has_y) add_columns(&t->columns, of_y, q->y_columns);
    return text_check(ctx, &t->columns);
}

/* ---- supports that the data tell ---- */

/* Which columns of the file x are, and what they are called. */
static jf_status x_columns_of(jf_context *ctx, const table_files *t, const char *list, size_t *columns,
                              char *name) {
    if (!list)
        for (int i = 0; i < t->size.dim_x; i++) columns[i] = (size_t)i;
    for (int i = 0; list && row_names_next(&list, name); i++)
        JF_TRY(row_file_find(ctx, t->x, name, &columns[i]));
    return JF_OK;
}

enum { LOOK_TOGETHER = 16 }; /* columns that are sampled in one walk */

/* values (LOOK_TOGETHER, LOOK_SAMPLE): room. Missing values are passed over. */
static void look_at(const row_file *f, const size_t *columns, int count, column_look *looks, double *values) {
    size_t rows = row_file_rows(f), step = (rows + LOOK_SAMPLE - 1) / LOOK_SAMPLE;
    for (int i = 0; i < count; i++) look_begin(&looks[i]);
    for (size_t row = 0; row < rows; row++)
        for (int i = 0; i < count; i++) look_range(&looks[i], row_file_value(f, row, columns[i]));
    for (int from = 0; from < count; from += LOOK_TOGETHER) {
        int some = count - from < LOOK_TOGETHER ? count - from : LOOK_TOGETHER;
        double taken[LOOK_TOGETHER];
        long at[LOOK_TOGETHER] = {0};
        for (size_t row = 0; row < rows; row += step) {
            row_file_take(f, row, columns + from, (size_t)some, taken);
            for (int i = 0; i < some; i++)
                if (!isnan(taken[i])) values[i * LOOK_SAMPLE + at[i]++] = taken[i];
        }
        for (int i = 0; i < some; i++) look_edges(&looks[from + i], values + i * LOOK_SAMPLE, at[i]);
    }
}

/* Few intervals are cut. Of many the share of samples that lies inside of all falls, and edges are learned
 * worse than by a map that has none (docs/results.md). */
#define MOST_CUT 5
static const char *kind_of_intervals(const column_look *looks, int count) {
    int intervals = 0, found;
    for (int i = 0; i < count; i++) {
        look_interval(&looks[i], &found);
        intervals += found;
    }
    return intervals <= MOST_CUT ? "cut" : "uniform";
}

/* Adds what was found to the list of bounds, before what the user says, which wins. */
static void add_found(jf_context *ctx, const row_file *f, const size_t *columns, int count,
                      const column_look *looks, text *out) {
    enum { HINTS = 4 }; /* more would be read by nobody */
    char place[32], none[48], words[96], option[OPTION_WORDS], hint[512];
    const char *kind = kind_of_intervals(looks, count);
    int found, hints = 0;
    for (int i = 0; i < count; i++) {
        const char *name = row_file_name(f, columns[i]);
        column_support s = look_interval(&looks[i], &found);
        format_text(place, sizeof place, "x%d", i);
        if (found) {
            text_add(out, "%s%s=%s:", out->length ? "," : "", place, kind);
            text_add_number(out, s.lo);
            text_add(out, ":");
            text_add_number(out, s.hi);
            format_text(none, sizeof none, "%s=none", place);
            jf_log(ctx,
                   "%s: %s fills %s evenly up to both edges, which is taken as its support (%s: any number)",
                   row_file_path(f), name ? name : place, support_words(&s, words, sizeof words),
                   option_words(ctx, OPTION_BOUNDS, none, option));
        } else if (hints < HINTS && look_hint(ctx, &looks[i], name ? name : place, hint, sizeof hint)[0]) {
            jf_log(ctx, "hint: %s: %s", row_file_path(f), hint);
            hints++;
        }
    }
}

static jf_status find_bounds(jf_context *ctx, const table_files *t, const jf_table_request *q, text *out) {
    size_t *columns = NULL, dim = (size_t)t->size.dim_x;
    column_look *looks = NULL;
    double *values = NULL;
    char *name = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &columns, dim));
    JF_TRY_DONE(MEM_NEW(ctx, &values, (size_t)LOOK_TOGETHER * LOOK_SAMPLE));
    JF_TRY_DONE(MEM_NEW(ctx, &looks, dim));
    JF_TRY_DONE(MEM_NEW(ctx, &name, (q->x_columns ? strlen(q->x_columns) : 0) + 1));
    JF_TRY_DONE(x_columns_of(ctx, t, q->x_columns, columns, name));
    look_at(t->x, columns, t->size.dim_x, looks, values);
    add_found(ctx, t->x, columns, t->size.dim_x, looks, out);
done:
    free(columns);
    free(looks);
    free(values);
    free(name);
    return status;
}

/* "auto" and "none" are words of the request; the rest is data.bounds as it is. */
static jf_status set_bounds(recipe *r, const table_files *t, const jf_table_request *q) {
    jf_context *ctx = recipe_context(r);
    const char *list = q->bounds ? q->bounds : "auto";
    char *item;
    text found = {0}, given = {0};
    int wants = 0;
    JF_TRY(MEM_NEW(ctx, &item, strlen(list) + 1));
    for (const char *at = list; row_names_next(&at, item);)
        if (strcmp(item, "auto") == 0)
            wants = 1;
        else if (strcmp(item, "none") != 0 && item[0])
            text_add(&given, "%s%s", given.length ? "," : "", item);
    free(item);
    jf_status status = wants ? find_bounds(ctx, t, q, &found) : JF_OK;
    if (given.length) text_add(&found, "%s%s", found.length ? "," : "", given.chars);
    if (status == JF_OK) status = text_check(ctx, &found);
    if (status == JF_OK && found.length) status = recipe_set(r, "data.bounds", found.chars);
    text_free(&found);
    text_free(&given);
    return status;
}

static jf_status set_number(recipe *r, const char *key, int value) {
    char digits[32];
    format_text(digits, sizeof digits, "%d", value);
    return recipe_set(r, key, digits);
}

/* ---- a y of several axes ---- */

enum { STEPS_A_CHANNEL = 4, LEAST_STEPS = 5, LEAST_PIXELS = 3 };

/* (steps, channels), where there are several times as many of the former, otherwise (h, w); three axes are
 * (h, w, channels). What is too short for a convolution goes through dense layers. */
static const char *embedding_for(const y_axes *a) {
    int is_series = a->rank == 2 && a->size[0] / STEPS_A_CHANNEL >= a->size[1];
    if (is_series) return a->size[0] >= LEAST_STEPS ? "conv1d" : "dense";
    return a->size[0] >= LEAST_PIXELS && a->size[1] >= LEAST_PIXELS ? "conv2d" : "dense";
}

static jf_status suggest_embedding(recipe *r, const table_files *t) {
    char words[Y_AXES_WORDS];
    if (t->axes.rank == 0 || t->size.dim_y == 0) return JF_OK;
    const char *kind = embedding_for(&t->axes);
    y_axes_words(&t->axes, words);
    jf_log(recipe_context(r), "y is of %s numbers: model.embed = %s, unless another is chosen", words, kind);
    JF_TRY(recipe_suggest(r, "model.embed_shape", words));
    return recipe_suggest(r, "model.embed", kind);
}

/* ---- classes ---- */

/* Where the only column of y is. */
static jf_status y_column_of(jf_context *ctx, const table_files *t, const jf_table_request *q,
                             const row_file **f, size_t *column) {
    char *name;
    *f = t->y ? t->y : t->x;
    *column = q->data ? (size_t)t->size.dim_x : 0;
    if (!q->y_columns) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &name, strlen(q->y_columns) + 1));
    const char *list = q->y_columns;
    row_names_next(&list, name);
    jf_status status = row_file_find(ctx, *f, name, column);
    free(name);
    return status;
}

/* Whether the user has said where y can be, which is of numbers. */
static int has_bounds_of_y(const jf_table_request *q, const char *name, char *item) {
    for (const char *at = q->bounds; row_names_next(&at, item);) {
        char *equals = strrchr(item, '=');
        if (equals) *equals = '\0';
        if (equals &&
            (strcmp(item, "y") == 0 || strcmp(item, "y0") == 0 || (name && strcmp(item, name) == 0)))
            return 1;
    }
    return 0;
}

static void tell_classes(jf_context *ctx, const row_file *f, size_t column, const class_column *found) {
    char words[160], option[OPTION_WORDS];
    row_file_column_words(f, column, words, sizeof words);
    option_words(ctx, OPTION_ORDERED, "", option);
    if (found->words)
        jf_log(ctx, "%s: %s holds names of %zu classes, each with a column of its own (%s: one number)",
               row_file_path(f), words, row_file_words(f, column), option);
    else
        jf_log(ctx,
               "%s: %s has %d different values, each in %ld rows or more: taken for classes, each with a "
               "column of its own (%s: one number)",
               row_file_path(f), words, found->values, found->least, option);
}

static jf_status find_class(jf_context *ctx, const table_files *t, const jf_table_request *q,
                            class_column *found, int *is_class) {
    const row_file *f;
    size_t column;
    char *item;
    *is_class = 0;
    if (t->size.dim_y != 1) return JF_OK;
    JF_TRY(y_column_of(ctx, t, q, &f, &column));
    *found = class_column_look(f, column);
    *is_class = q->discrete || found->words;
    if (!*is_class && !q->ordered && class_column_is_class(found)) {
        JF_TRY(MEM_NEW(ctx, &item, (q->bounds ? strlen(q->bounds) : 0) + 1));
        *is_class = !has_bounds_of_y(q, row_file_name(f, column), item);
        free(item);
    }
    if (*is_class && !q->discrete && !q->ordered && found->values > 2) tell_classes(ctx, f, column, found);
    return JF_OK;
}

/* Batches are mixed, so that classes count as often as they occur. */
static jf_status set_classes(recipe *r, const table_files *t, const jf_table_request *q) {
    class_column found = {0};
    int is_class;
    JF_TRY(find_class(recipe_context(r), t, q, &found, &is_class));
    if (q->discrete || is_class) JF_TRY(recipe_set(r, "data.discrete", "yes"));
    if (!is_class || q->ordered || found.values < 3) return JF_OK;
    JF_TRY(recipe_set(r, "data.one_hot", "yes"));
    return recipe_suggest(r, "train.classes", "mixed");
}

static jf_status fill_in(recipe *r, const table_files *t, const jf_table_request *q) {
    JF_TRY(recipe_declare_all(r));
    JF_TRY(table_defaults_apply(r, &t->size));
    JF_TRY(suggest_embedding(r, t));
    JF_TRY(recipe_set(r, "data.set", "table"));
    JF_TRY(recipe_set(r, "data.file", q->data ? MEMORY_ROWS_FILE : q->x));
    recipe_set_rows(r, q->data);
    if (t->y) JF_TRY(recipe_set(r, "data.y_file", q->y));
    if (t->columns.length > 0) JF_TRY(recipe_set(r, "data.columns", t->columns.chars));
    JF_TRY(set_number(r, "data.x", t->size.dim_x));
    JF_TRY(set_number(r, "data.y", t->size.dim_y));
    JF_TRY(set_classes(r, t, q));
    JF_TRY(set_bounds(r, t, q));
    return recipe_check(r);
}

/* "theta" of data/theta.npy */
static jf_status create_named(jf_context *ctx, recipe **out, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *copy;
    JF_TRY(mem_copy_text(ctx, &copy, name));
    size_t ending = strlen(file_extension(copy));
    copy[strlen(copy) - ending] = '\0';
    jf_status status = recipe_create(ctx, out, copy);
    free(copy);
    return status;
}

jf_status table_recipe_create(jf_context *ctx, recipe **out, const jf_table_request *request) {
    table_files t = {0};
    recipe *r = NULL;
    jf_status status;
    *out = NULL;
    JF_TRY_DONE(request->data ? examine_memory(ctx, &t, request) : examine_files(ctx, &t, request));
    JF_TRY_DONE(request->data ? recipe_create(ctx, &r, MEMORY_ROWS_FILE) : create_named(ctx, &r, request->x));
    JF_TRY_DONE(fill_in(r, &t, request));
    *out = r;
    r = NULL;
done:
    row_file_close(t.x);
    row_file_close(t.y);
    text_free(&t.columns);
    recipe_free(r);
    return status;
}
