/* What is measured while a run trains, by its ranks together: latent histograms, and losses of rows that are
 * not trained on. */
#include "base/memory.h"
#include "base/statistics.h"
#include "train/trainer.h"
#include <math.h>
#include <stdlib.h>

/* The points of the latent histograms, a batch at a time: held-out rows, or fresh points where the data are
 * generated, or rows of a file that holds none out; those of a file at most once. Of no samples: no more. */
static batch_request ks_batch(const trainer *t, int batch) {
    const model *m = t->m;
    const phase *last = &phases[phase_count - 1];
    batch_key key = {last, phase_epochs(last, m), (uint32_t)t->s.total_epoch | 1u << 24, batch};
    if (t->data->validation_rows > 0) {
        long first = (long)batch * t->batch, left = t->data->validation_rows - first;
        return batch_validation(m, &key, first, left < 0 ? 0 : left < t->batch ? (int)left : t->batch);
    }
    int over = t->data->rows && batch >= phase_batches(last, m, t->data);
    return batch_of(m, t->data, &key, over ? 0 : t->batch);
}

static pass measuring_pass(const trainer *t) {
    pass p = flow_measuring_pass(t->run);
    p.params = trainer_weights(t);
    return p;
}

/* How far something is that is measured. Of several ranks the first alone is asked to stop: it remembers
 * that, and all of them stop together, after the next batch. */
static jf_status poll(trainer *t, const char *what, uint64_t done, uint64_t total) {
    jf_status status = context_poll(t->m->ctx, what, done, total);
    if (status != JF_STOPPED || ranks_size(t->parallel.r) == 1) return status;
    t->stop = 1;
    return JF_OK;
}

/* Whether this rank measures a part: they take turns. */
static int is_mine(const trainer *t, int part) {
    return part % ranks_size(t->parallel.r) == ranks_rank(t->parallel.r);
}

/* Latent points of a part of a batch, to their places. latent: (dim_x, TRAIN_KS_POINTS) from the first point
 * on. */
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

jf_status trainer_measure_ks(trainer *t) {
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
    JF_TRY_DONE(ranks_sum_doubles(t->parallel.r, latent, numbers)); /* zeros where others are */
    for (int i = 0; i < dim_x; i++)
        distances[i] = is_mine(t, i) ? ks_to_normal(latent + (size_t)i * TRAIN_KS_POINTS, points) : 0;
    JF_TRY_DONE(ranks_sum_doubles(t->parallel.r, distances, (size_t)dim_x));
    sort_ascending(distances, (size_t)dim_x);
    t->s.ks_median = quantile(distances, (size_t)dim_x, 0.5);
    t->s.ks_max = distances[dim_x - 1];
done:
    free(latent);
    free(distances);
    free(rows);
    return status;
}

pass trainer_begin_measuring(trainer *t) {
    pass training = t->run->pass;
    t->run->pass = measuring_pass(t);
    return training;
}

int trainer_has_validation(const trainer *t) {
    return t->data && t->data->validation_rows > 0 && t->m->objective.kind->from_data;
}

/* Terms that are summed over parts of rows. By several ranks: each part has a place, so that they are added
 * in the order in which one process adds them. */
typedef struct term_sum {
    double *of_parts; /* (most, TERM_COUNT); NULL: added up by the device */
    int parts, most;
} term_sum;

static jf_status begin_sum(trainer *t, term_sum *s, int most) {
    loss_terms none = {0};
    *s = (term_sum){.most = most};
    t->m->d->kind->put_scalars(t->m->d, t->scratch_terms, none.value, TERM_COUNT);
    if (ranks_size(t->parallel.r) == 1) return JF_OK;
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
        status = ranks_sum_doubles(t->parallel.r, s->of_parts, (size_t)s->parts * TERM_COUNT);
    for (int i = 0; s->of_parts && i < s->parts * TERM_COUNT; i++)
        sum.value[i % TERM_COUNT] += s->of_parts[i];
    loss_terms_total(&sum);
    *total = status == JF_OK ? sum.value[TERM_TOTAL] : NAN;
    free(s->of_parts);
    return status;
}

jf_status trainer_validate(trainer *t, const phase *p, double *out) {
    const model *m = t->m;
    term_sum sum;
    *out = NAN;
    if (!trainer_has_validation(t)) return JF_OK;
    long done = 0, most = recipe_int(m->recipe, "train.validation"),
         rows = t->data->validation_rows < most ? t->data->validation_rows : most;
    JF_TRY(begin_sum(t, &sum, (int)(rows / t->rows + 1)));
    jf_status status = JF_OK;
    pass training = trainer_begin_measuring(t);
    for (int n; done < rows && status == JF_OK; done += n) {
        n = rows - done < t->rows ? (int)(rows - done) : t->rows;
        batch_key key = {p, (int)t->s.epoch, 0, 0};
        batch_request q = batch_validation(m, &key, done, n);
        status = poll(t, "validation", (uint64_t)done, (uint64_t)rows);
        if (status == JF_OK) add_part(t, &sum, &q, 1.0 / (double)rows);
    }
    t->run->pass = training;
    return end_sum(t, &sum, status, out);
}

jf_status trainer_final_loss(trainer *t, double *out) {
    if (trainer_has_validation(t)) return trainer_validate(t, &phases[phase_count - 1], out);
    term_sum sum;
    double points = 0;
    int parts = (t->batch + t->rows - 1) / t->rows; /* of a batch */
    JF_TRY(begin_sum(t, &sum, (TRAIN_KS_POINTS / t->batch + 1) * parts));
    pass training = trainer_begin_measuring(t);
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
