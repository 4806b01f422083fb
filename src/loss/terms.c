#include "loss/terms.h"

const term_info loss_term_info[TERM_COUNT] = {
#define X(id, name, role, about) {name, about, TERM_IS_##role},
    LOSS_TERMS(X)
#undef X
};

void loss_terms_total(loss_terms *t) {
    double sum = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        if (loss_term_info[i].role == TERM_IS_PART) sum += t->value[i];
    t->value[TERM_TOTAL] = sum;
}

void loss_terms_add(loss_terms *sums, const loss_terms *t) {
    for (int i = 0; i < TERM_COUNT; i++) sums->value[i] += t->value[i];
}

loss_terms loss_terms_mean(const loss_terms *sums, double n) {
    loss_terms mean;
    for (int i = 0; i < TERM_COUNT; i++) mean.value[i] = sums->value[i] / n;
    return mean;
}
