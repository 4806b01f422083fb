/* log|det dF_Y'/dy| of image models. A small |F_Y' - y| does not promise that y' follows y; the determinant of that block of
 * the Jacobian says how far densities by the whole map's log-determinant are from those given y. A row of the Jacobian costs
 * a backward pass, so that a few samples have to do, and images of more than 32 x 32 elements do without. */
#include "judge/judge.h"
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
} jacobian_work;

static void work_free(jacobian_work *w) {
    flow_run_free(w->run);
    free(w->copies);
    free(w->J);
    free(w->block);
    free(w->outputs);
}

static jf_status work_create(const model *m, jacobian_work *w, size_t at_once) {
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim, dim_y = (size_t)f->dim_y;
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
static double log_dy_of(const model *m, jacobian_work *w, size_t at_once, const double *row) {
    const flow *f = m->flow;
    size_t dim = (size_t)f->dim, dim_y = (size_t)f->dim_y;
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

jf_status image_log_dy(const model *m, long n, const double *rows, log_dy_judgement *out) {
    const flow *f = m->flow;
    size_t dim_y = (size_t)f->dim_y, at_once = dim_y < ROWS_AT_ONCE ? dim_y : ROWS_AT_ONCE;
    jacobian_work w = {0};
    jf_status status;
    *out = (log_dy_judgement){0};
    /* y' is y by itself where the condition is fixed, and another thing where it has a flow of its own. */
    if (dim_y == 0 || n < 1 || !recipe_is(m->recipe, "model.condition", "joint")) return JF_OK;
    if (dim_y > ROWS_IN_ALL) return JF_OK; /* would cost more than all the rest of judging */
    int samples = ROWS_IN_ALL / f->dim_y;
    if (samples > MOST_SAMPLES) samples = MOST_SAMPLES;
    if (samples > n) samples = (int)n;
    JF_TRY_DONE(work_create(m, &w, at_once));
    for (int s = 0; s < samples; s++) {
        JF_TRY_DONE(context_poll(m->ctx, "Jacobians", (uint64_t)s, (uint64_t)samples));
        double value = log_dy_of(m, &w, at_once, rows + (size_t)s * (size_t)f->dim);
        JF_TRY_DONE(m->d->kind->status(m->d));
        out->mean += value / samples;
        out->most = fmax(out->most, fabs(value));
    }
    out->samples = samples;
done:
    work_free(&w);
    return status;
}
