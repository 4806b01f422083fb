#include "judge/calibration.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 100 /* conditions whose samples are drawn together */

const char *const calibration_words[] = {"calibrated",
                                         "over-confident",
                                         "under-confident",
                                         "biased: samples too low",
                                         "biased: samples too high",
                                         "wrong in shape"};

/* ---- ranks ---- */

/* Log-density of what is drawn at temperature t, but for a constant: of z and the log-determinant of data ->
 * latent. */
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
    size_t dim = (size_t)m->flow->dim;
    long many = n * CALIBRATION_SAMPLES;
    memcpy(b->truth, rows + (size_t)first * dim, sizeof(double) * (size_t)n * dim);
    memcpy(b->truth_z, b->truth, sizeof(double) * (size_t)n * dim);
    JF_TRY(model_forward(m, n, b->truth_z, b->truth_logdet));
    for (long i = 0; i < many; i++)
        memcpy(b->samples + (size_t)i * dim, b->truth + (size_t)(i / CALIBRATION_SAMPLES) * dim,
               sizeof(double) * dim);
    latent_points from = {seed, LATENT_CALIBRATION, (uint64_t)first * CALIBRATION_SAMPLES, temperature};
    return model_answer(m, from, many, b->samples, b->z, b->logdet);
}

/* The ranks of all candidates by their numbers: how many have a smaller one. */
static void rank_candidates(const double values[CALIBRATION_RANKS], unsigned char *out) {
    for (int k = 0; k < CALIBRATION_RANKS; k++) {
        int below = 0;
        for (int j = 0; j < CALIBRATION_RANKS; j++) below += values[j] < values[k];
        out[k] = (unsigned char)below;
    }
}

/* One condition: its truth is candidate 0, its samples follow. */
static void rank_one(const model *m, const block *b, long i, const double *point, double temperature,
                     candidate_ranks *out, long row) {
    int dim = m->flow->dim, dim_x = m->units.dim_x;
    for (int number = 0; number < out->numbers; number++) {
        double values[CALIBRATION_RANKS];
        for (int k = 0; k < CALIBRATION_RANKS; k++) {
            long sample = i * CALIBRATION_SAMPLES + k - 1;
            const double *x = k ? b->samples + sample * dim : b->truth + i * dim;
            const double *z = k ? b->z + sample * dim_x : b->truth_z + i * dim;
            values[k] = number < dim_x ? x[number]
                        : number == dim_x
                            ? -log_density(z, dim_x, k ? b->logdet[sample] : b->truth_logdet[i], temperature)
                            : distance_to(x, point, dim_x);
        }
        rank_candidates(values,
                        out->of + ((size_t)number * (size_t)out->rows + (size_t)row) * CALIBRATION_RANKS);
    }
}

/* Reference points lie anywhere among the data: uniform between the smallest and the largest x of the rows.
 */
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

static jf_status rank_all(const model *m, candidate_ranks *out, const double *rows, uint64_t seed,
                          double temperature) {
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

/* ---- verdicts ---- */

/* Which way the ranks u in 0 .. 1 differ most from uniform ones: their mean (1/2, of variance 1/12) and their
 * spread, the mean of (u - 1/2)^2 (1/12, of variance 1/180). Ranks of a truth that is too often high say that
 * the samples are too low. */
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

/* Of a density there is no low and high: a truth that is too often further out than the samples is
 * over-confidence, and other ranks than uniform ones are the wrong shape. */
static calibration_verdict as_confidence(calibration_verdict of_ranks) {
    static const calibration_verdict means[] = {
        [CALIBRATED] = CALIBRATED,     [OVER_CONFIDENT] = MISSHAPEN,    [UNDER_CONFIDENT] = MISSHAPEN,
        [BIASED_LOW] = OVER_CONFIDENT, [BIASED_HIGH] = UNDER_CONFIDENT, [MISSHAPEN] = MISSHAPEN};
    return means[of_ranks];
}

static void take_truth(const candidate_ranks *from, int *ranks) {
    for (int k = 0; k < from->numbers; k++)
        for (long i = 0; i < from->rows; i++) ranks[k * from->rows + i] = candidate_rank(from, k, i, 0);
}

jf_status calibration_create(const model *m, calibration *out, long n, const double *rows, uint64_t seed,
                             double temperature) {
    int dim_x = m->units.dim_x, *ranks = NULL; /* (numbers, rows) */
    candidate_ranks all = {.numbers = dim_x + 2, .rows = n < CALIBRATION_ROWS ? n : CALIBRATION_ROWS};
    size_t count = (size_t)all.numbers * (size_t)(all.rows > 0 ? all.rows : 0);
    jf_status status;
    *out = (calibration){0};
    if (all.rows < CALIBRATION_LEAST) return JF_OK;
    JF_TRY_DONE(MEM_NEW(m->ctx, &all.of, count * CALIBRATION_RANKS));
    JF_TRY_DONE(MEM_NEW(m->ctx, &ranks, count));
    JF_TRY_DONE(MEM_NEW(m->ctx, &out->sbc, (size_t)dim_x));
    JF_TRY_DONE(rank_all(m, &all, rows, seed, temperature));
    take_truth(&all, ranks);
    out->coordinates = dim_x;
    out->rows = all.rows;
    JF_TRY_DONE(calibration_find_band(m->ctx, &all, seed, out->low, out->high));
    for (int c = 0; c < dim_x; c++)
        fit_ranks(&out->sbc[c], ranks + c * all.rows, all.rows, out->low, out->high);
    fit_ranks(&out->hpd, ranks + dim_x * all.rows, all.rows, out->low, out->high);
    fit_ranks(&out->tarp, ranks + (dim_x + 1) * all.rows, all.rows, out->low, out->high);
    out->hpd.verdict = as_confidence(out->hpd.verdict);
    if (out->tarp.verdict == BIASED_LOW || out->tarp.verdict == BIASED_HIGH) out->tarp.verdict = MISSHAPEN;
    JF_TRY_DONE(calibration_find_region(m, &out->region, all.rows, rows, ranks));
    if (out->region.number == dim_x) out->region.verdict = as_confidence(out->region.verdict);
    out->coverage_50 = out->hpd.ecdf[CALIBRATION_RANKS / 2 - 1];
    out->coverage_90 = out->hpd.ecdf[CALIBRATION_RANKS * 9 / 10 - 1];
done:
    free(all.of);
    free(ranks);
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
