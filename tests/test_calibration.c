/* Calibration of a model that is known exactly: the identity, whose answers are N(0, 1) whatever y is. */
#include "train_fixture.h"

#include "judge/judge.h"

enum { PAIRS = 1000 };

static run *open_identity_of(const char *set) {
    char content[700];
    snprintf(content, sizeof content, "%s[model]\noutput_gain = 0\n[data]\nset = %s\n",
             strstr(tiny, "[model]"), set);
    return run_open(content);
}

static run *open_identity(void) {
    return open_identity_of("crescents");
}

/* What the x of a pair is, before the model's answer N(0, 1) is compared with it. */
typedef struct truth {
    double mean, deviation; /* of coordinate 0; the others are N(0, 1) */
    double only_above;      /* of y, in the model's units: elsewhere coordinate 0 is N(0, 1), too */
    const char *set;        /* NULL: the two classes of the crescents */
    int mirrored;           /* below -only_above the mean is -mean, so that over all y there is none */
} truth;

/* The words are NULL or yours to free. */
static void judge_truth(calibration *out, truth t, double temperature, char **words) {
    run *r = open_identity_of(t.set ? t.set : "crescents");
    const model_units *u = &r->m->units;
    int dim = r->m->flow->dim, dim_x = u->dim_x;
    double *rows = calloc((size_t)(PAIRS * dim), sizeof *rows);
    rng stream = rng_stream((rng_key){.seed = 5, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < PAIRS * dim; i++) rows[i] = rng_normal(&stream);
    for (double *row = rows; row < rows + PAIRS * dim; row += dim) {
        if (u->classes) row[dim_x] = units_to_model(u, dim_x, u->label[row[dim_x] > 0]);
        if (t.mirrored && row[dim_x] < -t.only_above) row[0] = -t.mean + t.deviation * row[0];
        if (row[dim_x] > t.only_above) row[0] = t.mean + t.deviation * row[0];
    }
    CHECK_STATUS(calibration_create(r->m, out, PAIRS, rows, 3, temperature), JF_OK);
    if (words) CHECK_STATUS(calibration_tell(r->m, out, words), JF_OK);
    free(rows);
    run_close(r);
}

/* Pairs of data whose x has this mean and deviation in coordinate 0, and N(0, 1) in the others. */
static void judge_identity(calibration *out, double mean, double deviation, double temperature) {
    judge_truth(out, (truth){mean, deviation, -INFINITY, NULL, 0}, temperature, NULL);
}

static void check_words(truth t, double temperature, const char *part) {
    calibration c;
    char *words;
    judge_truth(&c, t, temperature, &words);
    CHECK_HAS(words, part);
    free(words);
    calibration_free(&c);
}

TEST(calibration__a_right_model_is_calibrated) {
    calibration c;
    judge_identity(&c, 0, 1, 1);
    CHECK(c.rows == PAIRS && calibration_is_good(&c));
    CHECK(c.hpd.of_band <= 1 && c.tarp.of_band <= 1 && c.hpd.of_band > 0);
    CHECK_NEAR(c.coverage_50, 0.5, 0.05);
    CHECK_NEAR(c.coverage_90, 0.9, 0.03);
    CHECK(c.tarp.deviation < 0.05 && c.hpd.deviation < 0.05);
    check_words((truth){0, 1, -INFINITY, NULL, 0}, 1, "The answers are calibrated, as far as 1000 pairs");
    calibration_free(&c);
}

TEST(calibration__latents_scaled_by_0_7_are_named_over_confident) {
    calibration c;
    judge_identity(&c, 0, 1, 0.7);
    for (int i = 0; i < c.coordinates; i++) CHECK(c.sbc[i].verdict == OVER_CONFIDENT && c.sbc[i].of_band > 1);
    CHECK(c.hpd.verdict == OVER_CONFIDENT && c.coverage_90 < 0.8);
    check_words((truth){0, 1, -INFINITY, NULL, 0}, 0.7, "x1 is over-confident");
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
    check_words((truth){0.3, 1, -INFINITY, NULL, 0}, 1, "x0 is biased: samples too low");
    calibration_free(&c);
    judge_identity(&c, -0.3, 1, 1);
    CHECK(c.sbc[0].verdict == BIASED_HIGH && c.sbc[1].verdict == CALIBRATED);
    calibration_free(&c);
}

/* What cancels over all y no rank over all of them can show. */
TEST(calibration__what_fails_for_some_y_alone_is_named_with_these_y) {
    calibration c;
    char *words;
    judge_truth(&c, (truth){0.4, 1, 0.45, "sectors", 1}, 1, &words);
    CHECK(!calibration_is_good(&c) && c.region.rows > 300 && c.region.rows < 350);
    CHECK(c.region.number == 0 && c.region.column == 0 && c.region.part == 2 &&
          c.region.verdict == BIASED_LOW);
    CHECK_HAS(words, "The answers are calibrated, all together, as far as 1000 pairs of the data show. "
                     "Answers where y0 is at least 3.");
    CHECK_HAS(words, " are not: there x0 is biased: samples too low (33");
    free(words);
    calibration_free(&c);
    judge_truth(&c, (truth){0, 2, 0.45, "sectors", 0}, 1, &words);
    CHECK(c.region.part == 2 && c.region.number == 0 && c.region.verdict == OVER_CONFIDENT);
    free(words);
    calibration_free(&c);
    judge_truth(&c, (truth){0.5, 1, 0, NULL, 0}, 1, &words);
    CHECK(c.region.column == -1 && c.region.part == 1 && c.region.verdict == BIASED_LOW);
    CHECK_HAS(words, "It is worst for answers of class ");
    free(words);
    calibration_free(&c);
}

TEST(calibration__what_fails_for_all_y_alike_names_none) {
    calibration c;
    char *words;
    judge_truth(&c, (truth){0.5, 1, -INFINITY, NULL, 0}, 1, &words);
    CHECK(c.sbc[0].verdict == BIASED_LOW && c.region.rows == 0);
    CHECK_HAS(words, "No part of y is worse than the others");
    free(words);
    calibration_free(&c);
}

/* How often, of `times` sets of pairs, a right model is called something else, and what the cause was. */
typedef struct alarms {
    int any, sbc, hpd, tarp, region;
} alarms;

static alarms count_alarms(const char *set, int times) {
    enum { FEW = 100 };
    run *r = open_identity_of(set);
    int dim = r->m->flow->dim;
    double *rows = calloc((size_t)(FEW * dim), sizeof *rows);
    alarms out = {0};
    for (uint64_t t = 0; t < (uint64_t)times; t++) {
        calibration c;
        rng stream = rng_stream((rng_key){.seed = 6, .purpose = RNG_TEST}, t);
        for (int i = 0; i < FEW * dim; i++) rows[i] = rng_normal(&stream);
        CHECK_STATUS(calibration_create(r->m, &c, FEW, rows, t, 1), JF_OK);
        int some = 0;
        for (int i = 0; i < c.coordinates; i++) some |= c.sbc[i].verdict != CALIBRATED;
        out.sbc += some;
        out.hpd += c.hpd.verdict != CALIBRATED;
        out.tarp += c.tarp.verdict != CALIBRATED;
        out.region += c.region.rows > 0;
        out.any += !calibration_is_good(&c);
        calibration_free(&c);
    }
    free(rows);
    run_close(r);
    return out;
}

/* All tests together, not each of them. Of 400 sets 20 alarms are expected, deviation 4.4; of 120 6, 2.4. */
TEST(calibration__a_right_model_is_called_calibrated_in_95_of_100_cases) {
    SKIP_SANITIZED();
    const int times = ALL_CASES ? 400 : 120, most = ALL_CASES ? 33 : 13;
    alarms a = count_alarms("crescents", times);
    CHECK(a.any <= most);
    CHECK(a.sbc + a.hpd + a.tarp >= times / 60); /* a band that is never left is too wide */
    CHECK(a.region <= most / 3);
}

/* Ten coordinates and ten conditions: some 700 comparisons. */
TEST(calibration__many_coordinates_and_conditions_raise_no_more_alarms) {
    SKIP_SANITIZED();
    alarms a = count_alarms("gaussian_linear", ALL_CASES ? 100 : 40); /* 5 expected, or 2 */
    CHECK(a.any <= (ALL_CASES ? 10 : 7));
}

TEST(judge__a_model_that_learned_nothing_is_worse_than_a_linear_gaussian) {
    run *r = open_identity();
    judgement *j;
    CHECK_STATUS(judge_run(r->m, &j, 5000, 1), JF_OK);
    CHECK(isfinite(j->linear_gain) && j->linear_error > 0);
    CHECK(j->linear_gain < 0); /* a map that does nothing is worse than a line */
    CHECK_HAS(j->table.chars, "worse than that by");
    CHECK(!strstr(j->table.chars, "no more than chance"));
    CHECK_HAS(j->json.chars, "gain_over_linear_gaussian");
    judge_free(j);
    run_close(r);
}

/* ---- what is simulated from answers ---- */

/* y = x0, noise of deviation 0.1 by the number of the row. */
static int shift(void *user, size_t n, const double *x, double *y) {
    int *calls = user;
    for (size_t i = 0; i < n; i++) {
        rng stream = rng_stream((rng_key){.seed = 9, .purpose = RNG_TEST, .epoch = (uint64_t)*calls}, i);
        y[i] = x[2 * i] + 0.1 * rng_normal(&stream);
    }
    (*calls)++;
    return *calls > 2;
}

/* Of the identity answers are N(0, 1) whatever y is: right where y has nothing to do with x, wrong where it
 * is x0. */
TEST(predictive__answers_that_lead_back_to_y_are_told_from_others) {
    run *r = open_identity_of("sectors");
    const model_units *u = &r->m->units;
    predictive p;
    char *words;
    for (int related = 0; related < 2; related++) {
        double rows[3 * PAIRS];
        int calls = 0;
        rng stream = rng_stream((rng_key){.seed = 7, .purpose = RNG_TEST}, 0);
        for (int i = 0; i < 3 * PAIRS; i++) rows[i] = rng_normal(&stream);
        units_unstandardise(u, PAIRS, rows);
        for (int i = 0; related && i < PAIRS; i++) rows[3 * i + 2] = rows[3 * i];
        CHECK_STATUS(predictive_create(r->m, &p, PAIRS, rows, 1, 1, shift, &calls), JF_OK);
        CHECK_STATUS(predictive_tell(r->m, &p, &words), JF_OK);
        CHECK(calls == 2 && p.rows == PAIRS && p.columns == 1);
        CHECK((fabs(p.column[0].off) > p.limit) == related);
        CHECK_HAS(words, related ? "y0, simulated from answers, is off by"
                                 : "as near to y as what is simulated from the truth");
        if (related) CHECK_NEAR(p.column[0].of_truth, 0.1, 0.01);
        free(words);
        predictive_free(&p);
        calls = 2; /* fails */
        CHECK_STATUS(predictive_create(r->m, &p, PAIRS, rows, 1, 1, shift, &calls), JF_ERROR_DATA);
    }
    run_close(r);
}
