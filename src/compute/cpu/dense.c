/* Single dense layers on the cpu device, for callers that compose networks themselves: plain loops that the
 * compiler vectorises over the outputs, and tiles over all threads for the gradient of the weights, which judging uses
 * for covariances. Whole coupling layers (coupling.c) are the fast path. */
#include "compute/cpu/cpu.h"
#include <string.h>

void cpu_dense_forward(device *d, real *y_out, const real *x_in, const real *w_in, const real *b_in, int n,
                       int in, int out, double slope) {
    (void)d;
    const float *x = (const float *)x_in, *w = (const float *)w_in, *b = (const float *)b_in;
    float leak = (float)slope;
    for (size_t s = 0; s < (size_t)n; s++) {
        float *restrict y = (float *)y_out + s * out;
        memcpy(y, b, sizeof(float) * (size_t)out);
        for (int i = 0; i < in; i++)
            for (int o = 0; o < out; o++) y[o] += x[s * in + i] * w[(size_t)i * out + o];
        for (int o = 0; o < out; o++) y[o] = y[o] > 0 ? y[o] : leak * y[o];
    }
}

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

void cpu_dense_backward(device *d, real *dx_out, real *dw_out, real *db_out, real *dy_io, const real *y_in,
                        const real *x_in, const real *w_in, int n, int in, int out, double slope) {
    cpu_device *own = d->own;
    const float *y = (const float *)y_in, *x = (const float *)x_in, *w = (const float *)w_in;
    float *dx = (float *)dx_out, *db = (float *)db_out, leak = (float)slope;
    for (size_t s = 0; s < (size_t)n; s++) {
        float *restrict dy = (float *)dy_io + s * out;
        for (int o = 0; o < out; o++) dy[o] *= y[s * out + o] > 0 ? 1.0f : leak;
        for (int o = 0; db && o < out; o++) db[o] += dy[o];
        for (int i = 0; dx && i < in; i++) {
            float sum = 0;
            for (int o = 0; o < out; o++) sum += dy[o] * w[(size_t)i * out + o];
            dx[s * in + i] = sum;
        }
    }
    weights_call call = {own->kernels, n, in, out, x, (float *)dy_io, (float *)dw_out};
    if (call.dw) pool_run(own->pool, (in + BAND - 1) / BAND, add_band, &call);
}
