/* The law of a coupling on elements of the state, for whole layers of dense networks: a thread per sample. */
#include "compute/cuda/law.cuh"
extern "C" {
#include "compute/cuda/dense_kernels.h"
}

template <class LAW> static __global__ void couple_kernel(couple_call c) {
    FOR_EACH_INDEX (sample, (size_t)c.n) {
        float *state = c.state + sample * (size_t)c.dim, s = c.s ? *c.s : 0, sum = 0,
              u[LAW::each ? 1 : DENSE_MAX_TOGETHER];
        const float *A = c.A + sample * (size_t)c.units, *b = c.b ? c.b + sample * (size_t)c.units : NULL;
        int units = LAW::each ? c.m : 1, size = LAW::each ? 1 : c.m, outputs = LAW::outputs(&c.law, c.m);
        for (int unit = 0; unit < units; unit++) {
            const float *own_A = A + unit * outputs, *own_b = b ? b + unit : NULL;
            for (int i = 0; i < size; i++) u[i] = state[c.target[unit + i]];
            sum += c.inverse ? LAW::inverse(&c.law, c.m, own_A, own_b, s, u)
                             : LAW::forward(&c.law, c.m, own_A, own_b, s, u);
            for (int i = 0; i < size; i++) state[c.target[unit + i]] = u[i];
        }
        c.logdet[sample] += sum;
    }
}

template <class LAW> static __global__ void couple_back_kernel(couple_call c) {
    FOR_EACH_INDEX (sample, (size_t)c.n) {
        float u[LAW::each ? 1 : DENSE_MAX_TOGETHER], du[LAW::each ? 1 : DENSE_MAX_TOGETHER];
        float *state = c.state + sample * (size_t)c.dim, *dstate = c.dstate + sample * (size_t)c.dim;
        float s = c.s ? *c.s : 0, ds = 0, dl = c.dlogdet[sample];
        size_t at = sample * (size_t)c.units;
        int units = LAW::each ? c.m : 1, size = LAW::each ? 1 : c.m, outputs = LAW::outputs(&c.law, c.m);
        for (int unit = 0; unit < units; unit++) {
            const float *A = c.A + at + unit * outputs, *b = c.b ? c.b + at + unit : NULL;
            float *dA = c.dA + at + unit * outputs, *db = c.db + at + unit;
            for (int i = 0; i < size; i++)
                u[i] = state[c.target[unit + i]], du[i] = dstate[c.target[unit + i]];
            if (c.inverse)
                LAW::inverse_backward(&c.law, c.m, A, b, s, u, du, dl, dA, db, &ds);
            else
                LAW::backward(&c.law, c.m, A, b, s, u, du, dl, dA, db, &ds);
            for (int i = 0; i < size; i++)
                state[c.target[unit + i]] = u[i], dstate[c.target[unit + i]] = du[i];
        }
        c.ds[sample] = ds;
    }
}

template <class LAW> static void couple(cuda_device *own, const couple_call &c) {
    unsigned blocks = blocks_for((size_t)c.n, 64);
    if (c.dstate)
        launch(own, couple_back_kernel<LAW>, blocks, 64, c);
    else
        launch(own, couple_kernel<LAW>, blocks, 64, c);
    launched(own, "law of a coupling");
}

void dense_couple(cuda_device *own, const couple_call *c) {
    static void (*const laws[])(cuda_device *, const couple_call &) = {
#define X(name, form) couple<law_of_##name>,
        LAW_LIST(X)
#undef X
    };
    laws[c->law.id](own, *c);
}
