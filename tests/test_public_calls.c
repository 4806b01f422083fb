/* What every public function promises: which arguments may be NULL, and that a forked child can call it. */
#include "public_calls.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the headers ---- */

enum { MOST_ARGUMENTS = 12, NAME = 64 };
#ifdef SANITIZED
enum { PATIENCE = 300, CPU_SECONDS = 50 };
#else
enum { PATIENCE = 60, CPU_SECONDS = 5 };
#endif

typedef struct declared {
    int count;
    unsigned pointers; /* a bit for each argument that is one, but for `void *user` */
    int owner;         /* the argument that has the context; -1: none */
    char name[MOST_ARGUMENTS][NAME];
} declared;

/* The public headers without comments and line ends; yours to free. */
static char *headers(void) {
    static const char *const files[] = {"context.h", "jointflow.h"};
    char *all = calloc(1, 1 << 20), path[512];
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, JF_TESTS_DIR "/../include/jointflow/%s", files[i]);
        FILE *file = fopen(path, "r");
        CHECK(all && file);
        length += fread(all + length, 1, ((size_t)1 << 19) - 1, file);
        fclose(file);
    }
    for (char *open; (open = strstr(all, "/*"));) {
        char *close = strstr(open, "*/");
        CHECK(close);
        memset(open, ' ', (size_t)(close + 2 - open));
    }
    for (char *c = all; *c; c++)
        if (*c == '\n') *c = ' ';
    return all;
}

static void take_argument(declared *d, const char *from, const char *end) {
    char words[256] = "";
    snprintf(words, sizeof words, "%.*s", (int)(end - from), from);
    int at = d->count++;
    CHECK(at < MOST_ARGUMENTS);
    char *last = strchr(words, '['), *function = strstr(words, "(*");
    if (last) *last = '\0';
    if (function) function[2 + strcspn(function + 2, ")")] = '\0';
    last = words + strlen(words);
    while (last > words && last[-1] == ' ') *--last = '\0';
    while (last > words && !strchr(" *", last[-1])) last--;
    CHECK(strlen(last) < NAME);
    memcpy(d->name[at], last, strlen(last) + 1);
    if ((strchr(words, '*') || strstr(words, "_fn ") || memchr(from, '[', (size_t)(end - from))) &&
        !strstr(words, "void *user"))
        d->pointers |= 1u << at;
    int is_handle = (strstr(words, "jf_model *") || strstr(words, "jf_recipe *") ||
                     strstr(words, "jf_data *") || strstr(words, "jf_cascade *")) &&
                    !strstr(words, "**");
    if (strstr(words, "jf_context *ctx") || strstr(words, "*const *models") || (is_handle && d->owner < 0))
        d->owner = at;
}

static declared arguments_of(const char *all, const char *function) {
    declared d = {.owner = -1};
    char opened[NAME + 1];
    snprintf(opened, sizeof opened, "%s(", function);
    const char *at = strstr(all, opened);
    while (at && !strchr(" *", at[-1])) at = strstr(at + 1, opened);
    if (!at) test_fail(__FILE__, __LINE__, "no header declares %s", function);
    at += strlen(opened);
    int depth = 0;
    for (const char *from = at;; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth < 0 || (depth == 0 && *at == ',')) {
            take_argument(&d, from, at);
            from = at + 1;
        }
        if (depth < 0) return d;
    }
}

/* ---- calls in processes of their own ---- */

typedef struct outcome {
    int gave, ended; /* by itself */
    unsigned needed, optional;
    char message[512];
} outcome;

/* What a call gives in a child. A machine at work may take long for it, but not much of its processor time.
 */
static outcome run_in_child(live *f, const public_call *c, int hide) {
    outcome o = {0};
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        call_needed = call_optional = 0;
        o.gave = c->run(f, hide);
        o.needed = call_needed;
        o.optional = call_optional;
        if (strcmp(c->name, "jf_context_free") != 0)
            snprintf(o.message, sizeof o.message, "%s", jf_context_error(live_context(f)));
        _exit(write(ends[1], &o, sizeof o) == sizeof o ? 0 : 2);
    }
    close(ends[1]);
    int told = read(ends[0], &o, sizeof o) == sizeof o;
    close(ends[0]);
    struct rusage used;
    CHECK(wait4(child, &status, 0, &used) == child);
    o.ended = told && WIFEXITED(status) && WEXITSTATUS(status) == 0 && used.ru_utime.tv_sec < CPU_SECONDS;
    if (!o.ended) snprintf(o.message, sizeof o.message, "ended with wait status %d", status);
    return o;
}

TEST(public__every_function_is_among_the_calls) {
    char name[NAME];
    FILE *list = fopen(JF_TESTS_DIR "/../cmake/exports.txt", "r");
    int count = 0;
    CHECK(list);
    while (fscanf(list, "%63s", name) == 1) {
        const public_call *c = public_calls;
        while (c->name && strcmp(c->name, name) != 0) c++;
        if (!c->name) test_fail(__FILE__, __LINE__, "%s has no call in public_calls.c", name);
        count++;
    }
    CHECK(count == public_call_count);
    fclose(list);
}

static void check_arguments(live *f, const public_call *c, const declared *d) {
    outcome o = run_in_child(f, c, -1);
    if ((o.needed | o.optional) != d->pointers || (o.needed & o.optional))
        test_fail(__FILE__, __LINE__,
                  "%s: public_calls.c does not say of each pointer whether it is needed; %s", c->name,
                  o.message);
}

static void check_hidden(live *f, const public_call *c, const declared *d, int hide) {
    outcome o = run_in_child(f, c, hide);
    int needed = o.needed >> hide & 1;
    const char *name = d->name[hide];
    if (!o.ended) test_fail(__FILE__, __LINE__, "%s: %s NULL: %s", c->name, name, o.message);
    int refused =
        needed ? o.gave == JF_ERROR_ARGUMENT || o.gave == CALL_GAVE : o.gave == JF_OK || o.gave == CALL_GAVE;
    if (!refused && !(c->may_fail && !needed))
        test_fail(__FILE__, __LINE__, "%s: %s NULL: gave %d, %s", c->name, name, o.gave, o.message);
    if (needed && o.gave == JF_ERROR_ARGUMENT && hide != d->owner && d->owner >= 0 &&
        !strstr(o.message, name))
        test_fail(__FILE__, __LINE__, "%s: %s NULL: the message is \"%s\"", c->name, name, o.message);
}

TEST(public__null_is_refused_by_name_where_the_header_does_not_allow_it) {
    char *all = headers();
    live *f = live_open(1);
    for (int i = 0; i < public_call_count; i++) {
        const public_call *c = &public_calls[i];
        declared d = arguments_of(all, c->name);
        check_arguments(f, c, &d);
        for (int k = 0; k < d.count; k++)
            if (d.pointers >> k & 1) check_hidden(f, c, &d, k);
    }
    free(all);
}

/* ---- forks ---- */

typedef struct busy {
    jf_model *m;
    atomic_int stop;
} busy;

static void *work(void *arg) {
    busy *b = arg;
    enum { ROWS = 300 };
    double y[ROWS], x[2 * ROWS], log_p[ROWS];
    for (int i = 0; i < ROWS; i++) y[i] = i % 2;
    while (!atomic_load(&b->stop)) {
        CHECK_STATUS(jf_sample(b->m, ROWS, y, x, NULL, NULL, NULL), JF_OK);
        CHECK_STATUS(jf_density(b->m, ROWS, x, y, log_p, NULL, NULL), JF_OK);
    }
    return NULL;
}

static void check_children(live *f) {
    for (int i = 0; i < public_call_count; i++) {
        const public_call *c = &public_calls[i];
        outcome o = run_in_child(f, c, -1);
        if (!o.ended) test_fail(__FILE__, __LINE__, "%s in a forked child: %s", c->name, o.message);
        if (!c->may_fail && o.gave != JF_OK && o.gave != CALL_GAVE)
            test_fail(__FILE__, __LINE__, "%s in a forked child: gave %d, %s", c->name, o.gave, o.message);
    }
}

TEST(forks__every_public_function_returns_in_a_child_of_an_idle_and_of_a_busy_process) {
#ifdef SANITIZED
    SKIP("a child may wait for a lock that the sanitizer's allocator held at the fork");
#endif
    live *f = live_open(3);
    busy b = {.m = live_model(f)};
    pthread_t thread;
    usleep(20000); /* threads of pools that have nothing to do fall asleep */
    check_children(f);
    CHECK(pthread_create(&thread, NULL, work, &b) == 0);
    check_children(f);
    atomic_store(&b.stop, 1);
    CHECK(pthread_join(thread, NULL) == 0);
}
