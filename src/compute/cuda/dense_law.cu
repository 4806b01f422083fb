/* The law of a coupling on elements of the state, for whole layers of dense networks. */
#include "compute/cuda/law.cuh"
extern "C" {
#include "compute/cuda/dense_kernels.h"
}

/* Where unit `unit` of a sample has what. */
template <class LAW> struct couple_unit {
    enum { MOST = LAW::each ? 1 : DENSE_MAX_TOGETHER };
    size_t own_A, own_b; /* among the outputs of the networks */
    int size;
    const int32_t *target;
    __device__ couple_unit(const couple_call &c, size_t sample, int unit) {
        const size_t row = sample * (size_t)c.units;
        own_A = row + (size_t)(unit * LAW::outputs(&c.law, c.m)), own_b = row + (size_t)unit;
        size = LAW::each ? 1 : c.m;
        target = c.target + unit;
    }
    __device__ const float *b(const couple_call &c) const { return c.b ? c.b + own_b : NULL; }
    __device__ void read(float u[MOST], const float *state) const {
        for (int i = 0; i < size; i++) u[i] = state[target[i]];
    }
    __device__ void write(float *state, const float u[MOST]) const {
        for (int i = 0; i < size; i++) state[target[i]] = u[i];
    }
};

template <class LAW> struct couple_sum {
    couple_call c;
    __device__ float nothing() const { return 0; }
    __device__ float term(size_t sample, int unit) const {
        const couple_unit<LAW> p(c, sample, unit);
        float *state = c.state + sample * (size_t)c.dim, s = c.s ? *c.s : 0, u[p.MOST];
        p.read(u, state);
        const float logdet = c.inverse ? LAW::inverse(&c.law, c.m, c.A + p.own_A, p.b(c), s, u)
                                       : LAW::forward(&c.law, c.m, c.A + p.own_A, p.b(c), s, u);
        p.write(state, u);
        return logdet;
    }
    __device__ void take(size_t sample, float sum) const { c.logdet[sample] += sum; }
};

/* The term is ds. */
template <class LAW> struct couple_back_sum {
    couple_call c;
    __device__ float nothing() const { return 0; }
    __device__ float term(size_t sample, int unit) const {
        const couple_unit<LAW> p(c, sample, unit);
        const size_t at = sample * (size_t)c.dim;
        float s = c.s ? *c.s : 0, ds = 0, dl = c.dlogdet[sample], u[p.MOST], du[p.MOST];
        p.read(u, c.state + at), p.read(du, c.dstate + at);
        LAW::backward(&c.law, c.m, c.A + p.own_A, p.b(c), s, u, du, dl, c.dA + p.own_A, c.db + p.own_b, &ds);
        p.write(c.state + at, u), p.write(c.dstate + at, du);
        return ds;
    }
    __device__ void take(size_t sample, float sum) const { c.ds[sample] = sum; }
};

template <class LAW> static void couple(cuda_device *own, const couple_call &c) {
    const char *name = "law of a coupling";
    const int units = LAW::each ? c.m : 1;
    if (c.dstate)
        sum_of_samples(own, couple_back_sum<LAW>{c}, c.n, units, name);
    else
        sum_of_samples(own, couple_sum<LAW>{c}, c.n, units, name);
}

void dense_couple(cuda_device *own, const couple_call *c) {
    static void (*const laws[])(cuda_device *, const couple_call &) = {
#define X(name, form) couple<law_of_##name>,
        LAW_LIST(X)
#undef X
    };
    laws[c->law.id](own, *c);
}
