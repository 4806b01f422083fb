/* Tests of the counter-based random numbers. */
#include "test.h"

#include "base/random_formulas.h"

#include <stdint.h>

TEST(random__a_normal_or_uniform_of_a_stream_can_be_had_without_those_before_it) {
    rng_key key = {.seed = 77, .purpose = RNG_TEST, .epoch = 3};
    for (uint64_t sample = 0; sample < 3; sample++) {
        rng r = rng_stream(key, sample);
        for (uint32_t i = 0; i < 50; i++) {
            double expected = rng_normal(&r);
            CHECK(stream_normal_at(key, sample, i) == expected);
        }
        r = rng_stream(key, sample);
        for (uint32_t i = 0; i < 50; i++) {
            double expected = rng_uniform(&r);
            CHECK(stream_uniform_at(key, sample, i) == expected);
        }
    }
}

TEST(random__bits_are_those_of_philox_4x32_10) {
    /* known answers of Random123; counter and key word by word */
    static const struct {
        uint32_t counter[4], key[2], block[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        rng r = rng_stream((rng_key){0}, 0);
        memcpy(r.counter, known[i].counter, sizeof r.counter);
        memcpy(r.key, known[i].key, sizeof r.key);
        for (int w = 0; w < 4; w++) CHECK(rng_bits(&r) == known[i].block[w]);
    }
}

TEST(random__seed_sample_purpose_and_epoch_have_their_places_in_the_counter) {
    rng_key key = {
        .seed = 0x299f31d0a4093822u, .purpose = 0x03707344u >> 26, .epoch = 0x03707344u & 0x3ffffffu};
    rng r = rng_stream(key, 0x13198a2e85a308d3u);
    r.counter[0] = 0x243f6a88u;
    CHECK(rng_bits(&r) == 0xd16cfe09u && rng_bits(&r) == 0x94fdccebu);
    CHECK(rng_bits(&r) == 0x5001e420u && rng_bits(&r) == 0x24126ea1u);
}

TEST(random__every_part_of_the_key_changes_the_stream) {
    rng_key base = {.seed = 1, .purpose = RNG_TEST, .epoch = 1};
    rng_key keys[] = {base, base, base, base, base, base, base};
    uint64_t samples[] = {1, 2, (uint64_t)1 << 32 | 1, 1, 1, 1, 1};
    keys[3].seed = 2;
    keys[4].seed = (uint64_t)1 << 32 | 1;
    keys[5].purpose = RNG_JUDGE;
    keys[6].epoch = 2;
    uint32_t first[7];
    for (int i = 0; i < 7; i++) {
        rng r = rng_stream(keys[i], samples[i]);
        first[i] = rng_bits(&r);
        for (int j = 0; j < i; j++) CHECK(first[i] != first[j]);
    }
}

TEST(random__a_stream_is_the_same_in_whatever_order_streams_are_drawn) {
    rng_key key = {.seed = 12345, .purpose = RNG_TEST, .epoch = 3};
    double forward[50][3];
    for (int i = 0; i < 50; i++) {
        rng r = rng_stream(key, (uint64_t)i);
        for (int j = 0; j < 3; j++) forward[i][j] = rng_normal(&r);
    }
    for (int i = 49; i >= 0; i--) {
        rng r = rng_stream(key, (uint64_t)i);
        for (int j = 0; j < 3; j++) CHECK(rng_normal(&r) == forward[i][j]);
    }
}

TEST(random__a_copied_stream_goes_on_from_where_it_was) {
    rng a = rng_stream((rng_key){.seed = 9, .purpose = RNG_TEST}, 4);
    (void)rng_bits(&a);
    (void)rng_normal(&a);
    rng b = a;
    for (int i = 0; i < 20; i++) CHECK(rng_normal(&a) == rng_normal(&b));
}

TEST(random__uniforms_have_the_moments_of_the_uniform_law) {
    rng r = rng_stream((rng_key){.seed = 7, .purpose = RNG_TEST}, 0);
    enum { N = 200000 };
    double sum = 0, squares = 0, lag = 0, last = 0.5;
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&r);
        CHECK(u > 0 && u < 1);
        sum += u;
        squares += (u - 0.5) * (u - 0.5);
        lag += (u - 0.5) * (last - 0.5);
        last = u;
    }
    CHECK_NEAR(sum / N, 0.5, 5 * 0.2887 / sqrt(N));
    CHECK_NEAR(squares / N, 1.0 / 12, 5 * 0.0745 / sqrt(N));
    CHECK_NEAR(lag / N, 0, 5 * (1.0 / 12) / sqrt(N));
}

TEST(random__extreme_bits_still_give_uniforms_inside_the_interval) {
    rng r = {.used = 0, .block = {~0u, ~0u, 0, 0}};
    double high = rng_uniform(&r), low = rng_uniform(&r);
    CHECK(high < 1 && high > 1 - 1e-15);
    CHECK(low > 0 && low < 1e-15);
    rng edge = {.used = 0, .block = {0, 0, 0, 0}};
    CHECK(isfinite(rng_normal(&edge)));
}

TEST(random__normals_have_the_moments_of_the_normal_law) {
    rng r = rng_stream((rng_key){.seed = 11, .purpose = RNG_TEST}, 0);
    enum { N = 200000 };
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pair = 0, previous = 0;
    for (int i = 0; i < N; i++) {
        double z = rng_normal(&r);
        m1 += z;
        m2 += z * z;
        m3 += z * z * z;
        m4 += z * z * z * z;
        pair += z * previous;
        previous = z;
    }
    CHECK_NEAR(m1 / N, 0, 5 / sqrt(N));
    CHECK_NEAR(m2 / N, 1, 5 * sqrt(2.0 / N));
    CHECK_NEAR(m3 / N, 0, 5 * sqrt(15.0 / N));
    CHECK_NEAR(m4 / N, 3, 5 * sqrt(96.0 / N));
    CHECK_NEAR(pair / N, 0, 5 / sqrt(N));
}

TEST(random__below_is_even_and_stays_below) {
    rng r = rng_stream((rng_key){.seed = 3, .purpose = RNG_TEST}, 0);
    int counts[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint32_t n = rng_below(&r, 7);
        CHECK(n < 7);
        counts[n]++;
    }
    for (int i = 0; i < 7; i++) CHECK_NEAR(counts[i], 10000, 5 * sqrt(10000));
    CHECK(rng_below(&r, 1) == 0);
    CHECK(rng_below(&r, 0) == 0);
    /* With n = 3 * 2^30 a biased method gives the lower third twice as often as each of the others. */
    int lower = 0;
    for (int i = 0; i < 30000; i++) lower += rng_below(&r, 3u << 30) < 1u << 30;
    CHECK_NEAR(lower, 10000, 5 * sqrt(30000 * 2.0 / 9));
}

TEST(random__range_covers_its_interval) {
    rng r = rng_stream((rng_key){.seed = 5, .purpose = RNG_TEST}, 0);
    double least = 1e9, most = -1e9;
    for (int i = 0; i < 10000; i++) {
        double v = rng_range(&r, -2, 6);
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    CHECK(least > -2 && least < -1.98);
    CHECK(most < 6 && most > 5.98);
}

TEST(random__shuffle_gives_every_order_equally_often) {
    int counts[6] = {0};
    for (uint64_t i = 0; i < 12000; i++) {
        rng r = rng_stream((rng_key){.seed = 8, .purpose = RNG_TEST}, i);
        int items[3] = {0, 1, 2};
        rng_shuffle(&r, items, 3);
        CHECK((1 << items[0] | 1 << items[1] | 1 << items[2]) == 7);
        counts[items[0] * 2 + (items[1] > items[2])]++;
    }
    for (int i = 0; i < 6; i++) CHECK_NEAR(counts[i], 2000, 5 * sqrt(2000));
}
