/* The problems with known answers: exact entropies, exact posteriors, simulators as they are written down. */
#include "data_fixture.h"

/* By other means: closed forms, sums over finer grids, and means over many simulations, to the digits that
 * are given here. */
TEST(problems__entropies_are_what_other_ways_to_compute_them_give) {
    static const struct {
        const char *keys;
        double entropy;
    } cases[] = {{"set = gaussian_linear", -0.7893},
                 {"set = linear_uniform", -0.1797},
                 {"set = two_moons", -3.7927},
                 {"set = gaussian_mixture", 1.0157}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_fixture f = data_open(cases[i].keys);
        CHECK_NEAR(dataset_entropy(f.set, -1), cases[i].entropy, 5e-4);
        data_close(&f);
    }
}

/* A mean over series: by another program 60,000 of them on a grid twice as fine gave -3.324 +- 0.005. */
TEST(problems__entropy_of_the_oscillator_is_that_of_many_more_series) {
    data_fixture f = data_open("set = oscillator");
    CHECK_NEAR(dataset_entropy(f.set, -1), -3.324, 0.02);
    data_close(&f);
}

/* Units are known beforehand there: what is drawn has them. */
TEST(problems__series_of_the_oscillator_have_the_deviations_that_it_says) {
    enum { ROWS = 20000 };
    data_fixture f = data_open("set = oscillator");
    int dim = dataset_dim(f.set);
    double *xy = data_points(f.set, ROWS, -1);
    CHECK(dim == 131);
    for (int e = 0; e < dim; e++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < ROWS; i++) {
            double v = (xy[i * dim + e] - f.set->mean[e]) / f.set->deviation[e];
            sum += v / ROWS;
            squares += v * v / ROWS;
        }
        CHECK_NEAR(sum, 0, 0.03);
        CHECK_NEAR(squares, 1, 0.05);
    }
    free(xy);
    data_close(&f);
}

/* If x is drawn with y, and others are drawn from p(x | y), then x has any rank among them with the same
 * probability, in every coordinate. Chi-square of ten ranks: 9 degrees of freedom, above 33.7 once in 10,000.
 */
TEST(problems__posteriors_are_exact_by_the_ranks_of_the_truth) {
    enum { PAIRS = 3000, OTHERS = 9 };
    static const char *const sets[] = {"set = gaussian_linear",    "set = linear_uniform",
                                       "set = two_moons",          "set = gaussian_mixture",
                                       "set = inverse_kinematics", "set = oscillator"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        data_fixture f = data_open(sets[i]);
        int dim = f.set->dim_x, pairs = i >= 4 ? 300 : PAIRS, count[10][OTHERS + 1] = {{0}};
        double *xy = data_points(f.set, pairs, -1), other[10];
        CHECK(f.set->kind->posterior && dim <= 10);
        for (int n = 0; n < pairs; n++) {
            const double *x = xy + n * dataset_dim(f.set);
            int rank[10] = {0};
            rng stream = rng_stream(data_key(9), (uint64_t)n);
            for (int k = 0; k < OTHERS; k++) {
                CHECK(f.set->kind->posterior(f.set, &stream, x + dim, other));
                for (int e = 0; e < dim; e++) rank[e] += other[e] < x[e];
            }
            for (int e = 0; e < dim; e++) count[e][rank[e]]++;
        }
        for (int e = 0; e < dim; e++) {
            double expected = (double)pairs / (OTHERS + 1), chi = 0;
            for (int k = 0; k <= OTHERS; k++) chi += pow(count[e][k] - expected, 2) / expected;
            if (chi > 33.7) test_fail(__FILE__, __LINE__, "%s, element %d: chi-square %g", sets[i], e, chi);
        }
        free(xy);
        data_close(&f);
    }
}

TEST(problems__samples_of_the_posterior_of_an_arm_reach_its_end) {
    data_fixture f = data_open("set = inverse_kinematics");
    rng stream = rng_stream(data_key(1), 0);
    const double y[2] = {1.5, 0.3};
    for (int i = 0; i < 50; i++) {
        double x[4];
        CHECK(f.set->kind->posterior(f.set, &stream, y, x));
        double a = x[1], b = a + x[2], c = b + x[3];
        CHECK_NEAR(0.5 * cos(a) + 0.5 * cos(b) + cos(c), y[0], 0.005);
        CHECK_NEAR(x[0] + 0.5 * sin(a) + 0.5 * sin(b) + sin(c), y[1], 1e-12);
    }
    data_close(&f);
}

/* The four draws of a row have the mean and covariance that its parameters say: over all rows, standardised
 * by those. */
TEST(problems__slcp_draws_have_the_moments_of_their_parameters) {
    enum { ROWS = 20000 };
    data_fixture f = data_open("set = slcp");
    CHECK(f.set->dim_x == 5 && f.set->dim_y == 8 && isnan(dataset_entropy(f.set, -1)));
    double *xy = data_points(f.set, ROWS, -1), mean[2] = {0}, square[2] = {0}, product = 0;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 4; k++) {
            const double *x = xy + 13 * i, *y = x + 5 + 2 * k;
            double v1 = pow(x[2], 4) + 1e-6, v2 = pow(x[3], 4) + 1e-6,
                   rho = tanh(x[4]) * x[2] * x[2] * x[3] * x[3];
            double a = (y[0] - x[0]) / sqrt(v1), b = (y[1] - x[1]) / sqrt(v2);
            mean[0] += a / (4 * ROWS), mean[1] += b / (4 * ROWS);
            square[0] += a * a / (4 * ROWS), square[1] += b * b / (4 * ROWS);
            product += (a * b - rho / sqrt(v1 * v2)) / (4 * ROWS);
        }
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(mean[i], 0, 0.015);
        CHECK_NEAR(square[i], 1, 0.025);
    }
    CHECK_NEAR(product, 0, 0.02);
    free(xy);
    data_close(&f);
}

TEST(problems__uniform_priors_are_supports) {
    static const struct {
        const char *keys;
        double side;
    } cases[] = {{"set = two_moons", 1},
                 {"set = gaussian_mixture", 10},
                 {"set = slcp", 3},
                 {"set = linear_uniform", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_fixture f = data_open(cases[i].keys);
        double *xy = data_points(f.set, 1000, -1);
        for (int k = 0; k < f.set->dim_x; k++) {
            CHECK(f.set->support[k].kind == SUPPORT_CUT && f.set->support[k].hi == cases[i].side &&
                  f.set->support[k].lo == -cases[i].side);
            for (int n = 0; n < 1000; n++)
                CHECK(support_contains(&f.set->support[k], xy[n * dataset_dim(f.set) + k]));
        }
        CHECK(f.set->keeps_names && dataset_name(f.set, dataset_dim(f.set) - 1));
        free(xy);
        data_close(&f);
    }
}
