/* A batch is the same whoever makes it: the host row by row, its threads beside a step, or a device that
 * holds the data. */
#include "counting_device.h"
#include "images_fixture.h"
#include "io/npy.h"
#include "train_fixture.h"

extern const device_kind device_ref;

/* ---- data sets to try ---- */

#define IMAGE_MODEL "[model]\nnet = resnext\nblocks = 1\nkernels = 2\ncardinality = 1\nresidual = 1\n"

static void put_table(const char *path, int rows) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < rows; i++) fprintf(file, "%.17g,%.17g,%d\n", sin(i), cos(1.7 * i) * 3, i * i % 5);
    CHECK(fclose(file) == 0);
}

static void put_stack(const char *path) {
    enum { ROWS = 60, SIDE = 4 };
    double values[ROWS * SIDE * SIDE];
    jf_context *ctx;
    for (int i = 0; i < ROWS * SIDE * SIDE; i++) values[i] = 0.5 + 0.5 * sin(0.37 * i);
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(npy_write(ctx, path, values, 3, (size_t[]){ROWS, SIDE, SIDE}, 1), JF_OK);
    jf_context_free(ctx);
}

/* Recipes whose data a device can hold; 0: no more. */
static int case_at(int i, char *content, size_t size) {
    static const struct {
        const char *data, *loss, *train;
        int images;
    } cases[] = {
        {"y = 1\ndiscrete = yes\nvalidation = 0.2\n", "", "", 0},
        {"y = 1\ndiscrete = yes\n", "", "noise = 0.05\ny_noise = 0.1\nrows = 90\n", 0},
        {"y = 1\nvalidation = 0.2\n", "", "y_noise = 0.3\n", 0},
        {"y = 1\n", "objective = plain\n", "noise = 0.05\n", 0},
        {"y = 0\n", "objective = plain\n", "", 0},
        {"task = class\n", "", "noise = 0.05\n", 1},
        {"task = class\n", "", "classes = mixed\n", 1},
        {"task = class\none_hot = yes\n", "", "noise = 0.05\n", 1},
        {"task = class\nlogit = yes\n", "", "y_noise = 0.2\n", 1},
        {"task = class\ndequantise = uniform\n", "", "", 1},
        {"task = class\ndequantise = uniform\nlogit = yes\n", "", "y_noise = 0.2\n", 1},
        {"task = superres\n", "", "noise = 0.05\n", 1},
        {"task = blur\n", "", "", 1},
        {"task = noise\n", "", "noise = 0.05\ny_noise = 0.1\n", 1},
        {"task = occlusion\n", "", "", 1},
        {"task = noise\n", "", "", 2},
        {"task = occlusion\n", "", "noise = 0.1\n", 2},
        {"task = superres\n", "", "", 2},
    };
    if (i >= (int)(sizeof cases / sizeof *cases)) return 0;
    char data[512];
    if (cases[i].images)
        snprintf(data, sizeof data, "set = images\nimages = %s\nvalidation = 0.2\n%s",
                 test_path(cases[i].images == 1 ? "idx" : "stack.npy"), cases[i].data);
    else
        snprintf(data, sizeof data, "set = table\nfile = %s\nx = 2\n%s", test_path("t.csv"), cases[i].data);
    snprintf(
        content, size,
        "[data]\n%s[loss]\n%s%s[train]\nbatch = 7\nprecondition = 1\nprecondition_batches = 2\nanneal = 3\n"
        "epochs = 2\n%s",
        data, cases[i].loss, cases[i].images ? IMAGE_MODEL : TINY_MODEL, cases[i].train);
    return 1;
}

static void put_data(void) {
    put_table(test_path("t.csv"), 150);
    put_idx_part("idx", "train", 0, 60, 4, 4, 3);
    put_stack(test_path("stack.npy"));
}

/* ---- batches of a run ---- */

typedef struct source {
    run *r;
    flow_run *passes;
    feed *feed;
    int batch;
} source;

static source source_open(const char *content, const device_kind *kind, int threads) {
    source s = {.r = run_open_on(content, kind, threads)};
    s.batch = recipe_int(s.r->recipe, "train.batch");
    CHECK_STATUS(flow_run_create(&s.passes, s.r->m->flow, s.r->m->params, NULL, s.batch, (run_use){0}),
                 JF_OK);
    CHECK_STATUS(feed_create(&s.feed, s.r->m, s.r->data, s.passes), JF_OK);
    return s;
}

static void source_close(source *s) {
    feed_free(s->feed);
    flow_run_free(s->passes);
    run_close(s->r);
}

/* Which batches to look at: of every phase and epoch, then those held out, then of all classes; 0: no more.
 */
static int request_at(const source *s, int i, batch_request *q) {
    enum { EPOCHS = 2, BATCHES = 4, PHASES = 3, HELD_OUT = 3 };
    const model *m = s->r->m;
    int of_training = PHASES * EPOCHS * BATCHES, extra = i - of_training;
    const phase *last = &phases[PHASES - 1];
    if (extra < 0) {
        int epoch = i / BATCHES % EPOCHS + 1;
        batch_key key = {&phases[i / BATCHES / EPOCHS], epoch, (uint32_t)(10 * epoch), i % BATCHES};
        if (key.phase == phases) key.phase_epoch = 1;
        *q = batch_of(m, s->r->data, &key, s->batch);
    } else if (extra < HELD_OUT && s->r->data->validation_rows > 0) {
        *q = batch_validation(m, &(batch_key){last, 1, 0, 0}, extra * s->batch, s->batch - extra);
    } else {
        *q = batch_mixed(m, last, s->batch);
        return extra <= HELD_OUT;
    }
    return 1;
}

static double *take(source *s, const batch_request *q) {
    size_t count = (size_t)q->n * (size_t)s->r->m->flow->dim;
    double *state = calloc(count, sizeof *state);
    CHECK(state != NULL);
    feed_take(s->feed, q);
    flow_run_get(s->passes, q->n, state);
    return state;
}

static void check_same(const char *content, const char *what, const batch_request *q, int dim,
                       const double *a, const double *b) {
    for (int i = 0; i < q->n * dim; i++)
        if (a[i] != b[i])
            test_fail(__FILE__, __LINE__,
                      "%s: share %g, held %d, class %d: sample %d, element %d is %.17g %s, not %.17g",
                      content, q->share, q->validation, q->class_index, i / dim, i % dim, b[i], what, a[i]);
}

TEST(batches__made_on_a_device_that_holds_the_data_have_the_bits_of_those_of_the_host) {
    char content[1024];
    put_data();
    for (int i = 0; case_at(i, content, sizeof content); i++) {
        source host = source_open(content, &device_ref, 1), held = source_open(content, &counting_device, 1);
        batch_request q;
        int seen = 0;
        for (int k = 0; request_at(&host, k, &q); k++, seen++) {
            double *expected = take(&host, &q);
            size_t before = strlen(counting_trace(held.r->m->d));
            double *found = take(&held, &q);
            CHECK_TEXT(counting_trace(held.r->m->d) + before,
                       "SR"); /* made there, and then read by this test */
            check_same(content, "on the device", &q, host.r->m->flow->dim, expected, found);
            free(expected), free(found);
        }
        CHECK(seen > 24);
        source_close(&host);
        source_close(&held);
    }
}

/* ---- beside a step ---- */

TEST(batches__begun_early_are_those_made_when_they_are_wanted) {
    char content[1024];
    put_data();
    for (int i = 0; case_at(i, content, sizeof content); i++) {
        source alone = source_open(content, device_kinds[0], 1),
               ahead = source_open(content, device_kinds[0], 4);
        batch_request q, next;
        request_at(&alone, 0, &next);
        for (int k = 0; q = next, request_at(&alone, k, &next); k++) {
            double *expected = take(&alone, &next);
            if (k % 3 == 1) feed_begin(ahead.feed, &next);
            if (k % 3 == 2) feed_begin(ahead.feed, &q); /* and then another one is wanted */
            double *found = take(&ahead, &next);
            check_same(content, "when begun early", &next, alone.r->m->flow->dim, expected, found);
            free(expected), free(found);
        }
        batch_request last;
        request_at(&alone, 10, &last);
        feed_begin(ahead.feed, &last); /* never taken */
        source_close(&alone);
        source_close(&ahead);
    }
}

/* Rows are what everything else is made of: they do not depend on how a batch is cut. */
TEST(batches__rows_are_the_same_however_a_batch_is_cut) {
    char content[1024];
    put_data();
    for (int i = 0; case_at(i, content, sizeof content); i++) {
        source s = source_open(content, &device_ref, 1);
        int dim = s.r->m->flow->dim;
        double *whole = calloc((size_t)(s.batch * dim), sizeof *whole),
               *row = calloc((size_t)dim, sizeof *row),
               *scratch = calloc(batch_scratch(s.r->data), sizeof *scratch);
        CHECK(whole && row && scratch);
        batch_request q;
        for (int k = 0; request_at(&s, k, &q); k++) {
            batch_rows(s.r->m, s.r->data, &q, 0, q.n, scratch, whole);
            for (int j = q.n - 1; j >= 0; j--) {
                batch_rows(s.r->m, s.r->data, &q, j, 1, scratch, row);
                CHECK(memcmp(row, whole + j * dim, (size_t)dim * sizeof *row) == 0);
            }
        }
        free(whole), free(row), free(scratch);
        source_close(&s);
    }
}

/* The device draws what the host would have: rows of N(0, 1), in the order of a state. */
TEST(batches__of_noise_are_drawn_by_the_device_with_the_bits_of_rows) {
    char content[1024];
    put_data();
    for (int i = 0; case_at(i, content, sizeof content); i++) {
        source s = source_open(content, &device_ref, 1);
        int dim = s.r->m->flow->dim;
        batch_request q = batch_of(s.r->m, s.r->data, &(batch_key){phases, 1, 3, 1}, s.batch);
        CHECK(q.share == 0);
        double *rows = calloc((size_t)(s.batch * dim), sizeof *rows), *found = take(&s, &q);
        CHECK(rows != NULL);
        batch_rows(s.r->m, NULL, &q, 0, q.n, NULL, rows);
        for (int j = 0; j < q.n; j++)
            for (int k = 0; k < dim; k++)
                CHECK(found[j * dim + k] == rows[j * dim + flow_row_element(s.r->m->flow, k)]);
        free(rows), free(found);
        source_close(&s);
    }
}
