/* Objectives: their values by hand, their gradients against finite differences in double precision. */
#include "compute/compute.h"
#include "flow_fixture.h"
#include "loss/loss.h"

#define N 4

/* ---- the terms on a device ---- */

typedef struct term_case {
    lab *l;
    layout layout;
    distance_kind kind;
    int prior;
    size_t whole;
    double state[N * 12], target[N * 12];
} term_case;

enum { LAMBDA = 3 };
static const double weight = 0.4;

/* weight * sum of the terms; dstate: NULL or (N, dim), zero where no term looks */
static double run_term(term_case *k, double *dstate) {
    device *d = k->l->d;
    real *term = lab_new(k->l, N), *state = lab_put(k->l, k->state, k->whole),
         *grad = lab_new(k->l, k->whole);
    if (k->prior)
        d->kind->prior_term(d, term, dstate ? grad : NULL, state, N, k->layout, weight);
    else
        d->kind->distance_term(d, term, dstate ? grad : NULL, state, lab_put(k->l, k->target, k->whole), N,
                               k->layout, k->kind, LAMBDA, weight);
    double terms[N], sum = 0;
    d->kind->get(d, terms, term, N);
    if (dstate) d->kind->get(d, dstate, grad, k->whole);
    lab_clear(k->l);
    for (int i = 0; i < N; i++) sum += weight * terms[i];
    return sum;
}

static double term_loss(void *arg) {
    return run_term(arg, NULL);
}

/* The same by hand. */
static double term_by_hand(const term_case *k) {
    double sum = 0;
    for (size_t i = 0; i < k->whole; i++) {
        int is_x = (int)(i % (size_t)k->layout.channels) < k->layout.x_channels;
        double z = k->state[i], e = z - k->target[i];
        if (k->prior && is_x) sum += z * z / 2 + log(2 * acos(-1)) / 2;
        if (!k->prior && !is_x) sum += LAMBDA * (k->kind == DISTANCE_L1 ? fabs(e) : e * e);
    }
    return weight * sum;
}

TEST(loss_terms__values_and_gradients_are_those_of_their_formulas) {
    static const layout layouts[] = {{1, 3, 2}, {1, 2, 2}, {4, 3, 1}};
    lab *l = lab_open("ref", 1);
    for (int i = 0; i < 9; i++) {
        term_case k = {.l = l,
                       .layout = layouts[i % 3],
                       .prior = i / 3 == 0,
                       .kind = i / 3 == 1 ? DISTANCE_L1 : DISTANCE_L2};
        k.whole = (size_t)(N * k.layout.pixels * k.layout.channels);
        double *state = draw_normal(k.whole, 1, 1), *target = draw_normal(k.whole, 1, 2), grad[N * 12];
        memcpy(k.state, state, k.whole * sizeof *state);
        memcpy(k.target, target, k.whole * sizeof *target);
        CHECK_NEAR(run_term(&k, grad), term_by_hand(&k), 1e-12);
        check_gradient("dstate", k.state, k.whole, grad, term_loss, &k, 1e-8);
        free(state), free(target);
    }
    lab_close(l);
}

/* ---- rules ---- */

static double rule_at(void *arg) {
    const double *x = arg;
    double ignored[2];
    return rules[(int)x[2]].distance(x, 1.5, ignored);
}

TEST(rules__gradients_are_those_of_finite_differences) {
    int count = 0;
    for (const rule *r = rules; r->name; r++, count++) {
        rng random = rng_stream((rng_key){.seed = 3, .purpose = RNG_TEST}, 0);
        for (int i = 0; i < 200; i++) {
            double x[3] = {2 * rng_normal(&random), 2 * rng_normal(&random), count}, g[2];
            r->distance(x, 1.5, g);
            check_gradient(r->name, x, 2, g, rule_at, x, 1e-7);
        }
    }
    CHECK(count == 5);
}

TEST(rules__distances_are_those_of_the_paper) {
    static const struct {
        const char *name;
        double x[2], r, expected;
    } cases[] = {{"circle", {3, 4}, 2, 21},  {"circle", {0, 0.5}, 1, 0.75},    {"circle", {0.6, -0.8}, 1, 0},
                 {"diamond", {3, -4}, 2, 5}, {"diamond", {-0.25, 0}, 1, 0.75}, {"line", {1, -3}, 9, 2},
                 {"line", {1, -1}, 9, 0},    {"cross", {2, -3}, 9, 6},         {"cross", {0, 7}, 9, 0},
                 {"parabola", {2, 1}, 9, 3}, {"parabola", {-2, 4}, 9, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double g[2];
        const rule *r = rule_find(cases[i].name);
        CHECK(r && strcmp(r->name, cases[i].name) == 0);
        CHECK_NEAR(r->distance(cases[i].x, cases[i].r, g), cases[i].expected, 1e-15);
    }
    CHECK(rule_find("square") == NULL);
}

/* ---- objectives ---- */

typedef struct objective_case {
    const char *loss; /* keys of [loss] */
    const char *condition;
    int dim_x, dim_y;
} objective_case;

static const objective_case cases[] = {
    {"objective = joint\nlambda = 10\ndistance = l1", "joint", 2, 1},
    {"objective = joint\nlambda = 10\ndistance = l2", "joint", 3, 2},
    {"objective = joint\nlambda = 10", "fixed", 2, 1},
    {"objective = plain", "joint", 2, 0},
    {"objective = plain", "joint", 5, 0},
    {"objective = rule\nrule = circle\nsize = 1.3\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = diamond\nsize = 1.3\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = line\nconfine = 0.5\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = cross\nconfine = 0.5\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = parabola\nconfine = 0.5\nlambda = 7", "joint", 2, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct trainer {
    flow_rig *r;
    objective o;
    double *batch; /* (N, dim) */
    size_t whole;
} trainer;

static trainer trainer_open(const char *device_name, const objective_case *c) {
    char content[400];
    snprintf(content, sizeof content,
             "[model]\ncondition = %s\nblocks = 2\ndepth = 2\nwidth = 6\noutput_gain = 0.5\n[loss]\n%s\n",
             c->condition, c->loss);
    trainer t = {.r = rig_open(device_name, 2, content, c->dim_x, c->dim_y, NULL, 0, N, 23)};
    CHECK_STATUS(loss_create(t.r->l->ctx, &t.o, t.r->recipe), JF_OK);
    t.whole = (size_t)(N * t.r->flow->dim);
    t.batch = draw_normal(t.whole, 1, 24);
    return t;
}

static void trainer_close(trainer *t) {
    free(t->batch);
    rig_close(t->r);
}

static loss_terms evaluate(trainer *t, int with_gradient) {
    loss_terms terms;
    t->r->run->pass.grad = with_gradient ? t->r->grad : NULL;
    flow_run_put(t->r->run, N, t->batch);
    t->o.kind->evaluate(&t->o, t->r->run, N, &terms);
    return terms;
}

static double objective_loss(void *arg) {
    trainer *t = arg;
    rig_upload(t->r);
    return evaluate(t, 0).value[TERM_TOTAL];
}

/* The terms from the flow's outputs, written out once more. */
static loss_terms terms_by_hand(trainer *t) {
    const flow *f = t->r->flow;
    loss_terms e = {0};
    double *state = new_numbers(t->whole), logdet[N], g[2];
    memcpy(state, t->batch, t->whole * sizeof *state);
    (t->o.kind->from_data ? rig_forward : rig_inverse)(t->r, N, state, logdet);
    for (int s = 0; s < N; s++) {
        const double *v = state + s * f->dim, *y = t->batch + s * f->dim;
        if (t->o.kind->from_data) {
            for (int i = 0; i < f->dim_x; i++) e.value[TERM_Z] += (v[i] * v[i] + log(2 * acos(-1))) / 2 / N;
            for (int i = f->dim_x; i < f->dim; i++) {
                double d = v[i] - y[i];
                e.value[TERM_Y] += t->o.lambda * (t->o.distance == DISTANCE_L1 ? fabs(d) : d * d) / N;
                e.value[TERM_Y_ERROR] += fabs(d) / f->dim_y / N;
            }
            e.value[TERM_LOGDET] -= logdet[s] / N;
        } else {
            e.value[TERM_Z] += t->o.confine * (v[0] * v[0] + v[1] * v[1]) / 2 / N;
            e.value[TERM_Y_ERROR] += t->o.rule->distance(v, t->o.rule_size, g) / N;
            e.value[TERM_LOGDET] += logdet[s] / N;
        }
    }
    if (!t->o.kind->from_data) e.value[TERM_Y] = t->o.lambda * e.value[TERM_Y_ERROR];
    e.value[TERM_TOTAL] = e.value[TERM_Z] + e.value[TERM_Y] + e.value[TERM_LOGDET];
    free(state);
    return e;
}

static void check_terms(const loss_terms *found, const loss_terms *expected, double tolerance) {
    for (int i = 0; i < TERM_COUNT; i++)
        if (!(fabs(found->value[i] - expected->value[i]) <= tolerance))
            test_fail(__FILE__, __LINE__, "term %s is %.10g, expected %.10g", loss_term_info[i].name,
                      found->value[i], expected->value[i]);
}

TEST(objective__terms_are_those_of_the_formulas_on_every_device) {
    for (int d = 0; device_kinds[d]; d++)
        for (int i = 0; i < CASES; i++) {
            trainer t = trainer_open(device_kinds[d]->name, &cases[i]),
                    exact = trainer_open("ref", &cases[i]);
            loss_terms expected = terms_by_hand(&exact), without = evaluate(&t, 0), with = evaluate(&t, 1);
            check_terms(&without, &expected,
                        10 * device_tolerance(t.r->l->d) * (1 + fabs(expected.value[TERM_TOTAL])));
            CHECK(memcmp(&without, &with, sizeof with) == 0);
            CHECK(expected.value[TERM_Z] > 0 || !t.o.confine);
            CHECK(strcmp(cases[i].condition, "fixed") != 0 ||
                  (with.value[TERM_Y] == 0 && with.value[TERM_Y_ERROR] == 0));
            trainer_close(&t);
            trainer_close(&exact);
        }
}

TEST(objective__gradient_is_that_of_finite_differences) {
    for (int i = 0; i < CASES; i++) {
        trainer t = trainer_open("ref", &cases[i]);
        flow_rig *r = t.r;
        evaluate(&t, 1);
        double *grad = rig_grad(r), scale = 1;
        for (size_t k = 0; k < r->total; k++) scale = fmax(scale, fabs(grad[k]));
        CHECK(norm_of(grad, r->total) > 0.1);
        rng lot = rng_stream((rng_key){.seed = (uint64_t)i, .purpose = RNG_TEST}, 0);
        for (int k = 0; k < r->flow->params->count; k++) { /* one number of every tensor */
            const param *p = &r->flow->params->items[k];
            size_t at = p->offset + rng_below(&lot, (uint32_t)p->count);
            double slope = slope_at(&r->values[at], objective_loss, &t);
            if (!(fabs(slope - grad[at]) <= 1e-7 * scale))
                test_fail(__FILE__, __LINE__, "%s: gradient of %s[%zu] is %.10g, by finite differences %.10g",
                          cases[i].loss, p->name, at - p->offset, grad[at], slope);
        }
        free(grad);
        trainer_close(&t);
    }
}

TEST(objective__a_gradient_is_added_and_leaves_the_batch_recovered) {
    for (int d = 0; device_kinds[d]; d++)
        for (int i = 0; i < CASES; i++) {
            trainer t = trainer_open(device_kinds[d]->name, &cases[i]);
            flow_rig *r = t.r;
            double tolerance = 10 * device_tolerance(r->l->d), *recovered = new_numbers(t.whole), *grad[3];
            for (int k = 0; k < 3; k++) { /* twice with, once without gradient */
                evaluate(&t, k < 2);
                grad[k] = rig_grad(r);
                double *copy = lab_get(r->l, r->run->copy, t.whole);
                CHECK(memcmp(copy, t.batch, t.whole * sizeof *copy) == 0);
                free(copy);
                flow_run_get(r->run, N, recovered);
                if (k < 2) CHECK_CLOSE(recovered, t.batch, t.whole, tolerance);
                double worst = 0;
                for (size_t j = 0; j < t.whole; j++) worst = fmax(worst, fabs(recovered[j] - t.batch[j]));
                CHECK(loss_drift(r->run, N) == worst && (k < 2) == (worst < 0.01));
            }
            for (size_t k = 0; k < r->total; k++) grad[0][k] *= 2;
            CHECK_CLOSE(grad[1], grad[0], r->total, tolerance);
            CHECK(memcmp(grad[2], grad[1], r->total * sizeof(double)) == 0);
            for (int k = 0; k < 3; k++) free(grad[k]);
            free(recovered);
            trainer_close(&t);
        }
}

TEST(objective__the_recipe_chooses_and_its_numbers_are_read) {
    lab *l = lab_open("ref", 1);
    static const struct {
        const char *keys, *kind;
        double lambda;
        distance_kind distance;
    } wanted[] = {{"", "joint", 100, DISTANCE_L1},
                  {"lambda = 3\ndistance = l2", "joint", 3, DISTANCE_L2},
                  {"objective = plain", "plain", 100, DISTANCE_L1},
                  {"objective = rule\nrule = diamond\nsize = 2.5\nconfine = 0.25", "rule", 100, DISTANCE_L1}};
    for (int i = 0; i < 4; i++) {
        char content[200];
        snprintf(content, sizeof content, "[loss]\n%s\n", wanted[i].keys);
        recipe *r = recipe_of(l->ctx, content);
        objective o;
        CHECK_STATUS(loss_create(l->ctx, &o, r), JF_OK);
        CHECK_TEXT(o.kind->name, wanted[i].kind);
        CHECK(o.lambda == wanted[i].lambda && o.distance == wanted[i].distance);
        if (i == 3) CHECK(o.rule == rule_find("diamond") && o.rule_size == 2.5 && o.confine == 0.25);
        recipe_free(r);
    }
    lab_close(l);
}
