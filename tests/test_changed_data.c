/* A run knows its data: it does not go on with others unless it is told to. */
#include "train_fixture.h"

#include "io/npy.h"
#include "train/run_folder.h"

#include <stdint.h>
#include <unistd.h>

enum { ROWS = 120 };

/* ---- a run on a table that was stopped ---- */

typedef struct change {
    const char *name;
    int rows;         /* of the table */
    int row;          /* that differs, -1: none */
    double by;        /* how much */
    int swapped;      /* the first two rows have changed places */
    const char *form; /* of numbers */
} change;
static const change as_it_was = {"nothing", ROWS, -1, 0, 0, "%.17g,%.17g\n"};

static void write_table(const change *c) {
    FILE *file = fopen(test_path("t.csv"), "w");
    CHECK(file != NULL);
    for (int i = 0; i < c->rows; i++) {
        int from = c->swapped && i < 2 ? 1 - i : i;
        fprintf(file, c->form, sin(from) + (from == c->row ? c->by : 0), cos(1.7 * from));
    }
    CHECK(fclose(file) == 0);
}

static const char *recipe_of_table(void) {
    static char content[700];
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 0\n[loss]\nobjective = plain\n" TINY_MODEL
             "[train]\nbatch = 20\nprecondition = 0\nanneal = 0\nepochs = 4\nks_every = 0\ncheckpoint = 0\n",
             test_path("t.csv"));
    return content;
}

static void stop_in_epoch_3(run *r, const jf_training *p) {
    if (p->epoch == 3 && p->batch == 2) r->stop = 1;
}

static void train_and_stop(void) {
    write_table(&as_it_was);
    run *r = run_open(recipe_of_table());
    r->watch = stop_in_epoch_3;
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_STOPPED);
    run_close(r);
}

static int same_file(const char *a, const char *b) {
    FILE *one = fopen(a, "rb"), *two = fopen(b, "rb");
    int same = one && two;
    for (int c = 0; same && c != EOF;) same = (c = getc(one)) == getc(two);
    if (one) fclose(one);
    if (two) fclose(two);
    return same;
}

/* ---- refusing and going on ---- */

TEST(changed_data__of_a_table_are_refused_and_nothing_is_written) {
    static const change changes[] = {{"half of the rows", ROWS / 2, -1, 0, 0, "%.17g,%.17g\n"},
                                     {"one row more", ROWS + 1, -1, 0, 0, "%.17g,%.17g\n"},
                                     {"one value in its last digits", ROWS, 77, 1e-15, 0, "%.17g,%.17g\n"},
                                     {"two rows in another order", ROWS, -1, 0, 1, "%.17g,%.17g\n"},
                                     {"all values, rounded", ROWS, -1, 0, 0, "%.3f,%.3f\n"}};
    const char *checkpoint = test_path("run/" RUN_CHECKPOINT), *history = test_path("run/" RUN_HISTORY);
    train_and_stop();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        write_table(&changes[i]);
        run *r = run_open(recipe_of_table());
        copy_file(r->ctx, checkpoint, test_path("checkpoint"));
        copy_file(r->ctx, history, test_path("history"));
        if (run_train(r, test_path("run"), 1) != JF_ERROR_ARGUMENT)
            test_fail(__FILE__, __LINE__, "%s: not refused: %s", changes[i].name, jf_context_error(r->ctx));
        CHECK_HAS(jf_context_error(r->ctx), "run/checkpoint.safetensors: the run to resume has other data: ");
        CHECK_HAS(jf_context_error(r->ctx), "108 rows and 12 held out, checksum ");
        CHECK_HAS(jf_context_error(r->ctx), "(changed_data)");
        CHECK(same_file(checkpoint, test_path("checkpoint")) && same_file(history, test_path("history")));
        run_close(r);
    }
}

TEST(changed_data__the_same_values_written_in_another_way_are_the_same_data) {
    static const change exponents = {"exponents", ROWS, -1, 0, 0, "%.16e,  %.20g\n"};
    train_and_stop();
    run *whole = run_open(recipe_of_table());
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    write_table(&exponents);
    run *r = run_open(recipe_of_table());
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    check_same_end(whole, test_path("whole"), r, test_path("run"));
    run_close(r);
    run_close(whole);
}

TEST(changed_data__are_gone_on_with_where_that_is_asked_for) {
    static const change grown = {"grown", 3 * ROWS, -1, 0, 0, "%.17g,%.17g\n"};
    train_and_stop();
    write_table(&grown);
    run *r = run_open(recipe_of_table());
    r->changed_data = 1;
    r->watch = stop_in_epoch_3;
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_STOPPED);
    CHECK_HAS(r->log, "324 rows and 36 held out, checksum ");
    CHECK_HAS(r->log, "; going on with these");
    CHECK(r->last.epoch == 3 && r->last.batch == 2 && r->reports == 2); /* the epoch began again */
    run_close(r);
    r = run_open(recipe_of_table()); /* these are its data now */
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    CHECK(r->last.epoch == 4 && isfinite(r->last.best));
    run_close(r);
}

TEST(changed_data__of_a_run_that_has_finished_are_refused_in_any_case) {
    static const change one_value = {"one value", ROWS, 3, 0.5, 0, "%.17g,%.17g\n"};
    write_table(&as_it_was);
    run *r = run_open(recipe_of_table());
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_OK);
    run_close(r);
    write_table(&one_value);
    r = run_open(recipe_of_table());
    r->changed_data = 1;
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(r->ctx), "the run has finished with other data");
    run_close(r);
}

/* ---- which data ---- */

TEST(dataset__every_set_of_a_file_tells_which_data_it_holds) {
    for (int i = 0; dataset_kinds[i]; i++)
        CHECK(!dataset_kinds[i]->fetch == !dataset_kinds[i]->add_to_checksum);
}

TEST(dataset__points_that_are_drawn_are_a_matter_of_the_recipe) {
    char identity[DATASET_MAX_IDENTITY] = "?";
    run *r = run_open(tiny);
    dataset_identity(r->data, identity);
    CHECK_TEXT(identity, "");
    run_close(r);
}

/* Of images and labels in .npy files. */
static void identity_of_images(char out[DATASET_MAX_IDENTITY], const double *pixels, const double *labels) {
    enum { IMAGES = 12, SIDE = 4 };
    char content[700];
    jf_context *ctx = NULL;
    dataset *data = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(npy_write(ctx, test_path("i.npy"), pixels, 3, (size_t[]){IMAGES, SIDE, SIDE}, 0), JF_OK);
    CHECK_STATUS(npy_write(ctx, test_path("l.npy"), labels, 1, (size_t[]){IMAGES}, 0), JF_OK);
    snprintf(content, sizeof content,
             "[data]\nset = images\nimages = %s\nlabels = %s\n"
             "[model]\nnet = resnext\nblocks = 1\nkernels = 8\ncardinality = 2\nresidual = 1\n",
             test_path("i.npy"), test_path("l.npy"));
    recipe *r = checked_recipe(ctx, content);
    if (dataset_open(ctx, &data, r) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    dataset_identity(data, out);
    dataset_free(data);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(dataset__one_pixel_or_one_label_makes_other_images) {
    enum { IMAGES = 12, SIDE = 4, PIXELS = IMAGES * SIDE * SIDE };
    double pixels[PIXELS], labels[IMAGES];
    char was[DATASET_MAX_IDENTITY], is[DATASET_MAX_IDENTITY];
    for (int i = 0; i < PIXELS; i++) pixels[i] = (i * 37 % 101) / 101.0;
    for (int i = 0; i < IMAGES; i++) labels[i] = i % 2;
    identity_of_images(was, pixels, labels);
    identity_of_images(is, pixels, labels);
    CHECK_TEXT(is, was);
    for (int i = 0; i < PIXELS; i += 17) {
        pixels[i] += 0.01;
        identity_of_images(is, pixels, labels);
        CHECK(strcmp(is, was) != 0);
        pixels[i] -= 0.01;
    }
    labels[5] = 0;
    identity_of_images(is, pixels, labels);
    CHECK(strcmp(is, was) != 0);
}

/* ---- arrays that change while they are in use ---- */

enum { LONG = 2400, WIDE = 1000 }; /* 19 MB: smaller arrays are read whole */

static const char *recipe_of_array(void) {
    static char content[700];
    snprintf(
        content, sizeof content,
        "[data]\nset = table\nfile = %s\ncolumns = 1,2\nx = 2\ny = 0\n[loss]\nobjective = plain\n" TINY_MODEL
        "[train]\nbatch = 20\nbatches = 30\nprecondition = 0\nanneal = 0\nepochs = 3\nks_every = "
        "0\ncheckpoint = 0\n",
        test_path("t.npy"));
    return content;
}

static void write_array(void) {
    jf_context *ctx;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double *values = calloc(LONG * WIDE, sizeof *values);
    CHECK(values);
    for (int i = 0; i < LONG * WIDE; i++) values[i] = i % 17 + i % 1013;
    CHECK_STATUS(npy_write(ctx, test_path("t.npy"), values, 2, (size_t[]){LONG, WIDE}, 0), JF_OK);
    free(values);
    jf_context_free(ctx);
}

static void shrink_in_epoch_2(run *r, const jf_training *p) {
    (void)r;
    if (p->epoch == 2 && p->batch == 1) CHECK(truncate(test_path("t.npy"), 4096) == 0);
}
static void rewrite_in_epoch_2(run *r, const jf_training *p) {
    (void)r;
    if (p->epoch != 2 || p->batch != 1) return;
    FILE *file = fopen(test_path("t.npy"), "r+b");
    CHECK(file && fseek(file, 1000, SEEK_SET) == 0 && fputc(1, file) != EOF && fclose(file) == 0);
}

TEST(changed_data__an_array_that_shrinks_or_is_rewritten_ends_the_run_with_a_sentence) {
    static void (*const changes[])(run *, const jf_training *) = {shrink_in_epoch_2, rewrite_in_epoch_2};
    double *ends[2];
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        write_array();
        run *r = run_open(recipe_of_array());
        r->watch = changes[i];
        CHECK_STATUS(run_train(r, test_path(i ? "rewritten" : "shrunk"), 0), JF_ERROR_IO);
        CHECK_HAS(jf_context_error(r->ctx), "t.npy: has changed while it was in use: found ");
        run_close(r);
        write_array();
        r = run_open(recipe_of_array()); /* the checkpoint is that of the epoch before */
        CHECK_STATUS(run_train(r, test_path(i ? "rewritten" : "shrunk"), 1), JF_OK);
        ends[i] = weights_of(r->m);
        count = r->m->parameters.total;
        run_close(r);
    }
    CHECK(memcmp(ends[0], ends[1], count * sizeof *ends[0]) == 0);
    free(ends[0]), free(ends[1]);
}
