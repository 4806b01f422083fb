/* Training "backwards", from a rule d instead of data:
 *     L = E_z[ lambda d(F^-1(z)) - log|det J_F^-1(z)| ]  =  E_z[ lambda d(x) + logdet ]
 * (logdet is that of data -> latent). The term y is lambda d(x), y_error is d(x), and z is the confinement, which
 * keeps samples of open rules together. Rules are functions on the host: they are two-dimensional and cheap,
 * and a new one is a function and a line in the table. */
#include "loss/loss.h"
#include <math.h>
#include <string.h>

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

const rule rules[] = {
    {"circle", "|x.x - r^2|", circle}, {"diamond", "||x0|+|x1| - r|", diamond}, {"line", "|x0+x1|", line},
    {"cross", "|x0*x1|", cross},       {"parabola", "|x1 - x0^2|", parabola},   {NULL, NULL, NULL},
};

const rule *rule_find(const char *name) {
    for (const rule *r = rules; r->name; r++)
        if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

static jf_status create(objective *o, const recipe *r) {
    o->rule = rule_find(recipe_get(r, "loss.rule"));
    o->rule_size = recipe_real(r, "loss.size");
    o->confine = recipe_real(r, "loss.confine");
    return JF_OK;
}

static void evaluate(const objective *o, flow_run *run, int n, loss_terms *out) {
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
        sum += o->rule->distance(x, o->rule_size, g);
        confined += o->confine * (x[0] * x[0] + x[1] * x[1]) / 2;
        for (int k = 0; k < 2; k++) x[k] = (o->lambda * g[k] + o->confine * x[k]) / n;
    }
    out->value[TERM_Y_ERROR] = sum / n;
    out->value[TERM_Y] = o->lambda * sum / n;
    out->value[TERM_Z] = confined / n;
    loss_terms_total(out);
    if (!run->pass.grad) return;
    d->kind->put(d, run->dstate, run->host, (size_t)n * 2);
    d->kind->fill(d, run->dlogdet, 1.0 / n, (size_t)n);
    flow_inverse_backward(f, &run->pass, n, run->state, run->dstate, run->dlogdet);
}

const objective_kind objective_rule = {
    .name = "rule",
    .summary = "from a rule instead of data",
    .create = create,
    .evaluate = evaluate,
};
