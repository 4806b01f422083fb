/* Calibration of a model that is known exactly: the identity, whose answers are N(0, 1) whatever y is. */
#include "train_fixture.h"

#include "judge/judge.h"

enum { PAIRS = 1000 };

static run *open_identity(void) {
    char content[700];
    snprintf(content, sizeof content, "%s[model]\noutput_gain = 0\n", tiny);
    return run_open(content);
}

/* Pairs of data whose x has this mean and deviation in coordinate 0, and N(0, 1) in the others. */
static void judge_identity(calibration *out, double mean, double deviation, double temperature) {
    run *r = open_identity();
    int dim = r->m->flow->dim;
    double *rows = calloc((size_t)(PAIRS * dim), sizeof *rows);
    rng stream = rng_stream((rng_key){.seed = 5, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < PAIRS * dim; i++)
        rows[i] = rng_normal(&stream) * (i % dim == 0 ? deviation : 1) + (i % dim == 0 ? mean : 0);
    CHECK_STATUS(calibration_create(r->m, out, PAIRS, rows, 3, temperature), JF_OK);
    free(rows);
    run_close(r);
}

static void check_words(const calibration *c, const char *part) {
    jf_context *ctx;
    char *words;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(calibration_tell(ctx, c, &words), JF_OK);
    CHECK_HAS(words, part);
    free(words);
    jf_context_free(ctx);
}

TEST(calibration__a_right_model_is_calibrated) {
    calibration c;
    judge_identity(&c, 0, 1, 1);
    CHECK(c.rows == PAIRS && calibration_is_good(&c));
    CHECK(c.hpd.of_band <= 1 && c.tarp.of_band <= 1 && c.hpd.of_band > 0);
    CHECK_NEAR(c.coverage_50, 0.5, 0.05);
    CHECK_NEAR(c.coverage_90, 0.9, 0.03);
    CHECK(c.tarp.deviation < 0.05 && c.hpd.deviation < 0.05);
    check_words(&c, "The answers are calibrated");
    calibration_free(&c);
}

TEST(calibration__latents_scaled_by_0_7_are_named_over_confident) {
    calibration c;
    judge_identity(&c, 0, 1, 0.7);
    for (int i = 0; i < c.coordinates; i++) CHECK(c.sbc[i].verdict == OVER_CONFIDENT && c.sbc[i].of_band > 1);
    CHECK(c.hpd.verdict == OVER_CONFIDENT && c.coverage_90 < 0.8);
    check_words(&c, "x1 is over-confident");
    calibration_free(&c);
}

TEST(calibration__too_wide_answers_are_named_under_confident) {
    calibration c;
    judge_identity(&c, 0, 1, 1.4);
    for (int i = 0; i < c.coordinates; i++) CHECK(c.sbc[i].verdict == UNDER_CONFIDENT);
    CHECK(c.hpd.verdict == UNDER_CONFIDENT);
    calibration_free(&c);
}

TEST(calibration__a_bias_is_named_with_its_coordinate_and_direction) {
    calibration c;
    judge_identity(&c, 0.3, 1, 1);
    CHECK(c.sbc[0].verdict == BIASED_LOW && c.sbc[1].verdict == CALIBRATED);
    check_words(&c, "x0 is biased: samples too low");
    calibration_free(&c);
    judge_identity(&c, -0.3, 1, 1);
    CHECK(c.sbc[0].verdict == BIASED_HIGH && c.sbc[1].verdict == CALIBRATED);
    calibration_free(&c);
}

/* Of a right model they are left once in twenty times, by all points of all lines together. */
TEST(calibration__bands_hold_right_models_in_95_of_100_cases) {
    run *r = open_identity();
    int dim = r->m->flow->dim, left[3] = {0};
    enum { TIMES = 100, FEW = 200 };
    double *rows = calloc((size_t)(FEW * dim), sizeof *rows);
    for (uint64_t t = 0; t < TIMES; t++) {
        calibration c;
        rng stream = rng_stream((rng_key){.seed = 6, .purpose = RNG_TEST}, t);
        for (int i = 0; i < FEW * dim; i++) rows[i] = rng_normal(&stream);
        CHECK_STATUS(calibration_create(r->m, &c, FEW, rows, t, 1), JF_OK);
        int some = 0;
        for (int i = 0; i < c.coordinates; i++) some |= c.sbc[i].verdict != CALIBRATED;
        left[0] += some;
        left[1] += c.hpd.verdict != CALIBRATED;
        left[2] += c.tarp.verdict != CALIBRATED;
        calibration_free(&c);
    }
    for (int i = 0; i < 3; i++) CHECK(left[i] <= 12); /* 5 expected, deviation 2.2 */
    CHECK(left[0] + left[1] + left[2] >= 3);          /* a band that is never left is too wide */
    free(rows);
    run_close(r);
}

TEST(judge__a_model_that_learned_nothing_is_no_better_than_a_linear_gaussian) {
    run *r = open_identity();
    judgement *j;
    CHECK_STATUS(judge_run(r->m, &j, 5000, 1), JF_OK);
    CHECK(isfinite(j->linear_gain) && j->linear_error > 0);
    CHECK(j->linear_gain < 0); /* a map that does nothing is worse than a line */
    CHECK_HAS(j->table.chars, "the model adds nothing to it");
    CHECK_HAS(j->json.chars, "gain_over_linear_gaussian");
    judge_free(j);
    run_close(r);
}
