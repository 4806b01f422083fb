/* The list of objectives, their common keys, and what they share. */
#include "loss/loss.h"
#include <math.h>
#include <string.h>

extern const objective_kind objective_joint, objective_plain, objective_rule;

const objective_kind *const objective_kinds[] = {&objective_joint, &objective_plain, &objective_rule, NULL};

static const recipe_key keys[] = {
    {"loss", "objective", KEY_CHOICE, "joint", 0, 0, "joint plain rule",
     "joint: likelihood of (x, y) with y' = y; plain: likelihood of x alone; rule: from a rule instead of "
     "data."},
    {"loss", "lambda", KEY_REAL, "100", 0, 1e9, NULL, "Weight of the distance d(F_Y', y), or of the rule."},
    {"loss", "distance", KEY_CHOICE, "l1", 0, 0, "l1 l2", "d: sum of absolute differences, or of squares."},
    {0},
};
static const recipe_key rule_keys[] = {
    {"loss", "rule", KEY_CHOICE, "circle", 0, 0, "circle diamond line cross parabola",
     "circle |x.x - r^2|, diamond ||x0|+|x1| - r|, line |x0+x1|, cross |x0*x1|, parabola |x1 - x0^2|."},
    {"loss", "size", KEY_REAL, "1", 0, 1e3, NULL, "r of the circle and the diamond."},
    {"loss", "confine", KEY_REAL, "0", 0, 1e3, NULL,
     "Adds confine * x.x/2 to the rule: line, cross and parabola have no normalisable density without it."},
    {0},
};

jf_status loss_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    return recipe_declare(r, rule_keys, "loss.objective=rule");
}

jf_status loss_create(jf_context *ctx, objective *out, const recipe *r) {
    *out = (objective){.kind = objective_kinds[0], .ctx = ctx};
    for (int i = 0; objective_kinds[i]; i++)
        if (recipe_is(r, "loss.objective", objective_kinds[i]->name)) out->kind = objective_kinds[i];
    out->lambda = recipe_real(r, "loss.lambda");
    out->distance = recipe_is(r, "loss.distance", "l2") ? DISTANCE_L2 : DISTANCE_L1;
    return out->kind->create ? out->kind->create(out, r) : JF_OK;
}

double loss_mean(flow_run *run, const real *values, int n) {
    run->pass.d->kind->get(run->pass.d, run->host, values, (size_t)n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += run->host[i];
    return sum / n;
}

double loss_drift(flow_run *run, int n) {
    enum { PIECE = 1024 };
    device *d = run->pass.d;
    size_t whole = (size_t)n * (size_t)run->f->dim;
    double worst = 0, batch[PIECE];
    d->kind->get(d, run->host, run->state, whole);
    for (size_t at = 0; at < whole; at += PIECE) {
        size_t count = whole - at < PIECE ? whole - at : PIECE;
        d->kind->get(d, batch, real_at(d, run->copy, at), count);
        for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs(run->host[at + i] - batch[i]));
    }
    return worst;
}
