/* The band around the diagonal that all lines of a right model stay within, those of all numbers together, as
 * often as CALIBRATION_LEVEL says.
 *
 * The numbers of one pair depend on each other in a way that only the model knows, so that no table holds the
 * band. But if the model is right, the truth is one of CALIBRATION_RANKS alike: had any of the samples been
 * called the truth, the lines would be as good an example of chance. So one is drawn for every pair, many
 * times; the rarest point of each such set of lines, by the binomial distribution of the ranks up to it,
 * tells how rare a point has to be. */
#include "base/memory.h"
#include "judge/calibration.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 2000 /* sets of lines */

/* P(at most k of n), for k = 0 .. n, each of which happens with probability p. */
static void binomial_table(long n, double p, double *out) {
    double sum = 0;
    for (long k = 0; k <= n; k++) {
        double log_p = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
                       (double)k * log(p) + (double)(n - k) * log1p(-p);
        sum += exp(log_p);
        out[k] = sum < 1 ? sum : 1;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The smaller tail at the rarest point of one line. table (RANKS - 1, rows + 1) */
static double rarest_point(const long counts[CALIBRATION_RANKS], long rows, const double *table) {
    double rarest = 1;
    long below = 0;
    for (int i = 0; i + 1 < CALIBRATION_RANKS; i++) {
        const double *at = table + (size_t)i * (size_t)(rows + 1);
        below += counts[i];
        rarest = fmin(rarest, fmin(at[below], 1 - (below ? at[below - 1] : 0)));
    }
    return rarest;
}

/* choice (rows): which of each pair's candidates is called the truth */
static void choose(uint64_t seed, int attempt, long rows, unsigned char *choice) {
    rng r = rng_stream((rng_key){seed, RNG_JUDGE, RNG_USE_UNIFORM}, (uint64_t)attempt);
    for (long i = 0; i < rows; i++) choice[i] = (unsigned char)rng_below(&r, CALIBRATION_RANKS);
}

/* Of TRIES sets of lines the tail at the rarest point, ascending. */
static void try_all(const candidate_ranks *of, uint64_t seed, const double *table, unsigned char *choice,
                    double *rarest) {
    for (int t = 0; t < TRIES; t++) {
        choose(seed, t, of->rows, choice);
        rarest[t] = 1;
        for (int k = 0; k < of->numbers; k++) {
            long counts[CALIBRATION_RANKS] = {0};
            for (long i = 0; i < of->rows; i++) counts[candidate_rank(of, k, i, choice[i])]++;
            rarest[t] = fmin(rarest[t], rarest_point(counts, of->rows, table));
        }
    }
    qsort(rarest, TRIES, sizeof *rarest, ascending);
}

/* Quantiles of the binomial distributions at each point. */
static void band_of(long rows, const double *table, double tail, double *low, double *high) {
    for (int i = 0; i + 1 < CALIBRATION_RANKS; i++) {
        const double *p = table + (size_t)i * (size_t)(rows + 1);
        long lo = 0, hi = rows;
        while (lo < rows && p[lo] < tail) lo++;
        while (hi > 0 && 1 - p[hi - 1] < tail) hi--;
        low[i] = (double)lo / (double)rows;
        high[i] = (double)hi / (double)rows;
    }
    low[CALIBRATION_RANKS - 1] = high[CALIBRATION_RANKS - 1] = 1; /* all ranks are up to the last */
}

jf_status calibration_find_band(jf_context *ctx, const candidate_ranks *of, uint64_t seed, double *low,
                                double *high) {
    double *table = NULL, *rarest = NULL;
    unsigned char *choice = NULL;
    jf_status status;
    size_t points = (size_t)of->rows + 1;
    JF_TRY_DONE(MEM_NEW(ctx, &table, CALIBRATION_RANKS * points));
    JF_TRY_DONE(MEM_NEW(ctx, &rarest, TRIES));
    JF_TRY_DONE(MEM_NEW(ctx, &choice, (size_t)of->rows));
    for (int i = 0; i + 1 < CALIBRATION_RANKS; i++)
        binomial_table(of->rows, (i + 1.0) / CALIBRATION_RANKS, table + (size_t)i * points);
    try_all(of, seed, table, choice, rarest);
    band_of(of->rows, table, rarest[(int)(CALIBRATION_LEVEL * TRIES)], low, high);
done:
    free(table);
    free(rarest);
    free(choice);
    return status;
}
