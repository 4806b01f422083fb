/* The loop: phases of epochs of batches.
 *
 * Everything that happens follows from train_state, the buffers of the checkpoint and the seed, so a run that
 * was stopped anywhere continues exactly. A batch whose loss or gradient is not finite is undone: the run
 * goes back to the start of its epoch with half the learning rate, and gives up, naming the layer, after a
 * few such rollbacks.
 *
 * Between two readings (read_device) nothing of a batch returns to the host: the device sums the loss, takes the steps,
 * and takes none any more once there was a fault. So a fault that is noticed late leads to the same end as one that is
 * noticed at once. */
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/statistics.h"
#include "data/gaussian.h"
#include "train/fault.h"
#include "train/folder.h"
#include "train/generations.h"
#include "train/history.h"
#include "train/shared.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ROLLBACKS 5
/* That a file system may take for a checkpoint, beside the limit of silence: other ranks wait for that. */
#define SAVING_SECONDS 120

typedef struct trainer {
    model *m;
    const dataset *data;
    const train_options *options;
    optimiser opt;
    training_step step;
    flow_run *run;
    int batch; /* samples */
    shared_work shared;
    int rows; /* of a batch that are evaluated at once: all of them, unless work is shared */
    feed *feed;
    scalar *scratch_terms; /* (TERM_COUNT) */
    real *best;            /* weights of the best epoch of this phase */
    epoch_start start;     /* of this epoch, for rollbacks */
    train_state s;
    generations checkpoints;
    const char *folder;  /* NULL: this run, or this rank of it, writes nothing */
    char *history;       /* likewise */
    double saved_epochs; /* that the last checkpoint holds; below 0: there is none of this run */
    double clock_start, seconds_before, last_checkpoint, last_read;
    int stop;       /* `progress` asked for it */
    int told_phase; /* whose held-out loss was said not to be finite, from 1; 0: none */
} trainer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double elapsed(const trainer *t) {
    return t->seconds_before + now() - t->clock_start;
}

static void copy_flat(const trainer *t, real *to, const real *from) {
    t->m->d->kind->copy(t->m->d, to, from, t->m->parameters.total);
}

/* Weights that are measured and kept: averaged ones, where they are averaged. */
static const real *measured_weights(const trainer *t) {
    return t->opt.average ? t->opt.average : t->m->params;
}

static void average_from_here(trainer *t) {
    if (t->opt.average) copy_flat(t, t->opt.average, t->m->params);
}

static void remember_epoch(trainer *t) {
    if (t->opt.average) copy_flat(t, t->start.average, t->opt.average);
    copy_flat(t, t->start.params, t->m->params);
    copy_flat(t, t->start.first, t->opt.first);
    copy_flat(t, t->start.second, t->opt.second);
    t->start.state = t->s;
}

static void return_to_epoch_start(trainer *t) {
    if (t->opt.average) copy_flat(t, t->opt.average, t->start.average);
    copy_flat(t, t->m->params, t->start.params);
    copy_flat(t, t->opt.first, t->start.first);
    copy_flat(t, t->opt.second, t->start.second);
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
    return_to_epoch_start(t);
    t->s.rollbacks = rollbacks;
    t->s.rate_factor = factor;
    tell_device(t);
    return JF_OK;
}

/* Takes over what the device has done since the last time. */
static jf_status read_device(trainer *t) {
    train_readings r;
    t->last_read = now();
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

/* Whether a stop is wanted is remembered until the next batch would begin. */
static void report(trainer *t, int batches) {
    if (!t->options->progress || !ranks_is_first(t->shared.r)) return;
    const phase *p = &phases[(int)t->s.phase];
    train_progress progress = {.phase = p->name,
                               .epoch = (int)t->s.epoch,
                               .epochs = phase_epochs(p, t->m),
                               .batch = (int)t->s.batch,
                               .batches = batches,
                               .epoch_ended = t->s.batch == batches,
                               .step = (long)t->s.step,
                               .terms = epoch_mean(&t->s),
                               .objective = t->m->objective.kind,
                               .best = t->s.best,
                               .rate = rate_of(t),
                               .seconds = elapsed(t),
                               .seconds_left = seconds_left(t),
                               .ks_median = t->s.ks_median,
                               .ks_max = t->s.ks_max,
                               .held_out = t->s.held_out,
                               .best_epoch = (int)t->s.best_epoch,
                               .model = t->s.batch == batches ? t->m : NULL};
    t->stop |= t->options->progress(t->options->user, &progress) != 0;
}

static jf_status save_checkpoint(trainer *t) {
    if (!t->history) return JF_OK;
    t->s.seconds = elapsed(t);
    t->last_checkpoint = now();
    ranks_be_quiet(t->shared.r, SAVING_SECONDS);
    JF_TRY(generations_save(&t->checkpoints, t->m, &t->opt, t->best, &t->start, &t->s));
    ranks_be_quiet(t->shared.r, 0);
    t->saved_epochs = t->s.total_epoch;
    return JF_OK;
}

/* The points of the latent histograms, a batch at a time: held-out rows, or fresh points where the data are generated,
 * or rows of a file that holds none out; those of a file at most once. Of no samples: no more. */
static batch_request ks_batch(const trainer *t, int batch) {
    const model *m = t->m;
    const phase *last = &phases[phase_count - 1];
    batch_key key = {last, phase_epochs(last, m), (uint32_t)t->s.total_epoch | 1u << 24, batch};
    if (t->data->held > 0) {
        long first = (long)batch * t->batch, left = t->data->held - first;
        return batch_held_out(m, &key, first, left < 0 ? 0 : left < t->batch ? (int)left : t->batch);
    }
    int over = t->data->rows && batch >= phase_batches(last, m, t->data);
    return batch_of(m, t->data, &key, over ? 0 : t->batch);
}

static pass measuring_pass(const trainer *t) {
    pass p = flow_measuring_pass(t->run);
    p.params = measured_weights(t);
    return p;
}

/* How far something is that is measured. Of several ranks the first alone is asked to stop: it remembers that, and all of them
 * stop together, after the next batch. */
static jf_status poll(trainer *t, const char *what, uint64_t done, uint64_t total) {
    jf_status status = context_poll(t->m->ctx, what, done, total);
    if (status != JF_STOPPED || ranks_size(t->shared.r) == 1) return status;
    t->stop = 1;
    return JF_OK;
}

/* Whether this rank measures a part: they take turns. */
static int is_mine(const trainer *t, int part) {
    return part % ranks_size(t->shared.r) == ranks_rank(t->shared.r);
}

/* Latent points of a part of a batch, to their places. latent: (dim_x, TRAIN_KS_POINTS) from the first point on. */
static void take_latent(trainer *t, const batch_request *q, size_t most, double *rows, double *latent) {
    const model *m = t->m;
    size_t dim = (size_t)m->flow->dim;
    pass measuring = measuring_pass(t);
    feed_take(t->feed, q);
    flow_forward(m->flow, &measuring, q->n, t->run->state, t->run->logdet);
    flow_run_get_rows(t->run, q->n, rows);
    for (size_t s = 0; s < (size_t)q->n && s < most; s++)
        for (size_t i = 0; i < (size_t)m->units.dim_x; i++)
            latent[i * TRAIN_KS_POINTS + s] = rows[s * dim + i];
}

/* Latent histograms against the prior. */
static jf_status measure_ks(trainer *t) {
    const model *m = t->m;
    int dim_x = m->units.dim_x, part = 0;
    double *latent = NULL, *distances = NULL, *rows = NULL;
    size_t points = 0, numbers = (size_t)dim_x * TRAIN_KS_POINTS;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &latent, numbers));
    JF_TRY_DONE(MEM_NEW(m->ctx, &distances, (size_t)dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, (size_t)t->rows * (size_t)m->flow->dim));
    for (int b = 0; points < TRAIN_KS_POINTS; b++) {
        batch_request q = ks_batch(t, b);
        if (q.n == 0) break;
        JF_TRY_DONE(poll(t, "latent histograms", points, TRAIN_KS_POINTS));
        for (int n; q.n > 0 && points < TRAIN_KS_POINTS; q = batch_part(&q, n, q.n - n), part++) {
            n = q.n < t->rows ? q.n : t->rows;
            batch_request piece = batch_part(&q, 0, n);
            size_t left = TRAIN_KS_POINTS - points;
            if (is_mine(t, part)) take_latent(t, &piece, left, rows, latent + points);
            points += (size_t)n < left ? (size_t)n : left;
        }
    }
    JF_TRY_DONE(ranks_sum_doubles(t->shared.r, latent, numbers)); /* zeros where others are */
    for (int i = 0; i < dim_x; i++)
        distances[i] = is_mine(t, i) ? ks_to_normal(latent + (size_t)i * TRAIN_KS_POINTS, points) : 0;
    JF_TRY_DONE(ranks_sum_doubles(t->shared.r, distances, (size_t)dim_x));
    sort_ascending(distances, (size_t)dim_x);
    t->s.ks_median = quantile(distances, (size_t)dim_x, 0.5);
    t->s.ks_max = distances[dim_x - 1];
done:
    free(latent);
    free(distances);
    free(rows);
    return status;
}

/* Until the pass that it returns is put back, objectives are evaluated as models are used. */
static pass begin_measuring(trainer *t) {
    pass training = t->run->pass;
    t->run->pass = measuring_pass(t);
    return training;
}

static int has_held_out(const trainer *t) {
    return t->data && t->data->held > 0 && t->m->objective.kind->from_data;
}

/* Terms that are summed over parts of rows. By several ranks: each part has a place, so that they are added in the order in
 * which one process adds them. */
typedef struct term_sum {
    double *of_parts; /* (most, TERM_COUNT); NULL: added up by the device */
    int parts, most;
} term_sum;

static jf_status begin_sum(trainer *t, term_sum *s, int most) {
    loss_terms none = {0};
    *s = (term_sum){.most = most};
    t->m->d->kind->put_scalars(t->m->d, t->scratch_terms, none.value, TERM_COUNT);
    if (ranks_size(t->shared.r) == 1) return JF_OK;
    return MEM_NEW(t->m->ctx, &s->of_parts, (size_t)most * TERM_COUNT);
}

static void add_part(trainer *t, term_sum *s, const batch_request *q, double weight) {
    const objective *o = &t->m->objective;
    device *d = t->m->d;
    loss_terms none = {0};
    int part = s->parts++;
    if (s->of_parts && !is_mine(t, part)) return;
    feed_take(t->feed, q);
    if (s->of_parts) d->kind->put_scalars(d, t->scratch_terms, none.value, TERM_COUNT);
    o->kind->evaluate(o, t->run, q->n, weight, t->scratch_terms);
    if (s->of_parts && part < s->most)
        d->kind->get_scalars(d, s->of_parts + (size_t)part * TERM_COUNT, t->scratch_terms, TERM_COUNT);
}

static jf_status end_sum(trainer *t, term_sum *s, jf_status status, double *total) {
    loss_terms sum = {0};
    if (!s->of_parts)
        t->m->d->kind->get_scalars(t->m->d, sum.value, t->scratch_terms, TERM_COUNT);
    else if (status == JF_OK)
        status = ranks_sum_doubles(t->shared.r, s->of_parts, (size_t)s->parts * TERM_COUNT);
    for (int i = 0; s->of_parts && i < s->parts * TERM_COUNT; i++)
        sum.value[i % TERM_COUNT] += s->of_parts[i];
    loss_terms_total(&sum);
    *total = status == JF_OK ? sum.value[TERM_TOTAL] : NAN;
    free(s->of_parts);
    return status;
}

/* Mean loss over the held-out rows, with the phase's share of data and fixed noise; NAN where there are none.
 */
static jf_status validate(trainer *t, const phase *p, double *out) {
    const model *m = t->m;
    term_sum sum;
    *out = NAN;
    if (!has_held_out(t)) return JF_OK;
    long done = 0, most = recipe_int(m->recipe, "train.validation"),
         rows = t->data->held < most ? t->data->held : most;
    JF_TRY(begin_sum(t, &sum, (int)(rows / t->rows + 1)));
    jf_status status = JF_OK;
    pass training = begin_measuring(t);
    for (int n; done < rows && status == JF_OK; done += n) {
        n = rows - done < t->rows ? (int)(rows - done) : t->rows;
        batch_key key = {p, (int)t->s.epoch, 0, 0};
        batch_request q = batch_held_out(m, &key, done, n);
        status = poll(t, "validation", (uint64_t)done, (uint64_t)rows);
        if (status == JF_OK) add_part(t, &sum, &q, 1.0 / (double)rows);
    }
    t->run->pass = training;
    return end_sum(t, &sum, status, out);
}

/* Names the held-out row that makes the loss infinite, once for each phase. */
static jf_status tell_validation(trainer *t, const phase *p, double validation) {
    long rows = t->data->held;
    fault f = {.kind = FAULT_OF_GRADIENT, .row = -1};
    char where[FAULT_MAX_WORDS], why[FAULT_MAX_WORDS] = "lower train.rate";
    if (t->told_phase == (int)t->s.phase + 1) return JF_OK;
    t->told_phase = (int)t->s.phase + 1;
    for (long done = 0; done < rows && f.kind == FAULT_OF_GRADIENT; done += t->batch) {
        batch_key key = {p, (int)t->s.epoch, 0, 0};
        batch_request q =
            batch_held_out(t->m, &key, done, rows - done < t->batch ? (int)(rows - done) : t->batch);
        pass training = begin_measuring(t);
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
static jf_status run_shared_batch(trainer *t, int batches, int *control) {
    int last = t->s.batch + 1 >= batches;
    shared_call c = {.m = t->m,
                     .run = t->run,
                     .feed = t->feed,
                     .opt = &t->opt,
                     .terms = t->scratch_terms,
                     .batch = request_of(t, (int)t->s.batch),
                     .has_next = !last,
                     .wants_drift = t->s.batch == 0,
                     .control = *control};
    if (!last) c.next = request_of(t, (int)t->s.batch + 1);
    JF_TRY(shared_step(&t->shared, &c));
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
    int every = recipe_int(t->m->recipe, "train.ks_every"), epochs = phase_epochs(p, t->m);
    int measured =
        t->m->objective.kind->from_data && every && ((int)t->s.epoch % every == 0 || t->s.epoch == epochs);
    if (measured) JF_TRY(measure_ks(t));
    JF_TRY(validate(t, p, &validation));
    double score = has_held_out(t) ? validation : mean.value[TERM_TOTAL];
    t->s.held_out = validation;
    JF_TRY(t->m->d->kind->status(t->m->d));
    if (has_held_out(t) && !isfinite(validation)) JF_TRY(tell_validation(t, p, validation));
    if (score < t->s.best) { /* not where it is NAN */
        t->s.best = score;
        t->s.since_best = 0;
        t->s.best_epoch = t->s.epoch;
        copy_flat(t, t->best, measured_weights(t));
    } else {
        t->s.since_best++;
    }
    report(t, phase_batches(p, t->m, t->data));
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
static void take_best(trainer *t, const phase *p) {
    if (!p->patience_key || !isfinite(t->s.best)) return;
    copy_flat(t, t->m->params, t->best);
    t->s.kept_epoch = t->s.best_epoch;
    t->s.kept_of = t->s.epoch - 1;
}

static void end_phase(trainer *t, const phase *p) {
    if (p->patience_key && has_held_out(t) && !isfinite(t->s.best) && phase_epochs(p, t->m) > 0)
        jf_warn(t->m->ctx,
                "%s: no epoch had a finite held-out loss: the weights are those of the last, not the best",
                p->name);
    take_best(t, p);
    t->s.phase++;
    t->s.epoch = 1;
    t->s.best = INFINITY;
    t->s.since_best = 0;
    t->s.best_epoch = 0;
    t->s.held_out = NAN;
}

/* The rest of an epoch. */
static jf_status run_batches(trainer *t, int batches) {
    while (t->s.batch < batches) {
        if (t->stop) {
            JF_TRY(read_device(t));
            return JF_STOPPED;
        }
        run_batch(t, batches);
        if (t->s.batch < batches && now() - t->last_read < t->options->interval) continue;
        JF_TRY(read_device(t));
        if (t->s.batch < batches) report(t, batches); /* of a whole epoch once all is known of it */
    }
    return JF_OK;
}

/* The same where work is shared: ranks read, roll back and stop after the same batch, when the first of them wants it. */
static jf_status run_shared_batches(trainer *t, int batches) {
    while (t->s.batch < batches) {
        int due = now() - t->last_read >= t->options->interval,
            control = (t->stop ? SHARED_STOP : 0) | (due ? SHARED_READ : 0);
        JF_TRY(run_shared_batch(t, batches, &control));
        if (control == 0 && t->s.batch < batches) continue;
        JF_TRY(read_device(t));
        if (control & SHARED_STOP) return JF_STOPPED;
        if (t->s.batch < batches) report(t, batches);
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
        JF_TRY((shared_is_needed(&t->shared) ? run_shared_batches : run_batches)(t, batches));
        JF_TRY(end_epoch(t, p));
        if (now() - t->last_checkpoint > checkpoint_every) JF_TRY(save_checkpoint(t));
    }
    end_phase(t, p);
    return JF_OK;
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
    if (t->s.batch > 0) return_to_epoch_start(t);
    t->s.best = INFINITY;
    t->s.since_best = 0;
    t->s.best_epoch = 0;
    return JF_OK;
}

static jf_status resume(trainer *t) {
    JF_TRY(generations_load(&t->checkpoints, t->m, &t->opt, t->best, &t->start, &t->s));
    t->saved_epochs = t->s.total_epoch;
    return t->checkpoints.data.differ ? take_changed_data(t) : JF_OK;
}

static jf_status use_folder(trainer *t) {
    model *m = t->m;
    const train_options *o = t->options;
    if (!o->resume) JF_TRY(file_make_folder(m->ctx, t->folder));
    JF_TRY(generations_create(m->ctx, &t->checkpoints, t->folder));
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
    if (ranks_size(t->shared.r) == 1) return JF_OK;
    JF_TRY(shared_spread(&t->shared, t->m, buffers, count, &state, sizeof state));
    t->s = state.now;
    t->start.state = state.start;
    return JF_OK;
}

static jf_status prepare(trainer *t) {
    model *m = t->m;
    t->batch = recipe_int(m->recipe, "train.batch");
    JF_TRY(shared_create(&t->shared, m, t->batch, t->options->deterministic));
    t->rows = t->shared.rows;
    t->folder = ranks_is_first(t->shared.r) ? t->options->folder : NULL;
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
    if (!shared_is_needed(&t->shared)) JF_TRY(training_step_create(&t->step, m, t->run, &t->opt, t->batch));
    JF_TRY(feed_create(&t->feed, m, t->data, t->run));
    JF_TRY(m->d->kind->alloc(m->d, &t->best, m->parameters.total));
    real **start[] = {&t->start.params, &t->start.first, &t->start.second};
    for (int i = 0; i < 3; i++) JF_TRY(m->d->kind->alloc(m->d, start[i], m->parameters.total));
    if (t->opt.average) JF_TRY(m->d->kind->alloc(m->d, &t->start.average, m->parameters.total));
    if (!t->options->resume) JF_TRY(start_from_data(t));
    copy_flat(t, t->best, m->params);
    t->s = (train_state){
        .epoch = 1, .best = INFINITY, .rate_factor = 1, .ks_median = NAN, .ks_max = NAN, .held_out = NAN};
    if (t->folder) JF_TRY(use_folder(t));
    if (t->options->resume) JF_TRY(spread_state(t));
    t->seconds_before = t->s.seconds;
    t->clock_start = t->last_checkpoint = t->last_read = now();
    return JF_OK;
}

static void release(trainer *t, jf_status ended) {
    model *m = t->m;
    shared_free(&t->shared, m, ended < 0); /* first: devices that wait for lost ranks would never be done */
    feed_free(t->feed);
    if (t->step.m) training_step_free(&t->step);
    flow_run_free(t->run);
    optimiser_free(&t->opt, m);
    real *buffers[] = {t->best, t->start.params, t->start.first, t->start.second, t->start.average};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) m->d->kind->release(m->d, buffers[i]);
    if (t->scratch_terms) m->d->kind->release_scalars(m->d, t->scratch_terms);
    generations_free(&t->checkpoints);
    free(t->history);
}

/* ---- how it ended ---- */

/* Of the weights that the run leaves: mean over held-out rows, or over points as the histograms have them. */
static jf_status final_loss(trainer *t, double *out) {
    if (has_held_out(t)) return validate(t, &phases[phase_count - 1], out);
    term_sum sum;
    double points = 0;
    int parts = (t->batch + t->rows - 1) / t->rows; /* of a batch */
    JF_TRY(begin_sum(t, &sum, (TRAIN_KS_POINTS / t->batch + 1) * parts));
    pass training = begin_measuring(t);
    for (int b = 0; points < TRAIN_KS_POINTS; b++) {
        batch_request q = ks_batch(t, b);
        if (q.n == 0) break;
        points += q.n;
        for (int n; q.n > 0; q = batch_part(&q, n, q.n - n)) {
            n = q.n < t->rows ? q.n : t->rows;
            batch_request piece = batch_part(&q, 0, n);
            add_part(t, &sum, &piece, 1);
        }
    }
    t->run->pass = training;
    jf_status status = end_sum(t, &sum, JF_OK, out);
    *out = points > 0 ? *out / points : NAN;
    return status;
}

/* Adds the loss, beside that of a Gaussian, to the sentence; warns where it is worse. */
static jf_status tell_loss(trainer *t, char *sentence, size_t size) {
    const model *m = t->m;
    size_t used = strlen(sentence);
    double gaussian, loss;
    if (!m->objective.kind->from_data) return JF_OK;
    jf_status status = final_loss(t, &loss);
    if (status != JF_OK) return status == JF_STOPPED ? JF_OK : status; /* a stop spares this sentence alone */
    JF_TRY(dataset_gaussian(t->data, recipe_real(m->recipe, "train.noise"), &gaussian));
    if (isnan(gaussian)) return JF_OK;
    gaussian += loss_y_at_best(&m->objective, m->units.dim_y);
    const char *which = has_held_out(t) ? "held-out loss" : "loss";
    int worse = !(loss <= gaussian + GAUSSIAN_MARGIN * m->units.dim_x);
    const char *format = worse ? "; %s %.4g, worse than a Gaussian's %.4g" : "; %s %.4g (a Gaussian's: %.4g)";
    number_print(sentence + used, size - used, format, which, loss, gaussian);
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

static jf_status close_run(trainer *t) {
    char sentence[320];
    number_print(sentence, sizeof sentence, "%s after %.0f epochs, %ld steps of %d samples",
                 t->s.finished ? "finished" : "stopped", t->s.total_epoch, (long)t->s.step, t->batch);
    precision in = train_precision(t->m);
    size_t used = strlen(sentence);
    if (in != PRECISION_FP32)
        number_print(sentence + used, sizeof sentence - used, ", products in %s", precision_names[in]);
    used = strlen(sentence);
    if (t->s.kept_epoch > 0)
        number_print(sentence + used, sizeof sentence - used, "; kept are the weights of epoch %.0f of %.0f",
                     t->s.kept_epoch, t->s.kept_of);
    average_from_here(t);
    if (t->s.finished) JF_TRY(tell_loss(t, sentence, sizeof sentence));
    JF_TRY(model_set_trained(t->m, sentence));
    return t->m->d->kind->status(t->m->d);
}

/* A device that was lost, or had no memory: what was learned until the last checkpoint is not lost with it. */
static jf_status tell_what_is_saved(const trainer *t, jf_status status) {
    char why[1024];
    if ((status != JF_ERROR_DEVICE && status != JF_ERROR_MEMORY) || t->saved_epochs < 0) return status;
    snprintf(why, sizeof why, "%s", jf_context_error(t->m->ctx));
    return jf_fail(t->m->ctx, status,
                   "%s; %s holds the run as it was after %.0f epochs: go on from there (resume)", why,
                   t->options->folder, t->saved_epochs);
}

jf_status train_run(model *m, const dataset *data, const train_options *options) {
    trainer t = {.m = m, .data = data, .options = options, .saved_epochs = -1};
    jf_status status = prepare(&t);
    if (status == JF_OK) status = run_phases(&t);
    if (status == JF_OK || status == JF_STOPPED) {
        if (status == JF_STOPPED) take_best(&t, &phases[(int)t.s.phase]);
        jf_status late = close_run(&t);
        if (late != JF_OK) status = late;
    }
    release(&t, status);
    return tell_what_is_saved(&t, status);
}
