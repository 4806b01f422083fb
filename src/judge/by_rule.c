#include "judge/by_rule.h"
#include "base/statistics.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double probabilities[5] = {0.05, 0.25, 0.5, 0.75, 0.95};

/* Distribution of u: density proportional to exp(-lambda |u - R^2|) on u >= 0, mass (2 - exp(-lambda
 * R^2))/lambda. */
double circle_radius(double q, double size, double lambda) {
    double R2 = size * size, tail = exp(-lambda * R2), mass = 2 - tail;
    double below = (1 - tail) / mass; /* share of u < R^2 */
    if (q < below) return sqrt(fmax(R2 + log(q * mass + tail) / lambda, 0));
    return sqrt(R2 - log((1 - q) * mass) / lambda);
}

jf_status judge_by_rule(judgement *j, const model *m, uint64_t seed) {
    const objective *o = &m->objective;
    size_t n = (size_t)j->points;
    double *logdet = NULL, *radius = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &j->data, 2 * n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &j->encoded, 2 * n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &logdet, n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &radius, n));
    model_draw_latent(m, seed, 0, (long)n, j->encoded);
    memcpy(j->data, j->encoded, sizeof(double) * 2 * n);
    JF_TRY_DONE(model_inverse(m, (long)n, j->data, logdet));
    loss_terms t = {0};
    for (size_t i = 0; i < n; i++) {
        double *x = j->data + 2 * i, g[2], x2 = x[0] * x[0] + x[1] * x[1];
        t.value[TERM_Y_ERROR] += o->rule->distance(x, o->rule_size, g) / (double)n;
        t.value[TERM_LOGDET] += logdet[i] / (double)n;
        t.value[TERM_Z] += o->confine * x2 / 2 / (double)n;
        radius[i] = sqrt(x2);
    }
    t.value[TERM_Y] = o->lambda * t.value[TERM_Y_ERROR];
    loss_terms_total(&t);
    j->terms = t;
    j->by_rule.divergence = NAN;
    if (strcmp(o->rule->name, "circle") == 0 && o->confine == 0) {
        double R2 = o->rule_size * o->rule_size;
        double Z = 3.14159265358979323846 / o->lambda * (2 - exp(-o->lambda * R2));
        j->by_rule.divergence = t.value[TERM_TOTAL] + log(Z) - log(2 * 3.14159265358979323846 * exp(1));
        sort_ascending(radius, n);
        for (int i = 0; i < 5; i++) {
            j->by_rule.quantiles[i][0] = probabilities[i];
            j->by_rule.quantiles[i][1] = quantile(radius, n, probabilities[i]);
            j->by_rule.quantiles[i][2] = circle_radius(probabilities[i], o->rule_size, o->lambda);
        }
    }
    JF_TRY_DONE(roundtrip_errors(m, (long)(n < 10000 ? n : 10000), j->data, seed, &j->roundtrip_data,
                                 &j->roundtrip_latent));
done:
    free(logdet);
    free(radius);
    return status;
}
