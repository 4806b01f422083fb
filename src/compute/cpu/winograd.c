/* 3x3 convolutions with half of the multiplications, after Winograd's F(4, 3); compiled once per instruction set (CPU_ISA).
 *
 * Four neighbouring outputs of a row read six inputs d. With one row of taps w both sides are polynomials, and the outputs
 * follow from products at six points (0, 1, -1, 2, -2, infinity), 6 multiplications instead of 12:
 *     y = A [(G w) x (B d)]
 * Three outputs do without the point -2; B is scaled so that weights are the same. G w is packed once a call (image_pack.c).
 * Rows of taps and inputs are summed at the points, as in any convolution; see winograd.h for columns, lines, strips. */
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
        vec near = d[3] - d[1], far = d[2] + d[2];
        v[0] = 4 * d[0] + 2 * (d[3] - d[1]) - 2 * far;
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

/* Vectors of two groups with each output for two inputs: sums as one vector of outputs; and the outputs of one of the groups,
 * each twice. */
#if LANES == 16
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_LANES  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif LANES == 8
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_LANES  1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVEN_LANES 0, 2, 4, 6
#define ODD_LANES  1, 3, 5, 7
#endif
#define LOWER(i) ((i) / 2)
#define UPPER(i) (LANES / 2 + (i) / 2)

INLINE vec sum_pairs(vec a, vec b) {
    return __builtin_shufflevector(a, b, EVEN_LANES) + __builtin_shufflevector(a, b, ODD_LANES);
}
INLINE vec load_twice(const float *p, const int q, const int group) {
    vec v = load(p);
    return q == 1 ? v : group ? SHUFFLE(v, UPPER) : SHUFFLE(v, LOWER);
}

/* ---- columns ---- */

/* A job on one chunk of groups. */
typedef struct work {
    const conv_job *c;
    int classes, lines;       /* remainders of rows; lines of all of them */
    int span, units, vectors; /* of a chunk: inputs, units, vectors of outputs */
    const float *x;
    float *y;
    const float *b;
    float *packed;
    float *v; /* inputs at the points (points, lines, span) */
    float *
        m; /* sums (vectors, points, lines without zeros, LANES), or gradients (vectors, points, lines, LANES) */
} work;

typedef struct column {
    int first, outputs; /* pixel of the first output; 3 or 4 outputs, */
    int inside;         /* of which so many are in the image */
} column;

INLINE int blocks_of(const conv_job *c) { /* units of a group */
    return c->out * c->q / LANES;
}
INLINE int inputs_of(const conv_job *c, int unit) {
    return unit / blocks_of(c) * c->in;
}
INLINE size_t point_weights(const conv_job *c) {
    return (size_t)(c->steps * 3) * LANES;
}
INLINE size_t unit_weights(const conv_job *c) {
    return WINOGRAD_POINTS * point_weights(c);
}
/* Whether tiles of so many outputs use point p. */
INLINE int uses(int outputs, int p) {
    return outputs == 4 || p != SHORT_TILE_WITHOUT;
}

static work work_of(const conv_job *c) {
    work w = {.c = c, .classes = winograd_classes(c), .span = c->chunk * c->in};
    w.lines = w.classes * winograd_class_lines(c);
    w.units = c->chunk * blocks_of(c);
    w.vectors = w.units / c->q;
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
        w.packed = c->packed + (size_t)(group * blocks_of(c)) * unit_weights(c);
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

/* Rows of a column that have one remainder, in an image and in lines. (Kept in local variables: the compiler must assume that
 * stores of vectors change everything else.) */
typedef struct rows {
    int count;
    size_t line; /* the first one, after the line of zeros */
    size_t start, across,
        down; /* in the image: the first output, from output to output, and from row to row */
} rows;

INLINE rows rows_of(const conv_job *c, const image_view *image, column at, int class) {
    return (rows){.count = winograd_share(c->h, class, c->dilation),
                  .line = (size_t)(class * winograd_class_lines(c) + 1),
                  .start = (size_t) class * image->row + (size_t)at.first * image->pixel,
                  .across = (size_t)c->dilation * image->pixel,
                  .down = (size_t)c->dilation * image->row};
}

/* Inputs of a column at the points. */
INLINE void transform_inputs(const work *w, column at, const int outputs) {
    const size_t span = (size_t)w->span, point = (size_t)w->lines * span;
    for (int class = 0; class < w->classes; class ++) {
        const rows r = rows_of(w->c, &w->c->x, at, class);
        const float *from = w->x + r.start - r.across;
        float *to = w->v + r.line * span;
        for (int row = 0; row < r.count; row++, to += span, from += r.down)
            for (size_t i = 0; i < span; i += LANES) {
                vec d[WINOGRAD_POINTS], v[WINOGRAD_POINTS];
                UNROLL
                for (int p = 0; p < outputs + 2; p++) d[p] = load(from + (size_t)p * r.across + i);
                to_points(d, v, outputs);
                UNROLL
                for (int p = 0; p < WINOGRAD_POINTS; p++)
                    if (uses(outputs, p)) store(to + (size_t)p * point + i, v[p]);
            }
    }
}

/* ---- y = conv(x) ---- */

/* A strip of the sums of `units` units at one point. v: their inputs in the line before; the first and the last line of a
 * remainder are zeros. */
INLINE void sum_strip(const conv_job *c, const float *const v[2], size_t line, const float *const u[2],
                      float *const m[2], const int units, const int strip, const int q, const int first,
                      const int last) {
    vec sum[2][8];
    for (int k = 0; k < units; k++)
        for (int i = 0; i < strip; i++) sum[k][i] = (vec){0};
    for (int s = 0; s < c->steps; s++)
        for (int k = 0; k < units; k++) {
            const float *w = u[k] + (size_t)s * 3 * LANES, *at = v[k] + s * q;
            vec above = load(w), same = load(w + LANES), below = load(w + 2 * LANES);
            UNROLL
            for (int i = 0; i < strip + 2; i++, at += line) {
                if ((first && i == 0) || (last && i == strip + 1)) continue;
                vec x = repeat(at, q);
                if (i < strip) sum[k][i] += x * above;
                if (i >= 1 && i <= strip) sum[k][i - 1] += x * same;
                if (i >= 2) sum[k][i - 2] += x * below;
            }
        }
    for (int i = 0; i < strip; i++)
        if (q == 2)
            store(m[0] + i * LANES, sum_pairs(sum[0][i], sum[1][i]));
        else
            for (int k = 0; k < units; k++) store(m[k] + i * LANES, sum[k][i]);
}

INLINE size_t sum_lines(const work *w) {
    return (size_t)(w->classes * w->c->strips * w->c->strip) * LANES;
}

/* Sums of `units` units from `unit` on, at one point. */
INLINE void sum_point(const work *w, int unit, int point, const int units, const int strip, const int q) {
    const conv_job *c = w->c;
    size_t span = (size_t)w->span;
    const float *v[2], *u[2];
    float *m[2];
    for (int k = 0; k < units; k++) {
        v[k] = w->v + (size_t)(point * w->lines) * span + inputs_of(c, unit + k);
        u[k] = w->packed + (size_t)(unit + k) * unit_weights(c) + (size_t)point * point_weights(c);
        m[k] = w->m + (size_t)((unit + k) / q * WINOGRAD_POINTS + point) * sum_lines(w);
    }
    for (int class = 0; class < w->classes; class ++) {
        for (int s = 0; s < c->strips; s++) {
            int first = s == 0, last = s == c->strips - 1;
            if (first && last)
                sum_strip(c, v, span, u, m, units, strip, q, 1, 1);
            else if (first)
                sum_strip(c, v, span, u, m, units, strip, q, 1, 0);
            else if (last)
                sum_strip(c, v, span, u, m, units, strip, q, 0, 1);
            else
                sum_strip(c, v, span, u, m, units, strip, q, 0, 0);
            for (int k = 0; k < units; k++) v[k] += (size_t)strip * span, m[k] += strip * LANES;
        }
        for (int k = 0; k < units; k++) v[k] += 2 * span; /* lines of zeros between remainders */
    }
}

/* From the sums at the points to a vector of outputs. */
INLINE void put_outputs(const work *w, column at, int vector, const int outputs, const int inside,
                        const int add) {
    const conv_job *c = w->c;
    const size_t point = sum_lines(w);
    const vec b = w->b ? load(w->b + vector * LANES) : (vec){0};
    const float *m = w->m + (size_t)(vector * WINOGRAD_POINTS) * point;
    for (int class = 0; class < w->classes; class ++, m += c->strips * c->strip * LANES) {
        const rows r = rows_of(c, &c->y, at, class);
        const float *from = m;
        float *y = w->y + r.start + vector * LANES;
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
                    store(to, add ? load(to) + out[i] : out[i] + b);
                }
        }
    }
}
INLINE void put_column(const work *w, column at, int vector, const int outputs, const int add) {
    if (at.inside == outputs)
        put_outputs(w, at, vector, outputs, outputs, add);
    else
        put_outputs(w, at, vector, outputs, at.inside, add);
}

INLINE void conv_tile(const work *w, column at, const int outputs, const int strip, const int q) {
    transform_inputs(w, at, outputs);
    for (int p = 0; p < WINOGRAD_POINTS; p++) {
        int unit = 0;
        if (!uses(outputs, p)) continue;
#if LANES == 16
        for (; unit + 2 <= w->units; unit += 2) sum_point(w, unit, p, 2, strip, q);
#endif
        for (; q == 1 && unit < w->units; unit++) sum_point(w, unit, p, 1, strip, 1);
    }
    for (int vector = 0; vector < w->vectors; vector++)
        if (w->c->add)
            put_column(w, at, vector, outputs, 1);
        else
            put_column(w, at, vector, outputs, 0);
}

#define CONV_COLUMN(strip, q)                                                                                \
    static void conv_column_##strip##_##q(const work *w, column at) {                                        \
        if (at.outputs == 4)                                                                                 \
            conv_tile(w, at, 4, strip, q);                                                                   \
        else                                                                                                 \
            conv_tile(w, at, 3, strip, q);                                                                   \
    }
CONV_COLUMN(7, 1)
CONV_COLUMN(8, 1)
CONV_COLUMN(7, 2)
CONV_COLUMN(8, 2)

void JOIN(winograd_conv_, CPU_ISA)(const conv_job *c) {
    each_column(c, c->q == 1 ? (c->strip == 7 ? conv_column_7_1 : conv_column_8_1)
                             : (c->strip == 7 ? conv_column_7_2 : conv_column_8_2));
}

/* ---- dw ---- */

/* Gradients of the outputs of a column at the points. */
INLINE void transform_gradients(const work *w, column at, const int outputs) {
    const size_t point = (size_t)w->lines * LANES;
    for (int class = 0; class < w->classes; class ++) {
        const rows r = rows_of(w->c, &w->c->y, at, class);
        for (int o = 0; o < w->vectors; o++) {
            const float *from = w->y + r.start + o * LANES;
            float *to = w->m + r.line * LANES + (size_t)(o * WINOGRAD_POINTS) * point;
            for (int row = 0; row < r.count; row++, to += LANES, from += r.down) {
                vec y[4], v[WINOGRAD_POINTS];
                UNROLL
                for (int i = 0; i < outputs; i++) y[i] = load(from + (size_t)i * r.across);
                gradient_to_points(y, v, outputs);
                UNROLL
                for (int p = 0; p < WINOGRAD_POINTS; p++)
                    if (uses(outputs, p)) store(to + (size_t)p * point, v[p]);
            }
        }
    }
}

/* `steps` vectors of weights for each of the three rows of taps: inputs of a line with the gradients of the line after it, the
 * same and the line before. */
INLINE void dw_tile(const work *w, const float *v, const float *g, float *dw, const int steps, const int q,
                    const int group) {
    const size_t span = (size_t)w->span;
    vec sum[8][3];
    for (int s = 0; s < steps; s++)
        for (int t = 0; t < 3; t++) sum[s][t] = load(dw + (s * 3 + t) * LANES);
    for (int class = 0; class < w->classes; class ++) {
        const rows r = rows_of(w->c, &w->c->x, (column){0}, class);
        const float *at = v + r.line * span, *gl = g + r.line * LANES;
        vec same = load_twice(gl, q, group), before = {0};
        for (int row = 0; row < r.count; row++, at += span) {
            vec after = load_twice(gl += LANES, q, group);
            for (int s = 0; s < steps; s++) {
                vec x = repeat(at + s * q, q);
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

INLINE void dw_unit(const work *w, int unit, int p, const int q, const int group) {
    const conv_job *c = w->c;
    const float *v = w->v + (size_t)(p * w->lines * w->span) + inputs_of(c, unit);
    const float *g = w->m + (size_t)(unit / q * WINOGRAD_POINTS + p) * (size_t)w->lines * LANES;
    float *dw = w->packed + (size_t)unit * unit_weights(c) + (size_t)p * point_weights(c);
    int s = 0;
#if LANES == 16
    for (; s + 8 <= c->steps; s += 8, v += 8 * q, dw += 24 * LANES) dw_tile(w, v, g, dw, 8, q, group);
#endif
    for (; s + 4 <= c->steps; s += 4, v += 4 * q, dw += 12 * LANES) dw_tile(w, v, g, dw, 4, q, group);
    for (; s < c->steps; s++, v += q, dw += 3 * LANES) dw_tile(w, v, g, dw, 1, q, group);
}

INLINE void dw_column(const work *w, column at, const int q) {
    if (at.outputs == 4) {
        transform_inputs(w, at, 4);
        transform_gradients(w, at, 4);
    } else {
        transform_inputs(w, at, 3);
        transform_gradients(w, at, 3);
    }
    for (int p = 0; p < WINOGRAD_POINTS; p++) {
        if (!uses(at.outputs, p)) continue;
        for (int unit = 0; unit < w->units; unit += q) {
            dw_unit(w, unit, p, q, 0);
            if (q == 2) dw_unit(w, unit + 1, p, q, 1);
        }
    }
}
static void dw_column_1(const work *w, column at) {
    dw_column(w, at, 1);
}
static void dw_column_2(const work *w, column at) {
    dw_column(w, at, 2);
}

void JOIN(winograd_dw_, CPU_ISA)(const conv_job *c) {
    if (!c->add) memset(c->packed, 0, sizeof(float) * (size_t)c->units * unit_weights(c));
    each_column(c, c->q == 1 ? dw_column_1 : dw_column_2);
}
