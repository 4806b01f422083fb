/* Maximum likelihood of data:
 *     joint  L = E[ -log p_Z(F_Z(x,y)) + lambda d(F_Y'(x,y), y) - log|det J_F(x,y)| ]
 *     plain  L = E[ -log p_Z(F(x)) - log|det J_F(x)| ]          the same without y elements */
#include "loss/loss.h"

static void evaluate(const objective *o, flow_run *run, int n, loss_terms *out) {
    const flow *f = run->f;
    device *d = run->pass.d;
    const device_kind *k = d->kind;
    real *dstate = run->pass.grad ? run->dstate : NULL;
    double weight = 1.0 / n;
    *out = (loss_terms){0};

    k->copy(d, run->copy, run->state, (size_t)n * (size_t)f->dim);
    flow_forward(f, &run->pass, n, run->state, run->logdet);
    out->value[TERM_LOGDET] = -loss_mean(run, run->logdet, n);
    k->prior_term(d, run->term, dstate, run->state, n, f->layout, weight);
    out->value[TERM_Z] = loss_mean(run, run->term, n);
    if (f->dim_y) {
        k->distance_term(d, run->term, NULL, run->state, run->copy, n, f->layout, DISTANCE_L1, 1, 0);
        out->value[TERM_Y_ERROR] = loss_mean(run, run->term, n) / f->dim_y;
        k->distance_term(d, run->term, dstate, run->state, run->copy, n, f->layout, o->distance, o->lambda,
                         weight);
        out->value[TERM_Y] = loss_mean(run, run->term, n);
    }
    loss_terms_total(out);
    if (!dstate) return;
    k->fill(d, run->dlogdet, -weight, (size_t)n);
    flow_backward(f, &run->pass, n, run->state, run->dstate, run->dlogdet);
}

const objective_kind objective_joint = {
    .name = "joint",
    .summary = "likelihood of (x, y) with y' = y",
    .from_data = 1,
    .evaluate = evaluate,
};
const objective_kind objective_plain = {
    .name = "plain",
    .summary = "likelihood of x, no condition",
    .from_data = 1,
    .evaluate = evaluate,
};
