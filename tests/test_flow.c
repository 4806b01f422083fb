/* Flows: both directions undo each other, log-determinants are those of Jacobians, gradients those of finite
 * differences; on every device, for every transform of the list, law, condition and shape. */
#include "compute/compute.h"
#include "flow/masks.h"
#include "flow_fixture.h"

#define MAX_DIM 7
#define SAMPLES 3

typedef struct shape_case {
    const char *law, *condition;
    int dim_x, dim_y;
    const char *transforms; /* NULL: couplings alone */
    int nets;               /* number in net_keys */
} shape_case;

/* Networks of a case: plain ones, and residual ones without and with kinks. */
enum { PLAIN_NETS, SMOOTH_NETS, RESIDUAL_NETS };
static const char *const net_keys[] = {"depth = 2", "net = residual\nresidual = 2\nslope = 1",
                                       "net = residual\nresidual = 2"};

/* Couplings that do much, or less where other transforms stand between them: a long chain of strong shears
 * multiplies rounding errors. */
static void recipe_for(const shape_case *c, char *to, size_t size) {
    int plain = !c->transforms || strcmp(c->transforms, "coupling") == 0;
    snprintf(to, size,
             "[model]\nlaw = %s\ncondition = %s\nblocks = %d\n%s\nwidth = 7\noutput_gain = %g\n"
             "transforms = %s\n",
             c->law, c->condition, c->dim_x + c->dim_y == 2 ? 2 : 1, net_keys[c->nets], plain ? 0.6 : 0.2,
             c->transforms ? c->transforms : "coupling");
}

static flow_rig *rig_for(const char *device_name, const shape_case *c, int n_max) {
    char content[320];
    recipe_for(c, content, sizeof content);
    return rig_open(device_name, 2, content, c->dim_x, c->dim_y, NULL, 0, n_max, 17);
}

static void for_all_shapes(void (*check)(const char *device_name, const shape_case *c),
                           const char *only_device) {
    static const char *const conditions[] = {"joint", "fixed", "flow"};
    static const int dims[][2] = {{2, 0}, {2, 1}, {3, 2}, {4, 3}};
    FOR_EACH_DEVICE (d) {
        if (only_device && strcmp(device_kinds[d]->name, only_device) != 0) continue;
        for (int i = 0; i < 12 * law_count; i++) {
            law_id law = (law_id)(i / 12);
            if (law_is_shared(law)) continue;
            shape_case c = {law_name(law), conditions[i / 4 % 3], dims[i % 4][0], dims[i % 4][1], NULL,
                            PLAIN_NETS};
            char transforms[TRANSFORMS_TEXT];
            for (int k = 0; transforms_to_try(k, transforms); k++) {
                c.transforms = transforms;
                check(device_kinds[d]->name, &c);
            }
            /* of a flow of y without kinks: with these numbers one lies within the step of a finite
             * difference */
            int nets = strcmp(c.condition, "flow") == 0 ? SMOOTH_NETS : RESIDUAL_NETS;
            c = (shape_case){c.law, c.condition, c.dim_x, c.dim_y, NULL, nets};
            check(device_kinds[d]->name, &c);
        }
    }
}

/* ---- there and back ---- */

static double round_trip_tolerance(const flow_rig *r) {
    return 10 * device_tolerance(r->l->d);
}

static void check_round_trips(const char *device_name, const shape_case *c) {
    enum { N = 50 };
    flow_rig *r = rig_for(device_name, c, N);
    size_t whole = (size_t)N * (size_t)r->flow->dim;
    double *start = draw_normal(whole, 1, 3), *state = new_numbers(whole), logdet[2][N];
    for (int inverse_first = 0; inverse_first < 2; inverse_first++) {
        memcpy(state, start, whole * sizeof *state);
        (inverse_first ? rig_inverse : rig_forward)(r, N, state, logdet[0]);
        CHECK(relative_error(state, start, whole) > 0.1); /* something happened */
        (inverse_first ? rig_forward : rig_inverse)(r, N, state, logdet[1]);
        CHECK_CLOSE(state, start, whole, round_trip_tolerance(r));
        CHECK_CLOSE(logdet[0], logdet[1], N, round_trip_tolerance(r)); /* of data -> latent, both ways */
    }
    free(start), free(state);
    rig_close(r);
}

TEST(flow__inverse_undoes_forward_and_forward_undoes_inverse) {
    for_all_shapes(check_round_trips, NULL);
}

static void check_condition_stays(const char *device_name, const shape_case *c) {
    if (strcmp(c->condition, "fixed") != 0) return;
    enum { N = 30 };
    flow_rig *r = rig_for(device_name, c, N);
    int dim = r->flow->dim;
    size_t whole = (size_t)(N * dim);
    double *start = draw_normal(whole, 1, 4), *state = new_numbers(whole), *dstate = draw_normal(whole, 1, 5);
    double *dlogdet = draw_normal(N, 1, 6), logdet[N];
    CHECK(r->flow->fixed);
    for (int way = 0; way < 3; way++) {
        memcpy(state, start, whole * sizeof *state);
        if (way == 0) rig_forward(r, N, state, logdet);
        if (way == 1) rig_inverse(r, N, state, logdet);
        if (way == 2) rig_backward(r, N, state, dstate, dlogdet);
        for (int i = 0; i < N * dim; i++)
            CHECK(i % dim < c->dim_x ? state[i] != start[i] : state[i] == start[i]);
    }
    free(start), free(state), free(dstate), free(dlogdet);
    rig_close(r);
}

TEST(flow__a_fixed_condition_stays_bit_for_bit) {
    for_all_shapes(check_condition_stays, NULL);
}

/* ---- log-determinants ---- */

typedef void (*way_fn)(flow_rig *r, int n, double *state, double *logdet);

/* J (SAMPLES, dim, dim) by central differences, all samples at once. */
static void numeric_jacobian(flow_rig *r, way_fn way, const double *at, double *J) {
    const int dim = r->flow->dim;
    const double h = 1e-6;
    double state[2][SAMPLES * MAX_DIM], logdet[SAMPLES];
    for (int j = 0; j < dim; j++) {
        for (int side = 0; side < 2; side++) {
            memcpy(state[side], at, sizeof(double) * (size_t)(SAMPLES * dim));
            for (int s = 0; s < SAMPLES; s++) state[side][s * dim + j] += side ? h : -h;
            way(r, SAMPLES, state[side], logdet);
        }
        for (int i = 0; i < SAMPLES * dim; i++) J[i * dim + j] = (state[1][i] - state[0][i]) / (2 * h);
    }
}

/* Of residual networks smooth ones: layer norms of few units bring kinks within reach of the differences. */
static void check_log_determinants(const char *device_name, const shape_case *given) {
    shape_case smooth = *given, *c = &smooth;
    if (c->nets == RESIDUAL_NETS) c->nets = SMOOTH_NETS;
    flow_rig *r = rig_for(device_name, c, SAMPLES), *exact = rig_for("ref", c, SAMPLES);
    const int dim = r->flow->dim;
    const double tolerance = fmax(1e-8, round_trip_tolerance(r));
    size_t whole = (size_t)(SAMPLES * dim);
    double *start = draw_normal(whole, 1, 8), state[SAMPLES * MAX_DIM], logdet[SAMPLES];
    double J[2][SAMPLES * MAX_DIM * MAX_DIM];

    numeric_jacobian(exact, rig_forward, start, J[0]);
    memcpy(state, start, whole * sizeof *state);
    rig_forward(r, SAMPLES, state, logdet);
    for (int s = 0; s < SAMPLES; s++)
        CHECK_NEAR(logdet[s], log_determinant(J[0] + s * dim * dim, dim), 10 * tolerance);

    double left[SAMPLES * MAX_DIM],
        left_logdet[SAMPLES]; /* flow_jacobian: the same, and the pass it leaves behind */
    flow_run_put(r->run, SAMPLES, start);
    flow_jacobian(r->run, SAMPLES, dim, J[1]);
    flow_run_get(r->run, SAMPLES, left);
    r->l->d->kind->get(r->l->d, left_logdet, r->run->logdet, SAMPLES);
    CHECK_CLOSE(J[1], J[0], whole * (size_t)dim, tolerance);
    CHECK(memcmp(left, state, whole * sizeof *left) == 0 && memcmp(left_logdet, logdet, sizeof logdet) == 0);
    double *grad = rig_grad(r);
    CHECK(norm_of(grad, r->total) == 0); /* and no gradients of parameters */

    numeric_jacobian(exact, rig_inverse, start, J[0]); /* latent -> data: the sign law says minus */
    memcpy(state, start, whole * sizeof *state);
    rig_inverse(r, SAMPLES, state, logdet);
    for (int s = 0; s < SAMPLES; s++)
        CHECK_NEAR(logdet[s], -log_determinant(J[0] + s * dim * dim, dim), 10 * tolerance);
    free(start), free(grad);
    rig_close(r);
    rig_close(exact);
}

TEST(flow__log_determinant_is_that_of_the_jacobian_of_data_to_latent) {
    for_all_shapes(check_log_determinants, NULL);
}

TEST(flow__jacobian_gives_its_first_rows_alone) {
    flow_rig *r = rig_for("ref", &(shape_case){"shear", "joint", 3, 2, NULL, PLAIN_NETS}, SAMPLES);
    double *start = draw_normal(SAMPLES * 5, 1, 8), whole[SAMPLES * 25], top[SAMPLES * 10];
    flow_run_put(r->run, SAMPLES, start);
    flow_jacobian(r->run, SAMPLES, 5, whole);
    flow_run_put(r->run, SAMPLES, start);
    flow_jacobian(r->run, SAMPLES, 2, top);
    for (int s = 0; s < SAMPLES; s++) CHECK(memcmp(top + s * 10, whole + s * 25, sizeof(double) * 10) == 0);
    free(start);
    rig_close(r);
}

/* ---- gradients ---- */

/* L = w . out + c . logdet of either direction. */
typedef struct gradient_case {
    flow_rig *r;
    double in[SAMPLES * MAX_DIM], *w, *c;
} gradient_case;

static double flow_loss(void *arg) {
    gradient_case *k = arg;
    size_t whole = (size_t)(SAMPLES * k->r->flow->dim);
    double state[SAMPLES * MAX_DIM], logdet[SAMPLES], sum = 0;
    memcpy(state, k->in, whole * sizeof *state);
    rig_upload(k->r);
    rig_forward(k->r, SAMPLES, state, logdet);
    for (size_t i = 0; i < whole; i++) sum += k->w[i] * state[i];
    for (int i = 0; i < SAMPLES; i++) sum += k->c[i] * logdet[i];
    return sum;
}

/* Every scale, and a number of other parameters by lot. */
static void check_parameter_gradients(gradient_case *k, const double *grad) {
    flow_rig *r = k->r;
    double scale = 1;
    for (size_t i = 0; i < r->total; i++) scale = fmax(scale, fabs(grad[i]));
    rng lot = rng_stream((rng_key){.seed = 9, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < r->flow->params->count; i++) {
        const param *p = &r->flow->params->items[i];
        size_t at = p->offset + rng_below(&lot, (uint32_t)p->count);
        double slope = slope_at(&r->values[at], flow_loss, k);
        if (!(fabs(slope - grad[at]) <= 1e-7 * scale))
            test_fail(__FILE__, __LINE__, "gradient of %s[%zu] is %.10g, by finite differences %.10g",
                      p->name, at - p->offset, grad[at], slope);
    }
}

static void check_gradients(const char *device_name, const shape_case *c) {
    gradient_case k = {.r = rig_for(device_name, c, SAMPLES)};
    size_t whole = (size_t)(SAMPLES * k.r->flow->dim);
    k.w = draw_normal(whole, 1, 11);
    k.c = draw_normal(SAMPLES, 1, 12);
    double *start = draw_normal(whole, 1, 13), state[SAMPLES * MAX_DIM], dstate[SAMPLES * MAX_DIM],
           logdet[SAMPLES];
    memcpy(k.in, start, whole * sizeof *start);
    memcpy(state, start, whole * sizeof *start);
    memcpy(dstate, k.w, whole * sizeof *start);
    rig_forward(k.r, SAMPLES, state, logdet);
    rig_backward(k.r, SAMPLES, state, dstate, k.c);
    double *grad = rig_grad(k.r);
    CHECK_CLOSE(state, start, whole, 1e-12); /* the input, recovered */
    check_gradient("input gradient", k.in, whole, dstate, flow_loss, &k, 1e-7);
    check_parameter_gradients(&k, grad);
    free(k.w), free(k.c), free(start), free(grad);
    rig_close(k.r);
}

TEST(flow__backward_is_the_gradient_of_forward) {
    for_all_shapes(check_gradients, "ref");
}

static void check_accumulation(const char *device_name, const shape_case *c) {
    enum { N = 60 };
    flow_rig *r = rig_for(device_name, c, N);
    size_t whole = (size_t)(N * r->flow->dim);
    double *start = draw_normal(whole, 1, 14), *weights = draw_normal(whole, 1, 15),
           *dlogdet = draw_normal(N, 1, 16);
    double *state = new_numbers(whole), *dstate[3], *grad[3];
    for (int i = 0; i < 3; i++) { /* twice with, once without gradients of parameters */
        if (i == 2) r->run->pass.grad = NULL;
        dstate[i] = new_numbers(whole);
        memcpy(state, start, whole * sizeof *state);
        memcpy(dstate[i], weights, whole * sizeof *state);
        rig_backward(r, N, state, dstate[i], dlogdet);
        grad[i] = rig_grad(r);
    }
    CHECK(norm_of(grad[0], r->total) > 0);
    for (size_t i = 0; i < r->total; i++) grad[0][i] *= 2;
    CHECK_CLOSE(grad[1], grad[0], r->total, device_tolerance(r->l->d));
    CHECK(memcmp(grad[2], grad[1], r->total * sizeof(double)) == 0);
    CHECK(memcmp(dstate[0], dstate[1], whole * sizeof(double)) == 0);
    CHECK_CLOSE(dstate[2], dstate[0], whole, device_tolerance(r->l->d));
    for (int i = 0; i < 3; i++) free(dstate[i]), free(grad[i]);
    free(start), free(weights), free(dlogdet), free(state);
    rig_close(r);
}

TEST(flow__gradients_accumulate_and_are_left_alone_where_not_wanted) {
    for_all_shapes(check_accumulation, NULL);
}

/* ---- devices ---- */

/* All that a flow computes for n samples, side by side. */
typedef struct results {
    double *forward, *inverse, *logdet, *dstate, *grad;
    size_t whole, n, total;
} results;

/* kept_mib: activations kept between a pass and its backward pass */
static results run_all(const char *device_name, const char *content, int n, double kept_mib) {
    flow_rig *r = rig_open(device_name, 3, content, 3, 2, NULL, 0, n + 30, 5);
    if (kept_mib > 0) rig_keep(r, kept_mib);
    results o = {.whole = (size_t)(n * 5), .n = (size_t)n, .total = r->total};
    double *dlogdet = draw_normal(o.n, 1, 20);
    o.forward = draw_normal(o.whole, 1, 21);
    o.inverse = draw_normal(o.whole, 1, 21);
    o.dstate = draw_normal(o.whole, 1, 22);
    o.logdet = new_numbers(2 * o.n);
    double *state = new_numbers(o.whole);
    rig_forward(r, n, o.forward, o.logdet);
    memcpy(state, o.forward, o.whole * sizeof *state);
    rig_backward(r, n, state, o.dstate, dlogdet);
    rig_inverse(r, n, o.inverse, o.logdet + n);
    o.grad = rig_grad(r);
    free(dlogdet), free(state);
    rig_close(r);
    return o;
}

static void results_free(results *o) {
    free(o->forward), free(o->inverse), free(o->logdet), free(o->dstate), free(o->grad);
}

/* Number i of the batch sizes and shapes. With slope 1 nothing has a kink, and the gradients agree to
 * rounding. With 0.3 a unit within rounding of zero may take the other slope: then its sample's gradient is
 * another one, and many samples have to agree all the same. */
static void check_agreement(int i, int kinks, const char *transforms) {
    static const int sizes[] = {1, 5, 24, 25, 47, 48, 49, 200, 1000};
    static const double kept_mib[] = {0, 0.2, 100}; /* no layer, some, all of them keep their activations */
    char content[256];
    snprintf(content, sizeof content,
             "[model]\nlaw = %s\nblocks = 1\ndepth = %d\nwidth = %d\nslope = %s\ntransforms = %s\n",
             i % 2 ? "shear" : "affine", 1 + i % 3, 16 + i, kinks ? "0.3" : "1", transforms);
    results expected = run_all("ref", content, sizes[i], 0);
    FOR_EACH_DEVICE (d) {
        results found = run_all(device_kinds[d]->name, content, sizes[i], kept_mib[i % 3]);
        double tolerance = kinks && device_kinds[d]->real_size == 4 ? 5e-3 : 1e-5;
        CHECK_CLOSE(found.forward, expected.forward, found.whole, 1e-5);
        CHECK_CLOSE(found.inverse, expected.inverse, found.whole, 1e-5);
        CHECK_CLOSE(found.logdet, expected.logdet, 2 * found.n, 1e-5);
        CHECK_CLOSE(found.dstate, expected.dstate, found.whole, tolerance);
        CHECK_CLOSE(found.grad, expected.grad, found.total, tolerance);
        results_free(&found);
    }
    results_free(&expected);
}

TEST(flow__devices_agree_with_the_reference_on_residual_networks) {
    static const int sizes[] = {1, 25, 200};
    for (int i = 0; i < 3; i++) {
        char content[256];
        snprintf(content, sizeof content,
                 "[model]\nnet = residual\nresidual = %d\nlaw = %s\nblocks = 1\nwidth = %d\nslope = 1\n",
                 1 + i, i % 2 ? "shear" : "affine", 15 + i);
        results expected = run_all("ref", content, sizes[i], 0);
        FOR_EACH_DEVICE (d) {
            results found = run_all(device_kinds[d]->name, content, sizes[i], 0);
            CHECK_CLOSE(found.forward, expected.forward, found.whole, 1e-5);
            CHECK_CLOSE(found.inverse, expected.inverse, found.whole, 1e-5);
            CHECK_CLOSE(found.logdet, expected.logdet, 2 * found.n, 1e-5);
            CHECK_CLOSE(found.dstate, expected.dstate, found.whole, 5e-5);
            CHECK_CLOSE(found.grad, expected.grad, found.total, 5e-5);
            results_free(&found);
        }
        results_free(&expected);
    }
}

TEST(flow__devices_agree_with_the_reference_for_any_batch_size_and_memory) {
    char transforms[TRANSFORMS_TEXT];
    for (int k = 0; transforms_to_try(k, transforms); k++)
        for (int i = 0; i < 18; i++) check_agreement(i / 2, i % 2, transforms);
}

TEST(flow__scales_are_the_parameters_that_have_bounds) {
    flow_rig *r = rig_for("ref", &(shape_case){"affine", "joint", 2, 1, NULL, PLAIN_NETS}, 1);
    const param_list *list = r->flow->params;
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        int is_scale = strcmp(p->name + strlen(p->name) - 2, ".s") == 0;
        CHECK(param_is_bounded(p) == is_scale);
        CHECK(!is_scale || (p->lo == -LAW_SCALE_LIMIT && p->hi == LAW_SCALE_LIMIT));
    }
    CHECK(params_bounded(list) == (size_t)r->flow->layers);
    rig_close(r);
}

/* ---- chains ---- */

TEST(flow__a_step_has_the_transforms_of_the_recipe_in_their_order) {
    flow_rig *r = rig_for("ref", &(shape_case){"affine", "joint", 2, 1, "coupling coupling", PLAIN_NETS}, 1);
    CHECK(r->flow->steps == 6 && r->flow->layers == 12 && !flow_is_plain(r->flow));
    for (int i = 0; i < 12; i++) CHECK_TEXT(r->flow->chain[i].kind->name, "coupling");
    CHECK_TEXT(r->flow->params->items[0].name, "layer.000.s");
    CHECK_TEXT(r->flow->params->items[r->flow->params->count - 1].name, "layer.011.B.02.b");
    text described = {0};
    flow_describe(r->flow, &described);
    CHECK_TEXT(described.chars, "6 steps of coupling, coupling");
    text_free(&described);
    rig_close(r);
    r = rig_for("ref", &(shape_case){"affine", "joint", 2, 1, "coupling", PLAIN_NETS}, 1);
    CHECK(r->flow->steps == 6 && r->flow->layers == 6 && flow_is_plain(r->flow));
    rig_close(r);
}

TEST(flow__transforms_that_make_no_flow_are_refused) {
    static const char *const words[][2] = {{"coupling spline", "expected words out of coupling"},
                                           {"", "expected a coupling among them"},
                                           {"coupling coupling coupling coupling coupling coupling coupling "
                                            "coupling coupling",
                                            "more than 8"}};
    lab *l = lab_open("ref", 1);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        recipe *r = NULL;
        param_list params = {.ctx = l->ctx};
        flow *f = NULL;
        CHECK_STATUS(recipe_create(l->ctx, &r, "test.recipe"), JF_OK);
        CHECK_STATUS(flow_declare(r), JF_OK);
        CHECK_STATUS(recipe_set(r, "model.transforms", words[i][0]), JF_OK);
        if (recipe_check(r) == JF_OK)
            CHECK_STATUS(flow_create(l->ctx, &f, l->d, r, &params, "", 2, 1, &(flow_origin){0}),
                         JF_ERROR_RECIPE);
        CHECK_HAS(jf_context_error(l->ctx), "model.transforms");
        CHECK_HAS(jf_context_error(l->ctx), words[i][1]);
        CHECK(f == NULL);
        params_free(&params);
        recipe_free(r);
    }
    lab_close(l);
}

TEST(flow__names_of_parameters_begin_with_the_prefix) {
    char transforms[TRANSFORMS_TEXT], content[160];
    for (int k = 0; transforms_to_try(k, transforms); k++) {
        lab *l = lab_open("ref", 1);
        snprintf(content, sizeof content, "[model]\nblocks = 1\ndepth = 1\nwidth = 3\ntransforms = %s\n",
                 transforms);
        recipe *r = recipe_of(l->ctx, content);
        param_list params = {.ctx = l->ctx};
        flow *first = NULL, *second = NULL;
        CHECK_STATUS(flow_create(l->ctx, &first, l->d, r, &params, "", 2, 1, &(flow_origin){0}), JF_OK);
        int count = params.count;
        CHECK_STATUS(flow_create(l->ctx, &second, l->d, r, &params, "y.", 2, 1, &(flow_origin){0}), JF_OK);
        CHECK(params.count == 2 * count);
        for (int i = 0; i < count; i++) {
            CHECK(strncmp(params.items[i].name, "layer.", 6) == 0);
            CHECK(strncmp(params.items[count + i].name, "y.", 2) == 0);
            CHECK_TEXT(params.items[count + i].name + 2, params.items[i].name);
        }
        for (int i = 0; i < first->tables.count; i++)
            CHECK_TEXT(second->tables.items[i].name + 2, first->tables.items[i].name);
        flow_free(first);
        flow_free(second);
        params_free(&params);
        recipe_free(r);
        lab_close(l);
    }
}

/* A start that writes down what reaches it, into the first parameter of the flow. */
static jf_status write_down(const transform *t, const pass *p, int n, const real *state, real *params) {
    (void)t, (void)n;
    p->d->kind->copy(p->d, params, state, 1);
    return JF_OK;
}

TEST(flow__start_shows_a_transform_what_those_before_it_leave) {
    enum { AT = 4 }; /* its place */
    flow_rig *r = rig_for("ref", &(shape_case){"affine", "joint", 2, 1, NULL, PLAIN_NETS}, 2);
    transform_kind watched = *r->flow->chain[AT].kind;
    double *start = draw_normal(6, 1, 3), reaches[6];
    flow_run_put(r->run, 2, start);
    for (int i = 0; i < AT; i++)
        r->flow->chain[i].kind->forward(&r->flow->chain[i], &r->run->pass, 2, r->run->state, r->run->logdet);
    flow_run_get(r->run, 2, reaches);
    CHECK(!flow_has_start(r->flow));
    watched.start = write_down;
    r->flow->chain[AT].kind = &watched;
    CHECK(flow_has_start(r->flow));
    flow_run_put(r->run, 2, start);
    CHECK_STATUS(flow_start(r->run, 2, r->params), JF_OK);
    double *found = lab_get(r->l, r->params, r->total);
    CHECK(reaches[0] != start[0] && found[0] == reaches[0]);
    CHECK(memcmp(found + 1, r->values + 1, (r->total - 1) * sizeof *found) == 0); /* and nothing else */
    free(start), free(found);
    rig_close(r);
}

/* ---- masks ---- */

static uint8_t *masks_of(int *layers, int dim_x, int dim_y, int fixed, int blocks, uint64_t seed) {
    jf_context *ctx = NULL;
    uint8_t *masks = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(masks_create(ctx, &masks, layers, dim_x, dim_y, fixed, blocks, seed), JF_OK);
    jf_context_free(ctx);
    return masks;
}

static int moved(const uint8_t *mask, int dim) {
    int count = 0;
    for (int i = 0; i < dim; i++) {
        CHECK(mask[i] <= 1);
        count += mask[i];
    }
    return count;
}

TEST(masks__a_block_in_three_dimensions_has_all_six) {
    int layers = 0, in_order = 0;
    uint8_t *masks = masks_of(&layers, 2, 1, 0, 8, 3);
    CHECK(layers == 48);
    for (int block = 0; block < 8; block++) {
        int seen[8] = {0}, last = 0, ordered = 1;
        for (int i = 0; i < 6; i++) {
            const uint8_t *m = masks + (block * 6 + i) * 3;
            int bits = m[0] + 2 * m[1] + 4 * m[2];
            seen[bits]++;
            ordered &= bits > last;
            last = bits;
        }
        for (int bits = 1; bits <= 6; bits++) CHECK(seen[bits] == 1);
        CHECK(seen[0] == 0 && seen[7] == 0);
        in_order += ordered;
    }
    CHECK(in_order < 4); /* in random order */
    free(masks);
}

TEST(masks__order_follows_from_the_seed) {
    static const int dims[][2] = {{2, 1}, {4, 3}};
    for (int i = 0; i < 2; i++) {
        int layers = 0;
        size_t dim = (size_t)(dims[i][0] + dims[i][1]);
        uint8_t *masks[3];
        for (int k = 0; k < 3; k++) masks[k] = masks_of(&layers, dims[i][0], dims[i][1], 0, 4, k < 2 ? 7 : 8);
        CHECK(memcmp(masks[0], masks[1], (size_t)layers * dim) == 0);
        CHECK(memcmp(masks[0], masks[2], (size_t)layers * dim) != 0);
        for (int k = 0; k < 3; k++) free(masks[k]);
    }
}

TEST(masks__every_shape_keeps_something_and_moves_something) {
    for (int dim_x = 1; dim_x <= 9; dim_x++)
        for (int dim_y = 0; dim_y <= 5; dim_y++)
            for (int fixed = 0; fixed < 2; fixed++) {
                int dim = dim_x + dim_y, layers = 0;
                if (dim < 2) continue;
                uint8_t *masks = masks_of(&layers, dim_x, dim_y, fixed, 2, 5), reached[16] = {0};
                CHECK(layers >= 2);
                for (int i = 0; i < layers; i++) {
                    const uint8_t *m = masks + i * dim;
                    CHECK(moved(m, dim) >= 1 && moved(m, dim) < dim);
                    if (fixed) CHECK(moved(m + dim_x, dim_y) == 0);
                    for (int k = 0; k < dim; k++) reached[k] |= m[k];
                }
                for (int k = 0; k < (fixed ? dim_x : dim); k++) CHECK(reached[k]); /* nothing is left out */
                free(masks);
            }
}

TEST(masks__higher_dimensions_come_in_complementary_pairs) {
    for (int fixed = 0; fixed < 2; fixed++) {
        int layers = 0, dim = 9, free_dim = fixed ? 5 : 9;
        uint8_t *masks = masks_of(&layers, 5, 4, fixed, 3, 6);
        CHECK(layers == 18);
        for (int i = 0; i < layers; i += 2) {
            const uint8_t *a = masks + i * dim, *b = a + dim;
            for (int k = 0; k < free_dim; k++) CHECK(a[k] + b[k] == 1);
            CHECK(abs(moved(a, free_dim) - moved(b, free_dim)) == 1); /* halves */
            if (i) CHECK(memcmp(a, a - 2 * dim, (size_t)dim) != 0);
        }
        free(masks);
    }
}

TEST(masks__impossible_ones_are_refused_with_a_sentence) {
    lab *l = lab_open("ref", 1);
    uint8_t *masks = NULL, given[5000] = {1};
    flow *f = NULL;
    param_list params = {.ctx = l->ctx};
    int layers = 0;
    CHECK_STATUS(masks_create(l->ctx, &masks, &layers, 1, 0, 0, 4, 1), JF_ERROR_SHAPE);
    CHECK(masks == NULL);
    CHECK_HAS(jf_context_error(l->ctx), "at least 2 elements");
    CHECK_HAS(jf_context_error(l->ctx), "found 1 of x and 0 of y");
    CHECK_STATUS(masks_create(l->ctx, &masks, &layers, 4000, 97, 0, 4, 1), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(l->ctx), "4097");
    recipe *joint = recipe_of(l->ctx, "[model]\n"),
           *fixed = recipe_of(l->ctx, "[model]\ncondition = fixed\n");
    CHECK_STATUS(flow_create(l->ctx, &f, l->d, joint, &params, "", 4000, 1000,
                             &(flow_origin){.seed = 1, .masks = given, .steps = 1}),
                 JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(l->ctx), "5000");
    static const uint8_t all[3] = {1, 1, 1}, none[3] = {0}, moves_y[3] = {1, 0, 1};
    CHECK_STATUS(flow_create(l->ctx, &f, l->d, joint, &params, "", 2, 1,
                             &(flow_origin){.seed = 1, .masks = all, .steps = 1}),
                 JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(l->ctx), "keeps 0 and transforms 3");
    CHECK_STATUS(flow_create(l->ctx, &f, l->d, joint, &params, "", 2, 1,
                             &(flow_origin){.seed = 1, .masks = none, .steps = 1}),
                 JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(l->ctx), "keeps 3 and transforms 0");
    CHECK_STATUS(flow_create(l->ctx, &f, l->d, fixed, &params, "", 2, 1,
                             &(flow_origin){.seed = 1, .masks = moves_y, .steps = 1}),
                 JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(l->ctx), "step 0 transforms y");
    CHECK(f == NULL);
    params_free(&params);
    recipe_free(joint);
    recipe_free(fixed);
    lab_close(l);
}
