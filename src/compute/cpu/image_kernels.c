/* Kernels of image networks, written with compiler vector extensions and compiled once per instruction set
 * (CPU_ISA). */
#include "compute/cpu/image_kernels.h"
#include "compute/cpu/tile.h"

/* ---- 3x3 convolutions ---- */

#define LONG_TILE 7 /* pixels of the longest tile: accumulators, beside three weights and an input */

#define SWAP_1(i)   ((i) ^ 1)
#define SWAP_2(i)   ((i) ^ 2 % LANES)
#define SWAP_4(i)   ((i) ^ 4 % LANES)
#define SWAP_8(i)   ((i) ^ 8 % LANES)
#define EVERY_2(i)  ((i)*2 % LANES)
#define EVERY_4(i)  ((i)*4 % LANES)
#define EVERY_8(i)  ((i)*8 % LANES)
#define SPREAD_2(i) ((i) / 2)
#define SPREAD_4(i) ((i) / 4)
#define SPREAD_8(i) ((i) / 8)

/* Sums over the q lanes of each output, side by side in the first lanes. */
INLINE vec gather_outputs(vec v, const int q) {
    if (q > 1) v += SHUFFLE(v, SWAP_1);
    if (q > 2) v += SHUFFLE(v, SWAP_2);
    if (q > 4) v += SHUFFLE(v, SWAP_4);
    if (q > 8) v += SHUFFLE(v, SWAP_8);
    return q == 2 ? SHUFFLE(v, EVERY_2) : q == 4 ? SHUFFLE(v, EVERY_4) : q == 8 ? SHUFFLE(v, EVERY_8) : v;
}

/* The LANES / q numbers at p, each q times. */
INLINE vec spread_outputs(const float *p, const int q) {
    if (q == LANES) return repeat(p, 1);
    vec v = load_part(p, q);
    return q == 2 ? SHUFFLE(v, SPREAD_2) : q == 4 ? SHUFFLE(v, SPREAD_4) : q == 8 ? SHUFFLE(v, SPREAD_8) : v;
}

/* `count` of LANES / q outputs. */
INLINE void put_outputs(float *y, vec v, const float *b, int count, int add, const int q) {
    if (count == LANES / q) {
        if (b) v += load_part(b, q);
        if (add) v += load_part(y, q);
        store_part(y, v, q);
        return;
    }
    for (int o = 0; o < count; o++) y[o] = v[o] + (b ? b[o] : 0) + (add ? y[o] : 0);
}

/* Where the first input of each lane's group is. */
INLINE veci joined_lanes(const conv_job *c) {
    veci at;
    for (int l = 0; l < LANES; l++) at[l] = l / c->out * c->in;
    return at;
}

/* `pixels` outputs of one unit, `dilation` apart, so that each input serves three of them. x: the pixel of
 * the first output; rows of taps from `first` to `last` lie inside of the image. */
INLINE void conv_tile(const conv_job *c, const float *x, const float *w, const float *b, float *y, int count,
                      int first, int last, veci lanes, const int pixels, const int q, const int joined) {
    vec sum[LONG_TILE];
    UNROLL
    for (int p = 0; p < pixels; p++) sum[p] = (vec){0};
    size_t step = (size_t)c->dilation * c->x.pixel;
    for (int row = first; row <= last; row++) {
        const float *xr = x + ((ptrdiff_t)row - 1) * c->dilation * (ptrdiff_t)c->x.row - step;
        const float *wr = w + (size_t)row * (size_t)c->steps * 3 * LANES;
        veci from = lanes;
        for (int s = 0; s < c->steps; s++, wr += 3 * LANES) {
            vec left = load(wr), middle = load(wr + LANES), right = load(wr + 2 * LANES);
            const float *at = xr;
            UNROLL
            for (int p = 0; p < pixels + 2; p++, at += step) {
                vec xv = joined ? pick(at, from) : repeat(at, q);
                if (p < pixels) sum[p] += xv * left;
                if (p >= 1 && p <= pixels) sum[p - 1] += xv * middle;
                if (p >= 2) sum[p - 2] += xv * right;
            }
            if (joined)
                from += 1;
            else
                xr += q;
        }
    }
    UNROLL
    for (int p = 0; p < pixels; p++)
        put_outputs(y + (size_t)p * (size_t)c->dilation * c->y.pixel, gather_outputs(sum[p], q), b, count,
                    c->add, q);
}

/* Rows of taps that fall into the image for row i of outputs. */
INLINE int first_tap(const conv_job *c, int i) {
    return i >= c->dilation ? 0 : 1;
}
INLINE int last_tap(const conv_job *c, int i) {
    return i + c->dilation < c->h ? 2 : 1;
}

/* Channels that a unit reads from and writes to, and how many it writes. */
typedef struct unit {
    int in, out, count;
} unit;

INLINE unit unit_of(const conv_job *c, int index) {
    if (c->joined) {
        int first = index * c->joined, rest = c->groups - first;
        return (unit){first * c->in, first * c->out, (rest < c->joined ? rest : c->joined) * c->out};
    }
    int width = LANES / c->q, blocks = (c->out + width - 1) / width, group = index / blocks,
        o = index % blocks * width;
    return (unit){group * c->in, group * c->out + o, c->out - o < width ? c->out - o : width};
}

INLINE void conv_row(const conv_job *c, int i, unit u, const float *w, veci lanes, const int q,
                     const int joined) {
    int first = first_tap(c, i), last = last_tap(c, i);
    const float *b = c->b ? c->b + u.out : NULL;
    for (int column = 0; column < c->dilation && column < c->w; column++) {
        int left = (c->w - column + c->dilation - 1) / c->dilation, j = column;
        while (left > 0) {
            const float *x = c->x.at + (size_t)i * c->x.row + (size_t)j * c->x.pixel + u.in;
            float *y = c->y.at + (size_t)i * c->y.row + (size_t)j * c->y.pixel + u.out;
            int pixels = left >= LONG_TILE ? LONG_TILE : left >= 3 ? 3 : 1;
            if (pixels == LONG_TILE)
                conv_tile(c, x, w, b, y, u.count, first, last, lanes, LONG_TILE, q, joined);
            else if (pixels == 3)
                conv_tile(c, x, w, b, y, u.count, first, last, lanes, 3, q, joined);
            else
                conv_tile(c, x, w, b, y, u.count, first, last, lanes, 1, q, joined);
            j += pixels * c->dilation;
            left -= pixels;
        }
    }
}

INLINE void conv_by(const conv_job *c, const int q, const int joined) {
    veci lanes = joined ? joined_lanes(c) : (veci){0};
    for (int index = 0; index < c->units; index++) {
        unit u = unit_of(c, index);
        const float *w = c->packed + (size_t)index * (size_t)c->steps * 9 * LANES;
        for (int i = 0; i < c->h; i++) conv_row(c, i, u, w, lanes, q, joined);
    }
}

/* By points: winograd.c. */
void JOIN(winograd_conv_, CPU_ISA)(const conv_job *c);
void JOIN(winograd_dw_, CPU_ISA)(const conv_job *c);

static void conv(const conv_job *c) {
    if (c->strip) {
        JOIN(winograd_conv_, CPU_ISA)(c);
        return;
    }
    if (c->joined) {
        conv_by(c, 1, 1);
        return;
    }
#define WITH(q_)                                                                                             \
    if (c->q == q_) conv_by(c, q_, 0);
    EACH_Q(WITH)
#undef WITH
}

/* Gradients of `steps` vectors of weights for each of the three taps of a row: x (i + tap, j) with dy (i, j -
 * tap). */
INLINE void conv_dw_tile(const conv_job *c, int row, int step, const float *x, const float *dy, float *dw,
                         const int steps, const int q, const int joined) {
    vec sum[8][3];
    for (int s = 0; s < steps; s++)
        for (int t = 0; t < 3; t++) sum[s][t] = c->add ? load(dw + (s * 3 + t) * LANES) : (vec){0};
    veci lanes = joined ? joined_lanes(c) + step : (veci){0};
    if (!joined) x += step * q;
    ptrdiff_t shift = (ptrdiff_t)(row - 1) * c->dilation,
              side = (ptrdiff_t)c->dilation * (ptrdiff_t)c->y.pixel;
    int begin = shift < 0 ? (int)-shift : 0, end = shift > 0 ? c->h - (int)shift : c->h;
    for (int i = begin; i < end; i++) {
        const float *xp = x + (i + shift) * (ptrdiff_t)c->x.row, *yp = dy + (size_t)i * c->y.row;
        for (int j = 0; j < c->w; j++, xp += c->x.pixel, yp += c->y.pixel) {
            vec left = spread_outputs(yp + side, q), middle = spread_outputs(yp, q),
                right = spread_outputs(yp - side, q);
            for (int s = 0; s < steps; s++) {
                vec xv = joined ? pick(xp, lanes + s) : repeat(xp + s * q, q);
                sum[s][0] += xv * left;
                sum[s][1] += xv * middle;
                sum[s][2] += xv * right;
            }
        }
    }
    for (int s = 0; s < steps; s++)
        for (int t = 0; t < 3; t++) store(dw + (s * 3 + t) * LANES, sum[s][t]);
}

INLINE void conv_dw_row(const conv_job *c, int row, const float *x, const float *dy, float *dw, const int q,
                        const int joined) {
    int s = 0;
#if LANES == 16
    for (; !joined && s + 8 <= c->steps; s += 8)
        conv_dw_tile(c, row, s, x, dy, dw + s * 3 * LANES, 8, q, joined);
#endif
    for (; s + 4 <= c->steps; s += 4) conv_dw_tile(c, row, s, x, dy, dw + s * 3 * LANES, 4, q, joined);
    for (; s + 2 <= c->steps; s += 2) conv_dw_tile(c, row, s, x, dy, dw + s * 3 * LANES, 2, q, joined);
    if (s < c->steps) conv_dw_tile(c, row, s, x, dy, dw + s * 3 * LANES, 1, q, joined);
}

INLINE void conv_dw_by(const conv_job *c, const int q, const int joined) {
    float *dw = c->packed;
    for (int u = 0; u < c->units; u++) {
        unit at = unit_of(c, u);
        for (int row = 0; row < 3; row++, dw += (size_t)c->steps * 3 * LANES)
            conv_dw_row(c, row, c->x.at + at.in, c->y.at + at.out, dw, q, joined);
    }
}

static void conv_dw(const conv_job *c) {
    if (c->strip) {
        JOIN(winograd_dw_, CPU_ISA)(c);
        return;
    }
    if (c->joined) {
        conv_dw_by(c, 1, 1);
        return;
    }
#define WITH(q_)                                                                                             \
    if (c->q == q_) conv_dw_by(c, q_, 0);
    EACH_Q(WITH)
#undef WITH
}

static void multiply_add(int rows, int cols, int k, const float *x, size_t ldx, const float *w,
                         const float *b, const float *h, float *y, size_t ldy, fetch_list *fetch) {
    product p = {k, x, ldx, 1, w, (size_t)cols, y, ldy, fetch};
    if (h)
        multiply(&p, rows, cols, END_BIAS_PLUS, b, h, 1);
    else if (b)
        multiply(&p, rows, cols, END_BIAS, b, NULL, 1);
    else
        multiply(&p, rows, cols, END_PLAIN, NULL, NULL, 1);
}

extern const norm_kernels JOIN(norm_kernels_, CPU_ISA);
const image_kernels JOIN(image_kernels_, CPU_ISA) = {
    .join = JOIN_VECTORS * LANES,
    .conv = conv,
    .conv_dw = conv_dw,
    .product = multiply_add,
    .norm = &JOIN(norm_kernels_, CPU_ISA),
};
