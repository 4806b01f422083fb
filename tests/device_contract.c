#include "device_contract.h"

const int batches[BATCHES] = {1, 5, 24, 25, 47, 48, 49, 200, 1000};
const int widths[WIDTHS] = {1, 2, 3, 6, 7, 16, 17, 30, 64, 65, 100};

real *poison(trial *t, size_t count) {
    return lab_fill(t->l, t->second ? 1e30 : NAN, count);
}

real *begun(trial *t, size_t count) {
    return lab_fill(t->l, t->second ? BEGUN : 0, count);
}

void take_values(trial *t, const char *name, effect e, double *values, size_t count) {
    CHECK(t->count < (int)(sizeof t->outputs / sizeof *t->outputs));
    t->outputs[t->count++] = (output){name, e, count, values};
}

void take(trial *t, const char *name, effect e, const real *from, size_t count) {
    take_values(t, name, e, lab_get(t->l, from, count), count);
}

/* Of the whole array, relative to its size; a few numbers of order 1 may cancel. */
static double distance(const output *found, const output *expected, double offset) {
    double sum = 0, scale = norm_of(expected->values, expected->count);
    if (expected->count < 8) scale = fmax(scale, 0.1);
    if (scale == 0) scale = 1;
    for (size_t i = 0; i < expected->count; i++) {
        double e = found->values[i] - offset - expected->values[i];
        sum += e * e;
    }
    return isnan(sum) ? INFINITY : sqrt(sum) / scale;
}

static void judge_output(const bench *b, const char *what, const output *expected, const output *first,
                         const output *second) {
    const char *device_name = b->tested->d->kind->name, *name = first->name;
    if (first->effect == KNOWN) return;
    if (first->effect == KEEPS) {
        for (size_t i = 0; i < first->count; i++)
            if (!isnan(first->values[i]) || !(second->values[i] > 0.99e30))
                test_fail(__FILE__, __LINE__, "%s, %s: %s[%zu] was touched", device_name, what, name, i);
        return;
    }
    double error = distance(first, expected, 0);
    if (!(error <= b->tolerance))
        test_fail(__FILE__, __LINE__, "%s, %s: %s differs by %.3g, allowed %.3g", device_name, what, name,
                  error, b->tolerance);
    if (first->effect == OVERWRITES &&
        memcmp(first->values, second->values, first->count * sizeof(double)) != 0)
        test_fail(__FILE__, __LINE__, "%s, %s: %s depends on what it held before", device_name, what, name);
    if (first->effect == ADDS && !(distance(second, expected, BEGUN) <= 10 * device_tolerance(b->tested->d)))
        test_fail(__FILE__, __LINE__, "%s, %s: %s is not added to what was there", device_name, what, name);
}

void compare(const bench *b, trial_fn run, const void *sizes, const char *what) {
    trial trials[3] = {{.l = b->ref}, {.l = b->tested}, {.l = b->tested, .second = 1}};
    for (int i = 0; i < 3; i++) {
        run(&trials[i], sizes);
        CHECK_STATUS(trials[i].l->d->kind->status(trials[i].l->d), JF_OK);
        lab_clear(trials[i].l);
    }
    CHECK(trials[0].count > 0 && trials[0].count == trials[1].count && trials[0].count == trials[2].count);
    for (int i = 0; i < trials[0].count; i++) {
        judge_output(b, what, &trials[0].outputs[i], &trials[1].outputs[i], &trials[2].outputs[i]);
        for (int k = 0; k < 3; k++) free(trials[k].outputs[i].values);
    }
}
