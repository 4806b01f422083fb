/* The public interface takes mistakes of its callers for what they are, and never crashes. */
#include "test.h"

#include "jointflow/jointflow.h"

static const char tiny[] = "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 4\n"
                           "[train]\nbatch = 20\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\n"
                           "ks_every = 0\n";

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

static jf_model *trained(jf_context *ctx, const char *content, const char *folder) {
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_recipe_parse(&r, ctx, content, "test.recipe"), JF_OK);
    CHECK_STATUS(
        jf_train(&m, ctx, r,
                 &(jf_train_options){.size = sizeof(jf_train_options), .folder = folder, .threads = 1}),
        JF_OK);
    jf_recipe_free(r);
    return m;
}

static jf_status sample_at(const jf_model *m, double temperature, int zero, double x[2]) {
    jf_use_options o = {.size = sizeof o, .seed = 1, .temperature = temperature, .zero_temperature = zero};
    return jf_sample(m, 1, (double[]){1}, x, NULL, NULL, &o);
}

TEST(temperature__zero_decodes_the_latent_origin_and_a_zeroed_struct_means_one) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, tiny, NULL);
    double zeroed[2], one[2], zero[2], origin[2], nearly[2];
    CHECK_STATUS(sample_at(m, 0, 0, zeroed), JF_OK);
    CHECK_STATUS(sample_at(m, 1, 0, one), JF_OK);
    CHECK_STATUS(sample_at(m, 0, 1, zero), JF_OK);
    CHECK_STATUS(sample_at(m, 1e-9, 0, nearly), JF_OK);
    CHECK_STATUS(jf_decode(m, 1, (double[]){0, 0}, (double[]){1}, origin, NULL, NULL), JF_OK);
    CHECK(memcmp(zeroed, one, sizeof one) == 0);
    CHECK(memcmp(zero, origin, sizeof zero) == 0);
    CHECK_NEAR(zero[0], nearly[0], 1e-6);
    CHECK(fabs(zero[0] - one[0]) > 1e-3);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(temperature__negative_and_no_numbers_are_refused_by_every_function_that_takes_one) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, tiny, NULL);
    static const double wrong[] = {-1, -1e-300, NAN, -NAN, INFINITY, -INFINITY};
    double x[2];
    jf_judgement *j = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        jf_judge_options o = {.size = sizeof o, .points = 10, .temperature = wrong[i]};
        CHECK_STATUS(sample_at(m, wrong[i], 0, x), JF_ERROR_ARGUMENT);
        CHECK_HAS(jf_context_error(ctx), "temperature: found ");
        CHECK_STATUS(jf_judge(&j, m, &o), JF_ERROR_ARGUMENT);
        CHECK_HAS(jf_context_error(ctx), "temperature to judge at: found ");
        CHECK(j == NULL);
    }
    CHECK_STATUS(sample_at(m, 0.5, 1, x), JF_ERROR_ARGUMENT);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(api__rows_that_are_missing_are_refused) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, tiny, NULL);
    double x[2] = {0}, y[1] = {0}, out[2], log_p[1];
    CHECK_STATUS(jf_encode(m, 1, NULL, y, out, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "no values were given for the 2 elements of x");
    CHECK_STATUS(jf_encode(m, 1, x, NULL, out, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "needs a condition y of 1 number");
    CHECK_STATUS(jf_decode(m, 1, NULL, y, out, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_density(m, 1, NULL, y, log_p, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_sample(m, 1, NULL, out, NULL, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_draw_samples(m, 1, NULL, y, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_draw_samples(m, 1, x, NULL, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_draw_corner(m, 1, NULL, y, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_draw_corner(m, 0, NULL, NULL, test_path("a.png")), JF_OK); /* panels without data */
    jf_groups none = {.size = sizeof(jf_groups)};
    CHECK_STATUS(jf_draw_groups(ctx, &none, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_encode(m, 1, x, y, out, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_encode(m, 0, NULL, NULL, NULL, NULL, NULL), JF_OK); /* nothing is missing of nothing */
    CHECK_STATUS(jf_sample(m, 0, NULL, NULL, NULL, NULL, NULL), JF_OK);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(api__more_rows_than_can_be_are_refused) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, tiny, NULL);
    double x[2] = {0}, y[1] = {0}, out[2];
    CHECK_STATUS(jf_sample(m, (size_t)-1, y, out, NULL, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "rows, expected at most 2147483647");
    CHECK_STATUS(jf_encode(m, (size_t)-7, x, y, out, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_decode(m, (size_t)-1, x, y, out, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_draw_samples(m, (size_t)-1, x, y, test_path("a.png")), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_density(m, 0, x, y, out, NULL, NULL), JF_ERROR_ARGUMENT);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* NULL in the place of a list that a struct has a count for, and in the list. */
TEST(api__null_in_lists_of_structs_is_refused_by_name) {
    static const char *const none[] = {"a", NULL};
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, tiny, NULL);
    jf_cascade *c;
    char *told = NULL;
    double values[2] = {0};
    const jf_model *no_models[] = {m, NULL};
    for (int in_list = 0; in_list < 2; in_list++) {
        const jf_model *const *models = in_list ? no_models : NULL;
        const char *const *names = in_list ? none : NULL;
        jf_fetch_options fetching = {
            .size = sizeof fetching, .folder = test_path("f"), .mirror_count = 2, .mirrors = names};
        jf_figure_options figure = {
            .size = sizeof figure, .folder = test_path("f"), .model_count = 2, .models = names};
        CHECK_STATUS(jf_cascade_create(&c, models, 2), JF_ERROR_ARGUMENT);
        if (in_list) CHECK_HAS(jf_context_error(ctx), "models[1] is NULL");
        CHECK_STATUS(jf_data_fetch(&told, ctx, "mnist", &fetching), JF_ERROR_ARGUMENT);
        CHECK_HAS(jf_context_error(ctx), in_list ? "o.mirrors[1] is NULL" : "o.mirrors is NULL");
        CHECK_STATUS(jf_figure(ctx, "1", &figure), JF_ERROR_ARGUMENT);
        CHECK_HAS(jf_context_error(ctx), in_list ? "o.models[1] is NULL" : "o.models is NULL");
    }
    CHECK_STATUS(jf_table_write(ctx, &(jf_table){values, 1, 2}, none, test_path("t.csv")), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "names[1] is NULL");
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(api__resuming_needs_a_folder) {
    jf_context *ctx = new_context();
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_recipe_parse(&r, ctx, tiny, "test.recipe"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, &(jf_train_options){.size = sizeof(jf_train_options), .resume = 1}),
                 JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "no folder was given");
    CHECK(m == NULL);
    jf_recipe_free(r);
    jf_context_free(ctx);
}

TEST(api__table_of_another_rank_is_refused_and_holds_nothing) {
    static const char header[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1), }";
    char bytes[128 + 8];
    memset(bytes, ' ', 128);
    memset(bytes + 128, 0, 8);
    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(bytes + 10, header, sizeof header - 1);
    bytes[127] = '\n';
    const char *path = test_path("cube.npy");
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes && fclose(file) == 0);
    jf_context *ctx = new_context();
    jf_table t;
    CHECK_STATUS(jf_table_read(&t, ctx, path), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "cube.npy: 3 dimensions, expected 2");
    CHECK(t.values == NULL && t.rows == 0 && t.columns == 0);
    jf_table_free(&t);
    jf_context_free(ctx);
}

TEST(figure__refuses_models_of_something_else) {
    jf_context *ctx = new_context();
    jf_model_free(trained(ctx, tiny, test_path("run")));
    const char *models[4] = {test_path("run"), test_path("run"), test_path("run"), test_path("run")};
    static const char *const names[] = {"1", "C1", "4", "D1"};
    for (int i = 0; i < 4; i++) {
        jf_figure_options options = {.size = sizeof(jf_figure_options),
                                     .folder = test_path("figure"),
                                     .models = models,
                                     .model_count = 4};
        CHECK_STATUS(jf_figure(ctx, names[i], &options), JF_ERROR_ARGUMENT);
        CHECK_HAS(jf_context_error(ctx), "run: not a model for this figure");
    }
    CHECK_STATUS(jf_figure(ctx, "3", NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "no folder was given");
    jf_context_free(ctx);
}
