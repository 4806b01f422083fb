/* The public interface of images: super-resolution, lines, pictures, figures. */
#include "api_image_fixture.h"
#include "base/permutation.h"
#include <sys/stat.h>

/* ---- super-resolution ---- */

static jf_status enlarge(jf_cascade_result *out, const jf_model *const *models, size_t count,
                         const jf_images *given, const jf_cascade_options *options) {
    jf_cascade *c;
    jf_status status = jf_cascade_create(&c, models, count);
    if (status == JF_OK) status = jf_cascade_enlarge(out, c, given, options);
    jf_cascade_free(c);
    return status;
}

static jf_status enlarge_twice(jf_cascade_result *out, const jf_model *one, const jf_model *other,
                               const jf_images *given, const jf_cascade_options *options) {
    return enlarge(out, (const jf_model *[]){one, other}, 2, given, options);
}

TEST(superres__answers_in_two_steps_whatever_the_order_of_the_models) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *coarse = coarse_model(ctx);
    double values[PIXELS];
    jf_images whole = one_image(SIDE, SIDE, values);
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .counts = {3, 2}, .seed = 5};
    jf_cascade_result a = {.size = sizeof(jf_cascade_result)}, b = {.size = sizeof(jf_cascade_result)};
    CHECK_STATUS(enlarge_twice(&a, coarse, fine, &whole, &options), JF_OK);
    CHECK_STATUS(enlarge_twice(&b, fine, coarse, &whole, &options), JF_OK);
    CHECK(a.truth.count == 1 && a.input.h == 2 && a.made[0].count == 3 && a.made[0].h == 4 &&
          a.made[1].count == 6 && a.made[1].h == 8);
    CHECK(memcmp(a.made[1].values, b.made[1].values, sizeof(double) * 6 * PIXELS) == 0);
    CHECK_NEAR(a.input.values[0],
               (values[0] + values[1] + values[2] + values[3] + values[8] + values[9] + values[10] +
                values[11] + values[16] + values[17] + values[18] + values[19] + values[24] + values[25] +
                values[26] + values[27]) /
                   16,
               1e-12);
    CHECK(isfinite(a.y_error) && a.y_error > 0);
    double square = 0; /* down(down(sample)) is the mean of 4 x 4 pixels */
    for (int k = 0; k < 6; k++)
        for (int block = 0; block < 4; block++) {
            double mean = 0;
            for (int i = 0; i < 16; i++)
                mean +=
                    a.made[1].values[k * PIXELS + (block / 2 * 4 + i / 4) * SIDE + block % 2 * 4 + i % 4] /
                    16;
            square += pow(mean - a.input.values[block], 2) / 24;
        }
    CHECK_NEAR(a.psnr[1], -10 * log10(square), 1e-9);
    jf_cascade_result_free(&b);

    /* from the small image itself nothing changes but that the truth is not known */
    CHECK_STATUS(enlarge_twice(&b, coarse, fine, &a.input, &options), JF_OK);
    CHECK(b.truth.count == 0);
    CHECK(memcmp(a.made[1].values, b.made[1].values, sizeof(double) * 6 * PIXELS) == 0);
    jf_cascade_result_free(&a);
    jf_cascade_result_free(&b);
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_context_free(ctx);
}

TEST(superres__steps_are_samples_of_the_models) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *coarse = coarse_model(ctx);
    double values[4], y[2 * 16], x[2 * 16], z[2 * 16], latent[PIXELS];
    jf_images small = one_image(2, 2, values), first;
    jf_image_conditions given = {.size = sizeof(jf_image_conditions)};
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)};
    CHECK_STATUS(
        enlarge_twice(&r, coarse, fine, &small,
                      &(jf_cascade_options){.size = sizeof(jf_cascade_options), .counts = {2, 1}, .seed = 9}),
        JF_OK);
    CHECK_STATUS(jf_image_conditions_create(&given, coarse, &small, 0, 0), JF_OK);
    for (int i = 0; i < 32; i++) y[i] = given.y[i % 16];
    CHECK_STATUS(
        jf_sample(coarse, 2, y, x, NULL, z, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 9}),
        JF_OK);
    CHECK_STATUS(jf_restore(&first, coarse, 2, x, y), JF_OK);
    for (int i = 0; i < 32; i++) CHECK_NEAR(r.made[0].values[i], first.values[i], 1e-12);
    jf_image_conditions_free(&given);

    /* x of the first fine image, given the first coarse one, comes from a latent point of its own */
    CHECK_STATUS(jf_image_conditions_create(&given, fine, &r.made[0], 0, 0), JF_OK);
    double fine_x[PIXELS];
    for (int i = 0; i < PIXELS; i++) fine_x[i] = r.made[1].values[i] - given.y[i];
    CHECK_STATUS(jf_encode(fine, 1, fine_x, given.y, latent, NULL, NULL), JF_OK);
    double nearest = 0;
    for (int i = 0; i < 16; i++) nearest += fabs(latent[i] - z[i]);
    CHECK(nearest > 1);
    jf_image_conditions_free(&given);
    jf_images_free(&first);
    jf_cascade_result_free(&r);
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_context_free(ctx);
}

TEST(superres__models_and_images_that_do_not_fit_are_refused) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *coarse = coarse_model(ctx), *by_class = class_model(ctx);
    double values[PIXELS];
    jf_images small = one_image(2, 2, values), middle = one_image(4, 4, values);
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)};
    CHECK_STATUS(enlarge_twice(&r, fine, by_class, &small, NULL), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(ctx), "the second model (images.recipe) is of the task \"class\", expected");
    CHECK_STATUS(enlarge_twice(&r, fine, fine, &small, NULL), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "one makes 8 x 8 of 4 x 4 (1 channel), the other 8 x 8 of 4 x 4");
    CHECK_STATUS(enlarge_twice(&r, coarse, fine, &middle, NULL), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx),
              "an image of 4 x 4, expected an input of 2 x 2, or a whole image of 8 x 8");
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .counts = {1, (size_t)-1}};
    CHECK_STATUS(enlarge_twice(&r, coarse, fine, &small, &options), JF_ERROR_ARGUMENT);
    options = (jf_cascade_options){.size = sizeof(jf_cascade_options), .temperature = -1};
    CHECK_STATUS(enlarge_twice(&r, coarse, fine, &small, &options), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "temperature: found -1");
    const jf_model *none[] = {coarse, NULL};
    CHECK_STATUS(enlarge(&r, none, 2, &small, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "models[1] is NULL");
    CHECK_STATUS(enlarge(&r, none, JF_CASCADE_MOST + 1, &small, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "9 models, expected at most 8");
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_model_free(by_class);
    jf_context_free(ctx);
}

/* ---- lines ---- */

TEST(lines__along_z_turn_from_one_sample_to_the_next) {
    jf_context *ctx = new_context();
    jf_model *m = class_model(ctx);
    enum { STEPS = 5 };
    double y[2 * PIXELS], z[2 * PIXELS], x[2 * PIXELS];
    jf_use_options use = {.size = sizeof(jf_use_options), .seed = 3};
    jf_lines l;
    for (int i = 0; i < 2 * PIXELS; i++) y[i] = i / PIXELS;
    CHECK_STATUS(jf_sample(m, 2, y, x, NULL, z, &use), JF_OK);
    CHECK_STATUS(jf_lines_along_z(&l, m, 2, STEPS, 2, y, &use), JF_OK);
    CHECK(l.rows == 4 && l.steps == STEPS && l.conditions == 2 && !l.along_y);
    const double *second_row = l.z + STEPS * PIXELS;
    for (int i = 0; i < PIXELS; i++) {
        CHECK_NEAR(l.z[i], z[i], 1e-12);
        CHECK_NEAR(l.z[(STEPS - 1) * PIXELS + i], z[PIXELS + i], 1e-12);
        CHECK_NEAR(l.z[2 * PIXELS + i], (z[i] + z[PIXELS + i]) / sqrt(2), 1e-12); /* half a quarter turn */
        CHECK(second_row[i] == l.z[i]);
        CHECK_NEAR(l.y[STEPS * PIXELS + i], 1, 0);
    }
    for (int i = 0; i < PIXELS; i++) CHECK_NEAR(l.x[i], x[i], 1e-6);
    CHECK_STATUS(jf_lines_draw(m, &l, NULL, 0, test_path("z.png")), JF_OK);
    jf_lines_free(&l);
    CHECK_STATUS(jf_lines_along_z(&l, m, 1, 1, 2, y, &use), JF_ERROR_ARGUMENT);
    CHECK_STATUS(jf_lines_along_z(&l, m, 1, 5, 2, NULL, &use), JF_ERROR_ARGUMENT);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(lines__along_y_keep_the_latent_point) {
    jf_context *ctx = new_context();
    jf_model *m = class_model(ctx);
    enum { STEPS = 9 };
    double from[PIXELS], to[PIXELS], y[PIXELS], x[PIXELS];
    jf_lines l;
    for (int i = 0; i < PIXELS; i++) from[i] = -0.5, to[i] = 1.5, y[i] = 1;
    CHECK_STATUS(jf_lines_along_y(&l, m, 2, STEPS, from, to, NULL), JF_OK);
    CHECK(l.rows == 2 && l.along_y && l.conditions == 1);
    for (int k = 0; k < STEPS; k++) {
        CHECK_NEAR(l.y[k * PIXELS + 3], -0.5 + 0.25 * k, 1e-12);
        CHECK(memcmp(l.z + k * PIXELS, l.z, sizeof(double) * PIXELS) == 0);
    }
    CHECK_STATUS(jf_decode(m, 1, l.z, y, x, NULL, NULL), JF_OK);
    for (int i = 0; i < PIXELS; i++) CHECK_NEAR(l.x[6 * PIXELS + i], x[i], 1e-6); /* y = 1 */
    CHECK_STATUS(jf_lines_draw(m, &l, "title", 1, test_path("y.png")), JF_OK);
    jf_lines_free(&l);
    CHECK_STATUS(jf_lines_along_y(&l, m, 2, STEPS, NULL, to, NULL), JF_ERROR_ARGUMENT);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* ---- pictures ---- */

/* The byte at a place of a picture, in units of half its pixels. */
static int grey_at(const pixels *p, double x, double y) {
    return p->bytes[((size_t)(2 * y) * (size_t)p->w + (size_t)(2 * x)) * (size_t)p->channels];
}

TEST(grid__enlarges_small_images_and_leaves_empty_cells_empty) {
    jf_context *ctx = new_context();
    const double small[4] = {0, 1, 1, 0}, black[16] = {0};
    const jf_grid_cell cells[] = {
        {small, 2, 2, 1, 0}, {NULL, 0, 0, 0, 0}, {NULL, 0, 0, 0, 0}, {black, 4, 4, 1, 0}};
    pixels p;
    CHECK_STATUS(jf_grid_draw(ctx,
                              &(jf_grid){.size = sizeof(jf_grid), .rows = 2, .columns = 2, .cells = cells},
                              test_path("a.png")),
                 JF_OK);
    CHECK_STATUS(pixels_read(ctx, &p, test_path("a.png"), 1000), JF_OK);
    const double margin = 12, edge = 60, gap = 5;
    CHECK(p.w == 2 * (2 * margin + 2 * edge + gap) && p.h == p.w);
    CHECK(grey_at(&p, margin + edge / 4, margin + edge / 4) == 0);
    CHECK(grey_at(&p, margin + 3 * edge / 4, margin + edge / 4) == 255);
    CHECK(grey_at(&p, margin + edge / 4, margin + 3 * edge / 4) == 255);
    CHECK(grey_at(&p, margin + edge + gap + edge / 2, margin + edge / 2) == 255); /* the paper itself */
    CHECK(grey_at(&p, margin + edge / 2, margin + edge + gap + edge / 2) == 255);
    CHECK(grey_at(&p, margin + edge + gap + edge / 2, margin + edge + gap + edge / 2) == 0);
    pixels_free(&p);
    jf_context_free(ctx);
}

/* Black, black and missing, white, white: what is missing is grey. */
TEST(grid__what_a_mask_covers_is_drawn_in_grey) {
    jf_context *ctx = new_context();
    const double values[8] = {0, 0, 0, 1, 1, 0, 1, 0};
    jf_grid_cell cell = {values, 2, 2, 2, 0};
    pixels p;
    CHECK_STATUS(jf_grid_draw(ctx,
                              &(jf_grid){.size = sizeof(jf_grid), .rows = 1, .columns = 1, .cells = &cell},
                              test_path("a.png")),
                 JF_OK);
    CHECK_STATUS(pixels_read(ctx, &p, test_path("a.png"), 1000), JF_OK);
    CHECK(grey_at(&p, 12 + 15, 12 + 15) == 0 && abs(grey_at(&p, 12 + 45, 12 + 15) - 128) < 2);
    CHECK(grey_at(&p, 12 + 15, 12 + 45) == 255 && grey_at(&p, 12 + 45, 12 + 45) == 255);
    pixels_free(&p);
    jf_context_free(ctx);
}

TEST(grid__full_range_stretches_and_five_channels_are_refused) {
    jf_context *ctx = new_context();
    const double values[4] = {-1, 3, 1, 3};
    jf_grid_cell cell = {values, 2, 2, 1, 0};
    jf_grid grid = {.size = sizeof(jf_grid), .rows = 1, .columns = 1, .cells = &cell, .full_range = 1};
    pixels p;
    CHECK_STATUS(jf_grid_draw(ctx, &grid, test_path("a.png")), JF_OK);
    CHECK_STATUS(pixels_read(ctx, &p, test_path("a.png"), 1000), JF_OK);
    CHECK(grey_at(&p, 12 + 15, 12 + 15) == 0 && grey_at(&p, 12 + 45, 12 + 15) == 255);
    CHECK(abs(grey_at(&p, 12 + 15, 12 + 45) - 128) < 2);
    pixels_free(&p);
    cell.channels = 5;
    CHECK_STATUS(jf_grid_draw(ctx, &grid, test_path("a.png")), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(ctx), "5 channels cannot be drawn, expected 1 or 3");
    cell = (jf_grid_cell){0};
    CHECK_STATUS(jf_grid_draw(ctx, &grid, test_path("a.png")), JF_ERROR_ARGUMENT);
    jf_context_free(ctx);
}

TEST(draw_samples__draws_images_of_classes_and_of_conditions) {
    jf_context *ctx = new_context();
    jf_model *by_class = class_model(ctx), *fine = fine_model(ctx);
    double x[6 * PIXELS], y[6 * PIXELS];
    for (int i = 0; i < 6 * PIXELS; i++) y[i] = i / PIXELS % 2;
    CHECK_STATUS(jf_sample(by_class, 6, y, x, NULL, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_draw_samples(by_class, 6, x, y, test_path("class.png")), JF_OK);
    CHECK_STATUS(jf_draw_image_samples(fine, 6, x, y, 1, test_path("fine.png")), JF_OK);
    CHECK_STATUS(jf_draw_image_samples(fine, 0, NULL, NULL, 0, test_path("none.png")), JF_OK);
    pixels a, b;
    CHECK_STATUS(pixels_read(ctx, &a, test_path("class.png"), 4000), JF_OK);
    CHECK_STATUS(pixels_read(ctx, &b, test_path("fine.png"), 4000), JF_OK);
    CHECK(a.w > a.h && b.w == a.w && b.h == a.h); /* two panels of 2 x 2 places */
    pixels_free(&a);
    pixels_free(&b);
    jf_model_free(by_class);
    jf_model_free(fine);
    jf_context_free(ctx);
}

/* ---- figures ---- */

static void draw_figure(jf_context *ctx, const char *name, const char *const *models, int count,
                        const char *const *files) {
    const char *folder = test_path("figures");
    jf_figure_options options = {.size = sizeof(jf_figure_options),
                                 .folder = folder,
                                 .models = models,
                                 .model_count = (size_t)count,
                                 .threads = 1};
    CHECK_STATUS(jf_figure(ctx, name, &options), JF_OK);
    for (; *files; files++) {
        char path[512];
        struct stat s;
        snprintf(path, sizeof path, "%s/%s", folder, *files);
        if (stat(path, &s) != 0 || s.st_size == 0) test_fail(__FILE__, __LINE__, "%s was not written", path);
    }
}

TEST(figure__of_images_are_drawn_from_models_that_are_there) {
    jf_context *ctx = new_context();
    jf_model_free(class_model(ctx));
    jf_model_free(fine_model(ctx));
    jf_model_free(coarse_model(ctx));
    const char *by_class[] = {test_path("class"), test_path("class"), test_path("coarse"), test_path("fine")},
               *pair[] = {test_path("fine"), test_path("coarse")};
    draw_figure(ctx, "5", by_class, 1,
                (const char *[]){"figure-5a.png", "figure-5b.png", "figure-5c.png", NULL});
    draw_figure(ctx, "A.3", by_class, 1, (const char *[]){"figure-A3.png", "figure-A3.csv", NULL});
    draw_figure(ctx, "6", pair, 2,
                (const char *[]){"figure-6-1.png", "figure-6-2.png", "figure-6.csv", NULL});
    draw_figure(ctx, "F1", pair, 2, (const char *[]){"figure-F1.png", "figure-F1.csv", NULL});
    draw_figure(ctx, "F", pair, 2, (const char *[]){"figure-F2.png", "figure-F2.csv", NULL});
    draw_figure(ctx, "7", pair, 2, (const char *[]){"figure-7.png", "figure-7.csv", NULL});
    draw_figure(ctx, "E1", by_class, 4, (const char *[]){"figure-E1.png", "figure-E1.csv", NULL});
    jf_figure_options wrong = {.size = sizeof(jf_figure_options),
                               .folder = test_path("figures"),
                               .models = by_class,
                               .model_count = 2};
    CHECK_STATUS(jf_figure(ctx, "6", &wrong), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx),
              "class: not a model for this figure, which shows images and the task \"superres\"");
    wrong.models = pair;
    CHECK_STATUS(jf_figure(ctx, "5", &wrong), JF_ERROR_ARGUMENT);
    jf_context_free(ctx);
}

TEST(superres__without_noise_hands_clean_images_from_step_to_step) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *coarse = coarse_model(ctx);
    double values[4], y[2 * 16], x[2 * 16];
    jf_images small = one_image(2, 2, values), first;
    jf_image_conditions given = {.size = sizeof(jf_image_conditions)};
    jf_cascade_options options = {
        .size = sizeof(jf_cascade_options), .counts = {2, 1}, .seed = 9, .denoise = 1};
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)}, noisy = {.size = sizeof(jf_cascade_result)};
    CHECK_STATUS(enlarge_twice(&r, coarse, fine, &small, &options), JF_OK);
    options.denoise = 0;
    CHECK_STATUS(enlarge_twice(&noisy, coarse, fine, &small, &options), JF_OK);
    CHECK_STATUS(jf_image_conditions_create(&given, coarse, &small, 0, 0), JF_OK);
    for (int i = 0; i < 32; i++) y[i] = given.y[i % 16];
    CHECK_STATUS(
        jf_sample(coarse, 2, y, x, NULL, NULL, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 9}),
        JF_OK);
    CHECK_STATUS(jf_denoise(coarse, 2, x, y, x, NULL), JF_OK);
    CHECK_STATUS(jf_restore(&first, coarse, 2, x, y), JF_OK);
    double moved = 0;
    for (int i = 0; i < 32; i++) {
        CHECK_NEAR(r.made[0].values[i], first.values[i], 1e-12);
        moved = fmax(moved, fabs(r.made[0].values[i] - noisy.made[0].values[i]));
    }
    CHECK(moved > 1e-5);
    for (int i = 0; i < 2 * PIXELS; i++) CHECK(isfinite(r.made[1].values[i]));
    CHECK(r.psnr[1] != noisy.psnr[1] && r.psnr[0] != noisy.psnr[0]);
    jf_image_conditions_free(&given);
    jf_images_free(&first);
    jf_cascade_result_free(&r);
    jf_cascade_result_free(&noisy);
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_context_free(ctx);
}

/* ---- cascades of any length ---- */

static jf_cascade *three_models(jf_context *ctx, const jf_model *models[3]) {
    jf_cascade *c;
    models[0] = coarse_model(ctx);
    models[1] = trained(ctx, "task = superres\ndown = 2", test_path("coarsest"));
    models[2] = fine_model(ctx);
    CHECK_STATUS(jf_cascade_create(&c, models, 3), JF_OK);
    return c;
}

static void free_models(jf_cascade *c, const jf_model *models[3]) {
    jf_cascade_free(c);
    for (int i = 0; i < 3; i++) jf_model_free((jf_model *)models[i]);
}

TEST(cascade__of_three_models_goes_from_the_smallest_to_the_largest) {
    jf_context *ctx = new_context();
    const jf_model *models[3];
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .counts = {2, 3, 2}, .seed = 5};
    double values[PIXELS], small[1] = {0.4};
    jf_images whole = one_image(SIDE, SIDE, values), one = {small, 1, 1, 1, 1};
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)};
    jf_cascade *c = three_models(ctx, models);
    if (jf_cascade_enlarge(&r, c, &whole, &options) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    CHECK(r.steps == 3 && r.truth.count == 1 && r.input.h == 1 && r.input.w == 1);
    CHECK(r.made[0].count == 2 && r.made[1].count == 6 && r.made[2].count == 12);
    CHECK(r.made[0].h == 2 && r.made[1].h == 4 && r.made[2].h == 8);
    CHECK(jf_cascade_model(c, 0) == models[1] && jf_cascade_model(c, 2) == models[2] &&
          jf_cascade_model(c, 3) == NULL);
    double mean = 0, square = 0;
    for (int i = 0; i < PIXELS; i++) mean += values[i] / PIXELS;
    CHECK_NEAR(r.input.values[0], mean, 1e-12);
    for (int k = 0; k < 12; k++) {
        double again = 0;
        for (int i = 0; i < PIXELS; i++) again += r.made[2].values[k * PIXELS + i] / PIXELS;
        square += pow(again - mean, 2) / 12;
    }
    CHECK_NEAR(r.psnr[2], -10 * log10(square), 1e-9);
    CHECK_STATUS(jf_cascade_write(c, &r, NULL, 0, test_path("cascade.png")), JF_OK);
    jf_cascade_result_free(&r);
    CHECK_STATUS(jf_cascade_enlarge(&r, c, &one, &options), JF_OK);
    CHECK(r.truth.count == 0 && r.made[2].count == 12);
    jf_cascade_result_free(&r);

    /* one that leaves a step out does not follow */
    const jf_model *gap[2] = {models[1], models[2]};
    CHECK_STATUS(enlarge(&r, gap, 2, &whole, &options), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(ctx), "the models do not follow each other");
    free_models(c, models);
    jf_context_free(ctx);
}

/* Of a file that is sorted by class, too. */
TEST(cascade__over_a_part_of_a_set_is_over_a_random_choice_of_its_images) {
    jf_context *ctx = new_context();
    const jf_model *models[3];
    double labels[COUNT];
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .seed = 5};
    jf_cascade_test test = {.size = sizeof(jf_cascade_test),
                            .test = test_path("stack.npy"),
                            .test_labels = test_path("labels.npy"),
                            .most = COUNT / 2};
    jf_cascade_scores scores = {.size = sizeof(jf_cascade_scores)};
    jf_cascade *c = three_models(ctx, models);
    for (int i = 0; i < COUNT; i++) labels[i] = i >= COUNT / 2;
    CHECK_STATUS(npy_write(ctx, test_path("labels.npy"), labels, 1, (size_t[]){COUNT}, 1), JF_OK);
    CHECK_STATUS(jf_cascade_score(&scores, c, &test, &options), JF_OK);
    CHECK(scores.count == 3 && scores.steps == 3 && scores.of[0].images == COUNT / 2);
    CHECK(scores.of[1].images > COUNT / 8 && scores.of[2].images > COUNT / 8); /* of each class */
    jf_cascade_scores_free(&scores);
    free_models(c, models);
    jf_context_free(ctx);
}

/* The set goes through in pieces; what an image becomes depends on its number alone. */
TEST(cascade__over_a_set_has_the_mean_square_of_its_images_one_by_one) {
    jf_context *ctx = new_context();
    const jf_model *models[3];
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .counts = {2, 1, 1}, .seed = 5};
    jf_cascade_test test = {.size = sizeof(jf_cascade_test),
                            .test = test_path("stack.npy"),
                            .test_labels = test_path("labels.npy")};
    jf_cascade_scores scores = {.size = sizeof(jf_cascade_scores)},
                      fewer = {.size = sizeof(jf_cascade_scores)};
    jf_cascade *c = three_models(ctx, models);
    if (jf_cascade_score(&scores, c, &test, &options) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    const jf_cascade_class *of = scores.of;
    CHECK(scores.count == 3 && of[0].images == COUNT && of[1].images == COUNT / 2 && scores.y_error > 0);
    CHECK_TEXT(of[0].name, "");
    CHECK_TEXT(of[2].name, "1");
    for (int k = 0; k < 3; k++) { /* classes of the same size: the mean of their squares is that of all */
        double mean = (pow(10, -of[1].psnr[k] / 10) + pow(10, -of[2].psnr[k] / 10)) / 2;
        CHECK_NEAR(of[0].psnr[k], -10 * log10(mean), 1e-9);
    }
    test.most = 1;
    CHECK_STATUS(jf_cascade_score(&fewer, c, &test, &options), JF_OK);
    double values[PIXELS];
    int row = (int)validation_row(COUNT, 0);                               /* drawn at random */
    for (int i = 0; i < PIXELS; i++) values[i] = (float)intensity(row, i); /* as the set holds it */
    jf_images first = {values, 1, SIDE, SIDE, 1};
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)};
    CHECK_STATUS(jf_cascade_enlarge(&r, c, &first, &options), JF_OK);
    for (int k = 0; k < 3; k++) CHECK_NEAR(fewer.of[0].psnr[k], r.psnr[k], 1e-6);
    jf_cascade_result_free(&r);
    jf_cascade_scores_free(&fewer);

    /* held-out images of the recipe: a fifth of 60 */
    CHECK_STATUS(jf_cascade_score(&fewer, c, NULL, &options), JF_OK);
    CHECK(fewer.of[0].images == COUNT / 5);
    test.test = test_path("none.npy");
    jf_cascade_scores_free(&scores);
    CHECK(jf_cascade_score(&scores, c, &test, &options) != JF_OK);
    CHECK(scores.of == NULL && scores.count == 0);
    jf_cascade_scores_free(&fewer);
    free_models(c, models);
    jf_context_free(ctx);
}

TEST(cascade__temperature_zero_leaves_one_image_for_each) {
    jf_context *ctx = new_context();
    jf_model *fine = fine_model(ctx), *coarse = coarse_model(ctx);
    double values[4];
    jf_images small = one_image(2, 2, values);
    jf_cascade_options options = {
        .size = sizeof(jf_cascade_options), .counts = {2, 2}, .seed = 9, .zero_temperature = 1};
    jf_cascade_result r = {.size = sizeof(jf_cascade_result)};
    CHECK_STATUS(enlarge_twice(&r, coarse, fine, &small, &options), JF_OK);
    for (int i = 0; i < 4 * PIXELS; i++) CHECK_NEAR(r.made[1].values[i], r.made[1].values[i % PIXELS], 1e-6);
    jf_cascade_result_free(&r);
    options.zero_temperature = 0;
    CHECK_STATUS(enlarge_twice(&r, coarse, fine, &small, &options), JF_OK);
    double moved = 0;
    for (int i = 0; i < PIXELS; i++)
        moved = fmax(moved, fabs(r.made[1].values[i] - r.made[1].values[PIXELS + i]));
    CHECK(moved > 1e-3);
    jf_cascade_result_free(&r);
    jf_model_free(fine);
    jf_model_free(coarse);
    jf_context_free(ctx);
}
