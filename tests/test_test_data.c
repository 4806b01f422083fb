/* Judging on data that are not those of the recipe. */
#include "train_fixture.h"

#include "io/npy.h"
#include "io/png.h"
#include "judge/judge.h"
#include <math.h>
#include <sys/stat.h>

enum { SIDE = 8, DIM = SIDE * SIDE };

/* Class k is brighter than class k - 1. */
static void put_pictures(const char *root, const char *class_name, int level, int count) {
    char path[1200], folder[1000];
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    mkdir(test_path(root), 0777);
    snprintf(folder, sizeof folder, "%s/%s", test_path(root), class_name);
    mkdir(folder, 0777);
    for (int n = 0; n < count; n++) {
        uint8_t bytes[DIM];
        for (int i = 0; i < DIM; i++) bytes[i] = (uint8_t)(40 + 60 * level + (i * 7 + n * 13) % 40);
        snprintf(path, sizeof path, "%s/%02d.png", folder, n);
        CHECK_STATUS(pixels_write(ctx, path, &(pixels){SIDE, SIDE, 1, bytes}), JF_OK);
    }
    jf_context_free(ctx);
}

static run *open_classes(void) {
    char content[1600];
    put_pictures("zoo", "ape", 0, 12);
    put_pictures("zoo", "big gnu", 1, 12);
    put_pictures("zoo", "yak", 2, 12);
    snprintf(content, sizeof content,
             "[data]\nset = images\nimages = %s\n[model]\nnet = resnext\nblocks = 1\nkernels = 4\n"
             "cardinality = 2\nresidual = 1\n[train]\nnoise = 0.02\nbatch = 4\n",
             test_path("zoo"));
    return run_open(content);
}

/* Labels of a test set that lacks classes are those of the model, by their names. */
TEST(test_data__classes_are_the_models_own_whichever_the_file_has) {
    run *r = open_classes();
    judgement *j = NULL;
    put_pictures("others", "yak", 2, 7);
    put_pictures("others", "big gnu", 1, 4);
    jf_judge_options q = {.points = 1000, .seed = 1, .test = test_path("others"), .inputs = 3};
    if (judge_create(r->m, &j, &q) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    CHECK(j->points == 11 && j->unseen);
    long count[3] = {0};
    for (long s = 0; s < j->points; s++) {
        double mean = 0;
        for (int i = 0; i < DIM; i++) mean += j->clean[(size_t)s * 2 * DIM + (size_t)i] * 255 / DIM;
        count[j->class_of[s]]++;
        CHECK(fabs(mean - (60 + 60 * j->class_of[s])) < 10);
        CHECK(j->clean[(size_t)s * 2 * DIM + DIM] == j->class_of[s]);
    }
    CHECK(count[0] == 0 && count[1] == 4 && count[2] == 7);
    CHECK(isnan(j->by_class[0].nll) && isfinite(j->by_class[1].nll) && isfinite(j->nll));
    CHECK(isnan(j->gaussian) && isnan(j->image.floor) && !j->worse); /* of the data trained on */
    judge_free(j);
    put_pictures("strange", "emu", 1, 4);
    q.test = test_path("strange");
    CHECK_STATUS(judge_create(r->m, &j, &q), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(r->ctx), "found \"ape\", expected names out of emu");
    run_close(r);
}

TEST(test_data__of_a_stack_need_no_training_data_to_be_there) {
    run *r =
        run_open("[data]\nset = images\nimages = glyphs\ntask = superres\ndown = 1\nlimit = 100\n[model]\n"
                 "net = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\n[train]\nnoise "
                 "= 0.02\n");
    double images[3 * 28 * 28];
    judgement *j = NULL;
    for (int i = 0; i < 3 * 28 * 28; i++) images[i] = 0.5 + 0.4 * sin(0.05 * i);
    CHECK_STATUS(npy_write(r->ctx, test_path("three.npy"), images, 3, (size_t[]){3, 28, 28}, 1), JF_OK);
    CHECK_STATUS(recipe_set(r->m->recipe, "data.images", "/not/there"), JF_OK);
    CHECK(judge_run(r->m, &j, 10, 1) != JF_OK);
    jf_judge_options q = {.points = 10, .seed = 1, .test = test_path("three.npy")};
    if (judge_create(r->m, &j, &q) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    CHECK(j->points == 3 && j->image.inputs == 3 && isfinite(j->image.psnr));
    judge_free(j);
    run_close(r);
}

static const char *put_table(const char *name, const char *rows) {
    const char *path = test_path(name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(rows, file) >= 0 && fclose(file) == 0);
    return path;
}

TEST(test_data__of_a_table_are_all_of_its_rows) {
    char content[1400];
    judgement *j = NULL;
    snprintf(
        content, sizeof content,
        "[data]\nset = table\nfile = %s\nx = 2\ny = 1\ndiscrete = yes\nvalidation = 0.2\n" TINY_MODEL
        "[train]\nbatch = 4\nepochs = 1\n",
        put_table("a.csv", "a,b,c\n1,2,0\n2,1,1\n3,5,0\n2,2,1\n1,0,0\n7,1,1\n1,3,0\n2,9,1\n5,4,0\n6,6,1\n"));
    run *r = run_open(content);
    jf_judge_options q = {
        .points = 100, .seed = 1, .test = put_table("b.csv", "a,b,c\n2,2,1\n3,1,1\n1,4,1\n0,2,0\n")};
    if (judge_create(r->m, &j, &q) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    CHECK(j->points == 4 && j->unseen);
    double sum = 0;
    for (int s = 0; s < 4; s++) sum += j->clean[3 * s] + 10 * j->clean[3 * s + 1] + 100 * j->clean[3 * s + 2];
    CHECK_NEAR(sum, 6 + 90 + 300, 1e-12);
    judge_free(j);
    q.test = put_table("c.csv", "a,b,c\n2,2,1\n3,1,4\n1,4,1\n0,2,0\n");
    CHECK_STATUS(judge_create(r->m, &j, &q), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "is 4, which is no class, expected one of 0, 1");
    run_close(r);
}

TEST(test_data__outside_of_bounds_is_counted_and_changes_no_number) {
    char content[1400];
    judgement *with = NULL, *without = NULL;
    snprintf(
        content, sizeof content,
        "[data]\nset = table\nfile = %s\nx = 2\ny = 1\nvalidation = 0\nbounds = "
        "a=0:10,b=whole:0:9,c=-9:9\n" TINY_MODEL "[train]\nbatch = 4\nepochs = 1\n",
        put_table("a.csv", "a,b,c\n1,2,0\n2,1,1\n3,5,3\n2,2,1\n1,0,0\n7,1,2\n1,3,4\n2,9,1\n5,4,5\n6,6,1\n"));
    run *r = run_open(content);
    jf_judge_options q = {
        .points = 100, .seed = 1, .test = put_table("b.csv", "a,b,c\n2,2,1\n3,1,2\n1,4,1\n")};
    CHECK_STATUS(judge_create(r->m, &without, &q), JF_OK);
    q.test = put_table("c.csv", "a,b,c\n-1,2,1\n2,2,1\n3,1,2\n2,2.5,2\n1,4,1\n11,10,0\n");
    CHECK_STATUS(judge_create(r->m, &with, &q), JF_OK);
    CHECK(with->points == 3 && with->outside == 3 && without->outside == 0);
    CHECK(with->nll == without->nll && with->nll_error == without->nll_error);
    CHECK_HAS(with->json.chars, "\"outside\": 3");
    CHECK_HAS(with->table.chars, "3 rows have an x outside of its bounds");
    judge_free(with);
    judge_free(without);
    q.test = put_table("d.csv", "a,b,c\n-1,3,0\n2,2,1\n");
    CHECK_STATUS(judge_create(r->m, &with, &q), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "found 1 of 2 rows with an x that data.bounds rules out");
    q.test = put_table("e.csv", "a,b,c\n1,2,1\n2,2,10\n");
    CHECK_STATUS(judge_create(r->m, &with, &q), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->ctx), "row 2, column 3 (\"c\") is 10");
    run_close(r);
}

TEST(test_data__for_sets_whose_points_are_drawn_are_refused) {
    run *r = run_open(tiny);
    judgement *j = NULL;
    jf_judge_options q = {.points = 10, .test = "b.csv"};
    CHECK_STATUS(judge_create(r->m, &j, &q), JF_ERROR_UNSUPPORTED);
    CHECK_HAS(jf_context_error(r->ctx), "whose points are drawn: expected a model of images or of a table");
    run_close(r);
}

/* ---- some of the rows ---- */

enum { SORTED_TRAINED = 200, SORTED_HELD = 3000 };

/* Classes 0 and 1 lie apart. The held-out rows, which come last, are sorted by class, or not. */
static judgement *judge_sorted(int sorted, long points) {
    char content[1400];
    const char *path = test_path(sorted ? "sorted.csv" : "mixed.csv");
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("a,b,c,y\n", file) >= 0);
    for (int i = 0; i < SORTED_TRAINED + SORTED_HELD; i++) {
        int held = i >= SORTED_TRAINED, k = i - SORTED_TRAINED;
        int n = held && sorted ? k % (SORTED_HELD / 2) * 2 + k / (SORTED_HELD / 2) : k; /* evens, then odds */
        rng stream = rng_stream((rng_key){.seed = 5, .purpose = RNG_TEST}, (uint64_t)(n + SORTED_TRAINED));
        int c = (n + SORTED_TRAINED) % 2;
        for (int column = 0; column < 3; column++)
            fprintf(file, "%.17g,", (c ? 2.5 : 1) * rng_normal(&stream));
        fprintf(file, "%d\n", c);
    }
    CHECK(fclose(file) == 0);
    snprintf(
        content, sizeof content,
        "[data]\nset = table\nfile = %s\nx = 3\ny = 1\ndiscrete = yes\nvalidation_rows = %d\n" TINY_MODEL,
        path, SORTED_HELD);
    run *r = run_open(content);
    judgement *j = NULL;
    if (judge_run(r->m, &j, points, 1) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    run_close(r);
    return j;
}

TEST(judge__the_order_of_the_rows_in_a_file_does_not_matter) {
    for (int all = 0; all < 2; all++) {
        judgement *a = judge_sorted(1, all ? 2 * SORTED_HELD : 300),
                  *b = judge_sorted(0, all ? SORTED_HELD : 300);
        CHECK(a->points == (all ? SORTED_HELD : 300) && b->points == a->points);
        double error = all ? 1e-9 : 4 * hypot(a->nll_error, b->nll_error);
        CHECK_NEAR(a->nll, b->nll, error);
        CHECK(isfinite(a->by_class[0].nll) && isfinite(a->by_class[1].nll));
        judge_free(a);
        judge_free(b);
    }
}

/* ---- the linear Gaussian beside a model ---- */

enum { WIDE = 10, WIDE_TRAINED = 3000, WIDE_TESTED = 80 };

/* Rows of N(0, 1) in every column. */
static const char *put_normal(const char *name, int rows, uint64_t seed, double scale) {
    const char *path = test_path(name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < rows; i++) {
        rng stream = rng_stream((rng_key){.seed = seed, .purpose = RNG_TEST}, (uint64_t)i);
        for (int k = 0; k < WIDE; k++)
            fprintf(file, "%.17g%c", scale * rng_normal(&stream), k + 1 < WIDE ? ',' : '\n');
    }
    CHECK(fclose(file) == 0);
    return path;
}

/* The model is the identity, and right: a fit to the rows it is compared on would seem 0.8 nats better. */
TEST(judge__the_linear_gaussian_is_never_compared_on_rows_that_it_was_fitted_to) {
    char content[1400];
    judgement *j = NULL;
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = %d\ny = 0\n[loss]\nobjective = plain\n" TINY_MODEL
             "output_gain = 0\n",
             put_normal("trained.csv", WIDE_TRAINED, 1, 1), WIDE);
    run *r = run_open(content);
    jf_judge_options q = {.seed = 1, .test = put_normal("tested.csv", WIDE_TESTED, 2, 1)};
    if (judge_create(r->m, &j, &q) != JF_OK) test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    CHECK(j->points == WIDE_TESTED && !j->linear_crossed);
    CHECK_NEAR(j->linear_gain, 0, 0.1); /* dim^2/(4 n) of the fit, and chance */
    CHECK_HAS(j->table.chars, "fitted to the training rows");
    CHECK_HAS(j->json.chars, "\"linear_gaussian_fitted_to\": \"training rows\"");
    judge_free(j);
    for (int gone = 0; gone < 2; gone++) { /* other data by now, then none */
        const char *path = gone ? test_path("trained.csv") : put_normal("trained.csv", WIDE_TRAINED, 3, 1);
        if (gone) CHECK(remove(path) == 0);
        CHECK_STATUS(judge_create(r->m, &j, &q), JF_OK);
        CHECK(j->linear_crossed && j->linear_gain > 2 * j->linear_error); /* fitted to 64 rows alone */
        CHECK_HAS(j->table.chars, "each fifth of the rows by a fit to the other four");
        CHECK_HAS(j->json.chars, "\"linear_gaussian_fitted_to\": \"other test rows\"");
        judge_free(j);
    }
    run_close(r);
}
