/* Stored files: models give what the program that trained them made of them, and are written again byte for
 * byte; files of other times and places are refused. tests/golden/models/README.md says how they were made.
 */
#include "base/context.h"
#include "base/file.h"
#include "flow_fixture.h"
#include "io/safetensors.h"
#include "jointflow/jointflow.h"

static const char *const stored[] = {"vector", "image", "chain", "table"};
enum { STORED = sizeof stored / sizeof *stored };

static void path_of(char *to, size_t size, const char *name, const char *ending) {
    snprintf(to, size, JF_TESTS_DIR "/golden/models/%s.%s", name, ending);
}

static jf_model *load(jf_context *ctx, const char *name, const char *device_name) {
    char path[512];
    jf_model *m = NULL;
    path_of(path, sizeof path, name, "safetensors");
    if (jf_model_load(&m, ctx, path,
                      &(jf_load_options){.size = sizeof(jf_load_options), .device = device_name}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    return m;
}

static jf_table table(jf_context *ctx, const char *name, const char *ending) {
    char path[512];
    jf_table t = {0};
    path_of(path, sizeof path, name, ending);
    if (jf_table_read(&t, ctx, path) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    return t;
}

/* The rows that `sample --seed 3` gave, x and the y they were drawn for, and their log p(x | y). */
static void check_use(jf_context *ctx, const char *name, const char *device_name) {
    jf_model *m = load(ctx, name, device_name);
    jf_table rows = table(ctx, name, "rows.csv"), density = table(ctx, name, "log_p.csv");
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

TEST(stored_models__sample_and_density_give_what_they_gave) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < STORED; i++)
        FOR_EACH_DEVICE (d) check_use(ctx, stored[i], jf_device_name(d));
    jf_context_free(ctx);
}

static void check_written_again(jf_context *ctx, const char *path, int half) {
    char *before = NULL, *after = NULL;
    const char *again = test_path("again.safetensors");
    size_t sizes[2];
    jf_model *m = NULL;
    CHECK_STATUS(
        jf_model_load(&m, ctx, path, &(jf_load_options){.size = sizeof(jf_load_options), .device = "cpu"}),
        JF_OK);
    CHECK_STATUS(half ? jf_model_save_half(m, again) : jf_model_save(m, again), JF_OK);
    CHECK_STATUS(file_read(ctx, &before, &sizes[0], path, 1 << 24), JF_OK);
    CHECK_STATUS(file_read(ctx, &after, &sizes[1], again, 1 << 24), JF_OK);
    CHECK(sizes[0] == sizes[1] && memcmp(before, after, sizes[0]) == 0);
    free(before), free(after);
    jf_model_free(m);
}

/* Those that come with the program are in half precision. */
TEST(stored_models__are_written_again_byte_for_byte) {
    static const char *const shipped[] = {"crescents", "ring", "sectors", "rule-circle", "fashion-ten"};
    jf_context *ctx = NULL;
    char path[512];
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < STORED; i++) {
        path_of(path, sizeof path, stored[i], "safetensors");
        check_written_again(ctx, path, 0);
    }
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        snprintf(path, sizeof path, JF_TESTS_DIR "/../models/%s.safetensors", shipped[i]);
        check_written_again(ctx, path, 1);
    }
    jf_context_free(ctx);
}

/* ---- files of other times and places ---- */

/* Writes a stored model again with another format number and the same checksum. */
static const char *of_format(jf_context *ctx, char number) {
    char path[512], *bytes = NULL;
    size_t size = 0;
    path_of(path, sizeof path, "vector", "safetensors");
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, 1 << 24), JF_OK);
    char *note = strstr(bytes + 8, "\"jointflow.format\":\"7\"");
    CHECK(note != NULL);
    note[strlen("\"jointflow.format\":\"")] = number;
    CHECK_STATUS(file_write(ctx, test_path("other"), bytes, size), JF_OK);
    free(bytes);
    return test_path("other");
}

static void check_refused(jf_context *ctx, const char *path, const char *sentence) {
    jf_model *m = NULL;
    CHECK_STATUS(jf_model_load(&m, ctx, path, NULL), JF_ERROR_FORMAT);
    CHECK(m == NULL);
    CHECK_HAS(jf_context_error(ctx), path);
    CHECK_HAS(jf_context_error(ctx), sentence);
}

TEST(stored_models__files_of_other_versions_and_programs_are_refused_with_a_sentence) {
    static const float weight[2] = {1, 2};
    static const tensor one = {"weight", TENSOR_F32, 1, {2}, weight};
    static const tensor_note other = {"format", "pt"}, checkpoint = {"jointflow.checkpoint", "2"};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    check_refused(ctx, of_format(ctx, '8'), "a model of format 8, expected 7: a later jointflow wrote it");
    for (char earlier = '1'; earlier < '7'; earlier++)
        check_refused(ctx, of_format(ctx, earlier),
                      "expected 7: an earlier jointflow wrote it; train the model again with this version");
    CHECK_STATUS(tensors_write(ctx, test_path("foreign"), &one, 1, &other, 1), JF_OK);
    check_refused(
        ctx, test_path("foreign"),
        "a safetensors file, but not a jointflow model: \"jointflow.format\" is missing from its metadata");
    CHECK_STATUS(tensors_write(ctx, test_path("run"), &one, 1, &checkpoint, 1), JF_OK);
    check_refused(ctx, test_path("run"), "a checkpoint, expected a model: its run folder has that beside it");
    jf_context_free(ctx);
}
