/* Runs the registered tests, one line each, and closes with "N passed, N failed, N skipped".
 *
 * Every test runs in a process of its own: a crash, a leak or an endless loop is one failed test and leaves
 * nothing behind for the next. What a test prints is kept back and shown only when it fails. */
#define _GNU_SOURCE /* nftw, MAP_ANONYMOUS */
#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TIME_LIMIT 60 /* seconds a test */

typedef struct test {
    const char *name, *file;
    test_fn run;
    int order; /* of registration: tests of one file stay in the order in which they are written */
} test;

typedef enum outcome { PASSED, FAILED, SKIPPED } outcome;

/* What a test says about itself. Shared with its process, so that it outlives a crash. */
typedef struct report {
    outcome outcome;
    char message[2048];
    char folder[512]; /* "" until the test asks for one */
} report;

typedef struct path {
    struct path *next;
    char text[];
} path;

typedef struct options {
    int in_process, list;
    unsigned time_limit;
    char **filters; /* a test runs where its name or file contains one of them */
    int filter_count;
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

void test_register(const char *name, const char *file, test_fn fn) {
    if (registry.count == registry.capacity) {
        registry.capacity = registry.capacity ? 2 * registry.capacity : 64;
        registry.tests = realloc(registry.tests, (size_t)registry.capacity * sizeof *registry.tests);
        if (!registry.tests) die("registering tests");
    }
    registry.tests[registry.count] = (test){name, file, fn, registry.count};
    registry.count++;
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

static void tidy_up(void) {
    while (running.paths) {
        path *next = running.paths->next;
        free(running.paths);
        running.paths = next;
    }
    if (running.report->folder[0]) nftw(running.report->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void run_in_process(const test *t) {
    if (setjmp(running.end) != 0) return;
    t->run();
    running.report->outcome = PASSED;
}

static _Noreturn void be_the_test(const test *t, FILE *output, unsigned time_limit) {
    if (dup2(fileno(output), STDOUT_FILENO) < 0 || dup2(fileno(output), STDERR_FILENO) < 0) _exit(2);
    signal(SIGALRM, SIG_DFL);
    alarm(time_limit); /* ends this process, however stuck it is */
    t->run();
    running.report->outcome = PASSED;
    exit(0); /* through the leak check of a sanitizer */
}

static void judge_exit(int status, unsigned time_limit) {
    report *r = running.report;
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

static void run_in_child(const test *t, FILE *output, unsigned time_limit) {
    fflush(NULL); /* or the child writes it again */
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) be_the_test(t, output, time_limit);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) die("waitpid");
    judge_exit(status, time_limit);
}

static void show_output(FILE *output) {
    char line[1024];
    rewind(output);
    while (fgets(line, sizeof line, output)) printf("      | %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static outcome run_test(const test *t, const options *o) {
    static const char *const words[] = {[PASSED] = "ok", [FAILED] = "FAIL", [SKIPPED] = "skip"};
    report *r = running.report;
    *r = (report){.outcome = FAILED, .message = "called exit() before its end"};
    FILE *output = o->in_process ? NULL : tmpfile();
    if (!o->in_process && !output) die("tmpfile");

    double start = seconds();
    if (o->in_process)
        run_in_process(t);
    else
        run_in_child(t, output, o->time_limit);
    double took = seconds() - start;

    printf("%-4s  %-90s %8.3f s\n", words[r->outcome], t->name, took);
    if (r->outcome != PASSED) printf("      %s\n", r->message);
    if (r->outcome == FAILED && output) show_output(output);
    if (output) fclose(output);
    tidy_up();
    fflush(stdout);
    return r->outcome;
}

/* ---- choosing tests ---- */

static int by_file_then_order(const void *a, const void *b) {
    const test *s = a, *t = b;
    int files = strcmp(s->file, t->file);
    return files ? files : (s->order > t->order) - (s->order < t->order);
}

static int is_chosen(const test *t, const options *o) {
    for (int i = 0; i < o->filter_count; i++)
        if (strstr(t->name, o->filters[i]) || strstr(t->file, o->filters[i])) return 1;
    return o->filter_count == 0;
}

static _Noreturn void usage(FILE *to, int status) {
    fprintf(to,
            "usage: jointflow-tests [--list] [--no-fork] [--timeout SECONDS] [PART ...]\n"
            "Runs the tests whose name or file contains one of the parts; all of them without a part.\n"
            "  --list               name the tests instead of running them\n"
            "  --no-fork            run in this process, for a debugger: no time limit, output as it comes\n"
            "  --timeout SECONDS    limit for each test, default %d\n",
            DEFAULT_TIME_LIMIT);
    exit(status);
}

static options read_options(int argc, char **argv) {
    options o = {.time_limit = DEFAULT_TIME_LIMIT};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--help") == 0)
            usage(stdout, 0);
        else if (strcmp(argv[i], "--list") == 0)
            o.list = 1;
        else if (strcmp(argv[i], "--no-fork") == 0)
            o.in_process = 1;
        else if (strcmp(argv[i], "--timeout") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.time_limit = (unsigned)atoi(argv[++i]);
        else
            usage(stderr, 2);
    }
    o.filters = argv + i;
    o.filter_count = argc - i;
    return o;
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    running.in_process = o.in_process;
    running.report = mmap(NULL, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (running.report == MAP_FAILED) die("mmap");
    if (registry.count > 1) qsort(registry.tests, (size_t)registry.count, sizeof(test), by_file_then_order);

    int counts[3] = {0}, chosen = 0;
    for (int i = 0; i < registry.count; i++) {
        const test *t = &registry.tests[i];
        if (!is_chosen(t, &o)) continue;
        chosen++;
        if (o.list)
            printf("%s\n", t->name);
        else
            counts[run_test(t, &o)]++;
    }
    if (o.list) return 0;
    if (chosen == 0) fprintf(stderr, "jointflow-tests: no test has such a name\n");
    printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    return counts[FAILED] > 0 || chosen == 0;
}
