/* Maximum likelihood with a Gaussian p_Y' around y, of one stated width in all of its elements:
 *     L = E[ -log p_Z(F_Z(x,y)) - log N(F_Y'(x,y); y, sigma^2) - log|det J_F(x,y)| ]
 *     -log N(y'; y, sigma^2) = sum over y of (y' - y)^2/(2 sigma^2) + log sigma + log(2 pi)/2 */
#include "base/memory.h"
#include "loss/likelihood.h"
#include <math.h>

static const double half_log_2pi = 0.91893853320467274178;

static jf_status create(objective *o, const recipe *r, param_list *params) {
    double *sigma;
    (void)params;
    JF_TRY(MEM_NEW(o->ctx, &sigma, 1));
    *sigma = recipe_real(r, "loss.sigma");
    o->own = sigma;
    return JF_OK;
}

static jf_status limit_masks(const objective *o, const recipe *r, int *keep_y) {
    (void)o;
    if (recipe_is(r, "model.condition", "flow"))
        return recipe_fail(
            r, "model.condition",
            "found flow, expected joint: y' is normal there, and loss.objective = gaussian wants "
            "it around y; flow goes with loss.objective = joint");
    if (!*keep_y) return JF_OK;
    return recipe_fail(
        r, "model.condition",
        "found fixed, expected joint: where no mask moves y, y' is y itself, and a width around it means "
        "nothing to loss.objective = gaussian");
}

static double y_at_best(const objective *o, int dim_y) {
    return dim_y * (log(*(const double *)o->own) + half_log_2pi);
}

static void evaluate(const objective *o, flow_run *run, int n, double weight, scalar *terms) {
    double sigma = *(const double *)o->own;
    y_term y = {
        .distance = DISTANCE_L2, .weight = 1 / (2 * sigma * sigma), .constant = y_at_best(o, run->f->dim_y)};
    likelihood_evaluate(run, n, &y, weight, terms);
}

static const recipe_key keys[] = {
    {"loss", "sigma", KEY_REAL, "0.01", 1e-6, 1e3, NULL,
     "Deviation of y' around y, in the model's units, where y has a deviation of 1."},
    {0},
};

const objective_kind objective_gaussian = {
    .name = "gaussian",
    .keys = keys,
    .from_data = 1,
    .has_condition = 1,
    .about = {[TERM_Y] = "-log p_Y'(F_Y')"},
    .create = create,
    .limit_masks = limit_masks,
    .evaluate = evaluate,
    .y_at_best = y_at_best,
};
