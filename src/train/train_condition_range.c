/* How far the conditions of the training data reach, measured before a run for the model to keep. */
#include "base/memory.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 100000 /* looked at; of larger files as many, spread over all of it */
#define MOST_PRODUCTS                                                                                        \
    4e8 /* of the covariance: fewer rows where y has many elements, but not below LEAST_ROWS */
#define LEAST_ROWS 2000

static long rows_to_look_at(const dataset *data, int dim_y) {
    double most = MOST_PRODUCTS / ((double)dim_y * dim_y);
    long rows = most > MOST_ROWS ? MOST_ROWS : most < LEAST_ROWS ? LEAST_ROWS : (long)most;
    return data->rows > 0 && data->rows < rows ? data->rows : rows;
}

jf_status train_measure_condition_range(model *m, const dataset *data) {
    model_units *u = &m->units;
    size_t dim = (size_t)dataset_dim(data), dim_y = (size_t)u->dim_y;
    long rows;
    row_sequence sequence = {{m->seed, RNG_JUDGE, RNG_USE_FLOOR}, -1, 0};
    double *row = NULL, *y = NULL;
    jf_status status;
    if (u->image.h > 0 || u->dim_y == 0 || u->classes > 0) return JF_OK;
    rows = rows_to_look_at(data, u->dim_y);
    JF_TRY_DONE(MEM_NEW(m->ctx, &row, dim + data->scratch));
    JF_TRY_DONE(MEM_NEW(m->ctx, &y, (size_t)rows * dim_y));
    for (long s = 0; s < rows; s++) {
        dataset_rows(data, &sequence, (uint64_t)s, 1, row + dim, row);
        for (int i = 0; i < u->dim_y; i++)
            y[(size_t)s * dim_y + (size_t)i] = units_to_model(u, u->dim_x + i, row[u->dim_x + i]);
    }
    condition_range_free(u->condition_range);
    u->condition_range = NULL;
    JF_TRY_DONE(condition_range_create(m->ctx, &u->condition_range, u->dim_y, rows, y));
done:
    free(row);
    free(y);
    return status;
}
