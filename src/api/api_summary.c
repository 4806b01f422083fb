/* Public: summaries of posteriors. */
#include "api/api.h"
#include "judge/summary.h"
#include <string.h>

/* Shares that are asked for; lo and hi are allowed where `closed`. */
static jf_status take_shares(jf_context *ctx, const char *what, size_t count, const double *given, int closed,
                             double to[SUMMARY_MAX_LEVELS], int *taken) {
    if (!given) return JF_OK;
    if (count < 1 || count > SUMMARY_MAX_LEVELS)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%zu %s of a summary, expected 1 to %d", count, what,
                       SUMMARY_MAX_LEVELS);
    for (size_t i = 0; i < count; i++) {
        int inside = closed ? given[i] >= 0 && given[i] <= 1 : given[i] > 0 && given[i] < 1;
        if (!inside)
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s of a summary: found %g, expected %s", what, given[i],
                           closed ? "0 to 1" : "a number above 0 and below 1");
    }
    memcpy(to, given, count * sizeof *to);
    *taken = (int)count;
    return JF_OK;
}

jf_status jf_summarise(jf_summary **out, const jf_model *m, size_t conditions, size_t each, const double *x,
                       const double *y, const jf_summary_options *options) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    jf_summary_options o;
    summary_request q = {0};
    JF_TRY(SIZED_TAKE(m->ctx, jf_summary_options, &o, options));
    JF_TRY(take_shares(m->ctx, "masses", o.mass_count, o.masses, 0, q.mass, &q.masses));
    JF_TRY(take_shares(m->ctx, "quantiles", o.quantile_count, o.quantiles, 1, q.quantile, &q.quantiles));
    if (each > INT_MAX || (each > 0 && conditions > INT_MAX / each))
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu conditions and %zu samples of each, expected at most %d in all", conditions, each,
                       INT_MAX);
    JF_TRY(check_conditions(m, conditions, y));
    JF_TRY(check_samples(m, conditions * each, x));
    return summary_create(m, out, (int)conditions, (int)each, x, y, &q);
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
