/* One step of training, recorded where the device can do that. */
#include "train/train.h"

static void take_step(void *arg) {
    const training_step *s = arg;
    const objective *o = &s->m->objective;
    o->kind->evaluate(o, s->run, s->n, 1.0 / s->n, optimiser_terms(s->opt));
    optimiser_step(s->opt, s->m);
}

jf_status training_step_create(training_step *s, model *m, flow_run *run, const optimiser *opt, int n) {
    const device_kind *k = m->d->kind;
    *s = (training_step){m, run, opt, n, NULL};
    return k->record ? k->record(m->d, &s->recording, take_step, s) : JF_OK;
}

void training_step_free(training_step *s) {
    if (s->recording) s->m->d->kind->recording_free(s->m->d, s->recording);
    s->recording = NULL;
}

void training_step_run(training_step *s) {
    device *d = s->m->d;
    if (s->recording)
        d->kind->replay(d, s->recording);
    else
        take_step(s);
}
