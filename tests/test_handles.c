/* What the header says of lives, sizes and threads: handles keep their context, structs of other versions are
 * taken for what they are, and one context serves many threads. */
#include "test.h"

#include "jointflow/jointflow.h"

#include <pthread.h>

static const char tiny[] = "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 4\n"
                           "[train]\nbatch = 20\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 2\n"
                           "ks_every = 0\n";

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

static jf_model *trained(jf_context *ctx, uint64_t seed) {
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    jf_train_options o = {.size = sizeof o, .seed = seed, .threads = 1};
    CHECK_STATUS(jf_recipe_parse(&r, ctx, tiny, "tiny"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, &o), JF_OK);
    jf_recipe_free(r);
    return m;
}

/* ---- lives ---- */

TEST(handles__keep_their_context_alive) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, 1);
    jf_judgement *j = NULL;
    jf_recipe *r = NULL;
    jf_judge_options o = {.size = sizeof o, .points = 20};
    CHECK_STATUS(jf_judge(&j, m, &o), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, tiny, "tiny"), JF_OK);
    jf_context_free(ctx);
    double y[1] = {1}, x[2];
    CHECK_STATUS(jf_sample(m, 1, y, x, NULL, NULL, NULL), JF_OK);
    CHECK(jf_encode(m, 1, NULL, y, x, NULL, NULL) < 0); /* a failure has a place for its message */
    CHECK(jf_recipe_set(r, "nowhere", "1") < 0);
    jf_model_free(m);
    CHECK_HAS(jf_judgement_json(j), "nll");
    jf_judgement_free(j);
    jf_recipe_free(r);
}

TEST(handles__every_free_takes_null) {
    jf_context_free(NULL);
    jf_data_free(NULL);
    jf_recipe_free(NULL);
    jf_model_free(NULL);
    jf_judgement_free(NULL);
    jf_images_free(NULL);
    jf_image_conditions_free(NULL);
    jf_cascade_free(NULL);
    jf_cascade_result_free(NULL);
    jf_cascade_scores_free(NULL);
    jf_lines_free(NULL);
    jf_bench_result_free(NULL);
    jf_table_free(NULL);
    jf_text_free(NULL);
}

/* ---- versions ---- */

TEST(version__check_takes_this_one_and_no_later) {
    CHECK(jf_version_check(JF_VERSION_MAJOR, JF_VERSION_MINOR, JF_VERSION_PATCH));
    CHECK(!jf_version_check(JF_VERSION_MAJOR, JF_VERSION_MINOR, JF_VERSION_PATCH + 1));
    CHECK(!jf_version_check(JF_VERSION_MAJOR, JF_VERSION_MINOR + 1, 0));
    CHECK(!jf_version_check(JF_VERSION_MAJOR + 1, 0, 0));
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", JF_VERSION_MAJOR, JF_VERSION_MINOR, JF_VERSION_PATCH);
    CHECK_TEXT(jf_version(), text);
    CHECK_TEXT(JF_VERSION, text);
}

/* Of a program that was compiled with a later header. */
typedef struct later_options {
    jf_use_options known;
    int new_field;
} later_options;

TEST(sized__structs_of_earlier_and_later_versions_are_taken_for_what_they_are) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, 1);
    double y[1] = {1}, x[2], as_ever[2];
    jf_use_options o = {.size = sizeof o, .seed = 7};
    CHECK_STATUS(jf_sample(m, 1, y, as_ever, NULL, NULL, &o), JF_OK);
    o.temperature = 1e9; /* beyond the end of an earlier struct */
    o.size = offsetof(jf_use_options, standardised);
    CHECK_STATUS(jf_sample(m, 1, y, x, NULL, NULL, &o), JF_OK);
    CHECK(memcmp(x, as_ever, sizeof x) == 0);
    later_options later = {.known = {.size = sizeof later, .seed = 7}};
    CHECK_STATUS(jf_sample(m, 1, y, x, NULL, NULL, &later.known), JF_OK);
    CHECK(memcmp(x, as_ever, sizeof x) == 0);
    later.new_field = 1;
    CHECK_STATUS(jf_sample(m, 1, y, x, NULL, NULL, &later.known), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "does not know");
    o = (jf_use_options){.seed = 7};
    CHECK_STATUS(jf_sample(m, 1, y, x, NULL, NULL, &o), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "jf_use_options: its field size is 0, expected sizeof(jf_use_options)");
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(sized__results_leave_out_what_has_no_place_in_the_caller_s_struct) {
    jf_context *ctx = new_context();
    jf_model *m = trained(ctx, 1);
    double y[1] = {1}, x[2] = {0.1, 0.2}, log_p;
    jf_density_summary whole = {.size = sizeof whole}, earlier;
    memset(&earlier, 0x5a, sizeof earlier);
    earlier.size = offsetof(jf_density_summary, y_error);
    CHECK_STATUS(jf_density(m, 1, x, y, &log_p, &whole, NULL), JF_OK);
    CHECK_STATUS(jf_density(m, 1, x, y, &log_p, &earlier, NULL), JF_OK);
    CHECK(earlier.mean == whole.mean && earlier.size == offsetof(jf_density_summary, y_error));
    int untouched;
    memset(&untouched, 0x5a, sizeof untouched);
    CHECK(earlier.exact == untouched);
    jf_density_summary forgotten = {0};
    CHECK_STATUS(jf_density(m, 1, x, y, &log_p, &forgotten, NULL), JF_ERROR_ARGUMENT);
    jf_model_free(m);
    jf_context_free(ctx);
}

/* ---- threads ---- */

typedef struct worker {
    jf_context *ctx;
    const jf_model *shared;
    jf_data *data;
    uint64_t seed;
    double own[2], of_shared[2];
} worker;

static int count_calls(void *user, const jf_progress *p) {
    (void)user;
    return p->phase == NULL;
}

/* Makes, uses and frees handles of one context beside others, and fails in its own way. */
static void *work(void *arg) {
    worker *w = arg;
    char expected[64];
    double y[1] = {1};
    jf_use_options o = {.size = sizeof o, .seed = w->seed};
    jf_model *m = trained(w->ctx, w->seed);
    CHECK_STATUS(jf_sample(m, 1, y, w->own, NULL, NULL, &o), JF_OK);
    CHECK_STATUS(jf_sample(w->shared, 1, y, w->of_shared, NULL, NULL, &o), JF_OK);
    jf_recipe *r = NULL;
    jf_table_request q = {.size = sizeof q, .data = w->data, .bounds = "none"};
    CHECK_STATUS(jf_recipe_for_table(&r, w->ctx, &q), JF_OK);
    jf_recipe_free(r);
    jf_model_free(m);
    snprintf(expected, sizeof expected, "nothing-%d", (int)w->seed);
    CHECK(jf_model_load(&m, w->ctx, expected, NULL) < 0 || m == NULL);
    CHECK_HAS(jf_context_error(w->ctx), expected);
    return NULL;
}

TEST(handles__many_threads_train_sample_and_fail_on_one_context) {
    enum { THREADS = 4 };
    double values[40];
    for (int i = 0; i < 40; i++) values[i] = sin(i);
    jf_array x = {values, JF_DOUBLE, 40, 1, 0, 0};
    jf_context *ctx = new_context();
    jf_data *data = NULL;
    jf_context_set_progress(ctx, count_calls, NULL);
    CHECK_STATUS(jf_data_create(&data, ctx, &x, NULL), JF_OK);
    jf_model *shared = trained(ctx, 99);
    worker workers[THREADS], alone;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.ctx = ctx, .shared = shared, .data = data, .seed = (uint64_t)i};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        alone = (worker){.ctx = ctx, .shared = shared, .data = data, .seed = (uint64_t)i};
        work(&alone);
        CHECK(memcmp(alone.own, workers[i].own, sizeof alone.own) == 0);
        CHECK(memcmp(alone.of_shared, workers[i].of_shared, sizeof alone.of_shared) == 0);
    }
    jf_data_free(data);
    jf_model_free(shared);
    jf_context_free(ctx);
}
