/* Columns that cannot be just anywhere: maps to the line and back, densities in the user's units, samples
 * that never leave the support, and model files that know all of it. */
#include "base/normal.h"
#include "data/bounds.h"
#include "data_fixture.h"
#include "format_fixture.h"
#include "io/npy.h"
#include "jointflow/jointflow.h"
#include "model/use.h"
#include "train_fixture.h"
#include "types/support.h"

static const column_support supports[] = {
    {.kind = SUPPORT_LINE},
    {.kind = SUPPORT_INTERVAL, .lo = -0.3, .hi = 0.1},
    {.kind = SUPPORT_INTERVAL, .lo = 1e6, .hi = 1e6 + 1},
    {.kind = SUPPORT_ABOVE, .lo = 2},
    {.kind = SUPPORT_BELOW, .hi = -1},
    {.kind = SUPPORT_CIRCLE, .lo = 0, .hi = 6.25, .cut = 2},
    {.kind = SUPPORT_WHOLE, .lo = 0, .hi = 10},
    {.kind = SUPPORT_WHOLE, .lo = -2, .hi = INFINITY},
    {.kind = SUPPORT_WHOLE, .lo = -INFINITY, .hi = INFINITY},
    {.kind = SUPPORT_UNIFORM, .lo = -0.3, .hi = 0.1},
    {.kind = SUPPORT_UNIFORM, .lo = 1e6, .hi = 1e6 + 1},
};
enum { SUPPORTS = sizeof supports / sizeof *supports };

/* ---- the maps ---- */

TEST(support__the_way_back_from_the_line_undoes_the_way_there) {
    for (int i = 0; i < SUPPORTS; i++)
        for (double t = -6; t <= 6; t += 0.173) {
            const column_support *s = &supports[i];
            if (s->kind == SUPPORT_UNIFORM && fabs(t) > 5)
                continue; /* as if on the bound: see SUPPORT_EDGE */
            double v = support_from_line(s, t), back = support_from_line(s, support_to_line(s, v));
            CHECK(support_contains(s, v));
            CHECK_NEAR(back, v, 1e-9 * (1 + fabs(v)));
        }
}

TEST(support__slopes_are_those_of_finite_differences) {
    const double h = 1e-5;
    for (int i = 0; i < SUPPORTS; i++) {
        const column_support *s = &supports[i];
        if (s->kind == SUPPORT_WHOLE || fabs(s->lo) > 1e5)
            continue; /* rounded; too few digits for a difference */
        for (double t = -5; t <= 5; t += 0.377) {
            if (s->kind == SUPPORT_UNIFORM && fabs(t) > 3.5) continue; /* too flat for a difference */
            double slope = (support_from_line(s, t + h) - support_from_line(s, t - h)) / (2 * h);
            CHECK_NEAR(support_log_slope(s, t), log(fabs(slope)), 1e-7);
        }
    }
}

/* Random numbers in place of a constant are N(0, 1) on the line, the constant itself is 0, and so is every
 * other value. */
TEST(support__a_constant_is_spread_over_the_line_and_comes_back_exactly) {
    static const double constants[] = {0, 3.7, -1e-300, 1e300, 5e-324, 0.1};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        const column_support s = {.kind = SUPPORT_CONSTANT, .lo = constants[i], .hi = constants[i]};
        CHECK(support_is_valid(&s));
        for (double share = 0.001; share < 1; share += 0.0173) {
            double v = support_around_constant(&s, share), t = support_to_line(&s, v);
            CHECK(support_contains(&s, v));
            CHECK_NEAR(normal_below(t), share, 1e-6);
            CHECK(support_from_line(&s, t) == constants[i]);
            CHECK_NEAR(support_log_slope(&s, t), -0.5 * log(2 * M_PI) - t * t / 2, 1e-12);
        }
        CHECK(support_to_line(&s, constants[i]) == 0);
        CHECK(support_to_line(&s, constants[i] + 1e294) == 0 && support_to_line(&s, -2e300) == 0);
        CHECK(!support_contains(&s, constants[i] + 1e-5 + 1e-5 * fabs(constants[i])));
    }
    CHECK(!support_is_valid(&(column_support){.kind = SUPPORT_CONSTANT, .lo = 1, .hi = 2}));
}

/* A bound of 1 would hide the digits of what is close to it: counted from 0, every place has its own. */
TEST(support__of_uniform_columns_keeps_its_digits_beside_the_bounds) {
    const column_support from_0 = {.kind = SUPPORT_UNIFORM, .lo = 0, .hi = 1},
                         to_0 = {.kind = SUPPORT_UNIFORM, .lo = -1, .hi = 0};
    for (double t = -5.1; t < 0; t += 0.0137) {
        double v = support_from_line(&from_0, t);
        CHECK_NEAR(v / (0.5 * erfc(-t / sqrt(2))), 1, 1e-14);
        CHECK_NEAR(support_to_line(&from_0, v), t, 1e-13);
        CHECK(support_from_line(&to_0, -t) == -v);
        CHECK_NEAR(support_to_line(&to_0, -v), -t, 1e-13);
    }
}

/* Values on a bound are the farthest, and finite; those of the middle are 0. */
TEST(support__of_uniform_columns_is_finite_on_the_bounds) {
    const column_support s = {.kind = SUPPORT_UNIFORM, .lo = -3, .hi = 3};
    CHECK_NEAR(support_to_line(&s, -3), -5.199337582192817, 1e-12);
    CHECK_NEAR(support_to_line(&s, 3), 5.199337582192817, 1e-12);
    CHECK(support_to_line(&s, 0) == 0);
    CHECK(isfinite(support_log_slope(&s, 40)) && support_from_line(&s, 40) == 3 &&
          support_from_line(&s, -40) == -3);
}

/* What fills the interval evenly is normal on the line. */
TEST(support__of_uniform_columns_makes_them_normal) {
    enum { POINTS = 100000 };
    const column_support s = {.kind = SUPPORT_UNIFORM, .lo = 2, .hi = 7};
    double moments[5] = {0};
    for (int i = 0; i < POINTS; i++) {
        double t = support_to_line(&s, 2 + 5 * (i + 0.5) / POINTS);
        for (int k = 1; k < 5; k++) moments[k] += pow(t, k) / POINTS;
    }
    CHECK_NEAR(moments[1], 0, 1e-9);
    CHECK_NEAR(moments[2], 1, 1e-3);
    CHECK_NEAR(moments[3], 0, 1e-9);
    CHECK_NEAR(moments[4], 3, 1e-2);
}

TEST(support__whole_numbers_near_zero_are_0_not_minus_0) {
    column_support s = {.kind = SUPPORT_WHOLE, .lo = 0, .hi = 5},
                   line = {.kind = SUPPORT_WHOLE, .lo = -INFINITY, .hi = INFINITY};
    CHECK(!signbit(support_from_line(&s, support_to_line(&s, -0.2))));
    CHECK(!signbit(support_from_line(&line, -0.2)));
}

/* Of whole numbers the slope is that of the room around them. */
TEST(support__the_room_around_whole_numbers_has_the_slope_of_its_interval) {
    const column_support room = {.kind = SUPPORT_INTERVAL, .lo = -0.5, .hi = 10.5};
    for (double t = -8; t < 8; t += 0.71)
        CHECK_NEAR(support_log_slope(&supports[6], t), support_log_slope(&room, t), 1e-14);
}

/* 20 million places of the line, most of them far off, for each kind. */
TEST(support__no_place_of_the_line_leads_out_of_it) {
    enum { PLACES = 20000000 / SUPPORTS };
    static const double extremes[] = {0, -0.0, 1e-300, 36.8, -36.8, 745.2, -745.2, 709.0, -709.0, 1e6, -1e6};
    rng r = rng_stream(data_key(1), 0);
    for (int i = 0; i < SUPPORTS; i++) {
        const column_support *s = &supports[i];
        for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++) {
            double v = support_from_line(s, extremes[k]);
            CHECK(isinf(v) || support_contains(s, v)); /* an infinite one is refused where models are used */
        }
        for (int k = 0; k < PLACES; k++) {
            double t = (rng_uniform(&r) - 0.5) * (k % 2 ? 1400 : 20);
            if (!support_contains(s, support_from_line(s, t)))
                test_fail(__FILE__, __LINE__, "support %d: t = %.17g leads to %.17g", i, t,
                          support_from_line(s, t));
        }
    }
}

TEST(support__of_a_circle_is_one_turn_wherever_it_is_cut) {
    const column_support *s = &supports[5];
    for (double v = -20; v < 20; v += 0.37) {
        double t = support_to_line(s, v), back = support_from_line(s, t);
        CHECK(t >= s->cut && t < s->cut + 6.25 && back >= 0 && back < 6.25);
        CHECK_NEAR(remainder(back - v, 6.25), 0, 1e-12);
    }
}

/* ---- the text of the bounds ---- */

static jf_status try_bounds(data_fixture *f, const char *bounds) {
    static char keys[512];
    put_file("t.csv", "a,b,c\n0.25,3,0\n0.5,4,1\n0.75,2,2\n", 32);
    snprintf(keys, sizeof keys, "set = table\nfile = %s\nx = 2\ny = 1\nvalidation = 0\nbounds = %s",
             test_path("t.csv"), bounds);
    return data_try_open(f, keys);
}

TEST(bounds__are_read_by_name_by_place_and_for_all_of_x) {
    data_fixture f;
    CHECK_STATUS(try_bounds(&f, "x=0:, a=-1:1, y0=whole:0:5"), JF_OK);
    CHECK(f.set->support[0].kind == SUPPORT_INTERVAL && f.set->support[0].lo == -1 &&
          f.set->support[0].hi == 1);
    CHECK(f.set->support[1].kind == SUPPORT_ABOVE && f.set->support[1].lo == 0);
    CHECK(f.set->support[2].kind == SUPPORT_WHOLE && f.set->support[2].hi == 5);
    data_close(&f);
    CHECK_STATUS(try_bounds(&f, "x1=circle:0:10, b=none"), JF_OK);
    CHECK(f.set->support[1].kind == SUPPORT_LINE);
    data_close(&f);
    CHECK_STATUS(try_bounds(&f, "a=uniform:0:1"), JF_OK);
    CHECK(f.set->support[0].kind == SUPPORT_UNIFORM && f.set->support[0].lo == 0 &&
          f.set->support[0].hi == 1);
    data_close(&f);
}

TEST(bounds__what_is_none_and_what_the_data_break_is_refused_in_words) {
    static const struct {
        const char *bounds, *part, *other;
    } cases[] = {
        {"a=1:0", "found \"a=1:0\"", "expected NAME=LO:HI"},
        {"a=nan:1", "found \"a=nan:1\"", "NAME=whole"},
        {"a=uniform:0:", "found \"a=uniform:0:\"", "NAME=uniform:LO:HI"},
        {"a=uniform:1:0", "found \"a=uniform:1:0\"", "NAME=uniform:LO:HI"},
        {"a=uniform", "found \"a=uniform\"", "NAME=uniform:LO:HI"},
        {"a=uniform:0:0.6", "row 3, column 1 (\"a\") is 0.75", "expected 0 to 0.6"},
        {"a", "found \"a\"", "NAME=none"},
        {"height=0:1", "no column has that name", "x0, y0"},
        {"x2=0:1", "no column has that name", "x2"},
        {"a=0:0.6", "row 3, column 1 (\"a\") is 0.75", "expected 0 to 0.6"},
        {"a=whole", "row 1, column 1 (\"a\") is 0.25", "whole numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_fixture f;
        CHECK(try_bounds(&f, cases[i].bounds) < 0);
        CHECK_HAS(jf_context_error(f.ctx), cases[i].part);
        CHECK_HAS(jf_context_error(f.ctx), cases[i].other);
        data_close(&f);
    }
}

static column_look look_of(double (*value)(rng *r), int rows) {
    column_look look;
    double *values = calloc((size_t)rows, sizeof *values);
    rng r = rng_stream(data_key(7), 0);
    look_begin(&look);
    for (int i = 0; i < rows; i++) look_range(&look, values[i] = value(&r));
    look_edges(&look, values, rows);
    free(values);
    return look;
}
static double uniform(rng *r) {
    return 6 * rng_uniform(r) - 3;
}
static double normal(rng *r) {
    return rng_normal(r);
}
static double exponential(rng *r) {
    return -log(1 - rng_uniform(r));
}
static double digit(rng *r) {
    return (double)rng_below(r, 10);
}

TEST(bounds__of_evenly_filled_intervals_are_found_and_no_others) {
    int found;
    for (int rows = 1000; rows <= 1000000; rows *= 10) {
        column_look look = look_of(uniform, rows);
        column_support s = look_interval(&look, &found);
        CHECK(found && s.lo == -3 && s.hi == 3);
        double (*others[])(rng *) = {normal, exponential, digit};
        for (int i = 0; i < 3; i++) {
            look = look_of(others[i], rows);
            look_interval(&look, &found);
            CHECK(!found);
        }
    }
    char hint[256];
    column_look look = look_of(digit, 1000);
    CHECK_HAS(look_hint(NULL, &look, "n", hint, sizeof hint), "n=whole:0:9");
    look = look_of(exponential, 1000);
    CHECK_HAS(look_hint(NULL, &look, "t", hint, sizeof hint), "t=0:");
    look = look_of(normal, 1000);
    CHECK_TEXT(look_hint(NULL, &look, "t", hint, sizeof hint), "");
}

static double bimodal(rng *r) {
    return rng_normal(r) + (rng_uniform(r) < 0.5 ? -3 : 3);
}
static double far_modes(rng *r) {
    return rng_normal(r) + (rng_uniform(r) < 0.5 ? -30 : 30);
}
static double half_normal(rng *r) {
    return fabs(rng_normal(r));
}

/* How many of so many columns are taken for intervals. */
static int intervals_found(double (*value)(rng *r), int rows, int columns) {
    double values[1000];
    int all = 0, found;
    CHECK(rows <= 1000);
    for (int k = 0; k < columns; k++) {
        column_look look;
        rng r = rng_stream(data_key(11), (uint64_t)k);
        look_begin(&look);
        for (int i = 0; i < rows; i++) look_range(&look, values[i] = value(&r));
        look_edges(&look, values, rows);
        look_interval(&look, &found);
        all += found;
    }
    return all;
}

#ifdef SANITIZED
enum { COLUMNS = 400 };
#else
enum { COLUMNS = 4000 };
#endif

static double three_modes(rng *r) {
    return rng_normal(r) + 6 * (double)rng_below(r, 3);
}
static double three_far_modes(rng *r) {
    return rng_normal(r) + 20 * (double)rng_below(r, 3);
}
static double four_modes(rng *r) {
    return rng_normal(r) + 8 * (double)rng_below(r, 4);
}
static double modes_of_unlike_weights(rng *r) {
    double u = rng_uniform(r);
    return rng_normal(r) + (u < 0.2 ? 0 : u < 0.8 ? 6 : 12);
}

static void expect_few_intervals(double (*const values[])(rng *r), int kinds) {
    for (int rows = 300; rows <= 500; rows += 200)
        for (int k = 0; k < kinds; k++) {
            int found = intervals_found(values[k], rows, COLUMNS / 2);
            fprintf(stderr, "%d rows: %d of %d unbounded columns of kind %d\n", rows, found, COLUMNS / 2, k);
            CHECK(found * 1000 <= COLUMNS / 2);
        }
}

TEST(bounds__are_found_for_at_most_1_of_1000_unbounded_columns) {
    static double (*const unbounded[])(rng *) = {normal, exponential, bimodal, far_modes, half_normal};
    expect_few_intervals(unbounded, sizeof unbounded / sizeof *unbounded);
}

/* A third of the values is a mode of its own, which falls off in its own outer part alone. */
TEST(bounds__are_found_for_at_most_1_of_1000_columns_of_several_modes) {
    static double (*const modes[])(rng *) = {three_modes, three_far_modes, four_modes,
                                             modes_of_unlike_weights};
    expect_few_intervals(modes, sizeof modes / sizeof *modes);
}

TEST(bounds__of_fewer_than_300_rows_are_not_found) {
    CHECK(intervals_found(uniform, 299, 100) == 0);
}

TEST(bounds__are_found_for_95_of_100_uniform_columns_of_300_rows_and_for_all_of_1000) {
    int found = intervals_found(uniform, 300, COLUMNS);
    fprintf(stderr, "300 rows: %d of %d uniform columns\n", found, COLUMNS);
    CHECK(found * 100 >= 95 * COLUMNS);
    CHECK(intervals_found(uniform, 1000, COLUMNS) == COLUMNS);
}

/* With 1500 rows the last one is six gaps or more from the edge of one column in 400. */
TEST(bounds__the_rounder_edge_is_taken_where_the_last_row_is_some_gaps_away) {
    int found;
    column_look look = {.lo = -2.999, .hi = 2.974, .rows = 1500, .gap_lo = 0.004, .gap_hi = 0.004};
    column_support s = look_interval(&look, &found);
    CHECK(found && s.lo == -3 && s.hi == 3);
}

/* ---- models ---- */

/* Trained a little on a, b of (0, 1) x (0, inf), or whatever the values and bounds say, given c. */
static run *small_model(const char *bounds, void (*row)(rng *r, double v[3])) {
    enum { ROWS = 400 };
    char content[1024];
    text csv = {0};
    rng r = rng_stream(data_key(2), 0);
    text_add(&csv, "a,b,c\n");
    for (int i = 0; i < ROWS; i++) {
        double v[3];
        row(&r, v);
        text_add(&csv, "%.9g,%.9g,%.9g\n", v[0], v[1], v[2]);
    }
    put_file("t.csv", csv.chars, csv.length);
    text_free(&csv);
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 1\nbounds = %s\n"
             "[model]\ncondition = fixed\nlaw = spline\nblocks = 1\ndepth = 1\nwidth = 8\n"
             "[train]\nbatch = 50\nprecondition = 0\nanneal = 0\nepochs = 6\npatience = 0\nrate = 1e-2\n",
             test_path("t.csv"), bounds);
    run *trained = run_open(content);
    CHECK_STATUS(run_train(trained, NULL, 0), JF_OK);
    return trained;
}

static void bounded_row(rng *r, double v[3]) {
    v[2] = rng_normal(r);
    v[0] = 1 / (1 + exp(-2 * rng_normal(r) - v[2]));
    v[1] = exp(rng_normal(r) + 0.5 * v[2]);
}

static void circular_row(rng *r, double v[3]) {
    v[2] = rng_normal(r);
    v[0] = fmod(20 * M_PI + rng_normal(r) * 1.5 + v[2], 2 * M_PI); /* around 0, on both sides of it */
    v[1] = rng_normal(r);
}

static void whole_row(rng *r, double v[3]) {
    v[2] = rng_normal(r);
    v[0] = (double)rng_below(r, 6);
    v[1] = floor(fabs(5 * rng_normal(r)));
}

/* Midpoint sum of exp(log p) over a grid; of b in steps of its logarithm where `logarithm` is set. */
static double integral(const jf_model *m, const double lo[2], const double hi[2], int logarithm, double c) {
    enum { GRID = 260 };
    static double x[2 * GRID * GRID], y[GRID * GRID], log_p[GRID * GRID];
    double sum = 0, cell = (hi[0] - lo[0]) * (hi[1] - lo[1]) / (GRID * GRID);
    for (int i = 0; i < GRID * GRID; i++) {
        double b = lo[1] + (hi[1] - lo[1]) * (i / GRID + 0.5) / GRID;
        x[2 * i] = lo[0] + (hi[0] - lo[0]) * (i % GRID + 0.5) / GRID;
        x[2 * i + 1] = logarithm ? exp(b) : b;
        y[i] = c;
    }
    CHECK_STATUS(jf_density(m, GRID * GRID, x, y, log_p, NULL, NULL), JF_OK);
    for (int i = 0; i < GRID * GRID; i++) sum += cell * exp(log_p[i]) * (logarithm ? x[2 * i + 1] : 1);
    return sum;
}

TEST(support__a_density_in_the_users_units_integrates_to_1_over_the_support) {
    run *r = small_model("a=0:1,b=0:", bounded_row);
    for (double c = -1; c <= 1; c += 1)
        CHECK_NEAR(integral(r->m, (double[]){0, -9}, (double[]){1, 9}, 1, c), 1, 5e-3);
    run_close(r);
}

TEST(support__a_density_on_a_circle_integrates_to_1_over_a_turn) {
    run *r = small_model("a=circle:0:6.283185307179586", circular_row);
    for (double c = -1; c <= 1; c += 1)
        CHECK_NEAR(integral(r->m, (double[]){0, -9}, (double[]){2 * M_PI, 9}, 0, c), 1, 1e-2);
    run_close(r);
}

TEST(support__a_density_of_uniform_columns_integrates_to_1_over_the_support) {
    run *r = small_model("a=uniform:0:1,b=0:", bounded_row);
    for (double c = -1; c <= 1; c += 1)
        CHECK_NEAR(integral(r->m, (double[]){0, -9}, (double[]){1, 9}, 1, c), 1, 5e-3);
    run_close(r);
}

static void check_samples(const model *m, long total) {
    enum { PART = 100000 };
    double *y = calloc(PART, sizeof *y), *x = calloc(2 * PART, sizeof *x);
    for (long at = 0; at < total; at += PART) {
        for (int i = 0; i < PART; i++) y[i] = 8 * ((double)i / PART - 0.5); /* far beyond the data, too */
        jf_use_options use = {.size = sizeof(jf_use_options), .seed = (uint64_t)at};
        if (jf_sample(m, PART, y, x, NULL, NULL, &use) != JF_OK)
            test_fail(__FILE__, __LINE__, "%s", jf_context_error(m->ctx));
        for (int i = 0; i < 2 * PART; i++)
            if (!support_contains(&m->units.support[i % 2], x[i]))
                test_fail(__FILE__, __LINE__, "sample %ld: %.17g", at + i / 2, x[i]);
    }
    free(y);
    free(x);
}

#ifdef SANITIZED
enum { SAMPLES = 200000 };
#else
enum { SAMPLES = 2000000 };
#endif

TEST(support__no_sample_of_two_million_leaves_bounds) {
    run *r = small_model("a=0:1,b=0:", bounded_row);
    check_samples(r->m, SAMPLES);
    run_close(r);
}

TEST(support__no_sample_of_two_million_leaves_uniform_bounds) {
    run *r = small_model("a=uniform:0:1,b=0:", bounded_row);
    check_samples(r->m, SAMPLES);
    run_close(r);
}

TEST(support__no_sample_of_two_million_leaves_a_circle) {
    run *r = small_model("a=circle:0:6.283185307179586", circular_row);
    CHECK(r->m->units.support[0].cut > 2 &&
          r->m->units.support[0].cut < 4.3); /* opposite of where the data are */
    check_samples(r->m, SAMPLES);
    run_close(r);
}

TEST(support__no_sample_of_two_million_is_anything_but_a_whole_number) {
    run *r = small_model("a=whole:0:5,b=whole:0:", whole_row);
    check_samples(r->m, SAMPLES);
    run_close(r);
}

TEST(support__values_outside_are_refused_by_row_and_column) {
    run *r = small_model("a=0:1,b=0:,c=-20:20", bounded_row);
    double x[] = {0.5, 1, 0.5, -1}, y[] = {0, 0}, far[] = {0, 21}, out[4], log_p[2];
    CHECK_STATUS(jf_encode(r->m, 2, x, y, out, NULL, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "row 2: x1 (\"b\") is -1, outside of its support: expected above 0");
    CHECK_STATUS(jf_density(r->m, 2, x, far, log_p, NULL, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "row 2: y0 (\"c\") is 21, outside of its support");
    run_close(r);
}

/* Of every kind of support, with rows outside at the front, in the middle and at the end. */
TEST(support__log_p_outside_is_minus_infinity_and_of_other_rows_as_without_them) {
    static const struct {
        const char *bounds;
        void (*row)(rng *r, double v[3]);
        double x[10];
    } cases[] = {
        {"a=0:1,b=0:", bounded_row, {0.5, -1, 0.5, 1, -0.1, 2, 0.7, 3, 1.5, -1}},
        {"a=uniform:0:1,b=0:", bounded_row, {2, 1, 0.5, 1, 0.5, -2, 0.7, 3, 1.5, 2}},
        {"a=cut:0:1,b=0:", bounded_row, {2, 1, 0.5, 1, 0.5, -2, 0.7, 3, -1e9, 2}},
        {"a=whole:0:5,b=whole:0:", whole_row, {1.5, 1, 2, 1, 6, 1, 3, 4, 2, -1}},
    };
    const double y[] = {0, 0.5, 1, -1, 0.2};
    for (int k = 0; k < 4; k++) {
        run *r = small_model(cases[k].bounds, cases[k].row);
        const double *x = cases[k].x, inside[] = {x[2], x[3], x[6], x[7]}, of_inside[] = {y[1], y[3]};
        double log_p[5], alone[2];
        jf_density_summary all = {.size = sizeof all}, two = {.size = sizeof two};
        CHECK_STATUS(jf_density(r->m, 5, x, y, log_p, &all, NULL), JF_OK);
        CHECK_STATUS(jf_density(r->m, 2, inside, of_inside, alone, &two, NULL), JF_OK);
        for (int i = 0; i < 5; i += 2) CHECK(log_p[i] == -INFINITY);
        CHECK_NEAR(log_p[1], alone[0], 1e-9);
        CHECK_NEAR(log_p[3], alone[1], 1e-9);
        CHECK(all.outside == 3 && two.outside == 0);
        CHECK_NEAR(all.mean, two.mean, 1e-9);
        CHECK_NEAR(all.sampler_mean, two.sampler_mean, 1e-9);
        CHECK_NEAR(all.y_error, two.y_error, 1e-12);
        CHECK_STATUS(jf_density(r->m, 1, x, y, log_p, &all, NULL), JF_OK);
        CHECK(log_p[0] == -INFINITY && all.outside == 1 && isnan(all.mean));
        run_close(r);
    }
}

/* The same in the model's units, of which a cut column knows its bounds. */
TEST(support__log_p_outside_of_a_cut_column_is_minus_infinity_in_the_models_units) {
    run *r = small_model("a=cut:0:1", bounded_row);
    const model_units *u = &r->m->units;
    double x[] = {(0.5 - u->mean[0]) / u->deviation[0], 0, (1.5 - u->mean[0]) / u->deviation[0], 0};
    double y[] = {0, 0}, log_p[2];
    jf_use_options use = {.size = sizeof use, .standardised = 1};
    CHECK_STATUS(jf_density(r->m, 2, x, y, log_p, NULL, &use), JF_OK);
    CHECK(isfinite(log_p[0]) && log_p[1] == -INFINITY);
    run_close(r);
}

TEST(support__and_names_survive_the_model_file) {
    run *r = small_model("a=0:6,b=uniform:0:50,c=circle:-4:4", whole_row);
    jf_model *loaded = NULL;
    CHECK_STATUS(jf_model_save(r->m, test_path("m.safetensors")), JF_OK);
    CHECK_STATUS(jf_model_load(&loaded, r->ctx, test_path("m.safetensors"), NULL), JF_OK);
    for (int i = 0; i < 3; i++) {
        const column_support *a = &r->m->units.support[i], *b = &loaded->units.support[i];
        CHECK(a->kind == b->kind && a->lo == b->lo && a->hi == b->hi && a->cut == b->cut);
    }
    CHECK_TEXT(jf_model_column_name(loaded, 0), "a");
    CHECK_TEXT(jf_model_column_name(loaded, 2), "c");
    CHECK_TEXT(jf_model_column_name(loaded, 3), "");
    double y[10] = {0}, x[20], other[20];
    CHECK_STATUS(jf_sample(r->m, 10, y, x, NULL, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_sample(loaded, 10, y, other, NULL, NULL, NULL), JF_OK);
    CHECK(memcmp(x, other, sizeof x) == 0);
    jf_model_free(loaded);
    run_close(r);
}

/* Held-out rows are dequantised always in the same way, rows to train on anew in every epoch. */
TEST(support__whole_numbers_are_dequantised_anew_in_every_epoch) {
    run *r = small_model("a=whole:0:5", whole_row);
    double first[30], again[30], held[30];
    CHECK_STATUS(dataset_draw(r->data, (rng_key){1, RNG_DATA, 1}, 0, 10, -1, first), JF_OK);
    CHECK_STATUS(dataset_draw(r->data, (rng_key){1, RNG_DATA, 1}, 0, 10, -1, again), JF_OK);
    CHECK(memcmp(first, again, sizeof first) == 0);
    for (int i = 0; i < 10; i++)
        CHECK(first[3 * i] != nearbyint(first[3 * i]) && first[3 * i + 1] == floor(first[3 * i + 1]));
    CHECK_STATUS(dataset_validation(r->data, 0, 10, held), JF_OK);
    CHECK_STATUS(dataset_validation(r->data, 0, 10, again), JF_OK);
    CHECK(memcmp(held, again, sizeof held) == 0);
    run_close(r);
}
