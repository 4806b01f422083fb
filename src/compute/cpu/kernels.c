/* Vector kernels, written with compiler vector extensions and compiled once per instruction set (CPU_ISA).
 * All three products of a dense layer are the register tile of tile.h. */
#include "compute/cpu/tile.h"
#include <math.h>

static void dense(int rows, int cols, int k, const float *x, size_t ldx, const float *w, size_t ldw,
                  const float *b, float slope, float *y, size_t ldy, const float *ahead) {
    product p = {k, x, ldx, 1, w, ldw, y, ldy, NULL};
    multiply_and_fetch(&p, rows, cols, END_BIAS_ACT, b, NULL, slope, ahead);
}

static void dense_dx(int rows, int cols, int k, const float *dy, size_t lddy, const float *wt, size_t ldwt,
                     const float *h, float slope, float *dx, size_t lddx, const float *ahead) {
    product p = {k, dy, lddy, 1, wt, ldwt, dx, lddx, NULL};
    if (h)
        multiply_and_fetch(&p, rows, cols, END_MASK, NULL, h, slope, ahead);
    else
        multiply(&p, rows, cols, END_PLAIN, NULL, NULL, 1);
}

static void dense_dw(int rows, int cols, int k, const float *x, size_t ldx, const float *dy, size_t lddy,
                     int accumulate, float *dw, size_t lddw) {
    product p = {k, x, 1, ldx, dy, lddy, dw, lddw, NULL};
    if (accumulate)
        multiply(&p, rows, cols, END_ADD, NULL, NULL, 1);
    else
        multiply(&p, rows, cols, END_PLAIN, NULL, NULL, 1);
}

/* Sums of `wide` vectors of columns at once: additions of one alone would wait for each other. */
INLINE void column_sums(int k, const float *dy, size_t lddy, int accumulate, float *db, const int wide) {
    vec sum[4];
    for (int v = 0; v < wide; v++) sum[v] = accumulate ? load(db + v * LANES) : (vec){0};
    for (int i = 0; i < k; i++)
        for (int v = 0; v < wide; v++) sum[v] += load(dy + (size_t)i * lddy + v * LANES);
    for (int v = 0; v < wide; v++) store(db + v * LANES, sum[v]);
}

static void dense_db(int cols, int k, const float *dy, size_t lddy, int accumulate, float *db) {
    int j = 0;
    for (; j + 4 * LANES <= cols; j += 4 * LANES) column_sums(k, dy + j, lddy, accumulate, db + j, 4);
    for (; j < cols; j += LANES) column_sums(k, dy + j, lddy, accumulate, db + j, 1);
}

/* Few outputs would leave most of a register tile empty: inner products along k instead. */
static void dense_dot(int rows, int outs, int k, const float *x, size_t ldx, const float *wt, size_t ldwt,
                      const float *b, float *y, size_t ldy) {
    for (int r = 0; r < rows; r += CPU_ROWS)
        for (int o = 0; o < outs; o++) {
            vec sum[CPU_ROWS] = {{0}};
            for (int i = 0; i < k; i += LANES) {
                vec w = load(wt + (size_t)o * ldwt + i);
                for (int j = 0; j < CPU_ROWS; j++) sum[j] += load(x + (size_t)(r + j) * ldx + i) * w;
            }
            float total[CPU_ROWS] = {0};
            for (int l = 0; l < LANES; l++)
                for (int j = 0; j < CPU_ROWS; j++) total[j] += sum[j][l];
            for (int j = 0; j < CPU_ROWS; j++) y[(size_t)(r + j) * ldy + o] = total[j] + (b ? b[o] : 0);
        }
}

static void add_parts(float *to, const float *parts, size_t stride, int parts_count, size_t count) {
    size_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        vec sum = load(to + j);
        for (int i = 0; i < parts_count; i++) sum += load(parts + (size_t)i * stride + j);
        store(to + j, sum);
    }
    for (; j < count; j++)
        for (int i = 0; i < parts_count; i++) to[j] += parts[(size_t)i * stride + j];
}

static void adam(float *restrict p, const float *restrict g, float *restrict m, float *restrict v,
                 size_t count, const adam_numbers *a) {
    const float b1 = (float)a->beta1, b2 = (float)a->beta2, scale = (float)a->gradient_scale;
    const float rest1 = (float)(1 - a->beta1),
                rest2 = (float)(1 - a->beta2); /* 1 - 0.999f is off by 1e-5 of itself */
    const float c1 = (float)(a->rate / (1 - pow(a->beta1, a->step)));
    const float c2 = (float)(1 / (1 - pow(a->beta2, a->step))), eps = (float)a->epsilon;
    for (size_t i = 0; i < count; i++) {
        float gi = g[i] * scale;
        m[i] = b1 * m[i] + rest1 * gi;
        v[i] = b2 * v[i] + rest2 * gi * gi;
        p[i] -= c1 * m[i] / (sqrtf(v[i] * c2) + eps);
    }
}

static void decay(float *restrict p, const float *restrict decays, size_t count, const adam_numbers *a) {
    const float share = (float)(a->rate * a->decay);
    for (size_t i = 0; i < count; i++) p[i] -= share * decays[i] * p[i];
}

static void average(float *restrict to, const float *restrict p, size_t count, const adam_numbers *a) {
    const float rest = (float)(1 - a->average);
    for (size_t i = 0; i < count; i++) to[i] += rest * (p[i] - to[i]);
}

static double sum_squares(const float *x, size_t count) {
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += (double)x[i + k] * x[i + k];
    for (; i < count; i++) sum[0] += (double)x[i] * x[i];
    double total = 0;
    for (int k = 0; k < 8; k++) total += sum[k];
    return total;
}

extern const image_kernels JOIN(image_kernels_, CPU_ISA);
const cpu_kernels JOIN(cpu_kernels_, CPU_ISA) = {
    .isa = TEXT(CPU_ISA),
    .vector = LANES,
    .dense = dense,
    .dense_dx = dense_dx,
    .dense_dw = dense_dw,
    .dense_db = dense_db,
    .dense_dot = dense_dot,
    .add_parts = add_parts,
    .adam = adam,
    .decay = decay,
    .average = average,
    .sum_squares = sum_squares,
    .image = &JOIN(image_kernels_, CPU_ISA),
};
