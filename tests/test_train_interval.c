/* When the host looks at what the device has done makes no difference to a run: its steps, rollbacks and
 * history. */
#include "train_fixture.h"

static const char steady[] = "[data]\nset = crescents\n" TINY_MODEL
                             "[train]\nbatch = 50\nbatches = 12\nprecondition = 0\nanneal = 1\nepochs = 4\n"
                             "rate = 1e-2\nwarmup = 5\ndecay = cosine\nks_every = 0\ncheckpoint = 0\n";

/* ---- a device whose gradient is no number in some of its steps ---- */

/* Which: counted by the device over the whole run, without those that come to nothing after a fault, whose
 * number depends on when it is noticed. */
static const int faulty_steps[] = {6, 29, 40, 70};
static int steps;

static void faulty_adam(device *d, const adam_step *step) {
    const double bad = NAN;
    int counts = ((const step_state *)step->state)->fault == 0;
    steps += counts;
    for (size_t i = 0; i < sizeof faulty_steps / sizeof *faulty_steps; i++)
        if (counts && steps == faulty_steps[i])
            d->kind->put(d, real_at(d, step->grad, step->count - 1), &bad, 1);
    device_kinds[0]->adam(d, step);
}

static run *faulty_open(device_kind *kind, double interval) {
    *kind = *device_kinds[0];
    kind->adam = faulty_adam;
    run *r = run_open_on(steady, kind, 1);
    r->interval = interval;
    return r;
}

static const double intervals[] = {0, 1e-3, 1e9};
enum { INTERVALS = sizeof intervals / sizeof *intervals };

TEST(train__faults_noticed_late_lead_to_the_same_end) {
    device_kind kind;
    run *runs[INTERVALS];
    char folders[INTERVALS][32];
    for (int i = 0; i < INTERVALS; i++) {
        snprintf(folders[i], sizeof folders[i], "run%d", i);
        runs[i] = faulty_open(&kind, intervals[i]);
        steps = 0;
        CHECK_STATUS(run_train(runs[i], test_path(folders[i]), 0), JF_OK);
        CHECK_HAS(runs[i]->log, "values are not finite in the gradient: back to the start of epoch 3");
        CHECK_TEXT(runs[i]->log, runs[0]->log);
        check_same_end(runs[0], test_path(folders[0]), runs[i], test_path(folders[i]));
        CHECK(runs[i]->last.rate == runs[0]->last.rate && runs[i]->last.step == runs[0]->last.step);
    }
    CHECK(runs[0]->last.step == 5 * 12);
    CHECK(runs[0]->reports > 5 * 12 && runs[2]->reports < 5 + 5); /* epochs, and rollbacks */
    for (int i = 0; i < INTERVALS; i++) run_close(runs[i]);
}

static void stop_at_seven(run *r, const jf_training *p) {
    if (strcmp(p->phase, "train") == 0 && p->epoch == 2 && p->batch == 7) r->stop = 1;
}

TEST(train__stopped_anywhere_resumes_to_the_same_end_whatever_the_interval) {
    device_kind kind;
    for (int i = 0; i < INTERVALS; i++) {
        char folders[2][32];
        run *whole = faulty_open(&kind, intervals[i]), *stopped = faulty_open(&kind, 0),
            *resumed = faulty_open(&kind, intervals[i]);
        for (int k = 0; k < 2; k++) snprintf(folders[k], sizeof folders[k], "run%d.%d", i, k);
        stopped->watch = stop_at_seven;
        steps = 0;
        CHECK_STATUS(run_train(whole, test_path(folders[0]), 0), JF_OK);
        steps = 0;
        CHECK_STATUS(run_train(stopped, test_path(folders[1]), 0), JF_STOPPED);
        CHECK_STATUS(run_train(resumed, test_path(folders[1]), 1), JF_OK);
        CHECK(stopped->log[0] && resumed->log[0]); /* both met faults */
        check_same_end(whole, test_path(folders[0]), resumed, test_path(folders[1]));
        run_close(whole), run_close(stopped), run_close(resumed);
    }
}

/* Weights that are no numbers from the start: the run gives up, and names where it happened. */
TEST(train__a_fault_noticed_late_names_the_batch_and_the_layer_it_arose_in) {
    for (int i = 0; i < INTERVALS; i++) {
        run *r = run_open(steady);
        const double bad = NAN;
        size_t at = 0;
        for (int k = 0; k < r->m->parameters.count; k++)
            if (strstr(r->m->parameters.items[k].name, "layer.003.")) at = r->m->parameters.items[k].offset;
        CHECK(at > 0);
        r->m->d->kind->put(r->m->d, real_at(r->m->d, r->m->params, at), &bad, 1);
        r->interval = intervals[i];
        CHECK_STATUS(run_train(r, NULL, 0), JF_ERROR_NUMERIC);
        CHECK_HAS(jf_context_error(r->ctx), "anneal, epoch 1, batch 1: values are not finite after layer 3; "
                                            "weights are not finite themselves "
                                            "(layer.003.");
        run_close(r);
    }
}
