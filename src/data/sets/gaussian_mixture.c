/* Gaussian mixture: x ~ U(-10, 10)^2; one coin toss a draw, y ~ N(x, I) or N(x, 0.01 I). The posterior is the
 * same mixture around y, within the box. H(x | y) = H(x) + H(y | x) - H(y): a constant, a radial integral,
 * and one over the plane. */
#include "base/statistics.h"
#include "data/problem.h"
#include <math.h>

#define SIDE  10.0
#define SMALL 0.1 /* deviation of the narrow part */

static const char *const names[] = {"theta1", "theta2", "obs1", "obs2"};

static jf_status gaussian_mixture_open(dataset *d, const recipe *r) {
    (void)r;
    problem_sizes(d, 2, 2, names);
    return problem_box(d, -SIDE, SIDE);
}

static double deviation_of(rng *stream) {
    return rng_uniform(stream) < 0.5 ? 1 : SMALL;
}

static void gaussian_mixture_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    double deviation = deviation_of(stream);
    for (int i = 0; i < 2; i++) x[i] = rng_range(stream, -SIDE, SIDE);
    for (int i = 0; i < 2; i++) y[i] = x[i] + deviation * rng_normal(stream);
}

static int gaussian_mixture_posterior(const dataset *d, rng *stream, const double *y, double *x) {
    (void)d;
    for (int tries = 0; tries < 1000000; tries++) {
        double deviation = deviation_of(stream);
        for (int i = 0; i < 2; i++) x[i] = y[i] + deviation * rng_normal(stream);
        if (problem_in_box(x, 2, -SIDE, SIDE)) return 1;
    }
    return 0;
}

/* Of the mixture around a point: its density depends on the radius alone. */
static double noise_entropy(void) {
    enum { STEPS = 20000 };
    double step = 10.0 / STEPS, sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double r = (i + 0.5) * step;
        double p = 0.5 * exp(-0.5 * r * r) / (2 * M_PI) +
                   0.5 * exp(-0.5 * r * r / (SMALL * SMALL)) / (2 * M_PI * SMALL * SMALL);
        if (p > 0) sum -= 2 * M_PI * r * p * log(p) * step;
    }
    return sum;
}

/* Share of the box, blurred by the deviation, at v: a density over the line. */
static double blurred(double v, double deviation) {
    return (normal_cdf((v + SIDE) / deviation) - normal_cdf((v - SIDE) / deviation)) / (2 * SIDE);
}

/* Of y: the box blurred by either part, over a quarter of the plane by midpoints. */
static double measured_entropy(void) {
    enum { STEPS = 800 };
    double step = (SIDE + 6) / STEPS, wide[STEPS], narrow[STEPS], sum = 0;
    for (int i = 0; i < STEPS; i++) {
        wide[i] = blurred((i + 0.5) * step, 1);
        narrow[i] = blurred((i + 0.5) * step, SMALL);
    }
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < STEPS; k++) {
            double p = 0.5 * (wide[i] * wide[k] + narrow[i] * narrow[k]);
            if (p > 0) sum -= 4 * p * log(p) * step * step;
        }
    return sum;
}

static double gaussian_mixture_entropy(const dataset *d, int class_index) {
    (void)d, (void)class_index;
    return 2 * log(2 * SIDE) + noise_entropy() - measured_entropy();
}

const dataset_kind dataset_gaussian_mixture = {
    .name = "gaussian_mixture",
    .summary = "where a wide and a narrow Gaussian, one of them at a time, have their middle",
    .open = gaussian_mixture_open,
    .draw = gaussian_mixture_draw,
    .posterior = gaussian_mixture_posterior,
    .entropy = gaussian_mixture_entropy,
};
