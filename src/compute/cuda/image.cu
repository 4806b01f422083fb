/* Images: convolutions, and activation with layer norm. */
#include "compute/cuda/product.cuh"

/* ---- convolutions ---- */

/* 1x1 convolutions of one group are products of (all pixels, channels). */
static int is_product(const conv_shape *c) {
    return c->kernel == 1 && c->groups == 1;
}

/* Of one direction; pixels of all samples. */
static double conv_flops(const conv_shape *c, size_t pixels) {
    return 2.0 * (double)pixels * c->out * c->kernel * c->kernel * (c->in / c->groups);
}

/* Output (pixel, o): over the taps and the inputs of its group. */
static __global__ void conv_kernel(conv_shape c, size_t count, float *y, const float *x, const float *w,
                                   const float *b) {
    int radius = c.kernel / 2, gi = c.in / c.groups, go = c.out / c.groups;
    FOR_EACH_INDEX (index, count) {
        int o = (int)(index % (size_t)c.out), first = o / go * gi;
        size_t pixel = index / (size_t)c.out;
        int j = (int)(pixel % (size_t)c.w), i = (int)(pixel / (size_t)c.w % (size_t)c.h);
        const float *at = w + o;
        float sum = b[o];
        for (int di = -radius; di <= radius; di++)
            for (int dj = -radius; dj <= radius; dj++, at += (size_t)gi * (size_t)c.out) {
                int line = i + di * c.dilation, column = j + dj * c.dilation;
                if (line < 0 || line >= c.h || column < 0 || column >= c.w) continue;
                long shift = (long)(di * c.dilation) * c.w + dj * c.dilation;
                const float *from = x + (size_t)((long)pixel + shift) * (size_t)c.in + first;
                for (int k = 0; k < gi; k++) sum += from[k] * at[(size_t)k * (size_t)c.out];
            }
        y[pixel * (size_t)c.y_channels + (size_t)(c.y_offset + o)] = sum;
    }
}

void cuda_conv_forward(device *d, const conv_shape *c, int n, real *y, const real *x, const real *w,
                       const real *b) {
    cuda_device *own = cuda_use(d);
    size_t pixels = (size_t)n * (size_t)c->h * (size_t)c->w, in = (size_t)c->in, out = (size_t)c->out;
    if (pixels == 0) return;
    if (is_product(c)) {
        product p = {pixels,
                     out,
                     in,
                     floats(x),
                     floats(w),
                     floats(b),
                     in,
                     1,
                     out,
                     1,
                     floats(y) + c->y_offset,
                     (size_t)c->y_channels,
                     0,
                     1,
                     0,
                     1};
        product_run(own, p, "1x1 products, forward");
        return;
    }
    launch(own, conv_kernel, blocks_for(pixels * out, THREADS), THREADS, *c, pixels * out, floats(y),
           floats(x), floats(w), floats(b));
    launched_product(own, "3x3 convolutions, forward", conv_flops(c, pixels));
}

/* dx (pixel, i) +=: over the taps that read it and the outputs of its group. */
static __global__ void conv_dx_kernel(conv_shape c, size_t count, float *dx, const float *dy,
                                      const float *w) {
    int radius = c.kernel / 2, gi = c.in / c.groups, go = c.out / c.groups;
    FOR_EACH_INDEX (index, count) {
        int channel = (int)(index % (size_t)c.in), group = channel / gi, k = channel % gi;
        size_t pixel = index / (size_t)c.in;
        int j = (int)(pixel % (size_t)c.w), i = (int)(pixel / (size_t)c.w % (size_t)c.h);
        const float *at = w + (size_t)k * (size_t)c.out + (size_t)(group * go);
        float sum = 0;
        for (int di = -radius; di <= radius; di++)
            for (int dj = -radius; dj <= radius; dj++, at += (size_t)gi * (size_t)c.out) {
                int line = i - di * c.dilation, column = j - dj * c.dilation;
                if (line < 0 || line >= c.h || column < 0 || column >= c.w) continue;
                long shift = (long)(di * c.dilation) * c.w + dj * c.dilation;
                const float *from = dy + (size_t)((long)pixel - shift) * (size_t)c.y_channels +
                                    (size_t)(c.y_offset + group * go);
                for (int o = 0; o < go; o++) sum += from[o] * at[o];
            }
        dx[index] += sum;
    }
}

/* dw of one tap and one input of the groups (blockIdx.x), for all outputs, of a piece of the pixels
 * (blockIdx.y). */
static __global__ void conv_dw_kernel(conv_shape c, size_t pixels, int pieces, float *partial,
                                      const float *dy, const float *x) {
    int gi = c.in / c.groups, go = c.out / c.groups, tap = (int)blockIdx.x / gi, k = (int)blockIdx.x % gi;
    int radius = c.kernel / 2, di = (tap / c.kernel - radius) * c.dilation,
        dj = (tap % c.kernel - radius) * c.dilation;
    size_t weights = (size_t)gridDim.x * (size_t)c.out,
           end = piece_begin(pixels, pieces, (int)blockIdx.y + 1);
    for (int o = (int)threadIdx.x; o < c.out; o += (int)blockDim.x) {
        int channel = o / go * gi + k;
        float sum = 0;
        for (size_t pixel = piece_begin(pixels, pieces, (int)blockIdx.y); pixel < end; pixel++) {
            int j = (int)(pixel % (size_t)c.w), i = (int)(pixel / (size_t)c.w % (size_t)c.h);
            if (i + di < 0 || i + di >= c.h || j + dj < 0 || j + dj >= c.w) continue;
            size_t from = (size_t)((long)pixel + (long)di * c.w + dj);
            sum += x[from * (size_t)c.in + (size_t)channel] *
                   dy[pixel * (size_t)c.y_channels + (size_t)(c.y_offset + o)];
        }
        partial[(size_t)blockIdx.y * weights + (size_t)blockIdx.x * (size_t)c.out + (size_t)o] = sum;
    }
}

/* Under the device's lock. */
static void conv_dw(cuda_device *own, const conv_shape *c, size_t pixels, float *dw, const float *dy,
                    const float *x) {
    int gi = c->in / c->groups;
    size_t rows = (size_t)(c->kernel * c->kernel * gi), weights = rows * (size_t)c->out;
    int pieces = pieces_for(pixels, weights, 128, CUDA_PARTIAL);
    if (is_product(c)) {
        size_t in = (size_t)c->in, out = (size_t)c->out;
        product p = {in, out, pixels, x, dy + c->y_offset, NULL, 1, in, (size_t)c->y_channels, 1, dw, out,
                     0,  1,   0,      1};
        product_of_columns(own, p, "1x1 products, dw");
        return;
    }
    launch(own, conv_dw_kernel, dim3((unsigned)rows, (unsigned)pieces), 64, *c, pixels, pieces, own->partial,
           dy, x);
    launch(own, add_pieces, blocks_for(weights, THREADS), THREADS, dw, own->partial, weights, pieces,
           weights);
    launched_product(own, "3x3 convolutions, dw", conv_flops(c, pixels));
}

void cuda_conv_backward(device *d, const conv_shape *c, int n, real *dx, real *dw, real *db, const real *dy,
                        const real *x, const real *w) {
    cuda_device *own = cuda_use(d);
    size_t pixels = (size_t)n * (size_t)c->h * (size_t)c->w, in = (size_t)c->in, out = (size_t)c->out;
    if (pixels == 0) return;
    if (is_product(c)) {
        product p = {pixels,
                     in,
                     out,
                     floats(dy) + c->y_offset,
                     floats(w),
                     NULL,
                     (size_t)c->y_channels,
                     1,
                     1,
                     out,
                     floats(dx),
                     in,
                     0,
                     1,
                     1,
                     1};
        product_run(own, p, "1x1 products, dx");
    } else {
        launch(own, conv_dx_kernel, blocks_for(pixels * in, THREADS), THREADS, *c, pixels * in, floats(dx),
               floats(dy), floats(w));
        launched_product(own, "3x3 convolutions, dx", conv_flops(c, pixels));
    }
    if (!dw) return;
    pthread_mutex_lock(&own->lock);
    conv_dw(own, c, pixels, floats(dw), floats(dy), floats(x));
    add_column_sums(own, floats(db), floats(dy) + c->y_offset, pixels, out, (size_t)c->y_channels);
    pthread_mutex_unlock(&own->lock);
}

/* ---- activation and layer norm: a block per sample ---- */

static __device__ float act(float x, float slope) {
    return x > 0 ? x : slope * x;
}

/* Mean and 1/sqrt(var + epsilon) of act(x), for all threads of the block. */
static __device__ void moments_of(const norm_shape &s, const float *x, float *mean, float *scale) {
    int count = s.pixels * s.channels;
    float slope = (float)s.slope;
    double sum = 0, square = 0;
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) sum += act(x[i], slope);
    double middle = block_sum_for_all(sum) / count;
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
        double e = act(x[i], slope) - middle;
        square += e * e;
    }
    square = block_sum_for_all(square);
    *mean = (float)middle;
    *scale = (float)(1 / sqrt(square / count + s.epsilon));
}

static __global__ void norm_kernel(norm_shape s, float *y, const float *x, const float *g, const float *b) {
    int count = s.pixels * s.channels;
    float mean, scale, slope = (float)s.slope;
    x += (size_t)blockIdx.x * (size_t)count, y += (size_t)blockIdx.x * (size_t)count;
    moments_of(s, x, &mean, &scale);
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
        int k = s.per_element ? i : i % s.channels;
        y[i] = (act(x[i], slope) - mean) * scale * g[k] + b[k];
    }
}

void cuda_norm_forward(device *d, const norm_shape *s, int n, real *y, const real *x, const real *g,
                       const real *b) {
    cuda_device *own = cuda_use(d);
    if (n < 1) return;
    launch(own, norm_kernel, (unsigned)n, THREADS, *s, floats(y), floats(x), floats(g), floats(b));
    launched(own, "layer norms, forward");
}

/* dx, and the moments of each sample for the gradients of g. */
static __global__ void norm_dx_kernel(norm_shape s, float *dx, float *moments, const float *dy,
                                      const float *x, const float *g) {
    int count = s.pixels * s.channels;
    size_t first = (size_t)blockIdx.x * (size_t)count;
    float mean, scale, slope = (float)s.slope;
    double sum_q = 0, sum_qe = 0;
    dx += first, dy += first, x += first;
    moments_of(s, x, &mean, &scale);
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
        float e = (act(x[i], slope) - mean) * scale, q = dy[i] * g[s.per_element ? i : i % s.channels];
        sum_q += q;
        sum_qe += (double)q * (double)e;
    }
    float mean_q = (float)(block_sum_for_all(sum_q) / count),
          mean_qe = (float)(block_sum_for_all(sum_qe) / count);
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
        float e = (act(x[i], slope) - mean) * scale, q = dy[i] * g[s.per_element ? i : i % s.channels];
        dx[i] = scale * (q - mean_q - e * mean_qe) * (x[i] > 0 ? 1 : slope);
    }
    if (threadIdx.x == 0) {
        moments[2 * blockIdx.x] = mean;
        moments[2 * blockIdx.x + 1] = scale;
    }
}

/* dg and db of parameter k: over a piece (blockIdx.y) of the rows that have it: samples where parameters are
 * of elements, otherwise all pixels. */
static __global__ void norm_dg_kernel(norm_shape s, size_t rows, int pieces, float *partial,
                                      const float *moments, const float *dy, const float *x) {
    int width = s.per_element ? s.pixels * s.channels : s.channels, of_sample = s.per_element ? 1 : s.pixels;
    float slope = (float)s.slope, *to = partial + (size_t)blockIdx.y * 2 * (size_t)width;
    size_t end = piece_begin(rows, pieces, (int)blockIdx.y + 1);
    FOR_EACH_INDEX (k, (size_t)width) {
        float dg = 0, db = 0;
        for (size_t row = piece_begin(rows, pieces, (int)blockIdx.y); row < end; row++) {
            const float *m = moments + 2 * (row / (size_t)of_sample);
            size_t at = row * (size_t)width + k;
            dg += dy[at] * (act(x[at], slope) - m[0]) * m[1];
            db += dy[at];
        }
        to[k] = dg;
        to[(size_t)width + k] = db;
    }
}

/* Of so many samples that their moments take half of the partial sums at most. Under the device's lock. */
static void norm_backward_part(cuda_device *own, const norm_shape *s, size_t n, float *dx, float *dg,
                               float *db, const float *dy, const float *x, const float *g) {
    size_t width = (size_t)s->channels * (s->per_element ? (size_t)s->pixels : 1);
    size_t rows = n * (s->per_element ? 1 : (size_t)s->pixels);
    float *moments = own->partial, *partial = own->partial + CUDA_PARTIAL / 2;
    int pieces = pieces_for(rows, 2 * width, s->per_element ? 8 : 64, CUDA_PARTIAL / 2);
    launch(own, norm_dx_kernel, (unsigned)n, THREADS, *s, dx, moments, dy, x, g);
    launched(own, "layer norms, dx");
    if (!dg) return;
    dim3 grid(blocks_for(width, 64), (unsigned)pieces);
    launch(own, norm_dg_kernel, grid, 64, *s, rows, pieces, partial, moments, dy, x);
    launch(own, add_pieces, blocks_for(width, 64), 64, dg, partial, 2 * width, pieces, width);
    launch(own, add_pieces, blocks_for(width, 64), 64, db, partial + width, 2 * width, pieces, width);
    launched(own, "layer norms, dg and db");
}

void cuda_norm_backward(device *d, const norm_shape *s, int n, real *dx, real *dg, real *db, const real *dy,
                        const real *x, const real *g) {
    cuda_device *own = cuda_use(d);
    size_t count = (size_t)s->pixels * (size_t)s->channels, most = CUDA_PARTIAL / 4, all = (size_t)n;
    pthread_mutex_lock(&own->lock);
    for (size_t at = 0; at < all; at += most)
        norm_backward_part(own, s, all - at < most ? all - at : most, floats(dx) + at * count, floats(dg),
                           floats(db), floats(dy) + at * count, floats(x) + at * count, floats(g));
    pthread_mutex_unlock(&own->lock);
}
