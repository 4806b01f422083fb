/* Overfitting: the density of rows that were trained on beside that of rows that were held out. */
#include "base/memory.h"
#include "judge/judge.h"
#include <math.h>
#include <stdlib.h>

#define MOST_ROWS 5000

/* Mean of -log p, the data's units, and its standard error; not where some row has no density: *mean stays
 * NAN. */
static jf_status mean_nll(const model *m, long n, const double *rows, double *mean, double *error) {
    densities d = {0};
    double sum = 0, squares = 0;
    JF_TRY(densities_create(m, &d, n, rows, 0));
    jf_status status = densities_on_supports(m, &d, n, rows);
    if (status == JF_OK) densities_to_data_units(m, &d, n, rows);
    for (long s = 0; status == JF_OK && s < n; s++) sum -= d.paper[s];
    for (long s = 0; status == JF_OK && s < n; s++)
        squares += (d.paper[s] + sum / (double)n) * (d.paper[s] + sum / (double)n);
    if (status == JF_OK && isfinite(squares)) {
        *mean = sum / (double)n;
        *error = sqrt(squares) / (double)n;
    }
    densities_free(&d);
    return status;
}

jf_status judge_overfit(judgement *j, const model *m, const dataset *data, uint64_t seed) {
    long n = data->rows < MOST_ROWS ? data->rows : MOST_ROWS;
    double *rows;
    if (n < 2 || data->validation_rows < 2 || recipe_real(m->recipe, "train.noise") > 0) return JF_OK;
    if (n > j->points) n = j->points;
    JF_TRY(judge_training_rows(m, data, n, seed, &rows));
    jf_status status = mean_nll(m, n, rows, &j->training_nll, &j->training_error);
    free(rows);
    return status;
}

int judge_is_overfit(const judgement *j) {
    double loss = j->nll - j->training_nll, error = hypot(j->nll_error, j->training_error);
    return loss > OVERFIT_ERRORS * error && loss > OVERFIT_NATS; /* not where it is NAN */
}
