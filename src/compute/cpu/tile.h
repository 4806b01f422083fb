/* The register tile behind all matrix products: CPU_ROWS rows times WIDE vectors of accumulators, fed by one broadcast per
 * row and WIDE loads per step of k. */
#ifndef JF_COMPUTE_CPU_TILE_H
#define JF_COMPUTE_CPU_TILE_H

#include "compute/cpu/cpu.h"
#include "compute/cpu/vector.h"

typedef struct product { /* c (rows, .) = a (rows, k) b (k, .): a at a[r * a_row + i * a_k] */
    int k;
    const float *a;
    size_t a_row, a_k;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
} product;

/* What the sums begin with, and what becomes of them. END_BIAS_ACT: act(bias (cols) + sum); END_MASK: sum act'(extra (rows,
 * cols)); END_BIAS_PLUS: bias + sum + extra. */
typedef enum ending { END_BIAS_ACT, END_MASK, END_PLAIN, END_ADD, END_BIAS, END_BIAS_PLUS } ending;

/* One tile at row r, column j. `wide` and `end` are constants at every call, so the loops unroll completely.
 */
INLINE void tile(const product *p, int r, int j, const int wide, const ending end, const float *bias,
                 const float *extra, float slope) {
    vec sum[CPU_ROWS][WIDE];
    for (int i = 0; i < CPU_ROWS; i++)
        for (int v = 0; v < wide; v++) {
            if (end == END_BIAS_ACT || end == END_BIAS || end == END_BIAS_PLUS)
                sum[i][v] = load(bias + j + v * LANES);
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
            if (end == END_BIAS_PLUS) s += load(extra + at);
            store(p->c + at, s);
        }
}

INLINE void tiles(const product *p, int rows, int j, const int wide, const ending end, const float *bias,
                  const float *extra, float slope) {
    for (int r = 0; r < rows; r += CPU_ROWS) tile(p, r, j, wide, end, bias, extra, slope);
}

INLINE void multiply(const product *p, int rows, int cols, const ending end, const float *bias,
                     const float *extra, float slope) {
    int j = 0;
    for (; j + WIDE * LANES <= cols; j += WIDE * LANES) tiles(p, rows, j, WIDE, end, bias, extra, slope);
#if WIDE == 4
    if (j + 3 * LANES <= cols) tiles(p, rows, j, 3, end, bias, extra, slope), j += 3 * LANES;
    if (j + 2 * LANES <= cols) tiles(p, rows, j, 2, end, bias, extra, slope), j += 2 * LANES;
#endif
    if (j < cols) tiles(p, rows, j, 1, end, bias, extra, slope);
}

#endif
