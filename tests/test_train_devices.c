/* Runs that are stopped on one device and go on: on the same one to the same bits, on another one with a
 * sentence. All devices that the machine has, in all precisions that they have. */
#include "flow_fixture.h"
#include "train_fixture.h"

extern const device_kind device_cpu, device_ref;

#define STEADY                                                                                               \
    "batch = 8\nprecondition = 1\nprecondition_batches = 2\nanneal = 1\nepochs = 3\ncheckpoint = 0\n"

/* Contents end in [train]. */
#define VECTORS(rate)                                                                                        \
    "[data]\nset = crescents\n" TINY_MODEL "[train]\nbatches = 4\nks_every = 0\n" STEADY "rate = " rate "\n"
static const char vectors[] = VECTORS("1e-3");
static const char images[] =
    "[data]\nset = images\nimages = glyphs\nlimit = 40\ntask = superres\ndown = 1\n[model]\nnet = resnext\n"
    "blocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ngain = 0.3\nsqueeze = none\n"
    "[train]\nnoise = 0.02\nvalidation = 20\nks_every = 0\n" STEADY;
static const char *const contents[] = {vectors, images};
enum { CONTENTS = sizeof contents / sizeof *contents };

static run *open_at(const char *content, const device_kind *kind, const char *products) {
    char all[1000];
    snprintf(all, sizeof all, "%sprecision = %s\n", content, products);
    return run_open_on(all, kind, 1);
}

/* In the middle of an epoch, a batch later for each time before. */
static void stop_in_second_epoch(run *r, const jf_training *p) {
    if (strcmp(p->phase, "train") == 0 && p->epoch == 2 && p->batch == 2 + r->done) r->stop = 1;
}

static void train_and_stop(const char *content, const device_kind *kind, const char *products,
                           const char *folder) {
    run *r = open_at(content, kind, products);
    r->watch = stop_in_second_epoch;
    CHECK_STATUS(run_train(r, folder, 0), JF_STOPPED);
    run_close(r);
}

static double last_loss(const run *r) {
    return r->last.terms[TERM_TOTAL].value;
}

/* ---- on the same device ---- */

static void check_same_device(const char *content, const device_kind *kind, precision in, const char *name) {
    char folders[3][48];
    for (int k = 0; k < 3; k++) snprintf(folders[k], sizeof folders[k], "%s.%d", name, k);
    run *whole = open_at(content, kind, precision_names[in]),
        *again = open_at(content, kind, precision_names[in]),
        *resumed = open_at(content, kind, precision_names[in]);
    CHECK_STATUS(run_train(whole, test_path(folders[0]), 0), JF_OK);
    CHECK_STATUS(run_train(again, test_path(folders[1]), 0), JF_OK);
    check_same_end(whole, test_path(folders[0]), again, test_path(folders[1]));
    train_and_stop(content, kind, precision_names[in], test_path(folders[2]));
    CHECK_STATUS(run_train(resumed, test_path(folders[2]), 1), JF_OK);
    check_same_end(whole, test_path(folders[0]), resumed, test_path(folders[2]));
    CHECK(strstr(resumed->log, "goes on") == NULL);
    run_close(whole), run_close(again), run_close(resumed);
}

TEST(train__on_every_device_runs_are_repeated_and_resumed_to_the_same_bits) {
    FOR_EACH_DEVICE (d)
        for (int i = 0; i < CONTENTS; i++)
            for (int in = 0; in < PRECISION_COUNT; in++) {
                char name[32];
                snprintf(name, sizeof name, "%s.%d.%s", device_kinds[d]->name, i, precision_names[in]);
                if (device_has_precision(device_kinds[d], (precision)in))
                    check_same_device(contents[i], device_kinds[d], (precision)in, name);
            }
}

/* ---- on another one ---- */

/* Whatever is rounded differently, nothing was lost on the way: the loss is that of a run on one device. */
static void check_moved(const char *content, const device_kind *from, const device_kind *to,
                        const char *folder) {
    char expected[160];
    run *whole = open_at(content, to, "fp32"), *resumed = open_at(content, to, "fp32");
    CHECK_STATUS(run_train(whole, NULL, 0), JF_OK);
    train_and_stop(content, from, "fp32", folder);
    CHECK_STATUS(run_train(resumed, folder, 1), JF_OK);
    snprintf(expected, sizeof expected,
             "checkpoint.safetensors: goes on on %s what was trained on %s until here: not bit for bit",
             to->name, from->name);
    CHECK_HAS(resumed->log, expected);
    CHECK(resumed->last.step == whole->last.step);
    CHECK_NEAR(last_loss(resumed), last_loss(whole), 1e-3 * (1 + fabs(last_loss(whole))));
    run_close(whole), run_close(resumed);
}

TEST(train__goes_on_on_another_device_and_says_so) {
    FOR_EACH_DEVICE (from)
        FOR_EACH_DEVICE (to)
            for (int i = 0; i < CONTENTS && from != to; i++) {
                char folder[64];
                snprintf(folder, sizeof folder, "%s.%s.%d", device_kinds[from]->name, device_kinds[to]->name,
                         i);
                check_moved(contents[i], device_kinds[from], device_kinds[to], test_path(folder));
            }
}

/* And back, from a checkpoint that has been on both. */
TEST(train__goes_on_on_a_device_that_it_came_from) {
    const device_kind *way[] = {&device_cpu, &device_ref, &device_cpu};
    for (int i = 0; i < 3; i++) {
        run *r = open_at(vectors, way[i], "auto");
        if (i < 2) r->watch = stop_in_second_epoch;
        r->done = i;
        CHECK_STATUS(run_train(r, test_path("run"), i > 0), i < 2 ? JF_STOPPED : JF_OK);
        CHECK((strstr(r->log, "goes on on") != NULL) == (i > 0));
        run_close(r);
    }
}

/* Doubles may hold what no float can. */
static void stop_with_a_huge_weight(run *r, const jf_training *p) {
    const double huge = 1e200;
    stop_in_second_epoch(r, p);
    if (r->stop) r->m->d->kind->put(r->m->d, r->m->params, &huge, 1);
}

TEST(train__numbers_that_the_other_device_cannot_hold_are_refused_by_name) {
    run *r = open_at(vectors, &device_ref, "auto"), *resumed = open_at(vectors, &device_cpu, "auto");
    r->watch = stop_with_a_huge_weight;
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_STOPPED);
    CHECK_STATUS(run_train(resumed, test_path("run"), 1), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(resumed->ctx),
              "element 0 is 1e+200, which device cpu cannot hold: go on with the one that it is from");
    run_close(r), run_close(resumed);
}

/* ---- in another precision ---- */

static device_kind choosing_device(const char *name, precision training) {
    device_kind kind = device_cpu; /* which ignores it */
    kind.name = name;
    kind.precisions = 1u << PRECISION_FP32 | 1u << PRECISION_TF32 | 1u << PRECISION_BF16;
    kind.training = training;
    return kind;
}

/* What it is called in the recipe does not matter, what it is does. */
TEST(train__resuming_in_another_precision_is_refused_on_the_same_device) {
    device_kind kind = choosing_device("chooser", PRECISION_BF16);
    train_and_stop(vectors, &kind, "auto", test_path("run"));
    run *other = open_at(vectors, &kind, "fp32");
    CHECK_STATUS(run_train(other, test_path("run"), 1), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(other->ctx),
              "checkpoint.safetensors: the run to resume computes its products in bf16, now it is fp32: set "
              "train.precision = bf16");
    device_kind changed = choosing_device("chooser", PRECISION_TF32); /* a program with another default */
    run *later = open_at(vectors, &changed, "auto"), *same = open_at(vectors, &changed, "bf16");
    CHECK_STATUS(run_train(later, test_path("run"), 1), JF_ERROR_ARGUMENT);
    CHECK_STATUS(run_train(same, test_path("run"), 1), JF_OK);
    run_close(other), run_close(later), run_close(same);
}

TEST(train__goes_on_in_another_precision_on_another_device_and_says_so) {
    device_kind kind = choosing_device("chooser", PRECISION_BF16);
    train_and_stop(vectors, &kind, "bf16", test_path("run"));
    run *r = open_at(vectors, &device_cpu, "auto");
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    CHECK_HAS(r->log, "goes on on cpu what was trained on chooser until here, with products in fp32 instead "
                      "of bf16: not bit for bit");
    run_close(r);
}

/* All else of the recipe is compared as before, with whatever is in its way. */
TEST(train__another_recipe_is_refused_on_another_device_too) {
    train_and_stop(vectors, &device_cpu, "auto", test_path("run"));
    run *r = open_at(VECTORS("0.5"), &device_ref, "fp32");
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(r->ctx), "another recipe: \"rate = 1e-3\" there, \"rate = 0.5\" now");
    run_close(r);
}
