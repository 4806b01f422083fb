/* The context: the last message of every thread and where log lines go.
 *
 * Messages are a list that only grows, one entry per thread that ever failed: an entry is written and read by
 * its own thread alone, so that pushing it is all that has to be atomic. The system gives the identifier of a
 * thread that ended to one that begins, which then takes over the entry: there are as many as threads that
 * lived at the same time. */
#include "base/context.h"
#include "base/number.h"
#include "base/shown.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_SIZE = 2048 };
/* Seconds between two questions of context_poll(). */
#define POLL_INTERVAL 0.05

typedef struct thread_message {
    pthread_t thread;
    struct thread_message *next;
    double polled; /* when the progress callback was asked last, seconds */
    int asking;    /* it is being asked */
    char text[MESSAGE_SIZE];
} thread_message;

enum { OPTION_PART = 48 };
typedef struct option_name {
    char before[OPTION_PART], after[OPTION_PART]; /* the value */
} option_name;

static const struct {
    const char *name, *before;
} known_options[NAMED_OPTIONS] = {
    [OPTION_KEY] = {"key", "set "},
    [OPTION_BOUNDS] = {"bounds", "bounds "},
    [OPTION_ORDERED] = {"ordered", "ordered"},
    [OPTION_RESUME] = {"resume", "resume"},
    [OPTION_CHANGED_DATA] = {"changed_data", "changed_data"},
    [OPTION_MODELS] = {"models", "models"},
};

struct jf_context {
    atomic_size_t holders;
    _Atomic(thread_message *) messages;
    atomic_int lost; /* a message that found no memory */
    jf_log_fn log;
    void *log_user;
    jf_progress_fn progress;
    void *progress_user;
    option_name options[NAMED_OPTIONS];
    void *communicator; /* NULL: this process works by itself */
    void (*communicator_poll)(void *communicator);
    void (*communicator_leave)(void *communicator);
    pthread_t communicator_thread; /* that joined it, and alone works with it */
    pid_t communicator_process;    /* a forked child has no part in it */
    int read_only;
    int crowded;
};

static thread_message *message_of_this_thread(const jf_context *ctx) {
    thread_message *m = atomic_load(&ctx->messages);
    while (m && !pthread_equal(m->thread, pthread_self())) m = m->next;
    return m;
}

static thread_message *add_message(jf_context *ctx) {
    thread_message *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->thread = pthread_self();
    m->next = atomic_load(&ctx->messages);
    while (!atomic_compare_exchange_weak(&ctx->messages, &m->next, m)) continue;
    return m;
}

jf_status jf_context_create(jf_context **out) {
    if (!out) return JF_ERROR_ARGUMENT;
    *out = calloc(1, sizeof **out);
    if (*out) atomic_init(&(*out)->holders, 1);
    for (int i = 0; *out && i < NAMED_OPTIONS; i++)
        memcpy((*out)->options[i].before, known_options[i].before, strlen(known_options[i].before) + 1);
    /* The thread that makes the context has its place from the start: it is told about missing memory, too.
     */
    if (*out && !add_message(*out)) {
        free(*out);
        *out = NULL;
    }
    return *out ? JF_OK : JF_ERROR_MEMORY; /* the one failure without a message: there is no place for it */
}

static int has_communicator(const jf_context *ctx) {
    return ctx->communicator && ctx->communicator_process == getpid();
}

jf_context *context_hold(jf_context *ctx) {
    if (ctx) atomic_fetch_add(&ctx->holders, 1);
    return ctx;
}

void jf_context_free(jf_context *ctx) {
    if (!ctx || atomic_fetch_sub(&ctx->holders, 1) > 1) return;
    if (has_communicator(ctx)) ctx->communicator_leave(ctx->communicator);
    for (thread_message *m = ctx->messages, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    free(ctx);
}

void jf_context_set_log(jf_context *ctx, jf_log_fn log, void *user) {
    if (!ctx) return;
    ctx->log = log;
    ctx->log_user = user;
}

void jf_context_set_progress(jf_context *ctx, jf_progress_fn progress, void *user) {
    if (!ctx) return;
    ctx->progress = progress;
    ctx->progress_user = user;
}

const char *jf_option_name(int index) {
    return index >= 0 && index < NAMED_OPTIONS ? known_options[index].name : NULL;
}

jf_status jf_context_name_option(jf_context *ctx, const char *option, const char *before, const char *after) {
    JF_NEEDS(ctx, ctx, option, before, after);
    for (int i = 0; i < NAMED_OPTIONS; i++) {
        if (strcmp(option, known_options[i].name) != 0) continue;
        if (strlen(before) >= OPTION_PART || strlen(after) >= OPTION_PART)
            return jf_fail(ctx, JF_ERROR_ARGUMENT,
                           "option %s: a name of %zu characters, expected less than %d", option,
                           strlen(before) + strlen(after), OPTION_PART);
        memcpy(ctx->options[i].before, before, strlen(before) + 1);
        memcpy(ctx->options[i].after, after, strlen(after) + 1);
        return JF_OK;
    }
    return jf_fail(ctx, JF_ERROR_ARGUMENT, "no message names an option \"%s\"", option);
}

const char *option_words(const jf_context *ctx, named_option option, const char *value,
                         char out[OPTION_WORDS]) {
    const char *before = ctx ? ctx->options[option].before : known_options[option].before;
    snprintf(out, OPTION_WORDS, "%s%s%s", before, value, ctx ? ctx->options[option].after : "");
    return out;
}

void context_set_communicator(jf_context *ctx, void *communicator, void (*poll)(void *communicator),
                              void (*leave)(void *communicator)) {
    ctx->communicator = communicator;
    ctx->communicator_poll = poll;
    ctx->communicator_leave = leave;
    ctx->communicator_thread = pthread_self();
    ctx->communicator_process = getpid();
}

void *context_communicator(const jf_context *ctx) {
    if (!ctx || !has_communicator(ctx) || !pthread_equal(ctx->communicator_thread, pthread_self()))
        return NULL;
    const thread_message *m = message_of_this_thread(ctx);
    return m && m->asking ? NULL : ctx->communicator;
}

void context_set_crowded(jf_context *ctx, int crowded) {
    ctx->crowded = crowded;
}

int context_is_crowded(const jf_context *ctx) {
    return ctx && ctx->crowded;
}

void context_set_read_only(jf_context *ctx, int read_only) {
    ctx->read_only = read_only;
}

int context_writes(const jf_context *ctx) {
    return !ctx || !ctx->read_only;
}

static thread_message *place_of_this_thread(jf_context *ctx) {
    thread_message *m = message_of_this_thread(ctx);
    return m ? m : add_message(ctx);
}

jf_status context_tell(jf_context *ctx, const jf_progress *progress) {
    if (!ctx || !ctx->progress) return JF_OK;
    thread_message *m = place_of_this_thread(ctx);
    if (m && m->asking) return JF_OK; /* a call that the callback makes has no progress of its own */
    if (m) m->asking = 1;
    pid_t process = getpid();
    int stop = ctx->progress(ctx->progress_user, progress);
    if (m) m->asking = 0;
    if (getpid() != process)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "%s: the progress callback returned in a forked child, expected its parent alone: the "
                       "child has to end, or to execute another program, inside of the callback",
                       progress->phase);
    if (!stop) return JF_OK;
    return jf_fail(ctx, JF_STOPPED, "%s: stopped on request", progress->phase);
}

jf_status context_poll(jf_context *ctx, const char *phase, uint64_t done, uint64_t total) {
    struct timespec t;
    if (ctx && has_communicator(ctx)) ctx->communicator_poll(ctx->communicator);
    if (!ctx || !ctx->progress) return JF_OK;
    thread_message *m = place_of_this_thread(ctx);
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (m && now - m->polled < POLL_INTERVAL) return JF_OK;
    if (m) m->polled = now;
    return context_tell(ctx, &(jf_progress){.phase = phase, .done = done, .total = total});
}

const char *jf_context_error(const jf_context *ctx) {
    const thread_message *m = ctx ? message_of_this_thread(ctx) : NULL;
    if (!m && ctx && atomic_load(&ctx->lost)) return "not enough memory to keep the message of this thread";
    return m ? m->text : "";
}

const char *jf_status_name(jf_status status) {
    switch (status) {
#define X(name, value, text)                                                                                 \
    case name:                                                                                               \
        return #name;
        JF_STATUS_LIST(X)
#undef X
    }
    return "JF_ERROR_UNKNOWN";
}

const char *jf_status_text(jf_status status) {
    switch (status) {
#define X(name, value, text)                                                                                 \
    case name:                                                                                               \
        return text;
        JF_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

/* Formats a message that is safe to show: one line, no control characters (messages quote from files, which
 * may come from anywhere), and a mark where it did not fit, so that nobody takes its end for the whole. */
static void compose(char message[MESSAGE_SIZE], const char *format, va_list arguments) {
    int length = number_vprint(message, MESSAGE_SIZE, format, arguments);
    if (length < 0) message[0] = '\0';
    if (length >= MESSAGE_SIZE) memcpy(message + MESSAGE_SIZE - 4, "...", 4);
    shown_replace(message);
}

jf_status jf_fail(jf_context *ctx, jf_status status, const char *format, ...) {
    if (!ctx) return status;
    char message[MESSAGE_SIZE]; /* apart, because an argument may be the message stored before */
    va_list arguments;
    va_start(arguments, format);
    compose(message, format, arguments);
    va_end(arguments);
    thread_message *m = place_of_this_thread(ctx);
    if (m)
        memcpy(m->text, message, sizeof message);
    else
        atomic_store(&ctx->lost, 1);
    return status;
}

jf_status context_needs(jf_context *ctx, const char *function, const char *names,
                        const void *const *arguments, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i])
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the argument %.*s is NULL", function,
                           (int)strcspn(names, ","), names);
        names += strcspn(names, ",");
        names += strspn(names, ", ");
    }
    return JF_OK;
}

static void log_line(jf_context *ctx, const char *mark, const char *format, va_list arguments) {
    char line[MESSAGE_SIZE + sizeof JF_WARNING];
    size_t length = strlen(mark);
    memcpy(line, mark, length);
    compose(line + length, format, arguments);
    ctx->log(ctx->log_user, line);
}

void jf_log(jf_context *ctx, const char *format, ...) {
    if (!ctx || !ctx->log) return;
    va_list arguments;
    va_start(arguments, format);
    log_line(ctx, "", format, arguments);
    va_end(arguments);
}

void jf_warn(jf_context *ctx, const char *format, ...) {
    if (!ctx || !ctx->log) return;
    va_list arguments;
    va_start(arguments, format);
    log_line(ctx, JF_WARNING, format, arguments);
    va_end(arguments);
}
