/* The loop: phases of epochs of batches.
 *
 * Everything that happens follows from train_state, the buffers of the checkpoint and the seed, so a run that
 * was stopped anywhere continues exactly. A batch whose loss or gradient is not finite is undone: the run
 * goes back to the start of its epoch with half the learning rate, and gives up, naming the layer, after a
 * few such rollbacks.
 *
 * Between two readings (read_device) nothing of a batch returns to the host: the device sums the loss, takes
 * the steps, and takes none any more once there was a fault. So a fault that is noticed late leads to the
 * same end as one that is noticed at once. */
#include "base/file.h"
#include "base/number.h"
#include "data/gaussian.h"
#include "train/fault.h"
#include "train/history.h"
#include "train/trainer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_ROLLBACKS 5
#define FALLS                                                                                                \
    0.01 /* nats by which a held-out loss that still falls does so in the last tenth of the epochs */
/* What a slow file system may take for a checkpoint, beside the limit of silence: other ranks wait for that.
 */
#define SAVING_LEAST 3.0
#define SAVING_MOST  120.0
#define SAVING_SPEED 5e6 /* bytes a second */
#define SAVED_COPIES                                                                                         \
    7 /* of the weights: they, two moments, the best; of all but the best those that the epoch began with */

double trainer_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double elapsed(const trainer *t) {
    return t->seconds_before + trainer_clock() - t->clock_start;
}

void trainer_copy(const trainer *t, real *to, const real *from) {
    t->m->d->kind->copy(t->m->d, to, from, t->m->parameters.total);
}

const real *trainer_weights(const trainer *t) {
    return t->opt.average ? t->opt.average : t->m->params;
}

static void average_from_here(trainer *t) {
    if (t->opt.average) trainer_copy(t, t->opt.average, t->m->params);
}

static void remember_epoch(trainer *t) {
    if (t->opt.average) trainer_copy(t, t->start.average, t->opt.average);
    trainer_copy(t, t->start.params, t->m->params);
    trainer_copy(t, t->start.first, t->opt.first);
    trainer_copy(t, t->start.second, t->opt.second);
    t->start.state = t->s;
}

void trainer_return_to_epoch_start(trainer *t) {
    if (t->opt.average) trainer_copy(t, t->opt.average, t->start.average);
    trainer_copy(t, t->m->params, t->start.params);
    trainer_copy(t, t->opt.first, t->start.first);
    trainer_copy(t, t->opt.second, t->start.second);
    t->s = t->start.state;
}

static rate_schedule schedule_of(const trainer *t) {
    const phase *p = &phases[(int)t->s.phase];
    int batches = phase_batches(p, t->m, t->data);
    return phase_schedule(p, t->m, batches, t->s.step - (t->s.epoch - 1) * batches - t->s.batch,
                          t->s.rate_factor);
}

/* Of the last step. */
static double rate_of(const trainer *t) {
    rate_schedule schedule = schedule_of(t);
    return rate_after(&schedule, t->s.step > 0 ? t->s.step - 1 : 0);
}

/* The device goes on from the state. */
static void tell_device(trainer *t) {
    train_readings r = {
        .sums = t->s.sums, .drift = t->s.drift, .step = {.done = t->s.step, .schedule = schedule_of(t)}};
    optimiser_set(&t->opt, t->m, &r);
}

static batch_request request_of(const trainer *t, int batch) {
    batch_key key = {&phases[(int)t->s.phase], (int)t->s.epoch, (uint32_t)t->s.total_epoch, batch};
    return batch_of(t->m, t->data, &key, t->batch);
}

/* A batch, part by part. All ranks look at all of it: it is rare, and they come to the same. */
static jf_status find_fault(trainer *t, const batch_request *q, fault *out) {
    for (int from = 0; from < q->n; from += t->rows) {
        batch_request part = batch_part(q, from, q->n - from < t->rows ? q->n - from : t->rows);
        fault f;
        t->run->pass.dropout.first = from;
        jf_status status = fault_find(t->m, t->data, t->feed, t->run, &part, &f);
        t->run->pass.dropout.first = 0;
        JF_TRY(status);
        if (from == 0 || f.kind < out->kind) *out = f;
    }
    return JF_OK;
}

/* Of a batch that going back to the start of its epoch would only lead to again: it is the first one. */
static jf_status give_up(const trainer *t, const fault *f) {
    char where[FAULT_MAX_WORDS], why[FAULT_MAX_WORDS];
    int fresh = t->start.state.step == 0 || fault_is_of_row(f) || f->bad;
    return jf_fail(
        t->m->ctx, JF_ERROR_NUMERIC, "%s, epoch %.0f, batch 1: values are not finite %s; %s",
        phases[(int)t->s.phase].name, t->s.epoch, fault_where(f, where),
        fresh ? fault_why(f, t->m, t->data, why)
              : "the epoch begins with that, so that going back to its start does not help: lower train.rate "
                "or set train.clip, and start again");
}

/* Weights and moments are still those that the faulty step found. */
static jf_status roll_back(trainer *t, double faulty_step) {
    int batch = (int)(faulty_step - 1 - t->start.state.step);
    batch_request q = request_of(t, batch);
    char where[FAULT_MAX_WORDS];
    fault f;
    if (t->data) JF_TRY(dataset_check(t->data));
    JF_TRY(find_fault(t, &q, &f));
    if (batch == 0) return give_up(t, &f);
    double rollbacks = t->s.rollbacks + 1, factor = t->s.rate_factor / 2;
    fault_where(&f, where);
    if (rollbacks > MAX_ROLLBACKS)
        return jf_fail(t->m->ctx, JF_ERROR_NUMERIC,
                       "%s, epoch %.0f, batch %.0f: values are not finite %s, after %d rollbacks; lower "
                       "train.rate or set train.clip",
                       phases[(int)t->s.phase].name, t->s.epoch, batch + 1.0, where, MAX_ROLLBACKS);
    jf_warn(t->m->ctx, "values are not finite %s: back to the start of epoch %.0f with half the rate", where,
            t->s.epoch);
    trainer_return_to_epoch_start(t);
    t->s.rollbacks = rollbacks;
    t->s.rate_factor = factor;
    tell_device(t);
    return JF_OK;
}

/* Takes over what the device has done since the last time. */
static jf_status read_device(trainer *t) {
    train_readings r;
    t->last_read = trainer_clock();
    JF_TRY(optimiser_read(&t->opt, t->m, &r));
    if (r.step.fault > 0) return roll_back(t, r.step.fault);
    t->s.sums = r.sums;
    t->s.drift = r.drift;
    t->s.step = r.step.done;
    return JF_OK;
}

static loss_terms epoch_mean(const train_state *s) {
    return loss_terms_mean(&s->sums, s->batch > 0 ? s->batch : 1);
}

/* Seconds that the rest of the run takes at most: epochs left, weighted by their batches, at the pace so far.
 */
static double seconds_left(const trainer *t) {
    double left = 0;
    for (int i = (int)t->s.phase; i < phase_count; i++) {
        double epochs = phase_epochs(&phases[i], t->m), batches = phase_batches(&phases[i], t->m, t->data);
        left += epochs * batches;
        if (i == (int)t->s.phase) left -= (t->s.epoch - 1) * batches + t->s.batch;
    }
    return t->s.step > 0 ? left * elapsed(t) / t->s.step : NAN;
}

static void fill_terms(jf_term out[TERM_COUNT], const objective_kind *kind, const loss_terms *mean) {
    for (int i = 0; i < TERM_COUNT; i++)
        out[i] = (jf_term){.name = loss_term_info[i].name,
                           .about = loss_about(kind, (term_id)i),
                           .value = mean->value[i],
                           .part = loss_term_info[i].role == TERM_IS_PART};
}

/* Reports the progress. A requested stop is remembered until the next batch would begin. */
static jf_status report(trainer *t, int batches) {
    if (!ranks_is_first(t->parallel.r)) return JF_OK;
    const phase *p = &phases[(int)t->s.phase];
    loss_terms mean = epoch_mean(&t->s);
    jf_term terms[TERM_COUNT];
    fill_terms(terms, t->m->objective.kind, &mean);
    jf_training training = {.phase = p->name,
                            .epoch = (int64_t)t->s.epoch,
                            .epochs = phase_epochs(p, t->m),
                            .batch = (int64_t)t->s.batch,
                            .batches = batches,
                            .epoch_ended = t->s.batch == batches,
                            .step = (int64_t)t->s.step,
                            .term_count = TERM_COUNT,
                            .terms = terms,
                            .best = t->s.best,
                            .rate = rate_of(t),
                            .seconds = elapsed(t),
                            .seconds_left = seconds_left(t),
                            .ks_median = t->s.ks_median,
                            .ks_max = t->s.ks_max,
                            .held_out = t->s.validation_loss,
                            .best_epoch = (int64_t)t->s.best_epoch,
                            .model = t->s.batch == batches ? t->m : NULL};
    jf_status status = context_tell(t->m->ctx, &(jf_progress){.phase = p->name,
                                                              .done = (uint64_t)training.batch,
                                                              .total = (uint64_t)batches,
                                                              .training = &training});
    if (status < 0) return status;
    t->stop |= status == JF_STOPPED;
    return JF_OK;
}

static int saving_seconds(const trainer *t) {
    double bytes = (double)SAVED_COPIES * (double)t->m->parameters.total * (double)t->m->d->kind->real_size;
    return (int)ceil(fmin(SAVING_LEAST + bytes / SAVING_SPEED, SAVING_MOST));
}

static jf_status save_checkpoint(trainer *t) {
    if (!t->history) return JF_OK;
    t->s.seconds = elapsed(t);
    t->last_checkpoint = trainer_clock();
    ranks_be_quiet(t->parallel.r, saving_seconds(t));
    file_sync(t->history); /* a checkpoint that outlives a power cut counts lines that do, too */
    JF_TRY(checkpoint_store_save(&t->checkpoints, t->m, &t->opt, t->best, &t->start, &t->s));
    ranks_be_quiet(t->parallel.r, 0);
    t->saved_epochs = t->s.total_epoch;
    return JF_OK;
}

/* Names the held-out row that makes the loss infinite, once for each phase. */
static jf_status tell_validation(trainer *t, const phase *p, double validation) {
    long rows = t->data->validation_rows;
    fault f = {.kind = FAULT_OF_GRADIENT, .row = -1};
    char where[FAULT_MAX_WORDS], why[FAULT_MAX_WORDS] = "lower train.rate";
    if (t->told_phase == (int)t->s.phase + 1) return JF_OK;
    t->told_phase = (int)t->s.phase + 1;
    for (long done = 0; done < rows && f.kind == FAULT_OF_GRADIENT; done += t->batch) {
        batch_key key = {p, (int)t->s.epoch, 0, 0};
        batch_request q =
            batch_validation(t->m, &key, done, rows - done < t->batch ? (int)(rows - done) : t->batch);
        pass training = trainer_begin_measuring(t);
        jf_status status = find_fault(t, &q, &f);
        t->run->pass = training;
        JF_TRY(status);
    }
    if (fault_is_of_row(&f)) fault_why(&f, t->m, t->data, why);
    jf_warn(t->m->ctx,
            "%s, epoch %.0f: the held-out loss is %g, values are not finite %s; %s. Without a finite one no "
            "epoch is the "
            "best, and patience ends the phase",
            p->name, t->s.epoch, validation, fault_where(&f, where), why);
    return JF_OK;
}

/* Queued on a device that has a queue: nothing is waited for. The next batch is made meanwhile. */
static void run_batch(trainer *t, int batches) {
    model *m = t->m;
    device *d = m->d;
    batch_request q = request_of(t, (int)t->s.batch);
    feed_take(t->feed, &q);
    if (t->s.batch + 1 < batches) {
        q = request_of(t, (int)t->s.batch + 1);
        feed_begin(t->feed, &q);
    }
    training_step_run(&t->step);
    if (t->s.batch == 0)
        d->kind->largest_difference_into(d, optimiser_drift(&t->opt), t->run->state, t->run->copy,
                                         (size_t)t->batch * (size_t)m->flow->dim);
    t->s.batch++;
}

/* The same of a batch that is shared, with what the first rank wants to follow: *control. */
static jf_status run_parallel_batch(trainer *t, int batches, int *control) {
    int last = t->s.batch + 1 >= batches;
    data_parallel_call c = {.m = t->m,
                            .run = t->run,
                            .feed = t->feed,
                            .opt = &t->opt,
                            .terms = t->scratch_terms,
                            .batch = request_of(t, (int)t->s.batch),
                            .has_next = !last,
                            .wants_drift = t->s.batch == 0,
                            .control = *control};
    if (!last) c.next = request_of(t, (int)t->s.batch + 1);
    JF_TRY(data_parallel_step(&t->parallel, &c));
    *control = c.control;
    t->s.batch++;
    return JF_OK;
}

/* Whether the phase has no more epochs, or no more to gain. A matter of the state alone, so that a run
 * resumed from the checkpoint of a phase's last epoch does not add one. */
static int phase_over(const trainer *t, const phase *p) {
    int patience = phase_patience(p, t->m);
    return t->s.epoch > phase_epochs(p, t->m) || (patience && t->s.since_best >= patience);
}

/* Stopped while it measures, the epoch has not ended: a run that is resumed ends it. */
static jf_status end_epoch(trainer *t, const phase *p) {
    loss_terms mean = epoch_mean(&t->s);
    double validation;
    if (t->data) JF_TRY(dataset_check(t->data));
    int every = recipe_int(t->m->recipe, "train.ks_every"), epochs = phase_epochs(p, t->m);
    int measured =
        t->m->objective.kind->from_data && every && ((int)t->s.epoch % every == 0 || t->s.epoch == epochs);
    if (measured) JF_TRY(trainer_measure_ks(t));
    JF_TRY(trainer_validate(t, p, &validation));
    double score = trainer_has_validation(t) ? validation : mean.value[TERM_TOTAL];
    t->s.validation_loss = validation;
    JF_TRY(t->m->d->kind->status(t->m->d));
    if (trainer_has_validation(t) && !isfinite(validation)) JF_TRY(tell_validation(t, p, validation));
    if (score < t->s.best) { /* not where it is NAN */
        t->s.best = score;
        t->s.since_best = 0;
        t->s.best_epoch = t->s.epoch;
        trainer_copy(t, t->best, trainer_weights(t));
    } else {
        t->s.since_best++;
    }
    if ((int)t->s.epoch == epochs - (epochs + 9) / 10) t->s.best_before = t->s.best;
    JF_TRY(report(t, phase_batches(p, t->m, t->data)));
    if (t->history) {
        history_row row = {p->name,
                           (int)t->s.epoch,
                           (long)t->s.step,
                           mean,
                           validation,
                           rate_of(t),
                           measured ? t->s.ks_median : NAN,
                           measured ? t->s.ks_max : NAN,
                           t->s.drift,
                           elapsed(t)};
        JF_TRY(history_add(t->m->ctx, t->history, &row));
        t->s.history_rows++;
    }
    t->s.epoch++;
    t->s.total_epoch++;
    t->s.batch = 0;
    t->s.sums = (loss_terms){0};
    tell_device(t);
    return JF_OK;
}

/* The annealed data change every epoch, so only phases with patience have a best epoch to go back to. */
static jf_status restore_best_weights(trainer *t, const phase *p) {
    if (!p->patience_key || !isfinite(t->s.best)) return JF_OK;
    trainer_copy(t, t->m->params, t->best);
    t->s.kept_epoch = t->s.best_epoch;
    t->s.kept_of = t->s.epoch - 1;
    double fall = t->s.best_before - t->s.best;
    t->s.fell = trainer_has_validation(t) && isfinite(fall) ? fall : 0;
    return JF_OK;
}

static jf_status end_phase(trainer *t, const phase *p) {
    if (p->patience_key && trainer_has_validation(t) && !isfinite(t->s.best) && phase_epochs(p, t->m) > 0)
        jf_warn(t->m->ctx,
                "%s: no epoch had a finite held-out loss: the weights are those of the last, not the best",
                p->name);
    JF_TRY(restore_best_weights(t, p));
    t->s.phase++;
    t->s.epoch = 1;
    t->s.best = INFINITY;
    t->s.since_best = 0;
    t->s.best_epoch = 0;
    t->s.validation_loss = NAN;
    t->s.best_before = NAN;
    return JF_OK;
}

/* The rest of an epoch. */
static jf_status run_batches(trainer *t, int batches) {
    while (t->s.batch < batches) {
        if (t->stop) {
            JF_TRY(read_device(t));
            return JF_STOPPED;
        }
        run_batch(t, batches);
        if (t->s.batch < batches && trainer_clock() - t->last_read < t->interval) continue;
        JF_TRY(read_device(t));
        if (t->s.batch < batches) JF_TRY(report(t, batches)); /* of a whole epoch once all is known of it */
    }
    return JF_OK;
}

/* The same where work is shared: ranks read, roll back and stop after the same batch, when the first of them
 * wants it. */
static jf_status run_parallel_batches(trainer *t, int batches) {
    while (t->s.batch < batches) {
        int due = trainer_clock() - t->last_read >= t->interval,
            control = (t->stop ? DATA_PARALLEL_STOP : 0) | (due ? DATA_PARALLEL_READ : 0);
        JF_TRY(run_parallel_batch(t, batches, &control));
        if (control == 0 && t->s.batch < batches) continue;
        JF_TRY(read_device(t));
        if (control & DATA_PARALLEL_STOP) return JF_STOPPED;
        if (t->s.batch < batches) JF_TRY(report(t, batches));
    }
    return JF_OK;
}

static jf_status run_phase(trainer *t) {
    const phase *p = &phases[(int)t->s.phase];
    int batches = phase_batches(p, t->m, t->data);
    double checkpoint_every = recipe_real(t->m->recipe, "train.checkpoint");
    tell_device(t);
    if (t->s.epoch == 1 && t->s.batch == 0) average_from_here(t);
    while (!phase_over(t, p)) {
        if (t->s.batch == 0) remember_epoch(t);
        JF_TRY((data_parallel_needed(&t->parallel) ? run_parallel_batches : run_batches)(t, batches));
        JF_TRY(end_epoch(t, p));
        if (trainer_clock() - t->last_checkpoint > checkpoint_every) JF_TRY(save_checkpoint(t));
    }
    return end_phase(t, p);
}

static jf_status run_phases(trainer *t) {
    while ((int)t->s.phase < phase_count) {
        jf_status status = run_phase(t);
        if (status == JF_STOPPED) JF_TRY(save_checkpoint(t));
        if (status != JF_OK) return status;
    }
    t->s.finished = 1;
    return save_checkpoint(t);
}

/* ---- how it ended ---- */

/* Adds the loss, beside that of a Gaussian, to the sentence; warns where it is worse. */
static jf_status tell_loss(trainer *t, char *sentence, size_t size) {
    const model *m = t->m;
    size_t used = strlen(sentence);
    double gaussian, loss;
    if (!m->objective.kind->from_data) return JF_OK;
    jf_status status = trainer_final_loss(t, &loss);
    if (status != JF_OK) return status == JF_STOPPED ? JF_OK : status; /* a stop spares this sentence alone */
    JF_TRY(dataset_gaussian(t->data, recipe_real(m->recipe, "train.noise"), &gaussian));
    if (isnan(gaussian)) return JF_OK;
    gaussian += loss_y_at_best(&m->objective, m->units.dim_y);
    const char *which = trainer_has_validation(t) ? "held-out loss" : "loss";
    int worse = !(loss <= gaussian + GAUSSIAN_MARGIN * m->units.dim_x);
    const char *format = worse ? "; %s %.4g, worse than a Gaussian's %.4g" : "; %s %.4g (a Gaussian's: %.4g)";
    format_text(sentence + used, size - used, format, which, loss, gaussian);
    if (worse)
        jf_warn(m->ctx,
                "the %s of the model is %.4g, worse than the %.4g of a Gaussian with the data's means and "
                "deviations: "
                "training diverged or was too short; see in history.csv whether the loss rose, and lower "
                "train.rate or set "
                "train.clip, or train for longer",
                which, loss, gaussian);
    return JF_OK;
}

/* Adds to the sentence that the held-out loss was still falling, by more than FALLS nats in the last tenth of
 * the epochs. */
static void tell_cut_short(const trainer *t, char *sentence, size_t size) {
    size_t used = strlen(sentence);
    if (!(t->s.fell > FALLS)) return;
    format_text(sentence + used, size - used, "; " MODEL_CUT_SHORT);
    jf_log(t->m->ctx,
           MODEL_CUT_SHORT
           " when training ended, by %.2g nats in the last tenth of the epochs: train again with more "
           "(train.epochs)",
           t->s.fell);
}

static jf_status close_run(trainer *t) {
    char sentence[400];
    format_text(sentence, sizeof sentence, "%s after %.0f epochs, %ld steps of %d samples",
                t->s.finished ? "finished" : "stopped", t->s.total_epoch, (long)t->s.step, t->batch);
    precision in = train_products(t->m);
    size_t used = strlen(sentence);
    if (in != PRECISION_FP32)
        format_text(sentence + used, sizeof sentence - used, ", products in %s", precision_names[in]);
    used = strlen(sentence);
    if (t->s.kept_epoch > 0)
        format_text(sentence + used, sizeof sentence - used, "; kept are the weights of epoch %.0f of %.0f",
                    t->s.kept_epoch, t->s.kept_of);
    average_from_here(t);
    if (t->s.finished) JF_TRY(tell_loss(t, sentence, sizeof sentence));
    if (t->s.finished) tell_cut_short(t, sentence, sizeof sentence);
    JF_TRY(model_set_trained(t->m, sentence));
    return t->m->d->kind->status(t->m->d);
}

/* A device that was lost, or had no memory: what was learned until the last checkpoint is not lost with it.
 */
static jf_status tell_what_is_saved(const trainer *t, jf_status status) {
    char why[1024], words[OPTION_WORDS];
    if ((status != JF_ERROR_DEVICE && status != JF_ERROR_MEMORY) || t->saved_epochs < 0) return status;
    snprintf(why, sizeof why, "%s", jf_context_error(t->m->ctx));
    return jf_fail(t->m->ctx, status,
                   "%s; %s holds the run as it was after %.0f epochs: go on from there (%s)", why,
                   t->options->folder, t->saved_epochs, option_words(t->m->ctx, OPTION_RESUME, "", words));
}

jf_status train_run(model *m, const dataset *data, const jf_train_options *options, double interval) {
    trainer t = {.m = m, .data = data, .options = options, .interval = interval, .saved_epochs = -1};
    jf_status status = trainer_prepare(&t);
    if (status == JF_OK) status = run_phases(&t);
    if (status == JF_OK || status == JF_STOPPED) {
        jf_status late = status == JF_STOPPED ? restore_best_weights(&t, &phases[(int)t.s.phase]) : JF_OK;
        if (late == JF_OK) late = close_run(&t);
        if (late != JF_OK) status = late;
    }
    trainer_release(&t, status);
    return tell_what_is_saved(&t, status);
}
