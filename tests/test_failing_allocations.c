/* The allocations of a training run made to fail, one in each try: the run fails with a sentence, or it ends
 * with the same model. A sample of them is tried, from all parts of the run; each one where all cases are
 * asked for. */
#include "interpose.h"
#include "test.h"

#include "jointflow/jointflow.h"

#include <sys/wait.h>
#include <unistd.h>

#define SHORT_TRAIN                                                                                          \
    "[train]\nbatch = 20\nprecondition = 0\nanneal = 1\nepochs = 2\npatience = 1\nks_every = 1\n"            \
    "checkpoint = 0\nvalidation = 10\n"

static const char table[] = "[data]\nset = table\nfile = %s\nx = 2\ny = 1\ndiscrete = yes\n"
                            "[model]\nblocks = 1\ndepth = 1\nwidth = 4\n" SHORT_TRAIN;
static const char images[] =
    "[data]\nset = images\nimages = glyphs\nclasses = ring square\nlimit = 60\ntask = %s\n"
    "[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 1\nresidual = 1\n" SHORT_TRAIN;

typedef struct outcome {
    jf_status status;
    int told; /* there is a sentence */
    long allocations;
} outcome;

/* The model is written to a file once there is memory again. */
static outcome train_once(const char *recipe_text, const char *folder, const char *model) {
    outcome o = {.status = JF_ERROR_MEMORY, .told = 1}; /* no context: there is no place for a sentence */
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    if (jf_context_create(&ctx) != JF_OK) return o;
    o.status = jf_recipe_parse(&r, ctx, recipe_text, "short");
    if (o.status == JF_OK)
        o.status = jf_train(
            &m, ctx, r,
            &(jf_train_options){.size = sizeof(jf_train_options), .folder = folder, .seed = 3, .threads = 2});
    o.told = jf_context_error(ctx)[0] != 0;
    o.allocations = trouble_wanted.allocated;
    trouble_wanted.no_memory_at = 0;
    if (o.status == JF_OK) o.status = jf_model_save(m, model);
    jf_model_free(m);
    jf_recipe_free(r);
    jf_context_free(ctx);
    return o;
}

enum { SUCCEEDED, TOLD, SILENT };

/* In a process of its own; *allocations: how many there were. */
static int train_without(const char *recipe_text, const char *folder, const char *model, long allocation,
                         long *allocations) {
    int tube[2];
    CHECK(pipe(tube) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        trouble_wanted.allocated = 0;
        trouble_wanted.no_memory_at = allocation;
        outcome o = train_once(recipe_text, folder, model);
        if (write(tube[1], &o.allocations, sizeof o.allocations) != sizeof o.allocations) _exit(SILENT);
        _exit(o.status == JF_OK ? SUCCEEDED : o.told ? TOLD : SILENT);
    }
    int status = 0;
    close(tube[1]);
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status))
        test_fail(__FILE__, __LINE__, "killed by signal %d without allocation %ld", WTERMSIG(status),
                  allocation);
    CHECK(read(tube[0], allocations, sizeof *allocations) == sizeof *allocations);
    close(tube[0]);
    return WEXITSTATUS(status);
}

static int same_file(const char *a, const char *b) {
    FILE *one = fopen(a, "rb"), *two = fopen(b, "rb");
    int same = one && two;
    for (int c = 0; same && c != EOF;) same = (c = getc(one)) == getc(two);
    if (one) fclose(one);
    if (two) fclose(two);
    return same;
}

enum { TRIES = 25 };

/* How far the allocations that fail lie apart. */
static long step_between(long allocations) {
    return ALL_CASES || allocations < TRIES ? 1 : allocations / TRIES;
}

/* `offset`: of the first that fails, so that tests of similar runs try other ones. */
static void check_allocations(const char *recipe_text, const char *folder, long offset) {
    skip_without_failing_allocations();
    const char *whole = test_path("whole.safetensors"), *model = test_path("model.safetensors");
    long allocations = 0, counted = 0, told = 0, tried = 0;
    CHECK(train_without(recipe_text, folder, whole, 0, &allocations) == SUCCEEDED);
    const long step = step_between(allocations);
    for (long i = 1 + offset % step; i <= allocations; i += step, tried++) {
        remove(model);
        int found = train_without(recipe_text, folder, model, i, &counted);
        if (found == SILENT)
            test_fail(__FILE__, __LINE__, "allocation %ld of %ld failed: no sentence", i, allocations);
        if (found == SUCCEEDED && !same_file(model, whole))
            test_fail(__FILE__, __LINE__, "allocation %ld of %ld failed: success with another model", i,
                      allocations);
        told += found == TOLD;
    }
    CHECK(tried > 20 && told > tried / 2);
}

static void write_table(const char *path) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < 120; i++) fprintf(file, "%g,%g,%d\n", sin(i), cos(1.7 * i), i % 2);
    CHECK(fclose(file) == 0);
}

TEST(training__a_failed_allocation_is_told_or_changes_nothing_with_a_table) {
    char text[600];
    write_table(test_path("t.csv"));
    snprintf(text, sizeof text, table, test_path("t.csv"));
    check_allocations(text, NULL, 0);
}

TEST(training__a_failed_allocation_is_told_or_changes_nothing_with_a_run_folder) {
    char text[600];
    write_table(test_path("t.csv"));
    snprintf(text, sizeof text, table, test_path("t.csv"));
    check_allocations(text, test_path("run"), 5);
}

TEST(training__a_failed_allocation_is_told_or_changes_nothing_with_images_of_a_class) {
    char text[600];
    snprintf(text, sizeof text, images, "class");
    check_allocations(text, NULL, 7);
}

TEST(training__a_failed_allocation_is_told_or_changes_nothing_with_degraded_images) {
    char text[600];
    snprintf(text, sizeof text, images, "noise");
    check_allocations(text, NULL, 11);
}

/* ---- judging ---- */

/* Loads the model and judges it without one of the allocations of that; the judgement goes to a file. */
static outcome judge_once(const char *model, long allocation, const char *judged) {
    outcome o = {0};
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    jf_judgement *j = NULL;
    if (jf_context_create(&ctx) != JF_OK || jf_model_load(&m, ctx, model, NULL) != JF_OK) _exit(SILENT);
    trouble_wanted.allocated = 0;
    trouble_wanted.no_memory_at = allocation;
    o.status =
        jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .points = 30, .inputs = 4});
    trouble_wanted.no_memory_at = 0;
    o.allocations = trouble_wanted.allocated;
    o.told = jf_context_error(ctx)[0] != 0;
    FILE *file = fopen(judged, "w");
    if (!file || (o.status == JF_OK && fputs(jf_judgement_json(j), file) < 0) || fclose(file) != 0)
        _exit(SILENT);
    return o;
}

static int judge_without(const char *model, long allocation, const char *judged, long *allocations) {
    int tube[2];
    CHECK(pipe(tube) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        outcome o = judge_once(model, allocation, judged);
        int told = o.told && o.status == JF_ERROR_MEMORY; /* as what it is, not as bad values */
        if (write(tube[1], &o.allocations, sizeof o.allocations) != sizeof o.allocations) _exit(SILENT);
        _exit(o.status == JF_OK ? SUCCEEDED : told ? TOLD : SILENT);
    }
    int status = 0;
    close(tube[1]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(read(tube[0], allocations, sizeof *allocations) == sizeof *allocations);
    close(tube[0]);
    return WEXITSTATUS(status);
}

TEST(judging__a_failed_allocation_is_told_or_changes_nothing) {
    char text[600];
    skip_without_failing_allocations();
    long counted, allocations;
    const char *model = test_path("model.safetensors"), *whole = test_path("whole.json");
    const char *judged = test_path("judged.json");
    snprintf(text, sizeof text, images, "noise");
    CHECK(train_without(text, NULL, model, 0, &counted) == SUCCEEDED);
    CHECK(judge_without(model, 0, whole, &allocations) == SUCCEEDED);
    int told = 0, tried = 0;
    const long step = ALL_CASES ? 1 : 2 * step_between(allocations);     /* a try takes two seconds */
    for (long i = 1; i <= allocations; i += i < 5 ? 1 : step, tried++) { /* the first are one of each kind */
        int found = judge_without(model, i, judged, &counted);
        if (found == SILENT) test_fail(__FILE__, __LINE__, "allocation %ld failed: not told as that", i);
        if (found == SUCCEEDED && !same_file(judged, whole))
            test_fail(__FILE__, __LINE__, "allocation %ld failed: success with another judgement", i);
        told += found == TOLD;
    }
    CHECK(tried > 12 && told > tried / 2);
}
