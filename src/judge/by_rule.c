#include "judge/by_rule.h"
#include "base/statistics.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double probabilities[RULE_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};

/* KL(samples || target) = E[log q(x)] + E[energy] + log Z, where x = F^-1(z) and q its density:
 *     E[log q(x)] = E[log p_Z(z)] + E[logdet] = -dim log(2 pi e)/2 + E[logdet]
 * Energy and logdet together are the loss. */
static jf_status compare_with_target(judgement *j, const model *m) {
    const objective *o = &m->objective;
    const objective_target *target = o->kind->target;
    size_t n = (size_t)j->points, dim = (size_t)m->flow->dim;
    double *radius, log_z = target ? target->log_normaliser(o) : NAN;
    j->by_rule = (rule_judgement){.divergence = NAN};
    if (!isfinite(log_z)) return JF_OK;
    j->by_rule.divergence =
        j->terms.value[TERM_TOTAL] + log_z - (double)dim / 2 * log(2 * 3.14159265358979323846 * exp(1));
    j->by_rule.radius_name = target->radius_name(o);
    JF_TRY(MEM_NEW(m->ctx, &radius, n));
    for (size_t i = 0; i < n; i++) radius[i] = target->radius(o, j->data + i * dim);
    sort_ascending(radius, n);
    for (int i = 0; i < RULE_QUANTILES; i++)
        j->by_rule.quantiles[i] = (rule_quantile){.probability = probabilities[i],
                                                  .samples = quantile(radius, n, probabilities[i]),
                                                  .exact = target->quantile(o, probabilities[i])};
    free(radius);
    return JF_OK;
}

jf_status judge_by_rule(judgement *j, const model *m, uint64_t seed) {
    size_t n = (size_t)j->points, dim = (size_t)m->flow->dim;
    JF_TRY(MEM_NEW(m->ctx, &j->data, n * dim));
    JF_TRY(MEM_NEW(m->ctx, &j->encoded, n * dim));
    model_draw_latent(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, (long)n, j->encoded);
    memcpy(j->data, j->encoded, sizeof(double) * n * dim);
    JF_TRY(model_evaluate(m, (long)n, j->data, NULL, &j->terms));
    JF_TRY(compare_with_target(j, m));
    return roundtrip_errors(m, (long)(n < 10000 ? n : 10000), j->data, seed, &j->roundtrip_data,
                            &j->roundtrip_latent);
}
