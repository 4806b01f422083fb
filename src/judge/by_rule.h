/* Judging a model that was trained from a rule: against the exact target exp(-lambda d)/Z where it is known.
 */
#ifndef JF_JUDGE_BY_RULE_H
#define JF_JUDGE_BY_RULE_H

#include "judge/judge.h"

/* Fills in terms, round trips, samples (j->encoded: z, j->data: x) and j->by_rule. */
jf_status judge_by_rule(judgement *j, const model *m, uint64_t seed);
/* Radius below which a share q of the exact target of the circle lies: u = |x|^2 is Laplace around size^2
 * with scale 1/lambda, cut at 0. */
double circle_radius(double q, double size, double lambda);

#endif
