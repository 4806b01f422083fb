/* The context: the last message and where log lines go. */
#include "base/context.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_SIZE = 2048 };

struct jf_context {
    char message[MESSAGE_SIZE];
    jf_log_fn log;
    void *log_user;
};

jf_status jf_context_create(jf_context **out) {
    if (!out) return JF_ERROR_ARGUMENT;
    *out = calloc(1, sizeof **out);
    return *out ? JF_OK : JF_ERROR_MEMORY; /* the one failure without a message: there is no place for it */
}

void jf_context_free(jf_context *ctx) {
    free(ctx);
}

void jf_context_set_log(jf_context *ctx, jf_log_fn log, void *user) {
    if (!ctx) return;
    ctx->log = log;
    ctx->log_user = user;
}

const char *jf_context_error(const jf_context *ctx) {
    return ctx ? ctx->message : "";
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
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = *c == '\n' || *c == '\t' ? ' ' : '?';
}

jf_status jf_fail(jf_context *ctx, jf_status status, const char *format, ...) {
    if (!ctx) return status;
    char message[MESSAGE_SIZE]; /* apart, because an argument may be the message stored before */
    va_list arguments;
    va_start(arguments, format);
    compose(message, format, arguments);
    va_end(arguments);
    memcpy(ctx->message, message, sizeof message);
    return status;
}

void jf_log(jf_context *ctx, const char *format, ...) {
    if (!ctx || !ctx->log) return;
    char line[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    compose(line, format, arguments);
    va_end(arguments);
    ctx->log(ctx->log_user, line);
}
