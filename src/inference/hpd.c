/* The density of a column is a Gaussian kernel estimate on a grid. Its threshold for a mass is a quantile of
 * the estimate over the samples themselves, so that the set holds exactly that share of them, whatever the
 * bandwidth. */
#include "inference/hpd.h"
#include "base/memory.h"
#include "base/statistics.h"
#include <math.h>
#include <stdlib.h>

#define GRID_LEAST    256
#define GRID_MOST     65536
#define GRID_FINE     5 /* points of the grid in a bandwidth */
#define KERNEL_ENDS   4 /* bandwidths */
#define HARDLY_LONGER 1.02
#define CHANCE        0.03 /* of a set: what a part or a gap has to hold */

/* ---- bandwidths ---- */

/* The shortest interval that holds a tenth of the samples, as the deviation of a Gaussian of which it is
 * true. Narrow modes that lie far apart have a deviation that says nothing about their width; this does. */
static double shortest_tenth(size_t n, const double *sorted) {
    size_t spanned = n / 10;
    double best = INFINITY;
    if (spanned < 5) return INFINITY;
    for (size_t i = 0; i + spanned < n; i++) best = fmin(best, sorted[i + spanned] - sorted[i]);
    return best / 0.25132; /* 2 * the 55% quantile of N(0, 1) */
}

static double deviation_of(size_t n, const double *values) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++) square += (values[i] - mean) * (values[i] - mean);
    return sqrt(square / (double)n);
}

/* Silverman's rule by two measures of scale. wide 0: all samples are the same. */
static void bandwidths(size_t n, const double *sorted, double *wide, double *narrow) {
    double rule = 0.9 * pow((double)n, -0.2), middle = quantile(sorted, n, 0.75) - quantile(sorted, n, 0.25);
    double scale = deviation_of(n, sorted), tenth = shortest_tenth(n, sorted);
    if (middle > 0) scale = fmin(scale, middle / 1.349); /* 0 where many samples are the same */
    *wide = rule * scale;
    *narrow = tenth > 0 ? fmin(rule * tenth, *wide) : *wide;
}

/* ---- the estimate ---- */

typedef struct estimate {
    double lo, step;
    int points, circle; /* points of the grid; a circle's first point is its last one's neighbour */
    int bounded[2];     /* the ends are bounds, at which the kernel is reflected */
    double *density;    /* (points), not normalised */
} estimate;

static void place_grid(estimate *e, size_t n, const double *sorted, const column_support *s, double width) {
    double lo = sorted[0] - KERNEL_ENDS * width, hi = sorted[n - 1] + KERNEL_ENDS * width;
    if (s && support_ends_below(s) && s->lo > lo) {
        lo = s->lo;
        e->bounded[0] = 1;
    }
    if (s && support_ends_above(s) && s->hi < hi) {
        hi = s->hi;
        e->bounded[1] = 1;
    }
    e->circle = s && s->kind == SUPPORT_CIRCLE;
    if (e->circle) {
        lo = s->lo;
        hi = s->hi;
    }
    double wanted = ceil((hi - lo) / width * GRID_FINE);
    e->points = wanted < GRID_LEAST ? GRID_LEAST : wanted > GRID_MOST ? GRID_MOST : (int)wanted;
    e->lo = lo;
    e->step = (hi - lo) / (e->circle ? e->points : e->points - 1);
}

/* Where on the grid a value is: its left point, and how far it is from there to the next. */
static int locate(const estimate *e, double value, double *rest) {
    double at = (value - e->lo) / e->step;
    int last = e->circle ? e->points - 1 : e->points - 2, left = at > 0 ? (int)fmin(at, last) : 0;
    *rest = fmin(fmax(at - left, 0), 1);
    return left;
}
static int next_point(const estimate *e, int i) {
    return e->circle && i + 1 == e->points ? 0 : i + 1;
}

/* Adds to the density at a place that may lie beyond the ends. */
static void add_at(estimate *e, int place, double count) {
    if (e->circle)
        place = ((place % e->points) + e->points) % e->points;
    else if (place < 0 && e->bounded[0])
        place = -place;
    else if (place >= e->points && e->bounded[1])
        place = 2 * (e->points - 1) - place;
    if (place >= 0 && place < e->points) e->density[place] += count;
}

static jf_status estimate_create(jf_context *ctx, estimate *e, size_t n, const double *sorted,
                                 const column_support *s, double width) {
    double *counts, rest;
    place_grid(e, n, sorted, s, width);
    int reach = (int)fmin(ceil(KERNEL_ENDS * width / e->step), e->points);
    JF_TRY(MEM_NEW(ctx, &counts, (size_t)e->points));
    jf_status status = MEM_NEW(ctx, &e->density, (size_t)e->points);
    for (size_t i = 0; status == JF_OK && i < n; i++) {
        int left = locate(e, sorted[i], &rest);
        counts[left] += 1 - rest;
        counts[next_point(e, left)] += rest;
    }
    for (int k = -reach; status == JF_OK && k <= reach; k++) {
        double t = k * e->step / width, weight = exp(-0.5 * t * t);
        for (int i = 0; i < e->points; i++)
            if (counts[i] > 0) add_at(e, i + k, weight * counts[i]);
    }
    free(counts);
    return status;
}

static double density_at(const estimate *e, double value) {
    double rest;
    int left = locate(e, value, &rest);
    return (1 - rest) * e->density[left] + rest * e->density[next_point(e, left)];
}

/* ---- the set above a threshold ---- */

/* Of too many parts the two with the narrowest gap become one. */
static void add_part(hpd_set *out, hpd_part part) {
    if (out->count == HPD_MAX_PARTS) {
        int best = 0;
        for (int i = 1; i + 1 < out->count; i++)
            if (out->parts[i + 1].lo - out->parts[i].hi < out->parts[best + 1].lo - out->parts[best].hi)
                best = i;
        out->parts[best].hi = out->parts[best + 1].hi;
        for (int i = best + 1; i + 1 < out->count; i++) out->parts[i] = out->parts[i + 1];
        out->count--;
    }
    out->parts[out->count++] = part;
}

/* Where the density crosses the threshold between point i and the next. */
static double crossing(const estimate *e, int i, double threshold) {
    double a = e->density[i], b = e->density[next_point(e, i)];
    return e->lo + e->step * (i + (threshold - a) / (b - a));
}

static void above(const estimate *e, double threshold, hpd_set *out) {
    int inside = e->density[0] >= threshold, cells = e->circle ? e->points : e->points - 1;
    double from = e->lo, end = e->lo + e->step * cells;
    for (int i = 0; i < cells; i++) {
        int then = e->density[next_point(e, i)] >= threshold;
        if (then && !inside) from = crossing(e, i, threshold);
        if (!then && inside) add_part(out, (hpd_part){from, crossing(e, i, threshold)});
        inside = then;
    }
    if (inside) add_part(out, (hpd_part){from, end});
    int last = out->count - 1;
    if (!e->circle || last < 1 || out->parts[0].lo > e->lo || out->parts[last].hi < end) return;
    out->parts[last].hi = end + (out->parts[0].hi - e->lo); /* on over the seam */
    for (int i = 0; i < last; i++) out->parts[i] = out->parts[i + 1];
    out->count--;
}

static jf_status sets_by(jf_context *ctx, size_t n, const double *sorted, const column_support *s,
                         double width, int levels, const double *masses, hpd_set *out) {
    double *at_samples = NULL;
    estimate e = {0};
    jf_status status;
    JF_TRY_DONE(estimate_create(ctx, &e, n, sorted, s, width));
    JF_TRY_DONE(MEM_NEW(ctx, &at_samples, n));
    for (size_t i = 0; i < n; i++) at_samples[i] = density_at(&e, sorted[i]);
    sort_ascending(at_samples, n);
    for (int i = 0; i < levels; i++) {
        out[i].count = 0;
        above(&e, quantile(at_samples, n, 1 - masses[i]), &out[i]);
    }
done:
    free(at_samples);
    free(e.density);
    return status;
}

static double length_of(const hpd_set *set) {
    double length = 0;
    for (int i = 0; i < set->count; i++) length += set->parts[i].hi - set->parts[i].lo;
    return length;
}

/* Samples in lo .. hi. */
static double samples_between(size_t n, const double *sorted, double lo, double hi) {
    size_t below[2] = {0, 0};
    for (int k = 0; k < 2; k++)
        for (size_t from = 0, to = n; from < to; below[k] = from) {
            size_t middle = (from + to) / 2;
            if (k ? sorted[middle] <= hi : sorted[middle] < lo)
                from = middle + 1;
            else
                to = middle;
        }
    return (double)below[1] - (double)below[0];
}

/* Gaps and parts with hardly a sample are chance: gaps are closed, parts are left out. */
static void tidy(hpd_set *set, size_t n, const double *sorted, double mass) {
    double few = CHANCE * mass * (double)n;
    int kept = 0;
    for (int i = 0; i < set->count; i++) {
        hpd_part *last = &set->parts[kept - 1];
        if (kept > 0 && samples_between(n, sorted, last->hi, set->parts[i].lo) < few &&
            set->parts[i].lo - last->hi < CHANCE * length_of(set))
            last->hi = set->parts[i].hi;
        else
            set->parts[kept++] = set->parts[i];
    }
    set->count = kept;
    kept = 0;
    for (int i = 0; i < set->count; i++)
        if (set->count == 1 || set->parts[i].hi > sorted[n - 1] ||
            samples_between(n, sorted, set->parts[i].lo, set->parts[i].hi) >= few)
            set->parts[kept++] = set->parts[i];
    if (kept > 0) set->count = kept;
}

/* A set holds its share of the samples whatever the bandwidth, and should be small. A narrow one finds modes
 * that lie apart, but cuts a set to pieces where the density is even; so it is the widest one whose set is
 * hardly longer. */
static jf_status smooth_sets(jf_context *ctx, size_t n, const double *sorted, const column_support *s,
                             int levels, const double *masses, hpd_set *out) {
    double wide, narrow, length[HPD_MAX_LEVELS];
    hpd_set tried[HPD_MAX_LEVELS];
    int settled[HPD_MAX_LEVELS] = {0};
    bandwidths(n, sorted, &wide, &narrow);
    if (!(wide > 0)) { /* all the same, or one */
        for (int i = 0; i < levels; i++) out[i] = (hpd_set){1, {{sorted[0], sorted[n - 1]}}};
        return JF_OK;
    }
    JF_TRY(sets_by(ctx, n, sorted, s, narrow, levels, masses, out));
    for (int i = 0; i < levels; i++) length[i] = length_of(&out[i]);
    for (double width = wide; width > narrow; width /= M_SQRT2) {
        JF_TRY(sets_by(ctx, n, sorted, s, width, levels, masses, tried));
        for (int i = 0; i < levels; i++) {
            if (settled[i] || length_of(&tried[i]) > HARDLY_LONGER * length[i]) continue;
            out[i] = tried[i];
            settled[i] = 1;
        }
    }
    for (int i = 0; i < levels; i++) tidy(&out[i], n, sorted, masses[i]);
    return JF_OK;
}

/* ---- whole numbers ---- */

typedef struct tally {
    double value, count;
} tally;
static int by_count(const void *a, const void *b) {
    const tally *one = a, *other = b;
    if (one->count != other->count) return one->count < other->count ? 1 : -1;
    return one->value < other->value ? -1 : 1;
}
static int by_value(const void *a, const void *b) {
    double one = ((const tally *)a)->value, other = ((const tally *)b)->value;
    return (one > other) - (one < other);
}

static jf_status whole_sets(jf_context *ctx, size_t n, const double *sorted, int levels, const double *masses,
                            hpd_set *out) {
    tally *t;
    size_t kinds = 0;
    JF_TRY(MEM_NEW(ctx, &t, n));
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) t[kinds++].value = sorted[i];
        t[kinds - 1].count++;
    }
    for (int k = 0; k < levels; k++) {
        double covered = 0;
        size_t taken = 0;
        qsort(t, kinds, sizeof *t, by_count);
        while (taken < kinds && covered < masses[k] * (double)n) covered += t[taken++].count;
        qsort(t, taken, sizeof *t, by_value);
        out[k].count = 0;
        for (size_t i = 0; i < taken; i++) {
            int follows = i > 0 && t[i].value == t[i - 1].value + 1;
            if (follows)
                out[k].parts[out[k].count - 1].hi = t[i].value;
            else
                add_part(&out[k], (hpd_part){t[i].value, t[i].value});
        }
    }
    free(t);
    return JF_OK;
}

jf_status hpd_of_column(jf_context *ctx, size_t n, const double *sorted, const column_support *support,
                        int levels, const double *masses, hpd_set *out) {
    for (int i = 0; i < levels; i++) out[i].count = 0;
    if (n == 0) return JF_OK;
    return support && (support->kind == SUPPORT_WHOLE || support->kind == SUPPORT_CONSTANT)
               ? whole_sets(ctx, n, sorted, levels, masses, out)
               : smooth_sets(ctx, n, sorted, support, levels, masses, out);
}
