/* Data sets: standardisation, purity of draws, the geometry of each generated set. */
#include "data_fixture.h"

#define POINTS 20000

/* Mean and deviation of a column that `stride` doubles lie between. */
static void moments(const double *values, int n, int stride, double *mean, double *deviation) {
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) sum += values[i * stride];
    *mean = sum / n;
    for (int i = 0; i < n; i++) square += pow(values[i * stride] - *mean, 2);
    *deviation = sqrt(square / n);
}

static const char *const generated[] = {
    "set = crescents", "set = crescents\noverlap = yes\nnoise = 0.2",
    "set = sectors",   "set = sectors\nwidth = 0.3",
    "set = mixed",     "set = mixed\nshapes = circle slash blobs three square grid concentric",
    "set = ring",      "set = ring\nradius = 3\ndeviation = 0.5",
};
#define GENERATED ((int)(sizeof generated / sizeof generated[0]))

/* ---- standardisation ---- */

TEST(data__fresh_points_standardise_to_mean_0_and_deviation_1) {
    for (int g = 0; g < GENERATED; g++) {
        data_fixture f = data_open(generated[g]);
        int dim = dataset_dim(f.set), n = 100000;
        double *xy = data_points(f.set, n, -1);
        dataset_standardise(f.set, n, xy);
        for (int i = 0; i < dim; i++) {
            double mean, deviation;
            moments(xy + i, n, dim, &mean, &deviation);
            CHECK_NEAR(mean, 0, 4.5 * sqrt(1.0 / n + 1.0 / (1 << 18)));
            CHECK_NEAR(deviation, 1, 0.012);
        }
        free(xy);
        data_close(&f);
    }
}

TEST(data__two_labels_become_exactly_minus_1_and_plus_1) {
    data_fixture f = data_open("set = crescents");
    for (int k = 0; k < 2; k++) {
        double *xy = data_points(f.set, 50, k);
        CHECK(xy[2] == k);
        dataset_standardise(f.set, 50, xy);
        for (int i = 0; i < 50; i++) CHECK(xy[3 * i + 2] == (k ? 1.0 : -1.0));
        free(xy);
    }
    data_close(&f);
}

TEST(data__labels_of_equally_likely_classes_standardise_exactly) {
    data_fixture f = data_open("set = mixed\nshapes = circle slash blobs three square grid concentric");
    CHECK_NEAR(f.set->mean[2], 3, 1e-15);
    CHECK_NEAR(f.set->deviation[2], 2, 1e-15); /* sqrt((7^2 - 1) / 12) */
    data_close(&f);
}

TEST(data__unstandardise_undoes_standardise) {
    data_fixture f = data_open("set = sectors");
    double *xy = data_points(f.set, 100, -1), *same = data_points(f.set, 100, -1);
    dataset_standardise(f.set, 100, xy);
    CHECK(fabs(xy[2] - same[2]) > 1e-3);
    dataset_unstandardise(f.set, 100, xy);
    for (int i = 0; i < 300; i++) CHECK_NEAR(xy[i], same[i], 1e-14);
    free(xy);
    free(same);
    data_close(&f);
}

TEST(data__log_volume_counts_x_alone) {
    data_fixture f = data_open("set = sectors");
    CHECK_NEAR(dataset_log_volume(f.set), log(f.set->deviation[0] * f.set->deviation[1]), 1e-14);
    CHECK_NEAR(f.set->deviation[0], 0.5, 0.003); /* x is uniform on the disc when y is not known */
    CHECK_NEAR(f.set->deviation[2], 2 * M_PI / sqrt(12), 0.01);
    data_close(&f);
}

/* ---- draws ---- */

TEST(data__a_sample_is_the_same_however_the_sequence_is_cut) {
    for (int g = 0; g < GENERATED; g++) {
        data_fixture f = data_open(generated[g]);
        size_t dim = (size_t)dataset_dim(f.set);
        double *whole = data_points(f.set, 100, -1);
        double part[37 * 3];
        dataset_draw(f.set, data_key(0), 41, 37, -1, part);
        CHECK(memcmp(part, whole + 41 * dim, 37 * dim * sizeof *part) == 0);
        dataset_draw(f.set, data_key(1), 41, 37, -1, part);
        for (size_t i = 0; i < 37; i++) CHECK(part[i * dim] != whole[(41 + i) * dim]);
        free(whole);
        data_close(&f);
    }
}

TEST(data__classes_are_equally_likely) {
    data_fixture f = data_open("set = mixed");
    CHECK(f.set->classes == 4);
    int count[4] = {0};
    double *xy = data_points(f.set, POINTS, -1);
    for (int i = 0; i < POINTS; i++) count[(int)xy[3 * i + 2]]++;
    for (int k = 0; k < 4; k++) CHECK_NEAR(count[k], POINTS / 4.0, 4.5 * sqrt(POINTS * 0.25 * 0.75));
    free(xy);
    data_close(&f);
}

TEST(data__an_unknown_set_is_refused_with_the_list_of_all) {
    data_fixture f;
    CHECK_STATUS(data_try_open(&f, "set = moons"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "moons");
    for (int i = 0; dataset_kinds[i]; i++) CHECK_HAS(jf_context_error(f.ctx), dataset_kinds[i]->name);
    data_close(&f);
}

TEST(data__a_key_of_another_set_is_refused) {
    data_fixture f;
    CHECK_STATUS(data_try_open(&f, "set = ring\noverlap = yes"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "crescents");
    data_close(&f);
}

/* ---- geometry ---- */

/* Points of a half circle around `centre`, bent up (+1) or down (-1): radius, noise, half. */
static void check_crescent(const dataset *d, int k, const double centre[2], int up, double noise) {
    double *xy = data_points(d, POINTS, k), mean, deviation, height = 0;
    for (int i = 0; i < POINTS; i++) {
        double dx = xy[3 * i] - centre[0], dy = up * (xy[3 * i + 1] - centre[1]);
        CHECK(dy > -6 * noise);
        height += dy / POINTS;
        xy[3 * i] = hypot(dx, dy);
    }
    moments(xy, POINTS, 3, &mean, &deviation);
    CHECK_NEAR(mean, 1 + noise * noise / 2, 5 * noise / sqrt(POINTS));
    CHECK_NEAR(deviation, noise, 0.03 * noise);
    CHECK_NEAR(height, 2 / M_PI, 0.012); /* mean of sin t */
    free(xy);
}

TEST(crescents__are_half_circles_of_the_given_noise) {
    const double origin[2] = {0, 0}, beside[2] = {1, 0.5}, above[2] = {1, 1.25};
    data_fixture f = data_open("set = crescents");
    check_crescent(f.set, 0, origin, 1, 0.05);
    check_crescent(f.set, 1, beside, -1, 0.05);
    data_close(&f);
    f = data_open("set = crescents\noverlap = yes\nnoise = 0.1");
    check_crescent(f.set, 0, origin, 1, 0.1);
    check_crescent(f.set, 1, above, -1, 0.1);
    data_close(&f);
}

static void check_sectors(const char *keys, double width) {
    data_fixture f = data_open(keys);
    double *xy = data_points(f.set, POINTS, -1), square = 0, widest = 0;
    for (int i = 0; i < POINTS; i++) {
        const double *p = xy + 3 * i;
        double radius = hypot(p[0], p[1]), off = remainder(atan2(p[1], p[0]) - p[2], 2 * M_PI);
        CHECK(p[2] >= 0 && p[2] < 2 * M_PI);
        CHECK(radius < 1);
        CHECK(fabs(off) <= width / 2 + 1e-12);
        square += radius * radius / POINTS;
        widest = fmax(widest, fabs(off));
    }
    CHECK_NEAR(square, 0.5, 0.01); /* uniform by area: r^2 ~ U(0,1) */
    CHECK_NEAR(widest, width / 2, 0.001 * width);
    free(xy);
    data_close(&f);
}

TEST(sectors__every_point_lies_in_its_sector_uniformly) {
    check_sectors("set = sectors", 1);
    check_sectors("set = sectors\nwidth = 2.5", 2.5);
}

TEST(ring__radius_is_normal_and_there_is_no_condition) {
    data_fixture f = data_open("set = ring\nradius = 2\ndeviation = 0.1");
    CHECK(f.set->dim_x == 2 && f.set->dim_y == 0 && f.set->classes == 0);
    double *x = data_points(f.set, POINTS, -1), mean, deviation;
    for (int i = 0; i < POINTS; i++) x[2 * i] = hypot(x[2 * i], x[2 * i + 1]);
    moments(x, POINTS, 2, &mean, &deviation);
    CHECK_NEAR(mean, 2, 0.004);
    CHECK_NEAR(deviation, 0.1, 0.003);
    free(x);
    data_close(&f);
}

/* ---- the shapes of the mixed set: distance from the ideal shape, in units of the noise ---- */

static double off_circle(const double *p) {
    return (hypot(p[0], p[1]) - 1) / 0.05;
}

static double off_slash(const double *p) {
    double along = fmax(fabs(p[0] + p[1]) / 2 - 1, 0) * M_SQRT2;
    return hypot((p[0] - p[1]) / M_SQRT2, along) / 0.05;
}

static double off_blobs(const double *p) {
    return fmin(hypot(p[0] - 0.5, p[1] + 0.5), hypot(p[0] + 0.5, p[1] - 0.5)) / 0.15;
}

/* Half ellipses with half axes 0.5 and 2 around (+-0.5, -1). */
static double off_three(const double *p) {
    double nearest = INFINITY;
    for (int i = 0; i <= 500; i++) {
        double t = M_PI * i / 500;
        double x = fabs(p[0]) - (0.5 + 0.5 * cos(t)), y = p[1] - (2 * sin(t) - 1);
        nearest = fmin(nearest, hypot(x, y));
    }
    return nearest / 0.05;
}

static double off_square(const double *p) {
    return fabs(p[0]) <= 1 && fabs(p[1]) <= 1 ? 0 : INFINITY;
}

static double off_grid(const double *p) {
    double x = 0.8 * fmax(-1, fmin(1, round(p[0] / 0.8))), y = 0.8 * fmax(-1, fmin(1, round(p[1] / 0.8)));
    return hypot(p[0] - x, p[1] - y) / 0.05;
}

static double off_concentric(const double *p) {
    double radius = hypot(p[0], p[1]);
    return fmin(fabs(radius - 1), fabs(radius - 0.6)) / 0.05;
}

static const struct {
    const char *name;
    double (*off)(const double *p);
    double square[2];  /* mean of x0^2 and x1^2 */
    double off_square; /* mean of off^2: 1 across a curve, 2 around a point */
} shape_facts[] = {
    {"circle", off_circle, {0.5025, 0.5025}, 1},
    {"slash", off_slash, {1 / 3.0 + 0.0025, 1 / 3.0 + 0.0025}, 1},
    {"blobs", off_blobs, {0.2725, 0.2725}, 2},
    {"three", off_three, {0.3775, 3 - 8 / M_PI + 0.0025}, 1},
    {"square", off_square, {1 / 3.0, 1 / 3.0}, 0},
    {"grid", off_grid, {0.64 * 2 / 3 + 0.0025, 0.64 * 2 / 3 + 0.0025}, 2},
    {"concentric", off_concentric, {0.3425, 0.3425}, 1},
};

TEST(mixed__every_shape_is_where_the_definition_puts_it) {
    data_fixture f = data_open("set = mixed\nshapes = circle slash blobs three square grid concentric");
    for (int k = 0; k < f.set->classes; k++) {
        CHECK_TEXT(f.set->class_name[k], shape_facts[k].name);
        int n = 8000;
        double *xy = data_points(f.set, n, k), square[2] = {0, 0}, off_square_sum = 0;
        for (int i = 0; i < n; i++) {
            const double *p = xy + 3 * i;
            CHECK(p[2] == k);
            for (int axis = 0; axis < 2; axis++) square[axis] += p[axis] * p[axis] / n;
            /* the tail of 8000 points: 6 deviations of a plane normal deviate */
            double off = shape_facts[k].off(p);
            CHECK(fabs(off) < 6);
            off_square_sum += off * off / n;
        }
        CHECK_NEAR(square[0], shape_facts[k].square[0], 0.02);
        CHECK_NEAR(square[1], shape_facts[k].square[1], 0.035);
        CHECK_NEAR(off_square_sum, shape_facts[k].off_square, 0.12);
        free(xy);
    }
    data_close(&f);
}

TEST(mixed__labels_follow_the_order_of_the_recipe) {
    data_fixture f = data_open("set = mixed\nshapes = grid square");
    CHECK(f.set->classes == 2 && f.set->label[0] == 0 && f.set->label[1] == 1);
    CHECK_TEXT(f.set->class_name[0], "grid");
    CHECK_TEXT(f.set->class_name[1], "square");
    double *xy = data_points(f.set, 1000, 0);
    for (int i = 0; i < 1000; i++) CHECK(off_grid(xy + 3 * i) < 6);
    free(xy);
    data_close(&f);
}

TEST(mixed__one_shape_or_one_twice_is_refused) {
    data_fixture f;
    CHECK_STATUS(data_try_open(&f, "set = mixed\nshapes = grid"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "at least two");
    data_close(&f);
    CHECK_STATUS(data_try_open(&f, "set = mixed\nshapes = grid square grid"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(f.ctx), "\"grid\"");
    data_close(&f);
}
