#include "judge/calibration.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 100  /* conditions whose samples are drawn together */
#define TRIES 2000 /* sets of uniform ranks, for the bands */
#define LEVEL 0.05

const char *const calibration_words[] = {"calibrated",
                                         "over-confident",
                                         "under-confident",
                                         "biased: samples too low",
                                         "biased: samples too high",
                                         "wrong in shape"};

/* ---- ranks ---- */

/* Ranks of all numbers: (numbers, rows), the coordinates first, then the density, then the distance. */
typedef struct ranks {
    int numbers;
    long rows;
    int *of;
} ranks;

/* Log-density of what is drawn at temperature t, but for a constant: of z and the log-determinant of data -> latent. */
static double log_density(const double *z, int dim_x, double logdet, double temperature) {
    double squares = 0;
    for (int i = 0; i < dim_x; i++) squares += z[i] * z[i];
    return logdet - squares / (2 * temperature * temperature);
}

static double distance_to(const double *x, const double *point, int dim_x) {
    double sum = 0;
    for (int i = 0; i < dim_x; i++) sum += (x[i] - point[i]) * (x[i] - point[i]);
    return sum;
}

/* What is known of some conditions: the truth, and samples. */
typedef struct block {
    double *truth, *truth_z, *truth_logdet; /* (BLOCK, dim), (BLOCK, dim), (BLOCK) */
    double *samples, *z, *logdet;           /* (BLOCK samples, dim), (.., dim_x), (..) */
} block;

static jf_status block_create(jf_context *ctx, block *b, size_t dim, size_t dim_x) {
    size_t many = (size_t)BLOCK * CALIBRATION_SAMPLES;
    *b = (block){0};
    JF_TRY(MEM_NEW(ctx, &b->truth, BLOCK * dim));
    JF_TRY(MEM_NEW(ctx, &b->truth_z, BLOCK * dim));
    JF_TRY(MEM_NEW(ctx, &b->truth_logdet, BLOCK));
    JF_TRY(MEM_NEW(ctx, &b->samples, many * dim));
    JF_TRY(MEM_NEW(ctx, &b->z, many * dim_x));
    return MEM_NEW(ctx, &b->logdet, many);
}

static void block_free(block *b) {
    double *all[] = {b->truth, b->truth_z, b->truth_logdet, b->samples, b->z, b->logdet};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Samples for n conditions, from the given one of all on. */
static jf_status block_fill(const model *m, block *b, long first, long n, const double *rows, uint64_t seed,
                            double temperature) {
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x;
    long many = n * CALIBRATION_SAMPLES;
    memcpy(b->truth, rows + (size_t)first * dim, sizeof(double) * (size_t)n * dim);
    memcpy(b->truth_z, b->truth, sizeof(double) * (size_t)n * dim);
    JF_TRY(model_forward(m, n, b->truth_z, b->truth_logdet));
    for (long i = 0; i < many; i++)
        memcpy(b->samples + (size_t)i * dim, b->truth + (size_t)(i / CALIBRATION_SAMPLES) * dim,
               sizeof(double) * dim);
    latent_points from = {seed, LATENT_CALIBRATION, (uint64_t)first * CALIBRATION_SAMPLES, temperature};
    model_draw_latent(m, from, many, b->samples);
    for (size_t i = 0; i < (size_t)many; i++)
        memcpy(b->z + i * dim_x, b->samples + i * dim, sizeof(double) * dim_x);
    return model_inverse(m, many, b->samples, b->logdet);
}

/* The ranks of one condition's truth among its samples. */
static void rank_one(const model *m, const block *b, long i, const double *point, double temperature,
                     ranks *out, long row) {
    int dim = m->flow->dim, dim_x = m->units.dim_x;
    const double *truth = b->truth + i * dim;
    double density = log_density(b->truth_z + i * dim, dim_x, b->truth_logdet[i], temperature);
    double distance = distance_to(truth, point, dim_x);
    for (long k = i * CALIBRATION_SAMPLES; k < (i + 1) * CALIBRATION_SAMPLES; k++) {
        const double *x = b->samples + k * dim;
        for (int c = 0; c < dim_x; c++) out->of[c * out->rows + row] += x[c] < truth[c];
        out->of[dim_x * out->rows + row] +=
            log_density(b->z + k * dim_x, dim_x, b->logdet[k], temperature) > density;
        out->of[(dim_x + 1) * out->rows + row] += distance_to(x, point, dim_x) < distance;
    }
}

/* Reference points lie anywhere among the data: uniform between the smallest and the largest x of the rows. */
static jf_status find_box(const model *m, double **out, long n, const double *rows) {
    int dim = m->flow->dim, dim_x = m->units.dim_x;
    JF_TRY(MEM_NEW(m->ctx, out, (size_t)dim_x * 2));
    for (int c = 0; c < dim_x; c++) {
        double *box = *out + 2 * c;
        box[0] = INFINITY, box[1] = -INFINITY;
        for (long i = 0; i < n; i++) {
            box[0] = fmin(box[0], rows[i * dim + c]);
            box[1] = fmax(box[1], rows[i * dim + c]);
        }
    }
    return JF_OK;
}

static jf_status rank_all(const model *m, ranks *out, const double *rows, uint64_t seed, double temperature) {
    int dim_x = m->units.dim_x;
    block b = {0};
    double *box = NULL, *point = NULL;
    jf_status status;
    JF_TRY_DONE(block_create(m->ctx, &b, (size_t)m->flow->dim, (size_t)dim_x));
    JF_TRY_DONE(find_box(m, &box, out->rows, rows));
    JF_TRY_DONE(MEM_NEW(m->ctx, &point, (size_t)dim_x));
    for (long first = 0; first < out->rows; first += BLOCK) {
        long n = out->rows - first < BLOCK ? out->rows - first : BLOCK;
        JF_TRY_DONE(block_fill(m, &b, first, n, rows, seed, temperature));
        for (long i = 0; i < n; i++) {
            rng r = rng_stream((rng_key){seed, RNG_JUDGE, RNG_USE_REFERENCE}, (uint64_t)(first + i));
            for (int c = 0; c < dim_x; c++) point[c] = rng_range(&r, box[2 * c], box[2 * c + 1]);
            rank_one(m, &b, i, point, temperature, out, first + i);
        }
    }
done:
    block_free(&b);
    free(box);
    free(point);
    return status;
}

/* ---- bands ---- */

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

/* How unlikely the most unlikely point of a distribution function of uniform ranks is, of TRIES sets of them, ascending. */
static void try_uniform(long rows, const double *table, uint64_t seed, double *rarest) {
    for (int t = 0; t < TRIES; t++) {
        long counts[CALIBRATION_RANKS] = {0}, below = 0;
        rng r = rng_stream((rng_key){seed, RNG_JUDGE, RNG_USE_UNIFORM}, (uint64_t)t);
        for (long i = 0; i < rows; i++) counts[rng_below(&r, CALIBRATION_RANKS)]++;
        rarest[t] = 1;
        for (int i = 0; i + 1 < CALIBRATION_RANKS; i++) {
            const double *at = table + (size_t)i * (size_t)(rows + 1);
            below += counts[i];
            double p = fmin(at[below], 1 - (below ? at[below - 1] : 0));
            if (2 * p < rarest[t]) rarest[t] = 2 * p;
        }
    }
    qsort(rarest, TRIES, sizeof *rarest, ascending);
}

/* Quantiles of the binomial distributions at each point, such that all points together are within them as often as `level`
 * says. */
static void band_of(long rows, const double *table, const double *rarest, double level, double *low,
                    double *high) {
    int at = (int)(level * TRIES);
    double tail = rarest[at > 0 ? at : 0] / 2;
    for (int i = 0; i < CALIBRATION_RANKS; i++) {
        const double *p = table + (size_t)i * (size_t)(rows + 1);
        long lo = 0, hi = rows;
        while (i + 1 < CALIBRATION_RANKS && lo < rows && p[lo] < tail) lo++;
        while (i + 1 < CALIBRATION_RANKS && hi > 0 && 1 - p[hi - 1] < tail) hi--;
        low[i] = i + 1 < CALIBRATION_RANKS ? (double)lo / (double)rows : 1;
        high[i] = (double)hi / (double)rows;
    }
}

static jf_status find_bands(jf_context *ctx, calibration *c, uint64_t seed) {
    double *table = NULL, *rarest = NULL;
    jf_status status;
    size_t points = (size_t)c->rows + 1;
    JF_TRY_DONE(MEM_NEW(ctx, &table, CALIBRATION_RANKS * points));
    JF_TRY_DONE(MEM_NEW(ctx, &rarest, TRIES));
    for (int i = 0; i + 1 < CALIBRATION_RANKS; i++)
        binomial_table(c->rows, (i + 1.0) / CALIBRATION_RANKS, table + (size_t)i * points);
    try_uniform(c->rows, table, seed, rarest);
    band_of(c->rows, table, rarest, LEVEL, c->low, c->high);
    band_of(c->rows, table, rarest, LEVEL / c->coordinates, c->sbc_low, c->sbc_high);
done:
    free(table);
    free(rarest);
    return status;
}

/* ---- verdicts ---- */

/* Which way the ranks u in 0 .. 1 differ most from uniform ones: their mean (1/2, of variance 1/12) and their spread, the mean
 * of (u - 1/2)^2 (1/12, of variance 1/180). Ranks of a truth that is too often high say that the samples are too low. */
static calibration_verdict explain(const int *of, long rows) {
    double mean = 0, spread = 0, root = sqrt((double)rows);
    for (long i = 0; i < rows; i++) {
        double u = (of[i] + 0.5) / CALIBRATION_RANKS - 0.5;
        mean += u / (double)rows;
        spread += (u * u - 1.0 / 12) / (double)rows;
    }
    double by_mean = mean * root * sqrt(12), by_spread = spread * root * sqrt(180);
    if (fabs(by_mean) < 2.5 && fabs(by_spread) < 2.5) return MISSHAPEN;
    if (fabs(by_mean) > fabs(by_spread)) return by_mean > 0 ? BIASED_LOW : BIASED_HIGH;
    return by_spread > 0 ? OVER_CONFIDENT : UNDER_CONFIDENT;
}

static void fit_ranks(rank_fit *f, const int *of, long rows, const double *low, const double *high) {
    *f = (rank_fit){0};
    for (long i = 0; i < rows; i++) f->ecdf[of[i]] += 1 / (double)rows;
    for (int i = 0; i < CALIBRATION_RANKS; i++) {
        if (i) f->ecdf[i] += f->ecdf[i - 1];
        double middle = (i + 1.0) / CALIBRATION_RANKS, off = f->ecdf[i] - middle;
        f->deviation = fmax(f->deviation, fabs(off));
        if (i + 1 == CALIBRATION_RANKS) break; /* all ranks are up to the last */
        f->outside = fmax(f->outside, fmax(low[i] - f->ecdf[i], f->ecdf[i] - high[i]));
        double edge = fmax(off > 0 ? high[i] - middle : middle - low[i], 0.5 / (double)rows);
        f->of_band = fmax(f->of_band, fabs(off) / edge);
    }
    if (f->outside < 1e-9) f->outside = 0; /* sums of shares */
    f->verdict = f->outside > 0 ? explain(of, rows) : CALIBRATED;
}

/* Of a density there is no low and high: a truth that is too often further out than the samples is over-confidence, and other
 * ranks than uniform ones are the wrong shape. */
static calibration_verdict as_confidence(calibration_verdict of_ranks) {
    static const calibration_verdict means[] = {
        [CALIBRATED] = CALIBRATED,     [OVER_CONFIDENT] = MISSHAPEN,    [UNDER_CONFIDENT] = MISSHAPEN,
        [BIASED_LOW] = OVER_CONFIDENT, [BIASED_HIGH] = UNDER_CONFIDENT, [MISSHAPEN] = MISSHAPEN};
    return means[of_ranks];
}

jf_status calibration_create(const model *m, calibration *out, long n, const double *rows, uint64_t seed,
                             double temperature) {
    int dim_x = m->units.dim_x;
    ranks r = {.numbers = dim_x + 2, .rows = n < CALIBRATION_ROWS ? n : CALIBRATION_ROWS};
    jf_status status;
    *out = (calibration){0};
    if (r.rows < CALIBRATION_LEAST) return JF_OK;
    JF_TRY_DONE(MEM_NEW(m->ctx, &r.of, (size_t)r.numbers * (size_t)r.rows));
    JF_TRY_DONE(MEM_NEW(m->ctx, &out->sbc, (size_t)dim_x));
    JF_TRY_DONE(rank_all(m, &r, rows, seed, temperature));
    out->coordinates = dim_x;
    out->rows = r.rows;
    JF_TRY_DONE(find_bands(m->ctx, out, seed));
    for (int c = 0; c < dim_x; c++)
        fit_ranks(&out->sbc[c], r.of + c * r.rows, r.rows, out->sbc_low, out->sbc_high);
    fit_ranks(&out->hpd, r.of + dim_x * r.rows, r.rows, out->low, out->high);
    fit_ranks(&out->tarp, r.of + (dim_x + 1) * r.rows, r.rows, out->low, out->high);
    out->hpd.verdict = as_confidence(out->hpd.verdict);
    if (out->tarp.verdict == BIASED_LOW || out->tarp.verdict == BIASED_HIGH) out->tarp.verdict = MISSHAPEN;
    JF_TRY_DONE(calibration_find_region(m, &out->region, r.rows, rows, r.of));
    if (out->region.number == dim_x) out->region.verdict = as_confidence(out->region.verdict);
    out->coverage_50 = out->hpd.ecdf[CALIBRATION_RANKS / 2 - 1];
    out->coverage_90 = out->hpd.ecdf[CALIBRATION_RANKS * 9 / 10 - 1];
done:
    free(r.of);
    if (status != JF_OK) calibration_free(out);
    return status;
}

void calibration_free(calibration *c) {
    free(c->sbc);
    c->sbc = NULL;
    c->rows = 0;
}

int calibration_is_good(const calibration *c) {
    for (int i = 0; i < c->coordinates; i++)
        if (c->sbc[i].verdict != CALIBRATED) return 0;
    return c->hpd.verdict == CALIBRATED && c->tarp.verdict == CALIBRATED && c->region.rows == 0;
}
