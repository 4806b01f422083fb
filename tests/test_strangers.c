/* Model files that strangers wrote: what opening them takes, and what their strings may hold. */
#include "flow_fixture.h"

#include "base/file.h"
#include "base/shell.h"
#include "io/recipe_private.h"
#include "io/safetensors.h"
#include "jointflow/jointflow.h"
#include "model/model.h"
#include "train/train.h"
#include "train_fixture.h"

#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const keys[] = {"jointflow.format", "recipe",      "recipe_name", "seed",
                                   "trained",          "class_names", "chain",       "columns"};
enum { NOTES = sizeof keys / sizeof *keys };

/* The file at `from` with one note changed, a tensor of a layer that no flow has, and the checksum of that.
 */
static void forge(jf_context *ctx, const char *from, const char *to, const char *key, const char *value) {
    tensor_file *file = NULL;
    float number = 0;
    tensor_note notes[NOTES];
    size_t used = 0;
    CHECK_STATUS(tensors_read(ctx, &file, from), JF_OK);
    size_t count = tensors_count(file);
    tensor *tensors = calloc(count + 1, sizeof *tensors);
    for (size_t i = 0; i < count; i++) tensors[i] = *tensors_at(file, i);
    tensors[count] = (tensor){"layer.99999.x", TENSOR_F32, 1, {1}, &number};
    for (int i = 0; i < NOTES; i++) {
        const char *found = strcmp(keys[i], key) == 0 ? value : tensors_note(file, keys[i]);
        if (found) notes[used++] = (tensor_note){keys[i], found};
    }
    CHECK_STATUS(
        tensors_write_summed(ctx, to, tensors, count + 1, notes, used, TENSORS_CONTENT_SUM, file_replace),
        JF_OK);
    free(tensors);
    tensors_free(file);
}

/* ---- memory ---- */

/* Bytes of the process; 0: not known. */
static rlim_t address_space(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (file && fscanf(file, "%lu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit_to(rlim_t bytes) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = bytes ? bytes : limit.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* What is promised: 64 MB and eight times the file. */
static void open_within_limits(const char *path, const char *on, const char *what) {
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    size_t size = 0;
    char *bytes = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, SIZE_MAX / 2), JF_OK);
    free(bytes);
    limit_to(address_space() + ((rlim_t)64 << 20) + 8 * (rlim_t)size);
    jf_load_options options = {.size = sizeof options, .device = on, .threads = 1};
    jf_status status = jf_model_load(&m, ctx, path, &options);
    limit_to(0);
    if (status == JF_ERROR_MEMORY) test_fail(__FILE__, __LINE__, "%s: %s", what, jf_context_error(ctx));
    jf_model_free(m);
    jf_context_free(ctx);
}

/* Opens the model once for each key of whole numbers that its recipe has, with that at its largest. */
static void open_with_each_key(jf_context *ctx, const char *path, const char *on) {
    const char *forged = test_path("forged.safetensors");
    tensor_file *file = NULL;
    recipe *r = NULL;
    int opened = 0;
    CHECK_STATUS(tensors_read(ctx, &file, path), JF_OK);
    CHECK_STATUS(recipe_parse(ctx, &r, tensors_note(file, "recipe"), "model"), JF_OK);
    CHECK_STATUS(recipe_declare_all(r), JF_OK);
    for (size_t i = 0; i < r->table_count; i++)
        for (const recipe_key *k = r->tables[i].keys; k->name; k++) {
            char dotted[80], value[32];
            recipe *large = NULL;
            text whole = {0};
            if (k->type != KEY_INT || !recipe_table_applies(r, &r->tables[i])) continue;
            snprintf(dotted, sizeof dotted, "%s.%s", k->section, k->name);
            snprintf(value, sizeof value, "%.0f", k->lo == k->hi ? INT_MAX : k->hi);
            CHECK_STATUS(recipe_clone(&large, r), JF_OK);
            CHECK_STATUS(recipe_set(large, dotted, value), JF_OK);
            recipe_write(large, &whole, 0);
            forge(ctx, path, forged, "recipe", whole.chars);
            open_within_limits(forged, on, dotted);
            text_free(&whole);
            recipe_free(large);
            opened++;
        }
    CHECK(opened >= 8);
    recipe_free(r);
    tensors_free(file);
}

#define IMAGES "[data]\nset = images\nimages = glyphs\ntask = superres\n"
#define DENSE  "[model]\nnet = dense\nblocks = 1\ndepth = 1\nwidth = 2\n"

/* Models of many elements with few weights. */
static const struct {
    const char *recipe;
    int dim_x, dim_y;
    image_size image;
} wide[] = {
    {IMAGES
     "[model]\nnet = resnext\nblocks = 2\nkernels = 2\ncardinality = 1\nresidual = 1\nnorm = channel\n",
     128 * 128,
     128 * 128,
     {128, 128, 1, 1}},
    {IMAGES DENSE, 45 * 45, 45 * 45, {45, 45, 1, 1}},
    {IMAGES DENSE "condition = flow\n", 45 * 45, 45 * 45, {45, 45, 1, 1}},
    {"[data]\nset = table\nfile = x.csv\nx = 2\ny = 10000\n" DENSE
     "condition = fixed\nembed = conv2d\nembed_shape = 100x100\nembed_channels = 2\n",
     2,
     10000,
     {0}},
};

static void save_wide(jf_context *ctx, size_t i, const char *path) {
    size_t dim = (size_t)(wide[i].dim_x + wide[i].dim_y);
    double *mean = calloc(dim, sizeof *mean), *deviation = malloc(dim * sizeof *deviation);
    for (size_t k = 0; k < dim; k++) deviation[k] = 1;
    model_units units = {.dim_x = wide[i].dim_x,
                         .dim_y = wide[i].dim_y,
                         .image = wide[i].image,
                         .mean = mean,
                         .deviation = deviation};
    if (units.image.h == 0)
        CHECK_STATUS(condition_range_alloc(ctx, &units.condition_range, units.dim_y), JF_OK);
    recipe *r = checked_recipe(ctx, wide[i].recipe);
    model *m = NULL;
    if (model_create(ctx, &m, r, &units, "cpu", 1, &(model_origin){.seed = 1}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    CHECK_STATUS(model_save(m, path), JF_OK);
    model_free(m);
    recipe_free(r);
    condition_range_free(units.condition_range);
    free(mean);
    free(deviation);
}

static void skip_without_limits(void) {
#ifdef SANITIZED
    SKIP("sanitizers take more address space than any limit would leave");
#endif
    if (address_space() == 0) SKIP("there is no /proc to read the size of a process from");
}

TEST(strangers__a_model_file_takes_memory_for_what_it_holds_whatever_its_recipe_says) {
    static const char *const devices[] = {"cpu", "ref"}, *const stored[] = {"vector", "image", "chain",
                                                                            "table"};
    jf_context *ctx = NULL;
    char path[512];
    skip_without_limits();
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
            snprintf(path, sizeof path, JF_TESTS_DIR "/golden/models/%s.safetensors", stored[i]);
            open_with_each_key(ctx, path, devices[d]);
        }
        for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
            save_wide(ctx, i, test_path("wide.safetensors"));
            snprintf(path, sizeof path, "%s", test_path("wide.safetensors"));
            open_with_each_key(ctx, path, devices[d]);
        }
    }
    jf_context_free(ctx);
}

/* Headers of values that take far more memory than characters. */
TEST(strangers__a_header_of_many_small_values_takes_memory_for_what_the_file_holds) {
    static const struct {
        const char *first, *next, *last;
    } headers[] = {{"{\"a\":[{}", ",{}", "]}"},
                   {"{\"a\":[[]", ",[]", "]}"},
                   {"{\"a\":[\"\"", ",\"\"", "]}"},
                   {"{\"a\":[1", ",1", "]}"},
                   {"{\"a\":[{\"b\":1}", ",{\"b\":1}", "]}"},
                   {"{\"a\":[[[[]]]", ",[[[]]]", "]}"}};
    enum { LARGEST = 4 << 20 };
    jf_context *ctx = NULL;
    skip_without_limits();
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        for (size_t most = 1 << 20; most <= LARGEST; most *= 2) {
            text file = {0};
            text_add_chars(&file, "\0\0\0\0\0\0\0\0", 8);
            text_add(&file, "%s", headers[i].first);
            while (file.length < most) text_add(&file, "%s", headers[i].next);
            text_add(&file, "%s", headers[i].last);
            uint64_t length = file.length - 8;
            memcpy(file.chars, &length, sizeof length);
            CHECK_STATUS(file_write(ctx, test_path("m"), file.chars, file.length), JF_OK);
            text_free(&file);
            open_within_limits(test_path("m"), "cpu", headers[i].next);
        }
    jf_context_free(ctx);
}

/* ---- strings ---- */

TEST(strangers__words_in_commands_come_back_from_a_shell) {
    static const char *const words[] = {"run",  "",      "it's", "a \"b\" $HOME `id`; rm *",
                                        "-x",   "--y=1", "'",    "Gr\303\266\303\237e",
                                        "a\\b", "~",     "#a"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        text command = {0};
        char found[256] = "", expected[256];
        text_add(&command, "printf %%s ");
        shell_add_path(&command, words[i]);
        FILE *shell = popen(command.chars, "r");
        CHECK(shell != NULL);
        found[fread(found, 1, sizeof found - 1, shell)] = 0;
        CHECK(pclose(shell) == 0);
        snprintf(expected, sizeof expected, "%s%s", words[i][0] == '-' ? "./" : "", words[i]);
        CHECK_TEXT(found, expected);
        text_free(&command);
    }
}

TEST(strangers__strings_of_a_model_file_are_shown_as_they_are_or_refused) {
    static const char *const bad[] = {"\33[2J",     "a\rb",         "a\tb",        "\177",
                                      "\302\2331m", "\342\200\256", "\342\201\246"};
    static const char *const good[] = {"", "ein Gr\303\266\303\237enma\303\237", "\346\227\245\346\234\254",
                                       "\342\200\223 \342\201\204"};
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t k = 2; k < NOTES; k++) {
            forge(ctx, JF_TESTS_DIR "/golden/models/table.safetensors", test_path("m"), keys[k], bad[i]);
            CHECK_STATUS(jf_model_load(&m, ctx, test_path("m"), NULL), JF_ERROR_FORMAT);
            CHECK_HAS(jf_context_error(ctx), "expected text without control characters");
        }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        forge(ctx, JF_TESTS_DIR "/golden/models/table.safetensors", test_path("m"), "trained", good[i]);
        CHECK_STATUS(jf_model_load(&m, ctx, test_path("m"), NULL), JF_OK);
        jf_model_free(m);
    }
    jf_fail(ctx, JF_ERROR_IO, "%s", "a\33[2J\302\233b\342\200\256c\303\266");
    CHECK_TEXT(jf_context_error(ctx), "a?[2J??b???c\303\266");
    jf_context_free(ctx);
}

TEST(strangers__a_seed_that_is_no_whole_number_in_range_is_refused) {
    static const char *const bad[] = {"", "-1", "+1", " 1", "1.9", "18446744073709551616", "1 ", "abc"};
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        forge(ctx, JF_TESTS_DIR "/golden/models/table.safetensors", test_path("m"), "seed", bad[i]);
        CHECK_STATUS(jf_model_load(&m, ctx, test_path("m"), NULL), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(ctx), "expected a whole number from 0 to 18446744073709551615");
    }
    forge(ctx, JF_TESTS_DIR "/golden/models/table.safetensors", test_path("m"), "seed",
          "18446744073709551615");
    CHECK_STATUS(jf_model_load(&m, ctx, test_path("m"), NULL), JF_OK);
    jf_model_free(m);
    jf_context_free(ctx);
}
