/* Densities of rows in either units, some of whose x may lie outside of its support: log p is -infinity
 * there. Such rows are left out of every computation, since no map takes them to the line. */
#include "base/memory.h"
#include "judge/judge.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_inside(const model *m, row_units units, const double *row) {
    const model_units *u = &m->units;
    if (units == MODEL_UNITS) return !model_is_beyond(m, row);
    for (int i = 0; u->support && i < u->dim_x; i++)
        if (!support_contains(&u->support[i], row[i])) return 0;
    return 1;
}

/* Moves the rows that are inside to the front; place (as many): where each was. Returns how many. */
static long keep_inside(const model *m, row_units units, long n, double *rows, long *place) {
    size_t dim = (size_t)m->flow->dim;
    long inside = 0;
    for (long s = 0; s < n; s++) {
        const double *row = rows + (size_t)s * dim;
        if (!is_inside(m, units, row)) continue;
        if (inside < s) memcpy(rows + (size_t)inside * dim, row, dim * sizeof *rows);
        place[inside++] = s;
    }
    return inside;
}

/* (n), yours to free: -infinity, but for the places of the rows inside, which have `values`. */
static jf_status spread(const model *m, double **out, long n, const double *values, long inside,
                        const long *place) {
    JF_TRY(MEM_NEW(m->ctx, out, (size_t)n));
    for (long s = 0; s < n; s++) (*out)[s] = -INFINITY;
    for (long k = 0; k < inside; k++) (*out)[place[k]] = values[k];
    return JF_OK;
}

/* Densities of all rows from those of the rows inside. */
static jf_status spread_all(const model *m, densities *out, long n, const densities *of, long inside,
                            const long *place) {
    *out = *of;
    out->paper = out->sampler = out->whole = NULL;
    out->outside = n - inside;
    JF_TRY(spread(m, &out->paper, n, of->paper, inside, place));
    JF_TRY(spread(m, &out->sampler, n, of->sampler, inside, place));
    return spread(m, &out->whole, n, of->whole, inside, place);
}

/* Numbers of rows in messages are those of the rows inside. */
static jf_status explain_numbers(const model *m, jf_status status, long outside) {
    char *told;
    if (status == JF_OK || status == JF_STOPPED || status == JF_ERROR_MEMORY || outside == 0) return status;
    JF_TRY(mem_copy_text(m->ctx, &told, jf_context_error(m->ctx)));
    status = jf_fail(m->ctx, status, "%s (rows are counted without the %ld outside of their support)", told,
                     outside);
    free(told);
    return status;
}

/* Of rows inside, which become model units. */
static jf_status densities_inside(const model *m, row_units units, long n, double *rows, int with_sampler,
                                  densities *out) {
    if (n < 1) {
        *out = (densities){.exact = densities_are_exact(m), .singular = -1, .y_error = NAN, .log_dy = NAN};
        return JF_OK;
    }
    if (units == DATA_UNITS) units_standardise(&m->units, (int)n, rows);
    JF_TRY(densities_create(m, out, n, rows, with_sampler));
    JF_TRY(densities_check(m, out, n));
    JF_TRY(densities_on_supports(m, out, n, rows));
    if (units == DATA_UNITS) densities_to_data_units(m, out, n, rows);
    return JF_OK;
}

jf_status densities_of_rows(const model *m, densities *out, row_units units, long n, double *rows,
                            int with_sampler) {
    long *place;
    densities of = {0};
    *out = (densities){0};
    JF_TRY(MEM_NEW(m->ctx, &place, (size_t)n));
    long inside = keep_inside(m, units, n, rows, place);
    jf_status status = densities_inside(m, units, inside, rows, with_sampler, &of);
    status =
        status == JF_OK ? spread_all(m, out, n, &of, inside, place) : explain_numbers(m, status, n - inside);
    if (status != JF_OK) densities_free(out);
    densities_free(&of);
    free(place);
    return status;
}

/* Of those that there are: the sampler's density of some rows is not known, and rows outside of the support
 * have none. */
static double mean(const double *values, long n) {
    double sum = 0;
    long count = 0;
    for (long i = 0; i < n; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            count++;
        }
    return count ? sum / (double)count : NAN;
}

jf_status density_of_rows(const model *m, row_units units, long n, double *rows, double *log_p,
                          jf_density_summary *summary) {
    densities d;
    if (units == DATA_UNITS) JF_TRY(model_check_support(m, ROWS_OF_LATENT, n, rows)); /* y alone */
    JF_TRY(model_warn_of_condition_range(m, units, n, rows));
    JF_TRY(densities_of_rows(m, &d, units, n, rows, summary != NULL));
    memcpy(log_p, d.paper, (size_t)n * sizeof *log_p);
    if (summary)
        *summary = (jf_density_summary){.mean = mean(log_p, n),
                                        .sampler_mean = mean(d.sampler, n),
                                        .whole_mean = mean(d.whole, n),
                                        .y_error = d.y_error,
                                        .log_dy = d.log_dy,
                                        .lost = d.lost,
                                        .exact = d.exact,
                                        .outside = d.outside};
    densities_free(&d);
    return JF_OK;
}
