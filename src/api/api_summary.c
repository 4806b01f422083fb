/* Public: summaries of posteriors. */
#include "api/api.h"
#include "judge/summary.h"

jf_status jf_summarise(jf_summary **out, const jf_model *m, size_t conditions, size_t each, const double *x,
                       const double *y, const jf_summary_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_summary_options o;
    JF_TRY(SIZED_TAKE(m->ctx, jf_summary_options, &o, options));
    if (each > INT_MAX || (each > 0 && conditions > INT_MAX / each))
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu conditions and %zu samples of each, expected at most %d in all", conditions, each,
                       INT_MAX);
    JF_TRY(check_conditions(m, conditions, y));
    JF_TRY(check_samples(m, conditions * each, x));
    return summary_create(m, out, (int)conditions, (int)each, x, y, &o);
}

const char *jf_summary_csv(const jf_summary *s) {
    return s ? s->csv.chars : "";
}
const char *jf_summary_json(const jf_summary *s) {
    return s ? s->json.chars : "";
}
const char *jf_summary_text(const jf_summary *s) {
    return s ? s->table.chars : "";
}
void jf_summary_free(jf_summary *s) {
    summary_free(s);
}
