/* Vector kernels, written with compiler vector extensions and compiled once per instruction set (CPU_ISA).
 *
 * All three products of a dense layer are one register tile: CPU_ROWS rows times WIDE vectors of
 * accumulators, fed by one broadcast per row and WIDE loads per step of k. */
#include "compute/cpu/cpu.h"
#include <math.h>

#ifndef CPU_ISA
#define CPU_ISA baseline
#endif
#if defined(__AVX512F__)
#define LANES 16
#define WIDE  4 /* 24 accumulators of 32 registers */
#elif defined(__AVX2__)
#define LANES 8
#define WIDE  2 /* 12 accumulators of 16 registers */
#else
#define LANES 4
#define WIDE  2
#endif

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int veci __attribute__((vector_size(LANES * 4)));
typedef float vec_any __attribute__((vector_size(LANES * 4), aligned(4), may_alias)); /* unaligned access */

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *p) {
    return *(const vec_any *)p;
}
INLINE void store(float *p, vec v) {
    *(vec_any *)p = v;
}
INLINE vec choose(veci mask, vec yes, vec no) {
    return (vec)(((veci)yes & mask) | ((veci)no & ~mask));
}

typedef struct product { /* c (rows, .) = a (rows, k) b (k, .): a at a[r * a_row + i * a_k] */
    int k;
    const float *a;
    size_t a_row, a_k;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
} product;

typedef enum ending { END_BIAS_ACT, END_MASK, END_PLAIN, END_ADD } ending;

/* One tile at row r, column j. `wide` and `end` are constants at every call, so the loops unroll completely.
 */
INLINE void tile(const product *p, int r, int j, const int wide, const ending end, const float *extra,
                 float slope) {
    vec sum[CPU_ROWS][WIDE];
    for (int i = 0; i < CPU_ROWS; i++)
        for (int v = 0; v < wide; v++) {
            if (end == END_BIAS_ACT)
                sum[i][v] = load(extra + j + v * LANES);
            else if (end == END_ADD)
                sum[i][v] = load(p->c + (size_t)(r + i) * p->ldc + j + v * LANES);
            else
                sum[i][v] = (vec){0};
        }
    const float *a = p->a + (size_t)r * p->a_row, *b = p->b + j;
    for (int k = 0; k < p->k; k++, a += p->a_k, b += p->ldb) {
        vec bv[WIDE];
        for (int v = 0; v < wide; v++) bv[v] = load(b + v * LANES);
        for (int i = 0; i < CPU_ROWS; i++) {
            float ai = a[(size_t)i * p->a_row];
            for (int v = 0; v < wide; v++) sum[i][v] += ai * bv[v];
        }
    }
    for (int i = 0; i < CPU_ROWS; i++)
        for (int v = 0; v < wide; v++) {
            size_t at = (size_t)(r + i) * p->ldc + j + v * LANES;
            vec s = sum[i][v];
            if (end == END_BIAS_ACT) s = choose(s > 0, s, s * slope);
            if (end == END_MASK) s = choose(load(extra + at) > 0, s, s * slope);
            store(p->c + at, s);
        }
}

INLINE void multiply(const product *p, int rows, int cols, const ending end, const float *extra,
                     float slope) {
    int j = 0;
    for (; j + WIDE * LANES <= cols; j += WIDE * LANES)
        for (int r = 0; r < rows; r += CPU_ROWS) tile(p, r, j, WIDE, end, extra, slope);
    for (; j < cols; j += LANES)
        for (int r = 0; r < rows; r += CPU_ROWS) tile(p, r, j, 1, end, extra, slope);
}

static void dense(int rows, int cols, int k, const float *x, size_t ldx, const float *w, size_t ldw,
                  const float *b, float slope, float *y, size_t ldy) {
    multiply(&(product){k, x, ldx, 1, w, ldw, y, ldy}, rows, cols, END_BIAS_ACT, b, slope);
}

static void dense_dx(int rows, int cols, int k, const float *dy, size_t lddy, const float *wt, size_t ldwt,
                     const float *h, float slope, float *dx, size_t lddx) {
    product p = {k, dy, lddy, 1, wt, ldwt, dx, lddx};
    if (h)
        multiply(&p, rows, cols, END_MASK, h, slope);
    else
        multiply(&p, rows, cols, END_PLAIN, NULL, 1);
}

static void dense_dw(int rows, int cols, int k, const float *x, size_t ldx, const float *dy, size_t lddy,
                     int accumulate, float *dw, size_t lddw) {
    product p = {k, x, 1, ldx, dy, lddy, dw, lddw};
    if (accumulate)
        multiply(&p, rows, cols, END_ADD, NULL, 1);
    else
        multiply(&p, rows, cols, END_PLAIN, NULL, 1);
}

static void dense_db(int cols, int k, const float *dy, size_t lddy, int accumulate, float *db) {
    for (int j = 0; j < cols; j += LANES) {
        vec sum = accumulate ? load(db + j) : (vec){0};
        for (int i = 0; i < k; i++) sum += load(dy + (size_t)i * lddy + j);
        store(db + j, sum);
    }
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
                 size_t count, const adam_step *a) {
    const float b1 = (float)a->beta1, b2 = (float)a->beta2, scale = (float)a->gradient_scale;
    const float rest1 = (float)(1 - a->beta1),
                rest2 = (float)(1 - a->beta2); /* 1 - 0.999f is off by 1e-5 of itself */
    const float c1 = (float)(a->rate / (1 - pow(a->beta1, (double)a->step)));
    const float c2 = (float)(1 / (1 - pow(a->beta2, (double)a->step))), eps = (float)a->epsilon;
    for (size_t i = 0; i < count; i++) {
        float gi = g[i] * scale;
        m[i] = b1 * m[i] + rest1 * gi;
        v[i] = b2 * v[i] + rest2 * gi * gi;
        p[i] -= c1 * m[i] / (sqrtf(v[i] * c2) + eps);
    }
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

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)
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
    .sum_squares = sum_squares,
};
