/* Bytes that were made continuous: rows, and bits per dimension beside exact entropies. */
#include "images_fixture.h"

#include "io/npy.h"
#include "judge/judge.h"
#include "train/train.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, LEVELS = 16, LOWEST = 128, ROWS = 200 };

/* Every image has each of LEVELS values equally often: log2(LEVELS) bits per dimension, exactly. */
static uint8_t level_at(int row, int i) {
    return (uint8_t)(LOWEST + (i * 5 + row * 3) % LEVELS);
}

static void put_part(const char *part, int rows) {
    uint8_t bytes[ROWS * PIXELS], labels[ROWS];
    char head[16] = {0, 0, 8, 3, 0, 0, (char)(rows >> 8), (char)rows, 0, 0, 0, SIDE, 0, 0, 0, SIDE}, name[64];
    for (int i = 0; i < rows * PIXELS; i++) bytes[i] = level_at(i / PIXELS, i % PIXELS);
    for (int i = 0; i < rows; i++) labels[i] = (uint8_t)(i % 2);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    put_bytes(path_in("levels", name), head, 16, bytes, (size_t)(rows * PIXELS));
    head[3] = 1;
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    put_bytes(path_in("levels", name), head, 8, labels, (size_t)rows);
}

static void put_levels(void) {
    put_part("train", ROWS);
    put_part("t10k", ROWS);
}

/* ---- rows ---- */

TEST(dequantise__a_row_keeps_its_bytes_and_is_new_in_every_epoch) {
    put_levels();
    data_fixture f = images_open("levels", "task = class\ndequantise = uniform\n");
    double row[2][2 * PIXELS], held[2][2 * PIXELS], mean = 0;
    int same = 0;
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        CHECK_STATUS(dataset_draw(f.set, (rng_key){1, RNG_DATA, epoch}, 0, 1, 0, row[epoch]), JF_OK);
        CHECK_STATUS(dataset_validation(f.set, 5, 1, held[epoch]), JF_OK);
    }
    for (int i = 0; i < PIXELS; i++) {
        double step = held[0][i] * 256 - floor(held[0][i] * 256);
        CHECK(floor(held[0][i] * 256) == level_at(5, i) && step > 0);
        mean += step / PIXELS;
        same += row[0][i] == row[1][i];
    }
    CHECK(same == 0 && memcmp(held[0], held[1], sizeof held[0]) == 0);
    CHECK_NEAR(mean, 0.5, 4 / sqrt(12.0 * PIXELS));
    data_close(&f);
}

TEST(dequantise__is_refused_where_images_are_not_bytes) {
    double values[20 * PIXELS], labels[20];
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < 20 * PIXELS; i++) values[i] = 0.5 + 0.5 * sin(i);
    for (int i = 0; i < 20; i++) labels[i] = i % 2;
    CHECK_STATUS(npy_write(ctx, test_path("stack.npy"), values, 3, (size_t[]){20, SIDE, SIDE}, 1), JF_OK);
    CHECK_STATUS(npy_write(ctx, test_path("labels.npy"), labels, 1, (size_t[]){20}, 1), JF_OK);
    jf_context_free(ctx);
    char keys[600];
    snprintf(keys, sizeof keys, "task = class\ndequantise = uniform\nlabels = %s\n", test_path("labels.npy"));
    images_refuse("stack.npy", keys, JF_ERROR_RECIPE, "data.dequantise", "images of bytes");
}

/* ---- bits per dimension ---- */

/* The judgement of a model that is the identity, since all of its weights are 0: its density is N(0, 1) of
 * each standardised element, whatever the device and the networks. */
static double judged_bits(const char *keys, double noise, dataset **data, data_fixture *f) {
    char content[900];
    snprintf(
        content, sizeof content,
        "[data]\nset = images\nimages = %s\ntask = class\n%s[model]\nnet = resnext\nblocks = 1\nkernels = "
        "2\ncardinality = 1\nresidual = 1\n[train]\nnoise = %g\n",
        test_path("levels"), keys, noise);
    *f = (data_fixture){0};
    CHECK_STATUS(jf_context_create(&f->ctx), JF_OK);
    if (recipe_parse(f->ctx, &f->recipe, content, "test.recipe") != JF_OK ||
        recipe_declare_all(f->recipe) != JF_OK || recipe_check(f->recipe) != JF_OK ||
        dataset_open(f->ctx, &f->set, f->recipe) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(f->ctx));
    *data = f->set;
    model_units units;
    model *m = NULL;
    judgement *j = NULL;
    CHECK_STATUS(train_units(f->ctx, &units, f->set, f->recipe), JF_OK);
    CHECK_STATUS(model_create(f->ctx, &m, f->recipe, &units, "cpu", 1, &(model_origin){.seed = 5}), JF_OK);
    m->d->kind->fill(m->d, m->params, 0, m->flow->params->total);
    if (judge_run(m, &j, ROWS, 1) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(f->ctx));
    double bits = j->bits_per_dim;
    CHECK(isnan(bits) == !strstr(j->json.chars, "\"bits_per_dim\""));
    CHECK(isnan(bits) == !strstr(j->table.chars, "bits per dimension"));
    judge_free(j);
    model_free(m);
    units_free(&units);
    return bits;
}

/* v is uniform over LEVELS of 256, so that a perfect model has log2(LEVELS) = 4 bits, and a Gaussian of the
 * same mean and deviation the divergence of a uniform from a normal distribution more: log2(2 pi e / 12)/2 =
 * 0.2546 bits. */
TEST(bits_per_dim__of_uniform_bytes_are_their_entropy_and_the_models_divergence) {
    data_fixture f;
    dataset *data;
    put_levels();
    double found = judged_bits("dequantise = uniform\n", 0, &data, &f);
    CHECK_NEAR(found, log2(LEVELS) + 0.5 * log2(2 * M_PI * M_E / 12), 0.01);
    data_close(&f);
}

/* The same through the logit: by integrating -log2 of the density of v over its range, with a slope taken by
 * differences. */
TEST(bits_per_dim__of_the_logit_are_those_of_the_bytes) {
    enum { STEPS = 2000 };
    data_fixture f;
    dataset *data;
    put_levels();
    double found = judged_bits("dequantise = uniform\nlogit = yes\n", 0, &data, &f), expected = 0;
    const double a = 0.01, m = log((1 - a) / a), step = 1e-4;
    for (int i = 0; i < STEPS; i++) {
        double v = LOWEST + (i + 0.5) * LEVELS / STEPS, x[3];
        for (int k = 0; k < 3; k++) {
            double p = a + (1 - 2 * a) * (v + (k - 1) * step) / 256;
            x[k] = (log(p / (1 - p)) + m) / (2 * m);
        }
        double z = (x[1] - data->mean[0]) / data->deviation[0];
        double density = exp(-0.5 * z * z) / sqrt(2 * M_PI) / data->deviation[0] * (x[2] - x[0]) / (2 * step);
        expected -= log2(density) / STEPS;
    }
    CHECK(expected > log2(LEVELS));
    CHECK_NEAR(found, expected, 0.01);
    data_close(&f);
}

TEST(bits_per_dim__are_not_told_of_other_noise) {
    data_fixture f;
    dataset *data;
    put_levels();
    CHECK(isnan(judged_bits("dequantise = uniform\n", 0.02, &data, &f)));
    data_close(&f);
    CHECK(isnan(judged_bits("dequantise = none\n", 0, &data, &f)));
    data_close(&f);
}
