/* The register tile behind all matrix products: CPU_ROWS rows times WIDE vectors of accumulators, fed by one
 * broadcast per row and WIDE loads per step of k. */
#ifndef JF_COMPUTE_CPU_TILE_H
#define JF_COMPUTE_CPU_TILE_H

#include "compute/cpu/fetch.h"
#include "compute/cpu/vector.h"

typedef struct product { /* c (rows, .) = a (rows, k) b (k, .): a at a[r * a_row + i * a_k] */
    int k;
    const float *a;
    size_t a_row, a_k;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    fetch_list *fetch; /* NULL, or what to fetch meanwhile */
} product;

/* What the sums begin with, and what becomes of them. END_BIAS_ACT: act(bias (cols) + sum); END_MASK: sum
 * act'(extra (rows, cols)); END_BIAS_PLUS: bias + sum + extra. */
typedef enum ending { END_BIAS_ACT, END_MASK, END_PLAIN, END_ADD, END_BIAS, END_BIAS_PLUS } ending;

/* s where h > 0, s * slope elsewhere. A product under a mask is all that it takes; what `choose` is compiled
 * to keeps so many registers busy that the sums of other rows wait in memory. */
INLINE vec mask_by(vec h, vec s, float slope) {
#if LANES == 16
    __mmask16 below = _mm512_cmp_ps_mask((__m512)h, _mm512_setzero_ps(), _CMP_NGT_UQ);
    return (vec)_mm512_mask_mul_ps((__m512)s, below, (__m512)s, _mm512_set1_ps(slope));
#else
    return choose(h > 0, s, s * slope);
#endif
}

/* One tile of `high` rows and `wide` vectors at row r, column j. `high`, `wide` and `end` are constants at
 * every call, so the loops unroll completely. ahead: NULL, or rows like those of the result that will be
 * wanted soon. The tile fetches its share of them into the second cache, a little at every step: all at once
 * they would hold up its own loads. */
INLINE void tile(const product *p, int r, int j, const int high, const int wide, const ending end,
                 const float *bias, const float *extra, float slope, const float *ahead) {
    vec sum[CPU_ROWS][WIDE];
    UNROLL for (int i = 0; i < high; i++) UNROLL for (int v = 0; v < wide; v++) {
        if (end == END_BIAS_ACT || end == END_BIAS || end == END_BIAS_PLUS)
            sum[i][v] = load(bias + j + v * LANES);
        else if (end == END_ADD)
            sum[i][v] = load(p->c + (size_t)(r + i) * p->ldc + j + v * LANES);
        else
            sum[i][v] = (vec){0};
    }
    const float *a = p->a + (size_t)r * p->a_row, *b = p->b + j;
    const char *share = (const char *)(ahead ? ahead + (size_t)r * p->ldc + (size_t)j * CPU_ROWS : NULL);
    const size_t stride = ahead ? sizeof(float) * CPU_ROWS * wide * LANES / (size_t)p->k : 0;
    for (int k = 0; k < p->k; k++, a += p->a_k, b += p->ldb) {
        if (ahead) __builtin_prefetch(share + (size_t)k * stride, 0, 2);
        for (int line = 0; p->fetch && line < 2; line++) fetch_line(p->fetch);
        vec bv[WIDE];
        UNROLL for (int v = 0; v < wide; v++) bv[v] = load(b + v * LANES);
        UNROLL for (int i = 0; i < high; i++) {
            float ai = a[(size_t)i * p->a_row];
            UNROLL for (int v = 0; v < wide; v++) sum[i][v] += ai * bv[v];
        }
    }
    UNROLL for (int i = 0; i < high; i++) UNROLL for (int v = 0; v < wide; v++) {
        size_t at = (size_t)(r + i) * p->ldc + j + v * LANES;
        vec s = sum[i][v];
        if (end == END_BIAS_ACT) s = larger(s, s * slope); /* slope <= 1 */
        if (end == END_MASK) s = mask_by(load(extra + at), s, slope);
        if (end == END_BIAS_PLUS) s += load(extra + at);
        store(p->c + at, s);
    }
}

/* Rows that do not fill a tile get a lower one: of 64 rows the last 4, of a batch of 1000 the last 5 of each
 * slice. */
INLINE void tiles(const product *p, int rows, int j, const int wide, const ending end, const float *bias,
                  const float *extra, float slope, const float *ahead) {
    int r = 0;
    for (; r + CPU_ROWS <= rows; r += CPU_ROWS) tile(p, r, j, CPU_ROWS, wide, end, bias, extra, slope, ahead);
#define LAST(high)                                                                                           \
    if (rows - r == high) tile(p, r, j, high, wide, end, bias, extra, slope, ahead);
    LAST(1) LAST(2) LAST(3) LAST(4) LAST(5)
#undef LAST
}

INLINE void multiply_and_fetch(const product *p, int rows, int cols, const ending end, const float *bias,
                               const float *extra, float slope, const float *ahead) {
    int j = 0;
    for (; j + WIDE * LANES <= cols; j += WIDE * LANES)
        tiles(p, rows, j, WIDE, end, bias, extra, slope, ahead);
#if WIDE == 4
    if (j + 3 * LANES <= cols) tiles(p, rows, j, 3, end, bias, extra, slope, ahead), j += 3 * LANES;
    if (j + 2 * LANES <= cols) tiles(p, rows, j, 2, end, bias, extra, slope, ahead), j += 2 * LANES;
#endif
    if (j < cols) tiles(p, rows, j, 1, end, bias, extra, slope, ahead);
}

INLINE void multiply(const product *p, int rows, int cols, const ending end, const float *bias,
                     const float *extra, float slope) {
    multiply_and_fetch(p, rows, cols, end, bias, extra, slope, NULL);
}

#endif
