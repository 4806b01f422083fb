/* Maximum likelihood of (x, y) where y has a flow of its own (model.condition = flow), and both ends are
 * normal:
 *     L = E[ -log p_Z(F_Z(x,y)) - log|det dF_Z/dx|  -  log p_Z(F_Y'(y)) - log|det dF_Y'/dy| ]
 *       = E[ -log p(x|y)                             -  log p(y) ]
 * The Jacobian is triangular, so that both parts are exact. z and logdet are of x, y is all of -log p(y). */
#include "loss/likelihood.h"

static const double half_log_2pi_e = 1.41893853320467274178;

/* Terms of the ends: that of all elements less that of z is that of y'. */
static void add_priors(flow_run *run, int n, real *dstate, double weight, scalar *terms) {
    const flow *f = run->f;
    device *d = run->pass.d;
    const device_kind *k = d->kind;
    layout all = f->layout;
    all.x_channels = all.channels;
    k->prior_term(d, run->term, NULL, run->state, n, f->layout, weight);
    loss_add_term(run, terms, TERM_Z, run->term, n, weight);
    loss_add_term(run, terms, TERM_Y, run->term, n, -weight);
    k->prior_term(d, run->term, dstate, run->state, n, all, weight);
    loss_add_term(run, terms, TERM_Y, run->term, n, weight);
}

static void evaluate(const objective *o, flow_run *run, int n, double weight, scalar *terms) {
    const flow *f = run->f;
    device *d = run->pass.d;
    const device_kind *k = d->kind;
    real *dstate = run->pass.grad ? run->dstate : NULL;
    (void)o;
    k->copy(d, run->copy, run->state, (size_t)n * (size_t)f->dim);
    flow_forward_apart(f, &run->pass, n, run->state, run->logdet, run->term);
    loss_add_term(run, terms, TERM_LOGDET, run->logdet, n, -weight);
    loss_add_term(run, terms, TERM_Y, run->term, n, -weight);
    add_priors(run, n, dstate, weight, terms);
    if (!dstate) return;
    k->fill(d, run->dlogdet, -weight, (size_t)n);
    flow_backward(f, &run->pass, n, run->state, run->dstate, run->dlogdet);
}

/* A Gaussian of mean 0 and deviation 1 for each element of y, which has them. */
static double y_at_best(const objective *o, int dim_y) {
    (void)o;
    return dim_y * half_log_2pi_e;
}

/* What loss.objective = joint becomes; it has the keys of that, which say nothing here. */
const objective_kind objective_condition_flow = {
    .name = "joint",
    .from_data = 1,
    .has_condition = 1,
    .about = {[TERM_Y] = "-log p(y)", [TERM_LOGDET] = "-log|det dF_Z/dx|"},
    .evaluate = evaluate,
    .y_at_best = y_at_best,
};
