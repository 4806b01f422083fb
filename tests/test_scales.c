/* Images of a class by scales: halved before they are learned, drawn, and made larger again by other models.
 */
#include "flow_fixture.h"
#include "images_fixture.h"
#include "jointflow/jointflow.h"
#include "judge/judge.h"
#include "model/use.h"
#include "train_fixture.h"

enum { SIDE = 12, SMALL = 3, CLASSES = 3, PIXELS = SMALL * SMALL };

#define TRAIN                                                                                                \
    "[train]\nnoise = 0.05\nbatch = 8\nprecondition = 0\nanneal = 0\nepochs = 1\npatience = 0\nks_every = "  \
    "0\n"
#define DENSE     "[model]\nnet = dense\ncondition = fixed\nblocks = 1\ndepth = 1\nwidth = 4\n"
#define CONVOLVED "[model]\nnet = resnext\nblocks = 1\nkernels = 2\ncardinality = 1\nresidual = 1\n"

static run *open_run(const char *keys, const char *rest) {
    char content[1024];
    put_idx_part("idx", "train", 0, 60, SIDE, SIDE, CLASSES);
    snprintf(content, sizeof content, "[data]\nset = images\nimages = %s\nvalidation = 0.2\n%s\n%s" TRAIN,
             test_path("idx"), keys, rest);
    return run_open(content);
}

static void train_to(const char *file, const char *keys, const char *rest) {
    run *r = open_run(keys, rest);
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_STATUS(model_save(r->m, test_path(file)), JF_OK);
    run_close(r);
}

static jf_model *loaded(jf_context *ctx, const char *file) {
    jf_model *m = NULL;
    if (jf_model_load(&m, ctx, test_path(file), NULL) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    return m;
}

TEST(scales__rows_of_a_class_are_means_of_pixels) {
    put_idx_part("idx", "train", 0, 6, SIDE, SIDE, CLASSES);
    data_fixture f = images_open("idx", "task = class\ndown = 2\nvalidation = 0");
    CHECK(f.set->dim_x == PIXELS && f.set->dim_y == PIXELS && f.set->image.h == SMALL);
    double row[2 * PIXELS];
    row_sequence sequence = {{1, RNG_DATA, 0}, -1, 0};
    CHECK_STATUS(dataset_draw(f.set, sequence.key, 0, 1, -1, row), JF_OK);
    long at = dataset_row_at(f.set, &sequence, 0);
    for (int p = 0; p < PIXELS; p++) {
        double sum = 0;
        for (int k = 0; k < 16; k++)
            sum += image_byte(at, (p / SMALL * 4 + k / 4) * SIDE + p % SMALL * 4 + k % 4) / 255.0;
        CHECK_NEAR(row[p], sum / 16, 1e-15);
    }
    data_close(&f);
}

TEST(scales__what_cannot_be_halved_is_refused) {
    put_idx_part("idx", "train", 0, 6, SIDE, SIDE, CLASSES);
    images_refuse("idx", "task = class\ndown = 3", JF_ERROR_RECIPE,
                  "data.down: found 3, expected at most 2 for images of 12x12", "divide by 8");
    images_refuse("idx", "task = class\ndown = 1\ndequantise = uniform", JF_ERROR_RECIPE, "data.dequantise",
                  "expected none, or data.down = 0");
}

/* Networks of vectors read the pixels that are kept, and y once, however many pixels its planes have. */
TEST(scales__odd_images_are_vectors_and_their_label_is_read_once) {
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, DENSE);
    param_list params = {.ctx = l->ctx};
    flow *f;
    const image_size size = {SMALL, SMALL, 1, CLASSES};
    CHECK_STATUS(flow_create_image(l->ctx, &f, l->d, r, &params, "", size, &(flow_origin){.y_read = CLASSES}),
                 JF_OK);
    CHECK(f->dim_x == PIXELS && f->dim_y == CLASSES * PIXELS && f->steps == 6);
    int moved[PIXELS] = {0};
    for (int s = 0; s < f->steps; s++) {
        int targets = 0;
        for (int i = 0; i < f->dim; i++) {
            CHECK(i < PIXELS || !f->masks[s * f->dim + i]);
            if (i < PIXELS && f->masks[s * f->dim + i]) moved[i]++, targets++;
        }
        const coupling_layer *layer = f->chain[s].kind->describe(&f->chain[s]).coupling;
        CHECK(layer->k == PIXELS - targets + CLASSES && layer->m == targets);
    }
    for (int i = 0; i < PIXELS; i++) CHECK(moved[i] == 3);
    flow_free(f);
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}

TEST(scales__convolutions_refuse_odd_images) {
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, CONVOLVED);
    param_list params = {.ctx = l->ctx};
    flow *f;
    CHECK_STATUS(
        flow_create_image(l->ctx, &f, l->d, r, &params, "", (image_size){7, 7, 1, 1}, &(flow_origin){0}),
        JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(l->ctx), "7 x 7, which a checkerboard cannot halve");
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}

/* The file has no masks of images: they follow from its seed. */
TEST(scales__model_of_odd_images_comes_back_from_its_file) {
    run *r = open_run("task = class\none_hot = yes\ndown = 2", DENSE);
    double rows[2][(1 + CLASSES) * PIXELS] = {{0}};
    jf_context *ctx = NULL;
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_STATUS(model_save(r->m, test_path("m.safetensors")), JF_OK);
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = loaded(ctx, "m.safetensors");
    const model *both[] = {r->m, m};
    for (int k = 0; k < 2; k++) {
        units_fill_y(&both[k]->units, 1, rows[k] + PIXELS);
        CHECK_STATUS(
            model_sample(both[k], (latent_points){4, LATENT_SAMPLES, 0, 1}, DATA_UNITS, 1, rows[k], NULL),
            JF_OK);
    }
    for (int i = 0; i < PIXELS; i++) CHECK_NEAR(rows[0][i], rows[1][i], 1e-5);
    jf_model_free(m);
    jf_context_free(ctx);
    run_close(r);
}

/* 3x3 of a class, then 6x6, then 12x12. */
typedef struct scales {
    jf_context *ctx;
    jf_model *of_class, *steps[2];
    jf_cascade *both, *fine_alone;
} scales;

static scales scales_open(void) {
    scales s = {0};
    train_to("class", "task = class\none_hot = yes\ndown = 2\nthen = pair", DENSE);
    train_to("fine", "task = superres", CONVOLVED);
    train_to("coarse", "task = superres\ndown = 1", CONVOLVED);
    CHECK_STATUS(jf_context_create(&s.ctx), JF_OK);
    s.of_class = loaded(s.ctx, "class");
    s.steps[0] = loaded(s.ctx, "fine");
    s.steps[1] = loaded(s.ctx, "coarse");
    CHECK_STATUS(jf_cascade_create(&s.both, (const jf_model *const *)s.steps, 2), JF_OK);
    CHECK_STATUS(jf_cascade_create(&s.fine_alone, (const jf_model *const *)s.steps, 1), JF_OK);
    return s;
}

static void scales_close(scales *s) {
    jf_cascade_free(s->both);
    jf_cascade_free(s->fine_alone);
    jf_model_free(s->of_class);
    for (int k = 0; k < 2; k++) jf_model_free(s->steps[k]);
    jf_context_free(s->ctx);
}

TEST(scales__samples_are_judged_in_the_size_that_they_end_in) {
    scales s = scales_open();
    jf_judge_options options = {
        .size = sizeof(jf_judge_options), .points = 12, .inputs = 12, .denoise = 1, .cascade = s.both};
    jf_judgement *j = NULL;
    CHECK(strcmp(jf_model_then(s.of_class), "pair") == 0 && *jf_model_then(s.steps[0]) == 0);
    if (jf_judge(&j, s.of_class, &options) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(s.ctx));
    CHECK_HAS(jf_judgement_json(j), "\"enlarged_height\": 12");
    CHECK_HAS(jf_judgement_text(j), "1 sample for each of 12 held-out images, made 12 x 12");
    const image_quality *held = &j->denoised.held_out; /* real images, whatever the model is like */
    CHECK(held->images == 12 && held->training == 48 && held->recognised >= 0 && held->recognised <= 1);
    CHECK(j->image.far_validation < 0.05 && j->denoised.far_validation == 0);
    jf_judgement_free(j);
    CHECK_STATUS(jf_judge(&j, s.steps[1], &options), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(s.ctx), "for models of images of a class");
    options.cascade = s.fine_alone; /* 12x12 of 6x6 does not start from 3x3 */
    CHECK_STATUS(jf_judge(&j, s.of_class, &options), JF_ERROR_SHAPE);
    scales_close(&s);
}

TEST(scales__a_cascade_makes_several_images_larger_each_by_itself) {
    scales s = scales_open();
    double values[2 * PIXELS];
    for (int i = 0; i < 2 * PIXELS; i++) values[i] = i % 7 / 7.0;
    jf_images two = {.values = values, .count = 2, .h = SMALL, .w = SMALL, .channels = 1}, one = two;
    jf_cascade_options options = {.size = sizeof(jf_cascade_options), .seed = 3};
    jf_cascade_result r = {.size = sizeof r}, first = {.size = sizeof first};
    const jf_cascade *c = s.both;
    one.count = 1;
    CHECK_STATUS(jf_cascade_enlarge(&r, c, &two, &options), JF_OK);
    CHECK_STATUS(jf_cascade_enlarge(&first, c, &one, &options), JF_OK);
    CHECK(r.made[1].count == 2 && r.made[1].h == SIDE && first.made[1].count == 1);
    for (int i = 0; i < SIDE * SIDE; i++) CHECK_NEAR(r.made[1].values[i], first.made[1].values[i], 1e-5);
    CHECK_STATUS(jf_cascade_write(c, &r, NULL, 0, test_path("a.png")), JF_ERROR_ARGUMENT);
    double y[2 * CLASSES * PIXELS];
    for (int k = 0; k < 2; k++)
        CHECK_STATUS(jf_model_y_of_label(s.of_class, k, y + k * CLASSES * PIXELS), JF_OK);
    CHECK_STATUS(jf_draw_images_of(s.of_class, &r.made[1], y, 0, test_path("large.png")), JF_OK);
    jf_cascade_result_free(&r);
    jf_cascade_result_free(&first);
    scales_close(&s);
}

/* ---- what a model draws, made larger ---- */

static const jf_cascade_options seed_3 = {.size = sizeof(jf_cascade_options), .seed = 3, .of_samples = 1};

static jf_status load_cascade(jf_cascade **out, const scales *s, const char *format) {
    char names[1024];
    snprintf(names, sizeof names, format, test_path("fine"), test_path("coarse"));
    return jf_cascade_load(out, s->ctx, names, s->of_class, NULL);
}

/* n images of SMALL x SMALL, all the same. */
static jf_images same_images(double *values, size_t n) {
    for (size_t i = 0; i < n * PIXELS; i++) values[i] = (double)(i % PIXELS) / PIXELS;
    return (jf_images){.values = values, .count = n, .h = SMALL, .w = SMALL, .channels = 1};
}

static int equal_images(const jf_images *images, size_t a, size_t b) {
    const size_t size = SIDE * SIDE;
    return memcmp(images->values + a * size, images->values + b * size, size * sizeof(double)) == 0;
}

TEST(cascade__models_are_found_by_names_in_any_order) {
    scales s = scales_open();
    jf_cascade *c;
    CHECK_STATUS(load_cascade(&c, &s, "%s,%s"), JF_OK);
    CHECK(jf_model_dim_x(jf_cascade_model(c, 0)) == 36 && jf_model_dim_x(jf_cascade_model(c, 1)) == 144);
    CHECK(jf_cascade_model(c, 2) == NULL);
    jf_cascade_free(c);
    CHECK_STATUS(jf_cascade_load(&c, s.ctx, test_path("fine"), NULL, NULL), JF_OK);
    CHECK(jf_model_dim_x(jf_cascade_model(c, 0)) == 144 && jf_cascade_model(c, 1) == NULL);
    jf_cascade_free(c);
    CHECK_STATUS(jf_cascade_load(&c, s.ctx, "none", s.of_class, NULL), JF_OK);
    CHECK(c == NULL);
    CHECK_STATUS(jf_cascade_load(&c, s.ctx, NULL, s.steps[0], NULL), JF_OK); /* its recipe names none */
    CHECK(c == NULL);
    CHECK_STATUS(jf_cascade_load(&c, s.ctx, NULL, NULL, NULL), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(s.ctx), "no model whose recipe has them");
    scales_close(&s);
}

TEST(cascade__what_does_not_follow_is_refused) {
    scales s = scales_open();
    jf_cascade *c;
    CHECK_STATUS(load_cascade(&c, &s, "%s"), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(s.ctx),
              "images of 6 x 6 (1 channel) larger, expected one that starts from 3 x 3");
    CHECK(c == NULL);
    CHECK_STATUS(jf_cascade_load(&c, s.ctx, test_path("class"), s.of_class, NULL), JF_ERROR_UNSUPPORTED);
    CHECK(jf_cascade_load(&c, s.ctx, NULL, s.of_class, NULL) != JF_OK); /* "pair" is not there */
    CHECK_HAS(jf_context_error(s.ctx), "data.then = pair, which makes the images of the model larger: ");
    scales_close(&s);
}

TEST(cascade__each_sample_is_made_larger_by_itself) {
    scales s = scales_open();
    jf_cascade *c;
    jf_cascade_result two = {.size = sizeof two}, one = two, alone = two, none = two;
    double values[2 * PIXELS], whole[SIDE * SIDE] = {0};
    jf_images small = same_images(values, 2), large = {whole, 1, SIDE, SIDE, 1};
    CHECK_STATUS(load_cascade(&c, &s, "%s,%s"), JF_OK);
    CHECK_STATUS(jf_cascade_enlarge(&two, c, &small, &seed_3), JF_OK);
    CHECK(two.steps == 2 && two.made[1].count == 2 && two.made[1].h == SIDE && two.made[1].w == SIDE &&
          two.made[1].channels == 1);
    CHECK(!equal_images(&two.made[1], 0, 1)); /* of latent points of its own */
    small.count = 1;
    CHECK_STATUS(jf_cascade_enlarge(&one, c, &small, &seed_3), JF_OK);
    for (int i = 0; i < SIDE * SIDE; i++) CHECK_NEAR(one.made[1].values[i], two.made[1].values[i], 1e-5);
    /* The model itself has drawn the first points of the seed: the first step of a cascade by itself has
     * those. */
    jf_cascade_options options = {.size = sizeof options, .seed = 3};
    CHECK_STATUS(jf_cascade_enlarge(&alone, c, &small, &options), JF_OK);
    CHECK(memcmp(alone.made[1].values, one.made[1].values, SIDE * SIDE * sizeof(double)) != 0);
    small.count = 0;
    CHECK_STATUS(jf_cascade_enlarge(&none, c, &small, NULL), JF_OK);
    CHECK(none.made[1].count == 0 && none.made[1].h == SIDE);
    CHECK_STATUS(jf_cascade_enlarge(&none, c, &large, &seed_3),
                 JF_ERROR_SHAPE); /* no sample is a whole one */
    jf_cascade_result_free(&none);
    jf_cascade_result_free(&alone);
    jf_cascade_result_free(&one);
    jf_cascade_result_free(&two);
    jf_cascade_free(c);
    scales_close(&s);
}

TEST(cascade__parts_of_a_set_have_the_images_of_the_whole) {
    scales s = scales_open();
    jf_cascade_result all = {.size = sizeof all}, part = all;
    jf_cascade_options options = {.size = sizeof options, .counts = {2, 3}, .seed = 3};
    double values[2 * PIXELS];
    jf_images small = same_images(values, 2), second = same_images(values + PIXELS, 1);
    const jf_cascade *c = s.both;
    CHECK_STATUS(jf_cascade_enlarge(&all, c, &small, &options), JF_OK);
    options.first = 1;
    CHECK_STATUS(jf_cascade_enlarge(&part, c, &second, &options), JF_OK);
    CHECK(all.made[1].count == 12 && part.made[1].count == 6);
    for (int i = 0; i < 6 * SIDE * SIDE; i++)
        CHECK_NEAR(part.made[1].values[i], all.made[1].values[6 * SIDE * SIDE + i], 1e-5);
    jf_cascade_result_free(&all);
    jf_cascade_result_free(&part);
    scales_close(&s);
}

TEST(cascade__images_of_a_line_share_latent_points) {
    scales s = scales_open();
    jf_cascade *c;
    jf_cascade_result r = {.size = sizeof r};
    double values[6 * PIXELS];
    jf_images small = same_images(values, 6);
    jf_cascade_options options = seed_3;
    CHECK_STATUS(load_cascade(&c, &s, "%s,%s"), JF_OK);
    options.together = 3;
    CHECK_STATUS(jf_cascade_enlarge(&r, c, &small, &options), JF_OK);
    CHECK(r.made[1].count == 6);
    for (size_t i = 1; i < 6; i++) CHECK(equal_images(&r.made[1], 0, i) == (i < 3));
    CHECK(equal_images(&r.made[1], 3, 5));
    jf_cascade_result_free(&r);
    options.together = 4;
    CHECK_STATUS(jf_cascade_enlarge(&r, c, &small, &options), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(s.ctx), "6 images in groups of 4");
    jf_cascade_free(c);
    scales_close(&s);
}

TEST(cascade__lines_are_drawn_of_the_larger_images) {
    scales s = scales_open();
    jf_cascade *c;
    jf_lines lines;
    jf_images own;
    jf_cascade_result r = {.size = sizeof r};
    double y[3 * CLASSES * PIXELS];
    for (int k = 0; k < 3; k++)
        CHECK_STATUS(jf_model_y_of_label(s.of_class, k, y + k * CLASSES * PIXELS), JF_OK);
    CHECK_STATUS(jf_lines_through(&lines, s.of_class, 2, 3, y, NULL), JF_OK);
    CHECK(lines.rows == 2 && lines.steps == 3 && lines.along_y);
    for (int i = 0; i < 3 * CLASSES * PIXELS; i++) CHECK(lines.y[i] == y[i]); /* plane after plane */
    CHECK_STATUS(load_cascade(&c, &s, "%s,%s"), JF_OK);
    CHECK_STATUS(jf_restore(&own, s.of_class, 6, lines.x, lines.y), JF_OK);
    CHECK_STATUS(jf_cascade_enlarge(&r, c, &own, &seed_3), JF_OK);
    jf_images large = r.made[1];
    CHECK_STATUS(jf_lines_draw_images(s.of_class, &lines, &large, NULL, 0, test_path("lines.png")), JF_OK);
    large.count = 5;
    CHECK_STATUS(jf_lines_draw_images(s.of_class, &lines, &large, NULL, 0, test_path("lines.png")),
                 JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(s.ctx), "5 images of 2 lines of 3 steps, expected 6");
    jf_images_free(&own);
    jf_cascade_result_free(&r);
    jf_cascade_free(c);
    jf_lines_free(&lines);
    scales_close(&s);
}

TEST(scales__a_report_shows_the_larger_images) {
    scales s = scales_open();
    jf_judge_options options = {.size = sizeof(jf_judge_options), .points = 12, .inputs = 12};
    jf_judgement *small = NULL, *large = NULL;
    char *page = NULL;
    size_t length;
    CHECK_STATUS(jf_judge(&small, s.of_class, &options), JF_OK);
    CHECK(small->sheet.count == 0 && !strstr(jf_judgement_text(small), "as the model draws it"));
    options.cascade = s.both;
    CHECK_STATUS(jf_judge(&large, s.of_class, &options), JF_OK);
    CHECK(large->sheet.count == CLASSES * SHEET_EACH && large->sheet.h == SIDE);
    int shown = 0;
    for (int k = 0; k < CLASSES; k++) shown += large->sheet_each[k];
    CHECK(shown == 12);
    CHECK_HAS(jf_judgement_text(large), "x is an image of 3 x 3, as the model draws it");
    CHECK_HAS(jf_judgement_json(large), "\"nll_of\": \"images of 3 x 3, before others make them larger\"");
    CHECK_NEAR(large->nll, small->nll, 0); /* it has no density of the larger images */
    CHECK_STATUS(jf_report(s.of_class, large, test_path("report")), JF_OK);
    CHECK_STATUS(file_read(s.ctx, &page, &length, test_path("report/report.html"), 1 << 26), JF_OK);
    CHECK_HAS(page, "Samples of each class, made larger by other models.");
    CHECK_HAS(page, "The model draws images of 3 x 3, of which all densities and latent points are");
    free(page);
    jf_judgement_free(small);
    jf_judgement_free(large);
    scales_close(&s);
}

/* Images of the data, which the model has learned as means of 4x4 pixels. */
TEST(scales__given_images_of_the_data_are_halved_first) {
    scales s = scales_open();
    double whole[SIDE * SIDE], y[CLASSES * PIXELS], x[PIXELS];
    jf_images image = {.values = whole, .count = 1, .h = SIDE, .w = SIDE, .channels = 1};
    jf_image_form form = {.size = sizeof form};
    for (int i = 0; i < SIDE * SIDE; i++) whole[i] = i % 5 / 5.0;
    CHECK_STATUS(jf_model_image_form(&form, s.of_class), JF_OK);
    CHECK(form.h == SMALL && form.data_h == SIDE && form.data_w == SIDE);
    CHECK_STATUS(jf_model_y_of_label(s.of_class, 1, y), JF_OK);
    CHECK_STATUS(jf_image_answers(s.of_class, &image, y, x), JF_OK);
    for (int p = 0; p < PIXELS; p++) {
        double sum = 0;
        for (int k = 0; k < 16; k++) sum += whole[(p / SMALL * 4 + k / 4) * SIDE + p % SMALL * 4 + k % 4];
        CHECK_NEAR(x[p], sum / 16, 1e-12);
    }
    image.h = image.w = SIDE / 2;
    CHECK_STATUS(jf_image_answers(s.of_class, &image, y, x), JF_ERROR_SHAPE);
    CHECK_HAS(jf_context_error(s.ctx),
              "expected a whole one of 3 x 3 and 1, or one of 12 x 12, which is halved");
    scales_close(&s);
}
