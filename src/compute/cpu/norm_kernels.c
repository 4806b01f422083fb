/* Kernels of layer norms, written with compiler vector extensions and compiled once per instruction set
 * (CPU_ISA).
 *
 * A range of pixels is one run of numbers where neither channels nor parameters leave gaps, otherwise each
 * pixel is a run. Runs are done by vectors, the last one of fewer lanes where the length is not a whole
 * number of them. */
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

/* What all vectors of a norm have in common; a copy, since a job in memory might change with every store. */
typedef struct scales {
    vec slope, mean, scale;
} scales;

INLINE scales scales_of(const norm_job *n) {
    const vec zero = {0};
    return (scales){n->slope - zero, n->mean - zero, n->scale - zero};
}
INLINE vec act(vec x, vec slope) {
    return larger(x, x * slope); /* slope <= 1 */
}
INLINE vec normal(scales c, vec x) {
    return (act(x, c.slope) - c.mean) * c.scale;
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
    const vec slope = n->slope - (vec){0};
    runs all = runs_of(n, count);
    for (int r = 0; r < all.count; r++) {
        const float *x = n->x + (size_t)(first + r) * n->pad;
        int k = 0;
        for (; k + 4 * LANES <= all.length; k += 4 * LANES) {
            UNROLL
            for (int v = 0; v < 4; v++) {
                vec t = act(load(x + k + v * LANES), slope) - shift;
                sum[v] += t;
                square[v] += t * t;
            }
        }
        for (; k + LANES <= all.length; k += LANES) {
            vec t = act(load(x + k), slope) - shift;
            sum[0] += t;
            square[0] += t * t;
        }
        if (k < all.length) { /* fewer lanes; the others do not count */
            vec t = act(load_first(x + k, 0, all.length - k), slope) - shift;
            t = choose(lane_numbers < all.length - k, t, (vec){0});
            sum[1] += t;
            square[1] += t * t;
        }
    }
    return (moment_sums){sum_lanes(sum[0] + sum[1] + (sum[2] + sum[3])),
                         sum_lanes(square[0] + square[1] + (square[2] + square[3]))};
}

#define MOMENT_PIXELS 28 /* whose sums are taken in float */

/* Distances from the mean of the first pixels, so that little cancels; ranges of pixels are added up in
 * double. */
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

INLINE void normalise_lanes(scales c, const float *x, const float *g, const float *b, float *y,
                            const int whole, int count) {
    vec e = normal(c, load_first(x, whole, count));
    store_first(y, e * load_first(g, whole, count) + load_first(b, whole, count), whole, count);
}

static void normalise(const norm_job *n, int first, int count, float *y) {
    const scales c = scales_of(n);
    runs all = runs_of(n, count);
    for (int r = 0; r < all.count; r++, y += n->pad) {
        size_t at = (size_t)(first + r) * n->p_pixel;
        const float *x = n->x + (size_t)(first + r) * n->pad, *g = n->g + at, *b = n->b + at;
        int i = 0;
        for (; i + LANES <= all.length; i += LANES) normalise_lanes(c, x + i, g + i, b + i, y + i, 1, LANES);
        if (i < all.length) normalise_lanes(c, x + i, g + i, b + i, y + i, 0, all.length - i);
    }
}

/* ---- backward ---- */

/* A run in its backward pass. */
typedef struct back_run {
    const float *x, *g, *b;
    float *dy, *y, *dg, *db;
} back_run;

/* Up to a vector of a run, from i on; with `wanted`, also dg, db and y. */
INLINE void sums_lanes(scales c, back_run p, int i, const int wanted, const int add, const int whole,
                       int count, vec sums[2]) {
    vec e = normal(c, load_first(p.x + i, whole, count)), d = load_first(p.dy + i, whole, count),
        g = load_first(p.g + i, whole, count), q = d * g;
    sums[0] += q;
    sums[1] += q * e;
    store_first(p.dy + i, q, whole, count);
    if (!wanted) return;
    store_first(p.y + i, e * g + load_first(p.b + i, whole, count), whole, count);
    store_first(p.dg + i, add ? load_first(p.dg + i, whole, count) + d * e : d * e, whole, count);
    store_first(p.db + i, add ? load_first(p.db + i, whole, count) + d : d, whole, count);
}

INLINE void sums_run(scales c, back_run p, int length, const int wanted, const int add, vec sums[2]) {
    int i = 0;
    for (; i + LANES <= length; i += LANES) sums_lanes(c, p, i, wanted, add, 1, LANES, sums);
    if (i < length) sums_lanes(c, p, i, wanted, add, 0, length - i, sums);
}

static void sums(norm_job *n, int first, int count, float *y) {
    const scales c = scales_of(n);
    runs all = runs_of(n, count);
    vec both[2] = {{0}};
    for (int r = 0; r < all.count; r++, y += n->pad) {
        size_t pixel = (size_t)(first + r), at = pixel * n->pad, param = pixel * n->p_pixel;
        back_run p = {n->x + at, n->g + param, n->b + param, n->dy + at, y, NULL, NULL};
        if (!n->dg) { /* no gradients of parameters are wanted, and there is no place for them */
            sums_run(c, p, all.length, 0, 0, both);
            continue;
        }
        p.dg = n->dg + param;
        p.db = n->db + param;
        if (n->add || (n->p_pixel == 0 && pixel > 0)) /* parameters that pixels share are added to */
            sums_run(c, p, all.length, 1, 1, both);
        else
            sums_run(c, p, all.length, 1, 0, both);
    }
    n->sum_q += sum_lanes(both[0]);
    n->sum_qe += sum_lanes(both[1]);
}

/* d act(x)/dx (scale q - (constant + factor act(x))) */
typedef struct dx_scales {
    vec slope, scale, constant, factor;
} dx_scales;

INLINE dx_scales dx_scales_of(const norm_job *n) {
    const vec zero = {0};
    double numbers = (double)n->pixels * n->channels, mean_q = n->sum_q / numbers,
           mean_qe = n->sum_qe / numbers, factor = mean_qe * n->scale * n->scale;
    return (dx_scales){n->slope - zero, n->scale - zero, (float)(mean_q * n->scale - factor * n->mean) - zero,
                       (float)factor - zero};
}

INLINE void dx_lanes(dx_scales c, const float *x, const float *q, float *dx, const int add, const int whole,
                     int count) {
    vec xi = load_first(x, whole, count);
    vec d = load_first(q, whole, count) * c.scale - (act(xi, c.slope) * c.factor + c.constant);
    d = choose(xi > 0, d, d * c.slope);
    store_first(dx, add ? load_first(dx, whole, count) + d : d, whole, count);
}

INLINE void dx_by(const norm_job *n, int first, int count, float *dx, const int add) {
    const dx_scales c = dx_scales_of(n);
    runs all = runs_of(n, count);
    for (int r = 0; r < all.count; r++, dx += n->pad) {
        const float *x = n->x + (size_t)(first + r) * n->pad, *q = n->dy + (size_t)(first + r) * n->pad;
        int i = 0;
        for (; i + LANES <= all.length; i += LANES) dx_lanes(c, x + i, q + i, dx + i, add, 1, LANES);
        if (i < all.length) dx_lanes(c, x + i, q + i, dx + i, add, 0, all.length - i);
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
