/* Images in colours, 32 x 32, from picture files to answers: what users' own photographs go through. */
#include "test.h"

#include "io/png.h"
#include "jointflow/jointflow.h"
#include "jpeg_fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDE = 32, NUMBERS = SIDE * SIDE * 3, OF_EACH = 12 };

/* Class 0 is reddish with a bright disc, class 1 bluish with stripes; every one is different. */
static uint8_t byte_at(int kind, int number, int i) {
    int channel = i % 3, column = i / 3 % SIDE, row = i / 3 / SIDE;
    double x = (column - 16 - number % 5) / 16.0, y = (row - 16 + number % 3) / 16.0;
    double shape = kind ? 0.5 + 0.5 * sin(4 * x + number) : exp(-3 * (x * x + y * y));
    double tint = kind ? (channel == 2 ? 1 : 0.4) : (channel == 0 ? 1 : 0.4);
    return (uint8_t)(40 + 180 * shape * tint);
}

static void path_of(int kind, int number, char path[1200]) {
    snprintf(path, 1200, "%s/%s/%02d.%s", test_path("photos"), kind ? "sea" : "sun", number,
             kind ? "jpg" : "png");
}

/* One class in PNG files, the other in JPEG files. */
static void put_photos(jf_context *ctx) {
    char path[1200];
    uint8_t bytes[NUMBERS];
    mkdir(test_path("photos"), 0777);
    mkdir(test_path("photos/sun"), 0777);
    mkdir(test_path("photos/sea"), 0777);
    for (int k = 0; k < 2 * OF_EACH; k++) {
        for (int i = 0; i < NUMBERS; i++) bytes[i] = byte_at(k % 2, k / 2, i);
        path_of(k % 2, k / 2, path);
        if (k % 2)
            CHECK(jpeg_put(path, SIDE, SIDE, 3, bytes, 0));
        else
            CHECK_STATUS(pixels_write(ctx, path, &(pixels){SIDE, SIDE, 3, bytes}), JF_OK);
    }
}

static jf_model *trained(jf_context *ctx, const char *task) {
    char content[1600];
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    snprintf(content, sizeof content,
             "[data]\nset = images\nimages = %s\nvalidation = 0.25\n%s\n[model]\nnet = resnext\nblocks = 2\n"
             "kernels = 8\ncardinality = 2\nresidual = 1\n[train]\nnoise = 0.02\nbatch = 6\nrate = 1e-3\n"
             "precondition = 0\nanneal = 0\nepochs = 2\nks_every = 0\n",
             test_path("photos"), task);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, content, "photos.recipe"), JF_OK);
    if (jf_train(&m, ctx, r, &(jf_train_options){.size = sizeof(jf_train_options), .threads = 1}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    jf_recipe_free(r);
    return m;
}

static void judge_with_noise_and_without(jf_context *ctx, const jf_model *m) {
    jf_judgement *j = NULL;
    if (jf_judge(&j, m,
                 &(jf_judge_options){
                     .size = sizeof(jf_judge_options), .points = 6, .denoise = 1, .inputs = 2}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    CHECK_HAS(jf_judgement_json(j), "\"image_denoised\"");
    jf_judgement_free(j);
}

TEST(colour_images__of_classes_go_from_files_to_samples_and_back) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    put_photos(ctx);
    jf_model *m = trained(ctx, "task = class");
    jf_image_form form = {.size = sizeof(jf_image_form)};
    CHECK_STATUS(jf_model_image_form(&form, m), JF_OK);
    CHECK(form.h == SIDE && form.channels == 3 && form.x_channels == 3 && form.y_channels == 1);
    CHECK_TEXT(jf_model_class_name(m, 0), "sea");
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m);
    CHECK(dim_x == NUMBERS && dim_y == SIDE * SIDE);
    double *x = calloc(2 * (size_t)dim_x, sizeof *x), *y = calloc(2 * (size_t)dim_y, sizeof *y), log_p;
    for (int i = dim_y; i < 2 * dim_y; i++) y[i] = 1;
    CHECK_STATUS(jf_sample(m, 2, y, x, NULL, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_denoise(m, 2, x, y, x, NULL), JF_OK);
    CHECK_STATUS(jf_draw_samples(m, 2, x, y, test_path("samples.png")), JF_OK);

    /* a photograph that is given, as JPEG */
    char path[1200];
    jf_images photo, back;
    path_of(1, 3, path);
    CHECK_STATUS(jf_images_read(&photo, ctx, path), JF_OK);
    CHECK(photo.h == SIDE && photo.channels == 3);
    for (int i = 0; i < NUMBERS; i++) CHECK_NEAR(photo.values[i] * 255, byte_at(1, 3, i), 6);
    CHECK_STATUS(jf_image_answers(m, &photo, y, x), JF_OK);
    CHECK_STATUS(jf_density(m, 1, x, y, &log_p, NULL, NULL), JF_OK);
    CHECK(isfinite(log_p));
    CHECK_STATUS(jf_restore(&back, m, 1, x, y), JF_OK);
    for (int i = 0; i < NUMBERS; i++) CHECK_NEAR(back.values[i], photo.values[i], 1e-12);
    jf_images_free(&photo);
    jf_images_free(&back);
    judge_with_noise_and_without(ctx, m);
    free(x);
    free(y);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(colour_images__are_enlarged_step_by_step_and_judged) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    put_photos(ctx);
    jf_model *coarse = trained(ctx, "task = superres\ndown = 1"), *fine = trained(ctx, "task = superres");
    const jf_model *models[] = {fine, coarse};
    char path[1200];
    jf_images photo;
    jf_cascade *c;
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)};
    jf_cascade_scores scores = {.size = sizeof(jf_cascade_scores)};
    path_of(1, 2, path);
    CHECK_STATUS(jf_images_read(&photo, ctx, path), JF_OK);
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .counts = {2, 2}, .denoise = 1};
    CHECK_STATUS(jf_cascade_create(&c, models, 2), JF_OK);
    if (jf_cascade_enlarge(&r, c, &photo, &options) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    CHECK(r.input.h == 8 && r.input.channels == 3 && r.made[1].h == SIDE && r.made[1].channels == 3);
    CHECK_STATUS(jf_cascade_write(c, &r, NULL, 0, test_path("large.png")), JF_OK);
    jf_cascade_result_free(&r);
    jf_images_free(&photo);
    jf_cascade_test test = {.size = sizeof(jf_cascade_test), .test = test_path("photos"), .most = 10};
    CHECK_STATUS(jf_cascade_score(&scores, c, &test, NULL), JF_OK);
    CHECK(scores.count >= 2 && scores.of[0].images == 10);
    jf_cascade_scores_free(&scores);
    jf_cascade_free(c);
    judge_with_noise_and_without(ctx, fine);
    jf_model_free(coarse);
    jf_model_free(fine);
    jf_context_free(ctx);
}

TEST(colour_images__of_every_degradation_are_answered) {
    static const char *const tasks[] = {"task = colour", "task = motion\nlength = 3",
                                        "task = occlusion\nmask = yes"};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    put_photos(ctx);
    for (int k = 0; k < 3; k++) {
        jf_model *m = trained(ctx, tasks[k]);
        char path[1200];
        jf_images photo, restored;
        jf_image_conditions given = {.size = sizeof(jf_image_conditions)};
        path_of(0, 1, path);
        CHECK_STATUS(jf_images_read(&photo, ctx, path), JF_OK);
        CHECK_STATUS(jf_image_conditions_create(&given, m, &photo, 1, 7), JF_OK);
        CHECK(given.inputs.channels == (k == 0 ? 1 : k == 1 ? 3 : 4));
        double *x = calloc((size_t)jf_model_dim_x(m), sizeof *x);
        CHECK_STATUS(jf_sample(m, 1, given.y, x, NULL, NULL, NULL), JF_OK);
        CHECK_STATUS(jf_restore(&restored, m, 1, x, given.y), JF_OK);
        CHECK(restored.channels == 3 && restored.h == SIDE);
        free(x);
        jf_images_free(&restored);
        jf_images_free(&photo);
        jf_image_conditions_free(&given);
        jf_model_free(m);
    }
    jf_context_free(ctx);
}
