/* What operators of image networks read and write (image_product.cuh), and the layer norms between them.
 *
 * A norm reads activations, applies the Leaky ReLU, and normalises by mean and deviation of the sample. Its forward direction has no
 * kernel: the operator before sums, the one behind applies. On the way back the operator behind leaves the gradient of the
 * normalised activations and two sums of each sample; norm_back_kernel makes of these the gradient of the activations, and
 * partial gradients of scale and bias. */
#ifndef JF_COMPUTE_CUDA_IMAGE_NORM_CUH
#define JF_COMPUTE_CUDA_IMAGE_NORM_CUH

#include "compute/cuda/image_product.cuh"

/* Sums of the bands of samples: (n, MAX_BANDS) of each network. */
typedef struct band_sums {
    float2 *at[2];
    int bands;
} band_sums;
static __device__ inline double2 sum_of_bands(const band_sums &s, int net, int sample) {
    const float2 *at = s.at[net] + (size_t)sample * MAX_BANDS;
    double2 sum = make_double2(0, 0);
    for (int i = 0; i < s.bands; i++) sum.x += at[i].x, sum.y += at[i].y;
    return sum;
}

static __device__ inline float leaky(float x, float slope) {
    return x > 0 ? x : slope * x;
}

/* A norm of both networks: packed scale and bias, and where mean and deviation come from. */
template <class M> struct norm_view {
    const typename M::number *g[2], *b[2];
    int channels, per_element;
    float slope, epsilon;
    double count; /* elements of a sample */
    band_sums sums;

    /* mean and 1 / deviation */
    __device__ float2 moments(int net, int sample) const {
        double2 s = sum_of_bands(sums, net, sample);
        double mean = s.x / count, var = s.y / count - mean * mean;
        return make_float2((float)mean, (float)(1 / sqrt((var > 0 ? var : 0) + (double)epsilon)));
    }
    __device__ size_t place(int pixel, int channel) const {
        return (per_element ? (size_t)pixel * (size_t)channels : 0) + (size_t)channel;
    }
};

/* ---- what operators read ---- */

/* Activations, normalised. */
template <class M> struct norm_load {
    struct raw {
        typename M::eight x, g, b;
    };
    const typename M::number *x[2];
    norm_view<M> norm;
    int pixels;
    divider by_slots;
    __device__ float2 moments(int net, int sample) const { return norm.moments(net, sample); }
    __device__ void fetch(raw &r, int net, int sample, int pixel, int slot) const {
        size_t at = norm.place(pixel, slot * SLOT);
        r.x = M::fetch(x[net] + ((size_t)sample * (size_t)pixels + (size_t)pixel) * (size_t)norm.channels +
                       (size_t)(slot * SLOT));
        r.g = M::fetch(norm.g[net] + at);
        r.b = M::fetch(norm.b[net] + at);
    }
    __device__ void finish(float v[8], const raw &r, float2 m) const {
        float g[8], b[8];
        M::floats_of(v, r.x);
        M::floats_of(g, r.g);
        M::floats_of(b, r.b);
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] = fmaf((leaky(v[i], norm.slope) - m.x) * m.y, g[i], b[i]);
    }
};

/* Numbers as they are. */
template <class M> struct plain_load {
    typedef typename M::eight raw;
    const typename M::number *x[2];
    int pixels, channels;
    divider by_slots;
    __device__ float2 moments(int, int) const { return make_float2(0, 1); }
    __device__ void fetch(raw &r, int net, int sample, int pixel, int slot) const {
        r = M::fetch(x[net] + ((size_t)sample * (size_t)pixels + (size_t)pixel) * (size_t)channels +
                     (size_t)(slot * SLOT));
    }
    __device__ void finish(float v[8], const raw &r, float2) const { M::floats_of(v, r); }
};

/* Floats of any number of channels, those that are missing being 0: of the state, through a map, or of an array. */
struct float_load {
    struct raw {
        float v[8];
    };
    const float *x[2];
    const int32_t *map; /* NULL: none */
    size_t stride[2];   /* from sample to sample */
    int channels[2];
    divider by_slots;
    __device__ float2 moments(int, int) const { return make_float2(0, 1); }
    __device__ void fetch(raw &r, int net, int sample, int pixel, int slot) const {
        const float *from = x[net] + (size_t)sample * stride[net];
        size_t at = (size_t)pixel * (size_t)channels[net];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int channel = slot * SLOT + i;
            r.v[i] = channel >= channels[net] ? 0
                     : map                    ? from[map[at + (size_t)channel]]
                                              : from[at + (size_t)channel];
        }
    }
    __device__ void finish(float v[8], const raw &r, float2) const {
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] = r.v[i];
    }
};

/* ---- what becomes of their results ---- */

/* Activations: with bias, added to others where there are such, and summed for their norm. */
template <class M> struct act_store {
    typename M::number *y[2];
    const typename M::number *shortcut[2]; /* may be y itself */
    const float *bias[2];
    int pixels, channels;
    float slope;
    band_sums sums;
    __device__ float2 moments(int, int) const { return make_float2(0, 1); }
    __device__ void pair(int net, int sample, int pixel, int channel, float a, float b, float2, float &sum,
                         float &square) const {
        size_t at = ((size_t)sample * (size_t)pixels + (size_t)pixel) * (size_t)channels + (size_t)channel;
        float2 shift = *(const float2 *)(bias[net] + channel);
        a += shift.x, b += shift.y;
        if (shortcut[net]) {
            float2 h = M::get2(shortcut[net] + at);
            a += h.x, b += h.y;
        }
        M::put2(y[net] + at, a, b);
        a = leaky(a, slope), b = leaky(b, slope);
        sum += a + b;
        square += a * a + b * b;
    }
    __device__ void take(int net, int sample, int band, float2 sum) const {
        sums.at[net][(size_t)sample * MAX_BANDS + (size_t)band] = sum;
    }
};

/* Floats of any number of channels: a network's outputs, or the gradient of what it read. */
struct float_store {
    float *y[2];
    const float *bias[2]; /* NULL: none */
    size_t stride[2];
    int channels[2];
    __device__ float2 moments(int, int) const { return make_float2(0, 1); }
    __device__ void pair(int net, int sample, int pixel, int channel, float a, float b, float2, float &,
                         float &) const {
        float *to =
            y[net] + (size_t)sample * stride[net] + (size_t)pixel * (size_t)channels[net] + (size_t)channel;
        to[0] = a + (bias[net] ? bias[net][channel] : 0);
        if (channel + 1 < channels[net]) to[1] = b + (bias[net] ? bias[net][channel + 1] : 0);
    }
    __device__ void take(int, int, int, float2) const {}
};

/* The gradient q of normalised activations: with it the sums of q g and q g e, e being what the norm made of them. */
template <class M> struct gradient_store {
    typename M::number *q[2];
    const typename M::number *x[2]; /* the activations */
    norm_view<M> norm;
    int pixels;
    band_sums sums;
    __device__ float2 moments(int net, int sample) const { return norm.moments(net, sample); }
    __device__ void pair(int net, int sample, int pixel, int channel, float a, float b, float2 m, float &sum,
                         float &product) const {
        size_t at =
            ((size_t)sample * (size_t)pixels + (size_t)pixel) * (size_t)norm.channels + (size_t)channel;
        float2 g = M::get2(norm.g[net] + norm.place(pixel, channel)), v = M::get2(x[net] + at);
        M::put2(q[net] + at, a, b);
        a *= g.x, b *= g.y;
        sum += a + b;
        product += a * (leaky(v.x, norm.slope) - m.x) * m.y + b * (leaky(v.y, norm.slope) - m.x) * m.y;
    }
    __device__ void take(int net, int sample, int band, float2 sum) const {
        sums.at[net][(size_t)sample * MAX_BANDS + (size_t)band] = sum;
    }
};

/* ---- the way back through a norm ---- */

enum { NORM_SAMPLES = 32 }; /* of a piece, at most */

template <class M> struct norm_back_call {
    const typename M::number *q[2], *x[2];
    typename M::number *dx[2];
    int add; /* to what dx holds */
    norm_view<M> norm;
    band_sums sums;                   /* of q g and q g e */
    int n, elements, each, first_net; /* each: samples of a piece */
    float *partial[2];                /* NULL: not wanted; of this norm, in the first piece */
    size_t stride;                    /* from piece to piece */
};

/* With t = act(x), e = (t - mean) r and p = q g: dt = r (p - mean(p) - e mean(p e)), dx = act'(x) dt. A thread has eight
 * elements, of all samples of a piece. */
template <class M>
static __global__ void __launch_bounds__(NORM_THREADS)
    norm_back_kernel(const __grid_constant__ norm_back_call<M> c) {
    __shared__ float4 numbers[NORM_SAMPLES]; /* of each sample: mean, r, mean(p), mean(p e) */
    const int net = c.first_net + (int)blockIdx.z, first = (int)blockIdx.y * c.each,
              samples = c.n - first < c.each ? c.n - first : c.each;
    if ((int)threadIdx.x < samples) {
        float2 m = c.norm.moments(net, first + (int)threadIdx.x);
        double2 s = sum_of_bands(c.sums, net, first + (int)threadIdx.x);
        numbers[threadIdx.x] =
            make_float4(m.x, m.y, (float)(s.x / c.norm.count), (float)(s.y / c.norm.count));
    }
    __syncthreads();
    const int element = ((int)blockIdx.x * NORM_THREADS + (int)threadIdx.x) * SLOT,
              present = element < c.elements;
    float dg[8] = {0, 0, 0, 0, 0, 0, 0, 0}, db[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (present) {
        float g[8];
        M::floats_of(g, M::fetch(c.norm.g[net] + (c.norm.per_element ? element : element % c.norm.channels)));
        size_t at = (size_t)first * (size_t)c.elements + (size_t)element;
#pragma unroll 4
        for (int i = 0; i < samples; i++, at += (size_t)c.elements) {
            float q[8], x[8], dx[8];
            const float4 m = numbers[i];
            M::floats_of(q, M::fetch(c.q[net] + at));
            M::floats_of(x, M::fetch(c.x[net] + at));
            if (c.add) M::floats_of(dx, M::fetch(c.dx[net] + at));
#pragma unroll
            for (int k = 0; k < 8; k++) {
                float e = (leaky(x[k], c.norm.slope) - m.x) * m.y;
                float d = m.y * (q[k] * g[k] - m.z - e * m.w) * (x[k] > 0 ? 1 : c.norm.slope);
                dx[k] = c.add ? dx[k] + d : d;
                dg[k] += q[k] * e;
                db[k] += q[k];
            }
            M::put8(c.dx[net] + at, dx);
        }
    }
    if (!c.partial[net]) return;
    float *to = c.partial[net] + (size_t)blockIdx.y * c.stride;
    if (c.norm.per_element) {
        if (!present) return;
        for (int k = 0; k < 8; k++) to[element + k] = dg[k], to[c.elements + element + k] = db[k];
        return;
    }
    /* Of each channel the sum over the threads that have it, in their order. */
    __shared__ float all[NORM_THREADS][SLOT + 1];
    const int slots = c.norm.channels / SLOT, offset = (int)blockIdx.x * NORM_THREADS % slots;
    to += (size_t)blockIdx.x * 2 * (size_t)c.norm.channels;
    for (int which = 0; which < 2; which++) {
        __syncthreads();
        for (int k = 0; k < SLOT; k++) all[threadIdx.x][k] = which ? db[k] : dg[k];
        __syncthreads();
        for (int channel = (int)threadIdx.x; channel < c.norm.channels; channel += NORM_THREADS) {
            float sum = 0;
            for (int i = (channel / SLOT - offset + slots) % slots; i < NORM_THREADS; i += slots)
                sum += all[i][channel % SLOT];
            to[which * c.norm.channels + channel] = sum;
        }
    }
}

#endif
