#include "train/data_parallel.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct data_parallel_evaluation {
    const data_parallel *s;
    model *m;
    flow_run *run;
    const optimiser *opt;
    scalar *terms;
};

/* ---- who does what ---- */

/* The most slices of one size that there can be. */
static int slices_of(int batch) {
    int slices = DATA_PARALLEL_SLICES;
    while (batch % slices != 0) slices /= 2;
    return slices;
}

static jf_status take_slices(data_parallel *s, const model *m) {
    int slices = slices_of(s->batch), size = ranks_size(s->r);
    if (slices % size != 0)
        return recipe_fail(
            m->recipe, "train.batch",
            "a deterministic run cuts %d samples into %d slices of one size, which %d ranks cannot "
            "share equally: start 1%s ranks",
            s->batch, slices, size,
            slices == 8   ? ", 2, 4 or 8"
            : slices == 4 ? ", 2 or 4"
            : slices == 2 ? " or 2"
                          : "");
    s->slices = slices / size;
    s->slice = s->rows = s->batch / slices;
    while (1 << s->levels < s->slices) s->levels++;
    return JF_OK;
}

/* ---- devices that add up by themselves ---- */

/* Ranks of which one cannot leave the sums to the hosts of all, and say why: before any of them waits for the
 * others in vain. Rank 0 names the group. */
static jf_status group_join(data_parallel *s, const model *m) {
    const device_kind *k = m->d->kind;
    char id[DEVICE_GROUP_ID] = {0};
    if (!k->group_open || !ranks_are_joined(s->r)) return JF_OK;
    jf_status mine = k->group_id(m->d, ranks_is_first(s->r) ? id : NULL);
    double missing = mine != JF_OK;
    JF_TRY(ranks_sum_doubles(s->r, &missing, 1));
    if (missing == 0) {
        JF_TRY(ranks_broadcast(s->r, id, sizeof id, 0));
        mine = k->group_open(m->d, &s->group, id, ranks_rank(s->r), ranks_size(s->r));
        missing = mine != JF_OK;
        JF_TRY(ranks_sum_doubles(s->r, &missing, 1));
    }
    if (missing == 0) {
        jf_log(m->ctx, "gradients are added up by the GPUs (NCCL)");
        return JF_OK;
    }
    if (s->group) k->group_close(m->d, s->group, 1);
    s->group = NULL;
    jf_warn(m->ctx, "gradients are added up through the memory of the hosts, which is slower: %s",
            mine != JF_OK ? jf_context_error(m->ctx) : "another rank has no NCCL");
    return JF_OK;
}

jf_status data_parallel_create(data_parallel *s, const model *m, int batch, int deterministic) {
    ranks *r = ranks_of(m->ctx);
    ranks_share mine = ranks_share_of(r, (size_t)batch);
    *s = (data_parallel){.r = r, .batch = batch, .first = (int)mine.begin, .end = (int)mine.end, .slices = 1};
    s->slice = s->end - s->first;
    s->rows = (batch + ranks_size(r) - 1) / ranks_size(r);
    if (batch < ranks_size(r))
        return recipe_fail(m->recipe, "train.batch", "%d samples cannot be shared by %d ranks: start fewer",
                           batch, ranks_size(r));
    JF_TRY(MEM_NEW(m->ctx, &s->evaluation, 1));
    if (!deterministic) JF_TRY(group_join(s, m));
    if (deterministic) JF_TRY(take_slices(s, m));
    if (!deterministic) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &s->waiting, (size_t)s->levels + 1));
    for (int i = 0; i < s->levels; i++) JF_TRY(m->d->kind->alloc(m->d, &s->waiting[i], m->parameters.total));
    return JF_OK;
}

void data_parallel_free(data_parallel *s, model *m, int failed) {
    if (s->group && failed) m->d->kind->group_close(m->d, s->group, failed);
    if (s->recording) m->d->kind->recording_free(m->d, s->recording);
    if (s->group && !failed) m->d->kind->group_close(m->d, s->group, failed);
    free(s->evaluation);
    for (int i = 0; s->waiting && i < s->levels; i++)
        if (s->waiting[i]) m->d->kind->release(m->d, s->waiting[i]);
    free(s->waiting);
    *s = (data_parallel){0};
}

int data_parallel_needed(const data_parallel *s) {
    return ranks_size(s->r) > 1 || s->slices > 1 || s->group;
}

/* ---- a step ---- */

static batch_request slice_of(const data_parallel *s, const batch_request *q, int slice) {
    return batch_part(q, s->first + slice * s->slice, s->slice);
}

/* The request after that of a slice: of the next one, or of the next batch. */
static void make_next(const data_parallel *s, const data_parallel_call *c, int slice) {
    if (slice + 1 == s->slices && !c->has_next) return;
    batch_request q = slice + 1 < s->slices ? slice_of(s, &c->batch, slice + 1) : slice_of(s, &c->next, 0);
    feed_begin(c->feed, &q);
}

static double drift_of(const data_parallel_call *c, int rows) {
    device *d = c->m->d;
    double drift;
    d->kind->largest_difference_into(d, optimiser_drift(c->opt), c->run->state, c->run->copy,
                                     (size_t)rows * (size_t)c->m->flow->dim);
    d->kind->get_scalars(d, &drift, optimiser_drift(c->opt), 1);
    return drift;
}

/* The gradient of the slices so far takes in those that wait for it: with slice 3 that of 2, then the sum of
 * 0 and 1. What is not whole yet waits itself. terms: of the slices, and below of the sums that wait. */
static void add_by_halves(const data_parallel *s, const data_parallel_call *c, int slice, loss_terms *sum,
                          loss_terms *waiting) {
    device *d = c->m->d;
    size_t count = c->m->parameters.total;
    int level = 0;
    for (; slice >> level & 1; level++) {
        d->kind->add(d, c->opt->grad, s->waiting[level], count);
        for (int i = 0; i < TERM_COUNT; i++) sum->value[i] += waiting[level].value[i];
    }
    if (slice + 1 == s->slices) return;
    d->kind->copy(d, s->waiting[level], c->opt->grad, count);
    d->kind->fill(d, c->opt->grad, 0, count);
    waiting[level] = *sum;
}

/* A slice, and where devices add up the sum of all ranks. Always the same calls of the device. */
static void evaluate_slice(void *arg) {
    const data_parallel_evaluation *e = arg;
    const objective *o = &e->m->objective;
    device *d = e->m->d;
    o->kind->evaluate(o, e->run, e->s->slice, 1.0 / e->s->batch, e->terms);
    if (!e->s->group) return;
    d->kind->group_sum(d, e->s->group, e->opt->grad, e->m->parameters.total);
    d->kind->group_sum_scalars(d, e->s->group, e->terms, e->terms, TERM_COUNT);
}

static int has_added_up(void *arg) {
    const data_parallel_evaluation *e = arg;
    return e->m->d->kind->group_done(e->m->d, e->s->group);
}

static jf_status run_slice(data_parallel *s, const data_parallel_call *c) {
    device *d = c->m->d;
    *s->evaluation = (data_parallel_evaluation){s, c->m, c->run, c->opt, c->terms};
    if (d->kind->record && !s->recording && s->slices == 1) /* one of several differs by its rows */
        JF_TRY(d->kind->record(d, &s->recording, evaluate_slice, s->evaluation));
    if (s->recording)
        d->kind->replay(d, s->recording);
    else
        evaluate_slice(s->evaluation);
    return s->group ? ranks_wait(s->r, has_added_up, s->evaluation, "the sum over GPUs (NCCL)") : JF_OK;
}

static jf_status evaluate_slices(data_parallel *s, const data_parallel_call *c, loss_terms *sum,
                                 double *drift) {
    device *d = c->m->d;
    loss_terms waiting[DATA_PARALLEL_SLICES];
    *drift = 0;
    for (int i = 0; i < s->slices; i++) {
        batch_request q = slice_of(s, &c->batch, i);
        feed_take(c->feed, &q);
        make_next(s, c, i);
        *sum = (loss_terms){0};
        d->kind->put_scalars(d, c->terms, sum->value, TERM_COUNT);
        c->run->pass.dropout.first = (int)(q.first - c->batch.first);
        JF_TRY(run_slice(s, c));
        if (c->wants_drift) *drift = fmax(*drift, drift_of(c, q.n));
        d->kind->get_scalars(d, sum->value, c->terms, TERM_COUNT);
        if (s->slices > 1) add_by_halves(s, c, i, sum, waiting);
    }
    return JF_OK;
}

/* Where the device's numbers are the host's they are added in place. */
static jf_status sum_gradient(const data_parallel *s, const data_parallel_call *c) {
    device *d = c->m->d;
    size_t count = c->m->parameters.total;
    double *copy;
    if (ranks_size(s->r) == 1 || s->group) return JF_OK;
    if (d->kind->host && d->kind->real_size == sizeof(float))
        return ranks_sum_floats(s->r, d->kind->host(d, c->opt->grad), count);
    if (d->kind->host) return ranks_sum_doubles(s->r, d->kind->host(d, c->opt->grad), count);
    JF_TRY(MEM_NEW(c->m->ctx, &copy, count));
    d->kind->get(d, copy, c->opt->grad, count);
    jf_status status = ranks_sum_doubles(s->r, copy, count);
    d->kind->put(d, c->opt->grad, copy, count);
    free(copy);
    return status;
}

/* The largest of all ranks. */
static jf_status share_drift(const data_parallel *s, const data_parallel_call *c, double drift) {
    double *all;
    JF_TRY(MEM_NEW(c->m->ctx, &all, (size_t)ranks_size(s->r)));
    jf_status status = ranks_gather(s->r, &drift, sizeof drift, all);
    for (int i = 0; i < ranks_size(s->r); i++) drift = fmax(drift, all[i]);
    c->m->d->kind->put_scalars(c->m->d, optimiser_drift(c->opt), &drift, 1);
    free(all);
    return status;
}

jf_status data_parallel_step(data_parallel *s, data_parallel_call *c) {
    device *d = c->m->d;
    loss_terms sum, sums;
    double drift, message[TERM_COUNT + 1];
    JF_TRY(evaluate_slices(s, c, &sum, &drift));
    if (s->group && !ranks_is_first(s->r)) sum = (loss_terms){0}; /* each has that of all */
    memcpy(message, sum.value, sizeof sum.value);
    message[TERM_COUNT] = ranks_is_first(s->r) ? c->control : 0;
    JF_TRY(sum_gradient(s, c));
    JF_TRY(ranks_sum_doubles(s->r, message, TERM_COUNT + 1));
    c->control = (int)message[TERM_COUNT];
    d->kind->get_scalars(d, sums.value, optimiser_terms(c->opt), TERM_COUNT);
    for (int i = 0; i < TERM_COUNT; i++) sums.value[i] += message[i];
    d->kind->put_scalars(d, optimiser_terms(c->opt), sums.value, TERM_COUNT);
    optimiser_step(c->opt, c->m);
    return c->wants_drift ? share_drift(s, c, drift) : JF_OK;
}

/* ---- the same everywhere ---- */

jf_status data_parallel_spread(const data_parallel *s, const model *m, real *const *buffers, int count,
                               void *state, size_t bytes) {
    size_t numbers = m->parameters.total;
    double *copy;
    JF_TRY(MEM_NEW(m->ctx, &copy, numbers));
    jf_status status = ranks_broadcast(s->r, state, bytes, 0);
    for (int i = 0; i < count && status == JF_OK; i++) {
        m->d->kind->get(m->d, copy, buffers[i], numbers);
        status = ranks_broadcast(s->r, copy, numbers * sizeof *copy, 0);
        m->d->kind->put(m->d, buffers[i], copy, numbers);
    }
    free(copy);
    return status;
}

/* Name and instruction set: other ones round differently, and weights would drift apart. "cpu (float, avx512,
 * 2 threads)" and "cuda (float, GPU 1: NVIDIA H200)" are alike whatever the numbers. */
static void describe_roundings(const device *d, char out[DEVICE_MAX_WORDS]) {
    device_describe(d, out);
    char *last = strrchr(out, ','), *number = strstr(out, "GPU "),
         *name = number ? strchr(number, ':') : NULL;
    if (last && strstr(last, " thread")) *last = 0;
    if (name) memmove(number, name + 2, strlen(name + 2) + 1);
}

jf_status data_parallel_check_same(const model *m, const dataset *data) {
    ranks *r = ranks_of(m->ctx);
    char words[DEVICE_MAX_WORDS], identity[DATASET_MAX_IDENTITY] = "";
    if (ranks_size(r) == 1) return JF_OK;
    describe_roundings(m->d, words);
    if (data) dataset_identity(data, identity);
    JF_TRY(ranks_same(r, "device or instruction set (JOINTFLOW_ISA chooses one for all)", words));
    return ranks_same(r, "data (checksum)", identity);
}
