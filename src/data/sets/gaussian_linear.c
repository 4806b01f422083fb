/* Gaussian linear: x ~ N(0, 0.1 I), y ~ N(x, 0.1 I), both variances, in ten dimensions. The posterior is
 * N(y/2, 0.05 I), so H(x | y) = 5 ln(2 pi e 0.05). */
#include "data/problem.h"
#include <math.h>

enum { DIM = 10 };
#define VARIANCE 0.1

static jf_status gaussian_linear_open(dataset *d, const recipe *r) {
    (void)r;
    problem_sizes(d, DIM, DIM, problem_ten_names);
    return JF_OK;
}

static void gaussian_linear_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    for (int i = 0; i < DIM; i++) x[i] = sqrt(VARIANCE) * rng_normal(stream);
    for (int i = 0; i < DIM; i++) y[i] = x[i] + sqrt(VARIANCE) * rng_normal(stream);
}

static int gaussian_linear_posterior(const dataset *d, rng *stream, const double *y, double *x) {
    (void)d;
    for (int i = 0; i < DIM; i++) x[i] = 0.5 * y[i] + sqrt(0.5 * VARIANCE) * rng_normal(stream);
    return 1;
}

static double gaussian_linear_entropy(const dataset *d, int class_index) {
    (void)d, (void)class_index;
    return 0.5 * DIM * log(2 * M_PI * M_E * 0.5 * VARIANCE);
}

const dataset_kind dataset_gaussian_linear = {
    .name = "gaussian_linear",
    .summary = "ten parameters and as many noisy measurements, all Gaussian",
    .open = gaussian_linear_open,
    .draw = gaussian_linear_draw,
    .posterior = gaussian_linear_posterior,
    .entropy = gaussian_linear_entropy,
};
