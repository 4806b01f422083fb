/* Classes as planes: y has one for each class instead of their number. */
#include "images_fixture.h"
#include "jointflow/jointflow.h"
#include "model/model.h"
#include "train_fixture.h"
#include "types/label_formulas.h"

enum { SIDE = 4, CLASSES = 3, PIXELS = SIDE * SIDE, DIM_Y = PIXELS * CLASSES };

static run *open_run(const char *more) {
    char content[768];
    put_idx_part("idx", "train", 0, 60, SIDE, SIDE, CLASSES);
    snprintf(content, sizeof content,
             "[data]\nset = images\nimages = %s\nvalidation = 0.2\ntask = class\none_hot = yes\n"
             "[model]\nnet = resnext\nblocks = 1\nkernels = 2\ncardinality = 1\nresidual = 1\n%s"
             "[train]\nbatch = 8\nprecondition = 0\nanneal = 0\nepochs = 1\npatience = 0\nks_every = 0\n",
             test_path("idx"), more);
    return run_open(content);
}

TEST(one_hot__label_is_what_its_planes_were_made_of) {
    const double labels[] = {-1.5, 0, 0.25, 1, 1.75, 2, 3.5};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        double back = 0, sum = 0;
        for (int k = 0; k < CLASSES; k++) {
            double plane = label_element(labels[i], CLASSES, k + 2 * CLASSES);
            back += k * plane;
            sum += plane;
        }
        CHECK_NEAR(back, labels[i], 1e-12);
        CHECK_NEAR(sum, 1, 1e-12);
        CHECK(label_element(labels[i], 0, 5) == labels[i]);
    }
    CHECK(label_element(1, CLASSES, 0) == 0 && label_element(1, CLASSES, 1) == 1 &&
          label_element(1, CLASSES, 2) == 0);
}

TEST(one_hot__rows_have_a_one_in_the_plane_of_their_class) {
    run *r = open_run("");
    const dataset *data = r->data;
    CHECK(data->dim_x == PIXELS && data->dim_y == DIM_Y && data->image.y_channels == CLASSES);
    size_t dim = (size_t)dataset_dim(data);
    double *row = calloc(dim, sizeof *row), sum = 0, square = 0;
    CHECK(row != NULL);
    for (int i = 0; i < (int)data->rows; i++) {
        row_sequence sequence = {{1, RNG_DATA, 0}, -1, 0};
        int class_index = data->kind->row_class(data, dataset_row_at(data, &sequence, (uint64_t)i));
        CHECK_STATUS(dataset_draw(data, sequence.key, (uint64_t)i, 1, -1, row), JF_OK);
        for (int e = 0; e < DIM_Y; e++) CHECK(row[PIXELS + e] == (e % CLASSES == class_index));
        CHECK(units_class_of(&r->m->units, row + PIXELS) == class_index);
        CHECK(units_label_of(&r->m->units, row + PIXELS) == class_index);
        dataset_standardise(data, 1, row);
        for (int e = 0; e < DIM_Y; e++) sum += row[PIXELS + e], square += row[PIXELS + e] * row[PIXELS + e];
    }
    CHECK_NEAR(sum / (double)data->rows / DIM_Y, 0, 0.1); /* classes are as good as equally likely here */
    CHECK_NEAR(square / (double)data->rows / DIM_Y, 1, 0.1);
    free(row);
    run_close(r);
}

/* Trained, saved, loaded, asked by a label, judged; whatever becomes of the condition. */
static void use_whole(const char *more) {
    run *r = open_run(more);
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    jf_judgement *j = NULL;
    double y[2 * DIM_Y], x[2 * PIXELS], between[DIM_Y];
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK_STATUS(model_save(r->m, test_path("m.safetensors")), JF_OK);
    run_close(r);
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_model_load(&m, ctx, test_path("m.safetensors"), NULL), JF_OK);
    CHECK(jf_model_classes(m) == CLASSES && jf_model_dim_y(m) == DIM_Y);
    CHECK_STATUS(jf_model_y_of_label(m, 2, y), JF_OK);
    for (int e = 0; e < DIM_Y; e++) CHECK(y[e] == (e % CLASSES == 2));
    CHECK_STATUS(jf_model_y_of_label(m, 0.5, between), JF_OK);
    for (int e = 0; e < DIM_Y; e++) CHECK(between[e] == (e % CLASSES == 2 ? 0 : 0.5));
    memcpy(y + DIM_Y, between, sizeof between);
    CHECK_STATUS(
        jf_sample(m, 2, y, x, NULL, NULL, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1}),
        JF_OK);
    CHECK_STATUS(
        jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .points = 12, .inputs = 6}),
        JF_OK);
    CHECK_HAS(jf_judgement_json(j), "\"recognised\"");
    CHECK_HAS(jf_judgement_json(j), "\"argmax\": {\"share\": ");
    jf_judgement_free(j);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(one_hot__model_is_trained_saved_asked_by_label_and_judged) {
    use_whole("");
    use_whole("condition = fixed\n");
}

TEST(one_hot__of_one_class_is_refused) {
    jf_context *ctx = NULL;
    recipe *r = NULL;
    dataset *data = NULL;
    char content[512];
    put_idx_part("idx", "train", 0, 60, SIDE, SIDE, CLASSES);
    snprintf(content, sizeof content,
             "[data]\nset = images\nimages = %s\ntask = class\none_hot = yes\nclasses = 1\n",
             test_path("idx"));
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(recipe_parse(ctx, &r, content, "test.recipe"), JF_OK);
    CHECK_STATUS(recipe_declare_all(r), JF_OK);
    CHECK_STATUS(dataset_open(ctx, &data, r), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx),
              "data.one_hot: a plane for each of 1 class, expected at least two classes");
    recipe_free(r);
    jf_context_free(ctx);
}
