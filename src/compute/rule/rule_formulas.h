/* The formulas of all rules: RULE_distance(x, r, g) returns d(x) and gives its gradient, where a kink has
 * slope 0. In double on every device: they are two-dimensional and cheap. */
#ifndef JF_COMPUTE_RULE_RULE_FORMULAS_H
#define JF_COMPUTE_RULE_RULE_FORMULAS_H

#include "base/formula.h"
#include "compute/rule/rule.h"
#include <math.h>

FORMULA double rule_sign(double t) {
    return (double)((t > 0) - (t < 0));
}

FORMULA double circle_distance(const double x[2], double r, double g[2]) {
    double e = x[0] * x[0] + x[1] * x[1] - r * r;
    g[0] = rule_sign(e) * 2 * x[0];
    g[1] = rule_sign(e) * 2 * x[1];
    return fabs(e);
}
FORMULA double diamond_distance(const double x[2], double r, double g[2]) {
    double e = fabs(x[0]) + fabs(x[1]) - r;
    g[0] = rule_sign(e) * rule_sign(x[0]);
    g[1] = rule_sign(e) * rule_sign(x[1]);
    return fabs(e);
}
FORMULA double line_distance(const double x[2], double r, double g[2]) {
    (void)r;
    double e = x[0] + x[1];
    g[0] = g[1] = rule_sign(e);
    return fabs(e);
}
FORMULA double cross_distance(const double x[2], double r, double g[2]) {
    (void)r;
    double e = x[0] * x[1];
    g[0] = rule_sign(e) * x[1];
    g[1] = rule_sign(e) * x[0];
    return fabs(e);
}
FORMULA double parabola_distance(const double x[2], double r, double g[2]) {
    (void)r;
    double e = x[1] - x[0] * x[0];
    g[0] = rule_sign(e) * -2 * x[0];
    g[1] = rule_sign(e);
    return fabs(e);
}

FORMULA double rule_distance(rule_id id, const double x[2], double r, double g[2]) {
    switch (id) {
#define X(name, formula)                                                                                     \
    case rule_##name:                                                                                        \
        return name##_distance(x, r, g);
        RULE_LIST(X)
#undef X
    default:
        return g[0] = g[1] = 0;
    }
}

/* E(x) and its gradient. */
FORMULA double rule_energy_at(const rule_energy *e, const double x[2], double g[2]) {
    double d = rule_distance(e->rule, x, e->size, g);
    for (int k = 0; k < 2; k++) g[k] = e->lambda * g[k] + e->confine * x[k];
    return e->lambda * d + e->confine * (x[0] * x[0] + x[1] * x[1]) / 2;
}

#endif
