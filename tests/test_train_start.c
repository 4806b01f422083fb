/* Training of other transforms than couplings: they start from data, once, and learn. */
#include "train_fixture.h"

static const param *param_of(const model *m, const char *name) {
    for (int i = 0; i < m->parameters.count; i++)
        if (strcmp(m->parameters.items[i].name, name) == 0) return &m->parameters.items[i];
    test_fail(__FILE__, __LINE__, "there is no parameter %s", name);
    return NULL;
}

static void stop_at_once(run *r, const jf_training *p) {
    (void)p;
    r->stop = 1;
}

/* Crescents of both classes have mean 0 and deviation 1 in each element of x; those of one class do not. A
 * run that is stopped after its first batch, of hardly any rate, holds what the start gave. */
TEST(train__transforms_start_from_a_batch_of_all_classes) {
    run *r =
        run_open("[data]\nset = crescents\n" TINY_MODEL "transforms = actnorm coupling\n"
                 "[train]\nbatch = 2000\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\nrate = 1e-9\n"
                 "ks_every = 0\n");
    r->watch = stop_at_once;
    CHECK_STATUS(run_train(r, NULL, 0), JF_STOPPED);
    double *weights = weights_of(r->m);
    const double *a = weights + param_of(r->m, "layer.000.actnorm.a")->offset,
                 *b = weights + param_of(r->m, "layer.000.actnorm.b")->offset;
    for (int i = 0; i < 2; i++) {
        CHECK(a[i] != 0 && fabs(a[i]) < 0.1); /* a deviation of 1, as far as 2000 points tell */
        CHECK(b[i] != 0 && fabs(b[i]) < 0.1);
    }
    CHECK(fabs(a[2]) < 1e-6 && fabs(b[2]) < 1e-6); /* y as it was */
    free(weights);
    run_close(r);
}

TEST(train__a_run_that_was_started_from_data_resumes_to_the_same_end) {
    char content[600];
    run *whole = run_open(tiny_of(1, content)), *stopped = run_open(content), *resumed = run_open(content);
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    stopped->watch = stop_at_once;
    CHECK_STATUS(run_train(stopped, test_path("stopped"), 0), JF_STOPPED);
    CHECK_STATUS(run_train(resumed, test_path("stopped"), 1), JF_OK);
    check_same_end(whole, test_path("whole"), resumed, test_path("stopped"));
    run_close(whole);
    run_close(stopped);
    run_close(resumed);
}

TEST(train__a_chain_of_several_transforms_learns) {
    static const char *const rates[] = {"1e-9", "5e-3"};
    double loss[2];
    for (int i = 0; i < 2; i++) {
        char content[700];
        snprintf(content, sizeof content,
                 "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 2\nwidth = 16\n"
                 "transforms = actnorm mixing coupling\n[train]\nbatch = 200\nbatches = 25\nprecondition = "
                 "0\nanneal = 0\nepochs = 20\nrate = %s\nks_every = 0\n",
                 rates[i]);
        run *r = run_open(content);
        CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
        loss[i] = r->last.best;
        run_close(r);
    }
    CHECK(isfinite(loss[1]) && loss[1] < loss[0] - 1); /* nats, of two elements of x */
}
