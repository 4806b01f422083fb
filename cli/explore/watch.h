/* A training that is watched: what its progress tells, kept for the page. */
#ifndef EXPLORE_WATCH_H
#define EXPLORE_WATCH_H

#include "buffer.h"
#include "jointflow/jointflow.h"

typedef struct watch watch;
watch *watch_create(const char *title); /* NULL: no memory */
void watch_free(watch *w);
/* By the thread that trains; samples and latent points are drawn where the progress has a model. */
void watch_take(watch *w, const jf_training *now);
void watch_end(watch *w); /* the training has ended */
/* By any thread. */
void watch_write(watch *w, buffer *out);

#endif
