/* The public interface of images: forms, files, conditions, rows of the data. */
#include "api_image_fixture.h"

/* ---- what a model is ---- */

TEST(image_form__tells_sizes_and_tasks) {
    jf_context *ctx = new_context();
    jf_model *by_class = class_model(ctx), *fine = fine_model(ctx), *coarse = coarse_model(ctx);
    jf_image_form form = {.size = sizeof(jf_image_form)};
    CHECK_STATUS(jf_model_image_form(&form, by_class), JF_OK);
    CHECK_TEXT(form.task, "class");
    CHECK(form.h == 8 && form.w == 8 && form.channels == 1 && form.input_h == 0);
    CHECK_STATUS(jf_model_image_form(&form, fine), JF_OK);
    CHECK_TEXT(form.task, "superres");
    CHECK(form.h == 8 && form.input_h == 4 && form.input_w == 4 && form.input_channels == 1);
    CHECK_STATUS(jf_model_image_form(&form, coarse), JF_OK);
    CHECK(form.h == 4 && form.w == 4 && form.input_h == 2 && form.x_channels == 1 && form.y_channels == 1);
    char *text;
    CHECK_STATUS(jf_model_info(&text, coarse), JF_OK);
    CHECK_HAS(text, "images      4 x 4, 1 channel (superres, from 2 x 2)");
    free(text);
    jf_model_free(by_class);
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_context_free(ctx);
}

TEST(image_api__refuses_models_of_vectors) {
    static const char tiny[] = "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 4\n"
                               "[train]\nbatch = 20\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\n";
    jf_context *ctx = new_context();
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    jf_images images;
    jf_image_form form = {.size = sizeof(jf_image_form)};
    jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
    double x[2] = {0}, y[1] = {0}, values[16];
    jf_images given = one_image(4, 4, values);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, tiny, "test.recipe"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, &(jf_train_options){.size = sizeof(jf_train_options), .threads = 1}),
                 JF_OK);
    CHECK_STATUS(jf_model_image_form(&form, m), JF_OK);
    CHECK(form.h == 0 && form.input_h == 0);
    CHECK_STATUS(jf_restore(&images, m, 1, x, y), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(ctx), "a model of vectors (x of 2 numbers), expected one of images");
    CHECK_STATUS(jf_data_image(&images, m, 0, 0), JF_ERROR_UNSUPPORTED);
    CHECK_STATUS(jf_image_conditions_create(&made, m, &given, 0, 0), JF_ERROR_UNSUPPORTED);
    jf_cascade *cascade;
    CHECK_STATUS(jf_cascade_create(&cascade, (const jf_model *[]){m, m}, 2), JF_ERROR_UNSUPPORTED);
    CHECK(cascade == NULL);
    CHECK_HAS(jf_context_error(ctx), "the first model (test.recipe) is of vectors");
    jf_recipe_free(r);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* ---- files ---- */

TEST(images_read__axes_of_arrays_are_told_apart) {
    static const struct {
        int rank;
        size_t sizes[5];
        int count, h, w, channels;
    } cases[] = {{2, {6, 5}, 1, 6, 5, 1},       {3, {6, 5, 3}, 1, 6, 5, 3},
                 {3, {2, 6, 5}, 2, 6, 5, 1},    {4, {2, 6, 5, 3}, 2, 6, 5, 3},
                 {4, {2, 3, 6, 5}, 6, 6, 5, 1}, {5, {2, 2, 6, 5, 1}, 4, 6, 5, 1}};
    jf_context *ctx = new_context();
    double values[256];
    for (int i = 0; i < 256; i++) values[i] = i / 256.0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        jf_images images;
        CHECK_STATUS(npy_write(ctx, test_path("a.npy"), values, cases[k].rank, cases[k].sizes, 0), JF_OK);
        CHECK_STATUS(jf_images_read(&images, ctx, test_path("a.npy")), JF_OK);
        CHECK(images.count == (size_t)cases[k].count && images.h == cases[k].h && images.w == cases[k].w &&
              images.channels == cases[k].channels);
        CHECK_NEAR(images.values[7], 7 / 256.0, 1e-7);
        jf_images_free(&images);
    }
    jf_images images;
    CHECK_STATUS(npy_write(ctx, test_path("a.npy"), values, 1, (size_t[]){9}, 0), JF_OK);
    CHECK_STATUS(jf_images_read(&images, ctx, test_path("a.npy")), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "a.npy: 1 dimension, expected 2 or more");
    values[3] = NAN;
    CHECK_STATUS(npy_write(ctx, test_path("a.npy"), values, 2, (size_t[]){3, 3}, 0), JF_OK);
    CHECK_STATUS(jf_images_read(&images, ctx, test_path("a.npy")), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "number 4 is nan");
    CHECK(images.values == NULL);
    CHECK_STATUS(jf_images_read(&images, ctx, test_path("a.gif")), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "an image ends in .png, .jpg or .jpeg, or in .npy");
    jf_context_free(ctx);
}

TEST(images_read__bytes_of_png_become_intensities) {
    jf_context *ctx = new_context();
    uint8_t bytes[] = {0, 51, 255, 102, 0, 204};
    jf_images images;
    CHECK_STATUS(
        pixels_write(ctx, test_path("a.png"), &(pixels){.h = 2, .w = 3, .channels = 1, .bytes = bytes}),
        JF_OK);
    CHECK_STATUS(jf_images_read(&images, ctx, test_path("a.png")), JF_OK);
    CHECK(images.count == 1 && images.h == 2 && images.w == 3 && images.channels == 1);
    CHECK_NEAR(images.values[1], 0.2, 1e-12);
    CHECK_NEAR(images.values[5], 0.8, 1e-12);
    jf_images_free(&images);
    jf_context_free(ctx);
}

TEST(images_write__read_back_as_they_were) {
    jf_context *ctx = new_context();
    double values[6 * 16 * 3];
    for (int i = 0; i < 6 * 16 * 3; i++) values[i] = i / 512.0;
    jf_images images = {values, 6, 4, 4, 3}, back;
    CHECK_STATUS(jf_images_write(ctx, &images, 3, test_path("a.npy")), JF_OK);
    CHECK_STATUS(jf_images_read(&back, ctx, test_path("a.npy")), JF_OK);
    CHECK(back.count == 6 && back.h == 4 && back.channels == 3);
    for (int i = 0; i < 6 * 16 * 3; i++) CHECK(back.values[i] == values[i]);
    jf_images_free(&back);
    CHECK_STATUS(jf_images_write(ctx, &images, 4, test_path("a.npy")), JF_ERROR_SHAPE);
    CHECK_STATUS(jf_images_write(ctx, &images, 0, test_path("a.png")), JF_ERROR_FORMAT);
    jf_context_free(ctx);
}

/* ---- conditions ---- */

TEST(image_conditions__restore_gives_back_the_whole_image) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx);
    double values[PIXELS], x[PIXELS];
    jf_images whole = one_image(SIDE, SIDE, values), inputs, back;
    jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
    CHECK_STATUS(jf_image_conditions_create(&made, fine, &whole, 0, 0), JF_OK);
    CHECK(made.whole.count == 1 && made.inputs.count == 1 && made.inputs.h == 4);
    CHECK_NEAR(made.inputs.values[0], (values[0] + values[1] + values[SIDE] + values[SIDE + 1]) / 4, 1e-12);
    for (int i = 0; i < PIXELS; i++) x[i] = values[i] - made.y[i];
    CHECK_STATUS(jf_restore(&back, fine, 1, x, made.y), JF_OK);
    for (int i = 0; i < PIXELS; i++) CHECK_NEAR(back.values[i], values[i], 1e-12);
    CHECK_STATUS(jf_degrade(&inputs, fine, &back, 0), JF_OK);
    for (int i = 0; i < 16; i++) CHECK_NEAR(inputs.values[i], made.inputs.values[i], 1e-12);

    jf_image_conditions again = {
        .size = sizeof(jf_image_conditions)}; /* the input itself makes the same condition */
    CHECK_STATUS(jf_image_conditions_create(&again, fine, &made.inputs, 0, 0), JF_OK);
    CHECK(again.whole.count == 0);
    CHECK(memcmp(again.y, made.y, sizeof(double) * PIXELS) == 0);
    jf_image_conditions_free(&again);
    jf_image_conditions_free(&made);
    jf_images_free(&inputs);
    jf_images_free(&back);
    jf_model_free(fine);
    jf_context_free(ctx);
}

TEST(image_conditions__size_that_fits_nothing_is_refused) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *by_class = class_model(ctx);
    double values[PIXELS];
    jf_images odd = one_image(5, 6, values);
    jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
    CHECK_STATUS(jf_image_conditions_create(&made, fine, &odd, 0, 0), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx),
              "an image of 5 x 6 and 1 channel(s), expected an input of 4 x 4 and 1, or a "
              "whole image of 8 x 8 and 1");
    jf_images small = one_image(4, 4, values), images;
    CHECK_STATUS(jf_image_conditions_create(&made, fine, &small, 1, 0), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "expected one to degrade of 8 x 8");
    CHECK_STATUS(jf_degrade(&images, fine, &small, 0), JF_ERROR_SHAPE);
    CHECK_STATUS(jf_image_conditions_create(&made, by_class, &small, 0, 0), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(ctx), "its task is \"class\"");
    jf_model_free(fine);
    jf_model_free(by_class);
    jf_context_free(ctx);
}

TEST(image_conditions__grey_in_colours_counts_as_grey) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx);
    double grey[16], colour[48];
    jf_images small = one_image(4, 4, grey), coloured = {colour, 1, 4, 4, 3};
    jf_image_conditions a = {.size = sizeof(jf_image_conditions)}, b = {.size = sizeof(jf_image_conditions)};
    for (int i = 0; i < 48; i++) colour[i] = grey[i / 3];
    CHECK_STATUS(jf_image_conditions_create(&a, fine, &small, 0, 0), JF_OK);
    CHECK_STATUS(jf_image_conditions_create(&b, fine, &coloured, 0, 0), JF_OK);
    CHECK(memcmp(a.y, b.y, sizeof(double) * PIXELS) == 0);
    jf_image_conditions_free(&a);
    jf_image_conditions_free(&b);
    colour[20] += 0.1;
    CHECK_STATUS(jf_image_conditions_create(&b, fine, &coloured, 0, 0), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "3 channel(s), expected an input of 4 x 4 and 1");
    jf_model_free(fine);
    jf_context_free(ctx);
}

TEST(data_image__is_a_row_of_the_stack) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *coarse = coarse_model(ctx);
    jf_images image, small;
    CHECK_STATUS(jf_data_image(&image, fine, 2, 0), JF_OK);
    CHECK(image.count == 1 && image.h == SIDE && image.w == SIDE && image.channels == 1);
    int found = 0;
    for (int k = 0; k < COUNT; k++) {
        double worst = 0;
        for (int i = 0; i < PIXELS; i++) worst = fmax(worst, fabs(image.values[i] - intensity(k, i)));
        found += worst < 1e-6;
    }
    CHECK(found == 1);
    CHECK_STATUS(jf_data_image(&small, coarse, 2, 0), JF_OK);
    CHECK(small.h == 4);
    CHECK_NEAR(small.values[0], (image.values[0] + image.values[1] + image.values[8] + image.values[9]) / 4,
               1e-6);
    jf_images_free(&image);
    jf_images_free(&small);
    CHECK_STATUS(jf_data_image(&image, fine, 12, 0), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "row 12: the data have 12 rows held out, counted from 0");
    CHECK_STATUS(jf_data_image(&image, fine, 47, 1), JF_OK);
    jf_images_free(&image);
    CHECK_STATUS(jf_data_image(&image, fine, 48, 1), JF_ERROR_ARGUMENT);
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_context_free(ctx);
}
