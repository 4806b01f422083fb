#include "train/sharded.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT "JOINTFLOW_SHARED"
enum {
    PAGE = 4096,
    STAGGER =
        320 /* bytes: buffers at the same place of their pages would get into each other's way in the cache */
};

struct sharded {
    ranks *r;
    ranks_memory *memory;
    char *flats; /* (ranks + flats, stride) */
    size_t stride, bytes;
    int taken;     /* flats of all */
    real **grads;  /* (ranks) */
    real *weights; /* the model's own; NULL: it has them */
    adam_shard shard;
};

/* Whether they are to: off says no. */
static jf_status read_wish(ranks *r, jf_context *ctx, int *wanted) {
    const char *told = getenv(ENVIRONMENT);
    JF_TRY(ranks_same(r, ENVIRONMENT " (mpirun -x " ENVIRONMENT " gives it to all)", told ? told : ""));
    *wanted = !told || strcmp(told, "off") != 0;
    if (!told || !*told || !*wanted || strcmp(told, "on") == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT, ENVIRONMENT ": found \"%s\", expected on or off", told);
}

static real *flat_at(const sharded *s, int i) {
    return (real *)(void *)(s->flats + (size_t)i * s->stride);
}

/* Which pieces of the numbers are this rank's, and room for their gradient. */
static jf_status take_shard(sharded *s, const model *m) {
    device *d = m->d;
    size_t count = m->parameters.total, piece = d->kind->adam_piece(d, count);
    ranks_share mine = ranks_share_of(s->r, (count + piece - 1) / piece);
    JF_TRY(MEM_NEW(m->ctx, &s->grads, (size_t)ranks_size(s->r)));
    for (int i = 0; i < ranks_size(s->r); i++) s->grads[i] = flat_at(s, i);
    s->shard = (adam_shard){.grads = s->grads,
                            .ranks = ranks_size(s->r),
                            .begin = (int)mine.begin,
                            .end = (int)mine.end,
                            .squares = ranks_memory_bytes(s->memory)};
    if (mine.begin == mine.end) return JF_OK;
    return d->kind->alloc(d, &s->shard.sum, (mine.end - mine.begin) * piece);
}

jf_status sharded_create(sharded **out, ranks *r, const model *m) {
    const device_kind *k = m->d->kind;
    size_t board = ADAM_PIECES * sizeof(double), bytes = m->parameters.total * k->real_size,
           stride = (bytes + PAGE - 1) / PAGE * PAGE + STAGGER;
    int averaged = recipe_real(m->recipe, "train.average") > 0,
        flats = ranks_size(r) + SHARDED_FLATS + (averaged ? SHARDED_AVERAGES : 0), wanted;
    ranks_memory *memory;
    sharded *s;
    *out = NULL;
    if (ranks_size(r) == 1) return JF_OK;
    JF_TRY(read_wish(r, m->ctx, &wanted));
    wanted = wanted && k->adam_shard_step;
    JF_TRY(ranks_memory_open(&memory, r, board + (size_t)flats * stride, wanted));
    if (!memory) {
        if (wanted && ranks_share_machine(r))
            jf_log(m->ctx, "ranks cannot share memory here: their gradients are sent as messages");
        return JF_OK;
    }
    jf_status status = MEM_NEW(m->ctx, &s, 1);
    if (status != JF_OK) {
        ranks_memory_close(memory);
        return status;
    }
    *s = (sharded){.r = r,
                   .memory = memory,
                   .flats = (char *)ranks_memory_bytes(memory) + board,
                   .stride = stride,
                   .bytes = (size_t)flats * stride};
    *out = s;
    return take_shard(s, m);
}

void sharded_free(sharded *s, model *m) {
    device *d = m->d;
    if (!s) return;
    if (s->weights) {
        d->kind->copy(d, s->weights, m->params, m->parameters.total);
        m->params = s->weights;
    }
    if (s->shard.sum) d->kind->release(d, s->shard.sum);
    free(s->grads);
    ranks_memory_close(s->memory);
    free(s);
}

size_t sharded_bytes(const sharded *s) {
    return s->bytes;
}

/* ---- buffers ---- */

static void replace(const model *m, real **flat, real *by) {
    if (*flat) m->d->kind->release(m->d, *flat);
    *flat = by;
}

void sharded_take_gradient(sharded *s, const model *m, real **flat) {
    replace(m, flat, s->grads[ranks_rank(s->r)]);
}

void sharded_take(sharded *s, const model *m, real **flat) {
    replace(m, flat, flat_at(s, ranks_size(s->r) + s->taken++));
}

/* Each rank copies its shard of them, which then lies where it computes. */
jf_status sharded_take_weights(sharded *s, model *m, flow_run *run) {
    device *d = m->d;
    size_t count = m->parameters.total, piece = d->kind->adam_piece(d, count),
           begin = (size_t)s->shard.begin * piece, end = (size_t)s->shard.end * piece;
    real *weights = NULL;
    sharded_take(s, m, &weights);
    if (end > count) end = count;
    if (begin < end) d->kind->copy(d, real_at(d, weights, begin), real_at(d, m->params, begin), end - begin);
    s->weights = m->params;
    m->params = weights;
    run->pass.params = weights;
    return sharded_meet(s);
}

void sharded_forget(const sharded *s, real **flat) {
    const char *p = (const char *)*flat;
    if (p >= s->flats && p < s->flats + s->bytes) *flat = NULL;
}

/* ---- steps ---- */

jf_status sharded_meet(sharded *s) {
    return ranks_memory_meet(s->memory);
}

jf_status sharded_sum(sharded *s, double *values, int count) {
    return ranks_memory_sum(s->memory, values, count);
}

/* Between the meetings: each adds up its shard, for which all gradients are there; each updates its shard, with the squares of all;
 * all have the new weights. */
jf_status sharded_step(sharded *s, const optimiser *o, const model *m) {
    s->shard.step.count = m->parameters.total;
    m->d->kind->adam_shard_sum(m->d, &s->shard);
    JF_TRY(sharded_meet(s));
    optimiser_step_shard(o, m, &s->shard);
    return sharded_meet(s);
}
