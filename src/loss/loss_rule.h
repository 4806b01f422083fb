/* Rules: what the answers have to obey, as a distance d(x) >= 0 from obeying it, in two dimensions. */
#ifndef JF_LOSS_LOSS_RULE_H
#define JF_LOSS_LOSS_RULE_H

#include "compute/rule/rule.h"

/* What is known exactly of p(x) = exp(-lambda d(x))/Z. size: that of the rule. */
typedef struct rule_target {
    const char *radius_name;
    double (*log_normaliser)(double size, double lambda); /* log Z, infinite for lambda = 0 */
    double (*radius)(const double x[2]);
    double (*quantile)(double q, double size, double lambda); /* the radius below which a share q lies */
} rule_target;

typedef struct rule {
    rule_id id;
    const char *name, *formula;
    double (*distance)(const double x[2], double size, double gradient[2]);
} rule;

extern const rule rules[]; /* ends with a NULL name */
const rule *rule_find(const char *name);
const rule_target *rule_target_of(const rule *r); /* NULL: not known, or not normalisable */

#endif
