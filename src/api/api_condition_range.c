/* Public: where the data of a model are, for whoever shows it beside them. */
#include "api/api.h"
#include "inference/data_rows.h"
#include "model/model_condition.h"

const char *jf_model_objective(const jf_model *m) {
    if (!m) return "";
    return m->objective.kind->name;
}

const char *jf_model_data_set(const jf_model *m) {
    if (!m) return "";
    return m->objective.kind->from_data ? recipe_get(m->recipe, "data.set") : "";
}

jf_status jf_model_y_range(const jf_model *m, int element, double *lo, double *hi) {
    JF_NEEDS(CONTEXT_OF(m), m, lo, hi);
    return condition_limits(m, element, lo, hi);
}

jf_status jf_y_beyond(char **words, const jf_model *m, const double *y) {
    JF_GIVES(CONTEXT_OF(m), words, m);
    text t = {0};
    JF_TRY(check_conditions(m, 1, y));
    jf_status status = condition_describe_beyond(m, y, &t);
    return give_text(m->ctx, words, &t, status);
}

jf_status jf_y_error(const jf_model *m, size_t n, const double *y, const double *y_back, double *out) {
    JF_NEEDS(CONTEXT_OF(m), m, out);
    if (n && m->units.dim_y) JF_NEEDS(m->ctx, y, y_back);
    JF_TRY(check_conditions(m, n, y));
    JF_TRY(check_conditions(m, n, y_back));
    *out = condition_error(m, n, y, y_back);
    return JF_OK;
}

jf_status jf_data_rows(const jf_model *m, size_t n, int class_index, uint64_t seed, size_t *found, double *x,
                       double *y) {
    JF_GIVES(CONTEXT_OF(m), found, m);
    return data_rows(m, n, class_index, seed, found, x, y);
}
