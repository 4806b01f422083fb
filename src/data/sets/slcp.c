/* SLCP, a simple likelihood and a complex posterior: x ~ U(-3, 3)^5; y are four draws of a Gaussian in the
 * plane with mean (x1, x2), deviations s1 = x3^2 and s2 = x4^2, and correlation tanh x5; 1e-6 is added to
 * both variances. The signs of x3 and x4 do not show in y, so the posterior has four modes. Its entropy is
 * not known in closed form. */
#include "data/problem.h"
#include <math.h>

static const char *const names[] = {"theta1", "theta2", "theta3", "theta4", "theta5", "obs1", "obs2",
                                    "obs3",   "obs4",   "obs5",   "obs6",   "obs7",   "obs8"};

static jf_status slcp_open(dataset *d, const recipe *r) {
    (void)r;
    problem_sizes(d, 5, 8, names);
    return problem_box(d, -3, 3);
}

static void slcp_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    for (int i = 0; i < 5; i++) x[i] = rng_range(stream, -3, 3);
    double s1 = x[2] * x[2], s2 = x[3] * x[3], shared = tanh(x[4]) * s1 * s2;
    /* Cholesky: (l, 0; k, m) of [[s1^2 + 1e-6, shared], [shared, s2^2 + 1e-6]] */
    double l = sqrt(s1 * s1 + 1e-6), k = shared / l, m = sqrt(s2 * s2 + 1e-6 - k * k);
    for (int i = 0; i < 4; i++) {
        double a = rng_normal(stream), b = rng_normal(stream);
        y[2 * i] = x[0] + l * a;
        y[2 * i + 1] = x[1] + k * a + m * b;
    }
}

const dataset_kind dataset_slcp = {
    .name = "slcp",
    .summary = "mean and covariance of a Gaussian from four draws: a posterior of four modes",
    .open = slcp_open,
    .draw = slcp_draw,
};
