#include "judge/by_rule.h"
#include "base/statistics.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

static const double probabilities[RULE_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};

/* KL(samples || target) = E[log q(x) + energy(x)] + log Z, where x = F^-1(z) and log q(x) = log p_Z(z) +
 * logdet. The mean over points whose z and x belong together: most of log p_Z(z) and energy(x) cancel, point
 * by point. */
static void measure_divergence(judgement *j, const objective *o, size_t dim, double log_z,
                               const double *logdet) {
    double mean = 0, squares = 0, n = (double)j->points;
    for (size_t i = 0; i < (size_t)j->points; i++) { /* Welford's sums */
        double value = o->kind->target->energy(o, j->data + i * dim) + logdet[i] + log_z;
        for (size_t k = 0; k < dim; k++)
            value -= (j->encoded[i * dim + k] * j->encoded[i * dim + k] + log(2 * PI)) / 2;
        double off = value - mean;
        mean += off / (double)(i + 1);
        squares += off * (value - mean);
    }
    j->by_rule.divergence = mean;
    j->by_rule.error = sqrt(squares / (n - 1) / n); /* of one point: not a number */
}

static jf_status compare_with_target(judgement *j, const model *m, const double *logdet) {
    const objective *o = &m->objective;
    const objective_target *target = o->kind->target;
    size_t n = (size_t)j->points, dim = (size_t)m->flow->dim;
    double *radius, log_z = target ? target->log_normaliser(o) : NAN;
    if (!isfinite(log_z)) return JF_OK;
    measure_divergence(j, o, dim, log_z, logdet);
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
    double *logdet;
    JF_TRY(MEM_NEW(m->ctx, &j->data, n * dim));
    JF_TRY(MEM_NEW(m->ctx, &j->encoded, n * dim));
    JF_TRY(MEM_NEW(m->ctx, &logdet, n));
    model_draw_latent(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, (long)n, j->encoded);
    memcpy(j->data, j->encoded, sizeof(double) * n * dim);
    jf_status status = model_evaluate(m, (long)n, j->data, logdet, &j->terms);
    if (status == JF_OK) status = compare_with_target(j, m, logdet);
    free(logdet);
    if (status != JF_OK) return status;
    return roundtrip_errors(m, (long)(n < 10000 ? n : 10000), j->data, seed, &j->roundtrip_data,
                            &j->roundtrip_latent);
}
