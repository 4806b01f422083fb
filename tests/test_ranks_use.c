/* What several ranks answer with a model is what one process does, to the last bit. */
#include "ranks_fixture.h"
#include "test.h"

#include "judge/judge.h"
#include "model/denoise.h"
#include "model/use.h"
#include "train/train.h"
#include "train_fixture.h"

#define GLYPHS "[data]\nset = images\nimages = glyphs\nlimit = 120\n"
#define NETS                                                                                                 \
    "[model]\nnet = resnext\nblocks = 1\nkernels = 8\ncardinality = 2\nresidual = 1\n[train]\nnoise = "      \
    "0.05\n"

static const struct {
    const char *name, *recipe;
    long points; /* to judge: more than one chunk of vectors */
    int denoise;
} cases[] = {
    {"vectors", "[data]\nset = crescents\n" TINY_MODEL "output_gain = 0.3\n", 1100, 0},
    {"a fixed condition", "[data]\nset = sectors\n" TINY_MODEL "condition = fixed\n", 300, 0},
    {"a flow of the condition", "[data]\nset = sectors\n" TINY_MODEL "condition = flow\n", 300, 0},
    {"super-resolution", GLYPHS "task = superres\ndown = 1\n" NETS, 60, 1},
    {"classes", GLYPHS "task = class\n" NETS, 60, 0},
};
enum { CASES = sizeof cases / sizeof *cases, SAMPLES = 37 };
enum { PATIENCE = 120 }; /* seconds of silence: judging is slow under sanitizers on a busy machine */

/* What a rank has found. */
typedef struct answers {
    int which;
    char *json[RANKS_MOST];
    double *samples[RANKS_MOST], *clean[RANKS_MOST]; /* (SAMPLES, dim) */
    size_t count;
} answers;

static model *open_model(jf_context *ctx, int which) {
    recipe *r = checked_recipe(ctx, cases[which].recipe);
    dataset *data = NULL;
    model *m = NULL;
    CHECK_STATUS(train_open(ctx, &data, &m, r, &(jf_train_options){.threads = 1, .seed = 3}), JF_OK);
    dataset_free(data);
    recipe_free(r);
    return m;
}

static void answer(jf_context *ctx, void *arg) {
    answers *a = arg;
    int rank = ranks_rank(ranks_of(ctx));
    model *m = open_model(ctx, a->which);
    judgement *j = NULL;
    jf_judge_options q = {
        .points = cases[a->which].points, .seed = 1, .inputs = 6, .denoise = cases[a->which].denoise};
    size_t count = SAMPLES * (size_t)m->flow->dim;
    double *rows = calloc(2 * count, sizeof *rows), *clean = rows + count;
    if (judge_create(m, &j, &q) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", cases[a->which].name, jf_context_error(ctx));
    CHECK_STATUS(model_sample(m, (latent_points){.seed = 5}, MODEL_UNITS, SAMPLES, rows, NULL), JF_OK);
    memcpy(clean, rows, count * sizeof *rows);
    if (q.denoise) CHECK_STATUS(model_denoise(m, MODEL_UNITS, SAMPLES, clean), JF_OK);
    a->json[rank] = strdup(j->json.chars);
    a->samples[rank] = rows;
    a->clean[rank] = clean;
    if (rank == 0) a->count = count;
    judge_free(j);
    model_free(m);
}

static void forget(answers *a) {
    for (int i = 0; i < RANKS_MOST; i++) {
        free(a->json[i]);
        free(a->samples[i]);
    }
}

TEST(ranks_use__several_answer_what_one_does) {
    for (int which = 0; which < CASES; which++) {
        answers one = {.which = which};
        ranks_run(1, 0, answer, &one);
        for (int size = which ? 3 : 2; size <= 3; size++) { /* of one kind 2 as well: judging takes a while */
            answers all = {.which = which};
            ranks_run(size, PATIENCE, answer, &all);
            for (int i = 0; i < size; i++) {
                CHECK_TEXT(all.json[i], one.json[0]);
                CHECK(memcmp(all.samples[i], one.samples[0], one.count * sizeof(double)) == 0);
                CHECK(memcmp(all.clean[i], one.clean[0], one.count * sizeof(double)) == 0);
            }
            forget(&all);
        }
        forget(&one);
    }
}

/* ---- rows beside others ---- */

/* Ranks get other numbers of rows than one process, so that a row may not depend on those beside it. */
TEST(ranks_use__a_row_does_not_depend_on_those_beside_it) {
    enum { ROWS = 1000 };
    for (int which = 0; which < CASES; which++) {
        jf_context *ctx = NULL;
        CHECK_STATUS(jf_context_create(&ctx), JF_OK);
        model *m = open_model(ctx, which);
        size_t dim = (size_t)m->flow->dim;
        long rows = m->units.image.h ? 40 : ROWS;
        double *all = calloc((size_t)rows * dim, sizeof *all),
               *part = calloc((size_t)rows * dim, sizeof *part);
        double *logdet = calloc((size_t)rows, sizeof *logdet),
               *logdet_part = calloc((size_t)rows, sizeof *logdet);
        for (int count = 1; count <= 13; count += 3) { /* the last rows of all, by themselves */
            for (int inverse = 0; inverse < 2; inverse++) {
                jf_status (*go)(const model *, long, double *, double *) =
                    inverse ? model_inverse : model_forward;
                for (size_t i = 0; i < (size_t)rows * dim; i++) all[i] = sin((double)i);
                double *mine = all + (size_t)(rows - count) * dim;
                memcpy(part, mine, (size_t)count * dim * sizeof *part);
                CHECK_STATUS(go(m, rows, all, logdet), JF_OK);
                CHECK_STATUS(go(m, count, part, logdet_part), JF_OK);
                CHECK(memcmp(part, mine, (size_t)count * dim * sizeof *part) == 0);
                CHECK(memcmp(logdet_part, logdet + rows - count, (size_t)count * sizeof *logdet) == 0);
            }
        }
        free(all);
        free(part);
        free(logdet);
        free(logdet_part);
        model_free(m);
        jf_context_free(ctx);
    }
}

/* ---- failures ---- */

static jf_status fail_at_seven(void *arg, size_t begin, size_t end) {
    jf_context *ctx = arg;
    for (size_t i = begin; i < end; i++)
        if (i == 7) return jf_fail(ctx, JF_ERROR_NUMERIC, "row %zu is not finite", i);
    return JF_OK;
}

static void fail_somewhere(jf_context *ctx, void *arg) {
    (void)arg;
    CHECK_STATUS(ranks_divide(ranks_of(ctx), 12, 1, fail_at_seven, ctx, NULL, 0), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(ctx), "row 7 is not finite");
    CHECK_STATUS(ranks_barrier(ranks_of(ctx)), JF_OK); /* all are still there, and at the same place */
}

TEST(ranks_use__a_failure_of_one_is_that_of_all) {
    for (int size = 1; size <= 5; size++) ranks_run(size, 0, fail_somewhere, NULL);
}

/* ---- shares ---- */

typedef struct counted {
    int values[20]; /* 1 more than the number of the row, of whoever had it */
} counted;

static jf_status count_rows(void *arg, size_t begin, size_t end) {
    counted *c = arg;
    for (size_t i = begin; i < end; i++) c->values[i] += (int)i + 1;
    return JF_OK;
}

static void divide_rows(jf_context *ctx, void *arg) {
    (void)arg;
    for (size_t n = 0; n <= 20; n += 5)
        for (size_t unit = 1; unit <= 7; unit += 3) {
            counted c = {{0}};
            ranks_rows rows[] = {{c.values, sizeof *c.values}, {NULL, 8}};
            CHECK_STATUS(ranks_divide(ranks_of(ctx), n, unit, count_rows, &c, rows, 2), JF_OK);
            for (size_t i = 0; i < 20; i++) CHECK(c.values[i] == (i < n ? (int)i + 1 : 0));
        }
}

TEST(ranks_use__every_row_is_done_once_and_reaches_all) {
    for (int size = 1; size <= RANKS_MOST; size++) ranks_run(size, 0, divide_rows, NULL);
}
