/* No function of the public interface succeeds with numbers that are not finite; the message names the row.
 */
#include "api_image_fixture.h"

#include <float.h>

static jf_model *vector_model(jf_context *ctx, const char *device, const char *more) {
    char content[512];
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    snprintf(content, sizeof content,
             "[data]\nset = crescents\n[model]\nblocks = 2\ndepth = 1\nwidth = 4\n[train]\nbatch = 20\n"
             "batches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\nks_every = 0\n%s",
             more);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, content, "test.recipe"), JF_OK);
    CHECK_STATUS(
        jf_train(&m, ctx, r,
                 &(jf_train_options){.size = sizeof(jf_train_options), .device = device, .threads = 1}),
        JF_OK);
    jf_recipe_free(r);
    return m;
}

/* ---- what goes in ---- */

/* The second of three rows has an element that is beyond the numbers of the device, or not finite. */
static void check_refused(double found, int element, const char *message) {
    static const double plain[9] = {0.5, -0.5, 0, 1, 1, 1, 0, 0, 0};
    jf_context *ctx = new_context();
    jf_model *m = vector_model(ctx, "cpu", "");
    double x[6], y[3], z[6], out[3], log_p[3];
    for (int i = 0; i < 3; i++) {
        x[2 * i] = plain[3 * i];
        x[2 * i + 1] = plain[3 * i + 1];
        y[i] = plain[3 * i + 2];
    }
    if (element < 2)
        x[2 + element] = found;
    else
        y[1] = found;
    jf_density_summary summary = {.size = sizeof(jf_density_summary)};
    CHECK(jf_density(m, 3, x, y, log_p, &summary, NULL) != JF_OK);
    CHECK_HAS(jf_context_error(ctx), message);
    CHECK(jf_density(m, 3, x, y, log_p, NULL, NULL) != JF_OK);
    CHECK(jf_encode(m, 3, x, y, z, out, NULL) != JF_OK);
    CHECK_HAS(jf_context_error(ctx), message);
    CHECK(jf_decode(m, 3, x, y, z, out, NULL) != JF_OK);
    CHECK_HAS(jf_context_error(ctx), "row 2: ");
    if (element == 2) {
        jf_lines lines;
        CHECK(jf_sample(m, 3, y, z, out, NULL, NULL) != JF_OK);
        CHECK_HAS(jf_context_error(ctx), message);
        CHECK(jf_lines_along_z(&lines, m, 1, 2, 3, y, NULL) != JF_OK);
        CHECK(jf_lines_along_y(&lines, m, 1, 5, y, y + 1, NULL) != JF_OK);
    }
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(answers__rows_beyond_the_numbers_of_the_device_are_refused_by_number) {
    check_refused(1e40, 0, "row 2: x0 is 1e+40, which is ");
    check_refused(-1e300, 1, "row 2: x1 is -1e+300, which is -");
    check_refused(1e39, 2, "row 2: y0 is 1e+39, which is 2e+39 deviations away from the mean of the data");
    check_refused(NAN, 0, "row 2: x0 is nan, expected a finite number");
    check_refused(INFINITY, 2, "row 2: y0 is inf, expected a finite number");
}

TEST(answers__a_device_of_doubles_takes_what_doubles_hold) {
    jf_context *ctx = new_context();
    jf_model *m = vector_model(ctx, "ref", "");
    double x[2] = {1e40, 0}, y[1] = {0}, log_p[1];
    jf_density_summary summary = {.size = sizeof(jf_density_summary)};
    CHECK_STATUS(jf_density(m, 1, x, y, log_p, &summary, NULL), JF_OK);
    CHECK(isfinite(log_p[0]) && log_p[0] < -1e70 && isfinite(summary.mean));
    x[0] = 1e200; /* its square is not one */
    CHECK_STATUS(jf_density(m, 1, x, y, log_p, &summary, NULL), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(ctx), "row 1: log p(x | y) is -inf, expected a finite number");
    jf_model_free(m);
    jf_context_free(ctx);
}

/* ---- what comes out ---- */

/* Whatever the size of the row, an answer is finite or refused by its row. */
static void check_all_sizes(const char *device, const char *more) {
    jf_context *ctx = new_context();
    jf_model *m = vector_model(ctx, device, more);
    int refused = 0, answered = 0;
    for (int power = -300; power <= 308; power += 4)
        for (int element = 0; element < 3; element++) {
            double row[3] = {0.3, -0.2, 1}, a[2], b[1], log_p[1];
            jf_density_summary s = {.size = sizeof(jf_density_summary)};
            row[element] = power % 8 ? -pow(10, power) : pow(10, power);
            jf_status status[4] = {jf_encode(m, 1, row, row + 2, a, b, NULL), 0, 0, 0};
            if (status[0] == JF_OK) CHECK(isfinite(a[0]) && isfinite(a[1]) && isfinite(b[0]));
            status[1] = jf_decode(m, 1, row, row + 2, a, b, NULL);
            if (status[1] == JF_OK) CHECK(isfinite(a[0]) && isfinite(a[1]) && isfinite(b[0]));
            status[2] = jf_sample(m, 1, row + 2, a, b, NULL, NULL);
            if (status[2] == JF_OK) CHECK(isfinite(a[0]) && isfinite(a[1]) && isfinite(b[0]));
            status[3] = jf_density(m, 1, row, row + 2, log_p, &s, NULL);
            if (status[3] == JF_OK)
                CHECK(isfinite(log_p[0]) && s.mean == log_p[0] && isfinite(s.whole_mean) &&
                      isfinite(s.y_error) && isfinite(s.log_dy) &&
                      (s.lost ? isnan(s.sampler_mean) : isfinite(s.sampler_mean)));
            for (int i = 0; i < 4; i++) {
                refused += status[i] != JF_OK;
                answered += status[i] == JF_OK;
            }
            if (status[3] != JF_OK) CHECK_HAS(jf_context_error(ctx), "row 1: ");
        }
    CHECK(refused > 0 && answered > 1000);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(answers__of_rows_of_any_size_are_finite_or_refused_by_row) {
    check_all_sizes("cpu", "");
    check_all_sizes("ref", "");
    check_all_sizes("cpu", "[model]\nlaw = shear\n");
    check_all_sizes("cpu", "[model]\nlaw = additive\ntransforms = actnorm mixing coupling\n");
}

/* ---- images ---- */

TEST(answers__images_that_are_not_finite_are_refused_by_number) {
    jf_context *ctx = new_context();
    jf_model *m = fine_model(ctx);
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m);
    double *x = calloc(2 * (size_t)dim_x, sizeof *x), *y = calloc(2 * (size_t)dim_y, sizeof *y);
    double values[2 * PIXELS] = {0};
    jf_images whole = {.values = values, .count = 2, .h = SIDE, .w = SIDE, .channels = 1}, made;
    jf_image_conditions conditions = {.size = sizeof(jf_image_conditions)};
    CHECK(x && y);
    x[dim_x + 3] = NAN;
    CHECK_STATUS(jf_restore(&made, m, 2, x, y), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "row 2: x3 is nan, expected a finite number");
    CHECK_STATUS(jf_draw_samples(m, 2, x, y, test_path("a.png")), JF_ERROR_DATA);
    CHECK_STATUS(jf_draw_image_samples(m, 2, x, y, 1, test_path("a.png")), JF_ERROR_DATA);
    for (int i = 0; i < dim_x; i++) x[dim_x + i] = DBL_MAX; /* finite, but not the image that they make */
    for (int i = 0; i < dim_y; i++) y[dim_y + i] = DBL_MAX;
    CHECK_STATUS(jf_restore(&made, m, 2, x, y), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "images made of x and y: number 2, ");
    CHECK(made.values == NULL && made.count == 0);
    values[PIXELS + 9] = INFINITY;
    CHECK_STATUS(jf_degrade(&made, m, &whole, 0), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "images to degrade: number 2, row 1, column 1 is inf");
    CHECK_STATUS(jf_image_conditions_create(&conditions, m, &whole, 1, 0), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "images to answer to: number 2, row 1, column 1 is inf");
    CHECK(conditions.y == NULL && conditions.inputs.values == NULL);
    free(x);
    free(y);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(answers__densities_of_images_are_finite_or_refused_by_row) {
    jf_context *ctx = new_context();
    jf_model *m = class_model(ctx);
    size_t dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    double *x = calloc(2 * dim_x, sizeof *x), *y = calloc(2 * dim_y, sizeof *y), log_p[2];
    jf_density_summary s = {.size = sizeof(jf_density_summary)};
    CHECK(x && y);
    CHECK_STATUS(jf_density(m, 2, x, y, log_p, &s, NULL), JF_OK);
    CHECK(isfinite(log_p[0]) && isfinite(s.mean) && s.lost == 0 && isnan(s.log_dy) && !s.exact);
    x[dim_x] = 1e40;
    CHECK_STATUS(jf_density(m, 2, x, y, log_p, &s, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "row 2: x0 is 1e+40, which is ");
    free(x);
    free(y);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* ---- given images ---- */

TEST(given__images_become_rows_that_restore_to_them) {
    static const struct {
        jf_model *(*make)(jf_context *ctx);
        int side;
    } cases[] = {{class_model, SIDE}, {fine_model, SIDE}, {coarse_model, SIDE / 2}};
    for (int k = 0; k < 3; k++) {
        jf_context *ctx = new_context();
        jf_model *m = cases[k].make(ctx);
        double values[PIXELS], x[PIXELS], y[PIXELS], z[PIXELS], back[PIXELS];
        jf_images image = one_image(cases[k].side, cases[k].side, values), restored;
        int size = cases[k].side * cases[k].side;
        for (int i = 0; i < size; i++) y[i] = 1; /* the label of the class */
        if (k > 0) {
            jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
            CHECK_STATUS(jf_image_conditions_create(&made, m, &image, 1, 0), JF_OK);
            memcpy(y, made.y, sizeof(double) * (size_t)size);
            jf_image_conditions_free(&made);
        }
        CHECK_STATUS(jf_image_answers(m, &image, y, x), JF_OK);
        CHECK_STATUS(jf_restore(&restored, m, 1, x, y), JF_OK);
        for (int i = 0; i < size; i++) CHECK_NEAR(restored.values[i], values[i], 1e-12);
        jf_images_free(&restored);

        /* lines begin and end at what was given, and a latent point whose ends are the same stays */
        double ends_z[2 * PIXELS], ends_y[2 * PIXELS];
        jf_lines lines;
        CHECK_STATUS(jf_encode(m, 1, x, y, z, NULL, NULL), JF_OK);
        CHECK_STATUS(jf_decode(m, 1, z, y, back, NULL, NULL), JF_OK);
        for (int i = 0; i < size; i++) {
            ends_z[i] = z[i];
            ends_z[size + i] = i % 3;
            ends_y[i] = ends_y[size + i] = y[i];
        }
        CHECK_STATUS(jf_lines_between(&lines, m, 1, 3, 1, ends_z, ends_y, NULL), JF_OK);
        CHECK(lines.rows == 1 && lines.steps == 3 && !lines.along_y);
        for (int i = 0; i < size; i++) {
            CHECK_NEAR(lines.x[i], back[i], 1e-5); /* x itself, where the model has learned that y' is y */
            CHECK_NEAR(lines.z[size + i], sqrt(0.5) * (z[i] + i % 3), 1e-12);
            CHECK(lines.z[i] == z[i] && lines.z[2 * size + i] == i % 3);
        }
        jf_lines_free(&lines);
        for (int i = 0; i < size; i++) {
            ends_z[size + i] = z[i];
            ends_y[size + i] = 0;
        }
        CHECK_STATUS(jf_lines_between(&lines, m, 1, 3, 1, ends_z, ends_y, NULL), JF_OK);
        CHECK(lines.along_y && memcmp(lines.z + size, z, sizeof(double) * (size_t)size) == 0);
        for (int i = 0; i < size; i++) CHECK_NEAR(lines.y[size + i], y[i] / 2, 1e-12);
        CHECK_STATUS(jf_decode(m, 1, z, ends_y + size, back, NULL, NULL), JF_OK);
        for (int i = 0; i < size; i++) CHECK_NEAR(lines.x[2 * size + i], back[i], 1e-5);
        jf_lines_free(&lines);

        image.h = 2;
        CHECK_STATUS(jf_image_answers(m, &image, y, x), JF_ERROR_SHAPE);
        CHECK_HAS(jf_context_error(ctx), "expected a whole one of");
        jf_model_free(m);
        jf_context_free(ctx);
    }
}
