/* Public: data in memory. */
#include "api/api.h"
#include "base/number.h"

jf_status jf_data_create(jf_data **out, jf_context *ctx, const jf_array *x, const jf_array *y) {
    JF_GIVES(ctx, out, ctx, x);
    return memory_rows_create(ctx, out, x, y);
}

jf_status jf_data_fill(jf_data **out, jf_context *ctx, size_t rows, size_t dim_x, size_t dim_y,
                       jf_fill_fn fill, void *user) {
    JF_GIVES(ctx, out, ctx);
    if (!fill) return jf_fail(ctx, JF_ERROR_ARGUMENT, "data in memory: no function to fill rows was given");
    return memory_rows_fill(ctx, out, rows, dim_x, dim_y, fill, user);
}

jf_status jf_data_set_names(jf_data *d, const char *const *names) {
    JF_NEEDS(NULL, d);
    return memory_rows_set_names(d, names);
}

jf_status jf_data_set_y_shape(jf_data *d, const size_t *sizes, size_t count) {
    JF_NEEDS(d ? memory_rows_context(d) : NULL, d, sizes);
    return memory_rows_set_axes(d, sizes, count);
}

jf_status jf_data_set_classes(jf_data *d, const char *const *names, size_t count) {
    JF_NEEDS(d ? memory_rows_context(d) : NULL, d, names);
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
    format_text(digits, sizeof digits, "%zu", count);
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
