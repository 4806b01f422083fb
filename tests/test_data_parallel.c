/* Training by several ranks, which are threads here: the same weights as of one process, whatever is trained.
 */
#include "ranks_fixture.h"
#include "train/data_parallel.h"
#include "train_fixture.h"

typedef struct case_of_ranks {
    const char *content, *device;
    int deterministic, resume;
    const char *folder; /* NULL: none */
    jf_status expected;
    const char *message;         /* of the failure that is expected */
    double *weights[RANKS_MOST]; /* of each rank */
    size_t count;
    char log[4096]; /* of rank 0 */
} case_of_ranks;

static void keep_line(void *user, const char *line) {
    case_of_ranks *c = user;
    size_t used = strlen(c->log);
    snprintf(c->log + used, sizeof c->log - used, "%s\n", line);
}

static void train_rank(jf_context *ctx, void *arg) {
    case_of_ranks *c = arg;
    int rank = ranks_rank(ranks_of(ctx));
    recipe *r = checked_recipe(ctx, c->content);
    model *m = NULL;
    if (rank == 0) jf_context_set_log(ctx, keep_line, c);
    jf_train_options options = {.folder = c->folder,
                                .resume = c->resume,
                                .seed = 3,
                                .device = c->device,
                                .threads = 1,
                                .deterministic = c->deterministic};
    jf_status status = train_recipe(ctx, &m, r, &options);
    if (status != c->expected)
        test_fail(__FILE__, __LINE__, "rank %d: status %d, %s", rank, status, jf_context_error(ctx));
    if (c->message) CHECK_HAS(jf_context_error(ctx), c->message);
    c->weights[rank] = m ? weights_of(m) : NULL;
    if (m && rank == 0) c->count = m->parameters.total;
    model_free(m);
    recipe_free(r);
}

static void case_free(case_of_ranks *c) {
    for (int i = 0; i < RANKS_MOST; i++) free(c->weights[i]);
}

static double largest_difference(const double *a, const double *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* All ranks have the weights of one process, to `tolerance`, and among themselves the same bits. */
static void check_ranks(const char *content, const char *on, int deterministic, int size, double tolerance) {
    case_of_ranks one = {.content = content, .device = on, .deterministic = deterministic}, several = one;
    ranks_run(1, 0, train_rank, &one);
    ranks_run(size, 0, train_rank, &several);
    for (int i = 0; i < size; i++) {
        CHECK(largest_difference(several.weights[i], several.weights[0], several.count) == 0);
        CHECK_NEAR(largest_difference(several.weights[i], one.weights[0], one.count), 0, tolerance);
    }
    case_free(&one);
    case_free(&several);
}

#define TRAINING                                                                                             \
    "[train]\nrate = 1e-3\nbatch = 40\nbatches = 4\nprecondition = 1\nprecondition_batches = 2\nanneal = "   \
    "2\nepochs = 3\n"
static const char *const contents[] = {
    "[data]\nset = crescents\n" TINY_MODEL TRAINING,
    "[data]\nset = crescents\n" TINY_MODEL "transforms = actnorm,mixing,coupling\n" TRAINING
    "average = 0.9\nclip = 1\nweight_decay = 0.1\n",
    "[data]\nset = crescents\n[model]\nblocks = 1\nnet = residual\nwidth = 4\n" TRAINING,
    "[loss]\nobjective = rule\n" TINY_MODEL TRAINING,
    "[data]\nset = crescents\n" TINY_MODEL
    "condition = fixed\nembed = dense\nembed_layers = 1\nembed_width = 8\n" TRAINING,
};
enum { CONTENTS = sizeof contents / sizeof *contents };

TEST(shared__ranks_train_the_bytes_of_one_process_in_the_same_slices) {
    for (int i = 0; i < CONTENTS; i++)
        for (int size = i ? 4 : 2; size <= (i ? 4 : 8); size *= 2)
            check_ranks(contents[i], "cpu", 1, size, 0);
}

TEST(shared__the_reference_device_has_the_same_bits_too) {
    check_ranks(contents[0], "ref", 1, 4, 0);
}

TEST(shared__any_number_of_ranks_differs_by_rounding_alone) {
    for (int i = 0; i < CONTENTS; i++) check_ranks(contents[i], "ref", 0, i % 2 ? 3 : 2, 1e-9);
}

/* Messages of several thousand numbers, which are halved on their way, and bounds among the parameters. */
TEST(shared__ranks_train_the_bytes_of_one_process_for_a_larger_model) {
    static const char content[] =
        "[data]\nset = crescents\n[model]\nblocks = 2\ndepth = 2\nwidth = 64\n"
        "[train]\nrate = 1e-2\nbatch = 40\nbatches = 3\nprecondition = 0\nanneal = 1\nepochs = 2\n"
        "average = 0.9\nclip = 0.1\nweight_decay = 0.1\n";
    for (int size = 2; size <= 8; size *= ALL_CASES ? 2 : 4) check_ranks(content, "cpu", 1, size, 0);
}

/* Rows of a file, of which some are held out: the loss of these decides which epoch is the best. */
TEST(shared__held_out_rows_decide_as_in_one_process) {
    char content[800];
    FILE *file = fopen(test_path("t.csv"), "w");
    for (int i = 0; i < 203; i++) fprintf(file, "%g,%g,%g\n", sin(i), cos(1.7 * i), sin(0.3 * i));
    CHECK(fclose(file) == 0);
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 1\n" TINY_MODEL
             "[train]\nrate = 1e-2\nbatch = 24\nprecondition = 0\nanneal = 1\nepochs = 6\nks_every = 1\n",
             test_path("t.csv"));
    check_ranks(content, "cpu", 1, 8, 0);
    check_ranks(content, "ref", 0, 3, 1e-9);
}

TEST(shared__a_batch_that_diverges_is_rolled_back_by_all) {
    static const char content[] =
        "[data]\nset = crescents\n" TINY_MODEL
        "[train]\nrate = 1\nbatch = 40\nbatches = 20\nprecondition = 0\nanneal = 0\nepochs = 30\n"
        "patience = 0\n";
    check_ranks(content, "cpu", 1, 4, 0);
}

TEST(shared__a_batch_that_ranks_cannot_share_is_refused) {
    case_of_ranks few = {.content = "[data]\nset = crescents\n" TINY_MODEL "[train]\nbatch = 3\n",
                         .expected = JF_ERROR_RECIPE,
                         .message = "3 samples cannot be shared by 4 ranks"};
    ranks_run(4, 0, train_rank, &few);
    few = (case_of_ranks){.content = contents[0],
                          .deterministic = 1,
                          .expected = JF_ERROR_RECIPE,
                          .message =
                              "8 slices of one size, which 3 ranks cannot share equally: start 1, 2, 4 or 8"};
    ranks_run(3, 0, train_rank, &few);
}
