/* What operators of image networks read and write (image_product.cuh), and the layer norms between them.
 *
 * A norm reads activations, applies the Leaky ReLU, and normalises by mean and deviation of the sample. Its
 * forward direction has no kernel: the operator before sums, the one behind applies. In the backward pass the
 * operator behind leaves the gradient of the normalised activations and two sums of each sample;
 * norm_back_kernel makes of these the gradient of the activations, partial gradients of scale and bias, and
 * the normalised activations again, which the gradient of weights reads. */
#ifndef JF_COMPUTE_CUDA_IMAGE_NORM_CUH
#define JF_COMPUTE_CUDA_IMAGE_NORM_CUH

#include "compute/cuda/image_product.cuh"

/* Sums of the bands of samples: (n, MAX_BANDS) of each network. */
typedef struct band_sums {
    float2 *at[2];
    int bands;
} band_sums;
static __device__ inline double2 sum_of_bands(const float2 *at, int bands) {
    double2 sum = make_double2(0, 0);
    for (int first = 0; first < bands; first += 4) { /* four at once are on their way */
        float2 of[4];
#pragma unroll
        for (int i = 0; i < 4; i++) of[i] = first + i < bands ? at[first + i] : make_float2(0, 0);
#pragma unroll
        for (int i = 0; i < 4; i++) sum.x += (double)of[i].x, sum.y += (double)of[i].y;
    }
    return sum;
}
static __device__ inline double2 sum_of_bands(const band_sums &s, int net, int sample) {
    return sum_of_bands(s.at[net] + (size_t)sample * MAX_BANDS, s.bands);
}

/* A norm of both networks: packed scale and bias, and where mean and deviation come from. */
template <class M> struct norm_view {
    const typename M::number *g[2], *b[2];
    int bias_behind; /* numbers from a scale to its bias */
    int channels, per_element;
    float slope, epsilon;
    double share; /* one over the elements of a sample */
    band_sums sums;

    /* mean and 1 / deviation */
    __device__ float2 moments(int net, int sample) const {
        double2 s = sum_of_bands(sums, net, sample);
        double mean = s.x * share, var = s.y * share - mean * mean; /* of which little may be left */
        return make_float2((float)mean, 1 / sqrtf(fmaxf((float)var, 0) + epsilon));
    }
    __device__ size_t place(int pixel, int channel) const {
        return (per_element ? (size_t)pixel * (size_t)channels : 0) + (size_t)channel;
    }
};

/* ---- what operators read ----
 * A cursor is a thread's place: one slot of channels of a sample, of which it takes pixels. */

/* Activations, normalised. */
template <class M> struct norm_load {
    struct cursor {
        enum { plain = 0 };
        struct raw {
            typename M::eight x, g, b;
        };
        const typename M::number *x, *g, *b;
        int channels, step; /* of activations; of scale and bias */
        float slope, scale, shift;
        __device__ void fetch(raw &r, int pixel) const {
            r.x = M::fetch(x + pixel * channels);
            r.g = M::fetch(g + pixel * step);
            r.b = M::fetch(b + pixel * step);
        }
        __device__ typename M::eight finish(const raw &r) const {
            return normalise<M>(r.x, r.g, r.b, slope, scale, shift);
        }
    };
    const typename M::number *x[2];
    norm_view<M> norm;
    int pixels;
    divider by_slots;
    __device__ float2 moments(int net, int sample) const { return norm.moments(net, sample); }
    __device__ cursor at(int net, int sample, int slot, float2 m) const {
        return cursor{x[net] + (size_t)sample * (size_t)pixels * (size_t)norm.channels +
                          (size_t)(slot * SLOT),
                      norm.g[net] + slot * SLOT,
                      norm.b[net] + slot * SLOT,
                      norm.channels,
                      norm.per_element ? norm.channels : 0,
                      norm.slope,
                      m.y,
                      -m.x * m.y};
    }
};

/* Numbers as they are. */
template <class M> struct plain_load {
    struct cursor {
        enum { plain = 1 };
        typedef typename M::eight raw;
        const typename M::number *x;
        int channels;
        __device__ void copy(unsigned to, int pixel, int inside) const {
#pragma unroll
            for (int i = 0; i < (int)sizeof(raw); i += 16)
                copy_16(to + i, (const char *)(x + pixel * channels) + i, inside);
        }
        __device__ void fetch(raw &r, int pixel) const {
            r = M::fetch(x + pixel * channels);
        }
        __device__ typename M::eight finish(const raw &r) const {
            return r;
        }
    };
    const typename M::number *x[2];
    int pixels, channels;
    divider by_slots;
    __device__ float2 moments(int, int) const {
        return make_float2(0, 1);
    }
    __device__ cursor at(int net, int sample, int slot, float2) const {
        return cursor{x[net] + (size_t)sample * (size_t)pixels * (size_t)channels + (size_t)(slot * SLOT),
                      channels};
    }
};

/* Floats of any number of channels, those that are missing being 0: of the state, through a map, or of an
 * array. */
template <class M> struct float_load {
    struct cursor {
        enum { plain = 0 };
        struct raw {
            float v[8];
        };
        const float *x;
        const int32_t *map;
        int channels, first;
        __device__ void fetch(raw &r, int pixel) const {
            int at = pixel * channels + first;
#pragma unroll
            for (int i = 0; i < 8; i++) r.v[i] = first + i >= channels ? 0 : map ? x[map[at + i]] : x[at + i];
        }
        __device__ typename M::eight finish(const raw &r) const {
            return M::numbers_of(r.v);
        }
    };
    const float *x[2];
    const int32_t *map; /* NULL: none */
    size_t stride[2];   /* from sample to sample */
    int channels[2];
    divider by_slots;
    __device__ float2 moments(int, int) const {
        return make_float2(0, 1);
    }
    __device__ cursor at(int net, int sample, int slot, float2) const {
        return cursor{x[net] + (size_t)sample * stride[net], map, channels[net], slot * SLOT};
    }
};

/* ---- what becomes of their results ----
 * A fragment is two results of a thread, as the product leaves them; a place is where a thread has its eights
 * of channels. staged: the size of a number between the two, in shared memory; 0: fragments are stored as
 * they are. */

/* Activations: with bias, added to others if it ADDS, and summed for their norm. */
template <class M, bool ADDS> struct act_store {
    enum { staged = ADDS ? 4 : M::bytes };
    typedef float2 column;
    typedef typename M::eight extra;
    struct place {
        typename M::number *y;
        const typename M::number *shortcut;
    };
    typename M::number *y[2];
    const typename M::number *shortcut[2]; /* may be y itself */
    const float *bias[2];
    int pixels, channels;
    float slope;
    band_sums sums;
    __device__ float2 moments(int, int) const { return make_float2(0, 1); }
    __device__ column at_column(int net, int channel) const { return *(const float2 *)(bias[net] + channel); }
    __device__ place at(int net, int sample, int pixel, int channel, float2) const {
        size_t at = ((size_t)sample * (size_t)pixels + (size_t)pixel) * (size_t)channels + (size_t)channel;
        return place{y[net] + at, ADDS ? shortcut[net] + at : NULL};
    }
    __device__ extra fetch(const place &at, int pixel) const {
        return ADDS ? M::fetch(at.shortcut + pixel * channels) : extra{};
    }
    __device__ void fragment(char *stage, float2 shift, float a, float b, bool valid, float &sum,
                             float &square) const {
        a += shift.x, b += shift.y;
        if (ADDS) {
            *(float2 *)stage = make_float2(a, b);
            return;
        }
        M::put2((typename M::number *)stage, a, b);
        a = valid ? leaky(a, slope) : 0, b = valid ? leaky(b, slope) : 0;
        sum += a + b;
        square = fmaf(a, a, fmaf(b, b, square));
    }
    __device__ void eight(const place &at, const extra &h, const char *stage, int pixel, float &sum,
                          float &square) const {
        if (!ADDS) {
            *(typename M::eight *)(at.y + pixel * channels) = *(const typename M::eight *)stage;
            return;
        }
        float v[8], add[8];
        float_math::floats_of(v, *(const float_math::eight *)stage);
        M::floats_of(add, h);
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] += add[i];
        M::put8(at.y + pixel * channels, v);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float t = leaky(v[i], slope);
            sum += t;
            square = fmaf(t, t, square);
        }
    }
    __device__ void take(int net, int sample, int band, float2 sum) const {
        sums.at[net][(size_t)sample * MAX_BANDS + (size_t)band] = sum;
    }
};

/* Floats of any number of channels: a network's outputs, or the gradient of what it read. */
struct float_store {
    enum { staged = 0 };
    typedef float2 column;
    struct place {};
    struct extra {};
    float *y[2];
    const float *bias[2]; /* NULL: none; as many as fill eights */
    size_t stride[2];
    int channels[2];
    __device__ float2 moments(int, int) const { return make_float2(0, 1); }
    __device__ column at_column(int net, int channel) const {
        return bias[net] ? *(const float2 *)(bias[net] + channel) : make_float2(0, 0);
    }
    __device__ place at(int, int, int, int, float2) const { return place{}; }
    __device__ extra fetch(place, int) const { return extra{}; }
    __device__ void pair(int net, int sample, int pixel, int channel, float2 shift, float a, float b) const {
        float *to =
            y[net] + (size_t)sample * stride[net] + (size_t)pixel * (size_t)channels[net] + (size_t)channel;
        if (channel < channels[net]) to[0] = a + shift.x;
        if (channel + 1 < channels[net]) to[1] = b + shift.y;
    }
    __device__ void take(int, int, int, float2) const {}
};

/* The gradient q of normalised activations: with it the sums of q g and q g e, e being what the norm made of
 * them. */
template <class M> struct gradient_store {
    enum { staged = M::bytes };
    struct column {};
    struct extra {
        typename M::eight x, g;
    };
    struct place {
        typename M::number *q;
        const typename M::number *x, *g;
        float scale, shift;
    };
    typename M::number *q[2];
    const typename M::number *x[2]; /* the activations */
    norm_view<M> norm;
    int pixels;
    band_sums sums;
    __device__ float2 moments(int net, int sample) const { return norm.moments(net, sample); }
    __device__ column at_column(int, int) const { return column{}; }
    __device__ place at(int net, int sample, int pixel, int channel, float2 m) const {
        size_t at =
            ((size_t)sample * (size_t)pixels + (size_t)pixel) * (size_t)norm.channels + (size_t)channel;
        return place{q[net] + at, x[net] + at, norm.g[net] + norm.place(pixel, channel), m.y, -m.x * m.y};
    }
    __device__ extra fetch(const place &at, int pixel) const {
        return extra{M::fetch(at.x + pixel * norm.channels),
                     M::fetch(at.g + (norm.per_element ? pixel * norm.channels : 0))};
    }
    __device__ void fragment(char *stage, column, float a, float b, bool, float &, float &) const {
        M::put2((typename M::number *)stage, a, b);
    }
    __device__ void eight(const place &at, const extra &of, const char *stage, int pixel, float &sum,
                          float &product) const {
        const typename M::eight v = *(const typename M::eight *)stage;
        float p[8], t[8];
        *(typename M::eight *)(at.q + pixel * norm.channels) = v;
        M::products(p, v, of.g);
        M::floats_of(t, of.x);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sum += p[i];
            product = fmaf(p[i], fmaf(leaky(t[i], norm.slope), at.scale, at.shift), product);
        }
    }
    __device__ void take(int net, int sample, int band, float2 sum) const {
        sums.at[net][(size_t)sample * MAX_BANDS + (size_t)band] = sum;
    }
};

/* ---- the backward pass through a norm ---- */

template <class M> struct norm_back_call {
    const typename M::number *q[2], *x[2];
    typename M::number *dx[2],
        *normalised[2]; /* gradients and normalised activations; the latter NULL: not wanted */
    int add;            /* to what dx holds */
    norm_view<M> norm;
    band_sums sums;                   /* of q g and q g e */
    int n, elements, each, first_net; /* each: samples of a piece */
    float *partial[2];                /* NULL: not wanted; of this norm, in the first piece */
    size_t stride;                    /* from piece to piece */
};

/* With t = act(x), e = (t - mean) r and p = q g: dt = r (p - mean(p) - e mean(p e)), dx = act'(x) dt. A
 * thread has the elements of 16 bytes, of all samples of a piece. */
template <class M>
static __global__ void __launch_bounds__(NORM_ELEMENTS / M::across, M::across / 4)
    norm_back_kernel(const __grid_constant__ norm_back_call<M> c) {
    enum { W = M::across, AHEAD = 4 };
    __shared__ float4 numbers[NORM_SAMPLES]; /* of each sample: mean, r, mean(p), mean(p e) */
    /* The last samples first: the second cache still has some of what the kernel before has made of them. So
     * has it of the first ones for the kernel behind. */
    const int net = c.first_net + (int)blockIdx.y, piece = (int)(gridDim.z - 1 - blockIdx.z),
              first = piece * c.each, samples = c.n - first < c.each ? c.n - first : c.each;
    after_the_last();
    const int element = (int)blockIdx.x * NORM_ELEMENTS + (int)threadIdx.x * W,
              present = element < c.elements;
    const size_t start = (size_t)first * (size_t)c.elements + (size_t)(present ? element : 0);
    const typename M::number *q_at = c.q[net] + start, *x_at = c.x[net] + start;
    typename M::number *dx_at = c.dx[net] + start,
                       *y_at = c.normalised[net] ? c.normalised[net] + start : NULL;
    typename M::vector qs[AHEAD], xs[AHEAD], dxs[AHEAD];
    auto fetch = [&](int begin) {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) { /* what is beyond the last one is loaded in vain */
            const size_t at = (size_t)(begin + i < samples ? begin + i : samples - 1) * (size_t)c.elements;
            qs[i] = M::vector_at(q_at + at);
            xs[i] = M::vector_at(x_at + at);
            if (c.add) dxs[i] = M::vector_at(dx_at + at);
        }
    };
    fetch(0);
    if ((int)threadIdx.x < samples) {
        float2 m = c.norm.moments(net, first + (int)threadIdx.x);
        double2 s = sum_of_bands(c.sums, net, first + (int)threadIdx.x);
        numbers[threadIdx.x] =
            make_float4(m.x, m.y, (float)(s.x * c.norm.share), (float)(s.y * c.norm.share));
    }
    __syncthreads();
    float dg[W], db[W];
#pragma unroll
    for (int k = 0; k < W; k++) dg[k] = db[k] = 0;
    if (present) {
        float g[W], b[W];
        const int parameter = c.norm.per_element ? element : element % c.norm.channels;
        M::split(g, M::vector_at(c.norm.g[net] + parameter));
        M::split(b, M::vector_at(c.norm.b[net] + parameter));
        for (int begin = 0; begin < samples; begin += AHEAD) {
#pragma unroll
            for (int i = 0; i < AHEAD; i++) {
                if (begin + i >= samples) break;
                const size_t at = (size_t)(begin + i) * (size_t)c.elements;
                const float4 m = numbers[begin + i];
                const float shift = -m.x * m.y;
                float q[W], x[W], y[W], dx[W];
                M::split(q, qs[i]);
                M::split(x, xs[i]);
                if (c.add) M::split(dx, dxs[i]);
#pragma unroll
                for (int k = 0; k < W; k++) {
                    float e = fmaf(leaky(x[k], c.norm.slope), m.y, shift);
                    float d = m.y * (fmaf(q[k], g[k], -m.z) - e * m.w);
                    d = x[k] > 0 ? d : c.norm.slope * d;
                    dx[k] = c.add ? dx[k] + d : d;
                    dg[k] = fmaf(q[k], e, dg[k]);
                    db[k] += q[k];
                    y[k] = fmaf(e, g[k], b[k]);
                }
                *(typename M::vector *)(dx_at + at) = M::join(dx);
                if (y_at) *(typename M::vector *)(y_at + at) = M::join(y);
            }
            if (begin + AHEAD < samples) fetch(begin + AHEAD);
        }
    }
    if (!c.partial[net]) return;
    float *to = c.partial[net] + (size_t)piece * c.stride;
    if (c.norm.per_element) {
        if (!present) return;
#pragma unroll
        for (int k = 0; k < W; k += 4) {
            *(float4 *)(to + element + k) = make_float4(dg[k], dg[k + 1], dg[k + 2], dg[k + 3]);
            *(float4 *)(to + c.elements + element + k) = make_float4(db[k], db[k + 1], db[k + 2], db[k + 3]);
        }
        return;
    }
    /* Of each channel the sum over the elements of the block that have it, in their order. */
    __shared__ float all[NORM_ELEMENTS];
    const int offset = (int)((size_t)blockIdx.x * NORM_ELEMENTS % (size_t)c.norm.channels);
    to += (size_t)blockIdx.x * 2 * (size_t)c.norm.channels;
    for (int which = 0; which < 2; which++) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < W; k++) all[(int)threadIdx.x * W + k] = which ? db[k] : dg[k];
        __syncthreads();
        for (int channel = (int)threadIdx.x; channel < c.norm.channels; channel += (int)blockDim.x) {
            float sum = 0;
            for (int i = channel >= offset ? channel - offset : channel - offset + c.norm.channels;
                 i < NORM_ELEMENTS; i += c.norm.channels)
                sum += all[i];
            to[which * c.norm.channels + channel] = sum;
        }
    }
}

#endif
