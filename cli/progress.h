/* Progress of training on standard output: on a terminal one line that is rewritten in place, elsewhere a
 * line for an epoch, at most one every few seconds. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "jointflow/jointflow.h"

typedef struct progress {
    int quiet;
    int terminal;
    int batch;                /* samples, for the speed; 0: unknown */
    const volatile int *stop; /* non-zero: a stop was asked for; may be NULL */
    int line_open;            /* the cursor is in a line that will be rewritten */
    double shown_at;          /* when something was shown last */
    char phase[32];           /* of the last epoch that ended */
    char last[256];           /* its line, "" once it was shown */
} progress;

void progress_begin(progress *p, int quiet, int batch, const volatile int *stop);
int progress_show(void *user,
                  const jf_progress *now);        /* for jf_context_set_progress; `user` is the progress */
void progress_note(void *user, const char *line); /* for jf_context_set_log */
void progress_end(progress *p);                   /* shows what was held back */

#endif
