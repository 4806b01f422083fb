/* Single dense layers on the cpu device, for callers that compose networks themselves: plain loops that the
 * compiler vectorises over the outputs. Whole coupling layers (coupling.c) are the fast path. */
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

void cpu_dense_backward(device *d, real *dx_out, real *dw_out, real *db_out, real *dy_io, const real *y_in,
                        const real *x_in, const real *w_in, int n, int in, int out, double slope) {
    (void)d;
    const float *y = (const float *)y_in, *x = (const float *)x_in, *w = (const float *)w_in;
    float *dx = (float *)dx_out, *dw = (float *)dw_out, *db = (float *)db_out, leak = (float)slope;
    for (size_t s = 0; s < (size_t)n; s++) {
        float *restrict dy = (float *)dy_io + s * out;
        for (int o = 0; o < out; o++) dy[o] *= y[s * out + o] > 0 ? 1.0f : leak;
        for (int o = 0; db && o < out; o++) db[o] += dy[o];
        for (int i = 0; i < in; i++) {
            float sum = 0, xi = x[s * in + i];
            for (int o = 0; o < out; o++) sum += dy[o] * w[(size_t)i * out + o];
            if (dx) dx[s * in + i] = sum;
            for (int o = 0; dw && o < out; o++) dw[(size_t)i * out + o] += xi * dy[o];
        }
    }
}
