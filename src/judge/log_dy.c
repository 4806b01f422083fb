/* log|det dF_Y'/dy| of image models. A small |F_Y' - y| does not promise that y' follows y; the determinant
 * of that block of the Jacobian says how far densities by the whole map's log-determinant are from those
 * given y. A row of the Jacobian costs a backward pass, so that a few samples have to do, and images of more
 * than 32 x 32 elements do without. */
#include "judge/judge.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_IN_ALL = 1024, ROWS_AT_ONCE = 256, MOST_SAMPLES = 4 };

typedef struct jacobian_work {
    flow_run *run;
    double *copies; /* (ROWS_AT_ONCE, dim) */
    double *J;      /* (ROWS_AT_ONCE, dim) */
    double *block;  /* (dim_y, dim_y) */
    int *outputs;   /* (dim_y): where element i of y lies in a state */
    const model *m;
    size_t at_once; /* rows of a Jacobian */
    int samples;
    const double *rows;          /* (samples, dim), the model's units */
    double values[MOST_SAMPLES]; /* log|det dF_Y'/dy| of each */
} jacobian_work;

static void work_free(jacobian_work *w) {
    flow_run_free(w->run);
    free(w->copies);
    free(w->J);
    free(w->block);
    free(w->outputs);
}

static jf_status work_create(jacobian_work *w) {
    const model *m = w->m;
    const flow *f = m->flow;
    size_t at_once = w->at_once, dim = (size_t)f->dim, dim_y = (size_t)f->dim_y;
    JF_TRY(flow_run_create(&w->run, f, m->params, NULL, (int)at_once, (run_use){.backward = 1}));
    JF_TRY(MEM_NEW(m->ctx, &w->copies, at_once * dim));
    JF_TRY(MEM_NEW(m->ctx, &w->J, at_once * dim));
    JF_TRY(MEM_NEW(m->ctx, &w->block, dim_y * dim_y));
    JF_TRY(MEM_NEW(m->ctx, &w->outputs, dim_y));
    for (int i = 0; i < f->dim; i++) {
        int element = flow_row_element(f, i);
        if (element >= f->dim_x) w->outputs[element - f->dim_x] = i;
    }
    return JF_OK;
}

/* Of one row (dim), the model's units. */
static double log_dy_of(jacobian_work *w, const double *row) {
    const flow *f = w->m->flow;
    size_t at_once = w->at_once, dim = (size_t)f->dim, dim_y = (size_t)f->dim_y;
    for (size_t k = 0; k < at_once; k++) memcpy(w->copies + k * dim, row, dim * sizeof *row);
    for (size_t at = 0; at < dim_y; at += at_once) {
        size_t rows = dim_y - at < at_once ? dim_y - at : at_once;
        flow_run_put_rows(w->run, (int)rows, w->copies);
        flow_jacobian_rows(w->run, (int)rows, w->outputs + at, w->J);
        for (size_t k = 0; k < rows; k++)
            for (size_t i = 0; i < dim_y; i++)
                w->block[(at + k) * dim_y + i] = w->J[k * dim + (size_t)w->outputs[i]];
    }
    return log_abs_det(w->block, f->dim_y);
}

static jf_status find_values(void *arg, size_t begin, size_t end) {
    jacobian_work *w = arg;
    const model *m = w->m;
    for (size_t s = begin; s < end; s++) {
        JF_TRY(context_poll(m->ctx, "Jacobians", (uint64_t)s, (uint64_t)w->samples));
        w->values[s] = log_dy_of(w, w->rows + s * (size_t)m->flow->dim);
        JF_TRY(m->d->kind->status(m->d));
    }
    return JF_OK;
}

jf_status image_log_dy(const model *m, long n, const double *rows, log_dy_judgement *out) {
    const flow *f = m->flow;
    size_t dim_y = (size_t)f->dim_y;
    jacobian_work w = {.m = m, .rows = rows, .at_once = dim_y < ROWS_AT_ONCE ? dim_y : ROWS_AT_ONCE};
    ranks_rows results = {w.values, sizeof *w.values};
    jf_status status;
    *out = (log_dy_judgement){0};
    /* y' is y by itself where the condition is fixed, and another thing where it has a flow of its own. */
    if (dim_y == 0 || n < 1 || !recipe_is(m->recipe, "model.condition", "joint")) return JF_OK;
    if (dim_y > ROWS_IN_ALL) return JF_OK; /* would cost more than all the rest of judging */
    w.samples = ROWS_IN_ALL / f->dim_y;
    if (w.samples > MOST_SAMPLES) w.samples = MOST_SAMPLES;
    if (w.samples > n) w.samples = (int)n;
    JF_TRY_DONE(work_create(&w));
    JF_TRY_DONE(ranks_divide(ranks_of(m->ctx), (size_t)w.samples, 1, find_values, &w, &results, 1));
    for (int s = 0; s < w.samples; s++) {
        out->mean += w.values[s] / w.samples;
        out->most = fmax(out->most, fabs(w.values[s]));
    }
    out->samples = w.samples;
done:
    work_free(&w);
    return status;
}
