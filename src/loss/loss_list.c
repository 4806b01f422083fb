/* The list of objectives, and what they share. */
#include "loss/loss.h"
#include <stdlib.h>

/* Each is an objective_kind objective_NAME in a file of its own. */
#define OBJECTIVES(X)                                                                                        \
    X(joint, "likelihood of (x, y) with y' = y")                                                             \
    X(gaussian, "likelihood of (x, y) with y' around y")                                                     \
    X(plain, "likelihood of x alone")                                                                        \
    X(rule, "from a rule instead of data")

#define X(name, summary) extern const objective_kind objective_##name;
OBJECTIVES(X)
#undef X

#define X(name, summary) &objective_##name,
const objective_kind *const objective_kinds[] = {OBJECTIVES(X) NULL};
#undef X

#define X(name, summary) summary,
static const char *const summaries[] = {OBJECTIVES(X) NULL};
#undef X

static const recipe_key keys[] = {
#define X(name, summary) " " #name
    {"loss", "objective", KEY_CHOICE, "joint", 0, 0, OBJECTIVES(X),
#undef X
#define X(name, summary) " " #name ": " summary "."
     "What is learned." OBJECTIVES(X)},
#undef X
    {0},
};

jf_status loss_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    for (int i = 0; objective_kinds[i]; i++)
        JF_TRY(
            recipe_declare_choice(r, "loss.objective", objective_kinds[i]->name, objective_kinds[i]->keys));
    return JF_OK;
}

const objective_kind *loss_kind(const recipe *r) {
    if (recipe_is(r, "loss.objective", "joint") && recipe_is(r, "model.condition", "flow"))
        return &objective_condition_flow;
    for (int i = 0; objective_kinds[i]; i++)
        if (recipe_is(r, "loss.objective", objective_kinds[i]->name)) return objective_kinds[i];
    return objective_kinds[0];
}

const char *loss_summary(const objective_kind *k) {
    for (int i = 0; objective_kinds[i]; i++)
        if (objective_kinds[i] == k) return summaries[i];
    return k == &objective_condition_flow ? "likelihood of (x, y), exactly" : "";
}

const char *loss_about(const objective_kind *k, term_id term) {
    return k->about[term] ? k->about[term] : loss_term_info[term].about;
}

jf_status loss_create_kind(jf_context *ctx, objective *out, const objective_kind *kind, const recipe *r,
                           device *d, param_list *params) {
    *out = (objective){.kind = kind, .ctx = ctx, .d = d};
    jf_status status = kind->create ? kind->create(out, r, params) : JF_OK;
    if (status != JF_OK) loss_free(out);
    return status;
}

jf_status loss_create(jf_context *ctx, objective *out, const recipe *r, device *d, param_list *params) {
    return loss_create_kind(ctx, out, loss_kind(r), r, d, params);
}

void loss_free(objective *o) {
    if (o->own && o->kind->free) o->kind->free(o);
    free(o->own);
    o->own = NULL;
}

jf_status loss_check_shape(const objective *o, int dim_x, int dim_y) {
    const objective_kind *k = o->kind;
    if (k->dim_x && dim_x != k->dim_x)
        return jf_fail(o->ctx, JF_ERROR_SHAPE, "loss.objective = %s is for %d dimensions, found %d", k->name,
                       k->dim_x, dim_x);
    if (!k->has_condition && dim_y != 0)
        return jf_fail(o->ctx, JF_ERROR_SHAPE, "loss.objective = %s has no condition, found %d elements of y",
                       k->name, dim_y);
    return JF_OK;
}

jf_status loss_limit_masks(const objective *o, const recipe *r, int *keep_y) {
    *keep_y = recipe_is(r, "model.condition", "fixed");
    return o->kind->limit_masks ? o->kind->limit_masks(o, r, keep_y) : JF_OK;
}

double loss_y_at_best(const objective *o, int dim_y) {
    return o->kind->y_at_best ? o->kind->y_at_best(o, dim_y) : 0;
}

void loss_add_term(const flow_run *run, scalar *terms, term_id id, const real *values, int n, double weight) {
    device *d = run->pass.d;
    d->kind->sum_into(d, scalar_at(terms, (size_t)id), values, (size_t)n, weight);
}
