/* Dropout: passes and their backward passes see one mask, runs that are stopped or have other threads see the
 * same ones, and models that are used see none. */
#include "flow_fixture.h"
#include "train_fixture.h"

enum { SAMPLES = 5 };

#define DROPPED_NETS                                                                                         \
    "net = residual\nresidual = 2\nslope = 1\nwidth = 6\nhidden_gain = 1\noutput_gain = 0.4\n"
static const char dropping[] = "[model]\nlaw = spline\nblocks = 2\ndropout = 0.4\n" DROPPED_NETS;

/* ---- gradients ---- */

typedef struct loss_case {
    flow_rig *r;
    double *in, *w, *c; /* L = w . out + c . logdet */
} loss_case;

static double loss_of(void *arg) {
    const loss_case *k = arg;
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

/* The scalar that stands for the number of steps so far. */
static scalar *drop_at(flow_rig *r, double step) {
    device *d = r->l->d;
    scalar *s;
    CHECK_STATUS(d->kind->alloc_scalars(d, &s, 1), JF_OK);
    d->kind->put_scalars(d, s, &step, 1);
    r->run->pass.dropout = (dropout_source){.seed = 3, .step = s};
    return s;
}

TEST(dropout__backward_is_the_gradient_of_forward_with_its_mask) {
    flow_rig *r = rig_open("ref", 1, dropping, 3, 2, NULL, 0, SAMPLES, 5);
    scalar *step = drop_at(r, 12);
    size_t whole = (size_t)(SAMPLES * r->flow->dim);
    loss_case k = {r, draw_normal(whole, 1, 13), draw_normal(whole, 1, 11), draw_normal(SAMPLES, 1, 12)};
    double *state = new_numbers(whole), *dstate = new_numbers(whole), logdet[SAMPLES];
    memcpy(state, k.in, whole * sizeof *state);
    memcpy(dstate, k.w, whole * sizeof *state);
    rig_forward(r, SAMPLES, state, logdet);
    rig_backward(r, SAMPLES, state, dstate, k.c);
    CHECK_CLOSE(state, k.in, whole, 1e-12); /* by inverting: with the same mask */
    double *grad = lab_get(r->l, r->grad, r->total);
    check_gradient("input", k.in, whole, dstate, loss_of, &k, 1e-7);
    check_gradient("parameters", r->values, r->total, grad, loss_of, &k, 1e-7);
    r->l->d->kind->release_scalars(r->l->d, step);
    free(k.in), free(k.w), free(k.c), free(state), free(dstate), free(grad);
    rig_close(r);
}

/* Another step, another mask; without a step none, as without the key. */
TEST(dropout__masks_change_with_the_step_and_are_off_outside_of_training) {
    FOR_EACH_DEVICE (i) {
        const char *name = device_kinds[i]->name;
        char without[256];
        snprintf(without, sizeof without, "[model]\nlaw = spline\nblocks = 2\n" DROPPED_NETS);
        flow_rig *r = rig_open(name, 1, dropping, 3, 2, NULL, 0, SAMPLES, 5),
                 *plain = rig_open(name, 1, without, 3, 2, NULL, 0, SAMPLES, 5);
        double *in = draw_normal(SAMPLES * 5, 1, 2), out[5][SAMPLES * 5], logdet[SAMPLES];
        for (int k = 0; k < 5; k++) {
            memcpy(out[k], in, sizeof out[k]);
            if (k == 2) r->run->pass.dropout = (dropout_source){0};
            if (k == 3) { /* what is measured while training */
                scalar *s = drop_at(r, 1);
                r->run->pass = flow_measuring_pass(r->run);
                r->l->d->kind->release_scalars(r->l->d, s);
            }
            scalar *s = k < 2 ? drop_at(r, k) : NULL;
            rig_forward(k == 4 ? plain : r, SAMPLES, out[k], logdet);
            if (s) r->l->d->kind->release_scalars(r->l->d, s);
        }
        CHECK(relative_error(out[0], out[1], SAMPLES * 5) > 1e-3);
        CHECK(relative_error(out[0], out[2], SAMPLES * 5) > 1e-3);
        CHECK(memcmp(out[2], out[3], sizeof out[2]) == 0 && memcmp(out[2], out[4], sizeof out[2]) == 0);
        free(in);
        rig_close(r);
        rig_close(plain);
    }
}

/* ---- training ---- */

static const char run_text[] =
    "[data]\nset = crescents\n[model]\nblocks = 1\nnet = residual\nresidual = 1\nwidth = 12\n"
    "dropout = %s\n[train]\nbatch = 600\nbatches = 3\nprecondition = 0\nanneal = 0\nepochs = 2\n"
    "rate = 1e-2\nks_every = 0\ncheckpoint = 0\npatience = 0\n";

static void stop_in_the_second_epoch(run *r, const jf_training *p) {
    r->stop = p->step == 4;
}

static run *trained(const char *rate, const char *folder, int threads, int stop_and_resume) {
    char content[sizeof run_text + 16];
    snprintf(content, sizeof content, run_text, rate);
    run *r = run_open_on(content, device_kinds[0], threads);
    if (stop_and_resume) {
        r->watch = stop_in_the_second_epoch;
        CHECK_STATUS(run_train(r, folder, 0), JF_STOPPED);
        run_close(r);
        r = run_open_on(content, device_kinds[0], threads);
    }
    CHECK_STATUS(run_train(r, folder, stop_and_resume), JF_OK);
    return r;
}

TEST(dropout__runs_have_the_same_bytes_for_any_number_of_threads_and_when_resumed) {
    run *one = trained("0.3", test_path("one"), 1, 0), *two = trained("0.3", test_path("two"), 2, 0),
        *stopped = trained("0.3", test_path("stopped"), 1, 1);
    check_same_end(one, test_path("one"), two, test_path("two"));
    check_same_end(one, test_path("one"), stopped, test_path("stopped"));
    run *none = trained("0", test_path("none"), 1, 0);
    CHECK(!same_weights(one->m, none->m));
    run_close(one), run_close(two), run_close(stopped), run_close(none);
}

TEST(dropout__is_written_with_its_value_and_refused_where_it_does_not_apply) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int k = 0; k < 2; k++) {
        char content[sizeof run_text + 16];
        text written = {0};
        snprintf(content, sizeof content, run_text, k ? "0.25" : "0");
        recipe *r = checked_recipe(ctx, content);
        recipe_write(r, &written, 0);
        CHECK(strstr(written.chars, k ? "dropout = 0.25\n" : "dropout = 0\n"));
        text_free(&written);
        recipe_free(r);
    }
    recipe *bad = NULL;
    CHECK_STATUS(recipe_parse(ctx, &bad, "[data]\nset = crescents\n[model]\ndropout = 0.1\n", "bad"), JF_OK);
    CHECK_STATUS(recipe_declare_all(bad), JF_OK);
    CHECK(recipe_check(bad) != JF_OK);
    CHECK(strstr(jf_context_error(ctx), "model.dropout"));
    recipe_free(bad);
    jf_context_free(ctx);
}
