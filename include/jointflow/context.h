/* The context, where messages go, and the statuses in words: what the library itself sees of its public
 * headers. */
#ifndef JOINTFLOW_CONTEXT_H
#define JOINTFLOW_CONTEXT_H

#include "jointflow/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* what the public headers declare is all that a library exports */
#endif

const char *jf_status_name(jf_status status); /* "JF_ERROR_IO" */
const char *jf_status_text(jf_status status); /* a sentence */

/* Several threads may use one context: each finds the message of its own last failure. The log callback is
 * called by the thread that has something to say, so that several may call it at once; it is set before the
 * others begin. What was made with a context keeps it: jf_context_free() says that the caller does not need
 * it any more. */
typedef struct jf_context jf_context;
typedef void (*jf_log_fn)(void *user, const char *line);
jf_status jf_context_create(jf_context **out);
void jf_context_free(jf_context *ctx);
void jf_context_set_log(jf_context *ctx, jf_log_fn log, void *user); /* lines for people; none by default */
/* How far a long call is: training, opening data, judging, sampling, densities, super-resolution, figures,
 * fetching, measuring speed. Made by the library, which may add to its end. */
struct jf_training;
typedef struct jf_progress {
    const char *phase;    /* "train", "validation", "reading rows", ...; of fetching the name of the file */
    uint64_t done, total; /* of the phase: batches, rows, bytes, steps; total 0: not known */
    const struct jf_training *training; /* how a training stands; NULL where nothing is trained */
} jf_progress;
/* Called by the thread that made the call, a few times a second while it lasts. Non-zero stops it: the call
 * then returns JF_STOPPED as soon as it can, and what it gives is NULL, except that training saves and gives
 * its best model. So a signal handler sets a flag, and this function returns it. */
typedef int (*jf_progress_fn)(void *user, const jf_progress *progress);
void jf_context_set_progress(jf_context *ctx, jf_progress_fn progress, void *user); /* none by default */
#define JF_WARNING "warning: " /* what lines begin with that nobody should miss */
/* Messages name options that help: "set train.keep", "resume". A program that has other names for them gives
 * these, with what stands before and behind the value of those that have one; less than 48 characters each,
 * which are copied. Like the log callback they are set before other threads begin. */
jf_status jf_context_name_option(jf_context *ctx, const char *option, const char *before, const char *after);
/* The options: "key" (of a recipe; value: the key), "bounds" (value: one item) and "ordered" of tables
 * without a recipe, "resume" and "changed_data" of training, "models" of figures. NULL: there are no more. */
const char *jf_option_name(int index);
const char *
jf_context_error(const jf_context *ctx); /* the calling thread's last failure, "" before the first */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
