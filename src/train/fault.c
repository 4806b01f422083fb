#include "train/fault.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/number.h"
#include "flow/embedded.h"
#include "net/net.h"
#include <math.h>
#include <stdlib.h>

/* So many deviations from the mean are the row's fault rather than the start's. */
#define FAR_OFF 1000.0

/* ---- finding ---- */

/* The sample whose row goes furthest. */
static int furthest_sample(const double *rows, int n, int dim) {
    size_t most = 0;
    for (size_t i = 0; i < (size_t)n * (size_t)dim; i++)
        if (fabs(rows[i]) > fabs(rows[most])) most = i;
    return (int)(most / (size_t)dim);
}

/* Says which row of the data sample s is, and which of its elements as it came in is furthest off. */
static void blame(const model *m, const dataset *data, const batch_request *q, const double *rows, int s,
                  fault *out) {
    size_t dim = (size_t)m->flow->dim;
    const double *row = rows + (size_t)s * dim;
    row_sequence sequence = {q->order, q->class_index, q->validation};
    out->row = data && q->share > 0 ? dataset_row_at(data, &sequence, q->first + (uint64_t)s) : -1;
    size_t most = count_finite(row, dim); /* one that is not finite is furthest of all */
    if (most == dim)
        for (size_t i = most = 0; i < dim; i++)
            if (fabs(row[i]) > fabs(row[most])) most = i;
    out->element = (int)most;
    out->off = row[most];
}

static void walk_layers(const model *m, flow_run *run, const batch_request *q, double *rows, fault *out,
                        int *sample) {
    const flow *f = m->flow;
    size_t count = (size_t)q->n * (size_t)f->dim;
    inner_state c = embedded_enter(f, &run->pass, q->n, run->state);
    for (int i = 0; i < f->layers; i++) {
        const transform *t = &f->chain[i];
        t->kind->forward(t, &c.pass, q->n, c.state, run->logdet);
        embedded_leave(f, q->n, &c, run->state);
        flow_run_get_rows(run, q->n, rows);
        size_t at = count_finite(rows, count);
        if (at == count) continue;
        out->kind = FAULT_OF_LAYER;
        out->layer = i;
        *sample = (int)(at / (size_t)f->dim);
        return;
    }
    *sample = furthest_sample(rows, q->n, f->dim);
    double most = 0;
    for (int i = 0; i < f->dim; i++)
        most = fmax(most, fabs(rows[(size_t)*sample * (size_t)f->dim + (size_t)i]));
    out->kind = most < sqrt(FLT_MAX) ? FAULT_OF_GRADIENT : FAULT_OF_LOSS; /* terms are squares */
}

static jf_status find_bad_weights(const model *m, const char **name) {
    double *weights;
    *name = NULL;
    JF_TRY(MEM_NEW(m->ctx, &weights, m->parameters.total));
    m->d->kind->get(m->d, weights, m->params, m->parameters.total);
    size_t at = count_finite(weights, m->parameters.total);
    for (int i = 0; i < m->parameters.count && at < m->parameters.total; i++) {
        const param *p = &m->parameters.items[i];
        if (at >= p->offset && at < p->offset + p->count) *name = p->name;
    }
    free(weights);
    return JF_OK;
}

jf_status fault_find(const model *m, const dataset *data, feed *source, flow_run *run, const batch_request *q,
                     fault *out) {
    size_t count = (size_t)q->n * (size_t)m->flow->dim;
    double *input = NULL, *rows = NULL;
    int sample = 0;
    jf_status status;
    *out = (fault){.row = -1};
    JF_TRY_DONE(find_bad_weights(m, &out->bad));
    JF_TRY_DONE(MEM_NEW(m->ctx, &input, count));
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, count));
    feed_take(source, q);
    flow_run_get_rows(run, q->n, input);
    size_t at = count_finite(input, count);
    if (at < count) {
        out->kind = FAULT_OF_DATA;
        sample = (int)(at / (size_t)m->flow->dim);
    } else {
        walk_layers(m, run, q, rows, out, &sample);
    }
    blame(m, data, q, input, sample, out);
done:
    free(input);
    free(rows);
    return status;
}

/* ---- telling ---- */

const char *fault_where(const fault *f, char out[FAULT_MAX_WORDS]) {
    static const char *const words[] = {"in the data", "after layer %d", "in the loss", "in the gradient"};
    format_text(out, FAULT_MAX_WORDS, words[f->kind], f->layer);
    return out;
}

/* row 17 of data.csv, whose x0 is 1e+40 deviations away from the mean */
static const char *row_words(const fault *f, const model *m, const dataset *data, char out[FAULT_MAX_WORDS]) {
    char row[512] = "a row of the batch";
    int is_x = f->element < m->units.dim_x;
    if (f->row >= 0) dataset_row_words(data, f->row, row, sizeof row);
    format_text(out, FAULT_MAX_WORDS, "%s, whose %c%d is %g deviations away from the mean", row,
                is_x ? 'x' : 'y', is_x ? f->element : f->element - m->units.dim_x, f->off);
    return out;
}

int fault_is_of_row(const fault *f) {
    return f->kind == FAULT_OF_DATA || fabs(f->off) > FAR_OFF;
}

const char *fault_why(const fault *f, const model *m, const dataset *data, char out[FAULT_MAX_WORDS]) {
    char words[FAULT_MAX_WORDS], key[NET_MAX_KEY];
    net_highest_gain(m->recipe, key);
    if (fault_is_of_row(f))
        format_text(out, FAULT_MAX_WORDS, "it is %s: correct it or leave it out",
                    row_words(f, m, data, words));
    else if (f->bad)
        format_text(out, FAULT_MAX_WORDS, "weights are not finite themselves (%s): start from others",
                    f->bad);
    else
        format_text(out, FAULT_MAX_WORDS,
                    "the start itself diverges, and no train.rate changes that: lower %s, which is %g", key,
                    recipe_real(m->recipe, key));
    return out;
}
