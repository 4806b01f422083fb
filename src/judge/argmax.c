/* How often the model's own argmax finds the class of a row that it has not seen:
 *
 *     c(x) = argmax over the classes c of  log p(x | y = c) + log pi_c
 *
 * with pi_c the share of c in the rows to train on. It is 1 / classes where that is not known. */
#include "judge/judge.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VECTOR_ROWS = 2000,
    IMAGE_ROWS = 500
}; /* that are asked about, at most: each costs a density for each class */

/* Columns of zeros and ones were standardised by these shares. */
static void take_priors(const model *m, const dataset *data, double prior[MAX_CLASSES]) {
    const model_units *u = &m->units;
    for (int c = 0; c < u->classes; c++) {
        prior[c] = 1.0 / u->classes;
        if (units_planes(u))
            prior[c] = u->mean[u->dim_x + c];
        else if (!data->is_test && data->classes == u->classes)
            prior[c] = (double)(data->class_start[c + 1] - data->class_start[c]) / (double)data->rows;
    }
}

/* The rows of the data, model units, with y of a class. */
static void rows_of_class(const model *m, long n, const double *data, const double *y, double *rows) {
    const model_units *u = &m->units;
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)u->dim_x;
    memcpy(rows, data, (size_t)n * dim * sizeof *rows);
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < u->dim_y; i++)
            rows[s * dim + dim_x + (size_t)i] = units_to_model(u, u->dim_x + i, y[i]);
}

typedef struct argmax_work {
    double *rows, *y, *best; /* (n, dim), (dim_y), (n): log p + log pi of the class so far */
    int *found;              /* (n) */
} argmax_work;

/* A class whose density cannot be had at a row is not the one. */
static jf_status try_class(const model *m, long n, const double *data, int c, double log_prior,
                           argmax_work *w) {
    densities d = {0};
    units_fill_y(&m->units, m->units.label[c], w->y);
    rows_of_class(m, n, data, w->y, w->rows);
    jf_status status = densities_create(m, &d, n, w->rows, 0);
    if (status == JF_OK) status = densities_on_supports(m, &d, n, w->rows);
    for (long s = 0; status == JF_OK && s < n; s++) {
        double score = d.paper[s] + log_prior;
        if (!(score > w->best[s])) continue;
        w->best[s] = score;
        w->found[s] = c;
    }
    densities_free(&d);
    return status;
}

static void count_found(const judgement *j, long n, const int *found, int likeliest, class_argmax *out) {
    long right = 0, of_likeliest = 0;
    for (long s = 0; s < n; s++) {
        right += found[s] == j->class_of[s];
        of_likeliest += j->class_of[s] == likeliest;
    }
    out->rows = n;
    out->share = (double)right / (double)n;
    out->chance = (double)of_likeliest / (double)n;
    out->error = sqrt(out->share * (1 - out->share) / (double)n);
}

/* Held-out rows are judged again and again where there are fewer than points; here each counts once. */
static long rows_to_ask(const judgement *j, const model *m, const dataset *data) {
    long most = m->units.image.h > 0 ? IMAGE_ROWS : VECTOR_ROWS,
         there = data->validation_rows > 0 ? data->validation_rows : data->rows;
    if (most > there) most = there;
    return most < j->points ? most : j->points;
}

jf_status judge_argmax(judgement *j, const model *m, const dataset *data) {
    const model_units *u = &m->units;
    double prior[MAX_CLASSES];
    argmax_work w = {0};
    int likeliest = 0;
    jf_status status;
    if (u->classes < 2 || u->dim_y == 0 || data->rows == 0) return JF_OK;
    long n = rows_to_ask(j, m, data);
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.rows, (size_t)n * (size_t)m->flow->dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.y, (size_t)u->dim_y));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.best, (size_t)n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &w.found, (size_t)n));
    take_priors(m, data, prior);
    for (long s = 0; s < n; s++) w.best[s] = -INFINITY, w.found[s] = -1;
    for (int c = 0; c < u->classes; c++) {
        if (prior[c] > prior[likeliest]) likeliest = c;
        JF_TRY_DONE(try_class(m, n, j->data, c, log(prior[c]), &w));
    }
    count_found(j, n, w.found, likeliest, &j->argmax);
done:
    free(w.rows);
    free(w.y);
    free(w.best);
    free(w.found);
    return status == JF_ERROR_NUMERIC ? JF_OK
                                      : status; /* then rows is 0: not every class has a density there */
}
