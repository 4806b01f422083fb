/* Conditions beyond the training data: how far they are off, and that nobody is left without a word. */
#include "data_fixture.h"
#include "format_fixture.h"
#include "jointflow/jointflow.h"
#include "model/condition_range.h"
#include "model/use.h"

/* Two elements that follow each other, y1 = y0 + noise / 10, and one on its own. */
static double *rows_of_y(int n) {
    double *y = calloc((size_t)n * 3, sizeof *y);
    CHECK(y);
    for (int i = 0; i < n; i++) {
        rng r = rng_stream(data_key(5), (uint64_t)i);
        y[3 * i] = rng_normal(&r);
        y[3 * i + 1] = y[3 * i] + 0.1 * rng_normal(&r);
        y[3 * i + 2] = 2 + 0.5 * rng_normal(&r);
    }
    return y;
}

TEST(reach__distances_are_those_of_the_covariance) {
    enum { ROWS = 20000 };
    jf_context *ctx = new_context();
    double *y = rows_of_y(ROWS), square = 0;
    condition_range *r;
    CHECK_STATUS(condition_range_create(ctx, &r, 3, ROWS, y), JF_OK);
    for (int i = 0; i < ROWS; i++) square += pow(condition_range_distance(r, y + 3 * i), 2) / ROWS;
    CHECK_NEAR(square, 3, 1e-3); /* the trace of I */
    CHECK_NEAR(r->near, 3.368,
               0.1); /* square root of the 99% quantile of chi-square with 3 degrees of freedom */
    CHECK_NEAR(condition_range_distance(r, (double[]){0, 1, 2}), 10, 0.2); /* ten deviations of the noise */
    condition_range_free(r);
    free(y);
    jf_context_free(ctx);
}

TEST(reach__finds_elements_out_of_range_and_elements_that_do_not_go_together) {
    enum { ROWS = 5000 };
    jf_context *ctx = new_context();
    double *y = rows_of_y(ROWS), off;
    condition_range *r;
    int element;
    CHECK_STATUS(condition_range_create(ctx, &r, 3, ROWS, y), JF_OK);
    for (int i = 0; i < ROWS; i++) CHECK(!condition_range_excludes(r, y + 3 * i, &element, &off));
    CHECK(condition_range_excludes(r, (double[]){0, 0, 12}, &element, &off) && element == 2);
    CHECK_NEAR(off, 12 - r->hi[2], 1e-12);
    CHECK(condition_range_excludes(r, (double[]){1.5, -1.5, 2}, &element, &off) &&
          element == -1); /* each is in range */
    condition_range_free(r);
    free(y);
    jf_context_free(ctx);
}

static void keep_line(void *user, const char *line) {
    snprintf(user, 2048, "%s", line);
}

TEST(reach__a_y_beyond_the_data_is_told_by_samples_and_densities_of_a_model_and_its_file) {
    jf_context *ctx = new_context();
    jf_recipe *r = NULL;
    jf_model *m = NULL, *loaded = NULL;
    char log[2048] = "";
    CHECK_STATUS(
        jf_data_export(
            ctx, "two_moons",
            &(jf_export_options){.size = sizeof(jf_export_options), .rows = 500, .file = test_path("t.csv")}),
        JF_OK);
    CHECK_STATUS(jf_recipe_for_table(&r, ctx,
                                     &(jf_table_request){.size = sizeof(jf_table_request),
                                                         .x = test_path("t.csv"),
                                                         .x_columns = "theta1,theta2",
                                                         .y_columns = "obs1,obs2"}),
                 JF_OK);
    CHECK_STATUS(jf_recipe_set(r, "train.epochs", "1"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, NULL), JF_OK);
    CHECK_STATUS(jf_model_save(m, test_path("m.safetensors")), JF_OK);
    CHECK_STATUS(jf_model_load(&loaded, ctx, test_path("m.safetensors"), NULL), JF_OK);
    const double inside[] = {0, 0}, outside[] = {0, 0, 7.5, 0}, x[] = {0.1, 0.1, 0.1, 0.1};
    double out[4];
    jf_context_set_log(ctx, keep_line, log);
    for (int i = 0; i < 2; i++) {
        const jf_model *asked = i ? loaded : m;
        log[0] = 0;
        CHECK_STATUS(jf_sample(asked, 1, inside, out, NULL, NULL, NULL), JF_OK);
        CHECK_TEXT(log, "");
        CHECK_STATUS(jf_sample(asked, 2, outside, out, NULL, NULL, NULL), JF_OK);
        CHECK_HAS(log, "warning: y of 1 of 2 rows lies beyond the data");
        CHECK_HAS(log, "in row 2: obs1 is 7.5, ");
        CHECK_HAS(log, "Mahalanobis distance is ");
        log[0] = 0;
        CHECK_STATUS(jf_density(asked, 2, x, outside, out, NULL, NULL), JF_OK);
        CHECK_HAS(log, "warning: y of 1 of 2 rows lies beyond the data");
    }
    jf_model_free(m);
    jf_model_free(loaded);
    jf_recipe_free(r);
    jf_context_free(ctx);
}
