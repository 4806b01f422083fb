/* Maximum likelihood of data:
 *     joint  L = E[ -log p_Z(F_Z(x,y)) + lambda d(F_Y'(x,y), y) - log|det J_F(x,y)| ]
 *     plain  L = E[ -log p_Z(F(x)) - log|det J_F(x)| ]          the same without y elements */
#include "loss/likelihood.h"
#include "base/memory.h"

/* The constant counts as often as there are samples. */
static void add_y_term(flow_run *run, int n, const y_term *y, real *dstate, double weight, scalar *terms) {
    const flow *f = run->f;
    device *d = run->pass.d;
    const device_kind *k = d->kind;
    k->distance_term(d, run->term, NULL, run->state, run->copy, n, f->layout, DISTANCE_L1, 1, 0);
    loss_add_term(run, terms, TERM_Y_ERROR, run->term, n, weight / f->dim_y);
    k->distance_term(d, run->term, dstate, run->state, run->copy, n, f->layout, y->distance, y->weight,
                     weight);
    loss_add_term(run, terms, TERM_Y, run->term, n, weight);
    if (y->constant == 0) return;
    k->fill(d, run->term, 1, (size_t)n);
    loss_add_term(run, terms, TERM_Y, run->term, n, weight * y->constant);
}

void likelihood_evaluate(flow_run *run, int n, const y_term *y, double weight, scalar *terms) {
    const flow *f = run->f;
    device *d = run->pass.d;
    const device_kind *k = d->kind;
    real *dstate = run->pass.grad ? run->dstate : NULL;

    k->copy(d, run->copy, run->state, (size_t)n * (size_t)f->dim);
    flow_forward(f, &run->pass, n, run->state, run->logdet);
    loss_add_term(run, terms, TERM_LOGDET, run->logdet, n, -weight);
    k->prior_term(d, run->term, dstate, run->state, n, f->layout, weight);
    loss_add_term(run, terms, TERM_Z, run->term, n, weight);
    if (f->dim_y) add_y_term(run, n, y, dstate, weight, terms);
    if (!dstate) return;
    k->fill(d, run->dlogdet, -weight, (size_t)n);
    pass back = run->pass;
    back.leave_dy = 1; /* dstate is read by nobody */
    flow_backward(f, &back, n, run->state, run->dstate, run->dlogdet);
}

static jf_status create(objective *o, const recipe *r, param_list *params) {
    y_term *y;
    (void)params;
    JF_TRY(MEM_NEW(o->ctx, &y, 1));
    *y = (y_term){.distance = recipe_is(r, "loss.distance", "l2") ? DISTANCE_L2 : DISTANCE_L1,
                  .weight = recipe_real(r, "loss.lambda")};
    o->own = y;
    return JF_OK;
}

static void evaluate(const objective *o, flow_run *run, int n, double weight, scalar *terms) {
    likelihood_evaluate(run, n, o->own, weight, terms);
}

static const recipe_key joint_keys[] = {
    {"loss", "lambda", KEY_REAL, "100", 0, 1e9, NULL, "Weight of the distance d(F_Y', y)."},
    {"loss", "distance", KEY_CHOICE, "l1", 0, 0, "l1 l2", "d: sum of absolute differences, or of squares."},
    {0},
};

const objective_kind objective_joint = {
    .name = "joint",
    .keys = joint_keys,
    .from_data = 1,
    .has_condition = 1,
    .create = create,
    .evaluate = evaluate,
};

static void evaluate_plain(const objective *o, flow_run *run, int n, double weight, scalar *terms) {
    (void)o;
    likelihood_evaluate(run, n, NULL, weight, terms);
}

const objective_kind objective_plain = {
    .name = "plain",
    .from_data = 1,
    .evaluate = evaluate_plain,
};
