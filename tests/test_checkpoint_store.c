/* Two checkpoints are kept: a run whose newest one is damaged goes on from the one before it, to the same
 * end. */
#include "interpose.h"
#include "train_fixture.h"

#include "train/run_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEWEST   "run/" RUN_CHECKPOINT
#define PREVIOUS "run/" RUN_CHECKPOINT_PREVIOUS

/* ---- files ---- */

typedef struct bytes {
    char *at;
    size_t size;
} bytes;

static bytes read_bytes(const char *path) {
    jf_context *ctx = NULL;
    bytes b = {0};
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(file_read(ctx, &b.at, &b.size, path, 1 << 24), JF_OK);
    jf_context_free(ctx);
    return b;
}

static void write_bytes(const char *path, bytes b) {
    remove(path); /* it may be a second name of another one */
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(b.at, 1, b.size, file) == b.size && fclose(file) == 0);
}

static int same_bytes(bytes a, bytes b) {
    return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

static void flip(const char *path, size_t at, int bit) {
    bytes b = read_bytes(path);
    CHECK(at < b.size);
    b.at[at] = (char)(b.at[at] ^ 1 << bit);
    write_bytes(path, b);
    free(b.at);
}

/* ---- a run that was stopped in the middle of an epoch ---- */

static const char four_epochs[] =
    "[data]\nset = crescents\n" TINY_MODEL
    "[loss]\nlambda = 1\n[train]\nbatch = 50\nbatches = 4\nprecondition = 0\nanneal = 0\n"
    "epochs = 4\nrate = 1e-2\nks_every = 0\ncheckpoint = 0\n";

static void stop_in_epoch_3(run *r, const jf_training *p) {
    if (p->epoch == 3 && p->batch == 2) r->stop = 1;
}

typedef struct stopped {
    run *whole; /* the same run without a stop, in the folder "whole" */
    bytes newest, previous, history;
} stopped;

static stopped stop_midway(void) {
    stopped s = {.whole = run_open(four_epochs)};
    run *r = run_open(four_epochs);
    CHECK_STATUS(run_train(s.whole, test_path("whole"), 0), JF_OK);
    r->watch = stop_in_epoch_3;
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_STOPPED);
    run_close(r);
    s.newest = read_bytes(test_path(NEWEST));
    s.previous = read_bytes(test_path(PREVIOUS));
    s.history = read_bytes(test_path("run/history.csv"));
    return s;
}

static void put_back(const stopped *s) {
    write_bytes(test_path(NEWEST), s->newest);
    write_bytes(test_path(PREVIOUS), s->previous);
    write_bytes(test_path("run/history.csv"), s->history);
}

static void stopped_free(stopped *s) {
    run_close(s->whole);
    free(s->newest.at), free(s->previous.at), free(s->history.at);
}

/* Resumes it to the end of the whole run; returns what it said, yours to free. */
static char *check_resumes(const stopped *s) {
    run *r = run_open(four_epochs);
    char *log = NULL;
    jf_status status = run_train(r, test_path("run"), 1);
    if (status != JF_OK) test_fail(__FILE__, __LINE__, "status %d: %s", status, jf_context_error(r->ctx));
    check_same_end(s->whole, test_path("whole"), r, test_path("run"));
    CHECK_STATUS(mem_copy_text(r->ctx, &log, r->log), JF_OK);
    run_close(r);
    return log;
}

/* ---- damage ---- */

TEST(generations__a_bit_flipped_anywhere_in_the_newest_falls_back_to_the_same_end) {
    stopped s = stop_midway();
    rng random = rng_stream((rng_key){.seed = 4, .purpose = RNG_TEST}, 0);
    const size_t share = ALL_CASES ? 60 : 24;
    int tried = 0;
    for (size_t at = 0; at < s.newest.size; at += s.newest.size / share + rng_below(&random, 200), tried++) {
        put_back(&s);
        flip(test_path(NEWEST), at, (int)rng_below(&random, 8));
        char *log = check_resumes(&s);
        CHECK_HAS(log, "run/checkpoint.safetensors: ");
        CHECK_HAS(log, "; going on from the one before it, ");
        CHECK_HAS(log, "run/checkpoint-previous.safetensors, after 2 epochs");
        free(log);
    }
    CHECK(tried > 12);
    stopped_free(&s);
}

TEST(generations__a_newest_that_is_cut_off_empty_or_missing_falls_back_to_the_same_end) {
    stopped s = stop_midway();
    for (int i = 0; i < 3; i++) {
        put_back(&s);
        write_bytes(test_path(NEWEST), (bytes){s.newest.at, i == 0 ? s.newest.size / 2 : 0});
        if (i == 2) remove(test_path(NEWEST));
        char *log = check_resumes(&s);
        CHECK_HAS(log, "; going on from the one before it, ");
        free(log);
    }
    stopped_free(&s);
}

TEST(generations__whole_ones_resume_from_the_newest_and_say_nothing) {
    stopped s = stop_midway();
    flip(test_path(PREVIOUS), s.previous.size / 2, 3); /* nobody asks it */
    char *log = check_resumes(&s);
    CHECK_TEXT(log, "");
    free(log);
    stopped_free(&s);
}

TEST(generations__where_both_are_damaged_the_run_is_refused_and_both_are_named) {
    stopped s = stop_midway();
    run *r = run_open(four_epochs);
    flip(test_path(NEWEST), s.newest.size - 1, 0);
    flip(test_path(PREVIOUS), s.previous.size - 1, 0);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(r->ctx), "run/checkpoint.safetensors: damaged");
    CHECK_HAS(jf_context_error(r->ctx), "; the one before it cannot be used either: ");
    CHECK_HAS(jf_context_error(r->ctx), "run/checkpoint-previous.safetensors: damaged");
    run_close(r);
    stopped_free(&s);
}

/* The next checkpoint takes the place of the damaged one, not that of the good one. */
TEST(generations__a_damaged_newest_never_takes_the_place_of_the_one_before_it) {
    stopped s = stop_midway();
    run *r = run_open(four_epochs);
    flip(test_path(NEWEST), s.newest.size / 2, 0);
    r->watch = stop_in_epoch_3;
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_STOPPED);
    bytes previous = read_bytes(test_path(PREVIOUS)), newest = read_bytes(test_path(NEWEST));
    CHECK(same_bytes(previous, s.previous));
    CHECK(!same_bytes(newest, previous));
    free(previous.at), free(newest.at);
    char *log = check_resumes(&s);
    CHECK_TEXT(log, "");
    free(log);
    run_close(r);
    stopped_free(&s);
}

/* Another recipe is no damage: there is no other checkpoint to be tried. */
TEST(generations__a_run_of_another_recipe_is_refused_by_its_newest) {
    stopped s = stop_midway();
    char other[512];
    snprintf(other, sizeof other, "%sclip = 7\n", four_epochs);
    run *r = run_open(other);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(r->ctx), "run/checkpoint.safetensors: the run to resume has another recipe");
    CHECK(!strstr(jf_context_error(r->ctx), "previous"));
    run_close(r);
    stopped_free(&s);
}

/* ---- weights that are not finite ---- */

/* Writes the newest again with a NaN in a tensor, as a file that is whole. */
static void put_nan(jf_context *ctx, const char *name) {
    static const char *const keys[] = {
        "jointflow.checkpoint", "recipe", "seed", "device", "precision", "data"};
    enum { NOTES = sizeof keys / sizeof *keys };
    tensor_file *file = NULL;
    tensor_note notes[NOTES];
    int changed = 0;
    CHECK_STATUS(tensors_read(ctx, &file, test_path(NEWEST)), JF_OK);
    size_t count = tensors_count(file);
    tensor *tensors = calloc(count, sizeof *tensors);
    CHECK(tensors != NULL);
    for (size_t i = 0; i < count; i++) {
        tensors[i] = *tensors_at(file, i);
        if (strcmp(tensors[i].name, name) != 0) continue;
        CHECK(tensors[i].type == TENSOR_F32);
        ((float *)tensors[i].data)[tensor_elements(&tensors[i]) - 1] = NAN;
        changed = 1;
    }
    for (int i = 0; i < NOTES; i++) notes[i] = (tensor_note){keys[i], tensors_note(file, keys[i])};
    CHECK(changed);
    CHECK_STATUS(tensors_write_summed(ctx, test_path(NEWEST), tensors, count, notes, NOTES, TENSORS_FILE_SUM,
                                      file_replace),
                 JF_OK);
    free(tensors);
    tensors_free(file);
}

TEST(checkpoint__weights_that_are_not_finite_are_refused_and_named) {
    static const char *const prefixes[] = {"", "best.", "adam.second.", "epoch."};
    stopped s = stop_midway();
    run *r = run_open(four_epochs);
    for (int i = 0; i < 4; i++) {
        char name[96], words[128];
        snprintf(name, sizeof name, "%s%s", prefixes[i], r->m->parameters.items[1].name);
        snprintf(words, sizeof words, "tensor \"%s\": element ", name);
        put_back(&s);
        remove(test_path(PREVIOUS));
        put_nan(r->ctx, name);
        CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(r->ctx), words);
        CHECK_HAS(jf_context_error(r->ctx), "is not finite, expected finite numbers");
    }
    run_close(r);
    stopped_free(&s);
}

/* ---- kills ---- */

/* Trains in a process of its own that is killed in place of a change of the folder; 0: it came to its end. */
static int train_killed_at(long change) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        run *r = run_open(four_epochs);
        trouble_wanted.changes = 0;
        trouble_wanted.killed_at = change;
        jf_status status = run_train(r, test_path("run"), 0);
        trouble_wanted.killed_at = 0;
        _exit(status != JF_OK);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

TEST(generations__killed_at_any_change_of_the_folder_the_run_resumes_to_the_same_end) {
    stopped s = {.whole = run_open(four_epochs)};
    CHECK_STATUS(run_train(s.whole, test_path("whole"), 0), JF_OK);
    long change = 1, resumed = 0;
    for (; train_killed_at(change); change++) {
        if (file_exists(test_path(NEWEST))) {
            char *log = check_resumes(&s);
            CHECK_TEXT(log, "");
            free(log);
            resumed++;
        }
        remove(test_path(NEWEST));
        remove(test_path(PREVIOUS));
        remove(test_path("run/history.csv"));
    }
    CHECK(change > 15 && resumed > 10);
    run_close(s.whole);
}

/* ---- the history ---- */

static long count_lines(const char *path) {
    bytes b = read_bytes(path);
    long lines = 0;
    for (size_t i = 0; i < b.size; i++) lines += b.at[i] == '\n';
    free(b.at);
    return lines;
}

static void check_resumes_without(const stopped *s, long rows, const char *words) {
    run *r = run_open(four_epochs);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    CHECK(same_weights(r->m, s->whole->m));
    CHECK_HAS(r->log, words);
    CHECK(count_lines(test_path("run/history.csv")) == 1 + rows);
    run_close(r);
}

TEST(history__missing_does_not_block_a_resume_and_is_begun_again) {
    stopped s = stop_midway();
    remove(test_path("run/history.csv"));
    check_resumes_without(&s, 2, "history.csv: is missing and begun again, without the 2 epochs so far");
    put_back(&s);
    write_bytes(test_path("run/history.csv"), (bytes){s.history.at, 0});
    check_resumes_without(&s, 2, "history.csv: has 0 of the 2 epochs so far");
    put_back(&s);
    write_bytes(test_path("run/history.csv"), (bytes){s.history.at, s.history.size - 3}); /* half a line */
    check_resumes_without(&s, 3, "history.csv: has 1 of the 2 epochs so far");
    stopped_free(&s);
}

/* What a checkpoint says of the history is what the history has, also after it was begun again. */
TEST(history__begun_again_is_cut_back_by_a_later_fallback) {
    stopped s = stop_midway();
    run *r = run_open(four_epochs);
    remove(test_path("run/history.csv"));
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK); /* epochs 3 and 4 */
    flip(test_path(NEWEST), s.newest.size / 2, 0);          /* of the end; the other is of epoch 4 */
    remove(test_path("run/" RUN_MODEL));
    check_resumes_without(&s, 2, "; going on from the one before it, ");
    run_close(r);
    stopped_free(&s);
}

/* Of a file that is appended to, a power cut leaves what was flushed. */
static struct {
    off_t flushed; /* bytes of the history */
    int checkpoints;
} disk;

static void note_flushed(int fd) {
    struct stat file, history;
    if (fstat(fd, &file) != 0 || stat(test_path("run/history.csv"), &history) != 0) return;
    if (file.st_dev == history.st_dev && file.st_ino == history.st_ino) disk.flushed = file.st_size;
}

static void check_flushed(const char *from, const char *to) {
    struct stat history;
    (void)from;
    if (strcmp(to, test_path(NEWEST)) != 0) return;
    CHECK(stat(test_path("run/history.csv"), &history) == 0);
    CHECK(disk.flushed == history.st_size);
    disk.checkpoints++;
}

TEST(history__is_on_the_disk_before_the_checkpoint_that_counts_its_lines) {
    trouble_wanted.synced = note_flushed;
    trouble_wanted.renaming = check_flushed;
    stopped s = stop_midway();
    CHECK(disk.checkpoints == 3); /* of two epochs and of the stop */
    char *log = check_resumes(&s);
    CHECK_TEXT(log, "");
    CHECK(disk.checkpoints == 6); /* of two more and of the end */
    free(log);
    stopped_free(&s);
}
