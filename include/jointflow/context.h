/* The context, where messages go, and the statuses in words: what the library itself sees of its public headers. */
#ifndef JOINTFLOW_CONTEXT_H
#define JOINTFLOW_CONTEXT_H

#include "jointflow/status.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* what the public headers declare is all that a library exports */
#endif

const char *jf_status_name(jf_status status); /* "JF_ERROR_IO" */
const char *jf_status_text(jf_status status); /* a sentence */

/* Several threads may use one context: each finds the message of its own last failure. The log callback is called by the
 * thread that has something to say, so that several may call it at once; it is set before the others begin. A context is
 * freed when nobody uses it any more, nor anything that was made with it. */
typedef struct jf_context jf_context;
typedef void (*jf_log_fn)(void *user, const char *line);
jf_status jf_context_create(jf_context **out);
void jf_context_free(jf_context *ctx);
void jf_context_set_log(jf_context *ctx, jf_log_fn log, void *user); /* lines for people; none by default */
#define JF_WARNING "warning: " /* what lines begin with that nobody should miss */
const char *
jf_context_error(const jf_context *ctx); /* the calling thread's last failure, "" before the first */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
