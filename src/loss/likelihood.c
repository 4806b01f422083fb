/* Maximum likelihood of data:
 *     joint  L = E[ -log p_Z(F_Z(x,y)) + lambda d(F_Y'(x,y), y) - log|det J_F(x,y)| ]
 *     plain  L = E[ -log p_Z(F(x)) - log|det J_F(x)| ]          the same without y elements */
#include "loss/likelihood.h"
#include "base/memory.h"

void likelihood_evaluate(flow_run *run, int n, const y_term *y, loss_terms *out) {
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
        k->distance_term(d, run->term, dstate, run->state, run->copy, n, f->layout, y->distance, y->weight,
                         weight);
        out->value[TERM_Y] = loss_mean(run, run->term, n) + y->constant;
    }
    loss_terms_total(out);
    if (!dstate) return;
    k->fill(d, run->dlogdet, -weight, (size_t)n);
    flow_backward(f, &run->pass, n, run->state, run->dstate, run->dlogdet);
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

static void evaluate(const objective *o, flow_run *run, int n, loss_terms *out) {
    likelihood_evaluate(run, n, o->own, out);
}

static const recipe_key joint_keys[] = {
    {"loss", "lambda", KEY_REAL, "100", 0, 1e9, NULL, "Weight of the distance d(F_Y', y)."},
    {"loss", "distance", KEY_CHOICE, "l1", 0, 0, "l1 l2", "d: sum of absolute differences, or of squares."},
    {0},
};
/* Files from before each objective had keys of its own name these. */
static const recipe_key plain_keys[] = {
    {"loss", "lambda", KEY_REAL, "100", 0, 1e9, NULL, "Without effect: there is no y to hold."},
    {"loss", "distance", KEY_CHOICE, "l1", 0, 0, "l1 l2", "Without effect."},
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
const objective_kind objective_plain = {
    .name = "plain",
    .keys = plain_keys,
    .from_data = 1,
    .evaluate = evaluate,
};
