/* Cut columns: the flow works on the line, samples beyond the bounds are drawn again, and densities are
 * divided by what is inside. */
#include "data_fixture.h"
#include "format_fixture.h"
#include "jointflow/jointflow.h"
#include "model/use.h"
#include "train_fixture.h"
#include <math.h>

/* a is uniform on (0, 1), b normal, and c is a with some noise: near the ends the posterior of a is cut off.
 */
static run *cut_model(const char *bounds) {
    enum { ROWS = 400 };
    char content[1024];
    text csv = {0};
    rng r = rng_stream(data_key(3), 0);
    text_add(&csv, "a,b,c\n");
    for (int i = 0; i < ROWS; i++) {
        double a = rng_uniform(&r), b = rng_normal(&r);
        text_add(&csv, "%.9g,%.9g,%.9g\n", a, b, a + 0.2 * rng_normal(&r));
    }
    put_file("t.csv", csv.chars, csv.length);
    text_free(&csv);
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 1\nbounds = %s\n"
             "[model]\ncondition = fixed\nlaw = spline\nblocks = 1\ndepth = 1\nwidth = 8\n"
             "[train]\nbatch = 50\nprecondition = 0\nanneal = 0\nepochs = 6\npatience = 0\nrate = 1e-2\n",
             test_path("t.csv"), bounds);
    run *trained = run_open(content);
    CHECK_STATUS(run_train(trained, NULL, 0), JF_OK);
    return trained;
}

/* Samples for one c, or with the seed's own numbers; returns how many points were beyond before they were
 * drawn again. */
static long sample_at(const model *m, long n, double c, uint64_t seed, double *x) {
    double *y = calloc((size_t)n, sizeof *y), *z = calloc((size_t)n * 2, sizeof *z),
           *first = calloc((size_t)n * 3, sizeof *first);
    jf_use_options use = {.size = sizeof(jf_use_options), .seed = seed};
    long again = 0;
    for (long i = 0; i < n; i++) y[i] = c;
    CHECK_STATUS(jf_sample(m, (size_t)n, y, x, NULL, z, &use), JF_OK);
    model_draw_latent(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, n, first);
    for (long i = 0; i < n; i++) again += z[2 * i] != first[3 * i];
    free(y), free(z), free(first);
    return again;
}

TEST(cut__samples_are_inside_and_those_that_were_not_are_drawn_again) {
    enum { N = 20000 };
    static double x[2 * N];
    run *r = cut_model("a=cut:0:1");
    long again = sample_at(r->m, N, 1, 4, x);
    CHECK(again > N / 100 && again < N); /* the posterior of c = 1 reaches over the end */
    int below = 0, above = 0, on_bounds = 0;
    for (int i = 0; i < N; i++) {
        below += x[2 * i] < 0;
        above += x[2 * i] > 1;
        on_bounds += x[2 * i] == 0 || x[2 * i] == 1;
    }
    CHECK(below == 0 && above == 0 && on_bounds == 0);
    run_close(r);
}

TEST(cut__a_sample_is_that_of_its_number_whatever_becomes_of_the_others) {
    enum { N = 3000, FEW = 700 };
    static double many[2 * N], few[2 * FEW];
    run *r = cut_model("a=cut:0:1");
    sample_at(r->m, N, 0.9, 5, many);
    sample_at(r->m, FEW, 0.9, 5, few);
    for (int i = 0; i < 2 * FEW; i++) CHECK(few[i] == many[i]);
    run_close(r);
}

/* log p at a grid of a and b, given c. */
static double integral(const jf_model *m, double c) {
    enum { GRID = 200 };
    static double x[2 * GRID * GRID], y[GRID * GRID], log_p[GRID * GRID];
    double sum = 0;
    for (int i = 0; i < GRID * GRID; i++) {
        x[2 * i] = (i % GRID + 0.5) / GRID;
        x[2 * i + 1] = 12 * ((i / GRID + 0.5) / GRID - 0.5);
        y[i] = c;
    }
    CHECK_STATUS(jf_density(m, GRID * GRID, x, y, log_p, NULL, NULL), JF_OK);
    for (int i = 0; i < GRID * GRID; i++) sum += exp(log_p[i]) * 12 / (GRID * GRID);
    return sum;
}

TEST(cut__a_density_integrates_to_1_over_the_support) {
    run *r = cut_model("a=cut:0:1");
    for (double c = -0.2; c <= 1.2; c += 0.35) CHECK_NEAR(integral(r->m, c), 1, 2e-2);
    run_close(r);
    r = cut_model("a=none"); /* what is drawn again would be missing */
    CHECK(integral(r->m, 1) < 0.98);
    run_close(r);
}

/* Among samples for different y the shares of each are found apart. */
TEST(cut__densities_of_rows_with_different_y_are_those_of_each_alone) {
    enum { ROWS = 300 };
    static double x[2 * ROWS], y[ROWS], together[ROWS];
    run *r = cut_model("a=cut:0:1");
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = 0.9;
        x[2 * i + 1] = 0;
        y[i] = 1.2 * (i / 3) / (ROWS / 3); /* three neighbours have one in common */
    }
    CHECK_STATUS(jf_density(r->m, ROWS, x, y, together, NULL, NULL), JF_OK);
    for (int i = 0; i < ROWS; i += 33) {
        double alone;
        CHECK_STATUS(jf_density(r->m, 1, x + 2 * i, y + i, &alone, NULL, NULL), JF_OK);
        CHECK_NEAR(together[i], alone, 0.15); /* by 128 points or 16,400 */
    }
    run_close(r);
}

/* A y of which the model has nothing inside: an answer on the bounds, with a warning, not an endless search.
 */
TEST(cut__a_y_far_beyond_the_data_is_answered_on_the_bounds_with_a_warning) {
    enum { N = 50 };
    static double x[2 * N];
    run *r = cut_model("a=cut:0:1");
    sample_at(r->m, N, 1e4, 6, x);
    for (int i = 0; i < N; i++) CHECK(x[2 * i] >= 0 && x[2 * i] <= 1);
    run_close(r);
}

TEST(cut__bounds_are_read_written_and_refused_as_others_are) {
    run *r = cut_model("a=cut:-0.5:1.5");
    const column_support *s = &r->m->units.support[0];
    CHECK(s->kind == SUPPORT_CUT && s->lo == -0.5 && s->hi == 1.5);
    double outside[2] = {1.6, 0}, y = 0.5, z[2];
    CHECK_STATUS(jf_encode(r->m, 1, outside, &y, z, NULL, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(r->m->ctx), "-0.5 to 1.5");
    run_close(r);
}
