/* 3x3 convolutions with half of the multiplications, after Winograd's F(4, 3); compiled once per instruction
 * set (CPU_ISA).
 *
 * Four neighbouring outputs of a row read six inputs d. With one row of taps w both sides are polynomials,
 * and the outputs follow from products at six points (0, 1, -1, 2, -2, infinity), 6 multiplications instead
 * of 12:
 *     y = A [(G w) x (B d)]
 * Three outputs do without the point -2; B is scaled so that weights are the same. G w is packed once per
 * call (image_pack.c). Rows of taps and inputs are summed at the points, as in any convolution; see
 * winograd.h for columns, lines, strips. */
#include "compute/cpu/winograd.h"
#include "compute/cpu/vector.h"

#define SHORT_TILE_WITHOUT 4 /* the point that tiles of 3 outputs leave out */

/* B d of a tile of `outputs` outputs */
INLINE void to_points(const vec d[WINOGRAD_POINTS], vec v[WINOGRAD_POINTS], const int outputs) {
    if (outputs == 4) {
        vec even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1], even2 = d[4] - d[2], odd2 = d[3] - d[1];
        v[0] = 4 * d[0] + (d[4] - 5 * d[2]);
        v[1] = even + odd;
        v[2] = even - odd;
        v[3] = even2 + 2 * odd2;
        v[4] = even2 - 2 * odd2;
        v[5] = 4 * d[1] + (d[5] - 5 * d[3]);
    } else {
        vec near = d[3] - d[1];
        v[0] = 4 * d[0] + 2 * near - 4 * d[2];
        v[1] = 3 * (d[3] - d[2]) - 6 * d[1];
        v[2] = d[3] + 2 * d[1] - 3 * d[2];
        v[3] = 4 * near;
        v[5] = d[4] - d[2] - 2 * near;
    }
}
/* A m */
INLINE void from_points(const vec m[WINOGRAD_POINTS], vec y[4], const int outputs) {
    vec even = m[1] + m[2], odd = m[1] - m[2];
    if (outputs == 4) {
        vec even2 = m[3] + m[4], odd2 = m[3] - m[4];
        y[0] = m[0] + even + even2;
        y[1] = odd + 2 * odd2;
        y[2] = even + 4 * even2;
        y[3] = odd + 8 * odd2 + m[5];
    } else {
        y[0] = m[0] + even + m[3];
        y[1] = odd + 2 * m[3];
        y[2] = even + 4 * m[3] + m[5];
    }
}
/* A transposed: the gradient of y at the points */
INLINE void gradient_to_points(const vec y[4], vec v[WINOGRAD_POINTS], const int outputs) {
    v[0] = y[0];
    v[5] = y[outputs - 1];
    if (outputs == 4) {
        vec even = y[0] + y[2], odd = y[1] + y[3], even2 = y[0] + 4 * y[2], odd2 = 2 * y[1] + 8 * y[3];
        v[1] = even + odd;
        v[2] = even - odd;
        v[3] = even2 + odd2;
        v[4] = even2 - odd2;
    } else {
        vec even = y[0] + y[2];
        v[1] = even + y[1];
        v[2] = even - y[1];
        v[3] = y[0] + 2 * y[1] + 4 * y[2];
    }
}

/* ---- bundles ---- */

/* Groups with fewer outputs than a vector holds are computed together, in bundles: at the points their inputs
 * lie side by side, (input, group), so that one of each is loaded at once, again and again, and so do their
 * outputs, (output, group). In images they lie one group after the other. A vector holds `size` numbers of
 * each group, and may hold several bundles. */

INLINE veci interleaved(int bundle, int size) {
    veci at;
    for (int l = 0; l < LANES; l++)
        at[l] = l / (bundle * size) * bundle * size + l % bundle * size + l % (bundle * size) / bundle;
    return at;
}
INLINE veci one_after_the_other(int bundle, int size) {
    veci at, back = interleaved(bundle, size);
    for (int l = 0; l < LANES; l++) at[back[l]] = l;
    return at;
}
/* LANES / bundle numbers of each group, which are `distance` apart, one after the other. */
INLINE vec load_groups(const float *p, size_t distance, const int bundle) {
    vec v = load(p);
#if LANES == 16
    if (bundle == 2) return (vec)_mm512_insertf32x8((__m512)v, _mm256_loadu_ps(p + distance), 1);
    if (bundle == 4)
        for (int g = 1; g < 4; g++) /* lanes from 4 g on */
            v = (vec)_mm512_mask_broadcast_f32x4((__m512)v, (__mmask16)(0xf << 4 * g),
                                                 _mm_loadu_ps(p + (size_t)g * distance));
#elif LANES == 8
    if (bundle == 2) return (vec)_mm256_insertf128_ps((__m256)v, _mm_loadu_ps(p + distance), 1);
#else
    (void)distance, (void)bundle; /* there are no bundles */
#endif
    return v;
}

/* Two vectors, one lane of each after the other. */
#if LANES == 16
#define FIRST_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define LAST_PAIRS  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif LANES == 8
#define FIRST_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define LAST_PAIRS  4, 12, 5, 13, 6, 14, 7, 15
#else
#define FIRST_PAIRS 0, 4, 1, 5
#define LAST_PAIRS  2, 6, 3, 7
#endif

/* ---- columns ---- */

/* A job on one chunk of groups. */
typedef struct work {
    const conv_job *c;
    int classes, lines; /* remainders of rows; lines of all of them */
    int span, units;    /* inputs of a chunk, and vectors of outputs */
    const float *x;
    float *y;
    const float *b;
    float *packed;
    float *v; /* inputs at the points (points, lines, span) */
    float *m; /* (units, points, lines, LANES): sums, without lines of zeros, or gradients */
} work;

typedef struct column {
    int first, outputs; /* pixel of the first output; 3 or 4 outputs, */
    int inside;         /* of which so many are in the image */
} column;

/* First input of a unit in its chunk. */
INLINE int inputs_of(const conv_job *c, int unit) {
    return unit * LANES / c->out * c->in;
}
INLINE size_t point_weights(const conv_job *c) {
    return (size_t)(c->steps * 3) * LANES;
}
INLINE size_t unit_weights(const conv_job *c) {
    return (size_t)conv_unit_vectors(c) * LANES;
}
/* Whether tiles of so many outputs use point p. */
INLINE int uses(int outputs, int p) {
    return outputs == 4 || p != SHORT_TILE_WITHOUT;
}

static work work_of(const conv_job *c) {
    work w = {.c = c, .classes = winograd_classes(c), .span = c->chunk * c->in};
    w.lines = w.classes * winograd_class_lines(c);
    w.units = c->chunk * c->out / LANES;
    w.v = c->scratch;
    w.m = w.v + (size_t)(WINOGRAD_POINTS * w.lines * w.span);
    memset(c->scratch, 0, sizeof(float) * winograd_scratch(c)); /* lines of zeros stay so */
    return w;
}

typedef void column_pass(const work *w, column at);

/* All columns of all chunks. */
INLINE void each_column(const conv_job *c, column_pass *pass) {
    work w = work_of(c);
    for (int group = 0; group < c->groups; group += c->chunk) {
        w.x = c->x.at + group * c->in;
        w.y = c->y.at + group * c->out;
        w.b = c->b ? c->b + group * c->out : NULL;
        w.packed = c->packed + (size_t)(group * c->out / LANES) * unit_weights(c);
        for (int remainder = 0; remainder < c->dilation && remainder < c->w; remainder++) {
            int left = winograd_share(c->w, remainder, c->dilation), tiles = winograd_tiles(left),
                full = tiles - winograd_short(left);
            column at = {remainder, 0, 0};
            for (int i = 0; i < tiles; i++, at.first += at.outputs * c->dilation, left -= at.outputs) {
                at.outputs = i < full ? 4 : 3;
                at.inside = left < at.outputs ? left : at.outputs;
                pass(&w, at);
            }
        }
    }
}

/* Rows of a column that have one remainder, in an image and in lines. (Kept in local variables: the compiler
 * must assume that stores of vectors change everything else.) */
typedef struct rows {
    int count;
    size_t line; /* the first one, after the line of zeros */
    size_t start, across,
        down; /* in the image: the first output, from output to output, and from row to row */
} rows;

INLINE size_t first_line(const conv_job *c, int class) {
    return (size_t)(class * winograd_class_lines(c) + 1);
}
INLINE rows rows_of(const conv_job *c, const image_view *image, column at, int class) {
    return (rows){.count = winograd_share(c->h, class, c->dilation),
                  .line = first_line(c, class),
                  .start = (size_t) class * image->row + (size_t)at.first * image->pixel,
                  .across = (size_t)c->dilation * image->pixel,
                  .down = (size_t)c->dilation * image->row};
}

/* One vector of inputs of a column at the points; distance 0: of whole bundles, otherwise that of the groups
 * of one. */
INLINE void transform_vector(const work *w, const rows *r, const float *from, size_t distance, veci order,
                             float *to, const int outputs, const int bundle) {
    const size_t span = (size_t)w->span, point = (size_t)w->lines * span, across = r->across, down = r->down;
    const int count = r->count;
    from -= across;
    for (int row = 0; row < count; row++, to += span, from += down) {
        vec d[WINOGRAD_POINTS], v[WINOGRAD_POINTS];
        UNROLL
        for (int p = 0; p < outputs + 2; p++) {
            const float *at = from + (size_t)p * across;
            d[p] = distance ? load_groups(at, distance, bundle) : load(at);
        }
        to_points(d, v, outputs);
        UNROLL
        for (int p = 0; p < WINOGRAD_POINTS; p++)
            if (uses(outputs, p)) store(to + (size_t)p * point, bundle == 1 ? v[p] : reorder(v[p], order));
    }
}
/* The same of a whole vector of each of two groups. */
INLINE void transform_pair(const work *w, const rows *r, const float *from, size_t distance, float *to,
                           const int outputs) {
    const size_t span = (size_t)w->span, point = (size_t)w->lines * span, across = r->across, down = r->down;
    const int count = r->count;
    from -= across;
    for (int row = 0; row < count; row++, to += span, from += down) {
        vec d[2][WINOGRAD_POINTS], v[2][WINOGRAD_POINTS];
        UNROLL
        for (int p = 0; p < outputs + 2; p++) {
            d[0][p] = load(from + (size_t)p * across);
            d[1][p] = load(from + (size_t)p * across + distance);
        }
        to_points(d[0], v[0], outputs);
        to_points(d[1], v[1], outputs);
        UNROLL
        for (int p = 0; p < WINOGRAD_POINTS; p++)
            if (uses(outputs, p)) {
                store(to + (size_t)p * point, __builtin_shufflevector(v[0][p], v[1][p], FIRST_PAIRS));
                store(to + (size_t)p * point + LANES, __builtin_shufflevector(v[0][p], v[1][p], LAST_PAIRS));
            }
    }
}

/* Inputs of a column at the points: vectors of whole bundles, or bundles of whole vectors, which come from
 * each group in turn. */
INLINE void transform_inputs(const work *w, column at, const int outputs, const int bundle) {
    const conv_job *c = w->c;
    const int wide = bundle * c->in, pairs = bundle == 2 && c->in % LANES == 0;
    for (int class = 0; class < w->classes; class ++) {
        const rows r = rows_of(c, &c->x, at, class);
        const float *x = w->x + r.start;
        float *v = w->v + r.line * (size_t)w->span;
        if (bundle == 1 || wide <= LANES) {
            veci order = interleaved(bundle, bundle == 1 ? LANES : c->in);
            for (int i = 0; i < w->span; i += LANES)
                transform_vector(w, &r, x + i, 0, order, v + i, outputs, bundle);
            continue;
        }
        for (int i = 0; i < w->span; i += pairs ? 2 * LANES : LANES) {
            const float *from = x + i / wide * wide + i % wide / bundle;
            if (pairs)
                transform_pair(w, &r, from, (size_t)c->in, v + i, outputs);
            else
                transform_vector(w, &r, from, (size_t)c->in, interleaved(bundle, LANES / bundle), v + i,
                                 outputs, bundle);
        }
    }
}

/* ---- y = conv(x) ---- */

/* A strip of the sums of a unit at one point. v: its inputs in the line before; the first and the last line
 * of a remainder are zeros. */
INLINE void sum_strip(int steps, const float *v, size_t line, const float *u, float *m, const int strip,
                      const int bundle, const int first, const int last) {
    vec sum[8];
    for (int i = 0; i < strip; i++) sum[i] = (vec){0};
    for (int s = 0; s < steps; s++, v += bundle, u += 3 * LANES) {
        vec above = load(u), same = load(u + LANES), below = load(u + 2 * LANES);
        const float *at = v;
        UNROLL
        for (int i = 0; i < strip + 2; i++, at += line) {
            if ((first && i == 0) || (last && i == strip + 1)) continue;
            vec x = repeat(at, bundle);
            if (i < strip) sum[i] += x * above;
            if (i >= 1 && i <= strip) sum[i - 1] += x * same;
            if (i >= 2) sum[i - 2] += x * below;
        }
    }
    for (int i = 0; i < strip; i++) store(m + i * LANES, sum[i]);
}

INLINE size_t sum_lines(const work *w) {
    return (size_t)(w->classes * w->c->strips * w->c->strip) * LANES;
}

/* Sums of a unit at one point. */
INLINE void sum_point(const work *w, int unit, int point, const int strip, const int bundle) {
    const conv_job *c = w->c;
    const size_t span = (size_t)w->span;
    const int steps = c->steps, strips = c->strips;
    const float *v = w->v + (size_t)(point * w->lines) * span + inputs_of(c, unit);
    const float *u = w->packed + (size_t)unit * unit_weights(c) + (size_t)point * point_weights(c);
    float *m = w->m + (size_t)(unit * WINOGRAD_POINTS + point) * sum_lines(w);
    for (int class = 0; class < w->classes; class ++, v += 2 * span) /* lines of zeros between remainders */
        for (int s = 0; s < strips; s++, v += (size_t)strip * span, m += strip * LANES) {
            int first = s == 0, last = s == strips - 1;
            if (first && last)
                sum_strip(steps, v, span, u, m, strip, bundle, 1, 1);
            else if (first)
                sum_strip(steps, v, span, u, m, strip, bundle, 1, 0);
            else if (last)
                sum_strip(steps, v, span, u, m, strip, bundle, 0, 1);
            else
                sum_strip(steps, v, span, u, m, strip, bundle, 0, 0);
        }
}

/* From the sums of a unit at the points to its outputs. */
INLINE void put_outputs(const work *w, column at, int unit, const int outputs, const int inside,
                        const int add, const int bundle) {
    const conv_job *c = w->c;
    const size_t point = sum_lines(w);
    const vec b = w->b ? load(w->b + unit * LANES) : (vec){0};
    const veci order = one_after_the_other(bundle, LANES / bundle);
    const float *m = w->m + (size_t)(unit * WINOGRAD_POINTS) * point;
    for (int class = 0; class < w->classes; class ++, m += c->strips * c->strip * LANES) {
        const rows r = rows_of(c, &c->y, at, class);
        const float *from = m;
        float *y = w->y + r.start + unit * LANES;
        for (int row = 0; row < r.count; row++, from += LANES, y += r.down) {
            vec sums[WINOGRAD_POINTS], out[4];
            UNROLL
            for (int p = 0; p < WINOGRAD_POINTS; p++)
                if (uses(outputs, p)) sums[p] = load(from + (size_t)p * point);
            from_points(sums, out, outputs);
            UNROLL
            for (int i = 0; i < outputs; i++)
                if (i < inside) {
                    float *to = y + (size_t)i * r.across;
                    vec v = bundle == 1 ? out[i] : reorder(out[i], order);
                    store(to, add ? load(to) + v : v + b);
                }
        }
    }
}
INLINE void put_column(const work *w, column at, int unit, const int outputs, const int add,
                       const int bundle) {
    if (at.inside == outputs)
        put_outputs(w, at, unit, outputs, outputs, add, bundle);
    else
        put_outputs(w, at, unit, outputs, at.inside, add, bundle);
}

INLINE void conv_tile(const work *w, column at, const int outputs, const int strip, const int bundle) {
    transform_inputs(w, at, outputs, bundle);
    for (int unit = 0; unit < w->units; unit++) {
        for (int p = 0; p < WINOGRAD_POINTS; p++)
            if (uses(outputs, p)) sum_point(w, unit, p, strip, bundle);
        if (w->c->add)
            put_column(w, at, unit, outputs, 1, bundle);
        else
            put_column(w, at, unit, outputs, 0, bundle);
    }
}

INLINE void conv_column(const work *w, column at, const int strip, const int bundle) {
    if (at.outputs == 4)
        conv_tile(w, at, 4, strip, bundle);
    else
        conv_tile(w, at, 3, strip, bundle);
}

/* ---- dw ---- */

/* Gradients of the outputs of a column at the points. */
INLINE void transform_gradients(const work *w, column at, const int outputs, const int bundle) {
    const size_t point = (size_t)w->lines * LANES;
    const veci order = interleaved(bundle, LANES / bundle);
    for (int class = 0; class < w->classes; class ++) {
        const rows r = rows_of(w->c, &w->c->y, at, class);
        for (int unit = 0; unit < w->units; unit++) {
            const float *from = w->y + r.start + unit * LANES;
            float *to = w->m + r.line * LANES + (size_t)(unit * WINOGRAD_POINTS) * point;
            for (int row = 0; row < r.count; row++, to += LANES, from += r.down) {
                vec y[4], v[WINOGRAD_POINTS];
                UNROLL
                for (int i = 0; i < outputs; i++) {
                    y[i] = load(from + (size_t)i * r.across);
                    if (bundle > 1) y[i] = reorder(y[i], order);
                }
                gradient_to_points(y, v, outputs);
                UNROLL
                for (int p = 0; p < WINOGRAD_POINTS; p++)
                    if (uses(outputs, p)) store(to + (size_t)p * point, v[p]);
            }
        }
    }
}

/* `steps` vectors of weights for each of the three rows of taps: inputs of a line with the gradients of the
 * line after it, the same and the line before. */
INLINE void dw_tile(const work *w, const float *v, const float *g, float *dw, const int steps,
                    const int bundle) {
    const size_t span = (size_t)w->span;
    vec sum[8][3];
    for (int s = 0; s < steps; s++)
        for (int t = 0; t < 3; t++) sum[s][t] = load(dw + (s * 3 + t) * LANES);
    for (int class = 0; class < w->classes; class ++) {
        const size_t line = first_line(w->c, class);
        const int count = winograd_share(w->c->h, class, w->c->dilation);
        const float *at = v + line * span, *gl = g + line * LANES;
        vec same = load(gl), before = {0};
        for (int row = 0; row < count; row++, at += span) {
            vec after = load(gl += LANES);
            for (int s = 0; s < steps; s++) {
                vec x = repeat(at + s * bundle, bundle);
                sum[s][0] += x * after;
                sum[s][1] += x * same;
                sum[s][2] += x * before;
            }
            before = same;
            same = after;
        }
    }
    for (int s = 0; s < steps; s++)
        for (int t = 0; t < 3; t++) store(dw + (s * 3 + t) * LANES, sum[s][t]);
}

INLINE void dw_unit(const work *w, int unit, int p, const int bundle) {
    const conv_job *c = w->c;
    const float *v = w->v + (size_t)(p * w->lines * w->span) + inputs_of(c, unit);
    const float *g = w->m + (size_t)(unit * WINOGRAD_POINTS + p) * (size_t)w->lines * LANES;
    float *dw = w->packed + (size_t)unit * unit_weights(c) + (size_t)p * point_weights(c);
    int s = 0;
#if LANES == 16
    for (; s + 8 <= c->steps; s += 8, v += 8 * bundle, dw += 24 * LANES) dw_tile(w, v, g, dw, 8, bundle);
#endif
    for (; s + 4 <= c->steps; s += 4, v += 4 * bundle, dw += 12 * LANES) dw_tile(w, v, g, dw, 4, bundle);
    for (; s < c->steps; s++, v += bundle, dw += 3 * LANES) dw_tile(w, v, g, dw, 1, bundle);
}

INLINE void dw_column(const work *w, column at, const int bundle) {
    if (at.outputs == 4) {
        transform_inputs(w, at, 4, bundle);
        transform_gradients(w, at, 4, bundle);
    } else {
        transform_inputs(w, at, 3, bundle);
        transform_gradients(w, at, 3, bundle);
    }
    for (int unit = 0; unit < w->units; unit++)
        for (int p = 0; p < WINOGRAD_POINTS; p++)
            if (uses(at.outputs, p)) dw_unit(w, unit, p, bundle);
}

/* ---- one function for each size of bundles and strips ---- */

#define GANG(bundle)                                                                                         \
    static void conv_column_7_##bundle(const work *w, column at) {                                           \
        conv_column(w, at, 7, bundle);                                                                       \
    }                                                                                                        \
    static void conv_column_8_##bundle(const work *w, column at) {                                           \
        conv_column(w, at, 8, bundle);                                                                       \
    }                                                                                                        \
    static void dw_column_##bundle(const work *w, column at) {                                               \
        dw_column(w, at, bundle);                                                                            \
    }
#define PASSES(bundle) {bundle, {conv_column_7_##bundle, conv_column_8_##bundle}, dw_column_##bundle},

#if LANES == 16
#define EACH_GANG(f) f(1) f(2) f(4)
#elif LANES == 8
#define EACH_GANG(f) f(1) f(2)
#else
#define EACH_GANG(f) f(1)
#endif
EACH_GANG(GANG)

static const struct passes {
    int bundle;
    column_pass *conv[2], *dw; /* conv: of strips of 7 and of 8 lines */
} each_gang[] = {EACH_GANG(PASSES)};

static const struct passes *passes_of(const conv_job *c) {
    const struct passes *p = each_gang;
    while (p->bundle != c->bundle) p++;
    return p;
}

void JOIN(winograd_conv_, CPU_ISA)(const conv_job *c) {
    each_column(c, passes_of(c)->conv[c->strip == 8]);
}
void JOIN(winograd_dw_, CPU_ISA)(const conv_job *c) {
    if (!c->add) memset(c->packed, 0, sizeof(float) * (size_t)c->units * unit_weights(c));
    each_column(c, passes_of(c)->dw);
}
