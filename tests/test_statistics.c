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
