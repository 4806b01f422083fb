/* Two judgements of the same points, number by number. */
#include "judge/pack.h"
#include <math.h>

static void add_row(text *out, const metric *k, double before, double after) {
    char a[JUDGE_MAX_NUMBER], b[JUDGE_MAX_NUMBER];
    if (!isfinite(before) && !isfinite(after)) return;
    text_add(out, "  %-22s %12s %12s\n", k->label, judge_number(a, 12, k->format, before),
             judge_number(b, 12, k->format, after));
}

void judgements_compare(const judgement *before, const judgement *after, text *out) {
    text_add(out, "  %-22s %12s %12s\n", "", "whole", "half");
    for (int i = 0; i < METRIC_LISTS; i++) {
        const metric_list *list = &metric_lists[i];
        for (int k = 0; k < list->count; k++)
            if (list->metrics[k].use & COMPARED)
                add_row(out, &list->metrics[k], metric_of_judgement(list, k, before),
                        metric_of_judgement(list, k, after));
    }
}

double judgements_worse_by(const judgement *before, const judgement *after, int dim_x) {
    return (after->terms.value[TERM_TOTAL] - before->terms.value[TERM_TOTAL]) / dim_x;
}
