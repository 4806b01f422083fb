/* The contract of what a training step leaves on the device: scalars, terms of rules, steps of the optimiser
 * and their faults. */
#include "device_contract.h"

/* ---- scalars ---- */

static scalar *put_scalars(lab *l, const double *values, size_t count) {
    scalar *s = NULL;
    CHECK_STATUS(l->d->kind->alloc_scalars(l->d, &s, count), JF_OK);
    l->d->kind->put_scalars(l->d, s, values, count);
    return s;
}

static void take_scalars(trial *t, const char *name, effect e, scalar *from, size_t count) {
    double *values = new_numbers(count);
    t->l->d->kind->get_scalars(t->l->d, values, from, count);
    t->l->d->kind->release_scalars(t->l->d, from);
    take_values(t, name, e, values, count);
}

static void run_scalars(trial *t, const void *sizes) {
    size_t count = (size_t) * (const int *)sizes;
    const device_kind *k = t->l->d->kind;
    double *x = draw_normal(count, 1, 61), *y = draw_normal(count, 1, 62), sum = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i];
        largest = fmax(largest, fabs(x[i] - y[i]));
    }
    real *a = lab_put(t->l, x, count), *b = lab_put(t->l, y, count);
    double before[2] = {t->second ? BEGUN : 0, t->second ? 1e30 : NAN};
    scalar *found = put_scalars(t->l, before, 2);
    k->sum_into(t->l->d, found, a, count, 0.25);
    k->largest_difference_into(t->l->d, scalar_at(found, 1), a, b, count);
    double values[2];
    k->get_scalars(t->l->d, values, found, 2);
    CHECK_NEAR(values[0] - before[0], 0.25 * sum,
               1e-12 * (1 + (double)count)); /* in double on every device */
    CHECK(values[1] == largest);
    take_scalars(t, "sum_into and largest_difference_into", KNOWN, found, 2);
    free(x), free(y);
}

void check_scalars(const bench *b) {
    const device_kind *k = b->tested->d->kind;
    double values[3] = {1.0 / 3, -2e300, 5e-300}, found[3] = {9, 9, 9};
    scalar *s = NULL;
    CHECK_STATUS(k->alloc_scalars(b->tested->d, &s, 3), JF_OK);
    k->get_scalars(b->tested->d, found, s, 3);
    CHECK(found[0] == 0 && found[1] == 0 && found[2] == 0);
    k->put_scalars(b->tested->d, s, values, 3);
    k->get_scalars(b->tested->d, found, scalar_at(s, 1), 2);
    CHECK(found[0] == values[1] && found[1] == values[2]); /* doubles, whatever the device's precision */
    k->release_scalars(b->tested->d, s);
    for (int i = 0; i < BATCHES; i++) compare(b, run_scalars, &batches[i], "scalars");
}

/* A value that is no number is passed over by the largest difference, and makes the sum none. */
TEST(device__scalars_tell_of_values_that_are_no_numbers) {
    static const double x[3] = {1, NAN, 2}, y[3] = {0.5, 0, 4};
    FOR_EACH_DEVICE (i) {
        lab *l = lab_open(device_kinds[i]->name, 1);
        real *a = lab_put(l, x, 3), *b = lab_put(l, y, 3);
        double found = 0;
        scalar *s = put_scalars(l, &found, 1);
        CHECK(largest_difference(l->d, a, b, 3) == 2);
        l->d->kind->sum_into(l->d, s, a, 3, 1);
        l->d->kind->get_scalars(l->d, &found, s, 1);
        CHECK(isnan(found));
        l->d->kind->release_scalars(l->d, s);
        lab_close(l);
    }
}

/* ---- rules ---- */

typedef struct rule_sizes {
    rule_energy energy;
    int n;
} rule_sizes;

static void run_rule(trial *t, const void *sizes) {
    const rule_sizes *z = sizes;
    const device_kind *k = t->l->d->kind;
    size_t n = (size_t)z->n;
    double *x = draw_normal(2 * n, 1, 71);
    const real *state = lab_put(t->l, x, 2 * n);
    real *term[2] = {poison(t, n), poison(t, n)}, *dstate = poison(t, 2 * n);
    k->rule_term(t->l->d, term[0], dstate, state, z->n, &z->energy, 0.7);
    k->rule_term(t->l->d, term[1], NULL, state, z->n, &z->energy, 0.7);
    take(t, "rule_term", OVERWRITES, term[0], n);
    take(t, "rule_term without gradient", OVERWRITES, term[1], n);
    take(t, "rule_term dx", OVERWRITES, dstate, 2 * n);
    free(x);
}

void check_rules(const bench *b) {
    for (int id = 0; id < rule_count; id++)
        for (int i = 0; i < BATCHES; i++)
            compare(b, run_rule, &(rule_sizes){{(rule_id)id, 1.25, 7, 0.5 * (i % 2)}, batches[i]}, "rules");
}

/* ---- optimiser ---- */

enum { STEPS = 4, STATE = sizeof(step_state) / sizeof(double) };

/* An optimiser on a device: steps of draws as gradients. */
typedef struct machine {
    lab *l;
    adam_step step;
    double *start, *gradient[STEPS], *decays;
    scalar *state, *terms;
} machine;

static machine machine_open(lab *l, size_t count, double clip) {
    machine m = {.l = l, .start = draw_normal(count, 1e-3, 51)};
    step_state state = {
        .schedule = {.base = 2e-3, .factor = 0.5, .warmup = 2, .decay_from = 1, .decay_steps = 7}};
    double terms[2] = {1, 2};
    for (uint64_t i = 0; i < STEPS; i++) m.gradient[i] = draw_normal(count, 1, 52 + i);
    m.state = put_scalars(l, (const double *)&state, STATE);
    m.terms = put_scalars(l, terms, 2);
    m.decays = draw_normal(count, 1, 60);
    for (size_t i = 0; i < count; i++) m.decays[i] = m.decays[i] > 0;
    m.step = (adam_step){.decay = 20,
                         .decays = lab_put(l, m.decays, count),
                         .average = lab_put(l, m.start, count),
                         .share = 0.75,
                         .params = lab_put(l, m.start, count),
                         .grad = lab_new(l, count),
                         .first = lab_new(l, count),
                         .second = lab_new(l, count),
                         .count = count,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .epsilon = 1e-8,
                         .clip = clip,
                         .state = m.state,
                         .terms = m.terms,
                         .term_count = 2};
    return m;
}

static void machine_step(const machine *m, int i) {
    m->l->d->kind->put(m->l->d, m->step.grad, m->gradient[i], m->step.count);
    m->l->d->kind->adam(m->l->d, &m->step);
}

static step_state machine_state(const machine *m) {
    step_state s;
    m->l->d->kind->get_scalars(m->l->d, (double *)&s, m->state, STATE);
    return s;
}

static void machine_close(machine *m) {
    m->l->d->kind->release_scalars(m->l->d, m->state);
    m->l->d->kind->release_scalars(m->l->d, m->terms);
    free(m->start);
    free(m->decays);
    for (int i = 0; i < STEPS; i++) free(m->gradient[i]);
    lab_clear(m->l);
}

/* Every second number into -0.5 .. 0.25, the others from 0 upwards. */
static double lower_bound(size_t i) {
    return i % 2 ? 0 : -0.5;
}
static double upper_bound(size_t i) {
    return i % 2 ? INFINITY : 0.25;
}
static void clamp_all_but_the_last(lab *l, real *p, size_t count) {
    int32_t *map = calloc(count, sizeof *map);
    double *lo = new_numbers(count), *hi = new_numbers(count);
    size_t bounded = count - 1;
    for (size_t i = 0; i < bounded; i++) { /* from the end, so that place and number differ */
        map[i] = (int32_t)(bounded - 1 - i);
        lo[i] = lower_bound((size_t)map[i]);
        hi[i] = upper_bound((size_t)map[i]);
    }
    if (bounded > 0)
        l->d->kind->clamp(l->d, p, lab_map(l, map, bounded), lab_put(l, lo, bounded), lab_put(l, hi, bounded),
                          bounded);
    free(map), free(lo), free(hi);
}

/* The norm of a gradient of N(0, 1) is about sqrt(count): half the steps are clipped. */
static void run_optimiser(trial *t, const void *sizes) {
    size_t count = *(const size_t *)sizes;
    machine m = machine_open(t->l, count, sqrt((double)count));
    for (int i = 0; i < STEPS; i++) machine_step(&m, i);
    real *bounded = lab_put(t->l, m.gradient[0], count);
    clamp_all_but_the_last(t->l, bounded, count);
    take(t, "adam p", OVERWRITES, m.step.params, count);
    take(t, "adam m", OVERWRITES, m.step.first, count);
    take(t, "adam v", OVERWRITES, m.step.second, count);
    take(t, "clamp", OVERWRITES, bounded, count);
    take(t, "adam gradient", OVERWRITES, m.step.grad, count);
    take(t, "adam average", OVERWRITES, m.step.average, count);
    step_state s = machine_state(&m);
    CHECK(s.done == STEPS && s.fault == 0);
    CHECK_NEAR(s.norm, norm_of(m.gradient[STEPS - 1], count), 1e-9 * (1 + s.norm)); /* summed in double */
    for (size_t i = 0; i < count; i++) CHECK(t->outputs[4].values[i] == 0);
    for (size_t i = 0; i + 1 < count; i++)
        CHECK(t->outputs[3].values[i] == fmin(fmax(m.gradient[0][i], lower_bound(i)), upper_bound(i)));
    CHECK(t->outputs[3].values[count - 1] == m.gradient[0][count - 1]);
    machine_close(&m);
}

static const size_t counts[] = {1, 2, 7, 8, 9, 31, 64, 1000, 16383, 16384, 16385, 50001};

void check_optimiser(const bench *b) {
    char what[64];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (EMULATED && counts[i] > 1000 && counts[i] != 16385) continue; /* the largest take a minute */
        snprintf(what, sizeof what, "optimiser of %zu numbers", counts[i]);
        compare(b, run_optimiser, &counts[i], what);
    }
}

/* Adam by hand, on one number, with the rate of every step. */
TEST(device__a_step_of_adam_is_that_of_its_formula_and_its_schedule) {
    FOR_EACH_DEVICE (d) {
        lab *l = lab_open(device_kinds[d]->name, 1);
        machine m = machine_open(l, 1, 0);
        double p = m.start[0], first = 0, second = 0;
        for (int i = 0; i < STEPS; i++) {
            double g = m.gradient[i][0];
            first = 0.9 * first + 0.1 * g;
            second = 0.999 * second + 0.001 * g * g;
            double rate = 1e-3 * (i == 0 ? 0.5 : 1) * 0.5 * (1 + cos((i - 1) * acos(-1) / 7));
            p -= rate * (first / (1 - pow(0.9, i + 1))) / (sqrt(second / (1 - pow(0.999, i + 1))) + 1e-8);
            machine_step(&m, i);
            double *found = lab_get(l, m.step.params, 1);
            CHECK_NEAR(*found, p, 1e-6 * rate + device_tolerance(l->d) * 1e-3);
            free(found);
        }
        machine_close(&m);
        lab_close(l);
    }
}

/* A fault in the gradient or in the loss: that step and all that follow change nothing but the gradient. */
TEST(device__a_step_that_is_not_finite_and_those_after_it_change_nothing) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    FOR_EACH_DEVICE (d)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int kind = 0; kind < 6; kind++) {
                size_t count = counts[c];
                lab *l = lab_open(device_kinds[d]->name, 2);
                machine m = machine_open(l, count, kind % 2);
                double terms[2] = {1, kind < 3 ? 2 : bad[kind % 3]};
                machine_step(&m, 0);
                const real *kept[] = {m.step.params, m.step.first, m.step.second};
                double *before[3];
                for (int k = 0; k < 3; k++) before[k] = lab_get(l, kept[k], count);
                if (kind < 3) m.gradient[1][count - 1] = bad[kind];
                l->d->kind->put_scalars(l->d, m.terms, terms, 2);
                for (int i = 1; i < STEPS; i++) machine_step(&m, i);
                step_state s = machine_state(&m);
                CHECK(s.done == 1 && s.fault == 2);
                for (int k = 0; k < 3; k++) {
                    double *after = lab_get(l, kept[k], count);
                    CHECK(memcmp(before[k], after, count * sizeof *after) == 0);
                    free(before[k]), free(after);
                }
                double *gradient = lab_get(l, m.step.grad, count);
                for (size_t i = 0; i < count; i++) CHECK(gradient[i] == 0);
                free(gradient);
                machine_close(&m);
                lab_close(l);
            }
}

TEST(schedule__rises_stays_and_falls_with_the_number_of_steps) {
    rate_schedule s = {.base = 0.1, .factor = 0.5};
    CHECK(rate_after(&s, 0) == 0.05 && rate_after(&s, 1e6) == 0.05);
    s.warmup = 4;
    CHECK_NEAR(rate_after(&s, 0), 0.0125, 1e-16);
    CHECK_NEAR(rate_after(&s, 2), 0.0375, 1e-16);
    CHECK(rate_after(&s, 3) == 0.05 && rate_after(&s, 4) == 0.05);
    s.decay_from = 10;
    s.decay_steps = 20;
    CHECK(rate_after(&s, 10) == 0.05);
    CHECK_NEAR(rate_after(&s, 20), 0.025, 1e-16);
    CHECK_NEAR(rate_after(&s, 15), 0.025 * (1 + sqrt(0.5)), 1e-16);
    CHECK_NEAR(rate_after(&s, 30), 0, 1e-16);
}
