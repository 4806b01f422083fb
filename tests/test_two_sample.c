/* Measures of whether two samples have the same distribution, against closed forms of normal distributions.
 */
#include "test.h"

#include "base/random.h"
#include "base/statistics.h"
#include "two_sample/two_sample.h"

enum { ROWS = 2000, DIM = 2, C2ST = 0, MMD = 1, SLICED = 2 };

/* N(shift, 1) in the first column, N(0, 1) in the others. */
static void draw(double *rows, uint64_t stream, double shift) {
    rng r = rng_stream((rng_key){.seed = 3, .purpose = RNG_TEST}, stream);
    for (int i = 0; i < ROWS * DIM; i++) rows[i] = rng_normal(&r) + (i % DIM == 0 ? shift : 0);
}

static void compare_shifted(double shift, int threads, jf_two_sample *out) {
    static double a[ROWS * DIM], b[ROWS * DIM];
    draw(a, 0, 0);
    draw(b, 1, shift);
    jf_context *ctx;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_comparison found = {0};
    CHECK_STATUS(compare_tables(ctx, &(jf_table){a, ROWS, DIM}, &(jf_table){b, ROWS, DIM},
                                &(jf_compare_options){.rows = ROWS, .seed = 7, .threads = threads}, &found),
                 JF_OK);
    memcpy(out, found.measures, found.count * sizeof *out);
    jf_context_free(ctx);
}

TEST(compare__samples_of_one_distribution_are_not_told_apart) {
    jf_two_sample r[8];
    compare_shifted(0, 2, r);
    CHECK_NEAR(r[C2ST].value, 0.5, 0.03);
    CHECK_NEAR(r[C2ST].same, 0.5, 0.03);
    for (int i = 0; i < 3; i++) CHECK(r[i].value < 1.25 * r[i].limit);
}

/* The best classifier cuts in the middle; a direction at angle t sees the shift times |cos t|. */
TEST(compare__shifted_normals_have_the_values_of_their_closed_forms) {
    jf_two_sample r[8];
    compare_shifted(1, 2, r);
    CHECK_NEAR(r[C2ST].value, normal_cdf(0.5), 0.02);
    CHECK_NEAR(r[SLICED].value, 2 / 3.14159265358979, 0.05);
    CHECK(r[MMD].value > 5 * r[MMD].limit);
    for (int i = 0; i < 3; i++) CHECK(r[i].value > r[i].limit && r[i].same <= 1.02 * r[i].limit);
}

/* E k(a, a') of a Gaussian kernel of width s and normals of dim D, a - a' ~ N(shift, 2): (s^2/(s^2+2))^(D/2)
 * exp(...). */
TEST(compare__mmd_of_shifted_normals_is_that_of_their_means) {
    jf_two_sample r[8];
    compare_shifted(1, 2, r);
    double s2 = 1.8 * 1.8; /* the median distance of this pool, about 1.8 */
    double same = s2 / (s2 + 2), apart = same * exp(-0.5 / (s2 + 2));
    CHECK_NEAR(r[MMD].value, sqrt(2 * same - 2 * apart), 0.03);
}

TEST(compare__has_the_same_bits_for_any_number_of_threads) {
    jf_two_sample one[8], many[8];
    compare_shifted(0.5, 1, one);
    compare_shifted(0.5, 5, many);
    for (int i = 0; i < 3; i++) {
        CHECK(one[i].value == many[i].value);
        CHECK(one[i].same == many[i].same && one[i].limit == many[i].limit);
    }
}

TEST(compare__takes_columns_that_never_change) {
    jf_comparison found = {0};
    double a[200], b[200];
    for (int i = 0; i < 200; i++) a[i] = b[i] = i % 2 ? 5 : i;
    jf_context *ctx;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(compare_tables(ctx, &(jf_table){a, 100, 2}, &(jf_table){b, 100, 2},
                                &(jf_compare_options){.threads = 1}, &found),
                 JF_OK);
    jf_context_free(ctx);
    const jf_two_sample *r = found.measures;
    for (int i = 0; i < 3; i++) CHECK(isfinite(r[i].value) && isfinite(r[i].same));
    CHECK_NEAR(r[SLICED].value, 0, 1e-12);
}
