/* The context: where messages go. Every fallible function takes one and leaves its sentence there.
 *
 * Invariant: whoever returns a negative status has called jf_fail() exactly once; callers pass the status on
 * unchanged (JF_TRY), so the message names the place where the fault was found. Messages belong to the thread
 * that failed: a task that a pool runs must not call jf_fail(), since its caller would not find the message.
 */
#ifndef JF_BASE_CONTEXT_H
#define JF_BASE_CONTEXT_H

#include "jointflow/context.h"
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/* Stores the formatted message on the context and returns `status`. */
jf_status jf_fail(jf_context *ctx, jf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line for people, without newline, to the log callback; nothing where none is set. */
void jf_log(jf_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what people should not miss: the line begins with JF_WARNING. */
void jf_warn(jf_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Options that messages name, in the words of the program (jf_context_name_option). `value`: "" for those
 * that have none. */
typedef enum named_option {
    OPTION_KEY,
    OPTION_BOUNDS,
    OPTION_ORDERED,
    OPTION_RESUME,
    OPTION_CHANGED_DATA,
    OPTION_MODELS,
    NAMED_OPTIONS
} named_option;
enum { OPTION_WORDS = 320 };
const char *option_words(const jf_context *ctx, named_option option, const char *value,
                         char out[OPTION_WORDS]); /* returns out */

/* For handles: keeps the context until jf_context_free() is called once more. */
jf_context *context_hold(jf_context *ctx);

/* How far a long call is, to be called wherever one could wait for a while, by the thread of the caller and
 * never by a task of a pool. A few times a second it asks the progress callback; JF_STOPPED: that wants to
 * stop, which is passed on like a failure (JF_TRY). total 0: not known. */
jf_status context_poll(jf_context *ctx, const char *phase, uint64_t done, uint64_t total);
/* The same at once, with all that there is to tell. */
jf_status context_tell(jf_context *ctx, const jf_progress *progress);

/* Other processes that work together with this one (ranks/ranks.h): `poll` is called wherever context_poll()
 * is, `leave` when the context goes. */
void context_set_communicator(jf_context *ctx, void *communicator, void (*poll)(void *communicator),
                              void (*leave)(void *communicator));
/* Borrowed. NULL where there is none, in another thread than the one that set it, and inside of the progress
 * callback: what these do the others do not. */
void *context_communicator(const jf_context *ctx);
/* While it is set nothing is written to files with this context, and whoever writes is told that it was:
 * another process does. */
void context_set_read_only(jf_context *ctx, int read_only);
int context_writes(const jf_context *ctx);

/* Whether the processes of this machine that work together have more threads than it has processors: who
 * waits then does not spin. */
void context_set_crowded(jf_context *ctx, int crowded);
int context_is_crowded(const jf_context *ctx);

/* Refuses arguments that are NULL by their names. JF_GIVES also empties *out, the first of them. Of models
 * and others that have a context, that is CONTEXT_OF(m). */
#define JF_NEEDS(ctx, ...)                                                                                   \
    JF_TRY(context_needs((ctx), __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},                  \
                         sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))
#define JF_GIVES(ctx, out, ...)                                                                              \
    do {                                                                                                     \
        if (out) memset((out), 0, sizeof *(out));                                                            \
        JF_NEEDS(ctx, out, __VA_ARGS__);                                                                     \
    } while (0)
#define CONTEXT_OF(m) ((m) ? (m)->ctx : NULL)
jf_status context_needs(jf_context *ctx, const char *function, const char *names,
                        const void *const *arguments, size_t count);

/* Passes a failure on. */
#define JF_TRY(expression)                                                                                   \
    do {                                                                                                     \
        jf_status jf_try_status = (expression);                                                              \
        if (jf_try_status != JF_OK) return jf_try_status;                                                    \
    } while (0)
/* The same where something has to be freed first: sets `status` (declared by the function) and jumps to
 * `done`. */
#define JF_TRY_DONE(expression)                                                                              \
    do {                                                                                                     \
        status = (expression);                                                                               \
        if (status != JF_OK) goto done;                                                                      \
    } while (0)

#endif
