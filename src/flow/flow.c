#include "flow/flow.h"
#include "base/memory.h"
#include "flow/embedded.h"
#include "flow/masks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* " affine shear ...": those of couplings */
#define LAW_EACH(name)    " " #name
#define LAW_ALL(name)     " " #name
#define SHARED_EACH(name) /* for other transforms */
#define SHARED_ALL(name)
#define X(name, form) form(name)
static const char laws_after_spaces[] = LAW_LIST(X);
#undef X

static const recipe_key keys[] = {
    {"model", "condition", KEY_CHOICE, "joint", 0, 0, "joint fixed flow",
     "joint: y is part of the flow (the paper); fixed: y is only an input of every network; flow: y has a "
     "flow of its own, "
     "x is transformed given x and the y of the same depth, and both ends are normal."},
    {"model", "law", KEY_CHOICE, "affine", 0, 0, &laws_after_spaces[1], "Coupling law."},
    {"model", "blocks", KEY_INT, "4", 1, 1000, NULL,
     "Blocks of coupling layers (six layers each for x0, x1, y)."},
    {0},
};

/* Hyperparameters of the laws, each law's under the condition that it is chosen. */
static jf_status declare_laws(recipe *r) {
    for (int i = 0; i < law_count; i++)
        JF_TRY(recipe_declare_choice(r, "model.law", law_name((law_id)i), law_shape_of((law_id)i)->keys));
    return JF_OK;
}

jf_status flow_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    JF_TRY(declare_laws(r));
    JF_TRY(transforms_declare(r));
    JF_TRY(net_declare(r));
    JF_TRY(embed_declare(r));
    return image_declare(r);
}

int flow_chain_dim(const recipe *r, int dim_x, int dim_y) {
    return dim_x + embed_size_of(r, dim_y);
}

const transform_kind *flow_kind_alone(const transform_kind *kind) {
    return kind->nonlinear ? transform_find("actnorm") : kind;
}

/* Transform number i of the chain. */
static jf_status add_transform(flow *f, int i, const transform_kind *kind, transform_spec spec,
                               const recipe *r, const char *prefix, const flow_origin *origin) {
    transform *t = &f->chain[i];
    if (shape_size(spec.source_shape) == 0) kind = flow_kind_alone(kind);
    spec.layer = i;
    spec.seed = origin->seed;
    spec.tables = &f->tables;
    spec.given = origin->tables;
    snprintf(spec.prefix, sizeof spec.prefix, "%slayer.%03d", prefix, i);
    size_t begin = f->params->total;
    JF_TRY(transform_create(f->ctx, t, kind, f->d, &spec, r, f->params));
    t->params_begin = begin;
    t->params_end = f->params->total;
    t->of_y = f->apart && spec_is_y(&spec, spec.target[0]);
    if (!f->params->only_names) return JF_OK;
    transform_free(t, f->d);
    *t = (transform){0};
    return JF_OK;
}

/* Adds to the chain: in every step a transform of each kind that the recipe names. `total`: steps of the
 * whole chain. */
static jf_status build_chain(flow *f, const recipe *r, const char *prefix, const flow_steps *steps, int total,
                             const flow_origin *origin) {
    const transform_kind *kinds[TRANSFORMS_PER_STEP];
    int count;
    JF_TRY(transforms_of_step(r, kinds, &count));
    if (!f->chain) JF_TRY(MEM_NEW(f->ctx, &f->chain, (size_t)total * (size_t)count));
    for (int i = 0; i < steps->count; i++, f->steps++)
        for (int k = 0; k < count; k++)
            JF_TRY(add_transform(f, f->layers++, kinds[k], steps->specs[i], r, prefix, origin));
    return JF_OK;
}

/* The masks of a vector: those of a file, or fresh ones. */
static condition_kind condition_of(const flow *f) {
    return f->fixed ? CONDITION_FIXED : f->apart ? CONDITION_FLOW : CONDITION_JOINT;
}

static jf_status take_masks(flow *f, const recipe *r, const flow_origin *origin, int *steps) {
    int rest = f->chain_dim - f->dim_x;
    size_t count = (size_t)origin->steps * (size_t)f->chain_dim;
    *steps = origin->steps;
    if (!origin->masks)
        return masks_create(f->ctx, &f->masks, steps, f->dim_x, rest, condition_of(f),
                            recipe_int(r, "model.blocks"), origin->seed);
    JF_TRY(masks_check(f->ctx, origin->masks, origin->steps, f->dim_x, rest, condition_of(f)));
    JF_TRY(MEM_NEW(f->ctx, &f->masks, count));
    memcpy(f->masks, origin->masks, count);
    return JF_OK;
}

static jf_status flow_new(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                          layout l, const flow_origin *origin) {
    JF_TRY(MEM_NEW(ctx, out, 1));
    **out = (flow){.ctx = ctx, .d = d, .layout = l, .params = params, .tables = {.ctx = ctx}};
    (*out)->fixed = origin->keep_y || recipe_is(r, "model.condition", "fixed");
    (*out)->apart = !(*out)->fixed && l.channels > l.x_channels && recipe_is(r, "model.condition", "flow");
    (*out)->dim = l.pixels * l.channels;
    (*out)->dim_x = l.pixels * l.x_channels;
    (*out)->dim_y = (*out)->dim - (*out)->dim_x;
    return JF_OK;
}

jf_status flow_create(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                      const char *prefix, int dim_x, int dim_y, const flow_origin *origin) {
    *out = NULL;
    flow *f;
    flow_steps one = {0};
    int count;
    jf_status status;
    JF_TRY(flow_new(ctx, &f, d, r, params, (layout){1, dim_x + dim_y, dim_x}, origin));
    JF_TRY_DONE(embedded_create(f, r, params, prefix));
    JF_TRY_DONE(take_masks(f, r, origin, &count));
    for (int i = 0; i < count; i++) { /* one by one: no maps are made behind a parameter that is refused */
        JF_TRY_DONE(masks_step(ctx, &one, f->masks, i, dim_x, f->chain_dim - dim_x, condition_of(f),
                               f->fixed && !f->embed ? origin->y_read : 0));
        JF_TRY_DONE(build_chain(f, r, prefix, &one, count, origin));
        steps_free(&one);
    }
    *out = f;
    f = NULL;
done:
    steps_free(&one);
    flow_free(f);
    return status;
}

jf_status flow_create_image(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                            const char *prefix, image_size size, const flow_origin *origin) {
    *out = NULL;
    flow *f = NULL;
    flow_steps steps = {0};
    jf_status status;
    JF_TRY(image_check(ctx, size));
    JF_TRY(embedded_check_image(r));
    if (image_is_vector(r, size))
        return flow_create(ctx, out, d, r, params, prefix, size.h * size.w * size.x_channels,
                           size.h * size.w * size.y_channels, origin);
    layout l = {size.h * size.w, size.x_channels + size.y_channels, size.x_channels};
    JF_TRY_DONE(flow_new(ctx, &f, d, r, params, l, origin));
    JF_TRY_DONE(embedded_create(f, r, params, prefix));
    JF_TRY_DONE(image_steps(ctx, &steps, r, size, condition_of(f)));
    JF_TRY_DONE(build_chain(f, r, prefix, &steps, steps.count, origin));
    *out = f;
    f = NULL;
done:
    steps_free(&steps);
    flow_free(f);
    return status;
}

int flow_is_plain(const flow *f) {
    return !f->apart && f->layers == f->steps && f->chain[0].kind == transform_kinds[0];
}

void flow_describe(const flow *f, text *out) {
    if (flow_is_plain(f)) {
        text_add(out, "%d coupling layers", f->layers);
        return;
    }
    if (f->apart) {
        int of_y = 0;
        for (int i = 0; i < f->layers; i++) of_y += f->chain[i].of_y;
        text_add(out, "%d layers of x and %d of y", f->layers - of_y, of_y);
        return;
    }
    int of_a_step = f->layers / f->steps;
    text_add(out, "%d steps of ", f->steps);
    for (int i = 0; i < of_a_step; i++) text_add(out, "%s%s", i ? ", " : "", f->chain[i].kind->name);
}

void flow_free(flow *f) {
    if (!f) return;
    for (int i = 0; f->chain && i < f->layers; i++) transform_free(&f->chain[i], f->d);
    free(f->chain);
    embedded_free(f);
    free(f->masks);
    tables_clear(&f->tables);
    free(f);
}

/* The pass of layer i: with its own place to keep activations. */
static pass pass_of_layer(const pass *p, int i) {
    pass layer = *p;
    layer.saved = p->saved_by_layer ? p->saved_by_layer[i] : NULL;
    return layer;
}

/* Takes the state through all layers. Each adds to the log-determinant of x or, where it transforms y by
 * itself, of y; both may be one array. */
static void run_layers(const flow *f, pass_kind kind, const pass *p, int n, real *state, real *logdet_x,
                       real *logdet_y) {
    p->d->kind->fill(p->d, logdet_x, 0, (size_t)n);
    if (logdet_y != logdet_x) p->d->kind->fill(p->d, logdet_y, 0, (size_t)n);
    inner_state c = embedded_enter(f, p, n, state);
    for (int k = 0; k < f->layers; k++) {
        int i = kind == PASS_FORWARD ? k : f->layers - 1 - k;
        const transform *t = &f->chain[i];
        pass layer = pass_of_layer(&c.pass, i);
        real *logdet = t->of_y ? logdet_y : logdet_x;
        if (kind == PASS_FORWARD)
            t->kind->forward(t, &layer, n, c.state, logdet);
        else
            t->kind->inverse(t, &layer, n, c.state, logdet);
    }
    embedded_leave(f, n, &c, state);
}

void flow_forward(const flow *f, const pass *p, int n, real *state, real *logdet) {
    run_layers(f, PASS_FORWARD, p, n, state, logdet, logdet);
}

void flow_inverse(const flow *f, const pass *p, int n, real *state, real *logdet) {
    run_layers(f, PASS_INVERSE, p, n, state, logdet, logdet);
}

void flow_forward_apart(const flow *f, const pass *p, int n, real *state, real *logdet_x, real *logdet_y) {
    run_layers(f, PASS_FORWARD, p, n, state, logdet_x, logdet_y);
}

void flow_inverse_apart(const flow *f, const pass *p, int n, real *state, real *logdet_x, real *logdet_y) {
    run_layers(f, PASS_INVERSE, p, n, state, logdet_x, logdet_y);
}

void flow_forward_y(const flow *f, const pass *p, int n, real *state, real *logdet_y) {
    p->d->kind->fill(p->d, logdet_y, 0, (size_t)n);
    for (int i = 0; i < f->layers; i++) {
        pass layer = pass_of_layer(p, i);
        if (f->chain[i].of_y) f->chain[i].kind->forward(&f->chain[i], &layer, n, state, logdet_y);
    }
}

void flow_backward(const flow *f, const pass *p, int n, real *state, real *dstate, const real *dlogdet) {
    inner_state c = embedded_enter_back(f, p, n, state, dstate);
    for (int i = f->layers - 1; i >= 0; i--) {
        pass layer = pass_of_layer(&c.pass, i);
        f->chain[i].kind->backward(&f->chain[i], &layer, n, c.state, c.dstate, dlogdet);
    }
    embedded_leave_back(f, n, &c, state, dstate);
}
