#include "data/data_export.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/csv.h"
#include "io/npy.h"
#include <stdlib.h>
#include <string.h>

/* ---- the set ---- */

static const dataset_kind *find_generated(const char *set) {
    for (int i = 0; dataset_kinds[i]; i++)
        if (dataset_kinds[i]->draw && strcmp(dataset_kinds[i]->name, set) == 0) return dataset_kinds[i];
    return NULL;
}

static jf_status refuse_set(jf_context *ctx, const char *set) {
    text names = {0};
    for (int i = 0; dataset_kinds[i]; i++)
        if (dataset_kinds[i]->draw)
            text_add(&names, "%s%s", names.length ? ", " : "", dataset_kinds[i]->name);
    jf_status status =
        jf_fail(ctx, JF_ERROR_ARGUMENT, "found \"%s\", expected a set that draws its points: %s", set,
                names.chars ? names.chars : "");
    text_free(&names);
    return status;
}

jf_status export_open(jf_context *ctx, dataset **out, const char *set, jf_status (*declare_all)(recipe *r)) {
    recipe *r = NULL;
    jf_status status;
    *out = NULL;
    if (!find_generated(set)) return refuse_set(ctx, set);
    JF_TRY(recipe_create(ctx, &r, set));
    JF_TRY_DONE(declare_all(r));
    JF_TRY_DONE(recipe_set(r, "data.set", set));
    JF_TRY_DONE(recipe_check(r));
    JF_TRY_DONE(dataset_open(ctx, out, r));
done:
    recipe_free(r);
    return status;
}

/* ---- writing ---- */

/* Names of elements from .. from + count - 1; those without one are x0, y0, ... */
static jf_status make_names(const dataset *d, int from, int count, char ***out) {
    JF_TRY(MEM_NEW(d->ctx, out, (size_t)count + 1));
    for (int i = 0; i < count; i++) {
        int element = from + i, is_x = element < d->dim_x;
        const char *known = dataset_name(d, element);
        char made[32];
        format_text(made, sizeof made, "%s%d", is_x ? "x" : "y", is_x ? element : element - d->dim_x);
        JF_TRY(mem_copy_text(d->ctx, &(*out)[i], known ? known : made));
    }
    return JF_OK;
}

static jf_status write_array(const dataset *d, const char *path, int from, int count, size_t rows,
                             const double *values) {
    const char *ending = file_extension(path);
    if (strcmp(ending, ".npy") == 0)
        return npy_write(d->ctx, path, values, 2, (size_t[]){rows, (size_t)count}, 0);
    if (strcmp(ending, ".csv") != 0)
        return jf_fail(d->ctx, JF_ERROR_FORMAT, "%s: a table ends in .csv or .npy", path);
    char **names = NULL;
    jf_status status = make_names(d, from, count, &names);
    if (status == JF_OK)
        status = csv_write(d->ctx, path, (const char *const *)names, values, rows, (size_t)count);
    for (int i = 0; names && i < count; i++) free(names[i]);
    free(names);
    return status;
}

/* Columns from .. from + count - 1 of rows (rows, dim). */
static jf_status write_columns(const dataset *d, const char *path, int from, int count, size_t rows,
                               const double *xy) {
    double *part;
    size_t dim = (size_t)dataset_dim(d);
    if (count == 0)
        return jf_fail(d->ctx, JF_ERROR_ARGUMENT, "%s: data set \"%s\" has no y", path, d->kind->name);
    JF_TRY(MEM_NEW(d->ctx, &part, rows * (size_t)count));
    for (size_t i = 0; i < rows; i++)
        memcpy(part + i * (size_t)count, xy + i * dim + from, (size_t)count * sizeof *part);
    jf_status status = write_array(d, path, from, count, rows, part);
    free(part);
    return status;
}

jf_status export_rows(const dataset *d, const jf_export_options *o) {
    double *xy;
    size_t dim = (size_t)dataset_dim(d);
    rng_key key = {.seed = o->seed, .purpose = RNG_DATA, .epoch = 0};
    jf_status status = JF_OK;
    if (o->rows < 1 || o->rows > INT32_MAX)
        return jf_fail(d->ctx, JF_ERROR_ARGUMENT, "%zu rows, expected 1 to %d", o->rows, INT32_MAX);
    JF_TRY(MEM_NEW(d->ctx, &xy, o->rows * dim));
    JF_TRY_DONE(dataset_draw(d, key, 0, (int)o->rows, -1, xy));
    if (o->file) JF_TRY_DONE(write_columns(d, o->file, 0, (int)dim, o->rows, xy));
    if (o->x_file) JF_TRY_DONE(write_columns(d, o->x_file, 0, d->dim_x, o->rows, xy));
    if (o->y_file) JF_TRY_DONE(write_columns(d, o->y_file, d->dim_x, d->dim_y, o->rows, xy));
done:
    free(xy);
    return status;
}

/* ---- exact posteriors ---- */

static jf_status draw_posterior(const dataset *d, uint64_t seed, size_t rows, size_t count, const double *y,
                                double *xy) {
    size_t dim_y = (size_t)d->dim_y;
    rng_key key = {.seed = seed, .purpose = RNG_SAMPLE, .epoch = 0};
    for (size_t i = 0; i < count * rows; i++, xy += dataset_dim(d)) {
        const double *given = y + i / rows * dim_y;
        rng stream = rng_stream(key, i);
        if (!d->kind->posterior(d, &stream, given, xy))
            return jf_fail(d->ctx, JF_ERROR_ARGUMENT,
                           "row %zu of y: no x was found for it: expected one that data set \"%s\" can give",
                           i / rows + 1, d->kind->name);
        memcpy(xy + d->dim_x, given, dim_y * sizeof *xy);
    }
    return JF_OK;
}

jf_status export_posterior(const dataset *d, size_t count, size_t dim_y, const double *y,
                           const jf_export_options *o) {
    double *xy;
    if (dim_y != (size_t)d->dim_y)
        return jf_fail(d->ctx, JF_ERROR_SHAPE, "found a y of %zu numbers, expected %d for data set \"%s\"",
                       dim_y, d->dim_y, d->kind->name);
    if (!d->kind->posterior)
        return jf_fail(d->ctx, JF_ERROR_ARGUMENT, "data set \"%s\": its posterior cannot be drawn exactly",
                       d->kind->name);
    if (o->rows < 1 || count < 1 || (double)o->rows * (double)count > INT32_MAX)
        return jf_fail(d->ctx, JF_ERROR_ARGUMENT,
                       "%zu samples for each of %zu rows of y, expected 1 to %d in all", o->rows, count,
                       INT32_MAX);
    JF_TRY(MEM_NEW(d->ctx, &xy, o->rows * count * (size_t)dataset_dim(d)));
    jf_status status = draw_posterior(d, o->seed, o->rows, count, y, xy);
    if (status == JF_OK) status = write_columns(d, o->file, 0, dataset_dim(d), o->rows * count, xy);
    free(xy);
    return status;
}
