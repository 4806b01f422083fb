/* Training with devices that add up gradients by themselves (NCCL): one rank ends with the bits of a process
 * that is none. */
#include "ranks_fixture.h"
#include "test.h"

#include "flow_fixture.h"
#include "train/train.h"
#include "train_fixture.h"

#define TRAINING "[train]\nrate = 1e-3\nbatch = 40\nanneal = 1\nprecondition = 0\nepochs = 3\n"
static const char *const contents[] = {
    "[data]\nset = crescents\n" TINY_MODEL TRAINING "batches = 6\n",
    "[data]\nset = images\nimages = glyphs\nlimit = 120\ntask = superres\ndown = 1\n[model]\nnet = "
    "resnext\nblocks = 1\nkernels = 8\ncardinality = 2\nresidual = 1\n" TRAINING "noise = 0.02\n",
};
enum { CONTENTS = sizeof contents / sizeof *contents };

typedef struct trained {
    const char *content;
    double *weights;
    size_t count;
    char log[2048];
} trained;

static void keep_line(void *user, const char *line) {
    trained *t = user;
    size_t used = strlen(t->log);
    snprintf(t->log + used, sizeof t->log - used, "%s\n", line);
}

static void train_one(jf_context *ctx, void *arg) {
    trained *t = arg;
    recipe *r = checked_recipe(ctx, t->content);
    model *m = NULL;
    jf_context_set_log(ctx, keep_line, t);
    if (train_recipe(ctx, &m, r, &(jf_train_options){.device = "cuda", .threads = 1, .seed = 3}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    t->count = m->parameters.total;
    t->weights = weights_of(m);
    model_free(m);
    recipe_free(r);
}

static const device_kind *cuda(void) {
    for (int i = 0; device_kinds[i]; i++)
        if (strcmp(device_kinds[i]->name, "cuda") == 0) return device_kinds[i];
    SKIP("this build has no device cuda");
    return NULL;
}

static void skip_without_nccl(void) {
    jf_context *ctx = NULL;
    device *d = NULL;
    char id[DEVICE_GROUP_ID];
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(device_open(ctx, &d, "cuda", 1), JF_OK);
    if (d->kind->group_id(d, id) != JF_OK) SKIP(jf_context_error(ctx));
    device_close(d);
    jf_context_free(ctx);
}

TEST(train_devices__one_rank_with_nccl_ends_with_the_bits_of_none) {
    skip_missing_device(cuda());
    skip_without_nccl();
    for (int i = 0; i < CONTENTS; i++) {
        trained without = {.content = contents[i]}, with = without;
        jf_context *ctx = NULL;
        CHECK_STATUS(jf_context_create(&ctx), JF_OK);
        train_one(ctx, &without);
        jf_context_free(ctx);
        ranks_run(1, 0, train_one, &with);
        CHECK_HAS(with.log, "added up by the GPUs (NCCL)");
        CHECK(strstr(without.log, "NCCL") == NULL);
        CHECK(with.count == without.count);
        CHECK(memcmp(with.weights, without.weights, with.count * sizeof *with.weights) == 0);
        free(with.weights);
        free(without.weights);
    }
}

TEST(train_devices__without_nccl_the_hosts_add_up_and_say_so) {
    skip_missing_device(cuda());
    setenv("JOINTFLOW_NCCL", "off", 1); /* of this process, which ends with the test */
    trained t = {.content = contents[0]};
    ranks_run(1, 0, train_one, &t);
    CHECK_HAS(t.log, "through the memory of the hosts");
    CHECK_HAS(t.log, "JOINTFLOW_NCCL");
    free(t.weights);
}
