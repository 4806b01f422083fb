#include "flow/flow.h"
#include "base/memory.h"
#include "flow/masks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* " affine shear ..." */
#define X(name, form) " " #name
static const char laws_after_spaces[] = LAW_LIST(X);
#undef X

static const recipe_key keys[] = {
    {"model", "condition", KEY_CHOICE, "joint", 0, 0, "joint fixed",
     "joint: y is part of the flow (the paper); fixed: y is only an input of every network."},
    {"model", "law", KEY_CHOICE, "affine", 0, 0, &laws_after_spaces[1], "Coupling law."},
    {"model", "blocks", KEY_INT, "4", 1, 1000, NULL,
     "Blocks of coupling layers (six layers each for x0, x1, y)."},
    {0},
};

/* Hyperparameters of the laws, each law's under the condition that it is chosen. */
static jf_status declare_laws(recipe *r) {
    for (int i = 0; i < law_count; i++) {
        const recipe_key *law_keys = law_shape_of((law_id)i)->keys;
        char only_if[64];
        snprintf(only_if, sizeof only_if, "model.law=%s", law_name((law_id)i));
        if (law_keys) JF_TRY(recipe_declare(r, law_keys, only_if));
    }
    return JF_OK;
}

static law_config law_of(const recipe *r) {
    law_config law = {.id = (law_id)law_find(recipe_get(r, "model.law"))};
    const recipe_key *key = law_shape_of(law.id)->keys;
    for (int i = 0; key && key->name && i < LAW_MAX_HYPER; i++, key++) {
        char dotted[64];
        snprintf(dotted, sizeof dotted, "%s.%s", key->section, key->name);
        law.hyper[i] = key->type == KEY_INT ? recipe_int(r, dotted) : recipe_real(r, dotted);
    }
    return law;
}

jf_status flow_declare(recipe *r) {
    JF_TRY(recipe_declare(r, keys, NULL));
    JF_TRY(declare_laws(r));
    JF_TRY(net_declare(r));
    return image_declare(r);
}

static jf_status add_coupling(flow *f, const recipe *r, const char *prefix, int layer) {
    int32_t positions[2][4096];
    int count[2] = {0, 0};
    for (int i = 0; i < f->dim; i++) {
        int transformed = f->masks[(size_t)layer * f->dim + i] != 0;
        positions[transformed][count[transformed]++] = i;
    }
    if (!count[0] || !count[1])
        return jf_fail(f->ctx, JF_ERROR_SHAPE, "mask of layer %d keeps %d and transforms %d of %d elements",
                       layer, count[0], count[1], f->dim);
    coupling_spec spec = {.dim = f->dim,
                          .law = law_of(r),
                          .source = positions[0],
                          .target = positions[1],
                          .source_shape = {1, 1, count[0]},
                          .target_shape = {1, 1, count[1]}};
    snprintf(spec.prefix, sizeof spec.prefix, "%slayer.%03d", prefix, layer);
    return coupling_create(f->ctx, &f->chain[layer], f->d, &spec, r, f->params);
}

jf_status flow_create(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                      const char *prefix, int dim_x, int dim_y, const uint8_t *masks, int layers,
                      uint64_t seed) {
    *out = NULL;
    flow *f;
    jf_status status;
    JF_TRY(MEM_NEW(ctx, &f, 1));
    *f = (flow){.ctx = ctx, .d = d, .dim_x = dim_x, .dim_y = dim_y, .dim = dim_x + dim_y, .params = params};
    f->layout = (layout){1, f->dim, dim_x};
    f->fixed = recipe_is(r, "model.condition", "fixed");
    if (masks) {
        JF_TRY_DONE(masks_check(ctx, masks, layers, dim_x, dim_y, f->fixed));
        JF_TRY_DONE(MEM_NEW(ctx, &f->masks, (size_t)layers * (size_t)f->dim));
        memcpy(f->masks, masks, (size_t)layers * (size_t)f->dim);
        f->layers = layers;
    } else {
        JF_TRY_DONE(masks_create(ctx, &f->masks, &f->layers, dim_x, dim_y, f->fixed,
                                 recipe_int(r, "model.blocks"), seed));
    }
    JF_TRY_DONE(MEM_NEW(ctx, &f->chain, (size_t)f->layers));
    for (int i = 0; i < f->layers; i++) JF_TRY_DONE(add_coupling(f, r, prefix, i));
    *out = f;
    return JF_OK;
done:
    flow_free(f);
    return status;
}

jf_status flow_create_image(jf_context *ctx, flow **out, device *d, const recipe *r, param_list *params,
                            const char *prefix, image_size size) {
    *out = NULL;
    flow *f;
    coupling_spec *specs = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(ctx, &f, 1));
    *f = (flow){.ctx = ctx, .d = d, .params = params};
    f->fixed = recipe_is(r, "model.condition", "fixed");
    JF_TRY_DONE(image_specs(ctx, &specs, &f->layers, r, size, f->fixed)); /* checks the sizes, too */
    int pixels = size.h * size.w, channels = size.x_channels + size.y_channels;
    f->dim_x = pixels * size.x_channels;
    f->dim_y = pixels * size.y_channels;
    f->dim = pixels * channels;
    f->layout = (layout){pixels, channels, size.x_channels};
    JF_TRY_DONE(MEM_NEW(ctx, &f->chain, (size_t)f->layers));
    for (int i = 0; i < f->layers; i++) {
        snprintf(specs[i].prefix, sizeof specs[i].prefix, "%slayer.%03d", prefix, i);
        specs[i].law = law_of(r);
        JF_TRY_DONE(coupling_create(ctx, &f->chain[i], d, &specs[i], r, f->params));
    }
    *out = f;
    f = NULL;
done:
    image_specs_free(specs, f ? f->layers : (*out)->layers);
    flow_free(f);
    return status;
}

void flow_free(flow *f) {
    if (!f) return;
    for (int i = 0; f->chain && i < f->layers; i++)
        if (f->chain[i].kind) f->chain[i].kind->free(&f->chain[i], f->d);
    free(f->chain);
    free(f->masks);
    free(f);
}

/* The pass of layer i: with its own place to keep activations. */
static pass pass_of_layer(const pass *p, int i) {
    pass layer = *p;
    layer.kept = p->kept_by_layer ? p->kept_by_layer[i] : NULL;
    return layer;
}

void flow_forward(const flow *f, const pass *p, int n, real *state, real *logdet) {
    p->d->kind->fill(p->d, logdet, 0, (size_t)n);
    for (int i = 0; i < f->layers; i++) {
        pass layer = pass_of_layer(p, i);
        f->chain[i].kind->forward(&f->chain[i], &layer, n, state, logdet);
    }
}

void flow_inverse(const flow *f, const pass *p, int n, real *state, real *logdet) {
    p->d->kind->fill(p->d, logdet, 0, (size_t)n);
    for (int i = f->layers - 1; i >= 0; i--) {
        pass layer = pass_of_layer(p, i);
        f->chain[i].kind->inverse(&f->chain[i], &layer, n, state, logdet);
    }
}

void flow_backward(const flow *f, const pass *p, int n, real *state, real *dstate, const real *dlogdet) {
    for (int i = f->layers - 1; i >= 0; i--) {
        pass layer = pass_of_layer(p, i);
        f->chain[i].kind->backward(&f->chain[i], &layer, n, state, dstate, dlogdet);
    }
}

void flow_inverse_backward(const flow *f, const pass *p, int n, real *state, real *dstate,
                           const real *dlogdet) {
    for (int i = 0; i < f->layers; i++) {
        pass layer = pass_of_layer(p, i);
        f->chain[i].kind->inverse_backward(&f->chain[i], &layer, n, state, dstate, dlogdet);
    }
}
