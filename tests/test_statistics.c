/* Small statistics over host arrays. */
#include "test.h"

#include "base/random.h"
#include "base/statistics.h"

TEST(statistics__values_that_are_no_numbers_sort_last) {
    double values[] = {NAN, 2, -INFINITY, NAN, 1, INFINITY, 0};
    static const double expected[] = {-INFINITY, 0, 1, 2, INFINITY};
    sort_ascending(values, 7);
    for (int i = 0; i < 5; i++) CHECK(values[i] == expected[i]);
    CHECK(isnan(values[5]) && isnan(values[6]));
}

TEST(statistics__ks_is_the_largest_step_between_the_distributions) {
    double middle[] = {0}, pair[] = {-1, 1}, far[] = {40, 41, 42, 43};
    CHECK_NEAR(ks_to_normal(middle, 1), 0.5, 1e-15);
    CHECK_NEAR(ks_to_normal(pair, 2), 0.5 - 0.15865525393145705, 1e-12); /* at either side of either point */
    CHECK_NEAR(ks_to_normal(far, 4), 1, 1e-15);
}

TEST(statistics__ks_of_normal_numbers_is_that_of_chance) {
    enum { POINTS = 10000 };
    static double values[POINTS];
    rng r = rng_stream((rng_key){.seed = 1, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < POINTS; i++) values[i] = rng_normal(&r);
    double ks = ks_to_normal(values, POINTS);
    CHECK(ks > 0.003 && ks < 0.02);
}

TEST(statistics__ks_does_not_hide_values_that_are_no_numbers) {
    for (int at = 0; at < 3; at++) {
        double values[] = {-1, 0, 1};
        values[at] = NAN;
        CHECK(isnan(ks_to_normal(values, 3)));
    }
}

TEST(statistics__quantiles_lie_on_lines_between_the_values) {
    static const double sorted[] = {1, 2, 4};
    CHECK(quantile(sorted, 3, 0) == 1 && quantile(sorted, 3, 0.5) == 2 && quantile(sorted, 3, 1) == 4);
    CHECK_NEAR(quantile(sorted, 3, 0.75), 3, 1e-15);
    CHECK(isnan(quantile(sorted, 0, 0.5)));
}

/* Over different rows: E|a - b| = (|0 - 7| + |1 - 5|)/2 = 5.5, E|a - a'| = 1, E|b - b'| = 2. */
TEST(statistics__energy_distance_of_points_on_a_line) {
    static const double a[] = {0, 1}, b[] = {5, 7};
    CHECK_NEAR(energy_distance(a, b, 2, 1), 2 * 5.5 - 1 - 2, 1e-15);
    CHECK_NEAR(energy_distance(b, a, 2, 1), 8, 1e-15);
}

/* A right triangle of sides 3, 4, 5 against itself moved by (0, 12) and against itself: all nine distances by
 * hand. */
TEST(statistics__energy_distance_of_points_in_the_plane) {
    static const double a[] = {0, 0, 3, 0, 0, 4}, moved[] = {0, 12, 3, 12, 0, 16};
    double within = 2 * (3 + 4 + 5) / 6.0; /* each pair twice */
    double between =
        (hypot(3, 12) + hypot(0, 16) + hypot(3, 12) + hypot(3, 16) + hypot(0, 8) + hypot(3, 8)) / 6;
    CHECK_NEAR(energy_distance(a, moved, 3, 2), 2 * between - 2 * within, 1e-14);
    CHECK_NEAR(energy_distance(a, a, 3, 2), 0, 1e-14); /* no pair of a row and itself */
}

TEST(statistics__psnr_is_20_dB_for_each_decimal_place) {
    CHECK_NEAR(psnr(64 * 0.1 * 0.1, 64), 20, 1e-12);
    CHECK_NEAR(psnr(1, 100), 20, 1e-12); /* one pixel of a hundred is all wrong */
    CHECK_NEAR(psnr(5 * 0.01 * 0.01, 5), 40, 1e-12);
    CHECK_NEAR(psnr(3, 3), 0, 1e-12);
    CHECK(psnr(0, 3) == INFINITY);
}
