/* A step of the optimiser, of which the host hears nothing. */
#include "compute/cuda/kernels.cuh"

enum { SUMS = 256 }; /* pieces of the sum of squares */

/* What the kernels of a step tell one another, in own->numbers. */
typedef struct step_numbers {
    double squares[SUMS];
    adam_numbers of_step;
    double correction[2]; /* 1 - beta^step */
    double taken;
} step_numbers;
static_assert(sizeof(step_numbers) <= CUDA_NUMBERS * sizeof(double), "a step's numbers have no room");

static __global__ void squares_kernel(step_numbers *s, const float *g, size_t count) {
    double sum = 0;
    FOR_EACH_INDEX (i, count) sum += (double)g[i] * (double)g[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) s->squares[blockIdx.x] = sum;
}

static __global__ void begin_kernel(step_numbers *s, adam_step a) {
    double squares = block_sum(s->squares[threadIdx.x]);
    if (threadIdx.x != 0) return;
    adam_numbers step = {};
    step.beta1 = a.beta1;
    step.beta2 = a.beta2;
    step.epsilon = a.epsilon;
    step.decay = a.decay;
    step.average = a.share;
    s->taken =
        step_begin((step_state *)a.state, squares, (const double *)a.terms, a.term_count, a.clip, &step);
    s->of_step = step;
    s->correction[0] = 1 - pow(a.beta1, step.step);
    s->correction[1] = 1 - pow(a.beta2, step.step);
}

/* decays and average: NULL where there are none. */
static __global__ void adam_kernel(const step_numbers *s, float *p, float *g, float *m, float *v,
                                   const float *decays, float *average, size_t count) {
    adam_numbers step = s->of_step;
    int taken = s->taken > 0;
    float beta1 = (float)step.beta1, beta2 = (float)step.beta2, rest1 = (float)(1 - step.beta1),
          rest2 = (float)(1 - step.beta2), scale = (float)step.gradient_scale;
    double rate = step.rate / s->correction[0];
    float root = (float)(1 / sqrt(s->correction[1])), epsilon = (float)step.epsilon, pace = (float)rate,
          decay = (float)(step.rate * step.decay), rest = (float)(1 - step.average);
    FOR_EACH_INDEX (i, count) {
        if (taken) {
            float gi = g[i] * scale;
            m[i] = beta1 * m[i] + rest1 * gi;
            v[i] = beta2 * v[i] + rest2 * gi * gi;
            if (decays) p[i] -= decay * decays[i] * p[i];
            p[i] -= pace * m[i] / (sqrtf(v[i]) * root + epsilon);
            if (average) average[i] += rest * (p[i] - average[i]);
        }
        g[i] = 0;
    }
}

void cuda_adam(device *d, const adam_step *a) {
    cuda_device *own = cuda_use(d);
    step_numbers *s = (step_numbers *)own->numbers;
    unsigned blocks = at_most(4096, blocks_for(a->count, THREADS));
    pthread_mutex_lock(&own->lock);
    launch(own, squares_kernel, SUMS, THREADS, s, floats(a->grad), a->count);
    launch(own, begin_kernel, 1, SUMS, s, *a);
    launch(own, adam_kernel, blocks, THREADS, s, floats(a->params), floats(a->grad), floats(a->first),
           floats(a->second), floats(a->decays), floats(a->average), a->count);
    launched(own, "optimiser");
    pthread_mutex_unlock(&own->lock);
}

static __global__ void clamp_kernel(float *p, const int32_t *map, const float *lo, const float *hi,
                                    size_t count) {
    FOR_EACH_INDEX (i, count) {
        float *at = p + map[i];
        if (*at < lo[i]) *at = lo[i];
        if (*at > hi[i]) *at = hi[i];
    }
}
void cuda_clamp(device *d, real *p, const int32_t *map, const real *lo, const real *hi, size_t count) {
    cuda_device *own = cuda_use(d);
    if (count == 0) return;
    launch(own, clamp_kernel, blocks_for(count, THREADS), THREADS, floats(p), map, floats(lo), floats(hi),
           count);
    launched(own, "clamp");
}
