/* Two moons: x ~ U(-1, 1)^2; a ~ U(-pi/2, pi/2), r ~ N(0.1, 0.01^2);
 *     y = (r cos a + 0.25, r sin a) + q,    q = (-|x1 + x2|, -x1 + x2)/sqrt 2
 * q is uniform on the triangle q1 <= 0, |q2| <= sqrt 2 + q1, of area 2, and each of its points has two x: so
 * the posterior is drawn exactly, q = y - moon where that lies in the triangle, with either sign of x1 + x2.
 */
#include "base/statistics.h"
#include "data/problem.h"
#include <math.h>

#define RADIUS    0.1
#define DEVIATION 0.01
#define SHIFT     0.25

static const char *const names[] = {"theta1", "theta2", "obs1", "obs2"};

static jf_status two_moons_open(dataset *d, const recipe *r) {
    (void)r;
    problem_sizes(d, 2, 2, names);
    return problem_box(d, -1, 1);
}

static void draw_moon(rng *stream, double moon[2]) {
    double a = rng_range(stream, -M_PI / 2, M_PI / 2), r = RADIUS + DEVIATION * rng_normal(stream);
    moon[0] = r * cos(a) + SHIFT;
    moon[1] = r * sin(a);
}

static void two_moons_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)d, (void)class_index;
    double moon[2];
    for (int i = 0; i < 2; i++) x[i] = rng_range(stream, -1, 1);
    draw_moon(stream, moon);
    y[0] = moon[0] - fabs(x[0] + x[1]) * M_SQRT1_2;
    y[1] = moon[1] + (x[1] - x[0]) * M_SQRT1_2;
}

static int two_moons_posterior(const dataset *d, rng *stream, const double *y, double *x) {
    (void)d;
    for (int tries = 0; tries < 1000000; tries++) {
        double moon[2];
        draw_moon(stream, moon);
        double q[2] = {y[0] - moon[0], y[1] - moon[1]};
        if (q[0] > 0 || fabs(q[1]) > M_SQRT2 + q[0]) continue;
        double sum = rng_uniform(stream) < 0.5 ? q[0] : -q[0];
        x[0] = (sum - q[1]) * M_SQRT1_2;
        x[1] = (sum + q[1]) * M_SQRT1_2;
        return 1;
    }
    return 0;
}

/* ---- entropy: H(x) + H(y | x) - H(y) ---- */

/* Of a moon: its density is 1/pi N(r) / r, with r beside 0 by ten deviations. */
static double moon_entropy(void) {
    enum { STEPS = 2000 };
    double step = 16.0 / STEPS, log_r = 0;
    for (int i = 0; i < STEPS; i++) {
        double z = -8 + (i + 0.5) * step;
        log_r += exp(-0.5 * z * z) / sqrt(2 * M_PI) * log(RADIUS + DEVIATION * z) * step;
    }
    return log(M_PI) + 0.5 * log(2 * M_PI * M_E * DEVIATION * DEVIATION) + log_r;
}

/* The triangle as three half planes n . q <= c, with unit normals. */
static const double sides[3][3] = {{1, 0, 0}, {-M_SQRT1_2, M_SQRT1_2, 1}, {-M_SQRT1_2, -M_SQRT1_2, 1}};

/* Probability over r that v - r (cos a, sin a) lies in the triangle: those r are an interval, since it is
 * convex. */
static double chord(const double v[2], double a) {
    double from = -INFINITY, to = INFINITY, c = cos(a), s = sin(a);
    for (int i = 0; i < 3; i++) {
        double slope = -(sides[i][0] * c + sides[i][1] * s),
               room = sides[i][2] - sides[i][0] * v[0] - sides[i][1] * v[1];
        if (slope > 1e-12)
            to = fmin(to, room / slope);
        else if (slope < -1e-12)
            from = fmax(from, room / slope);
        else if (room < 0)
            return 0;
    }
    return from < to ? normal_cdf((to - RADIUS) / DEVIATION) - normal_cdf((from - RADIUS) / DEVIATION) : 0;
}

/* Density of y: half of the probability, over the moon, that y - moon lies in the triangle. */
static double density_at(double y1, double y2) {
    enum { ANGLES = 48 };
    const double v[2] = {y1 - SHIFT, y2}, reach = RADIUS + 6 * DEVIATION;
    double nearest = INFINITY, sum = 0;
    for (int i = 0; i < 3; i++)
        nearest = fmin(nearest, sides[i][2] - sides[i][0] * v[0] - sides[i][1] * v[1]);
    if (nearest > reach) return 0.5; /* the whole moon */
    if (nearest < -reach) return 0;
    for (int i = 0; i < ANGLES; i++) sum += chord(v, M_PI * ((i + 0.5) / ANGLES - 0.5));
    return 0.5 * sum / ANGLES;
}

/* Over the upper half of the plane, which is like the lower one. */
static double measured_entropy(void) {
    enum { STEPS = 80 };
    double left = -M_SQRT2, right = SHIFT + 0.2, top = M_SQRT2 + 0.2, sum = 0;
    double dx = (right - left) / (2 * STEPS), dy = top / (2 * STEPS);
    for (int i = 0; i < 2 * STEPS; i++)
        for (int k = 0; k < 2 * STEPS; k++) {
            double p = density_at(left + (i + 0.5) * dx, (k + 0.5) * dy);
            if (p > 0) sum -= 2 * p * log(p) * dx * dy;
        }
    return sum;
}

static double two_moons_entropy(const dataset *d, int class_index) {
    (void)d, (void)class_index;
    return log(4) + moon_entropy() - measured_entropy();
}

const dataset_kind dataset_two_moons = {
    .name = "two_moons",
    .summary = "two crescents of parameters for every observation",
    .open = two_moons_open,
    .draw = two_moons_draw,
    .posterior = two_moons_posterior,
    .entropy = two_moons_entropy,
};
