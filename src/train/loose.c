/* The loss sees F_Y' where the data are. A column of y that has one value in nearly all rows shows it a
 * single point: the map may stretch y there by any factor, y' stays y to all digits, and log|det dF_Y'/dy|
 * grows for nothing. Noise on y shows it the slope: with deviations s, a slope of 1 + e costs lambda E|N(0,
 * s^2)| e = 0.8 lambda s e in the distance and gains log(1 + e) at most, so that for 0.8 lambda s > 1 the
 * best slope is 1. */
#include "train/loose.h"
#include "base/memory.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>

#define LOOKED_AT  4000
#define NEARLY_ALL 0.9

/* The value that more than half of the rows have, if there is one: whoever is left after pairs of different
 * ones are gone. */
typedef struct majority {
    double value;
    long lead, count;
} majority;

static void vote(majority *v, double value) {
    if (v->lead == 0) v->value = value;
    v->lead += value == v->value ? 1 : -1;
}

static void walk(const dataset *data, double *row, long rows, int counting, majority *votes) {
    row_sequence sequence = {{0, RNG_JUDGE, RNG_USE_JUDGED}, -1, 0};
    for (long at = 0; at < rows; at++) {
        dataset_rows(data, &sequence, (uint64_t)at, 1, row + dataset_dim(data), row);
        for (int k = 0; k < data->dim_y; k++)
            if (!counting)
                vote(&votes[k], row[data->dim_x + k]);
            else
                votes[k].count += row[data->dim_x + k] == votes[k].value;
    }
}

static double needed_noise(const model *m) {
    return 2 / (0.8 * recipe_real(m->recipe, "loss.lambda")); /* twice what it takes */
}

static int is_free(const model *m, const dataset *data) {
    return data && data->rows > 0 && data->classes == 0 && data->dim_y > 0 && m->units.dim_y > 0 &&
           m->units.image.h == 0 && recipe_is(m->recipe, "loss.objective", "joint") &&
           recipe_is(m->recipe, "model.condition", "joint") && recipe_real(m->recipe, "train.y_noise") == 0 &&
           recipe_real(m->recipe, "train.noise") == 0;
}

jf_status train_tell_loose(const model *m, const dataset *data) {
    majority *votes = NULL;
    double *row = NULL;
    jf_status status;
    if (!is_free(m, data)) return JF_OK;
    long rows = data->rows < LOOKED_AT ? data->rows : LOOKED_AT;
    JF_TRY_DONE(MEM_NEW(m->ctx, &votes, (size_t)data->dim_y));
    JF_TRY_DONE(MEM_NEW(m->ctx, &row, (size_t)dataset_dim(data) + data->scratch));
    for (int counting = 0; counting < 2; counting++) walk(data, row, rows, counting, votes);
    for (int k = 0; k < data->dim_y; k++) {
        double share = (double)votes[k].count / (double)rows;
        if (share < NEARLY_ALL) continue;
        jf_warn(m->ctx,
                "column %d of y is %g in %.4g%% of the rows: they do not show a joint model how y' depends "
                "on it, so that its "
                "log-determinant can grow for nothing; set train.y_noise = %.2g, or model.condition = fixed",
                k + 1, votes[k].value, 100 * share, needed_noise(m));
        break; /* one is enough to act */
    }
done:
    free(votes);
    free(row);
    return status;
}
