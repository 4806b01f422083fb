/* A run: the buffers of passes through a flow, allocated once; and the Jacobian, which is built from such
 * passes. */
#include "base/memory.h"
#include "flow/embedded.h"
#include <stdlib.h>

/* Beside what the run is for, its scratch is that of passes in one direction, as they are run to measure and
 * to sample. */
static size_t scratch_of(const transform *t, const device *d, int n, layer_use use) {
    const layer_use all[] = {use, {.precision = use.precision}, {.precision = PRECISION_FP32}};
    size_t most = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t scratch = transform_workspace(t, d, n, all[i]);
        if (scratch > most) most = scratch;
    }
    return most;
}

run_size flow_run_size(const flow *f, int n, run_use use, int gradients, size_t *saved_counts) {
    double left = use.backward ? use.keep_mib * 1048576 / (double)f->d->kind->real_size : 0;
    run_size size = {0, 0};
    for (int i = f->layers - 1; i >= 0; i--) {
        const transform *t = &f->chain[i];
        size_t saved = transform_saved(t, f->d, n, use.precision);
        if ((double)saved > left) saved = 0;
        left -= (double)saved;
        size.saved += saved;
        if (saved_counts) saved_counts[i] = saved;
        layer_use layer = {use.backward, gradients, saved > 0, use.precision};
        size_t scratch = scratch_of(t, f->d, n, layer);
        if (scratch > size.scratch) size.scratch = scratch;
    }
    size.scratch += embedded_workspace(f, n, use.backward);
    return size;
}

/* Room for what the layers keep, as flow_run_size() counts it. */
static jf_status keep(flow_run *run, run_use use, size_t *scratch) {
    const flow *f = run->f;
    size_t *counts;
    JF_TRY(MEM_NEW(f->ctx, &run->saved, (size_t)f->layers));
    JF_TRY(MEM_NEW(f->ctx, &counts, (size_t)f->layers));
    *scratch = flow_run_size(f, run->n_max, use, run->pass.grad != NULL, counts).scratch;
    jf_status status = JF_OK;
    for (int i = f->layers - 1; i >= 0 && status == JF_OK; i--)
        if (counts[i] > 0) status = f->d->kind->alloc(f->d, &run->saved[i], counts[i]);
    free(counts);
    run->pass.saved_by_layer = run->saved;
    return status;
}

int flow_row_element(const flow *f, int i) {
    const layout *l = &f->layout;
    int p = i / l->channels, c = i % l->channels, cx = l->x_channels, cy = l->channels - cx;
    return c < cx ? p * cx + c : l->pixels * cx + p * cy + (c - cx);
}

static jf_status create_order(flow_run *run) {
    const flow *f = run->f;
    int32_t *map;
    if (f->layout.pixels == 1) return JF_OK;
    JF_TRY(MEM_NEW(f->ctx, &map, (size_t)f->dim));
    for (int i = 0; i < f->dim; i++) map[i] = flow_row_element(f, i);
    jf_status status = f->d->kind->alloc_map(f->d, &run->order, map, (size_t)f->dim);
    free(map);
    return status;
}

jf_status flow_run_create(flow_run **out, const flow *f, const real *params, real *grad, int n_max,
                          run_use use) {
    *out = NULL;
    flow_run *run;
    jf_status status;
    device *d = f->d;
    JF_TRY(MEM_NEW(f->ctx, &run, 1));
    *run = (flow_run){
        .f = f, .n_max = n_max, .pass = {.d = d, .params = params, .grad = grad, .precision = use.precision}};
    size_t n = (size_t)n_max, whole = n * (size_t)f->dim, scratch = 0;
    JF_TRY_DONE(keep(run, use, &scratch));
    struct {
        real **buffer;
        size_t count;
    } wanted[] = {
        {&run->pass.work, scratch}, {&run->state, whole}, {&run->dstate, whole}, {&run->copy, whole},
        {&run->logdet, n},          {&run->dlogdet, n},   {&run->term, n}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        JF_TRY_DONE(d->kind->alloc(d, wanted[i].buffer, wanted[i].count));
    JF_TRY_DONE(MEM_NEW(f->ctx, &run->host, whole));
    JF_TRY_DONE(create_order(run));
    *out = run;
    return JF_OK;
done:
    flow_run_free(run);
    return status;
}

void flow_run_free(flow_run *run) {
    if (!run) return;
    device *d = run->f->d;
    for (int i = 0; run->saved && i < run->f->layers; i++)
        if (run->saved[i]) d->kind->release(d, run->saved[i]);
    free(run->saved);
    real *all[] = {run->pass.work, run->state, run->dstate, run->copy, run->logdet, run->dlogdet, run->term};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) d->kind->release(d, all[i]);
    if (run->order) d->kind->release_map(d, run->order);
    free(run->host);
    free(run);
}

pass flow_measuring_pass(const flow_run *run) {
    pass p = run->pass;
    p.grad = NULL;
    p.saved = NULL;
    p.saved_by_layer = NULL;
    p.precision = PRECISION_FP32;
    p.dropout = (dropout_source){0};
    return p;
}

void flow_run_put(flow_run *run, int n, const double *state) {
    run->pass.d->kind->put(run->pass.d, run->state, state, (size_t)n * (size_t)run->f->dim);
}

void flow_run_get(flow_run *run, int n, double *state) {
    run->pass.d->kind->get(run->pass.d, state, run->state, (size_t)n * (size_t)run->f->dim);
}

/* Copies between rows (x, then y) and states ([pixel][x channels, y channels]). */
static void reorder(const flow *f, int n, double *rows, double *state, int to_state) {
    size_t pixels = (size_t)f->layout.pixels, channels = (size_t)f->layout.channels,
           cx = (size_t)f->layout.x_channels, cy = channels - cx;
    for (size_t s = 0; s < (size_t)n; s++, rows += f->dim)
        for (size_t p = 0; p < pixels; p++, state += channels)
            for (size_t c = 0; c < channels; c++) {
                double *row = c < cx ? rows + p * cx + c : rows + pixels * cx + p * cy + (c - cx);
                if (to_state)
                    state[c] = *row;
                else
                    *row = state[c];
            }
}

void flow_run_put_rows(flow_run *run, int n, const double *rows) {
    reorder(run->f, n, (double *)rows, run->host, 1);
    flow_run_put(run, n, run->host);
}

void flow_run_get_rows(flow_run *run, int n, double *rows) {
    flow_run_get(run, n, run->host);
    reorder(run->f, n, rows, run->host, 0);
}

void flow_run_draw_rows(flow_run *run, int n, rng_key key, uint64_t first) {
    device *d = run->pass.d;
    int dim = run->f->dim;
    d->kind->normal(d, run->order ? run->copy : run->state, n, dim, key, first);
    if (run->order) d->kind->gather(d, run->state, run->copy, run->order, n, dim, dim);
}

int flow_has_start(const flow *f) {
    for (int i = 0; i < f->layers; i++)
        if (f->chain[i].kind->start) return 1;
    return 0;
}

jf_status flow_start(flow_run *run, int n, real *params) {
    const flow *f = run->f;
    pass p = flow_measuring_pass(run);
    inner_state c = embedded_enter(f, &p, n, run->state);
    for (int i = 0; i < f->layers; i++) {
        const transform *t = &f->chain[i];
        if (t->kind->start) JF_TRY(t->kind->start(t, &c.pass, n, c.state, params));
        t->kind->forward(t, &c.pass, n, c.state, run->logdet);
    }
    return JF_OK;
}

/* The flow's outputs, for rows of their Jacobian: what to go back with, without gradients of parameters or of
 * logdet. */
static pass forward_for_rows(flow_run *run, int n) {
    pass no_grad = run->pass;
    no_grad.grad = NULL;
    flow_forward(run->f, &no_grad, n, run->state, run->logdet);
    run->pass.d->kind->fill(run->pass.d, run->dlogdet, 0, (size_t)n);
    return no_grad;
}

void flow_jacobian_rows(flow_run *run, int n, const int *outputs, double *J) {
    const flow *f = run->f;
    device *d = run->pass.d;
    size_t dim = (size_t)f->dim, whole = (size_t)n * dim;
    pass no_grad = forward_for_rows(run, n);
    for (size_t k = 0; k < whole; k++) run->host[k] = k % dim == (size_t)outputs[k / dim];
    d->kind->put(d, run->dstate, run->host, whole);
    flow_backward(f, &no_grad, n, run->state, run->dstate, run->dlogdet);
    d->kind->get(d, J, run->dstate, whole);
}

/* Row i of every sample's Jacobian is what backward makes of the unit gradient e_i. */
void flow_jacobian(flow_run *run, int n, int rows, double *J) {
    const flow *f = run->f;
    device *d = run->pass.d;
    size_t dim = (size_t)f->dim, whole = (size_t)n * dim;
    pass no_grad = forward_for_rows(run, n);
    d->kind->copy(d, run->copy, run->state, whole);
    for (size_t i = 0; i < (size_t)rows; i++) {
        for (size_t k = 0; k < whole; k++) run->host[k] = k % dim == i;
        d->kind->put(d, run->dstate, run->host, whole);
        d->kind->copy(d, run->state, run->copy, whole);
        flow_backward(f, &no_grad, n, run->state, run->dstate, run->dlogdet);
        d->kind->get(d, run->host, run->dstate, whole);
        for (size_t s = 0; s < (size_t)n; s++)
            for (size_t j = 0; j < dim; j++) J[(s * (size_t)rows + i) * dim + j] = run->host[s * dim + j];
    }
    d->kind->copy(d, run->state, run->copy, whole);
}
