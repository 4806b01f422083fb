/* Public: models and what they answer. */
#include "api/api.h"
#include "base/finite.h"
#include "base/number.h"
#include "export/export.h"
#include "inference/commands.h"
#include "inference/describe.h"
#include "io/shipped.h"
#include "model/denoise.h"
#include "model/model_find.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

jf_status jf_model_find(char **out, jf_context *ctx, const char *name, int index) {
    JF_GIVES(ctx, out, ctx, name);
    return model_find(ctx, out, name, index);
}

jf_status jf_model_load(jf_model **out, jf_context *ctx, const char *path, const jf_load_options *options) {
    JF_GIVES(ctx, out, ctx, path);
    jf_load_options o;
    JF_TRY(SIZED_TAKE(ctx, jf_load_options, &o, options));
    return model_open(ctx, out, path, o.device, o.threads, recipe_declare_all);
}

jf_status jf_model_list(char **out, jf_context *ctx) {
    JF_GIVES(ctx, out, ctx);
    text t = {0};
    shipped_list(ctx, &t, &shipped_models);
    return give_text(ctx, out, &t, JF_OK);
}

jf_status jf_model_save(const jf_model *m, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, path);
    return model_save_as(m, path, WEIGHTS_WHOLE, file_write);
}
jf_status jf_model_save_half(const jf_model *m, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), m, path);
    return model_save_as(m, path, WEIGHTS_HALF, file_write);
}
jf_status jf_model_export(char **files, const jf_model *m, const char *path, const char *name) {
    text written = {0};
    if (files) *files = NULL;
    JF_NEEDS(CONTEXT_OF(m), m, path);
    jf_status status = export_model(m, path, name, &written);
    if (files) return give_text(m->ctx, files, &written, status);
    text_free(&written);
    return status;
}
void jf_model_free(jf_model *m) {
    model_free(m);
}
int jf_model_dim_x(const jf_model *m) {
    return m ? m->units.dim_x : 0;
}
int jf_model_dim_y(const jf_model *m) {
    return m ? m->units.dim_y : 0;
}

int jf_model_y_shape(const jf_model *m, size_t sizes[3]) {
    if (!m || !sizes) return 0;
    const embed *e = m->flow->embed;
    y_axes axes = e ? e->axes : (y_axes){1, {m->units.dim_y}};
    for (int i = 0; i < axes.rank; i++) sizes[i] = (size_t)axes.size[i];
    return axes.rank;
}
int jf_model_classes(const jf_model *m) {
    return m ? m->units.classes : 0;
}

/* Columns for classes of a table have nothing between or beyond them; planes of images are drawn between two.
 */
static jf_status check_label(const model *m, double label) {
    const model_units *u = &m->units;
    text known = {0};
    char digits[NUMBER_SIZE];
    if (u->image.h > 0 || units_planes(u) == 0 || units_class_of_label(u, label) >= 0) return JF_OK;
    number_shortest(digits, label);
    units_list_classes(u, &known);
    jf_status status = jf_fail(m->ctx, JF_ERROR_DATA, "y: there is no class %s, expected one of %s", digits,
                               known.chars ? known.chars : "the model's");
    text_free(&known);
    return status;
}

jf_status jf_model_y_of_label(const jf_model *m, double label, double *y) {
    JF_NEEDS(CONTEXT_OF(m), m, y);
    if (m->units.classes == 0)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "the condition of the model is no class, which a label would name");
    JF_TRY(check_label(m, label));
    units_fill_y(&m->units, label, y);
    return JF_OK;
}

double jf_model_label_of_y(const jf_model *m, const double *y) {
    if (!m || !y || m->units.classes == 0) return NAN;
    return units_label_of(&m->units, y);
}

double jf_model_label(const jf_model *m, int class_index) {
    if (!m) return NAN;
    return class_index >= 0 && class_index < m->units.classes ? m->units.label[class_index] : NAN;
}
const char *jf_model_class_name(const jf_model *m, int class_index) {
    if (!m) return "";
    return class_index >= 0 && class_index < m->units.classes ? m->units.class_name[class_index] : "";
}

const char *jf_model_column_name(const jf_model *m, int element) {
    if (!m) return "";
    int known = m->units.names && element >= 0 && element < m->units.dim_x + m->units.dim_y;
    return known ? m->units.names[element] : "";
}

jf_status jf_model_info(char **out, const jf_model *m) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    text t = {0};
    jf_status status = model_describe(m, &t);
    return give_text(m->ctx, out, &t, status);
}

jf_status jf_model_example(char **out, const jf_model *m, const char *program, const char *name) {
    JF_GIVES(CONTEXT_OF(m), out, m, program, name);
    text t = {0};
    jf_status status = commands_add_sample(m, program, name, &t);
    return give_text(m->ctx, out, &t, status);
}

/* ---- rows ---- */

static jf_status check_count(const model *m, size_t n) {
    if (n <= INT_MAX) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "found %zu rows, expected at most %d", n, INT_MAX);
}

static jf_status check_rows(const model *m, size_t n, const double *x, const double *y) {
    int dim_x = m->units.dim_x, dim_y = m->units.dim_y;
    JF_TRY(check_count(m, n));
    if (n > 0 && !x)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "no values were given for the %d element%s of x or z",
                       dim_x, dim_x > 1 ? "s" : "");
    if (n > 0 && dim_y && !y)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "this model needs a condition y of %d number%s", dim_y,
                       dim_y > 1 ? "s" : "");
    return JF_OK;
}

static jf_status check_finite(const model *m, size_t n, const char *name, int dim, const double *values) {
    size_t count = n * (size_t)dim, at = count_finite(values, count);
    if (at == count) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_DATA, "row %zu: %s%zu is %g, expected a finite number",
                   at / (size_t)dim + 1, name, at % (size_t)dim, values[at]);
}

jf_status check_values(const model *m, size_t n, const double *x, const double *y) {
    JF_TRY(check_rows(m, n, x, y));
    JF_TRY(check_finite(m, n, "x", m->units.dim_x, x));
    return check_finite(m, n, "y", m->units.dim_y, y);
}

jf_status check_conditions(const model *m, size_t n, const double *y) {
    const double asked_for = 0; /* stands for x */
    JF_TRY(check_rows(m, n, &asked_for, y));
    return check_finite(m, n, "y", m->units.dim_y, y);
}

jf_status check_samples(const model *m, size_t n, const double *x) {
    const double not_asked_for = 0; /* stands for y */
    JF_TRY(check_rows(m, n, x, &not_asked_for));
    return check_finite(m, n, "x", m->units.dim_x, x);
}

/* Joins x (n, dim_x), which may be NULL, and y (n, dim_y) into rows, or takes them apart again. */
static void join_rows(const model *m, size_t n, const double *x, const double *y, double *rows) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, dim = dim_x + dim_y;
    for (size_t s = 0; s < n; s++) {
        for (size_t i = 0; x && i < dim_x; i++) rows[s * dim + i] = x[s * dim_x + i];
        for (size_t i = 0; i < dim_y; i++) rows[s * dim + dim_x + i] = y[s * dim_y + i];
    }
}

static void split_rows(const model *m, size_t n, const double *rows, double *x, double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, dim = dim_x + dim_y;
    for (size_t s = 0; s < n; s++) {
        for (size_t i = 0; x && i < dim_x; i++) x[s * dim_x + i] = rows[s * dim + i];
        for (size_t i = 0; y && i < dim_y; i++) y[s * dim_y + i] = rows[s * dim + dim_x + i];
    }
}

static jf_status rows_create(const model *m, size_t n, double **out) {
    return MEM_NEW(m->ctx, out, n * (size_t)m->flow->dim);
}

static row_units units_of(const jf_use_options *o) {
    return o->standardised ? MODEL_UNITS : DATA_UNITS;
}

/* ---- use ---- */

typedef jf_status (*map_fn)(const model *m, row_units units, long n, double *rows);

/* Maps (a, y) to (b, y_out), either of which may be NULL. */
static jf_status map_rows(const model *m, map_fn map, size_t n, const double *a, const double *y, double *b,
                          double *y_out, const jf_use_options *options) {
    jf_use_options o;
    double *rows;
    JF_TRY(take_use_options(m->ctx, &o, options));
    JF_TRY(check_values(m, n, a, y));
    JF_TRY(rows_create(m, n, &rows));
    join_rows(m, n, a, y, rows);
    jf_status status = map(m, units_of(&o), (long)n, rows);
    if (status == JF_OK) split_rows(m, n, rows, b, y_out);
    free(rows);
    return status;
}

jf_status jf_encode(const jf_model *m, size_t n, const double *x, const double *y, double *z, double *y_out,
                    const jf_use_options *options) {
    JF_NEEDS(CONTEXT_OF(m), m);
    if (n) JF_NEEDS(m->ctx, z);
    return map_rows(m, model_encode, n, x, y, z, y_out, options);
}

jf_status jf_decode(const jf_model *m, size_t n, const double *z, const double *y, double *x, double *y_back,
                    const jf_use_options *options) {
    JF_NEEDS(CONTEXT_OF(m), m);
    if (n) JF_NEEDS(m->ctx, x);
    return map_rows(m, model_decode, n, z, y, x, y_back, options);
}

jf_status jf_sample(const jf_model *m, size_t n, const double *y, double *x, double *y_back, double *z,
                    const jf_use_options *options) {
    JF_NEEDS(CONTEXT_OF(m), m);
    if (n) JF_NEEDS(m->ctx, x);
    jf_use_options o;
    double *rows;
    JF_TRY(take_use_options(m->ctx, &o, options));
    latent_points from = {.seed = o.seed, .stream = LATENT_SAMPLES, .temperature = o.temperature};
    JF_TRY(check_conditions(m, n, y));
    JF_TRY(rows_create(m, n, &rows));
    join_rows(m, n, NULL, y, rows);
    jf_status status = model_warn_of_condition_range(m, units_of(&o), (long)n, rows);
    if (status == JF_OK) status = model_sample(m, from, units_of(&o), (long)n, rows, z);
    if (status == JF_OK) split_rows(m, n, rows, x, y_back);
    free(rows);
    return status;
}

jf_status jf_denoise(const jf_model *m, size_t n, const double *x, const double *y, double *clean,
                     const jf_use_options *options) {
    JF_NEEDS(CONTEXT_OF(m), m);
    if (n) JF_NEEDS(m->ctx, clean);
    return map_rows(m, model_denoise, n, x, y, clean, NULL, options);
}

jf_status jf_density(const jf_model *m, size_t n, const double *x, const double *y, double *log_p,
                     jf_density_summary *summary, const jf_use_options *options) {
    JF_NEEDS(CONTEXT_OF(m), m, log_p);
    jf_use_options o;
    jf_density_summary told;
    double *rows;
    JF_TRY(take_use_options(m->ctx, &o, options));
    if (summary) JF_TRY(SIZED_BEGIN(m->ctx, jf_density_summary, summary));
    if (n < 1) return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "the density of 0 rows, expected 1 or more");
    JF_TRY(check_values(m, n, x, y));
    JF_TRY(rows_create(m, n, &rows));
    join_rows(m, n, x, y, rows);
    jf_status status = density_of_rows(m, units_of(&o), (long)n, rows, log_p, summary ? &told : NULL);
    if (status == JF_OK && summary) SIZED_GIVE(jf_density_summary, summary, &told);
    free(rows);
    return status;
}
