/* Judging a model that was trained without data: against the exact target exp(-energy)/Z where that is known.
 */
#ifndef JF_JUDGE_BY_RULE_H
#define JF_JUDGE_BY_RULE_H

#include "judge/judge.h"

/* Fills in terms, round trips, samples (j->encoded: z, j->data: x) and j->by_rule. */
jf_status judge_by_rule(judgement *j, const model *m, uint64_t seed);

#endif
