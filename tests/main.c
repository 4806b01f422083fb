/* Runs the registered tests, one line each, and closes with "N passed, N failed, N skipped".
 *
 * Every test runs in a process of its own, as many at a time as there are processors: a crash, a leak or an
 * endless loop is one failed test and leaves nothing behind for the others. Lines come in the order of the
 * tests, whichever ends first. What a test prints is kept back and shown only when it fails. */
#define _GNU_SOURCE /* nftw, MAP_ANONYMOUS */
#include "test.h"

#include "base/threads.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TIME_LIMIT 240 /* seconds per test */
#define MOST_WITHOUT       64

typedef struct test {
    const char *name, *file;
    test_fn run;
    row_test_fn run_row; /* in its place, for tests of a table */
    const void *row;
    int order; /* of registration: tests of one file stay in the order in which they are written */
} test;

typedef enum outcome { PASSED, FAILED, SKIPPED } outcome;

/* What a test says about itself. Shared with its process, so that it outlives a crash. */
typedef struct report {
    outcome outcome;
    char message[2048];
    char folder[512]; /* "" until the test asks for one */
} report;

/* A test that was chosen, and how far it has come. */
typedef struct trial {
    const test *test;
    report *report;
    FILE *output; /* NULL: none, or not wanted any more */
    pid_t child;
    int ended;
    double start, took; /* seconds */
} trial;

typedef struct path {
    struct path *next;
    char text[];
} path;

typedef struct options {
    int in_process, list, jobs;
    unsigned time_limit;
    char **filters; /* a test runs where its name or file contains one of them */
    int filter_count;
    char *without[MOST_WITHOUT]; /* and its name none of these */
    int without_count;
} options;

static struct {
    test *tests;
    int count, capacity;
} registry;

/* The test that is running. */
static struct {
    report *report;
    path *paths;
    int in_process;
    jmp_buf end; /* where a failed or skipped test goes when it has no process of its own */
} running;

static _Noreturn void die(const char *what) {
    fprintf(stderr, "jointflow-tests: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- what tests call ---- */

static void add_test(test t) {
    if (registry.count == registry.capacity) {
        registry.capacity = registry.capacity ? 2 * registry.capacity : 64;
        registry.tests = realloc(registry.tests, (size_t)registry.capacity * sizeof *registry.tests);
        if (!registry.tests) die("registering tests");
    }
    t.order = registry.count;
    registry.tests[registry.count++] = t;
}

void test_register(const char *name, const char *file, test_fn fn) {
    add_test((test){.name = name, .file = file, .run = fn});
}

void test_register_row(const char *name, const char *file, row_test_fn fn, const void *row) {
    add_test((test){.name = name, .file = file, .run_row = fn, .row = row});
}

static _Noreturn void end_test(outcome result) {
    running.report->outcome = result;
    if (running.in_process) longjmp(running.end, 1);
    fflush(NULL);
    _exit(0); /* no leak check: a test that ends early has freed nothing */
}

void test_fail(const char *file, int line, const char *format, ...) {
    report *r = running.report;
    int n = snprintf(r->message, sizeof r->message, "%s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->message + n, sizeof r->message - (size_t)n, format, arguments);
    va_end(arguments);
    end_test(FAILED);
}

void test_skip(const char *reason) {
    snprintf(running.report->message, sizeof running.report->message, "%s", reason);
    end_test(SKIPPED);
}

const char *test_folder(void) {
    report *r = running.report;
    if (!r->folder[0]) {
        const char *parent = getenv("TMPDIR");
        char name[sizeof r->folder];
        snprintf(name, sizeof name, "%s/jointflow-test-XXXXXX", parent && parent[0] ? parent : "/tmp");
        if (!mkdtemp(name)) test_fail(__FILE__, __LINE__, "mkdtemp(%s): %s", name, strerror(errno));
        memcpy(r->folder, name, sizeof name);
    }
    return r->folder;
}

const char *test_path(const char *name) {
    const char *folder = test_folder();
    size_t size = strlen(folder) + strlen(name) + 2;
    path *p = malloc(sizeof *p + size);
    if (!p) test_fail(__FILE__, __LINE__, "no memory for a path");
    snprintf(p->text, size, "%s/%s", folder, name);
    p->next = running.paths;
    running.paths = p;
    return p->text;
}

/* ---- running one test ---- */

static int remove_entry(const char *name, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(name);
}

static void tidy_up(const report *r) {
    while (running.paths) {
        path *next = running.paths->next;
        free(running.paths);
        running.paths = next;
    }
    if (r->folder[0]) nftw(r->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void call(const test *t) {
    if (t->run)
        t->run();
    else
        t->run_row(t->row);
}

static void run_in_process(const test *t) {
    if (setjmp(running.end) != 0) return;
    call(t);
    running.report->outcome = PASSED;
}

static _Noreturn void be_the_test(const test *t, FILE *output, unsigned time_limit) {
    if (dup2(fileno(output), STDOUT_FILENO) < 0 || dup2(fileno(output), STDERR_FILENO) < 0) _exit(2);
    signal(SIGALRM, SIG_DFL);
    alarm(time_limit); /* ends this process, however stuck it is */
    call(t);
    running.report->outcome = PASSED;
    exit(0); /* through the leak check of a sanitizer */
}

static void begin(trial *t, const options *o) {
    running.report = t->report;
    *t->report = (report){.outcome = FAILED, .message = "called exit() before its end"};
    t->start = seconds();
    if (o->in_process) {
        run_in_process(t->test);
        t->ended = 1;
        t->took = seconds() - t->start;
        return;
    }
    t->output = tmpfile();
    if (!t->output) die("tmpfile");
    fflush(NULL); /* or the child writes it again */
    t->child = fork();
    if (t->child < 0) die("fork");
    if (t->child == 0) be_the_test(t->test, t->output, o->time_limit);
}

static void judge_exit(report *r, int status, unsigned time_limit) {
    size_t size = sizeof r->message;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return; /* the report holds what happened */
    if (WIFEXITED(status))
        snprintf(r->message, size, "ended with exit status %d", WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM)
        snprintf(r->message, size, "ran past %u seconds", time_limit);
    else
        snprintf(r->message, size, "killed by signal %d: %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    r->outcome = FAILED;
}

/* Waits until one of the running tests ends. */
static void wait_for_one(trial *trials, int count, const options *o) {
    int status, i = 0;
    pid_t child;
    while ((child = waitpid(-1, &status, 0)) < 0)
        if (errno != EINTR) die("waitpid");
    while (i < count && (trials[i].ended || trials[i].child != child))
        i++; /* numbers of processes come again */
    if (i == count) die("waitpid gave a process that is not ours");
    trial *t = &trials[i];
    t->ended = 1;
    t->took = seconds() - t->start;
    judge_exit(t->report, status, o->time_limit);
    if (t->report->outcome != FAILED) fclose(t->output), t->output = NULL;
}

static void show_output(FILE *output) {
    char line[1024];
    rewind(output);
    while (fgets(line, sizeof line, output)) printf("      | %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static outcome show(trial *t) {
    static const char *const words[] = {[PASSED] = "ok", [FAILED] = "FAIL", [SKIPPED] = "skip"};
    const report *r = t->report;
    printf("%-4s  %-90s %8.3f s\n", words[r->outcome], t->test->name, t->took);
    if (r->outcome != PASSED) printf("      %s\n", r->message);
    if (t->output) show_output(t->output), fclose(t->output);
    tidy_up(r);
    fflush(stdout);
    return r->outcome;
}

/* counts: of each outcome. */
static void run_all(trial *trials, int count, const options *o, int *counts) {
    for (int begun = 0, ended = 0, shown = 0; shown < count; ended++) {
        while (begun < count && begun - ended < o->jobs) begin(&trials[begun++], o);
        if (!o->in_process) wait_for_one(trials, begun, o);
        while (shown < begun && trials[shown].ended) counts[show(&trials[shown++])]++;
    }
}

/* ---- choosing tests ---- */

static int by_file_then_order(const void *a, const void *b) {
    const test *s = a, *t = b;
    int files = strcmp(s->file, t->file);
    return files ? files : (s->order > t->order) - (s->order < t->order);
}

static int is_chosen(const test *t, const options *o) {
    for (int i = 0; i < o->without_count; i++)
        if (strstr(t->name, o->without[i])) return 0;
    for (int i = 0; i < o->filter_count; i++)
        if (strstr(t->name, o->filters[i]) || strstr(t->file, o->filters[i])) return 1;
    return o->filter_count == 0;
}

static _Noreturn void usage(FILE *to, int status) {
    fprintf(to,
            "usage: jointflow-tests [--list] [--no-fork] [--jobs N] [--timeout SECONDS] [--without PART]\n"
            "                       [PART ...]\n"
            "Runs the tests whose name or file contains one of the parts; all of them without a part.\n"
            "  --list               name the tests instead of running them\n"
            "  --no-fork            run in this process, for a debugger: no time limit, output as it comes\n"
            "  --jobs N             how many tests run at a time, default as many as there are processors\n"
            "  --timeout SECONDS    limit for each test, default %d\n"
            "  --without PART       leave out the tests whose name contains it; may be given several times\n",
            DEFAULT_TIME_LIMIT);
    exit(status);
}

static options read_options(int argc, char **argv) {
    options o = {.time_limit = DEFAULT_TIME_LIMIT, .jobs = threads_available()};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--help") == 0)
            usage(stdout, 0);
        else if (strcmp(argv[i], "--list") == 0)
            o.list = 1;
        else if (strcmp(argv[i], "--no-fork") == 0)
            o.in_process = 1;
        else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.jobs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--timeout") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.time_limit = (unsigned)atoi(argv[++i]);
        else if (strcmp(argv[i], "--without") == 0 && i + 1 < argc && o.without_count < MOST_WITHOUT)
            o.without[o.without_count++] = argv[++i];
        else
            usage(stderr, 2);
    }
    if (o.in_process) o.jobs = 1;
    o.filters = argv + i;
    o.filter_count = argc - i;
    return o;
}

/* The chosen tests, in order; *count of them. */
static trial *choose(const options *o, int *count) {
    size_t all = (size_t)registry.count;
    trial *trials = calloc(all + 1, sizeof *trials);
    report *reports =
        mmap(NULL, (all + 1) * sizeof *reports, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!trials || reports == MAP_FAILED) die("choosing tests");
    if (all > 1) qsort(registry.tests, all, sizeof(test), by_file_then_order);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (is_chosen(&registry.tests[i], o))
            trials[(*count)++] = (trial){.test = &registry.tests[i], .report = &reports[i]};
    return trials;
}

static int run_chosen(trial *trials, int count, const options *o) {
    int counts[3] = {0};
    if (count == 0) fprintf(stderr, "jointflow-tests: no test has such a name\n");
    run_all(trials, count, o, counts);
    printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    return counts[FAILED] > 0 || count == 0;
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    int count, status = 0;
    trial *trials = choose(&o, &count);
    running.in_process = o.in_process;
    for (int i = 0; o.list && i < count; i++) printf("%s\n", trials[i].test->name);
    if (!o.list) status = run_chosen(trials, count, &o);
    free(trials);
    return status;
}
