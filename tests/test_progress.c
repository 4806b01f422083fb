/* One callback tells how far every long call is, and stops it: nothing of it is left, or, of a training, all
 * that it had. */
#include "test.h"

#include "jointflow/jointflow.h"

#include <unistd.h>

static const char small[] = "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 4\n"
                            "[train]\nbatch = 20\nbatches = 3\nprecondition = 0\nanneal = 0\nepochs = 4\n"
                            "ks_every = 1\ncheckpoint = 0\n";

/* What the callback was told, and when it stops. */
typedef struct watcher {
    int calls, of_training;
    const char *stop_in; /* a phase; NULL: never */
    int slow;            /* so that what follows an epoch is asked about, however fast it is */
    char last[64];
} watcher;

/* The callback is asked a few times a second only. */
static void wait_for_the_next_question(void) {
    usleep(60 * 1000);
}

static int watch(void *user, const jf_progress *p) {
    watcher *w = user;
    w->calls++;
    w->of_training += p->training != NULL;
    snprintf(w->last, sizeof w->last, "%s", p->phase);
    if (w->slow && p->training) wait_for_the_next_question();
    return w->stop_in && (strcmp(w->stop_in, "any") == 0 || strcmp(p->phase, w->stop_in) == 0);
}

static jf_context *new_context(watcher *w) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    jf_context_set_progress(ctx, watch, w);
    return ctx;
}

static jf_status train_in(jf_model **out, jf_context *ctx, const char *folder, int resume) {
    jf_recipe *r = NULL;
    CHECK_STATUS(jf_recipe_parse(&r, ctx, small, "small"), JF_OK);
    jf_train_options o = {.size = sizeof o, .folder = folder, .resume = resume, .threads = 1};
    jf_status status = jf_train(out, ctx, r, &o);
    jf_recipe_free(r);
    return status;
}

static void check_same_answers(const jf_model *whole, const jf_model *resumed) {
    double y[1] = {1}, a[2], b[2];
    CHECK_STATUS(jf_sample(whole, 1, y, a, NULL, NULL, NULL), JF_OK);
    CHECK_STATUS(jf_sample(resumed, 1, y, b, NULL, NULL, NULL), JF_OK);
    CHECK(memcmp(a, b, sizeof a) == 0);
}

TEST(progress__training_tells_where_it_stands_and_is_stopped_by_the_callback) {
    watcher w = {0};
    jf_context *ctx = new_context(&w);
    jf_model *whole = NULL, *m = NULL;
    CHECK_STATUS(train_in(&whole, ctx, NULL, 0), JF_OK);
    CHECK(w.of_training >= 4); /* at the end of every epoch */
    w.stop_in = "train";
    CHECK_STATUS(train_in(&m, ctx, test_path("run"), 0), JF_STOPPED);
    CHECK(m != NULL);
    jf_model_free(m);
    w.stop_in = NULL;
    CHECK_STATUS(train_in(&m, ctx, test_path("run"), 1), JF_OK);
    check_same_answers(whole, m);
    jf_model_free(m);
    jf_model_free(whole);
    jf_context_free(ctx);
}

/* An epoch whose histograms were not measured has not ended: the resumed run measures them. */
TEST(progress__a_training_that_is_stopped_while_it_measures_resumes_exactly) {
    watcher w = {0};
    jf_context *ctx = new_context(&w);
    jf_model *whole = NULL, *m = NULL;
    int stops = 0;
    CHECK_STATUS(train_in(&whole, ctx, test_path("whole"), 0), JF_OK);
    w.stop_in = "latent histograms", w.slow = 1;
    jf_status status = train_in(&m, ctx, test_path("run"), 0);
    for (; status == JF_STOPPED && stops < 100; stops++) {
        jf_model_free(m);
        w.stop_in = stops % 2 ? "latent histograms" : NULL;
        wait_for_the_next_question();
        status = train_in(&m, ctx, test_path("run"), 1);
    }
    CHECK_STATUS(status, JF_OK);
    CHECK(stops > 0);
    check_same_answers(whole, m);
    jf_model_free(m);
    jf_model_free(whole);
    jf_context_free(ctx);
}

/* ---- every long call ---- */

typedef struct world {
    jf_context *ctx;
    jf_model *m;
    double x[2], y[1];
} world;

static jf_status do_sample(world *d) {
    return jf_sample(d->m, 1, d->y, d->x, NULL, NULL, NULL);
}
static jf_status do_encode(world *d) {
    double z[2];
    return jf_encode(d->m, 1, d->x, d->y, z, NULL, NULL);
}
static jf_status do_density(world *d) {
    double log_p;
    return jf_density(d->m, 1, d->x, d->y, &log_p, NULL, NULL);
}
static jf_status do_judge(world *d) {
    jf_judgement *j = (jf_judgement *)d; /* anything but NULL */
    jf_judge_options o = {.size = sizeof o, .points = 100};
    jf_status status = jf_judge(&j, d->m, &o);
    CHECK(j == NULL);
    return status;
}
static jf_status do_open(world *d) {
    jf_recipe *r = NULL;
    jf_model *m = d->m;
    FILE *file = fopen(test_path("t.csv"), "w");
    CHECK(file != NULL);
    for (int i = 0; i < 100; i++) fprintf(file, "%g,%g\n", sin(i), cos(1.3 * i));
    CHECK(fclose(file) == 0);
    jf_table_request q = {.size = sizeof q, .x = test_path("t.csv")};
    jf_status status = jf_recipe_for_table(&r, d->ctx, &q);
    CHECK(r == NULL);
    (void)m;
    return status;
}
static jf_status do_lines(world *d) {
    jf_lines lines;
    jf_status status = jf_lines_along_z(&lines, d->m, 1, 3, 1, d->y, NULL);
    jf_lines_free(&lines);
    return status;
}
static jf_status do_figure(world *d) {
    jf_figure_options o = {.size = sizeof o, .folder = test_path("figure"), .threads = 1};
    return jf_figure(d->ctx, "4", &o);
}
static jf_status do_fetch(world *d) {
    const char *mirror = "file:///nowhere";
    char *lines = NULL;
    jf_fetch_options o = {
        .size = sizeof o, .folder = test_path("fetched"), .mirrors = &mirror, .mirror_count = 1};
    jf_status status = jf_data_fetch(&lines, d->ctx, "mnist", &o);
    CHECK(lines == NULL);
    return status;
}

static const struct {
    const char *name;
    jf_status (*call)(world *d);
} calls[] = {{"sampling", do_sample}, {"encoding", do_encode}, {"densities", do_density},
             {"judging", do_judge},   {"opening", do_open},    {"lines", do_lines},
             {"figures", do_figure},  {"fetching", do_fetch}};

TEST(progress__every_long_call_asks_and_stops) {
    watcher w = {0};
    world d = {.y = {1}};
    d.ctx = new_context(&w);
    CHECK_STATUS(train_in(&d.m, d.ctx, NULL, 0), JF_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        w = (watcher){.stop_in = "any"};
        wait_for_the_next_question();
        jf_status status = calls[i].call(&d);
        if (status != JF_STOPPED)
            test_fail(__FILE__, __LINE__, "%s: returned %d after %d questions: %s", calls[i].name, status,
                      w.calls, jf_context_error(d.ctx));
        if (w.calls != 1 || !w.last[0])
            test_fail(__FILE__, __LINE__, "%s: asked %d times", calls[i].name, w.calls);
        CHECK_HAS(jf_context_error(d.ctx), "stopped on request");
    }
    jf_model_free(d.m);
    jf_context_free(d.ctx);
}

/* Opening the data asks, too, so that each measurement is stopped by its name. */
TEST(progress__measuring_speed_is_stopped_in_training_and_in_sampling) {
    static const char *const parts[] = {"speed of training", "speed of sampling"};
    for (int i = 0; i < 4; i++) {
        watcher w = {.stop_in = parts[i % 2]};
        jf_context *ctx = new_context(&w);
        jf_recipe *r = NULL;
        jf_bench_result result = {.size = sizeof result};
        /* sampling comes after training has had its time */
        jf_bench_options o = {.size = sizeof o, .threads = 1, .seconds = i % 2 ? 0.5 : 5, .profile = i / 2};
        CHECK_STATUS(jf_recipe_parse(&r, ctx, small, "small"), JF_OK);
        CHECK_STATUS(jf_bench(&result, ctx, r, &o), JF_STOPPED);
        CHECK_TEXT(w.last, parts[i % 2]);
        CHECK_HAS(jf_context_error(ctx), parts[i % 2]);
        CHECK_HAS(jf_context_error(ctx), ": stopped on request");
        CHECK(result.steps == 0 && result.train_samples_per_s == 0 && !result.train_profile.parts);
        w.stop_in = NULL;
        o.seconds = 0.01;
        CHECK_STATUS(jf_bench(&result, ctx, r, &o), JF_OK); /* nothing of it is in the way of the next */
        CHECK(result.steps > 0 && result.sample_samples_per_s > 0);
        jf_bench_result_free(&result);
        jf_recipe_free(r);
        jf_context_free(ctx);
    }
}

/* ---- calls that the callback makes ---- */

static int sample_inside(void *user, const jf_progress *p) {
    double y[2] = {1, 1}, x[4];
    ++*(int *)user;
    if (p->training && p->training->model) {
        wait_for_the_next_question();
        CHECK_STATUS(jf_sample(p->training->model, 2, y, x, NULL, NULL, NULL), JF_OK);
    }
    return 0;
}

TEST(progress__a_call_inside_the_callback_does_not_call_it_again) {
    int depth = 0;
    watcher w = {0};
    jf_context *ctx = new_context(&w);
    jf_model *m = NULL;
    jf_context_set_progress(ctx, sample_inside, &depth);
    CHECK_STATUS(train_in(&m, ctx, NULL, 0), JF_OK);
    CHECK(depth > 0);
    jf_model_free(m);
    jf_context_free(ctx);
}
