/* Where memory ends: a device that runs out of it after its buffers were made keeps that for `status`, and
 * everything else fails with a sentence. The limit is that of the process's address space. */
#include "device_contract.h"

#include "base/memory.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "jointflow/jointflow.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLACK = 256 << 10, TOO_MUCH = 64 << 20 }; /* bytes */

static rlim_t address_space(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Those whose memory is the process's own: a driver takes addresses as it likes. */
#define FOR_EACH_LIMITED_DEVICE(i)                                                                           \
    FOR_EACH_DEVICE (i)                                                                                      \
        if (device_kinds[i]->missing) {                                                                      \
        } else

static void skip_without_limits(void) {
#ifdef SANITIZED
    SKIP("sanitizers take more address space than any limit would leave");
#endif
    if (access("/proc/self/statm", R_OK) != 0) SKIP("there is no /proc to read the size of a process from");
}

/* So many bytes more than now, and then no more. */
static void limit_memory(size_t more) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = address_space() + more;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void lift_limit(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* ---- devices ---- */

/* One operation on buffers that are there already, with or without memory for anything else. */
typedef struct ordeal {
    lab *l;
    int limited;
    double *results;
    size_t count;
} ordeal;

static void begin(const ordeal *o) {
    if (!o->limited) return;
    limit_memory(SLACK);
    void *more = malloc(TOO_MUCH);
    CHECK(!more);
}

static void end(ordeal *o, const real *results, size_t count) {
    if (o->limited) lift_limit();
    o->results = lab_get(o->l, results, count);
    o->count = count;
}

static real *drawn(lab *l, size_t count) {
    double *values = draw_normal(count, 1, count);
    real *put = lab_put(l, values, count);
    free(values);
    return put;
}

static void conv_backward(ordeal *o) {
    conv_shape s = {
        .h = 2, .w = 2, .in = 256, .out = 256, .kernel = 3, .dilation = 1, .groups = 1, .y_channels = 256};
    int n = 24;
    size_t pixels = (size_t)(n * s.h * s.w), weights = 9 * 256 * 256;
    real *x = drawn(o->l, pixels * 256), *dy = drawn(o->l, pixels * 256), *w = drawn(o->l, weights);
    real *dx = lab_new(o->l, pixels * 256), *dw = lab_new(o->l, weights), *db = lab_new(o->l, 256);
    begin(o);
    o->l->d->kind->conv_backward(o->l->d, &s, n, dx, dw, db, dy, x, w);
    end(o, dw, weights);
}

static void norm_backward(ordeal *o) {
    norm_shape s = {.pixels = 256, .channels = 256, .per_element = 1, .slope = 0.5, .epsilon = 1e-3};
    int n = 24;
    size_t size = 256 * 256, whole = (size_t)n * size;
    real *x = drawn(o->l, whole), *dy = drawn(o->l, whole), *g = drawn(o->l, size);
    real *dx = lab_new(o->l, whole), *dg = lab_new(o->l, size), *db = lab_new(o->l, size);
    begin(o);
    o->l->d->kind->norm_backward(o->l->d, &s, n, dx, dg, db, dy, x, g);
    end(o, dg, size);
}

static void dense_backward(ordeal *o) {
    enum { N = 48, SIDE = 512 };
    size_t rows = N * SIDE, weights = SIDE * SIDE;
    real *x = drawn(o->l, rows), *y = drawn(o->l, rows), *dy = drawn(o->l, rows), *w = drawn(o->l, weights);
    real *dx = lab_new(o->l, rows), *dw = lab_new(o->l, weights), *db = lab_new(o->l, SIDE);
    begin(o);
    o->l->d->kind->dense_backward(o->l->d, dx, dw, db, dy, y, x, w, N, SIDE, SIDE, 0.5);
    end(o, dw, weights);
}

static void shared_law_backward(ordeal *o) {
    int n = 200, m = 4096;
    size_t whole = (size_t)n * (size_t)m, one = (size_t)m;
    law_batch c = {.law = {.id = law_scale}, .n = n, .rows = 1, .m = m};
    c.A = drawn(o->l, one);
    c.b = drawn(o->l, one + 1);
    real *v = drawn(o->l, whole), *dv = drawn(o->l, whole), *dlogdet = drawn(o->l, (size_t)n);
    real *dA = lab_new(o->l, one), *db = lab_new(o->l, one);
    CHECK(law_is_shared(c.law.id) && law_outputs(&c.law, m) == m);
    begin(o);
    o->l->d->kind->law_backward(o->l->d, &c, v, dv, dlogdet, dA, db, NULL);
    end(o, dA, one);
}

static void adam(ordeal *o) {
    enum { STATE = sizeof(step_state) / sizeof(double) };
    const device_kind *k = o->l->d->kind;
    size_t count = (size_t)5 << 20;
    step_state state = {.schedule = {.base = 1e-3, .factor = 1}};
    adam_step step = {.params = lab_new(o->l, count),
                      .grad = drawn(o->l, count),
                      .first = lab_new(o->l, count),
                      .second = lab_new(o->l, count),
                      .count = count,
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-8,
                      .clip = 10};
    CHECK_STATUS(k->alloc_scalars(o->l->d, &step.state, STATE), JF_OK);
    k->put_scalars(o->l->d, step.state, (const double *)&state, STATE);
    begin(o);
    k->adam(o->l->d, &step);
    end(o, step.params, count);
    k->get_scalars(o->l->d, (double *)&state, step.state, STATE);
    k->release_scalars(o->l->d, step.state);
    double *gradient = draw_normal(count, 1, count);
    if (k->status(o->l->d) == JF_OK) CHECK_NEAR(state.norm, norm_of(gradient, count), 1e-9 * state.norm);
    free(gradient);
}

/* The first failure stays, whatever comes after it, and nothing crashes. */
static void check_failure_stays(ordeal *o, jf_status failed) {
    const device_kind *k = o->l->d->kind;
    CHECK(failed < 0 && jf_context_error(o->l->ctx)[0]);
    real *p = NULL;
    CHECK_STATUS(k->alloc(o->l->d, &p, 100), JF_OK); /* there is memory again */
    k->fill(o->l->d, p, 1, 100);
    k->release(o->l->d, p);
    CHECK_STATUS(k->status(o->l->d), failed);
    CHECK_STATUS(k->status(o->l->d), failed);
}

static void close_failed(lab *l) {
    for (int i = 0; i < l->owned_count; i++) l->d->kind->release(l->d, l->owned[i]);
    device_close(l->d);
    jf_context_free(l->ctx);
    free(l);
}

/* Either the results are those with plenty of memory, or `status` tells that they are not. */
static void check_late_failure(const device_kind *kind, void (*operation)(ordeal *), const char *name) {
    ordeal plenty = {.l = lab_open(kind->name, 2)}, tight = {.l = lab_open(kind->name, 2), .limited = 1};
    operation(&tight); /* first: what the other would free is memory for this one */
    jf_status status = kind->status(tight.l->d);
    operation(&plenty);
    CHECK_STATUS(kind->status(plenty.l->d), JF_OK);
    if (status != JF_OK)
        check_failure_stays(&tight, status);
    else if (memcmp(tight.results, plenty.results, plenty.count * sizeof(double)) != 0)
        test_fail(__FILE__, __LINE__, "%s: %s without memory gives other results, and no failure", kind->name,
                  name);
    free(plenty.results), free(tight.results);
    close_failed(tight.l);
    lab_close(plenty.l);
}

TEST(device__an_operation_without_memory_is_right_or_its_failure_is_kept_for_status) {
    static const struct {
        const char *name;
        void (*run)(ordeal *o);
    } operations[] = {{"adam", adam},
                      {"law_backward", shared_law_backward},
                      {"dense_backward", dense_backward},
                      {"conv_backward", conv_backward},
                      {"norm_backward", norm_backward}};
    skip_without_limits();
    FOR_EACH_LIMITED_DEVICE (i)
        for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
            check_late_failure(device_kinds[i], operations[k].run, operations[k].name);
}

/* ---- the whole library ---- */

static const char vectors[] =
    "[data]\nset = crescents\n"
    "[model]\nblocks = 1\ndepth = 2\nwidth = 64\n"
    "[train]\nbatch = 1000\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\n";
static const char images[] =
    "[data]\nset = images\nimages = glyphs\nclasses = ring square\nlimit = 40\n"
    "[model]\nnet = resnext\nblocks = 1\nkernels = 8\ncardinality = 2\nresidual = 1\n"
    "[train]\nbatch = 20\nprecondition = 0\nanneal = 0\nepochs = 1\nvalidation = 20\n";

/* What becomes of a user's whole way with little memory. */
enum { SUCCEEDED, TOLD, FAILED_SILENTLY };

static jf_status train_and_judge(jf_context *ctx, const char *recipe_text, jf_recipe **r, jf_model **model,
                                 jf_judgement **judgement) {
    jf_status status = jf_recipe_parse(r, ctx, recipe_text, "little");
    if (status == JF_OK)
        status =
            jf_train(model, ctx, *r, &(jf_train_options){.size = sizeof(jf_train_options), .threads = 2});
    if (status == JF_OK)
        status = jf_judge(judgement, *model,
                          &(jf_judge_options){.size = sizeof(jf_judge_options), .points = 30, .inputs = 4});
    return status;
}

static int use_library(const char *recipe_text) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_model *model = NULL;
    jf_judgement *judgement = NULL;
    if (jf_context_create(&ctx) != JF_OK) return TOLD; /* there is no place for a sentence */
    jf_status status = train_and_judge(ctx, recipe_text, &r, &model, &judgement);
    int outcome = status == JF_OK ? SUCCEEDED : jf_context_error(ctx)[0] ? TOLD : FAILED_SILENTLY;
    jf_judgement_free(judgement);
    jf_model_free(model);
    jf_recipe_free(r);
    jf_context_free(ctx);
    return outcome;
}

static int use_library_with(const char *recipe_text, size_t memory) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        limit_memory(memory);
        _exit(use_library(recipe_text));
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status))
        test_fail(__FILE__, __LINE__, "killed by signal %d with %zu KiB", WTERMSIG(status), memory >> 10);
    if (WEXITSTATUS(status) > TOLD)
        test_fail(__FILE__, __LINE__, "status %d with %zu KiB", WEXITSTATUS(status), memory >> 10);
    return WEXITSTATUS(status);
}

/* From almost nothing to enough, in steps small enough to end in many places. */
static void check_library_tells(const char *recipe_text) {
    skip_without_limits();
    int told = 0;
    const size_t share = ALL_CASES ? 4 : 2;
    for (size_t memory = 64 << 10; use_library_with(recipe_text, memory) != SUCCEEDED;
         memory += memory / share) {
        CHECK(memory < (size_t)4 << 30);
        told++;
    }
    CHECK(told > 10);
}

TEST(memory__too_little_of_it_is_told_by_models_of_vectors) {
    check_library_tells(vectors);
}
TEST(memory__too_little_of_it_is_told_by_models_of_images) {
    check_library_tells(images);
}

/* ---- files that ask for more than they hold ---- */

/* A stored model with one line of its recipe changed, and the checksum of that. */
static const char *forge(jf_context *ctx, const char *name, const char *line, const char *forged_line) {
    static const char *const keys[] = {"jointflow.format", "recipe",      "recipe_name", "seed",
                                       "trained",          "class_names", "chain",       "columns"};
    enum { NOTES = sizeof keys / sizeof *keys };
    char path[512];
    snprintf(path, sizeof path, JF_TESTS_DIR "/golden/models/%s.safetensors", name);
    tensor_file *file = NULL;
    CHECK_STATUS(tensors_read(ctx, &file, path), JF_OK);
    tensor *tensors = calloc(tensors_count(file), sizeof *tensors);
    tensor_note notes[NOTES];
    for (size_t i = 0; i < tensors_count(file); i++) tensors[i] = *tensors_at(file, i);
    for (int i = 0; i < NOTES; i++) notes[i] = (tensor_note){keys[i], tensors_note(file, keys[i])};
    text forged = {0};
    const char *place = strstr(notes[1].value, line);
    CHECK(place != NULL);
    text_add(&forged, "%.*s%s%s", (int)(place - notes[1].value), notes[1].value, forged_line,
             place + strlen(line));
    notes[1].value = forged.chars;
    CHECK_STATUS(tensors_write_summed(ctx, test_path("forged"), tensors, tensors_count(file), notes, NOTES,
                                      TENSORS_CONTENT_SUM, file_replace),
                 JF_OK);
    text_free(&forged);
    free(tensors);
    tensors_free(file);
    return test_path("forged");
}

TEST(memory__of_a_model_file_is_taken_only_for_what_it_holds) {
    static const struct {
        const char *name, *line, *forged, *message;
    } cases[] = {
        {"vector", "\ndepth = 1\nwidth = 8\n", "\ndepth = 64\nwidth = 4096\n",
         "tensor \"layer.000.A.00.w\" is (1, 8), expected (1, 4096)"},
        {"image", "\nkernels = 2\n", "\nkernels = 4096\n", "tensor \"layer.000.A"},
        {"image", "\nblocks = 2\n", "\nblocks = 1000\n", "tensor \"layer.008.s\" is missing"},
    };
    enum { ENOUGH = 16 << 20 };
    skip_without_limits();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        FOR_EACH_LIMITED_DEVICE (k) {
            jf_context *ctx = NULL;
            jf_model *m = NULL;
            CHECK_STATUS(jf_context_create(&ctx), JF_OK);
            const char *path = forge(ctx, cases[i].name, cases[i].line, cases[i].forged);
            limit_memory(ENOUGH);
            jf_status status = jf_model_load(&m, ctx, path,
                                             &(jf_load_options){.size = sizeof(jf_load_options),
                                                                .device = device_kinds[k]->name,
                                                                .threads = 1});
            lift_limit();
            CHECK(m == NULL);
            CHECK_HAS(jf_context_error(ctx), cases[i].message);
            CHECK(status == JF_ERROR_SHAPE || status == JF_ERROR_FORMAT);
            jf_context_free(ctx);
        }
}

TEST(memory__of_a_resumed_run_is_not_taken_for_another_recipe) {
    enum { ENOUGH = 16 << 20 };
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    jf_train_options options = {.size = sizeof(jf_train_options), .folder = test_path("run"), .threads = 1};
    skip_without_limits();
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, vectors, "small"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, &options), JF_OK);
    jf_model_free(m);
    CHECK_STATUS(jf_recipe_set(r, "model.width", "4096"), JF_OK);
    CHECK_STATUS(jf_recipe_set(r, "model.depth", "64"), JF_OK);
    options.resume = 1;
    limit_memory(ENOUGH);
    jf_status status = jf_train(&m, ctx, r, &options);
    lift_limit();
    CHECK_HAS(jf_context_error(ctx),
              "the run to resume has another recipe: \"depth = 2\" there, \"depth = 64\" now");
    CHECK_STATUS(status, JF_ERROR_ARGUMENT);
    jf_recipe_free(r);
    jf_context_free(ctx);
}

/* Else a checkpoint that there is no memory for would pass for a damaged one. */
TEST(memory__that_json_does_not_get_is_not_told_as_a_mistake_in_it) {
    enum { VALUES = 1 << 19, ENOUGH = 8 << 20 };
    jf_context *ctx = NULL;
    json_t *root = NULL;
    char *chars = malloc(2 * VALUES + 1);
    skip_without_limits();
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < VALUES; i++) memcpy(chars + 2 * i, i ? ",1" : "[1", 2);
    chars[2 * VALUES] = ']';
    limit_memory(ENOUGH);
    jf_status status = json_read(ctx, &root, chars, 2 * VALUES + 1, "list");
    lift_limit();
    CHECK_STATUS(status, JF_ERROR_MEMORY);
    CHECK_HAS(jf_context_error(ctx), "list: not enough memory");
    CHECK_STATUS(json_read(ctx, &root, chars, 2 * VALUES + 1, "list"), JF_OK);
    json_decref(root);
    free(chars);
    jf_context_free(ctx);
}
