/* Devices with memory of their own: what a run will take of it is told before it starts, or refused with what
 * to lower. */
#include "train/train_memory.h"
#include "train_fixture.h"

extern const device_kind device_cpu;

#define MIB 1048576.0

/* ---- a device that says how much memory it has ---- */

static double own_left, own_all; /* MiB */

static void own_memory(const device *d, size_t *left, size_t *all) {
    (void)d;
    *left = (size_t)(own_left * MIB);
    *all = (size_t)(own_all * MIB);
}

static device_kind device_with(double left, double all) {
    device_kind kind = device_cpu;
    kind.name = "roomy";
    kind.memory = own_memory;
    own_left = left;
    own_all = all;
    return kind;
}

/* Large enough that all parts are more than a MiB. */
#define SIZES(keep)                                                                                          \
    "[data]\nset = crescents\n[model]\nblocks = 4\ndepth = 2\nwidth = 64\n[train]\nbatch = 4000\n" keep

static run *open_sizes(const device_kind *kind, const char *keep) {
    char content[300];
    snprintf(content, sizeof content, SIZES("%s"), keep);
    return run_open_on(content, kind, 1);
}

/* ---- train.keep ---- */

TEST(memory__kept_by_default_follows_from_the_device_and_not_from_what_is_free) {
    const struct {
        double left, all, expected;
    } cases[] = {{140000, 143000, 6144}, {1, 143000, 6144}, {8000, 8192, 1638}};
    for (int i = 0; i < 3; i++) {
        device_kind kind = device_with(cases[i].left, cases[i].all);
        run *r = open_sizes(&kind, "");
        CHECK(train_keep(r->recipe, r->m->d) == cases[i].expected);
        run_close(r);
    }
    run *host = open_sizes(&device_cpu, "");
    CHECK(train_keep(host->recipe, host->m->d) == 700);
    run_close(host);
    device_kind kind = device_with(1000, 143000);
    run *given = open_sizes(&kind, "keep = 33.5\n");
    CHECK(train_keep(given->recipe, given->m->d) == 33.5);
    run_close(given);
}

TEST(memory__what_is_kept_is_a_number_or_auto) {
    jf_context *ctx = NULL;
    recipe *r = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(recipe_parse(ctx, &r, SIZES("keep = some\n"), "test.recipe"), JF_OK);
    CHECK_STATUS(recipe_declare_all(r), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "train.keep: found \"some\", expected auto or a number from 0 to 1e+06");
    CHECK_STATUS(recipe_set(r, "train.keep", "-1"), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_ERROR_RECIPE);
    CHECK_STATUS(recipe_set(r, "train.keep", "auto"), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_OK);
    recipe_free(r);
    jf_context_free(ctx);
}

/* ---- what is told ---- */

TEST(memory__of_the_device_and_of_the_host_are_told_apart) {
    device_kind kind = device_with(5000, 8000);
    run *own = open_sizes(&kind, ""), *host = open_sizes(&device_cpu, "");
    CHECK_STATUS(train_tell_memory(own->m, own->data), JF_OK);
    train_memory k = train_memory_of(own->m, own->data), h = train_memory_of(host->m, host->data);
    char expected[64];
    snprintf(expected, sizeof expected, "memory: about %.0f MiB of the device's 8000 (", k.device / MIB);
    CHECK_HAS(own->log, expected);
    CHECK(k.device > MIB && k.host > MIB && k.saved > MIB);
    CHECK(k.weights == h.weights && k.passes == h.passes && k.saved == h.saved);
    CHECK_STATUS(train_tell_memory(host->m, host->data), JF_OK);
    snprintf(expected, sizeof expected, "memory: about %.0f MiB (", (h.device + h.host) / MIB);
    CHECK_HAS(host->log, expected);
    run_close(own), run_close(host);
}

/* Room for all of it but the weights, which are there already, is enough; a MiB less is not. */
TEST(memory__of_the_device_that_is_not_free_is_refused_with_what_to_lower) {
    device_kind kind = device_with(1e6, 1e6);
    run *r = open_sizes(&kind, "keep = 1000\n");
    train_memory k = train_memory_of(r->m, r->data);
    double needed = (k.device - k.weights / 8) / MIB;
    own_left = needed + 0.01;
    own_all = 4096;
    CHECK_STATUS(train_tell_memory(r->m, r->data), JF_OK);
    own_left = needed - 2;
    CHECK_STATUS(train_tell_memory(r->m, r->data), JF_ERROR_MEMORY);
    CHECK_HAS(jf_context_error(r->ctx), "device roomy: the run would take about ");
    CHECK_HAS(jf_context_error(r->ctx), " of 4096 MiB are free: set train.keep to at most ");
    CHECK_HAS(jf_context_error(r->ctx), " instead of 1000, or lower train.batch, which is 4000");
    own_left = needed - k.saved / MIB - 1; /* keeping nothing would not be enough either */
    CHECK_STATUS(train_tell_memory(r->m, r->data), JF_ERROR_MEMORY);
    CHECK_HAS(jf_context_error(r->ctx), "are free: lower train.batch, which is 4000, and set train.keep = 0");
    run_close(r);
}

/* What is advised works. */
TEST(memory__keeping_what_is_advised_fits) {
    device_kind kind = device_with(1e6, 1e6);
    run *r = open_sizes(&kind, "keep = 1000\n");
    train_memory k = train_memory_of(r->m, r->data);
    int advised = 0;
    for (int share = 1; share < 8; share++) {
        own_left = (k.device - k.weights / 8 - k.saved * share / 8) / MIB;
        CHECK_STATUS(recipe_set(r->m->recipe, "train.keep", "1000"), JF_OK);
        CHECK_STATUS(train_tell_memory(r->m, r->data), JF_ERROR_MEMORY);
        const char *advice = strstr(jf_context_error(r->ctx), "at most ");
        char keep[32];
        if (!advice) continue; /* what is not kept takes scratch: not even keeping nothing is enough */
        CHECK(sscanf(advice, "at most %31s", keep) == 1);
        CHECK_STATUS(recipe_set(r->m->recipe, "train.keep", keep), JF_OK);
        CHECK_STATUS(train_tell_memory(r->m, r->data), JF_OK);
        advised++;
    }
    CHECK(advised > 3);
    run_close(r);
}

/* ---- resuming ---- */

static void stop_soon(run *r, const jf_training *p) {
    if (p->step >= 3) r->stop = 1;
}

static jf_status resume_with(const char *keep) {
    char content[600];
    snprintf(content, sizeof content, "%s%s", tiny, keep);
    run *r = run_open(content);
    jf_status status = run_train(r, test_path("run"), 1);
    if (status != JF_OK)
        CHECK_HAS(jf_context_error(r->ctx),
                  "keeps up to 700 MiB of activations, now it is 0: set train.keep = 700");
    run_close(r);
    return status;
}

/* As runs were written before there was a choice. */
TEST(memory__a_run_that_kept_the_same_by_number_is_resumed) {
    char content[600];
    snprintf(content, sizeof content, "%skeep = 700\n", tiny);
    run *r = run_open(content);
    r->watch = stop_soon;
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_STOPPED);
    run_close(r);
    CHECK_STATUS(resume_with("keep = 0\n"), JF_ERROR_ARGUMENT);
    CHECK_STATUS(resume_with(""), JF_OK);
}
