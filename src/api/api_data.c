/* Public: the data sets that are known by name. */
#include "api/api.h"
#include "data/data_export.h"
#include "data/known.h"

jf_status jf_data_list(char **out, jf_context *ctx) {
    JF_GIVES(ctx, out, ctx);
    text lines = {0};
    jf_status status = known_list(ctx, &lines);
    return give_text(ctx, out, &lines, status);
}

jf_status jf_data_check(char **out, jf_context *ctx, const char *folder, size_t *bad) {
    JF_GIVES(ctx, out, ctx, folder, bad);
    text lines = {0};
    int count = 0;
    jf_status status = known_check(ctx, &lines, folder, &count);
    *bad = (size_t)count;
    return give_text(ctx, out, &lines, status);
}

jf_status jf_data_fetch(char **out, jf_context *ctx, const char *name, const jf_fetch_options *options) {
    JF_GIVES(ctx, out, ctx, name);
    jf_fetch_options o;
    text lines = {0};
    JF_TRY(SIZED_TAKE(ctx, jf_fetch_options, &o, options));
    JF_NEEDS_EACH(ctx, o.mirrors, o.mirror_count);
    if (o.mirror_count > INT_MAX)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%zu mirrors, expected less", o.mirror_count);
    const known_set *set = known_find(ctx, name);
    if (!set) return JF_ERROR_ARGUMENT;
    jf_status status = known_fetch(ctx, &lines, set, &o);
    return give_text(ctx, out, &lines, status);
}

jf_status jf_data_export(jf_context *ctx, const char *set, const jf_export_options *options) {
    JF_NEEDS(ctx, ctx, set, options);
    jf_export_options o;
    dataset *d;
    JF_TRY(SIZED_TAKE(ctx, jf_export_options, &o, options));
    if (!o.file && !o.x_file && !o.y_file)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "no file to write \"%s\" to was given", set);
    JF_TRY(export_open(ctx, &d, set, recipe_declare_all));
    jf_status status = export_rows(d, &o);
    dataset_free(d);
    return status;
}

jf_status jf_data_posterior(jf_context *ctx, const char *set, size_t count, size_t dim_y, const double *y,
                            const jf_export_options *options) {
    JF_NEEDS(ctx, ctx, set, options);
    jf_export_options o;
    dataset *d;
    JF_TRY(SIZED_TAKE(ctx, jf_export_options, &o, options));
    if (count) JF_NEEDS(ctx, y);
    if (!o.file)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "no file to write samples of \"%s\" to was given", set);
    JF_TRY(export_open(ctx, &d, set, recipe_declare_all));
    jf_status status = export_posterior(d, count, dim_y, y, &o);
    dataset_free(d);
    return status;
}
