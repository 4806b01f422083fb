/* Public: models and what they answer. */
#include "api/image.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

jf_status jf_model_load(jf_context *ctx, jf_model **out, const char *path, const jf_device_options *options) {
    jf_device_options o = options ? *options : (jf_device_options){0};
    char *file = NULL;
    *out = NULL;
    if (file_is_folder(path)) {
        JF_TRY(file_join(ctx, &file, path, "model.safetensors"));
        if (!file_exists(file)) {
            jf_status status = jf_fail(ctx, JF_ERROR_IO,
                                       "%s: a folder without model.safetensors, so not a finished run", path);
            free(file);
            return status;
        }
    }
    jf_status status = model_load(ctx, out, file ? file : path, o.device, o.threads, recipe_declare_all);
    free(file);
    return status;
}

jf_status jf_model_save(const jf_model *m, const char *path) {
    return model_save(m, path);
}
void jf_model_free(jf_model *m) {
    model_free(m);
}
int jf_model_dim_x(const jf_model *m) {
    return m->units.dim_x;
}
int jf_model_dim_y(const jf_model *m) {
    return m->units.dim_y;
}
int jf_model_classes(const jf_model *m) {
    return m->units.classes;
}
double jf_model_label(const jf_model *m, int class_index) {
    return class_index >= 0 && class_index < m->units.classes ? m->units.label[class_index] : NAN;
}
const char *jf_model_class_name(const jf_model *m, int class_index) {
    return class_index >= 0 && class_index < m->units.classes ? m->units.class_name[class_index] : "";
}

/* "images      14 x 14, 1 channel (superres, from 7 x 7)"; nothing for models of vectors. */
static jf_status describe_images(const model *m, text *t) {
    jf_image_form form;
    JF_TRY(jf_model_image_form(m, &form));
    if (form.h == 0) return JF_OK;
    text_add(t, "images      %d x %d, %d channel%s (%s", form.h, form.w, form.channels,
             form.channels == 1 ? "" : "s", form.task);
    if (form.input_h) text_add(t, ", from %d x %d", form.input_h, form.input_w);
    if (form.input_h && form.input_channels != form.channels)
        text_add(t, " in %d channel%s", form.input_channels, form.input_channels == 1 ? "" : "s");
    text_add(t, ")\n");
    return JF_OK;
}

jf_status jf_model_info(const jf_model *m, char **out) {
    const flow *f = m->flow;
    text t = {0};
    jf_status status;
    char device_words[DEVICE_MAX_WORDS];
    device_describe(m->d, device_words);
    text_add(&t, "recipe      %s\n", recipe_short_name(m->recipe));
    const objective_kind *kind = m->objective.kind;
    text_add(&t, "data        %s\n", kind->from_data ? recipe_get(m->recipe, "data.set") : "none");
    text_add(&t, "objective   %s (%s)\n", kind->name, loss_summary(kind));
    text_add(&t, "dimensions  x %d, y %d%s\n", f->dim_x, f->dim_y,
             f->dim_y ? f->fixed ? ", condition fixed" : ", condition joint" : "");
    status = describe_images(m, &t);
    for (int c = 0; c < m->units.classes; c++)
        text_add(&t, "%s%g%s%s%s", c ? ", " : "classes     ", m->units.label[c],
                 m->units.class_name[c][0] ? " (" : "", m->units.class_name[c],
                 m->units.class_name[c][0] ? ")" : "");
    if (m->units.classes) text_add(&t, "\n");
    text_add(&t, "flow        ");
    flow_describe(f, &t);
    text_add(&t, ", law %s, networks %s\n", recipe_get(m->recipe, "model.law"),
             recipe_get(m->recipe, "model.net"));
    text_add(&t, "parameters  %zu\n", m->parameters.total);
    text_add(&t, "training    %s, seed %llu\n", m->trained[0] ? m->trained : "none",
             (unsigned long long)m->seed);
    text_add(&t, "device      %s\n", device_words);
    if (status == JF_OK) status = text_check(m->ctx, &t);
    if (status == JF_OK)
        *out = t.chars;
    else
        text_free(&t);
    return status;
}

static jf_status check_count(const model *m, int n) {
    return n >= 0 ? JF_OK : jf_fail(m->ctx, JF_ERROR_ARGUMENT, "found %d rows, expected 0 or more", n);
}

jf_status check_rows(const model *m, int n, const double *x, const double *y) {
    JF_TRY(check_count(m, n));
    if (n > 0 && !x)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "no values were given for the %d element%s of x or z",
                       m->units.dim_x, m->units.dim_x > 1 ? "s" : "");
    if (n > 0 && m->units.dim_y && !y)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "this model needs a condition y of %d number%s",
                       m->units.dim_y, m->units.dim_y > 1 ? "s" : "");
    return JF_OK;
}

/* Joins x (n, dim_x) and y (n, dim_y) into rows; refuses values that are not finite. Without x (NULL) its places stay
 * as they are. */
static jf_status join_values(const model *m, int n, const double *x, const double *y, double *rows) {
    int dim_x = m->units.dim_x, dim_y = m->units.dim_y, dim = dim_x + dim_y;
    for (long s = 0; s < n; s++) {
        for (int i = 0; x && i < dim_x; i++) rows[s * dim + i] = x[s * dim_x + i];
        for (int i = 0; i < dim_y; i++) rows[s * dim + dim_x + i] = y[s * dim_y + i];
        for (int i = 0; i < dim; i++)
            if (!isfinite(rows[s * dim + i]))
                return jf_fail(m->ctx, JF_ERROR_DATA, "row %ld: %s%d is %g, expected a finite number", s + 1,
                               i < dim_x ? "x" : "y", i < dim_x ? i : i - dim_x, rows[s * dim + i]);
    }
    return JF_OK;
}

/* The same with both, in the model's units. */
static jf_status join_rows(const model *m, int n, const double *x, const double *y, int standardised,
                           double *rows) {
    JF_TRY(check_rows(m, n, x, y));
    JF_TRY(join_values(m, n, x, y, rows));
    if (!standardised) units_standardise(&m->units, n, rows);
    return JF_OK;
}

/* The other way; x and y may be NULL. */
static void split_rows(const model *m, int n, const double *rows, double *x, double *y) {
    int dim_x = m->units.dim_x, dim_y = m->units.dim_y, dim = dim_x + dim_y;
    for (long s = 0; s < n; s++) {
        for (int i = 0; x && i < dim_x; i++) x[s * dim_x + i] = rows[s * dim + i];
        for (int i = 0; y && i < dim_y; i++) y[s * dim_y + i] = rows[s * dim + dim_x + i];
    }
}

/* Units of y alone: a latent row has z in the place of x, which has no units. */
static void y_units(const model *m, int n, double *rows, int to_model) {
    int dim_x = m->units.dim_x, dim = dim_x + m->units.dim_y;
    for (long s = 0; s < n; s++)
        for (int i = dim_x; i < dim; i++) {
            double *v = &rows[s * dim + i];
            *v = to_model ? (*v - m->units.mean[i]) / m->units.deviation[i]
                          : *v * m->units.deviation[i] + m->units.mean[i];
        }
}

static jf_status rows_create(const model *m, int n, double **out) {
    JF_TRY(check_count(m, n));
    return MEM_NEW(m->ctx, out, (size_t)n * (size_t)m->flow->dim);
}

jf_status jf_encode(const jf_model *m, int n, const double *x, const double *y, double *z, double *y_out,
                    const jf_use_options *options) {
    int standardised = options && options->standardised;
    double *rows;
    JF_TRY(rows_create(m, n, &rows));
    jf_status status = join_rows(m, n, x, y, standardised, rows);
    if (status == JF_OK) status = model_forward(m, n, rows, NULL);
    if (status == JF_OK) {
        if (!standardised) y_units(m, n, rows, 0);
        split_rows(m, n, rows, z, y_out);
    }
    free(rows);
    return status;
}

jf_status jf_decode(const jf_model *m, int n, const double *z, const double *y, double *x, double *y_back,
                    const jf_use_options *options) {
    int standardised = options && options->standardised;
    double *rows;
    JF_TRY(rows_create(m, n, &rows));
    jf_status status = join_rows(m, n, z, y, 1, rows);
    if (status == JF_OK) {
        if (!standardised) y_units(m, n, rows, 1);
        status = model_inverse(m, n, rows, NULL);
    }
    if (status == JF_OK) {
        if (!standardised) units_unstandardise(&m->units, n, rows);
        split_rows(m, n, rows, x, y_back);
    }
    free(rows);
    return status;
}

jf_status jf_sample(const jf_model *m, int n, const double *y, double *x, double *y_back, double *z,
                    const jf_use_options *options) {
    latent_points from = {.seed = options ? options->seed : 0, .stream = LATENT_SAMPLES};
    row_units units = options && options->standardised ? MODEL_UNITS : DATA_UNITS;
    double *rows;
    JF_TRY(rows_create(m, n, &rows));
    jf_status status = check_rows(m, n, rows, y); /* x is what is asked for */
    if (status == JF_OK) status = join_values(m, n, NULL, y, rows);
    if (status == JF_OK) status = model_sample(m, from, units, n, rows, z);
    if (status == JF_OK) split_rows(m, n, rows, x, y_back);
    free(rows);
    return status;
}

static double mean(const double *values, int n) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(values[i])) {
            sum += values[i];
            count++;
        }
    return count ? sum / count : NAN;
}

jf_status jf_density(const jf_model *m, int n, const double *x, const double *y, double *log_p,
                     jf_density_summary *summary, const jf_use_options *options) {
    int standardised = options && options->standardised;
    double *rows, volume = standardised ? 0 : units_log_volume(&m->units);
    densities d = {0};
    if (n < 1) return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "the density of %d rows, expected 1 or more", n);
    JF_TRY(rows_create(m, n, &rows));
    jf_status status = join_rows(m, n, x, y, standardised, rows);
    if (status == JF_OK) status = densities_create(m, &d, n, rows, summary != NULL);
    if (status == JF_OK) {
        for (int i = 0; i < n; i++) log_p[i] = d.paper[i] - volume;
        if (summary)
            *summary = (jf_density_summary){.mean = mean(log_p, n),
                                            .sampler_mean = mean(d.sampler, n) - volume,
                                            .whole_mean = mean(d.whole, n) - volume,
                                            .y_error = d.y_error,
                                            .log_dy = d.log_dy,
                                            .exact = d.exact};
    }
    densities_free(&d);
    free(rows);
    return status;
}
