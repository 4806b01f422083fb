/* What a forked child may not do: go on with a training of its parent, or use the parent's GPU. That every
 * function returns there is tested in test_public_calls.c. */
#include "test.h"
#include "train_fixture.h"

#include "base/lock.h"
#include "jointflow/jointflow.h"
#include "model/use.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int has_passed(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

typedef struct forking {
    pid_t parent, child;
    int child_passed, lock_stayed;
} forking;

/* The child returns, and the parent waits for its end. */
static int fork_once(void *user, const jf_progress *p) {
    forking *f = user;
    struct stat info;
    if (f->child || !p->training) return 0;
    f->child = fork();
    if (f->child == 0) {
        alarm(60);
        return 1;
    }
    f->child_passed = has_passed(f->child);
    f->lock_stayed = stat(test_path("run/" FOLDER_LOCK_NAME), &info) == 0;
    return 0;
}

TEST(forks__a_child_that_returns_from_the_progress_callback_fails_and_leaves_the_run_to_its_parent) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    forking f = {.parent = getpid()};
    jf_train_options o = {.size = sizeof o, .folder = test_path("run"), .threads = 2};
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_context_set_progress(ctx, fork_once, &f);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, tiny, "tiny"), JF_OK);
    jf_status status = jf_train(&m, ctx, r, &o);
    if (getpid() != f.parent) {
        int refused = status == JF_ERROR_ARGUMENT && !m && strstr(jf_context_error(ctx), "in a forked child");
        jf_recipe_free(r);
        jf_context_free(ctx);
        _exit(refused ? 0 : 1);
    }
    CHECK_STATUS(status, JF_OK);
    CHECK(f.child > 0 && f.child_passed && f.lock_stayed);
    jf_model_free(m);
    CHECK_STATUS(jf_model_load(&m, ctx, test_path("run"), NULL), JF_OK);
    jf_model_free(m);
    jf_recipe_free(r);
    jf_context_free(ctx);
}

static void some_memory(const device *d, size_t *left, size_t *all) {
    (void)d;
    *left = *all = (size_t)1 << 30;
}

TEST(forks__a_device_with_memory_of_its_own_is_refused_in_a_child) {
    device_kind kind = *device_kinds[0];
    kind.memory = some_memory;
    run *r = run_open_on(tiny, &kind, 2);
    double row[3] = {0, 0, 1};
    CHECK_STATUS(model_sample(r->m, (latent_points){1, LATENT_SAMPLES, 0, 1}, DATA_UNITS, 1, row, NULL),
                 JF_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        jf_status status =
            model_sample(r->m, (latent_points){1, LATENT_SAMPLES, 0, 1}, DATA_UNITS, 1, row, NULL);
        int refused =
            status == JF_ERROR_DEVICE && strstr(jf_context_error(r->ctx), "before this process was forked");
        run_close(r);
        _exit(refused ? 0 : 1);
    }
    CHECK(has_passed(child));
    run_close(r);
}
