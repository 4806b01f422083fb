/* Objectives: their values by hand, their gradients against finite differences in double precision. */
#include "compute/compute.h"
#include "flow_fixture.h"
#include "loss/likelihood.h"
#include "loss/loss_rule.h"

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

/* Integrals of exp(-lambda d) over the plane: all of it, and the parts where the radius is below each limit.
 */
static double integrate_target(const rule *r, double size, double lambda, int count, const double *limits,
                               double *below) {
    enum { CELLS = 1600 };
    const double reach = size + 30 / lambda, cell = 2 * reach / CELLS;
    double all = 0;
    for (int j = 0; j < count; j++) below[j] = 0;
    for (int i = 0; i < CELLS * CELLS; i++) { /* on a grid that is turned, so that no edge lies along it */
        double u = (i % CELLS + 0.5) * cell - reach, v = (i / CELLS + 0.5) * cell - reach;
        double x[2] = {cos(0.3) * u + sin(0.3) * v, cos(0.3) * v - sin(0.3) * u}, g[2];
        double p = cell * cell * exp(-lambda * r->distance(x, size, g));
        all += p;
        for (int j = 0; j < count; j++) below[j] += rule_target_of(r)->radius(x) < limits[j] ? p : 0;
    }
    return all;
}

TEST(rules__exact_targets_are_those_of_numeric_integration) {
    enum { SHARES = 5 };
    static const double sizes[] = {0.7, 1, 0}, lambdas[] = {3, 8, 2}; /* so soft that the cut at 0 matters */
    static const double shares[SHARES] = {0.05, 0.25, 0.5, 0.75, 0.95};
    int known = 0;
    for (const rule *r = rules; r->name; r++)
        for (int i = 0; rule_target_of(r) && i < 3; i++, known++) {
            double limits[SHARES], below[SHARES];
            for (int k = 0; k < SHARES; k++)
                limits[k] = rule_target_of(r)->quantile(shares[k], sizes[i], lambdas[i]);
            double all = integrate_target(r, sizes[i], lambdas[i], SHARES, limits, below);
            CHECK_NEAR(rule_target_of(r)->log_normaliser(sizes[i], lambdas[i]), log(all), 2e-4);
            for (int k = 0; k < SHARES; k++) CHECK_NEAR(below[k] / all, shares[k], 2e-3);
        }
    CHECK(known == 2 * 3);
}

TEST(rules__exact_targets_of_sharp_rules_are_finite_and_of_none_are_not) {
    for (const rule *r = rules; r->name; r++) {
        if (!rule_target_of(r)) continue;
        CHECK(isfinite(rule_target_of(r)->log_normaliser(1, 1e6)));
        CHECK_NEAR(rule_target_of(r)->quantile(0.5, 1, 1e6), 1, 1e-5);
        CHECK(rule_target_of(r)->log_normaliser(1, 0) == INFINITY); /* lambda = 0 asks for nothing */
    }
}

/* ---- objectives ---- */

typedef struct objective_case {
    char loss[100]; /* keys of [loss] */
    const char *condition;
    int dim_x, dim_y;
} objective_case;

/* Beside every objective of the list with its defaults. */
static const objective_case variants[] = {
    {"objective = joint\nlambda = 10\ndistance = l1", "joint", 2, 1},
    {"objective = joint\nlambda = 10\ndistance = l2", "joint", 3, 2},
    {"objective = plain", "joint", 5, 0},
    {"objective = rule\nrule = circle\nsize = 1.3\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = diamond\nsize = 1.3\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = line\nconfine = 0.5\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = cross\nconfine = 0.5\nlambda = 7", "joint", 2, 0},
    {"objective = rule\nrule = parabola\nconfine = 0.5\nlambda = 7", "joint", 2, 0},
};
enum { VARIANTS = sizeof variants / sizeof *variants, SHAPES = 3 };

/* Case i: every objective of the list in each of three shapes, then the variants; 0: past the last. */
static int case_at(int i, objective_case *out) {
    int kinds = 0;
    while (objective_kinds[kinds]) kinds++;
    if (i >= SHAPES * kinds + VARIANTS) return 0;
    if (i >= SHAPES * kinds) {
        *out = variants[i - SHAPES * kinds];
        return 1;
    }
    const objective_kind *k = objective_kinds[i / SHAPES];
    int form = i % SHAPES;
    *out = (objective_case){.condition = form == 2 ? "fixed" : "joint",
                            .dim_x = k->dim_x ? k->dim_x : 2 + (form == 1),
                            .dim_y = k->has_condition ? 1 + (form == 1) : 0};
    snprintf(out->loss, sizeof out->loss, "objective = %s", k->name);
    return 1;
}

typedef struct trainer {
    flow_rig *r;
    objective o;
    double *batch; /* (N, dim) */
    size_t whole;
} trainer;

/* 0: the objective refuses the case, since it has a say in the masks. */
static int trainer_open(trainer *t, const char *device_name, const objective_case *c) {
    char content[400];
    snprintf(content, sizeof content,
             "[model]\ncondition = %s\nblocks = 2\ndepth = 2\nwidth = 6\noutput_gain = 0.5\n[loss]\n%s\n",
             c->condition, c->loss);
    *t = (trainer){.r = rig_open(device_name, 2, content, c->dim_x, c->dim_y, NULL, 0, N, 23)};
    CHECK_STATUS(loss_create(t->r->l->ctx, &t->o, t->r->recipe, t->r->l->d, &t->r->params_list), JF_OK);
    CHECK_STATUS(loss_check_shape(&t->o, c->dim_x, c->dim_y), JF_OK);
    t->whole = (size_t)(N * t->r->flow->dim);
    t->batch = draw_normal(t->whole, 1, 24);
    int keep_y;
    return loss_limit_masks(&t->o, t->r->recipe, &keep_y) == JF_OK;
}

static void trainer_close(trainer *t) {
    free(t->batch);
    loss_free(&t->o);
    rig_close(t->r);
}

static loss_terms evaluate(trainer *t, int with_gradient) {
    t->r->run->pass.grad = with_gradient ? t->r->grad : NULL;
    flow_run_put(t->r->run, N, t->batch);
    return evaluate_batch(&t->o, t->r->run, N);
}

static double objective_loss(void *arg) {
    trainer *t = arg;
    rig_upload(t->r);
    return evaluate(t, 0).value[TERM_TOTAL];
}

/* The terms from the flow's outputs, written out once more; NAN: the formula of this objective's term y
 * stands in the golden case alone. */
static loss_terms data_terms_by_hand(trainer *t, const double *state, const double *logdet) {
    const flow *f = t->r->flow;
    const recipe *r = t->r->recipe;
    int joint = recipe_is(r, "loss.objective", "joint"), l1 = recipe_is(r, "loss.distance", "l1");
    loss_terms e = {0};
    for (int s = 0; s < N; s++) {
        const double *v = state + s * f->dim, *y = t->batch + s * f->dim;
        for (int i = 0; i < f->dim_x; i++) e.value[TERM_Z] += (v[i] * v[i] + log(2 * acos(-1))) / 2 / N;
        for (int i = f->dim_x; i < f->dim; i++) {
            double d = v[i] - y[i];
            e.value[TERM_Y] += joint ? recipe_real(r, "loss.lambda") * (l1 ? fabs(d) : d * d) / N : NAN;
            e.value[TERM_Y_ERROR] += fabs(d) / f->dim_y / N;
        }
        e.value[TERM_LOGDET] -= logdet[s] / N;
    }
    return e;
}

static loss_terms rule_terms_by_hand(trainer *t, const double *state, const double *logdet) {
    const recipe *r = t->r->recipe;
    const rule *law = rule_find(recipe_get(r, "loss.rule"));
    loss_terms e = {0};
    for (int s = 0; s < N; s++) {
        const double *v = state + 2 * s;
        double g[2];
        e.value[TERM_Z] += recipe_real(r, "loss.confine") * (v[0] * v[0] + v[1] * v[1]) / 2 / N;
        e.value[TERM_Y_ERROR] += law->distance(v, recipe_real(r, "loss.size"), g) / N;
        e.value[TERM_LOGDET] -= logdet[s] / N;
    }
    e.value[TERM_Y] = recipe_real(r, "loss.lambda") * e.value[TERM_Y_ERROR];
    return e;
}

static loss_terms terms_by_hand(trainer *t) {
    double *state = new_numbers(t->whole), logdet[N];
    memcpy(state, t->batch, t->whole * sizeof *state);
    rig_forward(t->r, N, state, logdet);
    loss_terms e = (t->o.kind->from_data ? data_terms_by_hand : rule_terms_by_hand)(t, state, logdet);
    e.value[TERM_TOTAL] = e.value[TERM_Z] + e.value[TERM_Y] + e.value[TERM_LOGDET];
    free(state);
    return e;
}

static void check_terms(const loss_terms *found, const loss_terms *expected, double tolerance) {
    double sum = 0;
    for (int i = 0; i < TERM_COUNT; i++) {
        if (loss_term_info[i].role == TERM_IS_PART) sum += found->value[i];
        if (!isfinite(found->value[i]) || fabs(found->value[i] - expected->value[i]) > tolerance)
            test_fail(__FILE__, __LINE__, "term %s is %.10g, expected %.10g", loss_term_info[i].name,
                      found->value[i], expected->value[i]);
    }
    CHECK_NEAR(found->value[TERM_TOTAL], sum, tolerance);
}

TEST(objective__terms_are_those_of_the_formulas_on_every_device) {
    objective_case c;
    FOR_EACH_DEVICE (d)
        for (int i = 0; case_at(i, &c); i++) {
            trainer t, exact;
            int open = trainer_open(&t, device_kinds[d]->name, &c) + trainer_open(&exact, "ref", &c) == 2;
            if (open) {
                loss_terms expected = terms_by_hand(&exact), without = evaluate(&t, 0),
                           with = evaluate(&t, 1);
                double size = fabs(with.value[TERM_TOTAL]);
                check_terms(&without, &expected, 10 * device_tolerance(t.r->l->d) * (1 + size));
                CHECK(memcmp(&without, &with, sizeof with) == 0);
                CHECK(expected.value[TERM_Z] > 0 || !(recipe_real(t.r->recipe, "loss.confine") > 0));
                CHECK(strcmp(c.condition, "fixed") != 0 ||
                      (with.value[TERM_Y_ERROR] == 0 || !t.o.kind->from_data));
            }
            trainer_close(&t);
            trainer_close(&exact);
        }
}

TEST(objective__gradient_is_that_of_finite_differences) {
    objective_case c;
    for (int i = 0; case_at(i, &c); i++) {
        trainer t;
        int open = trainer_open(&t, "ref", &c);
        flow_rig *r = t.r;
        if (open) evaluate(&t, 1);
        double *grad = rig_grad(r), scale = 1;
        for (size_t k = 0; k < r->total; k++) scale = fmax(scale, fabs(grad[k]));
        CHECK(!open || norm_of(grad, r->total) > 0.1);
        rng lot = rng_stream((rng_key){.seed = (uint64_t)i, .purpose = RNG_TEST}, 0);
        for (int k = 0; open && k < r->flow->params->count; k++) { /* one number of every tensor */
            const param *p = &r->flow->params->items[k];
            size_t at = p->offset + rng_below(&lot, (uint32_t)p->count);
            double slope = slope_at(&r->values[at], objective_loss, &t);
            if (!(fabs(slope - grad[at]) <= 1e-7 * scale))
                test_fail(__FILE__, __LINE__, "%s: gradient of %s[%zu] is %.10g, by finite differences %.10g",
                          c.loss, p->name, at - p->offset, grad[at], slope);
        }
        free(grad);
        trainer_close(&t);
    }
}

static void check_recovery(trainer *t) {
    flow_rig *r = t->r;
    double tolerance = 10 * device_tolerance(r->l->d), *recovered = new_numbers(t->whole), *grad[3];
    for (int k = 0; k < 3; k++) { /* twice with, once without gradient */
        evaluate(t, k < 2);
        grad[k] = rig_grad(r);
        double *copy = lab_get(r->l, r->run->copy, t->whole);
        CHECK(memcmp(copy, t->batch, t->whole * sizeof *copy) == 0);
        free(copy);
        flow_run_get(r->run, N, recovered);
        if (k < 2) CHECK_CLOSE(recovered, t->batch, t->whole, tolerance);
        double worst = 0;
        for (size_t j = 0; j < t->whole; j++) worst = fmax(worst, fabs(recovered[j] - t->batch[j]));
        CHECK(largest_difference(r->l->d, r->run->state, r->run->copy, t->whole) == worst);
        CHECK((k < 2) == (worst < 0.01));
    }
    for (size_t k = 0; k < r->total; k++) grad[0][k] *= 2;
    CHECK_CLOSE(grad[1], grad[0], r->total, tolerance);
    CHECK(memcmp(grad[2], grad[1], r->total * sizeof(double)) == 0);
    for (int k = 0; k < 3; k++) free(grad[k]);
    free(recovered);
}

TEST(objective__a_gradient_is_added_and_leaves_the_batch_recovered) {
    objective_case c;
    FOR_EACH_DEVICE (d)
        for (int i = 0; case_at(i, &c); i++) {
            trainer t;
            if (trainer_open(&t, device_kinds[d]->name, &c)) check_recovery(&t);
            trainer_close(&t);
        }
}

TEST(objective__without_a_gradient_the_batch_becomes_what_the_flow_makes_of_it) {
    objective_case c;
    FOR_EACH_DEVICE (d)
        for (int i = 0; case_at(i, &c); i++) {
            trainer t;
            if (trainer_open(&t, device_kinds[d]->name, &c)) {
                double *expected = new_numbers(t.whole), *found = new_numbers(t.whole), logdet[N], *logdets;
                memcpy(expected, t.batch, t.whole * sizeof *expected);
                rig_forward(t.r, N, expected, logdet);
                evaluate(&t, 0);
                flow_run_get(t.r->run, N, found);
                logdets = lab_get(t.r->l, t.r->run->logdet, N);
                CHECK(memcmp(found, expected, t.whole * sizeof *found) == 0);
                CHECK(memcmp(logdets, logdet, sizeof logdet) == 0);
                free(expected), free(found), free(logdets);
            }
            trainer_close(&t);
        }
}

TEST(objective__every_kind_of_the_list_is_chosen_by_its_name_and_says_what_it_is) {
    lab *l = lab_open("ref", 1);
    for (int i = 0; objective_kinds[i]; i++) {
        const objective_kind *k = objective_kinds[i];
        char content[100];
        snprintf(content, sizeof content, "[loss]\nobjective = %s\n", k->name);
        recipe *r = recipe_of(l->ctx, content);
        text docs = {0};
        recipe_write(r, &docs, 1);
        CHECK(loss_kind(r) == k);
        CHECK_HAS(docs.chars, k->name);
        CHECK(strlen(loss_summary(k)) > 0);
        CHECK(k->from_data || k->dim_x > 0); /* data would tell the size */
        text_free(&docs);
        recipe_free(r);
    }
    recipe *r = recipe_of(l->ctx, "[loss]\n");
    CHECK_TEXT(loss_kind(r)->name, "joint");
    recipe_free(r);
    lab_close(l);
}

/* A key of one objective does not go unnoticed in another's recipe. */
TEST(objective__keys_belong_to_the_objective_that_reads_them) {
    static const struct {
        const char *loss;
        jf_status status;
    } tried[] = {{"lambda = 3\ndistance = l2", JF_OK},
                 {"objective = plain", JF_OK},
                 {"objective = rule\nrule = diamond\nsize = 2.5\nlambda = 3", JF_OK},
                 {"objective = plain\nlambda = 3", JF_ERROR_RECIPE},
                 {"objective = rule\ndistance = l2", JF_ERROR_RECIPE},
                 {"rule = circle", JF_ERROR_RECIPE},
                 {"objective = plain\nconfine = 1", JF_ERROR_RECIPE},
                 {"objective = rule\nrule = square", JF_ERROR_RECIPE}};
    jf_context *ctx;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        char content[200];
        recipe *r = NULL;
        snprintf(content, sizeof content, "[loss]\n%s\n", tried[i].loss);
        CHECK_STATUS(recipe_parse(ctx, &r, content, "test.recipe"), JF_OK);
        CHECK_STATUS(loss_declare(r), JF_OK);
        CHECK_STATUS(recipe_check(r), tried[i].status);
        recipe_free(r);
    }
    jf_context_free(ctx);
}

/* ---- what an objective may own ---- */

/* Beside the likelihood of x it pulls a parameter of its own to the number in a buffer of its own:
 * (c - goal)^2/2. */
typedef struct owner {
    size_t c; /* offset of the parameter */
    real *goal;
} owner;
static int freed;

static jf_status owner_create(objective *o, const recipe *r, param_list *params) {
    owner *own = calloc(1, sizeof *own);
    const double goal = 3;
    (void)r;
    CHECK(own != NULL);
    o->own = own;
    JF_TRY(o->d->kind->alloc(o->d, &own->goal, 1));
    o->d->kind->put(o->d, own->goal, &goal, 1);
    return params_add(params, &own->c, "loss.c", 0, NULL, INIT_CONSTANT, 1.5);
}

static void owner_free(objective *o) {
    owner *own = o->own;
    if (own->goal) o->d->kind->release(o->d, own->goal);
    freed++;
}

static void owner_evaluate(const objective *o, flow_run *run, int n, double share, scalar *terms) {
    const owner *own = o->own;
    device *d = run->pass.d;
    double c, goal, g, y;
    likelihood_evaluate(run, n, NULL, share, terms);
    d->kind->get(d, &c, real_at(d, (real *)run->pass.params, own->c), 1);
    d->kind->get(d, &goal, own->goal, 1);
    d->kind->get_scalars(d, &y, scalar_at(terms, TERM_Y), 1);
    y += n * share * (c - goal) * (c - goal) / 2;
    d->kind->put_scalars(d, scalar_at(terms, TERM_Y), &y, 1);
    if (!run->pass.grad) return;
    d->kind->get(d, &g, real_at(d, run->pass.grad, own->c), 1);
    g += n * share * (c - goal);
    d->kind->put(d, real_at(d, run->pass.grad, own->c), &g, 1);
}

static const objective_kind owner_kind = {
    .name = "owner", .from_data = 1, .create = owner_create, .free = owner_free, .evaluate = owner_evaluate};

TEST(objective__may_own_parameters_and_buffers) {
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, "[model]\nblocks = 1\ndepth = 1\nwidth = 4\n[loss]\nobjective = plain\n");
    param_list params = {.ctx = l->ctx};
    objective o;
    flow *f = NULL;
    flow_run *run = NULL;
    CHECK_STATUS(loss_create_kind(l->ctx, &o, &owner_kind, r, l->d, &params), JF_OK);
    CHECK_STATUS(flow_create(l->ctx, &f, l->d, r, &params, "", 2, 0, &(flow_origin){.seed = 1}), JF_OK);
    double *values = new_numbers(params.total), *batch = draw_normal(2 * N, 1, 24);
    CHECK_STATUS(params_initialise(&params, 1, values), JF_OK);
    real *flat = lab_put(l, values, params.total), *grad = lab_fill(l, 0, params.total);
    CHECK_STATUS(flow_run_create(&run, f, flat, grad, N, (run_use){.backward = 1}), JF_OK);
    flow_run_put(run, N, batch);
    loss_terms terms = evaluate_batch(&o, run, N);
    double *g = lab_get(l, grad, params.total);
    CHECK_TEXT(params.items[0].name, "loss.c");
    CHECK(values[params.items[0].offset] == 1.5);
    CHECK_NEAR(terms.value[TERM_Y], 1.125, 1e-15);
    CHECK_NEAR(g[params.items[0].offset], -1.5, 1e-15);
    CHECK(norm_of(g, params.total) > 1.6); /* the flow has its gradient, too */
    free(values), free(batch), free(g);
    flow_run_free(run);
    flow_free(f);
    loss_free(&o);
    CHECK(freed == 1 && o.own == NULL);
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}

static jf_status want_y_kept(const objective *o, const recipe *r, int *keep_y) {
    (void)o, (void)r;
    *keep_y = 1;
    return JF_OK;
}

TEST(objective__may_keep_y_out_of_all_masks) {
    static const objective_kind keeper = {.name = "keeper", .from_data = 1, .limit_masks = want_y_kept};
    enum { DIM_X = 2, DIM_Y = 1, DIM = DIM_X + DIM_Y };
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, "[model]\ncondition = joint\nblocks = 2\ndepth = 1\nwidth = 4\n");
    objective with = {.kind = &keeper}, without = {.kind = objective_kinds[0]};
    const objective *both[] = {&with, &without};
    for (int k = 0; k < 2; k++) {
        flow_origin origin = {.seed = 1};
        param_list params = {.ctx = l->ctx};
        flow *f = NULL;
        int moved = 0;
        CHECK_STATUS(loss_limit_masks(both[k], r, &origin.keep_y), JF_OK);
        CHECK_STATUS(flow_create(l->ctx, &f, l->d, r, &params, "", DIM_X, DIM_Y, &origin), JF_OK);
        for (int i = 0; i < f->steps; i++) moved += f->masks[i * DIM + DIM_X];
        CHECK(f->fixed == (k == 0) && (moved == 0) == (k == 0));
        flow_free(f);
        params_free(&params);
        recipe *images =
            recipe_of(l->ctx, "[model]\nnet = resnext\nkernels = 4\ncardinality = 2\nblocks = 1\n");
        params = (param_list){.ctx = l->ctx};
        CHECK_STATUS(
            flow_create_image(l->ctx, &f, l->d, images, &params, "", (image_size){8, 8, 1, 1}, &origin),
            JF_OK);
        CHECK(f->fixed == (k == 0));
        flow_free(f);
        params_free(&params);
        recipe_free(images);
    }
    recipe_free(r);
    lab_close(l);
}
