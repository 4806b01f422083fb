/* The exact entropies of generated sets, against methods that share no code with them: one-dimensional
 * integrals where the symmetry allows it, and the mean of -log p over drawn points, p summed directly over
 * the definition. */
#include "data_fixture.h"

/* Simpson's rule. */
static double integrate(double (*f)(double, const void *), const void *arg, double lo, double hi,
                        int halves) {
    double step = (hi - lo) / (2 * halves), sum = f(lo, arg) + f(hi, arg);
    for (int i = 1; i < 2 * halves; i++) sum += (i % 2 ? 4 : 2) * f(lo + i * step, arg);
    return sum * step / 3;
}

/* ---- circles: p depends on r alone, through the Bessel function I0 ---- */

typedef struct circles {
    int count;
    double radius[2], noise;
} circles;

/* exp(-k) I0(k) = 1/pi integral over 0..pi of exp(k (cos a - 1)) */
static double scaled_bessel(double k) {
    int n = 200;
    double sum = 0.5 * (1 + exp(-2 * k));
    for (int i = 1; i < n; i++) sum += exp(k * (cos(M_PI * i / n) - 1));
    return sum / n;
}

static double radial_surprise(double r, const void *arg) {
    const circles *c = arg;
    double p = 0, s2 = c->noise * c->noise;
    for (int i = 0; i < c->count; i++) {
        double off = r - c->radius[i];
        p += exp(-off * off / (2 * s2)) * scaled_bessel(r * c->radius[i] / s2) / (2 * M_PI * s2 * c->count);
    }
    return p > 0 ? -2 * M_PI * r * p * log(p) : 0;
}

static double circles_entropy(circles c) {
    return integrate(radial_surprise, &c, 0, 1 + 12 * c.noise, 800);
}

TEST(data_entropy__circles_agree_with_the_bessel_form) {
    data_fixture f = data_open("set = mixed\nshapes = circle concentric");
    CHECK_NEAR(dataset_entropy(f.set, 0), circles_entropy((circles){1, {1, 0}, 0.05}), 2e-6);
    CHECK_NEAR(dataset_entropy(f.set, 1), circles_entropy((circles){2, {1, 0.6}, 0.05}), 2e-6);
    data_close(&f);
}

/* ---- the slash: along and across are independent ---- */

static double along_surprise(double u, const void *arg) {
    double s = *(const double *)arg, scale = s * M_SQRT2;
    double p = (erf((u + M_SQRT2) / scale) - erf((u - M_SQRT2) / scale)) / (4 * M_SQRT2);
    return p > 0 ? -p * log(p) : 0;
}

TEST(data_entropy__slash_agrees_with_its_two_factors) {
    double s = 0.05;
    double along = integrate(along_surprise, &s, -M_SQRT2 - 10 * s, M_SQRT2 + 10 * s, 2000);
    double across = 0.5 * log(2 * M_PI * M_E * s * s);
    data_fixture f = data_open("set = mixed\nshapes = slash square");
    CHECK_NEAR(dataset_entropy(f.set, 0), along + across, 2e-6);
    data_close(&f);
}

/* ---- closed forms and stated values ---- */

TEST(data_entropy__closed_forms_hold) {
    data_fixture f = data_open("set = mixed\nshapes = square grid blobs");
    CHECK_NEAR(dataset_entropy(f.set, 0), log(4), 1e-15);
    CHECK_NEAR(dataset_entropy(f.set, 1), log(9) + log(2 * M_PI * M_E * 0.05 * 0.05), 1e-6);
    CHECK_NEAR(dataset_entropy(f.set, 2), log(2) + log(2 * M_PI * M_E * 0.15 * 0.15), 1e-5);
    data_close(&f);
    f = data_open("set = sectors");
    CHECK_NEAR(dataset_entropy(f.set, -1), log(0.5), 1e-15);
    data_close(&f);
    f = data_open("set = sectors\nwidth = 2.5");
    CHECK_NEAR(dataset_entropy(f.set, -1), log(1.25), 1e-15);
    data_close(&f);
}

TEST(data_entropy__shapes_have_the_stated_entropies) {
    static const double stated[] = {0.2605, -0.5051, -0.263, 0.396, 1.3863, -0.956, 0.698};
    static const double half_digit[] = {5e-5, 5e-5, 5e-4, 5e-4, 5e-5, 5e-4, 5e-4};
    data_fixture f = data_open("set = mixed\nshapes = circle slash blobs three square grid concentric");
    double mean = 0;
    for (int k = 0; k < 7; k++) {
        CHECK_NEAR(dataset_entropy(f.set, k), stated[k], half_digit[k]);
        mean += dataset_entropy(f.set, k) / 7;
    }
    CHECK_NEAR(dataset_entropy(f.set, -1), mean, 1e-14);
    data_close(&f);
    f = data_open("set = crescents");
    CHECK_NEAR(dataset_entropy(f.set, -1), -0.4039, 5e-5);
    CHECK(dataset_entropy(f.set, 0) == dataset_entropy(f.set, 1));
    data_close(&f);
}

/* ---- the ring ---- */

TEST(data_entropy__narrow_ring_is_a_normal_radius_and_a_uniform_angle) {
    double s = 0.01, radius = 2; /* H = H(r) + ln 2 pi + E ln r, E ln r by its series */
    double ratio = s * s / (radius * radius);
    double expected =
        0.5 * log(2 * M_PI * M_E * s * s) + log(2 * M_PI) + log(radius) - ratio / 2 - 0.75 * ratio * ratio;
    data_fixture f = data_open("set = ring\nradius = 2\ndeviation = 0.01");
    CHECK_NEAR(dataset_entropy(f.set, -1), expected, 1e-9);
    data_close(&f);
}

TEST(data_entropy__ring_without_radius_has_its_closed_form) {
    /* rho half normal: H(rho) = ln(s sqrt(pi e / 2)), E ln rho = ln s - (gamma + ln 2) / 2 */
    double s = 0.7, gamma = 0.57721566490153286;
    double expected = log(s * sqrt(M_PI * M_E / 2)) + log(2 * M_PI) + log(s) - (gamma + log(2)) / 2;
    data_fixture f = data_open("set = ring\nradius = 0\ndeviation = 0.7");
    CHECK_NEAR(dataset_entropy(f.set, -1), expected, 1e-9);
    data_close(&f);
}

/* ---- drawn points: mean of -log p, p by direct summation over the definition ---- */

#define MAX_CENTRES 1200
typedef struct centres {
    int count;
    double at[MAX_CENTRES][2], noise;
} centres;

static void add_centre(centres *c, double x0, double x1) {
    CHECK(c->count < MAX_CENTRES);
    c->at[c->count][0] = x0;
    c->at[c->count++][1] = x1;
}

/* Midpoints of 400 equal intervals of t: their error is of second order in (interval / noise) and far below
 * that of the mean. */
static void fill_centres(centres *c, const char *name, double noise) {
    const int n = 400;
    c->count = 0;
    c->noise = noise;
    for (int i = 0; i < n; i++) {
        double u = (i + 0.5) / n, t = M_PI * u;
        if (strcmp(name, "arc") == 0) add_centre(c, cos(t), sin(t));
        if (strcmp(name, "circle") == 0) add_centre(c, cos(2 * t), sin(2 * t));
        if (strcmp(name, "slash") == 0) add_centre(c, 2 * u - 1, 2 * u - 1);
        if (strcmp(name, "three") == 0) {
            add_centre(c, (cos(t) + 1) / 2, 2 * sin(t) - 1);
            add_centre(c, (cos(t) - 1) / 2, 2 * sin(t) - 1);
        }
        if (strcmp(name, "concentric") == 0) {
            add_centre(c, cos(2 * t), sin(2 * t));
            add_centre(c, 0.6 * cos(2 * t), 0.6 * sin(2 * t));
        }
    }
    if (strcmp(name, "blobs") == 0) {
        add_centre(c, -0.5, 0.5);
        add_centre(c, 0.5, -0.5);
    }
    for (int i = 0; strcmp(name, "grid") == 0 && i < 9; i++)
        add_centre(c, 0.8 * (i % 3) - 0.8, 0.8 * (i / 3) - 0.8);
}

static double surprise(const centres *c, const double *x) {
    double sum = 0, scale = 0.5 / (c->noise * c->noise);
    for (int i = 0; i < c->count; i++) {
        double dx = x[0] - c->at[i][0], dy = x[1] - c->at[i][1], q = scale * (dx * dx + dy * dy);
        if (q < 60) sum += exp(-q);
    }
    return -log(sum * scale / (M_PI * c->count));
}

static void check_against_draws(const char *keys, int class_index, const char *name, double noise) {
    static centres c; /* filled anew by each call */
    data_fixture f = data_open(keys);
    fill_centres(&c, name, noise);
    int n = 30000;
    double *xy = data_points(f.set, n, class_index), sum = 0, square = 0;
    for (int i = 0; i < n; i++) {
        double s = surprise(&c, xy + 3 * i);
        sum += s;
        square += s * s;
    }
    double mean = sum / n, error = sqrt((square / n - mean * mean) / n);
    CHECK(error < 0.01);
    CHECK_NEAR(mean, dataset_entropy(f.set, class_index), 4 * error + 2e-4);
    free(xy);
    data_close(&f);
}

TEST(data_entropy__shapes_agree_with_their_own_points) {
    static const char *const names[] = {"circle", "slash", "blobs", "three", "grid", "concentric"};
    for (int i = 0; i < 6; i++) {
        char keys[64];
        snprintf(keys, sizeof keys, "set = mixed\nshapes = %s square", names[i]);
        check_against_draws(keys, 0, names[i], strcmp(names[i], "blobs") == 0 ? 0.15 : 0.05);
    }
}

TEST(data_entropy__crescents_agree_with_their_own_points_at_any_noise) {
    check_against_draws("set = crescents", 0, "arc", 0.05);
    check_against_draws("set = crescents\nnoise = 0.02", 0, "arc", 0.02);
    check_against_draws("set = crescents\nnoise = 0.3\noverlap = yes", 0, "arc", 0.3);
}

TEST(data_entropy__crescents_of_smallest_noise_have_the_entropy_of_a_thin_band) {
    /* uniform along pi, normal across; the ends blur the length by a share that goes with the noise */
    double s = 0.002, band = log(M_PI) + 0.5 * log(2 * M_PI * M_E * s * s);
    data_fixture f = data_open("set = crescents\nnoise = 0.002");
    CHECK_NEAR(dataset_entropy(f.set, -1), band, s);
    CHECK(dataset_entropy(f.set, -1) > band);
    data_close(&f);
}
