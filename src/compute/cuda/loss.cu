/* Terms of the loss and their gradients. */
#include "compute/cuda/kernels.cuh"
extern "C" {
#include "compute/rule/rule_formulas.h"
}

/* Unit i of the x or y elements of a state, [pixels][channels]. */
static __device__ size_t element_of(layout l, size_t sample, int unit, int first, int channels) {
    return (sample * (size_t)l.pixels + (size_t)(unit / channels)) * (size_t)l.channels +
           (size_t)(first + unit % channels);
}

struct prior_sum {
    float *term_of, *dstate;
    const float *state;
    layout l;
    float weight;
    __device__ double nothing() const { return 0; }
    __device__ double term(size_t sample, int unit) const {
        size_t at = element_of(l, sample, unit, 0, l.x_channels);
        float z = state[at];
        if (dstate) dstate[at] = weight * z;
        return 0.5 * (double)z * (double)z + 0.91893853320467274178;
    }
    __device__ void take(size_t sample, double sum) const { term_of[sample] = (float)sum; }
};
void cuda_prior_term(device *d, real *term, real *dstate, const real *state, int n, layout l, double weight) {
    prior_sum f = {floats(term), floats(dstate), floats(state), l, (float)weight};
    sum_of_samples(cuda_use(d), f, n, l.pixels * l.x_channels, "terms of the loss");
}

struct distance_sum {
    float *term_of, *dstate;
    const float *state, *target;
    layout l;
    int squared;
    double lambda, weight;
    __device__ double nothing() const { return 0; }
    __device__ double term(size_t sample, int unit) const {
        size_t at = element_of(l, sample, unit, l.x_channels, l.channels - l.x_channels);
        float e = state[at] - target[at], slope = squared ? 2 * e : (float)((e > 0) - (e < 0));
        if (dstate) dstate[at] = (float)(weight * lambda * slope);
        return squared ? (double)e * (double)e : fabs((double)e);
    }
    __device__ void take(size_t sample, double sum) const { term_of[sample] = (float)(lambda * sum); }
};
void cuda_distance_term(device *d, real *term, real *dstate, const real *state, const real *target, int n,
                        layout l, distance_kind kind, double lambda, double weight) {
    distance_sum f = {floats(term),        floats(dstate), floats(state), floats(target), l,
                      kind != DISTANCE_L1, lambda,         weight};
    sum_of_samples(cuda_use(d), f, n, l.pixels * (l.channels - l.x_channels), "terms of the loss");
}

static __global__ void rule_kernel(float *term, float *dstate, const float *state, size_t n, rule_energy e,
                                   double weight) {
    FOR_EACH_INDEX (s, n) {
        double x[2] = {state[2 * s], state[2 * s + 1]}, g[2];
        term[s] = (float)rule_energy_at(&e, x, g);
        for (int k = 0; dstate && k < 2; k++) dstate[2 * s + k] = (float)(weight * g[k]);
    }
}
void cuda_rule_term(device *d, real *term, real *dstate, const real *state, int n, const rule_energy *e,
                    double weight) {
    cuda_device *own = cuda_use(d);
    if (n < 1) return;
    launch(own, rule_kernel, blocks_for((size_t)n, 64), 64, floats(term), floats(dstate), floats(state),
           (size_t)n, *e, weight);
    launched(own, "terms of the loss");
}
