/* Training "backwards", from a rule d instead of data:
 *     L = E_z[ lambda d(F^-1(z)) - log|det J_F^-1(z)| ]  =  E_z[ lambda d(x) + logdet ]
 * (logdet is that of data -> latent). The term y is lambda d(x), y_error is d(x), and z is the confinement, which
 * keeps samples of open rules together. Rules are functions on the host: they are two-dimensional and cheap. */
#include "loss/rule.h"
#include "base/memory.h"
#include "loss/loss.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- distances ---- */

static double sign(double t) {
    return (double)((t > 0) - (t < 0));
}

static double circle(const double x[2], double r, double g[2]) {
    double e = x[0] * x[0] + x[1] * x[1] - r * r;
    g[0] = sign(e) * 2 * x[0];
    g[1] = sign(e) * 2 * x[1];
    return fabs(e);
}
static double diamond(const double x[2], double r, double g[2]) {
    double e = fabs(x[0]) + fabs(x[1]) - r;
    g[0] = sign(e) * sign(x[0]);
    g[1] = sign(e) * sign(x[1]);
    return fabs(e);
}
static double line(const double x[2], double r, double g[2]) {
    (void)r;
    double e = x[0] + x[1];
    g[0] = g[1] = sign(e);
    return fabs(e);
}
static double cross(const double x[2], double r, double g[2]) {
    (void)r;
    double e = x[0] * x[1];
    g[0] = sign(e) * x[1];
    g[1] = sign(e) * x[0];
    return fabs(e);
}
static double parabola(const double x[2], double r, double g[2]) {
    (void)r;
    double e = x[1] - x[0] * x[0];
    g[0] = sign(e) * -2 * x[0];
    g[1] = sign(e);
    return fabs(e);
}

/* ---- exact targets ---- */

/* u = |x|^2 has a density proportional to exp(-lambda |u - r^2|) on u >= 0, and the area element is du dphi/2:
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

/* The points with |x0| + |x1| <= t fill an area of 2 t^2, so t has a density proportional to 4 t exp(-lambda |t - r|).
 * Its integrals, times lambda^2/4:
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

/* ---- the list ---- */

#define RULES(X)                                                                                             \
    X(circle, "|x.x - r^2|", &circle_target)                                                                 \
    X(diamond, "||x0|+|x1| - r|", &diamond_target)                                                           \
    X(line, "|x0+x1|", NULL)                                                                                 \
    X(cross, "|x0*x1|", NULL)                                                                                \
    X(parabola, "|x1 - x0^2|", NULL)

#define X(name, formula, target) {#name, formula, name, target},
const rule rules[] = {RULES(X){0}};
#undef X

const rule *rule_find(const char *name) {
    for (const rule *r = rules; r->name; r++)
        if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

/* ---- the objective ---- */

static const recipe_key keys[] = {
    {"loss", "lambda", KEY_REAL, "100", 0, 1e9, NULL, "Weight of the rule."},
    /* Files from before each objective had keys of its own name this one. */
    {"loss", "distance", KEY_CHOICE, "l1", 0, 0, "l1 l2", "Without effect: there is no y to hold."},
#define X(name, formula, target) " " #name
    {"loss", "rule", KEY_CHOICE, "circle", 0, 0, RULES(X),
#undef X
#define X(name, formula, target) " " #name " " formula ";"
     "The distance from obeying it:" RULES(X) " r is the size."},
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

static void evaluate(const objective *o, flow_run *run, int n, loss_terms *out) {
    const rule_objective *own = o->own;
    const flow *f = run->f;
    device *d = run->pass.d;
    *out = (loss_terms){0};
    d->kind->copy(d, run->copy, run->state, (size_t)n * 2);
    flow_inverse(f, &run->pass, n, run->state, run->logdet);
    out->value[TERM_LOGDET] = loss_mean(run, run->logdet, n);

    flow_run_get(run, n, run->host);
    double sum = 0, confined = 0;
    for (int i = 0; i < n; i++) {
        double *x = run->host + 2 * i, g[2];
        sum += own->rule->distance(x, own->size, g);
        confined += own->confine * (x[0] * x[0] + x[1] * x[1]) / 2;
        for (int k = 0; k < 2; k++) x[k] = (own->lambda * g[k] + own->confine * x[k]) / n;
    }
    out->value[TERM_Y_ERROR] = sum / n;
    out->value[TERM_Y] = own->lambda * sum / n;
    out->value[TERM_Z] = confined / n;
    loss_terms_total(out);
    if (!run->pass.grad) return;
    d->kind->put(d, run->dstate, run->host, (size_t)n * 2);
    d->kind->fill(d, run->dlogdet, 1.0 / n, (size_t)n);
    flow_inverse_backward(f, &run->pass, n, run->state, run->dstate, run->dlogdet);
}

static double energy(const objective *o, const double *x) {
    const rule_objective *own = o->own;
    double g[2];
    return own->lambda * own->rule->distance(x, own->size, g) +
           own->confine * (x[0] * x[0] + x[1] * x[1]) / 2;
}

/* With a confinement none is known. */
static double log_normaliser(const objective *o) {
    const rule_objective *own = o->own;
    if (!own->rule->target || own->confine > 0) return NAN;
    return own->rule->target->log_normaliser(own->size, own->lambda);
}
static const char *radius_name(const objective *o) {
    return ((const rule_objective *)o->own)->rule->target->radius_name;
}
static double radius(const objective *o, const double *x) {
    return ((const rule_objective *)o->own)->rule->target->radius(x);
}
static double quantile_of_radius(const objective *o, double q) {
    const rule_objective *own = o->own;
    return own->rule->target->quantile(q, own->size, own->lambda);
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
