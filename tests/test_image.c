/* Image flows: gradients of convolution and norm, index maps of masks and squeezes, and whole flows. */
#include "flow_fixture.h"
#include "loss/loss.h"

/* ---- primitives against finite differences in double ---- */

typedef struct image_case {
    lab *l;
    conv_shape conv;
    norm_shape norm;
    int n, is_norm;
    size_t xs, ys, firsts, seconds;
    double *x, *first, *second, *weights, *y;
} image_case;

static double image_loss(void *arg) {
    image_case *k = arg;
    device *d = k->l->d;
    real *y = lab_new(k->l, k->ys), *x = lab_put(k->l, k->x, k->xs),
         *first = lab_put(k->l, k->first, k->firsts), *second = lab_put(k->l, k->second, k->seconds);
    if (k->is_norm)
        d->kind->norm_forward(d, &k->norm, k->n, y, x, first, second);
    else
        d->kind->conv_forward(d, &k->conv, k->n, y, x, first, second);
    d->kind->get(d, k->y, y, k->ys);
    lab_clear(k->l);
    double sum = 0;
    for (size_t i = 0; i < k->ys; i++) sum += k->weights[i] * k->y[i];
    return sum;
}

static void check_image_gradients(image_case *k) {
    k->l = lab_open("ref", 1);
    device *d = k->l->d;
    k->x = draw_normal(k->xs, 1, 1), k->first = draw_normal(k->firsts, 1, 2),
    k->second = draw_normal(k->seconds, 1, 3);
    k->weights = draw_normal(k->ys, 1, 4), k->y = new_numbers(k->ys);
    real *dx = lab_new(k->l, k->xs), *dfirst = lab_new(k->l, k->firsts), *dsecond = lab_new(k->l, k->seconds);
    real *dy = lab_put(k->l, k->weights, k->ys), *x = lab_put(k->l, k->x, k->xs),
         *first = lab_put(k->l, k->first, k->firsts);
    if (k->is_norm)
        d->kind->norm_backward(d, &k->norm, k->n, dx, dfirst, dsecond, dy, x, first);
    else
        d->kind->conv_backward(d, &k->conv, k->n, dx, dfirst, dsecond, dy, x, first);
    double *gx = lab_get(k->l, dx, k->xs), *gf = lab_get(k->l, dfirst, k->firsts),
           *gs = lab_get(k->l, dsecond, k->seconds);
    lab_clear(k->l);
    check_gradient("dx", k->x, k->xs, gx, image_loss, k, 1e-7);
    check_gradient("dw or dg", k->first, k->firsts, gf, image_loss, k, 1e-7);
    check_gradient("db", k->second, k->seconds, gs, image_loss, k, 1e-7);
    lab_close(k->l);
    free(gx), free(gf), free(gs), free(k->x), free(k->first), free(k->second), free(k->weights), free(k->y);
}

TEST(convolution__backward_is_the_gradient_of_forward) {
    static const conv_shape shapes[] = {
        {4, 3, 3, 2, 1, 1, 1, 2, 0}, {5, 4, 4, 6, 3, 1, 2, 6, 0}, {6, 6, 4, 2, 3, 2, 2, 2, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const conv_shape *s = &shapes[i];
        size_t pixels = (size_t)(2 * s->h * s->w);
        image_case k = {.conv = *s, .n = 2, .xs = pixels * (size_t)s->in, .ys = pixels * (size_t)s->out};
        k.firsts = (size_t)(s->kernel * s->kernel * (s->in / s->groups) * s->out);
        k.seconds = (size_t)s->out;
        check_image_gradients(&k);
    }
}

TEST(norm__backward_is_the_gradient_of_forward) {
    for (int per_element = 0; per_element < 2; per_element++) {
        image_case k = {.norm = {6, 3, per_element, 0.3, 1e-3}, .n = 2, .is_norm = 1, .xs = 36, .ys = 36};
        k.firsts = k.seconds = per_element ? 18 : 3;
        check_image_gradients(&k);
    }
}

/* A plain sum over taps, written from the definition. */
TEST(convolution__groups_dilation_and_padding_are_those_of_the_definition) {
    enum { H = 5, W = 4, IN = 4, OUT = 6, GROUPS = 2, DILATION = 2 };
    conv_shape s = {H, W, IN, OUT, 3, DILATION, GROUPS, OUT + 3, 2};
    lab *l = lab_open("ref", 1);
    size_t ys = H * W * (OUT + 3);
    double *x = draw_normal(H * W * IN, 1, 1), *w = draw_normal(9 * IN / GROUPS * OUT, 1, 2),
           *b = draw_normal(OUT, 1, 3);
    real *y = lab_fill(l, 7, ys);
    l->d->kind->conv_forward(l->d, &s, 1, y, lab_put(l, x, H * W * IN), lab_put(l, w, 9 * IN / GROUPS * OUT),
                             lab_put(l, b, OUT));
    double *found = lab_get(l, y, ys);
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            const double *pixel = found + (i * W + j) * (OUT + 3);
            CHECK(pixel[0] == 7 && pixel[1] == 7 && pixel[OUT + 2] == 7); /* channels of others */
            for (int o = 0; o < OUT; o++) {
                double sum = b[o];
                for (int a = 0; a < 3; a++)
                    for (int c = 0; c < 3; c++)
                        for (int k = 0; k < IN / GROUPS; k++) {
                            int ii = i + (a - 1) * DILATION, jj = j + (c - 1) * DILATION;
                            if (ii < 0 || ii >= H || jj < 0 || jj >= W) continue;
                            int channel = o / (OUT / GROUPS) * (IN / GROUPS) + k;
                            sum += x[(ii * W + jj) * IN + channel] *
                                   w[((a * 3 + c) * (IN / GROUPS) + k) * OUT + o];
                        }
                CHECK_NEAR(pixel[2 + o], sum, 1e-12);
            }
        }
    free(x), free(w), free(b), free(found);
    lab_close(l);
}

/* ---- masks and squeezes ---- */

static flow_steps steps_of(const char *text_of, image_size size, int fixed, jf_context **ctx) {
    flow_steps steps = {0};
    CHECK_STATUS(jf_context_create(ctx), JF_OK);
    recipe *r = recipe_of(*ctx, text_of);
    jf_status status = image_steps(*ctx, &steps, r, size, fixed);
    recipe_free(r);
    if (status != JF_OK) CHECK(steps.specs == NULL && steps.count == 0);
    return steps;
}

static int is_y(int32_t at, image_size s) {
    return at % (s.x_channels + s.y_channels) >= s.x_channels;
}

TEST(image_masks__checkerboard_and_channels_are_those_of_the_paper) {
    jf_context *ctx;
    image_size size = {4, 4, 1, 1};
    flow_steps steps = steps_of("[model]\nnet = resnext\nblocks = 1\n", size, 0, &ctx);
    const transform_spec *s = steps.specs;
    CHECK(s && steps.count == 4);
    for (int layer = 0; layer < 2; layer++) {
        CHECK(s[layer].source_shape.h == 2 && s[layer].source_shape.w == 2 && s[layer].source_shape.c == 4);
        for (int k = 0; k < 16; k++) {
            int pixel = s[layer].source[k] / 2;
            CHECK((pixel / 4 + pixel % 4) % 2 == layer);
        }
    }
    CHECK(s[0].source[0] == 0 && s[0].source[1] == 1 && s[0].source[2] == 2 * 5 &&
          s[0].source[3] == 2 * 5 + 1);
    CHECK(s[1].source[0] == 2 && s[1].source[2] == 2 * 4);
    for (int k = 0; k < 16; k++)
        CHECK(s[2].source[k] == 2 * k && s[2].target[k] == 2 * k + 1); /* y given x */
    for (int k = 0; k < 16; k++)
        CHECK(s[3].source[k] == 2 * k + 1 && s[3].target[k] == 2 * k); /* x given y */
    steps_free(&steps);
    jf_context_free(ctx);
}

/* Each layer of an active image cuts it in two; after a squeeze half of x and half of y are finished. */
TEST(image_masks__layers_cut_the_active_image_and_squeezes_halve_it) {
    jf_context *ctx;
    image_size size = {16, 16, 3, 2};
    flow_steps steps = steps_of("[model]\nnet = resnext\nblocks = 3\nsqueeze = 1 2\n", size, 0, &ctx);
    const transform_spec *s = steps.specs;
    CHECK(s && steps.count == 12);
    for (int i = 0; i < steps.count; i++) {
        int active = 16 * 16 * 5 >> (i / 4), seen[16 * 16 * 5] = {0}, y = 0;
        int kept = shape_size(s[i].source_shape), moved = shape_size(s[i].target_shape);
        CHECK(kept + moved == active);
        for (int k = 0; k < kept; k++) seen[s[i].source[k]]++, y += is_y(s[i].source[k], size);
        for (int k = 0; k < moved; k++) seen[s[i].target[k]]++, y += is_y(s[i].target[k], size);
        for (int k = 0; k < size.h * size.w * 5; k++) CHECK(seen[k] <= 1);
        CHECK(y * 5 == active * 2);
        CHECK(s[i].halved == (i % 4 < 2) && s[i].block == i / 4);
    }
    steps_free(&steps);
    jf_context_free(ctx);
}

TEST(image_masks__a_fixed_condition_is_never_moved_and_always_seen) {
    jf_context *ctx;
    image_size size = {8, 8, 1, 1};
    flow_steps steps = steps_of("[model]\nnet = resnext\nblocks = 2\nsqueeze = 1\n", size, 1, &ctx);
    const transform_spec *s = steps.specs;
    CHECK(s && steps.count == 8);
    for (int i = 0; i < steps.count; i++) {
        int y = 0;
        for (int k = 0; k < shape_size(s[i].target_shape); k++) CHECK(!is_y(s[i].target[k], size));
        for (int k = 0; k < shape_size(s[i].source_shape); k++) y += is_y(s[i].source[k], size);
        CHECK(y == 64);
    }
    CHECK(s[0].source_shape.c == 2 + 4); /* two pixels of x and all four of y in a cell */
    steps_free(&steps);
    jf_context_free(ctx);
}

TEST(image_masks__sizes_that_cannot_be_halved_are_refused) {
    jf_context *ctx;
    CHECK(!steps_of("[model]\nnet = resnext\nblocks = 2\nsqueeze = 1\n", (image_size){14, 14, 1, 1}, 0, &ctx)
               .specs);
    CHECK_HAS(jf_context_error(ctx), "7 x 7");
    jf_context_free(ctx);
    CHECK(!steps_of("[model]\nnet = resnext\nblocks = 2\nsqueeze = 2\n", (image_size){16, 16, 1, 1}, 0, &ctx)
               .specs);
    CHECK_HAS(jf_context_error(ctx), "model.squeeze");
    jf_context_free(ctx);
}

TEST(image_flow__sizes_beyond_what_can_be_counted_are_refused) {
    static const image_size sizes[] = {{4096, 4096, 512, 0}, {2, 2, 1 << 30, 1 << 30},
                                       {1 << 30, 2, 1, 1},   {1, 8, 1, 0},
                                       {8, 8, 0, 1},         {8, 8, 1, -1}};
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, "[model]\nnet = resnext\nblocks = 1\n");
    param_list params = {.ctx = l->ctx};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        flow *f;
        CHECK_STATUS(flow_create_image(l->ctx, &f, l->d, r, &params, "", sizes[i], &(flow_origin){0}),
                     JF_ERROR_SHAPE);
        CHECK_HAS(jf_context_error(l->ctx), "cannot be learned; expected at least 2 x 2 pixels");
        CHECK(f == NULL);
    }
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}

TEST(device__largest_difference_sees_every_element_of_large_samples) {
    enum { DIM = 2 * 48 * 48, N = 2 }; /* more than a vector model may have */
    flow_rig *r = rig_open_image(
        "ref", 1, "[model]\nnet = resnext\nblocks = 1\nkernels = 2\ncardinality = 1\nresidual = 1\n",
        (image_size){48, 48, 1, 1}, N, 3);
    double *values = draw_normal((size_t)N * DIM, 1, 5);
    for (int i = 0; i < 4; i++) {
        static const size_t places[] = {0, DIM - 1, DIM, N * DIM - 1};
        flow_run_put(r->run, N, values);
        double before = values[places[i]];
        values[places[i]] += 0.25;
        r->l->d->kind->put(r->l->d, r->run->copy, values, (size_t)N * DIM);
        CHECK_NEAR(largest_difference(r->l->d, r->run->state, r->run->copy, (size_t)N * DIM), 0.25, 1e-12);
        values[places[i]] = before;
    }
    free(values);
    rig_close(r);
}

TEST(resnext__a_cardinality_that_does_not_divide_is_refused) {
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, "[model]\nnet = resnext\nblocks = 1\nkernels = 12\ncardinality = 4\n");
    param_list params = {.ctx = l->ctx};
    flow *f;
    CHECK_STATUS(
        flow_create_image(l->ctx, &f, l->d, r, &params, "", (image_size){8, 8, 1, 1}, &(flow_origin){0}),
        JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(l->ctx), "a divisor of 6 would");
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}

/* ---- whole flows ---- */

static const struct {
    const char *recipe;
    image_size size;
} flows[] = {
    {"[model]\nnet = resnext\nblocks = 2\nsqueeze = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ngain = "
     "0.5\n",
     {8, 4, 1, 1}},
    {"[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 1\nresidual = 2\nnorm = channel\ngain = "
     "0.5\n",
     {4, 4, 2, 1}},
    {"[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ncondition = "
     "fixed\ngain = 0.5\n",
     {4, 4, 1, 2}},
    {"[model]\nnet = resnext\nblocks = 2\nsqueeze = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ncondition "
     "= "
     "flow\ngain = 0.5\n",
     {8, 4, 1, 1}},
    {"[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ncondition = "
     "flow\ngain = 0.5\n",
     {4, 4, 2, 2}},
    {"[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ngain = 0.5\n",
     {4, 4, 1, 0}},
};
enum { FLOWS = sizeof flows / sizeof *flows, N = 3 };

/* Case k: each of the flows with each kind of transform. NULL: there are no more. */
static flow_rig *open_flow(const char *device_name, int threads, int k, int n, uint64_t seed) {
    char transforms[TRANSFORMS_TEXT], content[400];
    if (!transforms_to_try(k / FLOWS, transforms)) return NULL;
    snprintf(content, sizeof content, "%stransforms = %s\n", flows[k % FLOWS].recipe, transforms);
    return rig_open_image(device_name, threads, content, flows[k % FLOWS].size, n, seed);
}

TEST(image_flow__inverse_undoes_forward_on_every_device) {
    flow_rig *r;
    FOR_EACH_DEVICE (i)
        for (int k = 0; (r = open_flow(device_kinds[i]->name, 2, k, N, 5)) != NULL; k++) {
            size_t whole = N * (size_t)r->flow->dim;
            double *points = draw_normal(whole, 1, 6), *state = draw_normal(whole, 1, 6), up[N], down[N];
            rig_forward(r, N, state, up);
            CHECK(relative_error(state, points, whole) > 1e-3);
            rig_inverse(r, N, state, down);
            CHECK_CLOSE(state, points, whole, device_tolerance(r->l->d));
            CHECK_CLOSE(down, up, N, 10 * device_tolerance(r->l->d));
            free(points), free(state);
            rig_close(r);
        }
}

/* The Jacobian of a batch, from as many backward passes after one forward pass. */
static double *jacobian_of(flow_rig *r, const double *points) {
    size_t dim = (size_t)r->flow->dim;
    double *J = new_numbers(N * dim * dim);
    flow_run_put(r->run, N, points);
    flow_jacobian(r->run, N, (int)dim, J);
    return J;
}

TEST(image_flow__many_backward_passes_may_follow_one_pass_with_kept_activations) {
    flow_rig *ref, *r;
    for (int k = 0; (ref = open_flow("ref", 1, k, N, 11)) != NULL; k++) {
        size_t dim = (size_t)ref->flow->dim, all = N * dim * dim;
        double *points = draw_normal(N * dim, 1, 12), *expected = jacobian_of(ref, points);
        FOR_EACH_DEVICE (i)
            for (int keep = 0; keep < 2; keep++) {
                r = open_flow(device_kinds[i]->name, 2, k, N, 11);
                if (keep) rig_keep(r, 100);
                double *J = jacobian_of(r, points);
                CHECK_CLOSE(J, expected, all, 10 * device_tolerance(r->l->d));
                free(J);
                rig_close(r);
            }
        free(points), free(expected);
        rig_close(ref);
    }
}

/* One sample, its Jacobian row by row from as many copies of it. */
TEST(image_flow__rows_of_the_jacobian_of_one_sample_are_those_of_the_whole_one) {
    flow_rig *ref, *r;
    for (int k = 0; (ref = open_flow("ref", 1, k, N, 11)) != NULL; k++) {
        size_t dim = (size_t)ref->flow->dim;
        double *points = draw_normal(N * dim, 1, 12), *whole = jacobian_of(ref, points);
        FOR_EACH_DEVICE (i) {
            r = open_flow(device_kinds[i]->name, 2, k, N, 11);
            int outputs[N];
            double *copies = new_numbers(N * dim), *J = new_numbers(N * dim),
                   *expected = new_numbers(N * dim);
            for (size_t c = 0; c < N; c++) {
                outputs[c] = (int)((7 * c + 3) % dim);
                memcpy(copies + c * dim, points, dim * sizeof *points);
                memcpy(expected + c * dim, whole + (size_t)outputs[c] * dim, dim * sizeof *whole);
            }
            flow_run_put(r->run, N, copies);
            flow_jacobian_rows(r->run, N, outputs, J);
            CHECK_CLOSE(J, expected, N * dim, 10 * device_tolerance(r->l->d));
            free(copies), free(J), free(expected);
            rig_close(r);
        }
        free(points), free(whole);
        rig_close(ref);
    }
}

TEST(image_flow__log_determinant_is_that_of_the_whole_jacobian) {
    flow_rig *r;
    for (int k = 0; (r = open_flow("ref", 1, k, 1, 7)) != NULL; k++) {
        int dim = r->flow->dim;
        double *x = draw_normal((size_t)dim, 1, 8), *J = new_numbers((size_t)dim * (size_t)dim), logdet,
               h = 1e-5;
        double *a = new_numbers((size_t)dim), *b = new_numbers((size_t)dim), ignored;
        for (int j = 0; j < dim; j++) {
            memcpy(a, x, sizeof(double) * (size_t)dim);
            memcpy(b, x, sizeof(double) * (size_t)dim);
            a[j] += h, b[j] -= h;
            rig_forward(r, 1, a, &ignored);
            rig_forward(r, 1, b, &ignored);
            for (int i = 0; i < dim; i++) J[i * dim + j] = (a[i] - b[i]) / (2 * h);
        }
        memcpy(a, x, sizeof(double) * (size_t)dim);
        rig_forward(r, 1, a, &logdet);
        double sum = log_determinant(J, dim);
        CHECK(fabs(logdet) > 0.05);
        CHECK_NEAR(logdet, sum, 1e-6 * (1 + fabs(sum)));
        free(x), free(J), free(a), free(b);
        rig_close(r);
    }
}

/* sum of weights * F(u) + logdet weights: its gradient by backward against finite differences. */
typedef struct flow_case {
    flow_rig *r;
    double *points, *weights, dlogdet[N];
} flow_case;

static double flow_loss(void *arg) {
    flow_case *k = arg;
    size_t whole = N * (size_t)k->r->flow->dim;
    double *state = new_numbers(whole), logdet[N], sum = 0;
    rig_upload(k->r);
    memcpy(state, k->points, sizeof(double) * whole);
    rig_forward(k->r, N, state, logdet);
    for (size_t i = 0; i < whole; i++) sum += k->weights[i] * state[i];
    for (int i = 0; i < N; i++) sum += k->dlogdet[i] * logdet[i];
    free(state);
    return sum;
}

/* Of every parameter one number, and some of the input, by lot. */
static void check_flow_gradients(flow_rig *r) {
    flow_case c = {.r = r, .dlogdet = {0.5, -1, 2}};
    size_t whole = N * (size_t)r->flow->dim;
    c.points = draw_normal(whole, 1, 10), c.weights = draw_normal(whole, 1, 11);
    double *state = draw_normal(whole, 1, 10), *dstate = draw_normal(whole, 1, 11), logdet[N];
    rig_forward(r, N, state, logdet);
    rig_backward(r, N, state, dstate, c.dlogdet);
    CHECK_CLOSE(state, c.points, whole, 1e-11);
    double *grad = rig_grad(r);
    rng pick = rng_stream((rng_key){12, RNG_TEST, 0}, 0);
    for (int i = 0; i < r->flow->params->count; i++) {
        const param *p = &r->flow->params->items[i];
        size_t at = p->offset + rng_below(&pick, (uint32_t)p->count);
        double slope = slope_at(&r->values[at], flow_loss, &c);
        if (!(fabs(grad[at] - slope) <= 2e-6 * (1 + fabs(grad[at]))))
            test_fail(__FILE__, __LINE__, "gradient of %s[%zu] is %.10g, by finite differences %.10g",
                      p->name, at - p->offset, grad[at], slope);
    }
    for (int i = 0; i < 30; i++) {
        size_t e = rng_below(&pick, (uint32_t)whole);
        CHECK_NEAR(dstate[e], slope_at(&c.points[e], flow_loss, &c), 2e-6 * (1 + fabs(dstate[e])));
    }
    free(c.points), free(c.weights), free(state), free(dstate), free(grad);
}

TEST(image_flow__backward_is_the_gradient_of_forward_and_recovers_its_input) {
    flow_rig *r;
    for (int k = 0; (r = open_flow("ref", 1, k, N, 9)) != NULL; k++) {
        check_flow_gradients(r);
        rig_close(r);
    }
}

TEST(image_flow__the_cpu_agrees_with_the_reference_for_any_number_of_threads) {
    for (int k = 0;; k++) {
        double *grads[3], *states[3];
        size_t whole = 0, total = 0;
        for (int i = 0; i < 3; i++) {
            flow_rig *r = open_flow(i ? "cpu" : "ref", i == 2 ? 3 : 1, k, N, 13);
            if (!r) return;
            double logdet[N], dlogdet[N] = {1, 1, 1}, *dstate;
            whole = N * (size_t)r->flow->dim, total = r->total;
            states[i] = draw_normal(whole, 1, 14), dstate = draw_normal(whole, 1, 15);
            rig_forward(r, N, states[i], logdet);
            double *back = new_numbers(whole);
            memcpy(back, states[i], sizeof(double) * whole);
            rig_backward(r, N, back, dstate, dlogdet);
            grads[i] = rig_grad(r);
            free(dstate), free(back);
            rig_close(r);
        }
        CHECK_CLOSE(states[1], states[0], whole, 1e-5);
        CHECK_CLOSE(grads[1], grads[0], total, 1e-4);
        CHECK(memcmp(grads[1], grads[2], sizeof(double) * total) == 0);
        for (int i = 0; i < 3; i++) free(grads[i]), free(states[i]);
    }
}
