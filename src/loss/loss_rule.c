/* Training from a rule d instead of data. The flow F runs forward from latent points z to x:
 *     L = E_z[ lambda d(F(z)) - log|det J_F(z)| ]  =  E_z[ lambda d(x) - logdet ]
 * The term y is lambda d(x), y_error is d(x), and z is the confinement, which keeps samples of open rules
 * together. The rules themselves are formulas that the devices run (compute/rule). */
#include "loss/loss_rule.h"
#include "base/memory.h"
#include "compute/rule/rule_formulas.h"
#include "loss/loss.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- exact targets ---- */

/* u = |x|^2 has a density proportional to exp(-lambda |u - r^2|) on u >= 0, and the area element is du
 * dphi/2:
 *     Z = pi (2 - exp(-lambda r^2)) / lambda */
static double circle_log_normaliser(double r, double lambda) {
    return log(PI * (2 - exp(-lambda * r * r)) / lambda);
}
static double circle_radius(const double x[2]) {
    return hypot(x[0], x[1]);
}
static double circle_quantile(double q, double r, double lambda) {
    double tail = exp(-lambda * r * r), mass = 2 - tail;
    double below = (1 - tail) / mass; /* share of u < r^2 */
    if (q < below) return sqrt(fmax(r * r + log(q * mass + tail) / lambda, 0));
    return sqrt(r * r - log((1 - q) * mass) / lambda);
}

/* The points with |x0| + |x1| <= t fill an area of 2 t^2, so t has a density proportional to 4 t exp(-lambda
 * |t - r|). Its integrals, times lambda^2/4:
 *     0 to t <= r      (lambda t - 1) exp(-lambda (r - t)) + exp(-lambda r)
 *     t >= r onwards   (lambda t + 1) exp(-lambda (t - r))
 *     all              2 lambda r + exp(-lambda r) */
static double diamond_mass(double r, double lambda) {
    return 2 * lambda * r + exp(-lambda * r);
}
static double diamond_share(double t, double r, double lambda) {
    double mass = diamond_mass(r, lambda);
    if (t < r) return ((lambda * t - 1) * exp(-lambda * (r - t)) + exp(-lambda * r)) / mass;
    return 1 - (lambda * t + 1) * exp(-lambda * (t - r)) / mass;
}
static double diamond_log_normaliser(double r, double lambda) {
    return log(4 * diamond_mass(r, lambda) / (lambda * lambda));
}
static double diamond_radius(const double x[2]) {
    return fabs(x[0]) + fabs(x[1]);
}
static double diamond_quantile(double q, double r, double lambda) {
    double lo = 0, hi = r + 1 / lambda;
    while (diamond_share(hi, r, lambda) < q) hi *= 2;
    for (int i = 0; i < 100; i++) { /* by bisection */
        double t = (lo + hi) / 2;
        if (diamond_share(t, r, lambda) < q)
            lo = t;
        else
            hi = t;
    }
    return lo;
}

static const rule_target circle_target = {"|x|", circle_log_normaliser, circle_radius, circle_quantile},
                         diamond_target = {"|x0|+|x1|", diamond_log_normaliser, diamond_radius,
                                           diamond_quantile};

const rule_target *rule_target_of(const rule *r) {
    static const rule_target *const targets[rule_count] = {
        [rule_circle] = &circle_target, [rule_diamond] = &diamond_target};
    return targets[r->id];
}

/* ---- the list ---- */

#define X(name, formula) {rule_##name, #name, formula, name##_distance},
const rule rules[] = {RULE_LIST(X){0}};
#undef X

const rule *rule_find(const char *name) {
    for (const rule *r = rules; r->name; r++)
        if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

/* ---- the objective ---- */

static const recipe_key keys[] = {
    {"loss", "lambda", KEY_REAL, "100", 0, 1e9, NULL, "Weight of the rule."},
#define X(name, formula) " " #name
    {"loss", "rule", KEY_CHOICE, "circle", 0, 0, RULE_LIST(X),
#undef X
#define X(name, formula) " " #name " " formula ";"
     "The distance from obeying it:" RULE_LIST(X) " r is the size."},
#undef X
    {"loss", "size", KEY_REAL, "1", 0, 1e3, NULL, "r of the circle and the diamond."},
    {"loss", "confine", KEY_REAL, "0", 0, 1e3, NULL,
     "Adds confine * x.x/2 to the rule: line, cross and parabola have no normalisable density without it."},
    {0},
};

typedef struct rule_objective {
    const rule *rule;
    double size, lambda, confine;
} rule_objective;

static jf_status create(objective *o, const recipe *r, param_list *params) {
    rule_objective *own;
    (void)params;
    JF_TRY(MEM_NEW(o->ctx, &own, 1));
    *own = (rule_objective){.rule = rule_find(recipe_get(r, "loss.rule")),
                            .size = recipe_real(r, "loss.size"),
                            .lambda = recipe_real(r, "loss.lambda"),
                            .confine = recipe_real(r, "loss.confine")};
    o->own = own;
    return JF_OK;
}

static void evaluate(const objective *o, flow_run *run, int n, double weight, scalar *terms) {
    const rule_objective *own = o->own;
    rule_id id = own->rule->id;
    rule_energy whole = {id, own->size, own->lambda, own->confine},
                distance = {.rule = id, .size = own->size, .lambda = 1},
                confined = {.rule = id, .size = own->size, .confine = own->confine};
    const flow *f = run->f;
    device *d = run->pass.d;
    const device_kind *k = d->kind;

    k->copy(d, run->copy, run->state, (size_t)n * 2);
    flow_forward(f, &run->pass, n, run->state, run->logdet);
    loss_add_term(run, terms, TERM_LOGDET, run->logdet, n, -weight);
    k->rule_term(d, run->term, NULL, run->state, n, &distance, 0);
    loss_add_term(run, terms, TERM_Y_ERROR, run->term, n, weight);
    loss_add_term(run, terms, TERM_Y, run->term, n, weight * own->lambda);
    k->rule_term(d, run->term, NULL, run->state, n, &confined, 0);
    loss_add_term(run, terms, TERM_Z, run->term, n, weight);
    if (!run->pass.grad) return;
    k->rule_term(d, run->term, run->dstate, run->state, n, &whole, weight);
    k->fill(d, run->dlogdet, -weight, (size_t)n);
    flow_backward(f, &run->pass, n, run->state, run->dstate, run->dlogdet);
}

static double energy(const objective *o, const double *x) {
    const rule_objective *own = o->own;
    double g[2];
    return own->lambda * own->rule->distance(x, own->size, g) +
           own->confine * (x[0] * x[0] + x[1] * x[1]) / 2;
}

static const rule_target *target_of(const objective *o) {
    return rule_target_of(((const rule_objective *)o->own)->rule);
}
/* With a confinement none is known. */
static double log_normaliser(const objective *o) {
    const rule_objective *own = o->own;
    if (!target_of(o) || own->confine > 0) return NAN;
    return target_of(o)->log_normaliser(own->size, own->lambda);
}
static const char *radius_name(const objective *o) {
    return target_of(o)->radius_name;
}
static double radius(const objective *o, const double *x) {
    return target_of(o)->radius(x);
}
static double quantile_of_radius(const objective *o, double q) {
    const rule_objective *own = o->own;
    return target_of(o)->quantile(q, own->size, own->lambda);
}

static const objective_target target = {energy, log_normaliser, radius_name, radius, quantile_of_radius};

const objective_kind objective_rule = {
    .name = "rule",
    .keys = keys,
    .dim_x = 2,
    .about = {[TERM_Z] = "confine x.x/2",
              [TERM_Y] = "lambda d(x)",
              [TERM_LOGDET] = "-log|det J of z -> x|",
              [TERM_Y_ERROR] = "mean d(x)"},
    .create = create,
    .evaluate = evaluate,
    .target = &target,
};
