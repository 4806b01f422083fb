/* The contract of devices, continued: dense layers, and the optional whole coupling of dense networks. */
#include "compute/dense_net.h"
#include "device_contract.h"

#define MAX_LAYER 66
#define MAX_WIDTH 128
#define GAP       3 /* numbers between the layers of a network: parameters that are not theirs */

/* ---- dense layer ---- */

typedef struct layer_sizes {
    int n, in, out;
    double slope;
} layer_sizes;

static void run_layer(trial *t, const void *sizes) {
    const layer_sizes *z = sizes;
    const device_kind *k = t->l->d->kind;
    size_t xs = (size_t)z->n * (size_t)z->in, ys = (size_t)z->n * (size_t)z->out,
           ws = (size_t)z->in * (size_t)z->out;
    size_t bs = (size_t)z->out;
    double *x = draw_normal(xs, 1, 11), *w = draw_normal(ws, 1 / sqrt(z->in), 12),
           *bias = draw_normal(bs, 0.3, 13);
    double *y = draw_normal(ys, 1, 14), *g = draw_normal(ys, 1, 15); /* y of its own: signs are sure */
    real *rx = lab_put(t->l, x, xs), *rw = lab_put(t->l, w, ws), *rb = lab_put(t->l, bias, bs);
    real *ry = lab_put(t->l, y, ys), *to = poison(t, ys), *dx = poison(t, xs), *dw = begun(t, ws),
         *db = begun(t, bs);
    real *dy[3] = {lab_put(t->l, g, ys), lab_put(t->l, g, ys), lab_put(t->l, g, ys)},
         *dx_only = poison(t, xs);
    k->dense_forward(t->l->d, to, rx, rw, rb, z->n, z->in, z->out, z->slope);
    k->dense_backward(t->l->d, dx, dw, db, dy[0], ry, rx, rw, z->n, z->in, z->out, z->slope);
    k->dense_backward(t->l->d, dx_only, NULL, NULL, dy[1], ry, rx, rw, z->n, z->in, z->out, z->slope);
    k->dense_backward(t->l->d, NULL, dw, db, dy[2], ry, rx, rw, z->n, z->in, z->out,
                      z->slope); /* twice into dw, db */
    take(t, "dense_forward y", OVERWRITES, to, ys);
    take(t, "dense_backward dx", OVERWRITES, dx, xs);
    take(t, "dense_backward dx alone", OVERWRITES, dx_only, xs);
    take(t, "dense_backward dy", OVERWRITES, dy[0], ys);
    take(t, "dense_backward dw", ADDS, dw, ws);
    take(t, "dense_backward db", ADDS, db, bs);
    free(x), free(w), free(bias), free(y), free(g);
}

/* All pairs of widths for small batches, one output width for each input width for the others. */
void check_dense_layer(const bench *b) {
    char what[64];
    for (int i = 0; i < BATCHES; i++)
        for (int j = 0; j < WIDTHS; j++)
            for (int o = 0; o < WIDTHS; o++) {
                if (batches[i] > 5 && (j + 2 * o + i) % WIDTHS != 0) continue;
                if (batches[i] > 49 && (i + j) % 4 != 0) continue;
                layer_sizes z = {batches[i], widths[j], widths[o], (i + j + o) % 2 ? 1 : 0.3};
                snprintf(what, sizeof what, "dense layer n %d in %d out %d", z.n, z.in, z.out);
                compare(b, run_layer, &z, what);
            }
}

/* ---- coupling of dense networks ---- */

/* Hidden weights are so few and so round that float and double compute the same activations, whatever the
 * order of the sums: no unit near zero takes the other slope. Output layers, u2 and gradients are arbitrary
 * numbers. */
typedef struct coupling_case {
    coupling_layer c;
    dense_net nets[2];
    size_t w[2][MAX_LAYER], b[2][MAX_LAYER], total;
    int n;
    int32_t source[MAX_WIDTH], target[MAX_WIDTH];
    double *params, *state, *dstate, *dlogdet;
} coupling_case;

static void draw_layer(coupling_case *c, int net_index, int layer, rng *r) {
    const dense_net *t = &c->nets[net_index];
    int last = layer == t->depth, in = layer ? t->width : t->in, out = last ? t->out : t->width;
    size_t weights = (size_t)in * (size_t)out;
    c->w[net_index][layer] = c->total += GAP;
    c->b[net_index][layer] = c->total += weights;
    c->total += (size_t)out;
    double *w = c->params + c->w[net_index][layer], *b = w + weights;
    for (size_t i = 0; last && i < weights + (size_t)out; i++)
        w[i] = as_float(rng_normal(r) / (10 + 2 * t->width));
    for (int o = 0; !last && o < out; o++) {
        for (int i = 0; i < (t->depth > 3 ? 1 : 3); i++)
            w[rng_below(r, (uint32_t)in) * (uint32_t)out + (uint32_t)o] = rng_below(r, 2) ? 1 : -1;
        b[o] = t->depth > 13 ? 0 : 0.5 * ((int)rng_below(r, 5) - 2);
    }
}

static size_t room_for(const dense_net *t) {
    size_t widest = (size_t)(t->in > t->out ? t->in : t->out);
    if (widest < (size_t)t->width) widest = (size_t)t->width;
    return (size_t)(t->depth + 1) * (widest * widest + widest + GAP);
}

static coupling_case *coupling_new(law_id id, int n, int k, int m, int depth_a, int depth_b, int width) {
    coupling_case *c = calloc(1, sizeof *c);
    CHECK(c && k <= MAX_WIDTH && m <= MAX_WIDTH);
    rng r = rng_stream((rng_key){.seed = (uint64_t)(n * 1000 + width), .purpose = RNG_TEST}, 0);
    double slope = depth_a > 13 ? 1 : 0.5; /* or too little is left of the deepest */
    c->n = n;
    law_config law = law_with_defaults(id);
    c->nets[0] = (dense_net){k, law_outputs(&law, m), depth_a, width, slope, c->w[0], c->b[0]};
    c->nets[1] = (dense_net){k, law_shifts(&law, m), depth_b, width, slope, c->w[1], c->b[1]};
    c->c = (coupling_layer){.form = "dense",
                            .nets = c->nets,
                            .law = law,
                            .source = c->source,
                            .target = c->target,
                            .k = k,
                            .m = m,
                            .dim = k + m,
                            .s = 1};
    c->params = new_numbers(2 + room_for(&c->nets[0]) + room_for(&c->nets[1]));
    c->params[1] = as_float(1.2);
    c->total = 2;
    for (int net_index = 0; net_index < 2; net_index++)
        for (int i = 0; c->nets[net_index].out && i <= c->nets[net_index].depth; i++)
            draw_layer(c, net_index, i, &r);
    int order[2 * MAX_WIDTH];
    for (int i = 0; i < k + m; i++) order[i] = i;
    rng_shuffle(&r, order, k + m);
    for (int i = 0; i < k + m; i++) *(i < k ? &c->source[i] : &c->target[i - k]) = order[i];
    size_t whole = (size_t)(n * (k + m));
    c->state = draw_normal(whole, 1, 61);
    c->dstate = draw_normal(whole, 1, 62);
    c->dlogdet = draw_normal((size_t)n, 1, 63);
    for (int s = 0; s < n; s++)
        for (int i = 0; i < k; i++) c->state[s * (k + m) + c->source[i]] = 0.5 * ((int)rng_below(&r, 9) - 4);
    return c;
}

static void coupling_delete(coupling_case *c) {
    free(c->params), free(c->state), free(c->dstate), free(c->dlogdet), free(c);
}

/* One sample through one network, by the book: h[i + 1] is the output of layer i. */
static void oracle_forward(const dense_net *t, const double *params, double h[][MAX_WIDTH]) {
    for (int i = 0; i <= t->depth; i++) {
        int in = i ? t->width : t->in, out = i < t->depth ? t->width : t->out;
        memcpy(h[i + 1], params + t->b[i], sizeof(double) * (size_t)out);
        for (int r = 0; r < in; r++)
            for (int o = 0; o < out; o++) h[i + 1][o] += h[i][r] * params[t->w[i] + (size_t)(r * out + o)];
        for (int o = 0; i < t->depth && o < out; o++) h[i + 1][o] *= h[i + 1][o] > 0 ? 1 : t->slope;
    }
}

/* g: the gradient of the output becomes that of the input; grad is added to. */
static void oracle_backward(const dense_net *t, const double *params, double h[][MAX_WIDTH], double *g,
                            double *grad) {
    double before[MAX_WIDTH];
    for (int i = t->depth; i >= 0; i--) {
        int in = i ? t->width : t->in, out = i < t->depth ? t->width : t->out;
        for (int o = 0; o < out; o++) {
            if (i < t->depth && !(h[i + 1][o] > 0)) g[o] *= t->slope;
            grad[t->b[i] + (size_t)o] += g[o];
        }
        for (int r = 0; r < in; r++) {
            before[r] = 0;
            for (int o = 0; o < out; o++) {
                before[r] += params[t->w[i] + (size_t)(r * out + o)] * g[o];
                grad[t->w[i] + (size_t)(r * out + o)] += h[i][r] * g[o];
            }
        }
        memcpy(g, before, sizeof(double) * (size_t)in);
    }
}

/* One sample through the coupling, a batch of one for the law. */
static void oracle_sample(lab *l, const coupling_case *c, pass_kind kind, int sample, double *state,
                          double *dstate, double *logdet, double *grad) {
    static double h[2][MAX_LAYER + 1][MAX_WIDTH];
    const device_kind *k = l->d->kind;
    int m = c->c.m, na = c->nets[0].out, backward = kind == PASS_BACKWARD;
    double u2[MAX_WIDTH], g[3][MAX_WIDTH], *grads[3] = {g[0], g[1], g[2]}, ds;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < c->c.k; i++) h[t][0][i] = state[c->source[i]];
        if (c->nets[t].out) oracle_forward(&c->nets[t], c->params, h[t]);
    }
    for (int i = 0; i < m; i++) u2[i] = state[c->target[i]], g[2][i] = dstate[c->target[i]];
    law_batch b = {c->c.law,
                   1,
                   m,
                   lab_put(l, h[0][c->nets[0].depth + 1], (size_t)na),
                   c->nets[1].out ? lab_put(l, h[1][c->nets[1].depth + 1], (size_t)m) : NULL,
                   law_shape_of(c->c.law.id)->has_scale ? lab_put(l, &c->params[c->c.s], 1) : NULL,
                   1};
    real *u = lab_put(l, u2, (size_t)m), *du = lab_put(l, g[2], (size_t)m), *dA = lab_new(l, (size_t)na);
    real *dB = lab_new(l, (size_t)m), *one = lab_put(l, backward ? &c->dlogdet[sample] : logdet, 1),
         *rs = lab_new(l, 1);
    if (kind == PASS_FORWARD) k->law_forward(l->d, &b, u, one);
    if (kind == PASS_INVERSE) k->law_inverse(l->d, &b, u, one);
    if (kind == PASS_BACKWARD) k->law_backward(l->d, &b, u, du, one, dA, dB, rs);
    k->get(l->d, u2, u, (size_t)m);
    for (int i = 0; i < m; i++) state[c->target[i]] = u2[i];
    if (!backward) k->get(l->d, logdet, one, 1);
    const real *results[3] = {dA, dB, du};
    for (int t = 0; backward && t < 3; t++) k->get(l->d, grads[t], results[t], (size_t)(t ? m : na));
    k->get(l->d, &ds, rs, 1);
    lab_clear(l);
    if (!backward) return;
    grad[c->c.s] += ds;
    for (int i = 0; i < m; i++) dstate[c->target[i]] = g[2][i];
    for (int t = 0; t < 2; t++) {
        if (!c->nets[t].out) continue;
        oracle_backward(&c->nets[t], c->params, h[t], g[t], grad);
        for (int i = 0; i < c->c.k; i++) dstate[c->source[i]] += g[t][i];
    }
}

static const char *const pass_names[][3] = {
    {"state of PASS_FORWARD", "logdet of PASS_FORWARD"},
    {"state of PASS_INVERSE", "logdet of PASS_INVERSE"},
    {"state of PASS_BACKWARD", "dstate of PASS_BACKWARD", "grad of PASS_BACKWARD"}};

static void run_oracle(trial *t, const coupling_case *c, pass_kind kind) {
    size_t n = (size_t)c->n, dim = (size_t)c->c.dim;
    double *state = new_numbers(n * dim), *dstate = new_numbers(n * dim), *logdet = new_numbers(n);
    double *grad = new_numbers(c->total);
    memcpy(state, c->state, n * dim * sizeof *state);
    memcpy(dstate, c->dstate, n * dim * sizeof *dstate);
    for (size_t i = 0; t->second && i < n; i++) logdet[i] = BEGUN;
    for (size_t i = 0; t->second && i < c->total; i++) grad[i] = BEGUN;
    for (size_t s = 0; s < n; s++)
        oracle_sample(t->l, c, kind, (int)s, state + s * dim, dstate + s * dim, logdet + s, grad);
    take(t, pass_names[kind][0], OVERWRITES, lab_put(t->l, state, n * dim), n * dim);
    if (kind != PASS_BACKWARD) {
        take(t, pass_names[kind][1], ADDS, lab_put(t->l, logdet, n), n);
    } else {
        take(t, pass_names[kind][1], OVERWRITES, lab_put(t->l, dstate, n * dim), n * dim);
        take(t, pass_names[kind][2], ADDS, lab_put(t->l, grad, c->total), c->total);
    }
    free(state), free(dstate), free(logdet), free(grad);
}

/* Scratch as the plan asks for, with numbers that are not finite in it. */
static real *scratch_for(trial *t, const layer_plan *plan, const coupling_case *c, layer_use use) {
    return lab_fill(t->l, NAN, t->l->d->kind->plan_scratch(t->l->d, plan, c->n, use) + 1);
}

/* Runs a backward pass on the case's state; leaves dstate in *dstate. */
static void run_backward(trial *t, const layer_plan *plan, const coupling_case *c, layer_call call,
                         real **dstate) {
    size_t whole = (size_t)c->n * (size_t)c->c.dim;
    layer_use use = {.backward = 1, .gradients = call.grad != NULL, .saved = call.saved != NULL};
    call.state = lab_put(t->l, c->state, whole);
    call.scratch = scratch_for(t, plan, c, use);
    *dstate = call.dstate = lab_put(t->l, c->dstate, whole);
    t->l->d->kind->plan_run(t->l->d, plan, &call);
    if (call.grad && !call.saved) take(t, pass_names[call.kind][0], OVERWRITES, call.state, whole);
}

static void check_same_bits(lab *l, const real *a, const real *b, size_t count) {
    double *x = lab_get(l, a, count), *y = lab_get(l, b, count);
    CHECK(memcmp(x, y, count * sizeof *x) == 0);
    free(x), free(y);
}

static layer_plan *plan_of(trial *t, const coupling_case *c) {
    device *d = t->l->d;
    layer_plan *plan = NULL;
    if (d->kind->plan_open) CHECK_STATUS(d->kind->plan_open(d, &plan, &c->c), JF_OK);
    return plan;
}

/* Leaves in *kept what the forward pass kept; NULL: nothing. */
static void run_passes(trial *t, const layer_plan *plan, const coupling_case *c, size_t saved_count,
                       real **kept) {
    device *d = t->l->d;
    size_t n = (size_t)c->n, whole = n * (size_t)c->c.dim;
    real *params = lab_put(t->l, c->params, c->total);
    *kept = NULL;
    for (int kind = PASS_FORWARD; kind <= PASS_INVERSE; kind++) {
        layer_call call = {.kind = (pass_kind)kind, .n = c->n, .params = params};
        call.state = lab_put(t->l, c->state, whole);
        call.logdet = begun(t, n);
        call.scratch = scratch_for(t, plan, c, (layer_use){0});
        if (saved_count) call.saved = poison(t, saved_count);
        if (kind == PASS_FORWARD) *kept = call.saved;
        d->kind->plan_run(d, plan, &call);
        take(t, pass_names[kind][0], OVERWRITES, call.state, whole);
        take(t, pass_names[kind][1], ADDS, call.logdet, n);
    }
}

/* The source elements are those of the forward pass, so are the activations; they serve more than once. */
static void run_backward_passes(trial *t, const layer_plan *plan, const coupling_case *c, real *kept) {
    size_t n = (size_t)c->n, whole = n * (size_t)c->c.dim;
    real *dstate, *other, *grad = begun(t, c->total);
    layer_call call = {PASS_BACKWARD, c->n, lab_put(t->l, c->params, c->total),
                       .dlogdet = lab_put(t->l, c->dlogdet, n)};
    call.grad = grad;
    run_backward(t, plan, c, call, &dstate);
    take(t, pass_names[PASS_BACKWARD][1], OVERWRITES, dstate, whole);
    take(t, pass_names[PASS_BACKWARD][2], ADDS, grad, c->total);
    call.grad = NULL;
    run_backward(t, plan, c, call, &other);
    check_same_bits(t->l, dstate, other, whole);
    for (int again = 0; kept && again < 2; again++) {
        call.grad = begun(t, c->total);
        call.saved = kept;
        run_backward(t, plan, c, call, &other);
        check_same_bits(t->l, dstate, other, whole);
        check_same_bits(t->l, grad, call.grad, c->total);
    }
}

static void run_coupling(trial *t, const void *sizes) {
    const coupling_case *c = sizes;
    device *d = t->l->d;
    layer_plan *plan = plan_of(t, c);
    real *kept;
    if (!plan) { /* optional: the formulas instead */
        for (int kind = PASS_FORWARD; kind <= PASS_BACKWARD; kind++) run_oracle(t, c, (pass_kind)kind);
        return;
    }
    run_passes(t, plan, c, d->kind->plan_saved(d, plan, c->n, PRECISION_FP32), &kept);
    run_backward_passes(t, plan, c, kept);
    d->kind->plan_close(d, plan);
}

static void compare_coupling(const bench *b, coupling_case *c) {
    char what[112];
    snprintf(what, sizeof what, "dense coupling %s n %d k %d m %d width %d depth %d and %d",
             law_name(c->c.law.id), c->n, c->c.k, c->c.m, c->nets[0].width, c->nets[0].depth,
             c->nets[1].depth);
    compare(b, run_coupling, c, what);
    coupling_delete(c);
}

/* Room for a batch is room for any smaller one. */
static void check_room_grows(lab *l) {
    const device_kind *k = l->d->kind;
    coupling_case *c = coupling_new(law_affine, 1, 2, 1, 2, 2, 7);
    layer_plan *plan = plan_of(&(trial){.l = l}, c);
    for (int n = 1; plan && n < 9000; n += n < 1200 ? 1 : 97) {
        CHECK(k->plan_saved(l->d, plan, n, PRECISION_FP32) <=
              k->plan_saved(l->d, plan, n + 1, PRECISION_FP32));
        for (int i = 0; i < 5; i++) {
            layer_use use = {.backward = i > 0, .gradients = i > 2, .saved = i % 2};
            CHECK(k->plan_scratch(l->d, plan, n, use) <= k->plan_scratch(l->d, plan, n + 1, use));
        }
    }
    if (plan) k->plan_close(l->d, plan);
    coupling_delete(c);
}

void compare_dense_coupling(const bench *b) {
    compare_coupling(b, coupling_new(law_affine, 100, 2, 1, 12, 12, 64));
}

/* Six couplings per batch size; together they have all widths, depths up to 13, and up to five sheared
 * elements. */
void check_dense_coupling(const bench *b) {
    if (!b->tested->d->kind->plan_open) return;
    check_room_grows(b->tested);
    for (int i = 0; i < BATCHES; i++) {
        int n = batches[i], small = n <= 49;
        if (EMULATED && !small) continue;
        for (int t = 0; t < (small && !EMULATED ? 6 : 3); t++) {
            int j = (5 * i + 2 * t) % WIDTHS, width = widths[(j + 3 * i + 4) % WIDTHS];
            int depth = small ? 1 + (4 * i + 3 * t) % 13 : 1 + t, shear = t % 2;
            int m = shear ? 1 + (i + t) % 5 : widths[(3 * j + i) % WIDTHS];
            if (EMULATED && b->tolerance == 0 && t > 1) continue;
            compare_coupling(
                b, coupling_new(shear ? law_shear : law_affine, n, widths[j], m, depth, depth, width));
        }
    }
    compare_dense_coupling(b);
    compare_coupling(b, coupling_new(law_affine, 49, 6, 7, 2, 5, 17));   /* networks of different depth */
    compare_coupling(b, coupling_new(law_additive, 30, 3, 4, 2, 3, 17)); /* one network alone */
    compare_coupling(b, coupling_new(law_spline, 33, 4, 5, 2, 2, 24));   /* many outputs for each element */
    if (!EMULATED)
        compare_coupling(b, coupling_new(law_affine, 4100, 1, 2, 1, 1, 3)); /* more rows than go together */
    compare_coupling(b, coupling_new(law_shear, 49, 2, 4, 64, 64, 5));      /* as deep as a recipe allows */
}
