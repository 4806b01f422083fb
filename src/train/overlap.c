#include "train/overlap.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT "JOINTFLOW_OVERLAP"
#define LEAST                                                                                                \
    ((size_t)1                                                                                               \
     << 20) /* bytes of a sum, but for the last one: they take ten times as long as a message of none */

struct overlap {
    ranks_behind *behind;
    const flow *f;
    size_t total;
    size_t least; /* numbers of a sum */
    float *grad;
    size_t begin, end; /* layers that are done: numbers that wait for more; those behind are on their way */
};

static size_t end_of_layers(const flow *f) {
    return f->chain[f->layers - 1].params_end;
}

static void send(overlap *o) {
    if (o->end > o->begin) ranks_behind_sum(o->behind, o->grad + o->begin, o->end - o->begin);
    o->end = o->begin;
}

/* Layers come from the last to the first, as their parameters lie. */
static void layer_done(void *arg, int layer) {
    overlap *o = arg;
    o->begin = o->f->chain[layer].params_begin;
    if (o->end - o->begin >= o->least) send(o);
}

jf_status overlap_read_wish(ranks *r, jf_context *ctx, overlap_wish *out) {
    const char *told = getenv(ENVIRONMENT);
    char *end;
    *out = (overlap_wish){.least = ranks_share_machine(r) ? 0 : LEAST};
    JF_TRY(ranks_same(r, ENVIRONMENT " (mpirun -x " ENVIRONMENT " gives it to all)", told ? told : ""));
    if (!told || !*told) return JF_OK;
    if (strcmp(told, "off") == 0) out->least = 0;
    if (strcmp(told, "off") == 0) return JF_OK;
    out->asked = 1;
    if (strcmp(told, "on") == 0) out->least = LEAST;
    if (strcmp(told, "on") == 0) return JF_OK;
    unsigned long number = strtoul(told, &end, 10);
    out->least = number;
    if (*end == 0 && number > 0 && *told >= '0' && *told <= '9') return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT,
                   ENVIRONMENT ": found \"%s\", expected on, off or a number of bytes", told);
}

jf_status overlap_create(overlap **out, ranks *r, const model *m, size_t least) {
    const device_kind *k = m->d->kind;
    size_t bytes = m->parameters.total * sizeof(float);
    ranks_behind *behind;
    *out = NULL;
    if (ranks_size(r) == 1) return JF_OK;
    int can = m->objective.kind->from_data && k->host && k->real_size == sizeof(float);
    JF_TRY(ranks_behind_open(&behind, r, m->flow->layers + 3, can && least > 0 && bytes >= 2 * least));
    if (!behind) return JF_OK;
    jf_status status = MEM_NEW(m->ctx, out, 1);
    if (status != JF_OK) {
        ranks_behind_close(behind);
        return status;
    }
    **out = (overlap){.behind = behind,
                      .f = m->flow,
                      .total = m->parameters.total,
                      .least = (least + sizeof(float) - 1) / sizeof(float)};
    return JF_OK;
}

void overlap_free(overlap *o) {
    if (!o) return;
    ranks_behind_close(o->behind);
    free(o);
}

void overlap_begin(overlap *o, flow_run *run, float *grad) {
    o->grad = grad;
    o->begin = o->end = end_of_layers(o->f);
    run->pass.layer_done = layer_done;
    run->pass.layer_done_for = o;
    ranks_behind_start(o->behind);
}

jf_status overlap_end(overlap *o, flow_run *run) {
    size_t after = end_of_layers(o->f);
    run->pass.layer_done = NULL;
    o->begin = 0; /* with what lies before the layers */
    send(o);
    if (after < o->total) ranks_behind_sum(o->behind, o->grad + after, o->total - after);
    return ranks_behind_finish(o->behind);
}
