/* Sums, broadcasts and gathers over ranks, the order of sums, and what becomes of a rank that is silent. */
#include "ranks/ranks.h"
#include "ranks_fixture.h"
#include "test.h"
#include <time.h>

static const size_t counts[] = {1, 5, 1000, 9001};
enum { COUNTS = 4, MOST = 9001 };

/* Numbers whose sum depends on the order in which it is taken. */
static float number(int rank, size_t i) {
    return (float)((rank + 1) * 0.1 + (double)(i % 97) * 1e-3) * (i % 2 ? 1e4f : 1e-3f);
}

/* (0 + 1) + (2 + 3): what ranks of a power of two add up to. */
static float tree_sum(int begin, int end, size_t i) {
    if (end - begin == 1) return number(begin, i);
    int middle = (begin + end) / 2;
    return tree_sum(begin, middle, i) + tree_sum(middle, end, i);
}

static void sum_numbers(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    int size = ranks_size(r);
    float *values = malloc(MOST * sizeof *values);
    (void)arg;
    for (int k = 0; k < COUNTS; k++) {
        size_t n = counts[k];
        for (size_t i = 0; i < n; i++) values[i] = number(ranks_rank(r), i);
        CHECK_STATUS(ranks_sum_floats(r, values, n), JF_OK);
        for (size_t i = 0; i < n; i++) {
            double expected = 0;
            for (int s = 0; s < size; s++) expected += number(s, i);
            CHECK_NEAR(values[i], expected, 1e-5 * expected);
            if ((size & (size - 1)) == 0) CHECK(values[i] == tree_sum(0, size, i));
        }
        double same[RANKS_MOST * 2], mine[2] = {values[0], values[n - 1]};
        CHECK_STATUS(ranks_gather(r, mine, sizeof mine, same), JF_OK);
        for (int s = 0; s < 2 * size; s++) CHECK(same[s] == mine[s % 2]);
    }
    free(values);
}

TEST(ranks__sums_have_one_order_and_the_same_bits_everywhere) {
    for (int size = 1; size <= RANKS_MOST; size++) ranks_run(size, 0, sum_numbers, NULL);
}

static void sum_doubles(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    int rank = ranks_rank(r), size = ranks_size(r);
    double values[3] = {rank, 1, 1e300 * rank};
    (void)arg;
    CHECK_STATUS(ranks_sum_doubles(r, values, 3), JF_OK);
    CHECK(values[0] == size * (size - 1) / 2 && values[1] == size);
    CHECK_STATUS(ranks_barrier(r), JF_OK);
}

TEST(ranks__doubles_are_summed) {
    for (int size = 1; size <= RANKS_MOST; size++) ranks_run(size, 0, sum_doubles, NULL);
}

static void pass_bytes(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    int rank = ranks_rank(r), size = ranks_size(r);
    (void)arg;
    for (int from = 0; from < size; from++) {
        char word[32];
        snprintf(word, sizeof word, "from %d", rank);
        CHECK_STATUS(ranks_broadcast(r, word, sizeof word, from), JF_OK);
        char expected[32];
        snprintf(expected, sizeof expected, "from %d", from);
        CHECK_TEXT(word, expected);
    }
    size_t parts[RANKS_MOST];
    char mine[RANKS_MOST + 1], all[RANKS_MOST * RANKS_MOST], *at = all;
    for (int i = 0; i < size; i++) parts[i] = (size_t)i; /* rank 0 has none */
    memset(mine, 'a' + rank, sizeof mine);
    CHECK_STATUS(ranks_gather_parts(r, mine, parts, all), JF_OK);
    for (int i = 0; i < size; i++)
        for (int k = 0; k < i; k++) CHECK(*at++ == 'a' + i);
}

TEST(ranks__bytes_reach_everyone) {
    for (int size = 1; size <= RANKS_MOST; size++) ranks_run(size, 0, pass_bytes, NULL);
}

static void compare(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    (void)arg;
    CHECK_STATUS(ranks_same(r, "recipe", "the same"), JF_OK);
    jf_status status = ranks_same(
        r, "recipe", ranks_rank(r) == 2 ? "[train]\nrate = 2\nclip = 3\n" : "[train]\nrate = 1\nclip = 3\n");
    CHECK_STATUS(status, ranks_size(r) > 2 ? JF_ERROR_RANK : JF_OK);
    if (status != JF_OK)
        CHECK_TEXT(jf_context_error(ctx),
                   "rank 2: another recipe than rank 0: \"rate = 2\", there \"rate = 1\"");
}

TEST(ranks__those_that_differ_are_named_to_all) {
    ranks_run(1, 0, compare, NULL);
    ranks_run(4, 0, compare, NULL);
}

static void disagree(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    (void)arg;
    CHECK_STATUS(ranks_agree(r, JF_OK), JF_OK);
    jf_status mine = ranks_rank(r) == 1 || ranks_rank(r) == 3
                         ? jf_fail(ctx, JF_ERROR_DATA, "row %d is no row", ranks_rank(r))
                         : JF_OK;
    CHECK_STATUS(ranks_agree(r, mine), JF_ERROR_DATA);
    CHECK_TEXT(jf_context_error(ctx), "rank 1: row 1 is no row");
    ranks_end(r, 1); /* nobody is waited for: returns */
}

TEST(ranks__a_failure_of_one_is_that_of_all) {
    ranks_run(4, 0, disagree, NULL);
}

static void share(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    int size = ranks_size(r);
    (void)arg;
    for (size_t n = 0; n < 40; n++) {
        CHECK(ranks_share_of_rank(r, 0, n).begin == 0 && ranks_share_of_rank(r, size - 1, n).end == n);
        for (int i = 1; i < size; i++)
            CHECK(ranks_share_of_rank(r, i, n).begin == ranks_share_of_rank(r, i - 1, n).end);
        ranks_share mine = ranks_share_of(r, n);
        size_t has = mine.end - mine.begin;
        CHECK(has * (size_t)size + (size_t)size > n && has <= (n + (size_t)size - 1) / (size_t)size);
    }
}

TEST(ranks__work_is_shared_equally) {
    for (int size = 1; size <= RANKS_MOST; size++) ranks_run(size, 0, share, NULL);
}

/* Rank 1 stops for good, while others are still busy: they wait in vain, and no longer than the limit. */
static void one_is_silent(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    int *told = arg;
    if (ranks_rank(r) == 1) {
        ranks_fall_silent(ctx);
        nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 500000000}, NULL);
        return;
    }
    if (ranks_rank(r) != 2) return; /* the one after it, which alone listens to it */
    CHECK_STATUS(ranks_barrier(r), JF_ERROR_RANK);
    CHECK_HAS(jf_context_error(ctx), "no sign of life from rank 1 for 1 seconds");
    *told = 1;
}

TEST(ranks__a_silent_rank_is_noticed_and_named) {
    int told = 0;
    ranks_run(3, 1.0, one_is_silent, &told);
    CHECK(told);
}

/* One that is busy for longer than the limit, and says so (context_poll), is waited for. */
static void one_is_busy(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    (void)arg;
    for (int i = 0; ranks_rank(r) == 1 && i < 30; i++) {
        CHECK_STATUS(context_poll(ctx, "busy", 0, 0), JF_OK);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    CHECK_STATUS(ranks_barrier(r), JF_OK);
}

TEST(ranks__a_busy_rank_is_waited_for) {
    ranks_run(3, 1.0, one_is_busy, NULL);
}

/* One that said so may be silent for longer. */
static void one_is_quiet(jf_context *ctx, void *arg) {
    ranks *r = ranks_of(ctx);
    (void)arg;
    CHECK_STATUS(ranks_barrier(r), JF_OK);
    if (ranks_rank(r) == 1) {
        ranks_be_quiet(r, 60);
        nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 500000000}, NULL);
        ranks_be_quiet(r, 0);
    }
    CHECK_STATUS(ranks_barrier(r), JF_OK);
}

TEST(ranks__one_that_announced_to_be_quiet_is_waited_for) {
    ranks_run(3, 1.0, one_is_quiet, NULL);
}

/* Each does what it takes, by itself: as one rank, and yet at its place among the others. */
static void take_pieces(jf_context *ctx, void *arg) {
    enum { PIECES = 100 };
    double done[PIECES] = {0};
    uint64_t piece;
    int rank = ranks_rank(ranks_of(ctx)), size = ranks_size(ranks_of(ctx));
    (void)arg;
    CHECK_STATUS(ranks_set_apart(ctx, 1), JF_OK);
    CHECK_STATUS(ranks_set_apart(ctx, 1), JF_OK);
    CHECK(ranks_size(ranks_of(ctx)) == 1 && ranks_is_first(ranks_of(ctx)) && context_writes(ctx));
    CHECK(!ranks_are_joined(ranks_of(ctx)));
    CHECK(size == 1 || ranks_threads(ranks_of(ctx), 0) > 0);
    for (;;) {
        CHECK_STATUS(ranks_take(ctx, &piece), JF_OK);
        if (piece >= PIECES) break;
        done[piece]++;
        CHECK_STATUS(ranks_barrier(ranks_of(ctx)), JF_OK); /* waits for nobody */
    }
    CHECK_STATUS(ranks_set_apart(ctx, 0), JF_OK);
    CHECK(ranks_size(ranks_of(ctx)) == size && ranks_rank(ranks_of(ctx)) == rank);
    CHECK(context_writes(ctx) == (rank == 0));
    CHECK_STATUS(ranks_sum_doubles(ranks_of(ctx), done, PIECES), JF_OK);
    for (int i = 0; i < PIECES; i++) CHECK(done[i] == 1);
}

TEST(ranks__pieces_are_taken_once_by_ranks_that_work_apart) {
    for (int size = 1; size <= RANKS_MOST; size++) ranks_run(size, 0, take_pieces, NULL);
}

/* One that works by itself for longer than the limit, or has announced to be quiet, is waited for as any
 * other. */
static void one_works_apart(jf_context *ctx, void *arg) {
    int rank = ranks_rank(ranks_of(ctx));
    (void)arg;
    CHECK_STATUS(ranks_set_apart(ctx, 1), JF_OK);
    for (int i = 0; rank == 1 && i < 20; i++) {
        CHECK_STATUS(context_poll(ctx, "busy", 0, 0), JF_OK);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    if (rank == 1) {
        ranks_be_quiet(ranks_of(ctx), 60);
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    }
    CHECK_STATUS(ranks_set_apart(ctx, 0), JF_OK);
    CHECK_STATUS(ranks_barrier(ranks_of(ctx)), JF_OK);
}

TEST(ranks__one_that_works_apart_is_waited_for) {
    ranks_run(3, 1.0, one_works_apart, NULL);
}

TEST(ranks__a_program_by_itself_is_one_rank) {
    jf_context *ctx;
    double value = 3;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("SLURM_STEP_NUM_TASKS");
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK(ranks_launched() == 1);
    CHECK_STATUS(ranks_join(ctx, 0, 0), JF_OK);
    CHECK(ranks_size(ranks_of(ctx)) == 1 && ranks_is_first(ranks_of(ctx)));
    CHECK_STATUS(ranks_sum_doubles(ranks_of(ctx), &value, 1), JF_OK);
    CHECK(value == 3);
    uint64_t piece;
    CHECK_STATUS(ranks_set_apart(ctx, 1), JF_OK);
    CHECK_STATUS(ranks_take(ctx, &piece), JF_ERROR_ARGUMENT);
    jf_context_free(ctx);
}

TEST(ranks__a_launcher_without_the_module_is_told_in_one_line) {
    jf_context *ctx;
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("JOINTFLOW_MPI_MODULE", test_path("no.so"), 1);
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK(ranks_launched() == 4);
    FILE *f = fopen(test_path("no.so"), "w");
    fputs("not a library", f);
    fclose(f);
    CHECK_STATUS(ranks_join(ctx, 0, 0), JF_ERROR_RANK);
    CHECK_HAS(jf_context_error(ctx), "no.so cannot be loaded");
    jf_context_free(ctx);
}
