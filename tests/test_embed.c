/* Embeddings of the condition: what they compute, their gradients, what is refused, and that the rest of a
 * model does not notice. */
#include "base/file.h"
#include "flow_fixture.h"
#include "model/use.h"
#include "train_fixture.h"

#define SMALL_FLOW                                                                                           \
    "[model]\ncondition = fixed\nblocks = 1\ndepth = 2\nwidth = 5\nembed_size = 3\nembed_width = 4\n"

/* y of 23 numbers, of 13 steps with two channels, of an image of 7 x 9 with two. */
static const struct embed_case {
    const char *keys;
    int dim_y;
} cases[] = {
    {"embed = dense\nembed_layers = 2\n", 23},
    {"embed = conv1d\nembed_channels = 3\nembed_layers = 2\n", 23},
    {"embed = conv1d\nembed_channels = 3\nembed_shape = 13x2\n", 26},
    {"embed = conv2d\nembed_channels = 3\nembed_layers = 2\nembed_shape = 7x9x2\n", 126},
    {"embed = conv2d\nembed_channels = 2\nembed_shape = 8x7\ntransforms = actnorm mixing coupling\n", 56},
};
enum { CASES = sizeof cases / sizeof *cases, DIM_X = 3, SAMPLES = 2 };

static flow_rig *rig_of(const char *device_name, const struct embed_case *c, int n_max) {
    char content[600];
    snprintf(content, sizeof content, SMALL_FLOW "%s", c->keys);
    return rig_open(device_name, 1, content, DIM_X, c->dim_y, NULL, 0, n_max, 3);
}

/* ---- what it computes ---- */

/* A convolution as it is written down: y' [h'][w'][out] of y [h][w][in], zeros around y beyond its edges. */
typedef struct picture {
    int h, w, c, top, left; /* what is read begins so far above and left of it */
    double *values;
} picture;

static double pixel(const picture *p, int row, int column, int c) {
    row -= p->top, column -= p->left;
    if (row < 0 || row >= p->h || column < 0 || column >= p->w) return 0;
    return p->values[(row * p->w + column) * p->c + c];
}

static double leaky(double t) {
    return t > 0 ? t : 0.1 * t;
}

static picture convolve(const picture *p, int kernel_h, int kernel_w, int stride_w, int h, int w, int out,
                        const double *weights, const double *bias) {
    picture made = {.h = h, .w = w, .c = out, .values = new_numbers((size_t)(h * w * out))};
    for (int i = 0; i < h; i++)
        for (int k = 0; k < w; k++)
            for (int o = 0; o < out; o++) {
                double t = bias[o];
                for (int a = 0; a < kernel_h; a++)
                    for (int b = 0; b < kernel_w; b++)
                        for (int c = 0; c < p->c; c++)
                            t += pixel(p, 2 * i + a, stride_w * k + b, c) *
                                 weights[((a * kernel_w + b) * p->c + c) * out + o];
                made.values[(i * w + k) * out + o] = leaky(t);
            }
    return made;
}

static const double *named(const flow_rig *r, const char *name) {
    for (int i = 0; i < r->params_list.count; i++)
        if (strcmp(r->params_list.items[i].name, name) == 0)
            return r->values + r->params_list.items[i].offset;
    test_fail(__FILE__, __LINE__, "there is no parameter %s", name);
    return NULL;
}

static void dense_layer(const flow_rig *r, int layer, const double *in, int from, int to, int linear,
                        double *out) {
    char name[32];
    snprintf(name, sizeof name, "embed.%02d.w", layer);
    const double *w = named(r, name);
    snprintf(name, sizeof name, "embed.%02d.b", layer);
    for (int o = 0; o < to; o++) {
        double t = named(r, name)[o];
        for (int i = 0; i < from; i++) t += in[i] * w[i * to + o];
        out[o] = linear ? t : leaky(t);
    }
}

static double *embedding_of(const flow_rig *r, const double *y, int n) {
    const embed *e = r->flow->embed;
    lab *l = r->l;
    real *out = lab_new(l, (size_t)(n * e->size)), *work = lab_new(l, embed_workspace(e, n, 0));
    net_pass p = {.d = l->d, .params = r->params, .work = work, .n = n};
    embed_forward(e, &p, lab_put(l, y, (size_t)(n * e->dim_y)), out);
    return lab_get(l, out, (size_t)(n * e->size));
}

TEST(embed__conv1d_is_two_strided_convolutions_and_two_dense_layers) {
    /* 23 steps: 2 (2 (t - 1) + 5 - 1) + 5 = 4 t + 9 = 25 for 4 places, so one zero on each side; 11 places,
     * then 4 */
    flow_rig *r = rig_of("ref", &cases[1], 1);
    double *y = draw_normal(23, 1, 5), hidden[4], expected[3];
    picture series = {.h = 23, .w = 1, .c = 1, .top = 1, .values = y};
    picture first = convolve(&series, 5, 1, 1, 11, 1, 3, named(r, "embed.00.w"), named(r, "embed.00.b"));
    picture second = convolve(&first, 5, 1, 1, 4, 1, 3, named(r, "embed.01.w"), named(r, "embed.01.b"));
    dense_layer(r, 2, second.values, 12, 4, 0, hidden);
    dense_layer(r, 3, hidden, 4, 3, 1, expected);
    double *found = embedding_of(r, y, 1);
    CHECK_CLOSE(found, expected, 3, 1e-13);
    free(y), free(found), free(first.values), free(second.values);
    rig_close(r);
}

TEST(embed__conv2d_is_two_strided_convolutions_and_two_dense_layers) {
    /* 7 rows: 4 t + 3 = 7 for one place; 9 columns: 11 for two, so one zero on each side of a row */
    flow_rig *r = rig_of("ref", &cases[3], 1);
    double *y = draw_normal(126, 1, 6), hidden[4], expected[3];
    picture image = {.h = 7, .w = 9, .c = 2, .left = 1, .values = y};
    picture first = convolve(&image, 3, 3, 2, 3, 5, 3, named(r, "embed.00.w"), named(r, "embed.00.b"));
    picture second = convolve(&first, 3, 3, 2, 1, 2, 3, named(r, "embed.01.w"), named(r, "embed.01.b"));
    dense_layer(r, 2, second.values, 6, 4, 0, hidden);
    dense_layer(r, 3, hidden, 4, 3, 1, expected);
    double *found = embedding_of(r, y, 1);
    CHECK_CLOSE(found, expected, 3, 1e-13);
    free(y), free(found), free(first.values), free(second.values);
    rig_close(r);
}

TEST(embed__number_of_convolutions_follows_from_the_length) {
    static const struct {
        const char *keys;
        int dim_y, convolutions;
    } lengths[] = {
        {"embed = conv1d\n", 5, 1},
        {"embed = conv1d\n", 35, 1},
        {"embed = conv1d\n", 60, 2},
        {"embed = conv1d\n", 128, 3},
        {"embed = conv1d\n", 1000, 6},
        {"embed = conv2d\nembed_shape = 28x28\n", 784, 2},
        {"embed = conv2d\nembed_shape = 64x200\n", 12800, 3},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        flow_rig *r = rig_of("ref", &(struct embed_case){lengths[i].keys, lengths[i].dim_y}, 1);
        if (r->flow->embed->layers != lengths[i].convolutions + 2)
            test_fail(__FILE__, __LINE__, "%s of %d numbers: %d convolutions, expected %d", lengths[i].keys,
                      lengths[i].dim_y, r->flow->embed->layers - 2, lengths[i].convolutions);
        rig_close(r);
    }
}

/* ---- gradients ---- */

typedef struct gradient_case {
    flow_rig *r;
    double *in, *w, *c; /* (n, dim), (n, dim), (n) */
} gradient_case;

/* w . F(in) + c . logdet */
static double flow_loss(void *arg) {
    gradient_case *k = arg;
    size_t whole = (size_t)(SAMPLES * k->r->flow->dim);
    double *state = new_numbers(whole), logdet[SAMPLES], sum = 0;
    memcpy(state, k->in, whole * sizeof *state);
    rig_upload(k->r);
    rig_forward(k->r, SAMPLES, state, logdet);
    for (size_t i = 0; i < whole; i++) sum += k->w[i] * state[i];
    for (int i = 0; i < SAMPLES; i++) sum += k->c[i] * logdet[i];
    free(state);
    return sum;
}

/* All of the embedding's, and one of every other tensor. */
static void check_parameters(gradient_case *k, const double *grad) {
    flow_rig *r = k->r;
    double scale = 1;
    for (size_t i = 0; i < r->total; i++) scale = fmax(scale, fabs(grad[i]));
    for (int i = 0; i < r->params_list.count; i++) {
        const param *p = &r->params_list.items[i];
        size_t count = strncmp(p->name, "embed.", 6) == 0 ? p->count : 1;
        for (size_t at = p->offset; at < p->offset + count; at++) {
            double slope = slope_at(&r->values[at], flow_loss, k);
            if (!(fabs(slope - grad[at]) <= 1e-7 * scale))
                test_fail(__FILE__, __LINE__, "gradient of %s[%zu] is %.10g, by finite differences %.10g",
                          p->name, at - p->offset, grad[at], slope);
        }
    }
}

static void check_gradients(const struct embed_case *c) {
    gradient_case k = {.r = rig_of("ref", c, SAMPLES)};
    size_t whole = (size_t)(SAMPLES * k.r->flow->dim);
    k.w = draw_normal(whole, 1, 11);
    k.c = draw_normal(SAMPLES, 1, 12);
    k.in = draw_normal(whole, 1, 13);
    double *state = draw_normal(whole, 1, 13), *dstate = draw_normal(whole, 1, 11), logdet[SAMPLES];
    rig_forward(k.r, SAMPLES, state, logdet);
    rig_backward(k.r, SAMPLES, state, dstate, k.c);
    double *grad = rig_grad(k.r);
    CHECK_CLOSE(state, k.in, whole, 1e-12); /* the input, recovered */
    check_gradient("input gradient", k.in, whole, dstate, flow_loss, &k, 1e-7);
    check_parameters(&k, grad);
    free(k.w), free(k.c), free(k.in), free(state), free(dstate), free(grad);
    rig_close(k.r);
}

TEST(embed__backward_is_the_gradient_of_forward) {
    for (int i = 0; i < CASES; i++) check_gradients(&cases[i]);
}

/* A step of training does without the gradient of y; that of the weights is the same. */
TEST(embed__gradient_of_the_weights_does_not_depend_on_that_of_y) {
    for (int i = 0; i < CASES; i++) {
        double *grads[2];
        size_t total = 0;
        for (int leave = 0; leave < 2; leave++) {
            flow_rig *r = rig_of("ref", &cases[i], SAMPLES);
            size_t whole = (size_t)(SAMPLES * r->flow->dim);
            double *state = draw_normal(whole, 1, 13), *dstate = draw_normal(whole, 1, 11), logdet[SAMPLES],
                   c[SAMPLES] = {1, -2};
            rig_forward(r, SAMPLES, state, logdet);
            r->run->pass.leave_dy = leave;
            rig_backward(r, SAMPLES, state, dstate, c);
            total = r->total;
            grads[leave] = rig_grad(r);
            free(state), free(dstate);
            rig_close(r);
        }
        CHECK_CLOSE(grads[1], grads[0], total, 0);
        free(grads[0]), free(grads[1]);
    }
}

/* ---- devices ---- */

static void check_device(const struct embed_case *c, const char *device_name) {
    enum { N = 37 };
    flow_rig *expected = rig_of("ref", c, N), *found = rig_of(device_name, c, N);
    size_t whole = (size_t)(N * expected->flow->dim);
    double *state[2], *dstate[2], *grad[2], logdet[2][N], weights[N];
    for (int i = 0; i < N; i++) weights[i] = i % 3 - 1;
    for (int i = 0; i < 2; i++) {
        flow_rig *r = i ? found : expected;
        state[i] = draw_normal(whole, 1, 21);
        dstate[i] = draw_normal(whole, 1, 22);
        rig_forward(r, N, state[i], logdet[i]);
    }
    CHECK_CLOSE(state[1], state[0], whole, 10 * device_tolerance(found->l->d));
    CHECK_CLOSE(logdet[1], logdet[0], N, 10 * device_tolerance(found->l->d));
    for (int i = 0; i < 2; i++) {
        flow_rig *r = i ? found : expected;
        rig_backward(r, N, state[i], dstate[i], weights);
        grad[i] = rig_grad(r);
    }
    CHECK_CLOSE(dstate[1], dstate[0], whole, 100 * device_tolerance(found->l->d));
    CHECK_CLOSE(grad[1], grad[0], expected->total, 100 * device_tolerance(found->l->d));
    for (int i = 0; i < 2; i++) free(state[i]), free(dstate[i]), free(grad[i]);
    rig_close(expected);
    rig_close(found);
}

TEST(embed__every_device_agrees_with_the_reference) {
    for (int i = 0; i < CASES; i++)
        FOR_EACH_DEVICE (d) check_device(&cases[i], device_kinds[d]->name);
}

/* ---- models ---- */

#define TINY_SERIES                                                                                          \
    "[data]\nset = oscillator\n[model]\ncondition = fixed\nblocks = 1\ndepth = 1\nwidth = 6\n"               \
    "embed_size = 4\nembed_width = 8\n"
#define TINY_TRAINING                                                                                        \
    "[train]\nbatch = 40\nbatches = 4\nprecondition = 2\nprecondition_batches = 4\nanneal = 2\nepochs = 3\n" \
    "rate = 1e-2\nks_every = 0\ncheckpoint = 0\n"
static const char *const tiny_models[] = {
    TINY_SERIES "embed = dense\n" TINY_TRAINING,
    TINY_SERIES "embed = conv1d\nembed_channels = 4\n" TINY_TRAINING,
    TINY_SERIES "embed = conv2d\nembed_channels = 4\nembed_shape = 16x8\n" TINY_TRAINING,
};
enum { TINY_MODELS = sizeof tiny_models / sizeof *tiny_models };

TEST(embed__model_comes_back_from_its_file_with_the_same_bits) {
    enum { N = 20 };
    for (int i = 0; i < TINY_MODELS; i++) {
        run *r = run_open(tiny_models[i]);
        model *loaded = NULL;
        const char *path = test_path("m.safetensors");
        CHECK_STATUS(model_save(r->m, path), JF_OK);
        CHECK_STATUS(model_load(r->ctx, &loaded, path, device_kinds[0]->name, 1, recipe_declare_all), JF_OK);
        CHECK(same_weights(r->m, loaded));
        CHECK(loaded->flow->embed && loaded->flow->embed->kind == r->m->flow->embed->kind);
        size_t whole = (size_t)(N * r->m->flow->dim);
        double *a = draw_normal(whole, 1, 1), *b = draw_normal(whole, 1, 1), logdet[2][N];
        CHECK_STATUS(model_forward(r->m, N, a, logdet[0]), JF_OK);
        CHECK_STATUS(model_forward(loaded, N, b, logdet[1]), JF_OK);
        CHECK_CLOSE(b, a, whole, 0);
        CHECK_CLOSE(logdet[1], logdet[0], N, 0);
        free(a), free(b);
        model_free(loaded);
        run_close(r);
    }
}

/* Another embedding than that of the file: its weights are compared before anything is made. */
TEST(embed__file_with_other_weights_than_its_recipe_says_is_refused) {
    run *r = run_open(tiny_models[1]);
    model *loaded = NULL;
    const char *path = test_path("m.safetensors");
    CHECK_STATUS(recipe_set(r->m->recipe, "model.embed_channels", "5"), JF_OK);
    CHECK_STATUS(model_save(r->m, path), JF_OK);
    CHECK_STATUS(model_load(r->ctx, &loaded, path, "ref", 1, recipe_declare_all), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(r->ctx), "\"embed.00.w\" is (5, 4), expected (5, 5)");
    run_close(r);
}

static void stop_in_epoch_2(run *r, const jf_training *p) {
    if (strcmp(p->phase, "train") == 0 && p->epoch == 2 && p->batch == 2) r->stop = 1;
}

TEST(embed__stopped_and_resumed_run_ends_with_the_same_bytes) {
    for (int i = 0; i < TINY_MODELS; i++) {
        char whole_at[32], stopped_at[32];
        snprintf(whole_at, sizeof whole_at, "whole%d", i);
        snprintf(stopped_at, sizeof stopped_at, "stopped%d", i);
        run *whole = run_open(tiny_models[i]), *stopped = run_open(tiny_models[i]),
            *resumed = run_open(tiny_models[i]);
        char *whole_folder = strdup(test_path(whole_at)), *folder = strdup(test_path(stopped_at));
        stopped->watch = stop_in_epoch_2;
        CHECK_STATUS(run_train(whole, whole_folder, 0), JF_OK);
        CHECK_STATUS(run_train(stopped, folder, 0), JF_STOPPED);
        CHECK_STATUS(run_train(resumed, folder, 1), JF_OK);
        check_same_end(whole, whole_folder, resumed, folder);
        free(whole_folder), free(folder);
        run_close(whole);
        run_close(stopped);
        run_close(resumed);
    }
}

/* Weights of the embedding move, and the bytes do not depend on the number of threads. */
TEST(embed__training_moves_its_weights_alike_for_any_number_of_threads) {
    for (int i = 0; i < TINY_MODELS; i++) {
        run *one = run_open_on(tiny_models[i], device_kinds[0], 1),
            *three = run_open_on(tiny_models[i], device_kinds[0], 3);
        double *before = weights_of(one->m);
        CHECK_STATUS(run_train(one, NULL, 0), JF_OK);
        CHECK_STATUS(run_train(three, NULL, 0), JF_OK);
        CHECK(same_weights(one->m, three->m));
        double *after = weights_of(one->m);
        for (int k = 0; k < one->m->parameters.count; k++) {
            const param *p = &one->m->parameters.items[k];
            if (strncmp(p->name, "embed.", 6) == 0)
                CHECK(relative_error(after + p->offset, before + p->offset, p->count) > 1e-3);
        }
        free(before), free(after);
        run_close(one);
        run_close(three);
    }
}

/* ---- what is refused ---- */

static void check_refused(const char *content, int dim_y, image_size size, const char *words) {
    lab *l = lab_open("ref", 1);
    param_list params = {.ctx = l->ctx};
    recipe *r = recipe_of(l->ctx, content);
    flow *f = NULL;
    jf_status status = size.h ? flow_create_image(l->ctx, &f, l->d, r, &params, "", size, &(flow_origin){0})
                              : flow_create(l->ctx, &f, l->d, r, &params, "", 2, dim_y, &(flow_origin){0});
    CHECK_STATUS(status, JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(l->ctx), words);
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}

TEST(embed__refuses_what_it_cannot_serve_with_the_reason) {
    static const image_size none = {0}, image = {8, 8, 1, 1};
    check_refused("[model]\nembed = dense\n", 4, none,
                  "model.embed: found dense with model.condition = joint, expected fixed");
    check_refused("[model]\nembed = dense\ncondition = flow\n", 4, none,
                  "model.condition = flow, expected fixed");
    check_refused("[model]\nembed = dense\ncondition = fixed\n", 0, none, "there is no y to embed");
    check_refused("[model]\nembed = conv2d\ncondition = fixed\nnet = resnext\n", 0, image,
                  "x is an image here");
    check_refused("[model]\nembed = conv1d\ncondition = fixed\n", 4, none,
                  "found a y of 4 steps, expected at least 5 for 1 convolution of 5");
    check_refused("[model]\nembed = conv1d\ncondition = fixed\nembed_layers = 3\n", 28, none,
                  "found a y of 28 steps, expected at least 29 for 3 convolutions");
    check_refused("[model]\nembed = conv2d\ncondition = fixed\nembed_shape = 2x9\n", 18, none,
                  "found a y of 2 pixels along an axis, expected at least 3");
    check_refused("[model]\nembed = conv2d\ncondition = fixed\n", 64, none,
                  "model.embed_shape: found none, expected HEIGHTxWIDTH");
    check_refused("[model]\nembed = conv2d\ncondition = fixed\nembed_shape = 8x9\n", 64, none,
                  "found 8x9, which is 72 numbers, expected 64, those of y");
    check_refused("[model]\nembed = conv1d\ncondition = fixed\nembed_shape = 4x4x4\n", 64, none,
                  "found \"4x4x4\", expected STEPSxCHANNELS");
    static const char *const bad[] = {"x8",   "8x",      "8x0", "8 x 8",
                                      "-8x8", "8x8x1x1", "1e3", "99999999999999999999x1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char content[160];
        snprintf(content, sizeof content, "[model]\nembed = conv2d\ncondition = fixed\nembed_shape = %s\n",
                 bad[i]);
        check_refused(content, 64, none, "expected HEIGHTxWIDTH");
    }
}
