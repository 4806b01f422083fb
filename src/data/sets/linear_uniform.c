/* Linear with a uniform prior: x ~ U(-1, 1)^10, y ~ N(x, 0.1 I), 0.1 a variance. The posterior is N(y, 0.1 I)
 * within the box; elements are independent, so H(x | y) = 10 (ln 2 + ln(2 pi e 0.1)/2 - H(y_1)), with y_1 a
 * box blurred by the noise. */
#include "data/problem.h"
#include <math.h>

enum { DIM = 10 };
#define VARIANCE 0.1

static jf_status linear_uniform_open(dataset *d, const recipe *r) {
    (void)r;
    problem_sizes(d, DIM, DIM, problem_ten_names);
    return problem_box(d, -1, 1);
}

static void linear_uniform_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    for (int i = 0; i < DIM; i++) x[i] = rng_range(stream, -1, 1);
    for (int i = 0; i < DIM; i++) y[i] = x[i] + sqrt(VARIANCE) * rng_normal(stream);
}

/* A normal between -1 and 1, by rejection: of itself where its middle is inside, otherwise of a uniform,
 * under the density at the nearer bound. */
static int truncated(rng *stream, double mean, double *out) {
    double nearest = fmin(fmax(mean, -1), 1), top = (nearest - mean) * (nearest - mean);
    for (int tries = 0; tries < 1000000; tries++) {
        *out = nearest == mean ? mean + sqrt(VARIANCE) * rng_normal(stream) : rng_range(stream, -1, 1);
        double off = (*out - mean) * (*out - mean);
        int taken = nearest == mean || rng_uniform(stream) < exp((top - off) / (2 * VARIANCE));
        if (taken && fabs(*out) <= 1) return 1;
    }
    return 0;
}

static int linear_uniform_posterior(const dataset *d, rng *stream, const double *y, double *x) {
    (void)d;
    for (int i = 0; i < DIM; i++)
        if (!truncated(stream, y[i], &x[i])) return 0;
    return 1;
}

static double linear_uniform_entropy(const dataset *d, int class_index) {
    (void)d, (void)class_index;
    return DIM * (log(2) + 0.5 * log(2 * M_PI * M_E * VARIANCE) - blurred_box_entropy(-1, 1, sqrt(VARIANCE)));
}

const dataset_kind dataset_linear_uniform = {
    .name = "linear_uniform",
    .summary = "ten uniform parameters and as many noisy measurements",
    .open = linear_uniform_open,
    .draw = linear_uniform_draw,
    .posterior = linear_uniform_posterior,
    .entropy = linear_uniform_entropy,
};
