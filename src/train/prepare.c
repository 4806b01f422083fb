/* How a run begins: buffers, transforms that start from data, checkpoints that it goes on from; and how its
 * buffers end. */
#include "base/file.h"
#include "base/memory.h"
#include "train/history.h"
#include "train/run_folder.h"
#include "train/trainer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where work is shared every rank looks at all of the batch, once. */
static jf_status start_from_all(trainer *t, const batch_request *q) {
    const model *m = t->m;
    flow_run *run = NULL;
    feed *source = NULL;
    jf_status status;
    JF_TRY_DONE(
        flow_run_create(&run, m->flow, m->params, NULL, q->n, (run_use){.precision = PRECISION_FP32}));
    JF_TRY_DONE(feed_create(&source, m, t->data, run));
    feed_take(source, q);
    JF_TRY_DONE(flow_start(run, q->n, m->params));
done:
    feed_free(source);
    flow_run_free(run);
    return status;
}

/* Of a fresh run: transforms that start from data see a batch of the first phase, of all classes. */
static jf_status start_from_data(trainer *t) {
    const model *m = t->m;
    const phase *p = phases;
    if (!m->objective.kind->from_data || !flow_has_start(m->flow)) return JF_OK;
    while (phase_epochs(p, m) == 0) p++; /* the last one has epochs always */
    batch_request q = batch_mixed(m, p, t->batch);
    if (t->rows < t->batch) return start_from_all(t, &q);
    feed_take(t->feed, &q);
    return flow_start(t->run, t->batch, m->params);
}

/* The epoch begins again, so that it is all of these data, and what was best of the others is forgotten. */
static jf_status take_changed_data(trainer *t) {
    if (t->s.phase >= phase_count)
        return jf_fail(
            t->m->ctx, JF_ERROR_ARGUMENT,
            "%s: the run has finished with other data: there is nothing to go on with; begin a new "
            "one",
            t->options->folder);
    if (t->s.batch > 0) trainer_return_to_epoch_start(t);
    t->s.best = INFINITY;
    t->s.since_best = 0;
    t->s.best_epoch = 0;
    return JF_OK;
}

static jf_status resume(trainer *t) {
    JF_TRY(checkpoint_store_load(&t->checkpoints, t->m, &t->opt, t->best, &t->start, &t->s));
    t->saved_epochs = t->s.total_epoch;
    return t->checkpoints.data.differ ? take_changed_data(t) : JF_OK;
}

static jf_status use_folder(trainer *t) {
    model *m = t->m;
    const jf_train_options *o = t->options;
    if (!o->resume) JF_TRY(file_make_folder(m->ctx, t->folder));
    JF_TRY(checkpoint_store_create(m->ctx, &t->checkpoints, t->folder));
    JF_TRY(file_join(m->ctx, &t->history, t->folder, RUN_HISTORY));
    t->checkpoints.data.may_differ = o->changed_data;
    if (t->data) dataset_identity(t->data, t->checkpoints.data.identity);
    if (o->resume) JF_TRY(resume(t));
    long rows = (long)t->s.history_rows;
    JF_TRY(history_begin(m->ctx, t->history, &rows));
    t->s.history_rows = t->start.state.history_rows = (double)rows;
    return JF_OK;
}

/* Of a run that is resumed: what the first rank has read, for all. */
static jf_status spread_state(trainer *t) {
    struct {
        train_state now, start;
    } state = {t->s, t->start.state};
    real *buffers[10] = {t->m->params,    t->opt.first,   t->opt.second,  t->best,
                         t->start.params, t->start.first, t->start.second};
    int count = 7;
    if (t->opt.average) {
        buffers[count++] = t->opt.average;
        buffers[count++] = t->start.average;
    }
    if (ranks_size(t->parallel.r) == 1) return JF_OK;
    JF_TRY(data_parallel_spread(&t->parallel, t->m, buffers, count, &state, sizeof state));
    t->s = state.now;
    t->start.state = state.start;
    return JF_OK;
}

/* ---- all of it ---- */

jf_status trainer_prepare(trainer *t) {
    model *m = t->m;
    t->batch = recipe_int(m->recipe, "train.batch");
    JF_TRY(data_parallel_create(&t->parallel, m, t->batch, t->options->deterministic));
    t->rows = t->parallel.rows;
    t->folder = ranks_is_first(t->parallel.r) ? t->options->folder : NULL;
    if (t->data && t->data->rows > 0 && t->batch > t->data->rows)
        return recipe_fail(m->recipe, "train.batch", "%d samples, but the data has only %ld rows", t->batch,
                           t->data->rows);
    for (int c = 0; t->data && t->data->rows > 0 && phase_by_class(m, t->data) && c < t->data->classes; c++)
        if (phase_class_batches(m, t->data, c) < 1)
            return recipe_fail(
                m->recipe, "train.batch",
                "%d samples of one class per batch, but class %g has only %ld rows to train on, of which "
                "train.rows = %d leaves less than a batch in an epoch",
                t->batch, t->data->label[c], t->data->class_start[c + 1] - t->data->class_start[c],
                recipe_int(m->recipe, "train.rows"));
    JF_TRY(optimiser_create(&t->opt, m));
    JF_TRY(m->d->kind->alloc_scalars(m->d, &t->scratch_terms, TERM_COUNT));
    JF_TRY(flow_run_create(&t->run, m->flow, m->params, t->opt.grad, t->rows, train_run_use(m)));
    t->run->pass.dropout = optimiser_dropout(&t->opt, m);
    if (!data_parallel_needed(&t->parallel))
        JF_TRY(training_step_create(&t->step, m, t->run, &t->opt, t->batch));
    JF_TRY(feed_create(&t->feed, m, t->data, t->run));
    JF_TRY(m->d->kind->alloc(m->d, &t->best, m->parameters.total));
    real **start[] = {&t->start.params, &t->start.first, &t->start.second};
    for (int i = 0; i < 3; i++) JF_TRY(m->d->kind->alloc(m->d, start[i], m->parameters.total));
    if (t->opt.average) JF_TRY(m->d->kind->alloc(m->d, &t->start.average, m->parameters.total));
    if (!t->options->resume) JF_TRY(start_from_data(t));
    trainer_copy(t, t->best, m->params);
    t->s = (train_state){.epoch = 1,
                         .best = INFINITY,
                         .rate_factor = 1,
                         .ks_median = NAN,
                         .ks_max = NAN,
                         .validation_loss = NAN,
                         .best_before = NAN};
    if (t->folder) JF_TRY(use_folder(t));
    if (t->options->resume) JF_TRY(spread_state(t));
    t->seconds_before = t->s.seconds;
    t->clock_start = t->last_checkpoint = t->last_read = trainer_clock();
    return JF_OK;
}

void trainer_release(trainer *t, jf_status ended) {
    model *m = t->m;
    data_parallel_free(&t->parallel, m,
                       ended < 0); /* first: devices that wait for lost ranks would never be done */
    feed_free(t->feed);
    if (t->step.m) training_step_free(&t->step);
    flow_run_free(t->run);
    optimiser_free(&t->opt, m);
    real *buffers[] = {t->best, t->start.params, t->start.first, t->start.second, t->start.average};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) m->d->kind->release(m->d, buffers[i]);
    if (t->scratch_terms) m->d->kind->release_scalars(m->d, t->scratch_terms);
    checkpoint_store_free(&t->checkpoints);
    free(t->history);
}
