/* Files of earlier versions: models load, sample and judge as they did, and are written again byte for byte;
 * runs go on. tests/golden/models/README.md tells how they were made. */
#include "base/context.h"
#include "base/file.h"
#include "flow_fixture.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "jointflow/jointflow.h"

static const char *const formats[] = {"format_1", "format_2", "format_3", "format_4", "format_5", "format_6"};
enum { FORMATS = sizeof formats / sizeof *formats };

static void path_of(char *to, size_t size, const char *format, const char *ending) {
    snprintf(to, size, JF_TESTS_DIR "/golden/models/%s.%s", format, ending);
}

static jf_model *load(jf_context *ctx, const char *format, const char *device_name) {
    char path[512];
    jf_model *m = NULL;
    path_of(path, sizeof path, format, "safetensors");
    if (jf_model_load(&m, ctx, path,
                      &(jf_load_options){.size = sizeof(jf_load_options), .device = device_name}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    return m;
}

static jf_table table(jf_context *ctx, const char *format, const char *ending) {
    char path[512];
    jf_table t = {0};
    path_of(path, sizeof path, format, ending);
    if (jf_table_read(&t, ctx, path) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    return t;
}

/* The rows that `sample --seed 3` gave, x and the y they were drawn for, and their log p(x | y). */
static void check_use(jf_context *ctx, const char *format, const char *device_name) {
    jf_model *m = load(ctx, format, device_name);
    jf_table rows = table(ctx, format, "rows.csv"), density = table(ctx, format, "log_p.csv");
    size_t n = rows.rows, dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    CHECK(n > 0 && rows.columns == dim_x + dim_y && density.rows == n && density.columns == 1);
    double *x = new_numbers(n * dim_x), *y = new_numbers(n * dim_y), *drawn = new_numbers(n * dim_x),
           *log_p = new_numbers(n);
    for (size_t i = 0; i < n; i++) {
        memcpy(x + i * dim_x, rows.values + i * rows.columns, sizeof *x * dim_x);
        memcpy(y + i * dim_y, rows.values + i * rows.columns + dim_x, sizeof *y * dim_y);
    }
    jf_use_options options = {.size = sizeof(jf_use_options), .seed = 3};
    CHECK_STATUS(jf_sample(m, (int)n, y, drawn, NULL, NULL, &options), JF_OK);
    CHECK_CLOSE(drawn, x, n * dim_x, 1e-5);
    CHECK_STATUS(jf_density(m, (int)n, x, y, log_p, NULL, &options), JF_OK);
    CHECK_CLOSE(log_p, density.values, n, 1e-5);
    free(x), free(y), free(drawn), free(log_p);
    jf_table_free(&rows);
    jf_table_free(&density);
    jf_model_free(m);
}

TEST(old_models__sample_and_density_give_what_they_gave) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < FORMATS; i++)
        FOR_EACH_DEVICE (d) check_use(ctx, formats[i], jf_device_name(d));
    jf_context_free(ctx);
}

static double member(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!value) test_fail(__FILE__, __LINE__, "the judgement has no \"%s\"", key);
    return json_number_value(value);
}

TEST(old_models__judging_gives_what_it_gave) {
    jf_context *ctx = NULL;
    char path[512], *content = NULL;
    size_t size = 0;
    json_t *before = NULL, *now = NULL;
    jf_judgement *j = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_model *m = load(ctx, formats[0], NULL);
    path_of(path, sizeof path, formats[0], "judge.json");
    CHECK_STATUS(file_read(ctx, &content, &size, path, 1 << 20), JF_OK);
    CHECK_STATUS(json_read(ctx, &before, content, size, path), JF_OK);
    CHECK_STATUS(
        jf_judge(&j, m, &(jf_judge_options){.size = sizeof(jf_judge_options), .points = 5000, .seed = 3}),
        JF_OK);
    const char *text_now = jf_judgement_json(j);
    CHECK_STATUS(json_read(ctx, &now, text_now, strlen(text_now), "judgement"), JF_OK);
    double error = member(before, "nll_standard_error");
    CHECK(error > 0 && error < 0.02);
    CHECK_NEAR(member(now, "nll"), member(before, "nll"), error);
    CHECK_NEAR(member(now, "y_error"), member(before, "y_error"), 1e-5);
    json_decref(before);
    json_decref(now);
    free(content);
    jf_judgement_free(j);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* What older programs wrote they also read: a chain that they know is written as they wrote it. */
TEST(old_models__are_written_again_byte_for_byte) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < FORMATS; i++) {
        char path[512], *before = NULL, *after = NULL;
        size_t sizes[2];
        jf_model *m = load(ctx, formats[i], NULL);
        path_of(path, sizeof path, formats[i], "safetensors");
        jf_status (*save)(const jf_model *, const char *) = i == 3 ? jf_model_save_half : jf_model_save;
        CHECK_STATUS(save(m, test_path("again.safetensors")), JF_OK);
        CHECK_STATUS(file_read(ctx, &before, &sizes[0], path, 1 << 24), JF_OK);
        CHECK_STATUS(file_read(ctx, &after, &sizes[1], test_path("again.safetensors"), 1 << 24), JF_OK);
        CHECK(sizes[0] == sizes[1] && memcmp(before, after, sizes[0]) == 0);
        free(before), free(after);
        jf_model_free(m);
    }
    jf_context_free(ctx);
}

/* ---- checkpoints ---- */

static void take_golden(jf_context *ctx, const char *ending, const char *name) {
    char path[512], *bytes = NULL;
    size_t size = 0;
    path_of(path, sizeof path, "checkpoint_1", ending);
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, 1 << 24), JF_OK);
    CHECK_STATUS(file_write(ctx, test_path(name), bytes, size), JF_OK);
    free(bytes);
}

static jf_model *train_checkpoint_1(jf_context *ctx, const char *folder, int resume) {
    char path[512];
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    path_of(path, sizeof path, "checkpoint_1", "ini");
    CHECK_STATUS(jf_recipe_load(&r, ctx, path), JF_OK);
    jf_train_options options = {.size = sizeof(jf_train_options),
                                .folder = test_path(folder),
                                .resume = resume,
                                .device = "ref",
                                .threads = 1};
    if (jf_train(&m, ctx, r, &options) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    jf_recipe_free(r);
    return m;
}

/* It was stopped in the middle of an epoch, by the last version without checksums. */
TEST(old_checkpoints__resume_to_the_end_of_a_run_that_never_stopped) {
    static const double x[] = {0.5, 0.25, -1, 0.5}, y[] = {0, 1};
    double log_p[2][2];
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(file_make_folder(ctx, test_path("stopped")), JF_OK);
    take_golden(ctx, "safetensors", "stopped/checkpoint.safetensors");
    take_golden(ctx, "history.csv", "stopped/history.csv");
    for (int resumed = 0; resumed < 2; resumed++) {
        jf_model *m = train_checkpoint_1(ctx, resumed ? "stopped" : "whole", resumed);
        CHECK_STATUS(jf_density(m, 2, x, y, log_p[resumed], NULL, NULL), JF_OK);
        jf_model_free(m);
    }
    CHECK_CLOSE(log_p[1], log_p[0], 2, 1e-9); /* another compiler may have rounded the first half */
    jf_context_free(ctx);
}

/* ---- files of other times and places ---- */

/* Writes the model of format 3 again with another format number and the same checksum. */
static const char *newer_model(jf_context *ctx) {
    char path[512], *bytes = NULL;
    size_t size = 0;
    path_of(path, sizeof path, "format_3", "safetensors");
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, 1 << 24), JF_OK);
    char *number = strstr(bytes + 8, "\"jointflow.format\":\"3\"");
    CHECK(number != NULL);
    number[strlen("\"jointflow.format\":\"")] = '7';
    CHECK_STATUS(file_write(ctx, test_path("newer"), bytes, size), JF_OK);
    free(bytes);
    return test_path("newer");
}

static void check_refused(jf_context *ctx, const char *path, const char *sentence) {
    jf_model *m = NULL;
    CHECK_STATUS(jf_model_load(&m, ctx, path, NULL), JF_ERROR_FORMAT);
    CHECK(m == NULL);
    CHECK_HAS(jf_context_error(ctx), path);
    CHECK_HAS(jf_context_error(ctx), sentence);
}

TEST(old_models__newer_and_foreign_files_are_refused_with_a_sentence) {
    static const float weight[2] = {1, 2};
    static const tensor one = {"weight", TENSOR_F32, 1, {2}, weight};
    static const tensor_note other = {"format", "pt"}, checkpoint = {"jointflow.checkpoint", "2"};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    check_refused(ctx, newer_model(ctx),
                  "a model of format 7, expected at most 6: a later jointflow wrote it");
    CHECK_STATUS(tensors_write(ctx, test_path("foreign"), &one, 1, &other, 1), JF_OK);
    check_refused(
        ctx, test_path("foreign"),
        "a safetensors file, but not a jointflow model: \"jointflow.format\" is missing from its metadata");
    CHECK_STATUS(tensors_write(ctx, test_path("run"), &one, 1, &checkpoint, 1), JF_OK);
    check_refused(ctx, test_path("run"), "a checkpoint, expected a model: its run folder has that beside it");
    jf_context_free(ctx);
}
