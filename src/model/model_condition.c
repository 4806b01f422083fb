#include "model/model_condition.h"
#include "base/memory.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

jf_status condition_limits(const model *m, int element, double *lo, double *hi) {
    const model_units *u = &m->units;
    JF_TRY(check_element(m, element));
    if (u->classes > 0) {
        range_of_labels(u, lo, hi);
        return JF_OK;
    }
    if (!u->condition_range)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "the model does not tell where the y of its training data are");
    *lo = units_to_data(u, u->dim_x + element, u->condition_range->lo[element]);
    *hi = units_to_data(u, u->dim_x + element, u->condition_range->hi[element]);
    return JF_OK;
}

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
static jf_status describe_condition_range(const model *m, const double *y, text *words) {
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

jf_status condition_describe_beyond(const model *m, const double *y, text *words) {
    if (m->units.classes > 0) {
        tell_classes(&m->units, y, words);
        return JF_OK;
    }
    return m->units.condition_range ? describe_condition_range(m, y, words) : JF_OK;
}

double condition_error(const model *m, size_t n, const double *y, const double *y_back) {
    const model_units *u = &m->units;
    double sum = 0;
    for (size_t s = 0; s < n; s++)
        for (int i = 0; i < u->dim_y; i++) {
            size_t at = s * (size_t)u->dim_y + (size_t)i;
            sum += fabs(units_to_model(u, u->dim_x + i, y_back[at]) - units_to_model(u, u->dim_x + i, y[at]));
        }
    return n > 0 && u->dim_y > 0 ? sum / ((double)n * u->dim_y) : 0;
}
