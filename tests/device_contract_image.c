/* The contract of devices, continued: convolutions and layer norms, and the optional whole coupling of image
 * networks. */
#include "device_contract.h"

typedef struct conv_case {
    conv_shape s;
    int n;
} conv_case;

static void run_conv(trial *t, const void *sizes) {
    const conv_case *z = sizes;
    const device_kind *k = t->l->d->kind;
    const conv_shape *s = &z->s;
    size_t pixels = (size_t)z->n * (size_t)(s->h * s->w), xs = pixels * (size_t)s->in, bs = (size_t)s->out;
    size_t ys = pixels * (size_t)s->y_channels,
           ws = (size_t)(s->kernel * s->kernel * (s->in / s->groups)) * bs;
    double *x = draw_normal(xs, 1, 21), *w = draw_normal(ws, 0.3, 22), *bias = draw_normal(bs, 0.3, 23);
    double *g = draw_normal(ys, 1, 24), *before = draw_normal(ys, 1, 25);
    real *rx = lab_put(t->l, x, xs), *rw = lab_put(t->l, w, ws), *rb = lab_put(t->l, bias, bs);
    real *y = lab_put(t->l, before, ys), *dy = lab_put(t->l, g, ys);
    real *dx = begun(t, xs), *dx_only = begun(t, xs), *dw = begun(t, ws), *db = begun(t, bs);
    k->conv_forward(t->l->d, s, z->n, y, rx, rw, rb);
    k->conv_backward(t->l->d, s, z->n, dx, dw, db, dy, rx, rw);
    k->conv_backward(t->l->d, s, z->n, dx_only, NULL, NULL, dy, rx, rw);
    take(t, "conv_forward y", OVERWRITES, y,
         ys); /* channels of other branches stay as they were, on both devices */
    take(t, "conv_backward dx", ADDS, dx, xs);
    take(t, "conv_backward dx alone", ADDS, dx_only, xs);
    take(t, "conv_backward dw", ADDS, dw, ws);
    take(t, "conv_backward db", ADDS, db, bs);
    free(x), free(w), free(bias), free(g), free(before);
}

void check_convolution(const bench *b) {
    static const conv_shape shapes[] = {
        {4, 4, 3, 5, 1, 1, 1, 5, 0},     {4, 6, 4, 8, 3, 1, 4, 8, 0}, {7, 7, 8, 4, 3, 2, 2, 14, 8},
        {14, 14, 2, 16, 3, 1, 1, 16, 0}, {9, 5, 8, 2, 3, 4, 1, 3, 1}, {2, 2, 6, 6, 3, 2, 3, 6, 0},
    };
    static const int samples[] = {1, 3, 8, 9, 20};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t j = 0; j < sizeof samples / sizeof *samples; j++) {
            conv_case z = {shapes[i], samples[j]};
            char what[96];
            snprintf(what, sizeof what, "convolution %zu of %d samples", i, z.n);
            compare(b, run_conv, &z, what);
        }
}

typedef struct norm_case {
    norm_shape s;
    int n;
} norm_case;

static void run_norm(trial *t, const void *sizes) {
    const norm_case *z = sizes;
    const device_kind *k = t->l->d->kind;
    const norm_shape *s = &z->s;
    size_t count = (size_t)(s->pixels * s->channels), xs = (size_t)z->n * count;
    size_t gs = s->per_element ? count : (size_t)s->channels;
    double *x = draw_normal(xs, 1, 31), *g = draw_normal(gs, 1, 32), *bias = draw_normal(gs, 0.3, 33);
    double *dy = draw_normal(xs, 1, 34);
    real *rx = lab_put(t->l, x, xs), *rg = lab_put(t->l, g, gs), *rb = lab_put(t->l, bias, gs);
    real *rdy = lab_put(t->l, dy, xs), *y = poison(t, xs), *dx = poison(t, xs), *dx_only = poison(t, xs);
    real *dg = begun(t, gs), *db = begun(t, gs);
    k->norm_forward(t->l->d, s, z->n, y, rx, rg, rb);
    k->norm_backward(t->l->d, s, z->n, dx, dg, db, rdy, rx, rg);
    k->norm_backward(t->l->d, s, z->n, dx_only, NULL, NULL, rdy, rx, rg);
    take(t, "norm_forward y", OVERWRITES, y, xs);
    take(t, "norm_backward dx", OVERWRITES, dx, xs);
    take(t, "norm_backward dx alone", OVERWRITES, dx_only, xs);
    take(t, "norm_backward dg", ADDS, dg, gs);
    take(t, "norm_backward db", ADDS, db, gs);
    free(x), free(g), free(bias), free(dy);
}

void check_norm(const bench *b) {
    static const int samples[] = {1, 7, 8, 17};
    for (int per_element = 0; per_element < 2; per_element++)
        for (size_t j = 0; j < sizeof samples / sizeof *samples; j++)
            for (int channels = 1; channels < 20; channels += 6) {
                norm_case z = {{1 + 5 * channels, channels, per_element, channels % 4 == 3 ? 1 : 0.3, 1e-3},
                               samples[j]};
                char what[96];
                snprintf(what, sizeof what, "norm of %d samples, %d channels", z.n, channels);
                compare(b, run_norm, &z, what);
            }
}

/* ---- coupling of image networks ---- */

/* A coupling layer as a recipe makes it: the reference composes it of convolutions and norms. */
typedef struct layer_case {
    shape source, target;
    int n, kernels, cardinality, residual;
    const char *norm;
    double slope;
    law_id law;
    double lift; /* of all that norms see: a large mean, from which the deviation must be told apart */
} layer_case;

typedef struct layer {
    trial *t;
    const layer_case *z;
    transform transform;
    param_list list;
    double *params, *state, *dstate, *dlogdet; /* in host memory */
    size_t n, whole;
    pass pass;
} layer;

static void draw_layer_params(layer *y) {
    double *noise = draw_normal(y->list.total, 0.2, 71);
    y->params = new_numbers(y->list.total);
    CHECK_STATUS(params_initialise(&y->list, 72, y->params), JF_OK);
    for (int i = 0; i < y->list.count; i++)
        for (size_t k = y->list.items[i].offset; k < y->list.items[i].offset + y->list.items[i].count; k++) {
            double lift = strstr(y->list.items[i].name, ".in.b") ? y->z->lift : 0;
            double more = y->list.items[i].init == INIT_CONSTANT ? noise[k] + lift : 0;
            y->params[k] = as_float(y->params[k] + more);
        }
    free(noise);
}

/* Source and target elements lie interleaved, in an order of their own. */
static void layer_open(layer *y, trial *t, const layer_case *z) {
    *y = (layer){.t = t, .z = z, .list = {.ctx = t->l->ctx}};
    int k = shape_size(z->source), m = shape_size(z->target);
    int *order = calloc((size_t)(k + m), sizeof *order);
    int32_t *maps = calloc((size_t)(k + m), sizeof *maps);
    CHECK(order && maps);
    for (int i = 0; i < k + m; i++) order[i] = i;
    rng r = rng_stream((rng_key){.seed = (uint64_t)(k * 1000 + m), .purpose = RNG_TEST}, 0);
    rng_shuffle(&r, order, k + m);
    for (int i = 0; i < k + m; i++) maps[i] = order[i];
    char content[240];
    snprintf(content, sizeof content,
             "[model]\nnet = resnext\nkernels = %d\ncardinality = %d\nresidual = %d\nnorm = %s\nslope = %g\n"
             "gain = 0.7\nlaw = %s\n",
             z->kernels, z->cardinality, z->residual, z->norm, z->slope, law_name(z->law));
    recipe *recipe_of_layer = recipe_of(t->l->ctx, content);
    transform_spec spec = {.dim = k + m,
                           .source = maps,
                           .target = maps + k,
                           .source_shape = z->source,
                           .target_shape = z->target,
                           .prefix = "layer"};
    if (transform_create(t->l->ctx, &y->transform, transform_find("coupling"), t->l->d, &spec,
                         recipe_of_layer, &y->list) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", content, jf_context_error(t->l->ctx));
    recipe_free(recipe_of_layer);
    free(order), free(maps);
    draw_layer_params(y);
    y->n = (size_t)z->n;
    y->whole = y->n * (size_t)(k + m);
    y->state = draw_normal(y->whole, 1, 73);
    y->dstate = draw_normal(y->whole, 1, 74);
    y->dlogdet = draw_normal(y->n, 1, 75);
    y->pass = (pass){.d = t->l->d,
                     .params = lab_put(t->l, y->params, y->list.total),
                     .work = lab_fill(t->l, NAN, /* scratch may hold anything */
                                      transform_workspace(&y->transform, t->l->d, z->n,
                                                          (layer_use){.backward = 1, .gradients = 1}) +
                                          1)};
}

static void layer_close(layer *y) {
    transform_free(&y->transform, y->t->l->d);
    params_free(&y->list);
    free(y->params), free(y->state), free(y->dstate), free(y->dlogdet);
}

/* One backward pass on the case's state; returns dstate. */
static real *layer_backward(layer *y, real *grad, real *kept, const char *state_name) {
    lab *l = y->t->l;
    real *state = lab_put(l, y->state, y->whole), *dstate = lab_put(l, y->dstate, y->whole);
    y->pass.grad = grad;
    y->pass.saved = kept;
    y->transform.kind->backward(&y->transform, &y->pass, y->z->n, state, dstate,
                                lab_put(l, y->dlogdet, y->n));
    if (state_name) take(y->t, state_name, OVERWRITES, state, y->whole);
    return dstate;
}

static void check_bits(lab *l, const real *a, const real *b, size_t count) {
    double *x = lab_get(l, a, count), *y = lab_get(l, b, count);
    CHECK(memcmp(x, y, count * sizeof *x) == 0);
    free(x), free(y);
}

/* Leaves in *kept what the forward pass kept; NULL: nothing. */
static void run_passes(layer *y, size_t saved_count, real **kept) {
    static const char *const names[2][2] = {{"state of forward", "logdet of forward"},
                                            {"state of inverse", "logdet of inverse"}};
    const transform_kind *kind = y->transform.kind;
    trial *t = y->t;
    *kept = NULL;
    for (int inverse = 0; inverse < 2; inverse++) {
        real *state = lab_put(t->l, y->state, y->whole), *logdet = begun(t, y->n);
        y->pass.saved = saved_count ? poison(t, saved_count) : NULL;
        if (!inverse) *kept = y->pass.saved;
        (inverse ? kind->inverse : kind->forward)(&y->transform, &y->pass, y->z->n, state, logdet);
        take(t, names[inverse][0], OVERWRITES, state, y->whole);
        take(t, names[inverse][1], ADDS, logdet, y->n);
    }
}

/* The source elements, hence the activations, are those of the forward pass; they serve more than once. */
static void run_image_coupling(trial *t, const void *sizes) {
    layer y;
    real *kept;
    layer_open(&y, t, sizes);
    size_t total = y.list.total;
    run_passes(&y, y.transform.kind->saved(&y.transform, t->l->d, y.z->n, PRECISION_FP32), &kept);
    real *grad = begun(t, total), *dstate = layer_backward(&y, grad, NULL, "state of backward");
    take(t, "dstate of backward", OVERWRITES, dstate, y.whole);
    take(t, "grad of backward", ADDS, grad, total);
    check_bits(t->l, dstate, layer_backward(&y, NULL, NULL, NULL), y.whole);
    for (int again = 0; kept && again < 2; again++) {
        real *grad_of_kept = begun(t, total);
        check_bits(t->l, dstate, layer_backward(&y, grad_of_kept, kept, NULL), y.whole);
        check_bits(t->l, grad, grad_of_kept, total);
    }
    layer_close(&y);
}

/* Channels that fill vectors and such that do not; one to three branches; groups of one channel and of many.
 * Only small cases have a kink in their activation: among many units one would be so near to it that rounding
 * decides. */
void check_image_coupling(const bench *b) {
    if (!b->tested->d->kind->plan_open) return;
    static const layer_case cases[] = {
        {{28, 28, 1}, {28, 28, 1}, 1, 64, 8, 1, "element", 1, law_affine, 0}, /* the paper's channelwise layer
                                                                               */
        {{14, 14, 4}, {14, 14, 4}, 3, 32, 8, 2, "element", 1, law_affine, 0}, /* and its checkerboard */
        {{7, 7, 2}, {7, 7, 2}, 9, 32, 4, 1, "element", 1, law_affine, 30},
        {{16, 15, 1}, {16, 15, 2}, 5, 32, 4, 1, "channel", 1, law_affine, 0},
        {{6, 5, 3}, {6, 5, 2}, 8, 16, 2, 2, "channel", 0.3, law_affine, 0},
        {{11, 13, 2}, {11, 13, 3}, 2, 12, 2, 1, "element", 0.5, law_affine, 0},
        {{10, 10, 5}, {10, 10, 7}, 3, 18, 6, 1, "channel", 1, law_affine, 0},
        {{20, 19, 1}, {20, 19, 2}, 2, 8, 8, 1, "element", 1, law_affine, 0},
        {{3, 2, 17}, {3, 2, 9}, 20, 1, 1, 1, "element", 0.3, law_affine, 0},
        {{4, 40, 2}, {4, 40, 1}, 2, 100, 5, 1, "channel", 1, law_affine, 0},
        {{1, 1, 1}, {1, 1, 1}, 11, 4, 2, 3, "element", 0.3, law_affine, 0},
        {{1, 1, 6}, {1, 1, 33}, 5, 6, 1, 1, "channel", 0.3, law_affine, 0},
        {{6, 5, 3}, {6, 5, 2}, 6, 16, 2, 2, "element", 0.3, law_additive, 0}, /* one network alone */
        /* larger than what one block of threads has room for; bands of different heights */
        {{32, 32, 1}, {32, 32, 1}, 2, 16, 4, 1, "element", 0.3, law_affine, 0},
        {{29, 28, 1}, {29, 28, 1}, 3, 32, 4, 2, "channel", 0.3, law_affine, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        layer_case one = cases[i];
        const layer_case *z = &one;
        char what[112];
        /* of large cases one sample, and no second run for its bits */
        int size = z->source.h * z->source.w * z->kernels;
        if (EMULATED && size > 7000) {
            if (b->tolerance == 0 || size > 20000) continue; /* the largest take minutes */
            one.n = 1;
        }
        snprintf(what, sizeof what, "coupling of images %d x %d, %d to %d channels, K %d in %d groups, n %d",
                 z->source.h, z->source.w, z->source.c, z->target.c, z->kernels, z->cardinality, z->n);
        compare(b, run_image_coupling, z, what);
    }
}
