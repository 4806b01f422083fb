/* One model used by many threads at once: each gets what it would get alone, bit for bit, and finds its own
 * message. */
#include "base/context.h"
#include "flow_fixture.h"
#include "jointflow/jointflow.h"
#include <limits.h>
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 3 };

/* Models of every kind of state, small enough for the thread sanitizer; and how many rows of each. */
static const struct {
    const char *file;
    int rows;
} models[] = {{"vector", 300}, {"image", 10}};
enum { MODELS = sizeof models / sizeof *models };

typedef struct answers {
    double *x, *y, *y_back, *z, *log_p, nll;
    jf_density_summary summary;
} answers;

typedef struct user {
    jf_context *ctx;
    const jf_model *m;
    int index, rows, rounds, with_judge;
    answers alone, together;
    pthread_barrier_t *begin;
    char fault[300];
} user;

static void answers_create(answers *a, const jf_model *m, int n) {
    size_t rows = (size_t)n, dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    a->x = new_numbers(rows * dim_x);
    a->y = new_numbers(rows * dim_y);
    a->y_back = new_numbers(rows * dim_y);
    a->z = new_numbers(rows * dim_x);
    a->log_p = new_numbers(rows);
    for (size_t i = 0; i < rows * dim_y; i++) a->y[i] = 0.1 * (double)(i % 7);
}

static void answers_free(answers *a) {
    free(a->x), free(a->y), free(a->y_back), free(a->z), free(a->log_p);
}

/* Asks for everything that has an answer in numbers. */
static jf_status ask(user *u, answers *a) {
    jf_use_options options = {.size = sizeof(jf_use_options), .seed = (uint64_t)u->index + 1};
    JF_TRY(jf_sample(u->m, u->rows, a->y, a->x, a->y_back, NULL, &options));
    JF_TRY(jf_encode(u->m, u->rows, a->x, a->y_back, a->z, a->y_back, &options));
    a->summary.size = sizeof a->summary;
    JF_TRY(jf_density(u->m, u->rows, a->x, a->y, a->log_p, &a->summary, &options));
    if (!u->with_judge) return JF_OK;
    jf_judgement *j = NULL;
    JF_TRY(
        jf_judge(&j, u->m,
                 &(jf_judge_options){.size = sizeof(jf_judge_options), .points = 200, .seed = options.seed}));
    const char *nll = strstr(jf_judgement_json(j), "\"nll\":");
    a->nll = nll ? strtod(nll + 6, NULL) : 0;
    jf_judgement_free(j);
    return JF_OK;
}

static int same(const double *a, const double *b, size_t count) {
    return memcmp(a, b, count * sizeof *a) == 0;
}

static int same_answers(const user *u) {
    const answers *a = &u->alone, *b = &u->together;
    size_t n = (size_t)u->rows, dim_x = (size_t)jf_model_dim_x(u->m), dim_y = (size_t)jf_model_dim_y(u->m);
    return same(a->x, b->x, n * dim_x) && same(a->y_back, b->y_back, n * dim_y) &&
           same(a->z, b->z, n * dim_x) && same(a->log_p, b->log_p, n) &&
           same(&a->summary.y_error, &b->summary.y_error, 1) && same(&a->nll, &b->nll, 1);
}

/* Of a fault of its own: each thread asks for another number of rows that there cannot be. */
static int finds_its_own_message(const user *u) {
    char expected[40];
    snprintf(expected, sizeof expected, "found %zu rows", (size_t)INT_MAX + 1 + (size_t)u->index);
    return jf_sample(u->m, (size_t)INT_MAX + 1 + (size_t)u->index, u->alone.y, u->together.x, NULL, NULL,
                     NULL) == JF_ERROR_ARGUMENT &&
           strstr(jf_context_error(u->ctx), expected) != NULL;
}

/* The test's own threads say what went wrong; the first thread reports it. */
static void *use(void *arg) {
    user *u = arg;
    pthread_barrier_wait(u->begin);
    for (int round = 0; round < u->rounds && !*u->fault; round++)
        if (ask(u, &u->together) != JF_OK)
            snprintf(u->fault, sizeof u->fault, "thread %d: %s", u->index, jf_context_error(u->ctx));
        else if (!same_answers(u))
            snprintf(u->fault, sizeof u->fault, "thread %d: other answers than alone", u->index);
        else if (!finds_its_own_message(u))
            snprintf(u->fault, sizeof u->fault, "thread %d found the message \"%.200s\"", u->index,
                     jf_context_error(u->ctx));
    return NULL;
}

static void check_model(const char *path, int rows, const char *device_name, int threads_of_model, int count,
                        int with_judge) {
    user users[THREADS] = {{0}};
    pthread_t threads[THREADS];
    pthread_barrier_t begin;
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_model_load(&m, ctx, path,
                               &(jf_load_options){.size = sizeof(jf_load_options),
                                                  .device = device_name,
                                                  .threads = threads_of_model}),
                 JF_OK);
    pthread_barrier_init(&begin, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        user *u = &users[i];
        *u = (user){.ctx = ctx,
                    .m = m,
                    .index = i,
                    .rows = rows,
                    .rounds = with_judge ? 1 : ROUNDS,
                    .with_judge = with_judge,
                    .begin = &begin};
        answers_create(&u->alone, m, u->rows);
        answers_create(&u->together, m, u->rows);
        CHECK_STATUS(ask(u, &u->alone), JF_OK);
    }
    for (int i = 0; i < count; i++) CHECK(pthread_create(&threads[i], NULL, use, &users[i]) == 0);
    for (int i = 0; i < count; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < count; i++) {
        if (*users[i].fault) test_fail(__FILE__, __LINE__, "%s: %s", path, users[i].fault);
        answers_free(&users[i].alone);
        answers_free(&users[i].together);
    }
    pthread_barrier_destroy(&begin);
    jf_model_free(m);
    jf_context_free(ctx);
}

TEST(one_model__many_threads_get_what_one_gets) {
    char path[512];
    for (int which = 0; which < MODELS; which++) {
        snprintf(path, sizeof path, JF_TESTS_DIR "/golden/models/%s.safetensors", models[which].file);
        FOR_EACH_DEVICE (d)
            for (int threads = 1; threads <= 3; threads++)
                check_model(path, models[which].rows, jf_device_name(d), threads, THREADS, 0);
    }
}

/* Of ten columns: of two each judgement takes seconds for the integral of the density. */
static const char *train_to_judge(void) {
    static const char content[] =
        "[data]\nset = gaussian_linear\n[model]\nblocks = 2\ndepth = 1\nwidth = 8\n"
        "[train]\nvalidation = 100\nbatch = 20\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\n";
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_model *m = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, content, "judged"), JF_OK);
    CHECK_STATUS(jf_train(&m, ctx, r, &(jf_train_options){.size = sizeof(jf_train_options), .threads = 1}),
                 JF_OK);
    CHECK_STATUS(jf_model_save(m, test_path("judged.safetensors")), JF_OK);
    jf_model_free(m);
    jf_recipe_free(r);
    jf_context_free(ctx);
    return test_path("judged.safetensors");
}

TEST(one_model__many_threads_judge_as_one_does) {
    check_model(train_to_judge(), 100, NULL, 2, 2, 1);
}
