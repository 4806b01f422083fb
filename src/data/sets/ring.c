/* A ring without a condition, the data that a plain flow learns beside the circle rule: x = r (cos a, sin a),
 * r ~ N(radius, deviation^2), a ~ U[0, 2 pi). A negative r points the other way, so with q the density of r
 *     f(rho) = q(rho) + q(-rho)           density of rho = |x|
 *     p(x)   = f(rho) / (2 pi rho)
 *     H(x)   = -integral f(rho) ln(f(rho) / (2 pi rho)) d rho */
#include "base/memory.h"
#include "data/dataset.h"
#include <math.h>
#include <stdlib.h>

static const recipe_key keys[] = {
    {"data", "radius", KEY_REAL, "1", 0, 1000, NULL, "Mean of the radius."},
    {"data", "deviation", KEY_REAL, "0.05", 1e-4, 1000, NULL, "Standard deviation of the radius."},
    {0}};

typedef struct ring {
    double radius, deviation;
    double entropy;
} ring;

/* ln f(rho), safe where f underflows: ln q(rho) + ln(1 + q(-rho) / q(rho)) */
static double log_radial_density(const ring *own, double rho) {
    double u = (rho - own->radius) / own->deviation;
    double ratio = exp(-2 * rho * own->radius / (own->deviation * own->deviation));
    return -0.5 * u * u - log(own->deviation * sqrt(2 * M_PI)) + log1p(ratio);
}

/* The trapezoidal rule in w = ln rho, where the integrand rho f ln(...) is smooth and dies out at both ends,
 * also when f(0) > 0 makes a logarithmic singularity in rho. */
static double integrate_entropy(const ring *own) {
    const double cut = 12, steps_a_deviation = 6;
    double hi = own->radius + cut * own->deviation;
    double lo = fmax(own->radius - cut * own->deviation, 1e-18 * own->deviation);
    int steps = (int)ceil(log(hi / lo) * hi / own->deviation * steps_a_deviation);
    double step = log(hi / lo) / steps, sum = 0;
    for (int i = 0; i <= steps; i++) {
        double rho = lo * exp(i * step);
        double log_f = log_radial_density(own, rho);
        sum -= rho * exp(log_f) * (log_f - log(2 * M_PI * rho));
    }
    return sum * step;
}

static jf_status ring_open(dataset *d, const recipe *r) {
    ring *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    own->radius = recipe_real(r, "data.radius");
    own->deviation = recipe_real(r, "data.deviation");
    own->entropy = integrate_entropy(own);
    dataset_set_plane(d, NULL);
    return JF_OK;
}

static void ring_close(dataset *d) {
    free(d->own);
}

static void ring_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)class_index;
    (void)y;
    const ring *own = d->own;
    double angle = rng_range(stream, 0, 2 * M_PI);
    double radius = own->radius + own->deviation * rng_normal(stream);
    x[0] = radius * cos(angle);
    x[1] = radius * sin(angle);
}

static double ring_entropy(const dataset *d, int class_index) {
    (void)class_index;
    return ((const ring *)d->own)->entropy;
}

const dataset_kind dataset_ring = {
    .name = "ring",
    .summary = "a ring of normally distributed radius, without a condition",
    .keys = keys,
    .open = ring_open,
    .close = ring_close,
    .draw = ring_draw,
    .entropy = ring_entropy,
};
