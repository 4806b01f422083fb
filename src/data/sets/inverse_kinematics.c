/* Inverse kinematics of an arm on a rail: x ~ N(0, diag(0.25, 0.5, 0.5, 0.5)^2), the height of its base and
 * three joints;
 *     y1 =      0.5 cos x2 + 0.5 cos(x2 + x3) + cos(x2 + x3 + x4)
 *     y2 = x1 + 0.5 sin x2 + 0.5 sin(x2 + x3) + sin(x2 + x3 + x4)
 * without noise, so p(x | y) lies on a surface and has no entropy in the plain sense. Posterior samples
 * are drawn by rejection: joints of the prior whose y1 is within TOLERANCE, x1 then follows from y2 and is
 * taken with its own density. */
#include "data/problem.h"
#include <math.h>

#define TOLERANCE 0.005
#define RAIL      0.25
#define JOINT     0.5

static const char *const names[] = {"rail", "joint1", "joint2", "joint3", "end1", "end2"};

static void arm(const double *x, double end[2]) {
    double a = x[1], b = a + x[2], c = b + x[3];
    end[0] = 0.5 * cos(a) + 0.5 * cos(b) + cos(c);
    end[1] = x[0] + 0.5 * sin(a) + 0.5 * sin(b) + sin(c);
}

static jf_status inverse_kinematics_open(dataset *d, const recipe *r) {
    (void)r;
    problem_sizes(d, 4, 2, names);
    return JF_OK;
}

static void inverse_kinematics_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    for (int i = 0; i < 4; i++) x[i] = (i == 0 ? RAIL : JOINT) * rng_normal(stream);
    arm(x, y);
}

static int inverse_kinematics_posterior(const dataset *d, rng *stream, const double *y, double *x) {
    (void)d;
    for (long tries = 0; tries < 20000000; tries++) {
        double end[2];
        x[0] = 0;
        for (int i = 1; i < 4; i++) x[i] = JOINT * rng_normal(stream);
        arm(x, end);
        if (fabs(end[0] - y[0]) > TOLERANCE) continue;
        x[0] = y[1] - end[1];
        if (rng_uniform(stream) < exp(-0.5 * x[0] * x[0] / (RAIL * RAIL))) return 1;
    }
    return 0;
}

const dataset_kind dataset_inverse_kinematics = {
    .name = "inverse_kinematics",
    .summary = "the joints of an arm by where its end is",
    .open = inverse_kinematics_open,
    .draw = inverse_kinematics_draw,
    .posterior = inverse_kinematics_posterior,
};
