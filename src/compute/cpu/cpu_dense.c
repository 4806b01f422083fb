/* Single dense layers on the cpu device, for callers that compose networks themselves, such as embeddings,
 * and tiles for the gradient of the weights, which judging uses for covariances, too. Whole coupling layers
 * (coupling.c) are the fast path. */
#include "compute/cpu/cpu.h"
#include <string.h>

/* ---- products of rows ----
 * Each result is a sum in the order of its terms, in float and without fused operations, however the loops
 * are cut: tiles of two rows and 16 columns, whose sums stay in registers, bands of rows over the threads. */

enum { TILE = 16, PART = 64, BAND_ROWS = 64 };
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

typedef struct rows_call {
    int n, in, out;
    const float *x, *w, *b;
    float *y; /* forward: (n, out); backward: dx (n, in) from x = dy (n, out) */
    float leak;
} rows_call;

/* y (rows, TILE) += x (rows, k) w (k, TILE) of one or two rows. */
static inline __attribute__((always_inline)) void add_tile(const int rows, int k, const float *x, size_t ldx,
                                                           const float *w, size_t ldw, float *y, size_t ldy) {
    four sum[2][TILE / 4];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < TILE / 4; v++) sum[r][v] = *(const four *)(y + (size_t)r * ldy + 4 * v);
    for (int i = 0; i < k; i++)
        for (int v = 0; v < TILE / 4; v++) {
            four weights = *(const four *)(w + (size_t)i * ldw + 4 * v);
            for (int r = 0; r < rows; r++) {
                float a = x[(size_t)r * ldx + i];
                sum[r][v] += (four){a, a, a, a} * weights;
            }
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < TILE / 4; v++) *(four *)(y + (size_t)r * ldy + 4 * v) = sum[r][v];
}

static void add_rows(size_t rows, int k, const float *x, size_t ldx, const float *w, size_t ldw, float *y,
                     size_t ldy) {
    size_t s = 0;
    for (; s + 2 <= rows; s += 2) add_tile(2, k, x + s * ldx, ldx, w, ldw, y + s * ldy, ldy);
    if (s < rows) add_tile(1, k, x + s * ldx, ldx, w, ldw, y + s * ldy, ldy);
}

static void forward_band(void *arg, int task, int worker) {
    (void)worker;
    const rows_call *c = arg;
    size_t first = (size_t)task * BAND_ROWS, left = (size_t)c->n - first,
           rows = left < BAND_ROWS ? left : BAND_ROWS, in = (size_t)c->in, out = (size_t)c->out,
           tiled = out / TILE * TILE;
    const float *x = c->x + first * in;
    float *y = c->y + first * out;
    for (size_t s = 0; s < rows; s++) memcpy(y + s * out, c->b, out * sizeof *y);
    for (size_t o = 0; o < tiled; o += TILE) add_rows(rows, c->in, x, in, c->w + o, out, y + o, out);
    for (size_t s = 0; s < rows; s++) {
        for (size_t i = 0; i < in && tiled < out; i++)
            for (size_t o = tiled; o < out; o++) y[s * out + o] += x[s * in + i] * c->w[i * out + o];
        for (size_t o = 0; o < out; o++)
            y[s * out + o] = y[s * out + o] > 0 ? y[s * out + o] : c->leak * y[s * out + o];
    }
}

void cpu_dense_forward(device *d, real *y, const real *x, const real *w, const real *b, int n, int in,
                       int out, double slope) {
    cpu_device *own = d->own;
    rows_call call = {n,          in,          out, (const float *)x, (const float *)w, (const float *)b,
                      (float *)y, (float)slope};
    pool_run(own->pool, (n + BAND_ROWS - 1) / BAND_ROWS, forward_band, &call);
}

/* dx of TILE inputs from `first` on: the weights are turned a part at a time, so that they lie as a tile
 * wants them. */
static void add_inputs(const rows_call *c, size_t rows, const float *dy, float *dx, int first) {
    float turned[PART][TILE];
    for (int from = 0; from < c->out; from += PART) {
        int count = c->out - from < PART ? c->out - from : PART;
        for (int i = 0; i < TILE; i++)
            for (int o = 0; o < count; o++)
                turned[o][i] = c->w[(size_t)(first + i) * (size_t)c->out + (size_t)(from + o)];
        add_rows(rows, count, dy + from, (size_t)c->out, turned[0], TILE, dx + first, (size_t)c->in);
    }
}

static void backward_band(void *arg, int task, int worker) {
    (void)worker;
    const rows_call *c = arg;
    size_t first = (size_t)task * BAND_ROWS, left = (size_t)c->n - first,
           rows = left < BAND_ROWS ? left : BAND_ROWS, in = (size_t)c->in, out = (size_t)c->out;
    const float *dy = c->x + first * out;
    float *dx = c->y + first * in;
    int tiled = c->in / TILE * TILE;
    memset(dx, 0, rows * in * sizeof *dx);
    for (int i = 0; i < tiled; i += TILE) add_inputs(c, rows, dy, dx, i);
    for (size_t s = 0; s < rows; s++)
        for (size_t i = (size_t)tiled; i < in; i++)
            for (size_t o = 0; o < out; o++) dx[s * in + i] += dy[s * out + o] * c->w[i * out + o];
}

/* ---- gradients of weights ---- */

/* dw (in, out) += x (n, in)^t dy (n, out), one band of rows per task. */
typedef struct weights_call {
    const cpu_kernels *kernels;
    int n, in, out;
    const float *x, *dy;
    float *dw;
} weights_call;

enum { BAND = 8 * CPU_ROWS };

static void add_plainly(const weights_call *c, int row, int first, int end) {
    float *restrict dw = c->dw + (size_t)row * c->out;
    for (size_t s = 0; s < (size_t)c->n; s++) {
        float xi = c->x[s * c->in + row];
        for (int o = first; o < end; o++) dw[o] += xi * c->dy[s * c->out + o];
    }
}

/* Whole tiles by the kernel, what is left at the edges by loops. */
static void add_band(void *arg, int task, int worker) {
    (void)worker;
    const weights_call *c = arg;
    int begin = task * BAND, end = begin + BAND < c->in ? begin + BAND : c->in;
    int rows = (end - begin) / CPU_ROWS * CPU_ROWS, cols = c->out / c->kernels->vector * c->kernels->vector;
    if (rows > 0 && cols > 0)
        c->kernels->dense_dw(rows, cols, c->n, c->x + begin, (size_t)c->in, c->dy, (size_t)c->out, 1,
                             c->dw + (size_t)begin * c->out, (size_t)c->out);
    for (int i = begin; i < end; i++) add_plainly(c, i, i < begin + rows ? cols : 0, c->out);
}

void cpu_dense_backward(device *d, real *dx, real *dw, real *db_out, real *dy_io, const real *y_in,
                        const real *x, const real *w, int n, int in, int out, double slope) {
    cpu_device *own = d->own;
    const float *y = (const float *)y_in;
    float *db = (float *)db_out, leak = (float)slope;
    for (size_t s = 0; s < (size_t)n; s++) {
        float *restrict dy = (float *)dy_io + s * out;
        for (int o = 0; o < out; o++) dy[o] *= y[s * out + o] > 0 ? 1.0f : leak;
        for (int o = 0; db && o < out; o++) db[o] += dy[o];
    }
    rows_call inputs = {
        .n = n, .in = in, .out = out, .x = (const float *)dy_io, .w = (const float *)w, .y = (float *)dx};
    if (dx) pool_run(own->pool, (n + BAND_ROWS - 1) / BAND_ROWS, backward_band, &inputs);
    weights_call call = {own->kernels, n, in, out, (const float *)x, (float *)dy_io, (float *)dw};
    if (call.dw) pool_run(own->pool, (in + BAND - 1) / BAND, add_band, &call);
}
