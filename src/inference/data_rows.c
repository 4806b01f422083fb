#include "inference/data_rows.h"
#include "base/memory.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

jf_status data_of_model(const model *m, dataset **out) {
    if (!m->objective.kind->from_data)
        return jf_fail(m->ctx, JF_ERROR_UNSUPPORTED, "the model was trained from a rule and has no data");
    return dataset_open(m->ctx, out, m->recipe);
}

static long rows_there(const dataset *d, int class_index) {
    if (d->rows == 0) return -1; /* as many as one likes */
    return class_index < 0 || !d->class_rows ? d->rows
                                             : d->class_start[class_index + 1] - d->class_start[class_index];
}

static jf_status copy_rows(const model *m, const dataset *d, int n, int class_index, uint64_t seed, double *x,
                           double *y) {
    size_t dim_x = (size_t)m->units.dim_x, dim_y = (size_t)m->units.dim_y, dim = dim_x + dim_y;
    double *rows;
    JF_TRY(MEM_NEW(m->ctx, &rows, (size_t)n * dim));
    jf_status status = dataset_draw(d, (rng_key){seed, RNG_JUDGE, RNG_USE_FLOOR}, 0, n, class_index, rows);
    for (size_t s = 0; status == JF_OK && s < (size_t)n; s++) {
        if (x) memcpy(x + s * dim_x, rows + s * dim, dim_x * sizeof *x);
        if (y && dim_y) memcpy(y + s * dim_y, rows + s * dim + dim_x, dim_y * sizeof *y);
    }
    free(rows);
    return status;
}

jf_status data_rows(const model *m, size_t n, int class_index, uint64_t seed, size_t *found, double *x,
                    double *y) {
    dataset *d;
    *found = 0;
    if (n > INT_MAX || class_index < -1 || class_index >= (m->units.classes > 0 ? m->units.classes : 1))
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "%zu rows of class %d, expected rows of class -1 (all) to %d", n, class_index,
                       m->units.classes - 1);
    JF_TRY(data_of_model(m, &d));
    jf_status status = JF_OK;
    long there = rows_there(d, class_index);
    if (there >= 0 && n > (size_t)there) n = (size_t)there;
    if (dataset_dim(d) != m->units.dim_x + m->units.dim_y || d->dim_x != m->units.dim_x)
        status = jf_fail(m->ctx, JF_ERROR_SHAPE, "the data have x of %d and y of %d, the model of %d and %d",
                         d->dim_x, d->dim_y, m->units.dim_x, m->units.dim_y);
    if (status == JF_OK && n > 0) status = copy_rows(m, d, (int)n, class_index, seed, x, y);
    if (status == JF_OK) *found = n;
    dataset_free(d);
    return status;
}
