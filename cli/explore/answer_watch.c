/* The training that is watched, as far as it is. */
#include "answers.h"
#include "watch.h"

static jf_status give_watch(explorer *e, ask *asked, buffer *out) {
    if (!e->watch)
        ask_refuse(asked, "no training is watched here");
    else
        watch_write(e->watch, out);
    return JF_OK;
}

const answer answer_watch = {"watch", give_watch};
