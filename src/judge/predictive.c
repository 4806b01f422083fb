#include "judge/predictive.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "judge/calibration.h"
#include "model/use.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.05

/* x of the rows, simulated. */
static jf_status simulate_here(const model *m, long n, const double *rows, predictive_simulator simulate,
                               void *user, double *x, double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, count = (size_t)n;
    for (size_t i = 0; i < count; i++) memcpy(x + i * dim_x, rows + i * (dim_x + dim_y), sizeof *x * dim_x);
    if (simulate(user, count, x, y) != 0)
        return jf_fail(m->ctx, JF_ERROR_DATA,
                       "the simulator failed, expected %zu rows of %zu numbers from it", count, dim_y);
    size_t at = count_finite(y, count * dim_y);
    if (at < count * dim_y)
        return jf_fail(m->ctx, JF_ERROR_DATA,
                       "the simulator: row %zu, number %zu is %g, expected a finite number", at / dim_y + 1,
                       at % dim_y + 1, y[at]);
    return JF_OK;
}

/* A simulator may draw: of several ranks the first asks it, for all. */
static jf_status simulate_rows(const model *m, long n, const double *rows, predictive_simulator simulate,
                               void *user, double *x, double *y) {
    ranks *r = ranks_of(m->ctx);
    jf_status status = ranks_is_first(r) ? simulate_here(m, n, rows, simulate, user, x, y) : JF_OK;
    JF_TRY(ranks_agree(r, status));
    return ranks_broadcast(r, y, (size_t)n * (size_t)m->units.dim_y * sizeof *y, 0);
}

/* of_answers and of_truth (n, dim_y): simulations; rows (n, dim) hold what was observed. */
static void compare_column(const model_units *u, long n, const double *rows, const double *of_answers,
                           const double *of_truth, int k, predictive_column *out) {
    int dim = u->dim_x + u->dim_y;
    double sum = 0, squares = 0, answers = 0, truth = 0, mean = 0, spread = 0;
    for (long i = 0; i < n; i++) {
        double y = rows[i * dim + u->dim_x + k], a = of_answers[i * u->dim_y + k] - y,
               t = of_truth[i * u->dim_y + k] - y;
        answers += a * a;
        truth += t * t;
        sum += a * a - t * t;
        squares += (a * a - t * t) * (a * a - t * t);
        mean += y / (double)n;
    }
    for (long i = 0; i < n; i++) spread += pow(rows[i * dim + u->dim_x + k] - mean, 2);
    double error = sqrt(fmax(squares - sum * sum / (double)n, 0)); /* of the sum */
    *out = (predictive_column){.error = sqrt(answers / (double)n),
                               .of_truth = sqrt(truth / (double)n),
                               .deviation = sqrt(spread / (double)n),
                               .off = error > 0 ? sum / error : 0};
}

jf_status predictive_create(const model *m, predictive *out, long n, const double *rows, uint64_t seed,
                            double temperature, predictive_simulator simulate, void *user) {
    const model_units *u = &m->units;
    size_t dim = (size_t)(u->dim_x + u->dim_y), count = (size_t)(n < PREDICTIVE_ROWS ? n : PREDICTIVE_ROWS);
    double *truth = NULL, *answers = NULL, *x = NULL, *y = NULL;
    jf_status status;
    *out = (predictive){0};
    if (u->dim_y == 0 || u->image.h > 0 || count < 2)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED,
                       "a simulator makes y of x: it is for models of vectors with a condition");
    JF_TRY_DONE(MEM_NEW(m->ctx, &truth, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &answers, count * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &x, count * (size_t)u->dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &y, 2 * count * (size_t)u->dim_y));
    JF_TRY_DONE(MEM_NEW(m->ctx, &out->column, (size_t)u->dim_y));
    memcpy(truth, rows, sizeof *truth * count * dim);
    units_standardise(u, (int)count, truth); /* there and back: whole numbers are whole again */
    units_unstandardise(u, (int)count, truth);
    memcpy(answers, truth, sizeof *truth * count * dim);
    latent_points from = {seed, LATENT_PREDICTIVE, 0, temperature};
    JF_TRY_DONE(model_sample(m, from, DATA_UNITS, (long)count, answers, NULL));
    JF_TRY_DONE(simulate_rows(m, (long)count, answers, simulate, user, x, y));
    JF_TRY_DONE(simulate_rows(m, (long)count, truth, simulate, user, x, y + count * (size_t)u->dim_y));
    out->rows = (long)count;
    out->columns = u->dim_y;
    out->limit = normal_two_sided(LEVEL / u->dim_y);
    for (int k = 0; k < u->dim_y; k++)
        compare_column(u, out->rows, truth, y, y + count * (size_t)u->dim_y, k, &out->column[k]);
done:
    free(truth);
    free(answers);
    free(x);
    free(y);
    if (status != JF_OK) predictive_free(out);
    return status;
}

void predictive_free(predictive *p) {
    free(p->column);
    *p = (predictive){0};
}

jf_status predictive_tell(const model *m, const predictive *p, char **out) {
    enum { NAMED = 5 };
    text t = {0};
    char place[32];
    int bad = 0;
    *out = NULL;
    for (int k = 0; k < p->columns; k++) {
        const predictive_column *c = &p->column[k];
        if (fabs(c->off) <= p->limit || ++bad > NAMED) continue;
        text_add(&t,
                 "%s%s, simulated from answers, is off by %.3g, from the truth by %.3g (r.m.s.; deviation of "
                 "the data %.3g)",
                 bad == 1 ? "" : "; ", calibration_name(m, m->units.dim_x + k, place, sizeof place), c->error,
                 c->of_truth, c->deviation);
    }
    if (!bad)
        text_add(&t,
                 "What is simulated from answers is as near to y as what is simulated from the truth, as far "
                 "as %ld pairs show",
                 p->rows);
    if (bad > NAMED) text_add(&t, "; and so on, %d of %d columns", bad, p->columns);
    text_add(&t, ".");
    jf_status status = text_check(m->ctx, &t);
    if (status == JF_OK)
        *out = t.chars;
    else
        text_free(&t);
    return status;
}
