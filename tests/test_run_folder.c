/* One process at a time writes into a run folder, and what it finds there of another run is set aside whole.
 */
#include "interpose.h"
#include "train_fixture.h"

#include "base/lock.h"
#include "jointflow/jointflow.h"
#include "train/run_folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- trainings through the public interface ---- */

static const char small[] = "[data]\nset = crescents\n" TINY_MODEL
                            "[train]\nbatch = 50\nbatches = 4\nprecondition = 0\nanneal = 0\nepochs = 4\n"
                            "ks_every = 0\ncheckpoint = 0\n";

typedef struct user {
    jf_context *ctx;
    jf_recipe *recipe;
    char log[4096];
    void (*watch)(struct user *u, const jf_training *p); /* NULL, or called with every report */
    int done;                                            /* of the watcher */
    int stop;
} user;

static void note(void *data, const char *line) {
    user *u = data;
    size_t length = strlen(u->log);
    snprintf(u->log + length, sizeof u->log - length, "%s\n", line);
}

static user *user_open(void) {
    user *u = calloc(1, sizeof *u);
    CHECK(u != NULL);
    CHECK_STATUS(jf_context_create(&u->ctx), JF_OK);
    jf_context_set_log(u->ctx, note, u);
    CHECK_STATUS(jf_recipe_parse(&u->recipe, u->ctx, small, "small"), JF_OK);
    return u;
}

static void user_close(user *u) {
    jf_recipe_free(u->recipe);
    jf_context_free(u->ctx);
    free(u);
}

static int on_progress(void *data, const jf_progress *p) {
    user *u = data;
    if (u->watch && p->training) u->watch(u, p->training);
    return u->stop;
}

static jf_status train_with(user *u, const char *folder, int resume, uint64_t seed) {
    jf_model *m = NULL;
    jf_context_set_progress(u->ctx, on_progress, u);
    jf_status status = jf_train(&m, u->ctx, u->recipe,
                                &(jf_train_options){.size = sizeof(jf_train_options),
                                                    .folder = folder,
                                                    .resume = resume,
                                                    .seed = seed,
                                                    .threads = 1});
    jf_model_free(m);
    return status;
}

static void check_status(user *u, jf_status found, jf_status expected) {
    if (found != expected)
        test_fail(__FILE__, __LINE__, "status %d, expected %d: %s", found, expected,
                  jf_context_error(u->ctx));
}

static void train_whole(const char *folder, uint64_t seed) {
    user *u = user_open();
    check_status(u, train_with(u, folder, 0, seed), JF_OK);
    user_close(u);
}

static const char *in(const char *folder, const char *name) {
    char joined[256];
    snprintf(joined, sizeof joined, "%s/%s", folder, name);
    return test_path(joined);
}

static int same_file(const char *a, const char *b) {
    jf_context *ctx = NULL;
    char *one = NULL, *two = NULL;
    size_t size_one = 0, size_two = 0;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    int same = file_read(ctx, &one, &size_one, a, 1 << 24) == JF_OK &&
               file_read(ctx, &two, &size_two, b, 1 << 24) == JF_OK && size_one == size_two &&
               memcmp(one, two, size_one) == 0;
    free(one), free(two);
    jf_context_free(ctx);
    return same;
}

static void write_file(const char *path, const char *content) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(file_write(ctx, path, content, strlen(content)), JF_OK);
    jf_context_free(ctx);
}

/* ---- the lock ---- */

static void train_beside(user *u, const jf_training *p) {
    char me[32];
    (void)p;
    if (u->done++) return;
    snprintf(me, sizeof me, "process %ld on host ", (long)getpid());
    for (int resume = 0; resume < 2; resume++) {
        user *other = user_open();
        check_status(other, train_with(other, test_path("run"), resume, 1), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(other->ctx), "run: ");
        CHECK_HAS(jf_context_error(other->ctx), me);
        CHECK_HAS(jf_context_error(other->ctx), "is writing a run into this folder");
        user_close(other);
    }
}

TEST(run_folder__a_second_training_is_refused_and_told_which_process_holds_it) {
    train_whole(test_path("alone"), 1);
    user *u = user_open();
    u->watch = train_beside;
    check_status(u, train_with(u, test_path("run"), 0, 1), JF_OK);
    CHECK(u->done > 1);
    CHECK(same_file(in("run", "model.safetensors"), in("alone", "model.safetensors")));
    CHECK(!file_exists(in("run", FOLDER_LOCK_NAME)));
    user_close(u);
}

static void die_in_epoch_3(user *u, const jf_training *p) {
    (void)u;
    if (p->epoch == 3) kill(getpid(), SIGKILL);
}

/* A training in a process of its own that kills itself. */
static void train_and_die(const char *folder, uint64_t seed) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        user *u = user_open();
        u->watch = die_in_epoch_3;
        (void)train_with(u, folder, 0, seed);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(run_folder__the_lock_of_a_killed_training_does_not_block) {
    train_whole(test_path("alone"), 1);
    train_and_die(test_path("run"), 1);
    CHECK(file_exists(in("run", FOLDER_LOCK_NAME)));
    user *u = user_open();
    check_status(u, train_with(u, test_path("run"), 1, 1), JF_OK);
    CHECK(same_file(in("run", "model.safetensors"), in("alone", "model.safetensors")));
    user_close(u);
}

/* The file alone is no lock, whatever process it names. */
TEST(run_folder__a_lock_file_that_nobody_holds_does_not_block) {
    char living[64];
    snprintf(living, sizeof living, "%ld here\n", (long)getppid());
    CHECK(mkdir(test_path("run"), 0777) == 0);
    write_file(in("run", FOLDER_LOCK_NAME), living);
    train_whole(test_path("run"), 1);
}

TEST(run_folder__where_there_are_no_locks_training_goes_on_and_says_so) {
    trouble_wanted.no_locks = 1;
    user *u = user_open();
    check_status(u, train_with(u, test_path("run"), 0, 1), JF_OK);
    CHECK_HAS(u->log, "this file system has no locks: make sure that nothing else trains into this folder");
    user_close(u);
}

TEST(run_folder__a_link_in_place_of_the_lock_is_not_followed) {
    CHECK(mkdir(test_path("run"), 0777) == 0);
    write_file(test_path("precious"), "precious");
    CHECK(symlink("../precious", in("run", FOLDER_LOCK_NAME)) == 0);
    write_file(test_path("copy"), "precious");
    user *u = user_open();
    check_status(u, train_with(u, test_path("run"), 0, 1), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(u->ctx), "run.lock: could not be opened");
    CHECK(same_file(test_path("precious"), test_path("copy")));
    user_close(u);
}

static void report_beside(user *u, const jf_training *p) {
    (void)p;
    if (u->done++) return;
    user *other = user_open();
    jf_model *m = NULL;
    jf_judgement *j = NULL;
    CHECK_STATUS(jf_model_load(&m, other->ctx, test_path("alone"), NULL), JF_OK);
    CHECK_STATUS(jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .points = 100}),
                 JF_OK);
    check_status(other, jf_report(m, j, test_path("run")), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(other->ctx), "is writing a run into this folder");
    CHECK(!file_exists(in("run", "report.html")));
    jf_judgement_free(j);
    jf_model_free(m);
    user_close(other);
}

TEST(run_folder__a_report_of_another_run_is_refused_while_one_is_trained) {
    train_whole(test_path("alone"), 1);
    user *u = user_open();
    u->watch = report_beside;
    check_status(u, train_with(u, test_path("run"), 0, 2), JF_OK);
    CHECK(u->done > 0);
    user_close(u);
}

/* ---- setting aside ---- */

static const char *const kept[] = {RUN_CHECKPOINT, RUN_MODEL, RUN_HISTORY, RUN_RECIPE, "report.html"};
enum { KEPT = sizeof kept / sizeof *kept };

/* How many of the old run's files are in a folder as they were, and how many others of their names. */
static int count_old(const char *folder, int *others) {
    int same = 0;
    *others = 0;
    for (int i = 0; i < KEPT; i++) {
        int is = same_file(in(folder, kept[i]), in("old", kept[i]));
        same += is;
        *others += !is && file_exists(in(folder, kept[i]));
    }
    return same;
}

/* "old" and its copy "run", each with a report, and a file of the user's own in the copy. */
static void make_old_runs(void) {
    jf_context *ctx = NULL;
    train_whole(test_path("old"), 1);
    write_file(in("old", "report.html"), "a report");
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(file_make_folder(ctx, test_path("run")), JF_OK);
    for (int i = 0; i < KEPT; i++) copy_file(ctx, in("old", kept[i]), in("run", kept[i]));
    jf_context_free(ctx);
    write_file(in("run", "notes.txt"), "mine");
}

static void look_at_first_batch(user *u, const jf_training *p) {
    int others;
    (void)p;
    if (u->done++) return;
    CHECK(count_old("run/old-run", &others) == KEPT);
    CHECK(count_old("run", &others) == 1 && others == 1); /* the recipe is the same, the history is begun */
    CHECK(!file_exists(in("run", RUN_CHECKPOINT)) && !file_exists(in("run", RUN_MODEL)));
}

TEST(run_folder__a_new_run_begins_by_setting_the_old_one_aside_whole) {
    make_old_runs();
    train_whole(test_path("alone"), 2);
    user *u = user_open();
    u->watch = look_at_first_batch;
    check_status(u, train_with(u, test_path("run"), 0, 2), JF_OK);
    CHECK(u->done > 0);
    CHECK_HAS(u->log, "run/old-run until this one has finished");
    CHECK(same_file(in("run", RUN_MODEL), in("alone", RUN_MODEL)));
    CHECK(!file_exists(in("run", RUN_SET_ASIDE))); /* it has finished */
    CHECK(!file_exists(in("run", "report.html"))); /* which was of the old one */
    CHECK(file_exists(in("run", "notes.txt")));
    user_close(u);
}

/* The run fails with the first line of its history, which leads nowhere. */
static void spoil_history(user *u, const jf_training *p) {
    (void)p;
    if (u->done++) return;
    CHECK(unlink(in("run", RUN_HISTORY)) == 0);
    CHECK(symlink("missing/missing", in("run", RUN_HISTORY)) == 0);
}

TEST(run_folder__a_new_run_that_fails_before_its_first_checkpoint_gives_the_old_one_back) {
    int others;
    make_old_runs();
    user *u = user_open();
    u->watch = spoil_history;
    check_status(u, train_with(u, test_path("run"), 0, 2), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(u->ctx), "history.csv: cannot be appended to");
    CHECK(count_old("run", &others) == KEPT);
    CHECK(!file_exists(in("run", RUN_SET_ASIDE)));
    user_close(u);
}

static void stop_in_epoch_2(user *u, const jf_training *p) {
    if (p->epoch == 2) u->stop = 1;
}

TEST(run_folder__what_was_set_aside_stays_until_a_run_has_finished) {
    int others;
    make_old_runs();
    user *u = user_open();
    u->watch = stop_in_epoch_2;
    for (uint64_t seed = 2; seed < 4; seed++) {
        u->stop = 0;
        check_status(u, train_with(u, test_path("run"), 0, seed), JF_STOPPED);
    }
    CHECK(count_old("run/old-run", &others) == KEPT);
    CHECK(file_exists(in("run/old-run-2", RUN_CHECKPOINT)));
    u->stop = 0;
    check_status(u, train_with(u, test_path("run/old-run"), 1, 1), JF_OK); /* it is a run like any other */
    write_file(in("run/old-run-2", "notes.txt"), "mine");
    u->watch = NULL;
    u->stop = 0;
    check_status(u, train_with(u, test_path("run"), 1, 3), JF_OK);
    CHECK(!file_exists(in("run", RUN_SET_ASIDE)));
    CHECK(file_exists(in("run/old-run-2", "notes.txt")) && !file_exists(in("run/old-run-2", RUN_CHECKPOINT)));
    user_close(u);
}

/* Sets the run in the folder aside and is killed in place of one of its changes; 0: there are no more. */
static int set_aside_killed_at(long change, int no_links) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        jf_context *ctx = NULL;
        run_folder *f = NULL;
        if (jf_context_create(&ctx) != JF_OK || run_folder_open(ctx, &f, test_path("run")) != JF_OK) _exit(1);
        trouble_wanted.no_links = no_links;
        trouble_wanted.changes = 0;
        trouble_wanted.killed_at = change;
        jf_status status = run_folder_set_aside(f);
        trouble_wanted.killed_at = 0;
        run_folder_close(f);
        _exit(status != JF_OK);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

static void check_whole_after_kill(long change) {
    int others_here, others_aside, here = count_old("run", &others_here);
    int aside = count_old("run/old-run", &others_aside);
    if ((here != KEPT && aside != KEPT) || others_here || others_aside)
        test_fail(__FILE__, __LINE__,
                  "killed in place of change %ld: %d files of the old run are here and %d set aside, of %d",
                  change, here, aside, KEPT);
}

/* Puts the folder as it was, with second names of the old run's files or links to them, and looks whether the
 * next start cleans up. */
static void restore_old(int links) {
    jf_context *ctx = NULL;
    run_folder *f = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(run_folder_open(ctx, &f, test_path("run")), JF_OK);
    CHECK(!file_exists(in("run", RUN_SET_ASIDE ".tmp")));
    run_folder_finish(f);
    run_folder_close(f);
    CHECK(!file_exists(in("run", RUN_SET_ASIDE)));
    for (int i = 0; i < KEPT; i++) {
        (void)unlink(in("run", kept[i]));
        char target[128];
        snprintf(target, sizeof target, "../old/%s", kept[i]);
        CHECK((links ? symlink(target, in("run", kept[i])) : link(in("old", kept[i]), in("run", kept[i]))) ==
              0);
    }
    jf_context_free(ctx);
}

TEST(run_folder__killed_while_setting_aside_the_old_run_is_whole_in_one_place) {
    make_old_runs();
    enum { SECOND_NAMES, COPIES, LINKS, WAYS };
    for (int way = 0; way < WAYS; way++) {
        long change = 1;
        restore_old(way == LINKS);
        for (; set_aside_killed_at(change, way == COPIES); change++) {
            check_whole_after_kill(change);
            restore_old(way == LINKS);
        }
        CHECK(change > (way == LINKS ? 2 : 3) * KEPT);
    }
}

/* ---- links ---- */

static void plant_link(const char *name, const char *target) {
    (void)unlink(in("run", name));
    CHECK(symlink(target, in("run", name)) == 0);
}

static void check_link(const char *folder, const char *name, const char *expected) {
    char target[512];
    ssize_t length = readlink(in(folder, name), target, sizeof target - 1);
    CHECK(length > 0);
    target[length] = '\0';
    CHECK_TEXT(target, expected);
}

TEST(run_folder__links_of_a_run_that_is_set_aside_and_put_back_lead_where_they_did) {
    jf_context *ctx = NULL;
    run_folder *f = NULL;
    make_old_runs();
    write_file(in("run", "latent.png"), "a picture");
    write_file(test_path("picture"), "a picture");
    plant_link(RUN_MODEL, "../old/" RUN_MODEL);
    plant_link(RUN_HISTORY, in("old", RUN_HISTORY));
    plant_link("maps.png", "latent.png"); /* files of the run move with it */
    plant_link("samples.png", "../run/latent.png");
    plant_link("training.png", "nowhere/training.png");
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(run_folder_open(ctx, &f, test_path("run")), JF_OK);
    CHECK_STATUS(run_folder_set_aside(f), JF_OK);
    write_file(in("run", "latent.png"), "of the new run");
    int others;
    CHECK(count_old("run/old-run", &others) == KEPT);
    CHECK(same_file(in("run/old-run", "maps.png"), test_path("picture")));
    CHECK(same_file(in("run/old-run", "samples.png"), test_path("picture")));
    check_link("run/old-run", RUN_MODEL, "../../old/" RUN_MODEL);
    CHECK_STATUS(run_folder_give_up(f, jf_fail(ctx, JF_ERROR_NUMERIC, "it failed")), JF_ERROR_NUMERIC);
    CHECK(count_old("run", &others) == KEPT);
    check_link("run", RUN_MODEL, "../old/" RUN_MODEL);
    check_link("run", RUN_HISTORY, in("old", RUN_HISTORY));
    check_link("run", "maps.png", "latent.png");
    check_link("run", "training.png", "nowhere/training.png");
    CHECK(same_file(in("run", "samples.png"), test_path("picture")));
    CHECK(!file_exists(in("run", RUN_SET_ASIDE)));
    run_folder_close(f);
    jf_context_free(ctx);
}

TEST(run_folder__links_in_place_of_runs_that_are_set_aside_are_not_followed) {
    static const char *const names[] = {"old-run", "old-run-2", "old-run.tmp"};
    jf_context *ctx = NULL;
    run_folder *f = NULL;
    int others;
    make_old_runs();
    for (int i = 0; i < 3; i++) plant_link(names[i], "../old");
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(run_folder_open(ctx, &f, test_path("run")), JF_OK);
    CHECK(!file_is_link(in("run", "old-run.tmp"))); /* it would be in the way for ever */
    CHECK_STATUS(run_folder_set_aside(f), JF_OK);
    CHECK(count_old("run/old-run-3", &others) == KEPT);
    run_folder_finish(f);
    CHECK(!file_exists(in("run", "old-run-3")) && file_is_link(in("run", "old-run")));
    CHECK(count_old("old", &others) == KEPT);
    run_folder_close(f);
    jf_context_free(ctx);
}

/* ---- what killed writers leave ---- */

TEST(run_folder__half_written_files_of_a_killed_writer_are_removed_by_the_next_start) {
    static const char *const stale[] = {"checkpoint.safetensors.123-0.tmp",
                                        "checkpoint-next.safetensors",
                                        "checkpoint-next.safetensors.99999999-12.tmp",
                                        "model.safetensors.1-3.tmp",
                                        "history.csv.1-0.tmp",
                                        "report.html.1-0.tmp",
                                        "samples.png.77-1.tmp",
                                        "old-run.tmp/model.safetensors"};
    static const char *const others[] = {"notes.tmp", "samples.csv.123-0.tmp", "model.safetensors.tmp",
                                         "model.safetensors.1-.tmp", "model.safetensors.1-0.tmp.txt"};
    enum { STALE = sizeof stale / sizeof *stale, OTHERS = sizeof others / sizeof *others };
    train_whole(test_path("run"), 1);
    for (int resume = 1; resume >= 0; resume--) {
        user *u = user_open();
        CHECK(mkdir(in("run", "old-run.tmp"), 0777) == 0);
        for (int i = 0; i < STALE; i++) write_file(in("run", stale[i]), "stale");
        for (int i = 0; i < OTHERS; i++) write_file(in("run", others[i]), "mine");
        check_status(u, train_with(u, test_path("run"), resume, 1), JF_OK);
        for (int i = 0; i < STALE; i++)
            if (file_exists(in("run", stale[i])))
                test_fail(__FILE__, __LINE__, "%s is still there", stale[i]);
        for (int i = 0; i < OTHERS; i++)
            if (!file_exists(in("run", others[i]))) test_fail(__FILE__, __LINE__, "%s is gone", others[i]);
        CHECK(!file_exists(in("run", "old-run.tmp")));
        user_close(u);
    }
}

/* ---- resuming what is not there ---- */

TEST(run_folder__resuming_in_a_folder_that_is_not_there_says_so_and_makes_none) {
    user *u = user_open();
    check_status(u, train_with(u, test_path("none"), 1, 1), JF_ERROR_IO);
    CHECK_HAS(jf_context_error(u->ctx), "none: there is no such folder, expected one with a run to resume");
    CHECK(!file_exists(test_path("none")));
    user_close(u);
}
