/* Public: where the data of a model are, for whoever shows it beside them. */
#include "api/api.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *jf_model_objective(const jf_model *m) {
    if (!m) return "";
    return m->objective.kind->name;
}

const char *jf_model_data_set(const jf_model *m) {
    if (!m) return "";
    return m->objective.kind->from_data ? recipe_get(m->recipe, "data.set") : "";
}

/* ---- the range of y ---- */

static jf_status check_element(const model *m, int element) {
    if (element >= 0 && element < m->units.dim_y) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_ARGUMENT, "element %d of y, expected 0 to %d", element,
                   m->units.dim_y - 1);
}

static void range_of_labels(const model_units *u, double *lo, double *hi) {
    if (units_planes(u)) {
        *lo = 0;
        *hi = 1;
        return;
    }
    *lo = *hi = u->label[0];
    for (int k = 1; k < u->classes; k++) {
        *lo = fmin(*lo, u->label[k]);
        *hi = fmax(*hi, u->label[k]);
    }
}

jf_status jf_model_y_range(const jf_model *m, int element, double *lo, double *hi) {
    JF_NEEDS(CONTEXT_OF(m), m, lo, hi);
    const model_units *u = &m->units;
    JF_TRY(check_element(m, element));
    if (u->classes > 0) {
        range_of_labels(u, lo, hi);
        return JF_OK;
    }
    if (!u->reach)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "the model does not tell where the y of its training data are");
    *lo = units_to_data(u, u->dim_x + element, u->reach->lo[element]);
    *hi = units_to_data(u, u->dim_x + element, u->reach->hi[element]);
    return JF_OK;
}

static jf_status open_data(const model *m, dataset **out) {
    if (!m->objective.kind->from_data)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "the model was trained from a rule and has no data");
    return dataset_open(m->ctx, out, m->recipe);
}

jf_status jf_model_measure_reach(jf_model *m) {
    JF_NEEDS(CONTEXT_OF(m), m);
    dataset *data;
    JF_TRY(open_data(m, &data));
    jf_status status = train_measure_reach(m, data);
    dataset_free(data);
    return status;
}

/* ---- a y among them ---- */

static void tell_classes(const model_units *u, const double *y, text *words) {
    int each = units_planes(u) ? u->classes : 1;
    for (int i = 0; i < u->dim_y; i += each)
        if (units_class_of(u, y + i) < 0) {
            text_add(words, "y is %.6g, which is none of the labels of the data: ", units_label_of(u, y + i));
            for (int k = 0; k < u->classes; k++) text_add(words, "%s%.6g", k ? ", " : "", u->label[k]);
            return;
        }
}

/* Everything but images. */
static jf_status tell_reach(const model *m, const double *y, text *words) {
    const model_units *u = &m->units;
    char found[512];
    double *in_model;
    JF_TRY(MEM_NEW(m->ctx, &in_model, (size_t)u->dim_y));
    for (int i = 0; i < u->dim_y; i++) in_model[i] = units_to_model(u, u->dim_x + i, y[i]);
    if (model_describe_beyond(m, in_model, found, sizeof found)) {
        size_t length = strlen(found); /* without the last "; " */
        text_add(words, "%.*s", (int)(length > 2 ? length - 2 : length), found);
    }
    free(in_model);
    return JF_OK;
}

jf_status jf_y_beyond(char **words, const jf_model *m, const double *y) {
    JF_GIVES(CONTEXT_OF(m), words, m);
    text t = {0};
    JF_TRY(check_conditions(m, 1, y));
    jf_status status = JF_OK;
    if (m->units.classes > 0)
        tell_classes(&m->units, y, &t);
    else if (m->units.reach)
        status = tell_reach(m, y, &t);
    return give_text(m->ctx, words, &t, status);
}

jf_status jf_y_error(const jf_model *m, size_t n, const double *y, const double *y_back, double *out) {
    JF_NEEDS(CONTEXT_OF(m), m, out);
    if (n && m->units.dim_y) JF_NEEDS(m->ctx, y, y_back);
    const model_units *u = &m->units;
    double sum = 0;
    JF_TRY(check_conditions(m, n, y));
    JF_TRY(check_conditions(m, n, y_back));
    for (size_t s = 0; s < n; s++)
        for (int i = 0; i < u->dim_y; i++) {
            size_t at = s * (size_t)u->dim_y + (size_t)i;
            sum += fabs(units_to_model(u, u->dim_x + i, y_back[at]) - units_to_model(u, u->dim_x + i, y[at]));
        }
    *out = n > 0 && u->dim_y > 0 ? sum / ((double)n * u->dim_y) : 0;
    return JF_OK;
}

/* ---- rows ---- */

static long rows_there(const dataset *d, int class_index) {
    if (d->rows == 0) return -1; /* as many as one likes */
    return class_index < 0 || !d->class_rows ? d->rows
                                             : d->class_start[class_index + 1] - d->class_start[class_index];
}

static jf_status copy_rows(const model *m, const dataset *d, int n, int class_index, uint64_t seed, double *x,
                           double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, dim = dim_x + dim_y;
    double *rows;
    JF_TRY(MEM_NEW(m->ctx, &rows, (size_t)n * dim));
    jf_status status = dataset_draw(d, (rng_key){seed, RNG_JUDGE, RNG_USE_FLOOR}, 0, n, class_index, rows);
    for (size_t s = 0; status == JF_OK && s < (size_t)n; s++) {
        if (x) memcpy(x + s * dim_x, rows + s * dim, dim_x * sizeof *x);
        if (y && dim_y) memcpy(y + s * dim_y, rows + s * dim + dim_x, dim_y * sizeof *y);
    }
    free(rows);
    return status;
}

jf_status jf_data_rows(const jf_model *m, size_t n, int class_index, uint64_t seed, size_t *found, double *x,
                       double *y) {
    JF_GIVES(CONTEXT_OF(m), found, m);
    dataset *d;
    if (n > INT_MAX || class_index < -1 || class_index >= (m->units.classes > 0 ? m->units.classes : 1))
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu rows of class %d, expected rows of class -1 (all) to %d", n, class_index,
                       m->units.classes - 1);
    JF_TRY(open_data(m, &d));
    jf_status status = JF_OK;
    long there = rows_there(d, class_index);
    if (there >= 0 && n > (size_t)there) n = (size_t)there;
    if (dataset_dim(d) != m->units.dim_x + m->units.dim_y || d->dim_x != m->units.dim_x)
        status = jf_fail(m->ctx, JF_ERROR_SHAPE, "the data have x of %d and y of %d, the model of %d and %d",
                         d->dim_x, d->dim_y, m->units.dim_x, m->units.dim_y);
    if (status == JF_OK && n > 0) status = copy_rows(m, d, (int)n, class_index, seed, x, y);
    if (status == JF_OK) *found = n;
    dataset_free(d);
    return status;
}
