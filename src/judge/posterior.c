#include "judge/posterior.h"
#include "inference/pictures.h"
#include "judge/summary.h"
#include "model/use.h"
#include <stdlib.h>
#include <string.h>

enum { POSTERIOR_SAMPLES = 2000 };

static jf_status summarise(const model *m, const double *x, const double *y, text *words) {
    summary *s;
    JF_TRY(summary_create(m, &s, 1, POSTERIOR_SAMPLES, x, y, &(jf_summary_options){0}));
    text_add(words, "%s", s->table.chars);
    summary_free(s);
    return text_check(m->ctx, words);
}

jf_status posterior_show(const model *m, const double *row, uint64_t seed, const char *path, text *words) {
    size_t n = POSTERIOR_SAMPLES, dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x,
           dim_y = dim - dim_x;
    const double *at = row + dim_x;
    double *rows = NULL, *x = NULL, *y = NULL;
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, n * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &x, n * dim_x));
    JF_TRY_DONE(MEM_NEW(m->ctx, &y, n * dim_y + 1));
    for (size_t i = 0; i < n; i++) {
        memcpy(rows + i * dim, row, dim * sizeof *rows);
        if (dim_y) memcpy(y + i * dim_y, at, dim_y * sizeof *y);
    }
    JF_TRY_DONE(
        model_sample(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, DATA_UNITS, (long)n, rows, NULL));
    for (size_t i = 0; i < n; i++) memcpy(x + i * dim_x, rows + i * dim, dim_x * sizeof *x);
    JF_TRY_DONE(picture_corner(m, (long)n, x, y, path));
    JF_TRY_DONE(summarise(m, x, at, words));
done:
    free(rows);
    free(x);
    free(y);
    return status;
}
