/* A device that fails late, as one with a queue does: whatever is under way ends with its status, and files
 * that were good stay good. And what a model keeps between two uses. */
#include "counting_device.h"
#include "judge/judge.h"
#include "model/use.h"
#include "train_fixture.h"
#include <pthread.h>

extern const device_kind device_ref;

enum { PLACES = 25 }; /* at which it fails, spread over all that is asked of it */

static run *open_on(const device_kind *kind) {
    char content[600];
    FILE *file = fopen(test_path("t.csv"), "w");
    CHECK(file != NULL);
    for (int i = 0; i < 80; i++) fprintf(file, "%g,%g,%g,%d\n", sin(i), cos(1.7 * i), sin(0.3 * i), i % 2);
    CHECK(fclose(file) == 0);
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 3\ny = 1\ndiscrete = yes\nvalidation = 0.2\n" TINY_MODEL
             "[train]\nbatch = 10\nprecondition = 1\nprecondition_batches = 2\nanneal = 1\nepochs = "
             "3\nks_every = 2\n"
             "checkpoint = 0\n",
             test_path("t.csv"));
    return run_open_on(content, kind, 1);
}

typedef jf_status (*action)(run *r);

/* Calls that something takes, up to the last one whose result it has seen. */
static long calls_of(action act) {
    run *r = open_on(&counting_device);
    long before = counting_calls(r->m->d);
    CHECK_STATUS(act(r), JF_OK);
    long calls = counting_last_return(r->m->d) - before;
    run_close(r);
    return calls;
}

/* At each of the places the action ends with the status of the device. */
static void check_fails(action act, const char *what) {
    long calls = calls_of(act);
    for (int i = 0; i <= PLACES; i++) {
        run *r = open_on(&counting_device);
        long at = 1 + (calls - 1) * i / PLACES;
        counting_fail_after(r->m->d, counting_calls(r->m->d) + at);
        jf_status status = act(r);
        if (status != JF_ERROR_DEVICE)
            test_fail(__FILE__, __LINE__, "%s, failed at call %ld of %ld: status %d, \"%s\"", what, at, calls,
                      status, jf_context_error(r->ctx));
        CHECK_HAS(jf_context_error(r->ctx), "counting device: failed after");
        counting_fail_after(r->m->d, 0);
        run_close(r);
    }
}

static jf_status train(run *r) {
    return run_train(r, NULL, 0);
}

TEST(train__ends_with_the_status_of_a_device_that_failed_late) {
    check_fails(train, "training");
}

/* A run that failed left a checkpoint of before, from which another device goes on as if nothing had been. */
TEST(train__a_late_failure_leaves_the_last_checkpoint_as_it_was) {
    device_kind good = device_ref; /* under this name its runs go on without a warning: */
    good.name = counting_device.name;
    run *whole = open_on(&good);
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    long calls = calls_of(train);
    for (int i = 1; i < PLACES; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "run%d", i);
        run *failed = open_on(&counting_device), *resumed = open_on(&good);
        counting_fail_after(failed->m->d, counting_calls(failed->m->d) + calls * i / PLACES);
        jf_status status = run_train(failed, test_path(folder), 0);
        CHECK(status == JF_ERROR_DEVICE);
        counting_fail_after(failed->m->d, 0);
        const char *said = strstr(jf_context_error(failed->ctx), " holds the run as it was after ");
        char *path;
        CHECK_STATUS(file_join(resumed->ctx, &path, test_path(folder), "checkpoint.safetensors"), JF_OK);
        FILE *file = fopen(path, "rb");
        CHECK((said != NULL) == (file != NULL)); /* and what is there is said */
        if (file) {                              /* it came as far as one */
            fclose(file);
            CHECK_STATUS(run_train(resumed, test_path(folder), 1), JF_OK);
            check_same_end(whole, test_path("whole"), resumed, test_path(folder));
        }
        free(path);
        run_close(failed);
        run_close(resumed);
    }
    run_close(whole);
}

/* ---- use ---- */

enum { ROWS = 5, DIM = 4 };

static jf_status forward(run *r) {
    double state[DIM * ROWS] = {0.1, 0.2, 1, 0.3}, logdet[ROWS];
    return model_forward(r->m, ROWS, state, logdet);
}
static jf_status inverse(run *r) {
    double state[DIM * ROWS] = {0.1, 0.2, 1, 0.3};
    return model_inverse(r->m, ROWS, state, NULL);
}
static jf_status evaluate(run *r) {
    double state[DIM * ROWS] = {0.1, 0.2, 1, 0.3};
    loss_terms terms;
    return model_evaluate(r->m, ROWS, state, NULL, &terms);
}
static jf_status sample(run *r) {
    double rows[DIM * ROWS] = {0, 0, 1};
    return model_sample(r->m, (latent_points){1, LATENT_SAMPLES, 0, 1}, DATA_UNITS, ROWS, rows, NULL);
}
static jf_status save(run *r) {
    return model_save(r->m, test_path("model"));
}

TEST(model__ends_with_the_status_of_a_device_that_failed_late) {
    check_fails(forward, "encoding");
    check_fails(inverse, "decoding");
    check_fails(evaluate, "evaluating");
    check_fails(sample, "sampling");
}

TEST(model__is_not_saved_by_a_device_that_failed_late) {
    check_fails(save, "saving");
    run *r = open_on(&device_ref);
    model *back = NULL;
    CHECK_STATUS(model_load(r->ctx, &back, test_path("model"), "ref", 1, recipe_declare_all),
                 JF_OK); /* the good one */
    CHECK(same_weights(back, r->m));
    model_free(back);
    run_close(r);
}

/* ---- judging ---- */

static jf_status judge(run *r) {
    judgement *j = NULL;
    jf_status status = judge_run(r->m, &j, 30, 1);
    CHECK((status == JF_OK) == (j != NULL));
    judge_free(j);
    return status;
}

TEST(judge__ends_with_the_status_of_a_device_that_failed_late) {
    check_fails(judge, "judging");
}

/* ---- what is kept between two uses ---- */

TEST(model__keeps_its_buffers_between_two_uses) {
    run *r = open_on(&counting_device);
    double state[DIM * 40] = {0.1, 0.2, 1, 0.3}, small[DIM * 7];
    CHECK_STATUS(model_forward(r->m, 7, state, NULL), JF_OK);
    const int rows[] = {7, 3, 40, 40, 1}, grows[] = {0, 0, 1, 0, 0};
    for (int i = 0; i < 5; i++) {
        size_t before = strlen(counting_trace(r->m->d));
        memset(state, 0, sizeof state);
        CHECK_STATUS(model_inverse(r->m, rows[i], state, NULL), JF_OK);
        CHECK((strchr(counting_trace(r->m->d) + before, 'A') != NULL) == grows[i]);
        if (i == 0) memcpy(small, state, sizeof small);
        CHECK(memcmp(state, small, DIM * sizeof *state) == 0); /* and the results are the same */
    }
    run_close(r);
}

typedef struct user {
    pthread_t thread;
    const model *m;
    double state[DIM * 50];
    jf_status status;
} user;

static void *use(void *arg) {
    user *u = arg;
    for (int i = 0; i < 20 && u->status == JF_OK; i++) {
        for (int k = 0; k < DIM * 50; k++) u->state[k] = 0.01 * k;
        u->status = model_inverse(u->m, 50, u->state, NULL);
    }
    return NULL;
}

/* Of the reference, which has no state of its own. */
TEST(model__may_be_used_by_several_threads_at_once) {
    enum { USERS = 4 };
    run *r = open_on(&device_ref);
    user users[USERS] = {0}, alone = {.m = r->m};
    use(&alone);
    for (int i = 0; i < USERS; i++) {
        users[i].m = r->m;
        CHECK(pthread_create(&users[i].thread, NULL, use, &users[i]) == 0);
    }
    for (int i = 0; i < USERS; i++) {
        CHECK(pthread_join(users[i].thread, NULL) == 0);
        CHECK_STATUS(users[i].status, JF_OK);
        CHECK(memcmp(users[i].state, alone.state, sizeof alone.state) == 0);
    }
    run_close(r);
}
