/* Images of a class by scales: halved before they are learned, drawn, and made larger again by other models. */
#include "answer/chain.h"
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
    return s;
}

static void scales_close(scales *s) {
    jf_model_free(s->of_class);
    for (int k = 0; k < 2; k++) jf_model_free(s->steps[k]);
    jf_context_free(s->ctx);
}

TEST(scales__samples_are_judged_in_the_size_that_they_end_in) {
    scales s = scales_open();
    jf_judge_options options = {.size = sizeof(jf_judge_options),
                                .points = 12,
                                .inputs = 12,
                                .denoise = 1,
                                .then = (const jf_model *const *)s.steps,
                                .then_count = 2};
    jf_judgement *j = NULL;
    CHECK(strcmp(jf_model_then(s.of_class), "pair") == 0 && *jf_model_then(s.steps[0]) == 0);
    if (jf_judge(&j, s.of_class, &options) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(s.ctx));
    CHECK_HAS(jf_judgement_json(j), "\"enlarged_height\": 12");
    CHECK_HAS(jf_judgement_text(j), "1 sample for each of 12 held-out images, made 12 x 12");
    const image_quality *held = &j->denoised.held_out; /* real images, whatever the model is like */
    CHECK(held->images == 12 && held->training == 48 && held->recognised >= 0 && held->recognised <= 1);
    CHECK(j->image.far_held_out < 0.05 && j->denoised.far_held_out == 0);
    jf_judgement_free(j);
    options.then_count = 1; /* 12x12 of 6x6 does not start from 3x3 */
    CHECK_STATUS(jf_judge(&j, s.of_class, &options), JF_ERROR_SHAPE);
    options.then_count = 2;
    CHECK_STATUS(jf_judge(&j, s.steps[1], &options), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(s.ctx), "for models of images of a class");
    scales_close(&s);
}

TEST(scales__a_chain_makes_several_images_larger_each_by_itself) {
    scales s = scales_open();
    double values[2 * PIXELS];
    for (int i = 0; i < 2 * PIXELS; i++) values[i] = i % 7 / 7.0;
    jf_images two = {.values = values, .count = 2, .h = SMALL, .w = SMALL, .channels = 1}, one = two;
    jf_chain_options options = {.size = sizeof(jf_chain_options), .seed = 3};
    jf_chain_result r = {.size = sizeof r}, first = {.size = sizeof first};
    one.count = 1;
    CHECK_STATUS(jf_superres_chain(&r, (const jf_model *const *)s.steps, 2, &two, &options), JF_OK);
    CHECK_STATUS(jf_superres_chain(&first, (const jf_model *const *)s.steps, 2, &one, &options), JF_OK);
    CHECK(r.made[1].count == 2 && r.made[1].h == SIDE && first.made[1].count == 1);
    for (int i = 0; i < SIDE * SIDE; i++) CHECK_NEAR(r.made[1].values[i], first.made[1].values[i], 1e-5);
    CHECK_STATUS(jf_superres_chain_write(s.ctx, &r, NULL, 0, test_path("a.png")), JF_ERROR_ARGUMENT);
    double y[2 * CLASSES * PIXELS];
    for (int k = 0; k < 2; k++)
        CHECK_STATUS(jf_model_y_of_label(s.of_class, k, y + k * CLASSES * PIXELS), JF_OK);
    CHECK_STATUS(jf_draw_images_of(s.of_class, &r.made[1], y, 0, test_path("large.png")), JF_OK);
    jf_chain_result_free(&r);
    jf_chain_result_free(&first);
    scales_close(&s);
}
