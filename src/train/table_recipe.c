#include "train/table_recipe.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/rows.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

/* What the files have, and what of it is x and y. */
typedef struct table_files {
    row_file *x, *y; /* y: NULL where it has no file of its own */
    table_size size;
    text columns; /* data.columns; empty: the leading ones */
} table_files;

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

static jf_status examine_files(jf_context *ctx, table_files *t, const table_request *q) {
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

static jf_status set_number(recipe *r, const char *key, int value) {
    char digits[32];
    number_print(digits, sizeof digits, "%d", value);
    return recipe_set(r, key, digits);
}

static jf_status fill_in(recipe *r, const table_files *t, const table_request *q) {
    JF_TRY(recipe_declare_all(r));
    JF_TRY(table_defaults_apply(r, &t->size));
    JF_TRY(recipe_set(r, "data.set", "table"));
    JF_TRY(recipe_set(r, "data.file", q->x));
    if (t->y) JF_TRY(recipe_set(r, "data.y_file", q->y));
    if (t->columns.length > 0) JF_TRY(recipe_set(r, "data.columns", t->columns.chars));
    JF_TRY(set_number(r, "data.x", t->size.dim_x));
    JF_TRY(set_number(r, "data.y", t->size.dim_y));
    if (q->discrete) JF_TRY(recipe_set(r, "data.discrete", "yes"));
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

jf_status table_recipe_create(jf_context *ctx, recipe **out, const table_request *request) {
    table_files t = {0};
    recipe *r = NULL;
    jf_status status;
    *out = NULL;
    JF_TRY_DONE(open_file(ctx, &t.x, request->x));
    if (request->y) JF_TRY_DONE(open_file(ctx, &t.y, request->y));
    JF_TRY_DONE(examine_files(ctx, &t, request));
    JF_TRY_DONE(create_named(ctx, &r, request->x));
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
