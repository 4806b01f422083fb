/* Kernels of layer norms, written with compiler vector extensions and compiled once per instruction set (CPU_ISA).
 *
 * A range of pixels is one run of numbers where neither channels nor parameters leave gaps, otherwise each pixel is a run. Runs
 * are done by vectors, the last one of fewer lanes where the length is not a whole number of them. */
#include "compute/cpu/norm_kernels.h"
#include "compute/cpu/vector.h"
#include <math.h>

typedef struct runs {
    int count, length;
} runs;

INLINE runs runs_of(const norm_job *n, int pixels) {
    int whole = n->pad == (size_t)n->channels && n->p_pixel == n->pad;
    return whole ? (runs){1, pixels * n->channels} : (runs){pixels, n->channels};
}

INLINE vec act(vec x, float slope) {
    return larger(x, x * slope); /* slope <= 1 */
}
INLINE vec normal(const norm_job *n, vec x) {
    return (act(x, n->slope) - n->mean) * n->scale;
}

INLINE double sum_lanes(vec v) {
    float a[LANES];
    store(a, v);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) a[i] += a[i + half];
    return (double)a[0];
}

/* ---- forward ---- */

typedef struct moment_sums { /* of t = act(x) - shift, and of its square */
    double sum, square;
} moment_sums;

/* Over `count` pixels; by lanes, which are then added up. */
INLINE moment_sums range_moments(const norm_job *n, int first, int count, float shift) {
    vec sum[4] = {{0}}, square[4] = {{0}};
    moment_sums m = {0};
    runs all = runs_of(n, count);
    for (int r = 0; r < all.count; r++) {
        const float *x = n->x + (size_t)(first + r) * n->pad;
        int k = 0;
        for (; k + 4 * LANES <= all.length; k += 4 * LANES) {
            UNROLL
            for (int v = 0; v < 4; v++) {
                vec t = act(load(x + k + v * LANES), n->slope) - shift;
                sum[v] += t;
                square[v] += t * t;
            }
        }
        for (; k + LANES <= all.length; k += LANES) {
            vec t = act(load(x + k), n->slope) - shift;
            sum[0] += t;
            square[0] += t * t;
        }
        if (k < all.length) { /* fewer lanes; the others do not count */
            vec t = act(load_first(x + k, 0, all.length - k), n->slope) - shift;
            t = choose(lane_numbers < all.length - k, t, (vec){0});
            sum[1] += t;
            square[1] += t * t;
        }
    }
    m.sum = sum_lanes(sum[0] + sum[1] + (sum[2] + sum[3]));
    m.square = sum_lanes(square[0] + square[1] + (square[2] + square[3]));
    return m;
}

#define MOMENT_PIXELS 28 /* whose sums are taken in float */

/* Distances from the mean of the first pixels, so that little cancels; ranges of pixels are added up in double. */
static void moments(norm_job *n, double epsilon) {
    int head = n->pixels < MOMENT_PIXELS ? n->pixels : MOMENT_PIXELS;
    float shift = (float)(range_moments(n, 0, head, 0).sum / ((double)head * n->channels));
    moment_sums all = {0};
    for (int first = 0; first < n->pixels; first += MOMENT_PIXELS) {
        int left = n->pixels - first;
        moment_sums m = range_moments(n, first, left < MOMENT_PIXELS ? left : MOMENT_PIXELS, shift);
        all.sum += m.sum;
        all.square += m.square;
    }
    double count = (double)n->pixels * n->channels, mean = all.sum / count;
    n->mean = (float)(shift + mean);
    n->scale = (float)(1 / sqrt(all.square / count - mean * mean + epsilon));
}

INLINE void normalise_lanes(const norm_job *n, const float *x, const float *g, const float *b, float *y,
                            const int whole, int count) {
    vec e = normal(n, load_first(x, whole, count));
    store_first(y, e * load_first(g, whole, count) + load_first(b, whole, count), whole, count);
}

static void normalise(const norm_job *n, int first, int count, float *y) {
    runs all = runs_of(n, count);
    for (int r = 0; r < all.count; r++, y += n->pad) {
        size_t at = (size_t)(first + r) * n->p_pixel;
        const float *x = n->x + (size_t)(first + r) * n->pad, *g = n->g + at, *b = n->b + at;
        int i = 0;
        for (; i + LANES <= all.length; i += LANES) normalise_lanes(n, x + i, g + i, b + i, y + i, 1, LANES);
        if (i < all.length) normalise_lanes(n, x + i, g + i, b + i, y + i, 0, all.length - i);
    }
}

/* ---- backward ---- */

/* Up to a vector of a run; with `wanted`, also dg, db and y. */
INLINE void sums_lanes(const norm_job *n, size_t at, const float *x, float *dy, float *y, const int wanted,
                       const int add, const int whole, int count, vec sums[2]) {
    vec e = normal(n, load_first(x, whole, count)), d = load_first(dy, whole, count),
        g = load_first(n->g + at, whole, count), q = d * g;
    sums[0] += q;
    sums[1] += q * e;
    store_first(dy, q, whole, count);
    if (!wanted) return;
    float *dg = n->dg + at, *db = n->db + at;
    store_first(y, e * g + load_first(n->b + at, whole, count), whole, count);
    store_first(dg, add ? load_first(dg, whole, count) + d * e : d * e, whole, count);
    store_first(db, add ? load_first(db, whole, count) + d : d, whole, count);
}

/* Of a run whose parameters begin at `at`. */
INLINE void sums_run(const norm_job *n, int length, size_t at, const float *x, float *dy, float *y,
                     const int wanted, const int add, vec sums[2]) {
    int i = 0;
    for (; i + LANES <= length; i += LANES)
        sums_lanes(n, at + (size_t)i, x + i, dy + i, y + i, wanted, add, 1, LANES, sums);
    if (i < length) sums_lanes(n, at + (size_t)i, x + i, dy + i, y + i, wanted, add, 0, length - i, sums);
}

static void sums(norm_job *n, int first, int count, float *y) {
    runs all = runs_of(n, count);
    vec both[2] = {{0}};
    for (int r = 0; r < all.count; r++, y += n->pad) {
        size_t pixel = (size_t)(first + r), at = pixel * n->p_pixel;
        const float *x = n->x + pixel * n->pad;
        float *dy = n->dy + pixel * n->pad;
        if (!n->dg)
            sums_run(n, all.length, at, x, dy, y, 0, 0, both);
        else if (n->add || (n->p_pixel == 0 && pixel > 0)) /* parameters that pixels share are added to */
            sums_run(n, all.length, at, x, dy, y, 1, 1, both);
        else
            sums_run(n, all.length, at, x, dy, y, 1, 0, both);
    }
    n->sum_q += sum_lanes(both[0]);
    n->sum_qe += sum_lanes(both[1]);
}

INLINE void dx_lanes(const norm_job *n, const float *x, const float *q, float *dx, float mean_q,
                     float mean_qe, const int add, const int whole, int count) {
    const vec one = (vec){0} + 1, slope = (vec){0} + n->slope;
    vec xi = load_first(x, whole, count);
    vec d = (load_first(q, whole, count) - mean_q - normal(n, xi) * mean_qe) * n->scale *
            choose(xi > 0, one, slope);
    store_first(dx, add ? load_first(dx, whole, count) + d : d, whole, count);
}

INLINE void dx_by(const norm_job *n, int first, int count, float *dx, const int add) {
    runs all = runs_of(n, count);
    double numbers = (double)n->pixels * n->channels;
    float mean_q = (float)(n->sum_q / numbers), mean_qe = (float)(n->sum_qe / numbers);
    for (int r = 0; r < all.count; r++, dx += n->pad) {
        const float *x = n->x + (size_t)(first + r) * n->pad, *q = n->dy + (size_t)(first + r) * n->pad;
        int i = 0;
        for (; i + LANES <= all.length; i += LANES)
            dx_lanes(n, x + i, q + i, dx + i, mean_q, mean_qe, add, 1, LANES);
        if (i < all.length) dx_lanes(n, x + i, q + i, dx + i, mean_q, mean_qe, add, 0, all.length - i);
    }
}

static void norm_dx(const norm_job *n, int first, int count, float *dx, int add) {
    if (add)
        dx_by(n, first, count, dx, 1);
    else
        dx_by(n, first, count, dx, 0);
}

const norm_kernels JOIN(norm_kernels_, CPU_ISA) = {
    .moments = moments,
    .normalise = normalise,
    .sums = sums,
    .dx = norm_dx,
};
