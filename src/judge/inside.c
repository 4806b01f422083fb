/* Cut columns (types/support.h): the flow works on the whole line, and samples are drawn from what it has
 * inside of the bounds. Their density is therefore the flow's, divided by its share inside, which depends on
 * y and is found by drawing. */
#include "judge/judge.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points for each y, the more the fewer these are: some at first, and more where some of them were outside. A
 * share is then right to 4%, of a single y to 0.5%, and the mean of many logarithms to a thousandth where
 * shares are not small. */
typedef struct effort {
    int least, most, of_all;
} effort;
static const effort at_first = {16, 4096, 8192}, again = {112, 16384, 65536};
enum { POINTS_AT_ONCE = 32768 };
#define SEED 6

typedef struct tally {
    long row;
    int inside, points;
} tally;

/* `each` points for so many rows. */
static jf_status draw_for(const model *m, tally *of, long n, int each, const double *xy, double *rows) {
    size_t dim = (size_t)m->flow->dim;
    for (long k = 0; k < n; k++) {
        /* a row has a range of its own in the stream, with room for all of its points */
        const uint64_t first = (uint64_t)of[k].row * POINTS_AT_ONCE + (uint64_t)of[k].points;
        const latent_points from = {SEED, LATENT_INSIDE, first, 1};
        double *at = rows + (size_t)k * (size_t)each * dim;
        for (int i = 0; i < each; i++)
            memcpy(at + (size_t)i * dim, xy + (size_t)of[k].row * dim, dim * sizeof *at);
        model_draw_latent(m, from, each, at);
    }
    JF_TRY(model_inverse(m, n * each, rows, NULL));
    for (long k = 0; k < n; k++) {
        for (int i = 0; i < each; i++)
            of[k].inside += !model_is_beyond(m, rows + ((size_t)k * (size_t)each + (size_t)i) * dim);
        of[k].points += each;
    }
    return JF_OK;
}

static jf_status draw_all(const model *m, tally *of, long n, int each, const double *xy, double *rows) {
    const long together = POINTS_AT_ONCE / each;
    for (long at = 0; at < n; at += together) {
        JF_TRY(context_poll(m->ctx, "shares inside of bounds", (uint64_t)at, (uint64_t)n));
        JF_TRY(draw_for(m, of + at, n - at < together ? n - at : together, each, xy, rows));
    }
    return JF_OK;
}

static int points_for(effort e, long rows) {
    const long points = e.of_all / (rows > 0 ? rows : 1);
    return points < e.least ? e.least : points > e.most ? e.most : (int)points;
}

static int same_y(const model *m, const double *a, const double *b) {
    size_t dim_x = (size_t)m->units.dim_x;
    return memcmp(a + dim_x, b + dim_x, (size_t)m->units.dim_y * sizeof *a) == 0;
}

/* log of the share inside, of each row (n); neighbours of the same y have it in common. */
static jf_status log_shares(const model *m, long n, const double *xy, double *out) {
    size_t dim = (size_t)m->flow->dim;
    double *rows = NULL;
    tally *of = NULL;
    jf_status status;
    long different = 0, open = 0;
    JF_TRY_DONE(MEM_NEW(m->ctx, &of, 2 * (size_t)n));
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, (size_t)POINTS_AT_ONCE * dim));
    for (long s = 0; s < n; s++)
        if (s == 0 || !same_y(m, xy + (size_t)s * dim, xy + (size_t)(s - 1) * dim)) of[different++].row = s;
    JF_TRY_DONE(draw_all(m, of, different, points_for(at_first, different), xy, rows));
    for (long k = 0; k < different; k++)
        if (of[k].inside < of[k].points) of[different + open++] = of[k];
    JF_TRY_DONE(draw_all(m, of + different, open, points_for(again, open), xy, rows));
    for (long k = 0, next = 0; k < different; k++) {
        const tally *t = &of[k];
        if (t->inside < t->points) t = &of[different + next++];
        const double share = t->inside > 0 ? t->inside / (double)t->points : 0.5 / t->points;
        const long end = k + 1 < different ? of[k + 1].row : n;
        for (long s = of[k].row; s < end; s++) out[s] = log(share);
    }
done:
    free(rows);
    free(of);
    return status;
}

jf_status densities_divide_by_inside(const model *m, densities *d, long n, const double *xy) {
    double *shares;
    if (!model_is_cut(m) || n < 1) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &shares, (size_t)n));
    jf_status status = log_shares(m, n, xy, shares);
    for (long s = 0; status == JF_OK && s < n; s++)
        d->paper[s] -= shares[s], d->sampler[s] -= shares[s], d->whole[s] -= shares[s];
    free(shares);
    return status;
}
