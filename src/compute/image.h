/* Convolution and layer norm of one sample, over `num`, which the including device defines as its number
 * type. Written once: the reference device runs them as they are, the cpu device over many samples at once.
 * All gradients accumulate except dx of the norm. */
#ifndef JF_COMPUTE_IMAGE_H
#define JF_COMPUTE_IMAGE_H

#include "compute/compute.h"
#include <string.h>
#include <tgmath.h>

/* First output row (or column) that a tap reaches, and the one past the last: the others read padding. */
static inline int image_first(int shift) {
    return shift < 0 ? -shift : 0;
}
static inline int image_end(int size, int shift) {
    return shift > 0 ? size - shift : size;
}

/* One tap (row shift di, column shift dj) of a convolution: pixel (i, j) of y and (i + di, j + dj) of x. */
typedef struct image_tap {
    int di, dj;
    size_t w; /* offset of its weights (in/groups, out) */
} image_tap;

static inline int image_taps(const conv_shape *c, image_tap taps[9]) {
    int radius = c->kernel / 2, count = 0;
    size_t step = (size_t)(c->in / c->groups) * (size_t)c->out;
    for (int di = -radius; di <= radius; di++)
        for (int dj = -radius; dj <= radius; dj++, count++)
            taps[count] = (image_tap){di * c->dilation, dj * c->dilation, (size_t)count * step};
    return count;
}

/* y[g, o] += sum_i x[g, i] w[i, g, o] for one pixel. */
static inline void image_pixel(int groups, int gi, int go, const num *restrict x, const num *restrict w,
                               num *restrict y) {
    int out = groups * go;
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < gi; i++) {
            num xi = x[g * gi + i];
            const num *row = w + (size_t)i * out + g * go;
            for (int o = 0; o < go; o++) y[g * go + o] += xi * row[o];
        }
}

static inline void image_conv_forward(const conv_shape *c, num *y, const num *x, const num *w, const num *b) {
    image_tap taps[9];
    int count = image_taps(c, taps), gi = c->in / c->groups, go = c->out / c->groups;
    for (int p = 0; p < c->h * c->w; p++)
        memcpy(y + (size_t)p * c->y_channels + c->y_offset, b, sizeof(num) * (size_t)c->out);
    for (int t = 0; t < count; t++)
        for (int i = image_first(taps[t].di); i < image_end(c->h, taps[t].di); i++)
            for (int j = image_first(taps[t].dj); j < image_end(c->w, taps[t].dj); j++)
                image_pixel(c->groups, gi, go, x + ((size_t)(i + taps[t].di) * c->w + j + taps[t].dj) * c->in,
                            w + taps[t].w, y + ((size_t)i * c->w + j) * c->y_channels + c->y_offset);
}

/* dx[g, i] += sum_o dy[g, o] w[i, g, o];  dw[i, g, o] += x[g, i] dy[g, o]; for one pixel. */
static inline void image_pixel_backward(int groups, int gi, int go, num *restrict dx, num *restrict dw,
                                        const num *restrict dy, const num *restrict x,
                                        const num *restrict w) {
    int out = groups * go;
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < gi; i++) {
            size_t at = (size_t)i * out + g * go;
            num sum = 0, xi = x[g * gi + i];
            for (int o = 0; o < go; o++) sum += dy[g * go + o] * w[at + o];
            if (dw)
                for (int o = 0; o < go; o++) dw[at + o] += xi * dy[g * go + o];
            dx[g * gi + i] += sum;
        }
}

static inline void image_conv_backward(const conv_shape *c, num *dx, num *dw, num *db, const num *dy,
                                       const num *x, const num *w) {
    image_tap taps[9];
    int count = image_taps(c, taps), gi = c->in / c->groups, go = c->out / c->groups;
    for (int p = 0; db && p < c->h * c->w; p++)
        for (int o = 0; o < c->out; o++) db[o] += dy[(size_t)p * c->y_channels + c->y_offset + o];
    for (int t = 0; t < count; t++)
        for (int i = image_first(taps[t].di); i < image_end(c->h, taps[t].di); i++)
            for (int j = image_first(taps[t].dj); j < image_end(c->w, taps[t].dj); j++) {
                size_t from = ((size_t)(i + taps[t].di) * c->w + j + taps[t].dj) * c->in;
                image_pixel_backward(c->groups, gi, go, dx + from, dw ? dw + taps[t].w : NULL,
                                     dy + ((size_t)i * c->w + j) * c->y_channels + c->y_offset, x + from,
                                     w + taps[t].w);
            }
}

static inline num image_act(num x, num slope) {
    return x > 0 ? x : slope * x;
}

/* Mean and 1/sqrt(var + epsilon) of act(x), in double: the sums are long. */
static inline void image_moments(const norm_shape *s, const num *x, double *mean, double *scale) {
    size_t count = (size_t)s->pixels * s->channels;
    double sum = 0, square = 0;
    num slope = (num)s->slope;
    for (size_t i = 0; i < count; i++) sum += (double)image_act(x[i], slope);
    *mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        double e = (double)image_act(x[i], slope) - *mean;
        square += e * e;
    }
    *scale = 1 / sqrt(square / (double)count + s->epsilon);
}

static inline void image_norm_forward(const norm_shape *s, num *y, const num *x, const num *g, const num *b) {
    double mean, scale;
    image_moments(s, x, &mean, &scale);
    num m = (num)mean, r = (num)scale, slope = (num)s->slope;
    for (int p = 0; p < s->pixels; p++)
        for (int c = 0; c < s->channels; c++) {
            size_t i = (size_t)p * s->channels + c, k = s->per_element ? i : (size_t)c;
            y[i] = (image_act(x[i], slope) - m) * r * g[k] + b[k];
        }
}

/* With e = (t - mean) r and q = dy g:  dt = r (q - mean(q) - e mean(q e));  dx = act'(x) dt;  dg += dy e;  db
 * += dy. */
static inline void image_norm_backward(const norm_shape *s, num *dx, num *dg, num *db, const num *dy,
                                       const num *x, const num *g) {
    size_t count = (size_t)s->pixels * s->channels;
    double mean, scale, sum_q = 0, sum_qe = 0;
    image_moments(s, x, &mean, &scale);
    num m = (num)mean, r = (num)scale, slope = (num)s->slope;
    for (int p = 0; p < s->pixels; p++)
        for (int c = 0; c < s->channels; c++) {
            size_t i = (size_t)p * s->channels + c, k = s->per_element ? i : (size_t)c;
            num e = (image_act(x[i], slope) - m) * r, q = dy[i] * g[k];
            sum_q += (double)q;
            sum_qe += (double)(q * e);
            if (dg) dg[k] += dy[i] * e;
            if (db) db[k] += dy[i];
        }
    num mean_q = (num)(sum_q / (double)count), mean_qe = (num)(sum_qe / (double)count);
    for (int p = 0; p < s->pixels; p++)
        for (int c = 0; c < s->channels; c++) {
            size_t i = (size_t)p * s->channels + c, k = s->per_element ? i : (size_t)c;
            num e = (image_act(x[i], slope) - m) * r;
            dx[i] = r * (dy[i] * g[k] - mean_q - e * mean_qe) * (x[i] > 0 ? 1 : slope);
        }
}

#endif
