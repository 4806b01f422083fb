/* What single transforms promise beyond the general tests (test_flow.c, test_image.c, test_model.c run those
 * over the list): actnorm starts from data, a mixing starts as a permutation and keeps it with the model. */
#include "compute/compute.h"
#include "flow_fixture.h"

#define SMALL "[model]\nblocks = 1\ndepth = 1\nwidth = 4\noutput_gain = 0.5\n"

/* Parameters as a fresh model has them. */
static void begin(flow_rig *r, uint64_t seed) {
    CHECK_STATUS(params_initialise(r->flow->params, seed, r->values), JF_OK);
    rig_upload(r);
}

/* The state (n, dim) after the first `layers` layers; yours to free. */
static double *after(flow_rig *r, int n, const double *start, int layers) {
    double *state = new_numbers((size_t)(n * r->flow->dim));
    flow_run_put(r->run, n, start);
    for (int i = 0; i < layers; i++)
        r->flow->chain[i].kind->forward(&r->flow->chain[i], &r->run->pass, n, r->run->state, r->run->logdet);
    flow_run_get(r->run, n, state);
    return state;
}

/* Mean and deviation of every `step`-th number from `first` on. */
static void moments(const double *values, size_t count, size_t first, size_t step, double *mean,
                    double *deviation) {
    double rows = (double)(count / step), sum = 0, squares = 0;
    for (size_t i = first; i < count; i += step) sum += values[i] / rows;
    for (size_t i = first; i < count; i += step) squares += (values[i] - sum) * (values[i] - sum) / rows;
    *mean = sum;
    *deviation = sqrt(squares);
}

/* ---- actnorm ---- */

enum { N = 300 };

/* Points with other means and deviations for each of so many elements or channels, one of them constant. */
static double *points_of(size_t count, size_t channels, size_t constant) {
    double *points = draw_normal(count, 1, 5);
    for (size_t i = 0; i < count; i++) {
        double k = (double)(i % channels);
        points[i] = i % channels == constant ? 5 : as_float(3 - 2 * k + (0.1 + k) * points[i]);
    }
    return points;
}

/* After the actnorm at a place of the chain: x is standardised, the constant is 0, y is as it was before. */
static void check_standardised(flow_rig *r, const double *points, int place, size_t constant) {
    size_t channels = (size_t)r->flow->layout.channels, x = (size_t)r->flow->layout.x_channels,
           count = (size_t)(N * r->flow->dim);
    double *before = after(r, N, points, place), *found = after(r, N, points, place + 1);
    double tolerance = 100 * device_tolerance(r->l->d), mean, deviation;
    for (size_t k = 0; k < x; k++) {
        moments(found, count, k, channels, &mean, &deviation);
        CHECK_NEAR(mean, 0, tolerance);
        if (place > 0 || k != constant) CHECK_NEAR(deviation, 1, tolerance);
        if (place == 0 && k == constant) CHECK_NEAR(deviation, 0, tolerance);
    }
    for (size_t i = 0; i < count; i++)
        if (i % channels >= x) CHECK(found[i] == before[i]);
    free(before), free(found);
}

static void check_start(flow_rig *r, const char *what) {
    size_t channels = (size_t)r->flow->layout.channels;
    double *points = points_of((size_t)(N * r->flow->dim), channels, 1);
    begin(r, 3);
    flow_run_put(r->run, N, points);
    CHECK(flow_has_start(r->flow));
    if (flow_start(r->run, N, r->params) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", what, jf_context_error(r->l->ctx));
    check_standardised(r, points, 0, 1);
    check_standardised(r, points, 2, 1); /* of the next step: by what the first one leaves */
    free(points);
    rig_close(r);
}

TEST(actnorm__starts_with_x_of_mean_0_and_deviation_1_and_leaves_y) {
    FOR_EACH_DEVICE (d) {
        const char *name = device_kinds[d]->name;
        for (int fixed = 0; fixed < 2; fixed++) {
            char content[200];
            snprintf(content, sizeof content, SMALL "transforms = actnorm coupling\ncondition = %s\n",
                     fixed ? "fixed" : "joint");
            check_start(rig_open(name, 2, content, 3, 2, NULL, 0, N, 7), "vectors");
            snprintf(
                content, sizeof content,
                "[model]\nnet = resnext\nblocks = 2\nsqueeze = 1\nkernels = 2\ncardinality = 1\nresidual "
                "= 1\ntransforms = actnorm coupling\ncondition = %s\n",
                fixed ? "fixed" : "joint");
            check_start(rig_open_image(name, 2, content, (image_size){8, 4, 2, 1}, N, 7), "images");
        }
    }
}

TEST(actnorm__parameters_of_a_squeezed_image_are_those_of_its_channels) {
    flow_rig *r = rig_open_image("ref", 1,
                                 "[model]\nnet = resnext\nblocks = 2\nsqueeze = 1\nkernels = 2\n"
                                 "cardinality = 1\nresidual = 1\ntransforms = actnorm coupling\n",
                                 (image_size){8, 4, 2, 1}, 1, 7);
    const param_list *list = r->flow->params;
    size_t sizes[2] = {0, 0};
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, "layer.000.actnorm.a") == 0) sizes[0] = list->items[i].count;
        if (strcmp(list->items[i].name, "layer.008.actnorm.b") == 0) sizes[1] = list->items[i].count;
    }
    CHECK(sizes[0] == 3 && sizes[1] == 6);
    rig_close(r);
}

/* ---- mixing ---- */

static const char mixing_recipe[] = SMALL "transforms = mixing coupling\n";

TEST(mixing__starts_as_a_permutation_of_x) {
    enum { ROWS = 4, DIM_X = 6, DIM = 8 };
    int moved = 0;
    flow_rig *r = rig_open("ref", 1, mixing_recipe, DIM_X, DIM - DIM_X, NULL, 0, ROWS, 11);
    begin(r, 11);
    double *start = draw_normal(ROWS * DIM, 1, 9);
    for (int layer = 0; layer < r->flow->layers; layer += 2) {
        const transform *t = &r->flow->chain[layer];
        const flow_table *p = &r->flow->tables.items[layer / 2];
        CHECK_TEXT(t->kind->name, "mixing");
        CHECK(p->count == DIM);
        flow_run_put(r->run, ROWS, start);
        double state[ROWS * DIM], logdet[ROWS];
        r->l->d->kind->fill(r->l->d, r->run->logdet, 0, ROWS);
        t->kind->forward(t, &r->run->pass, ROWS, r->run->state, r->run->logdet);
        flow_run_get(r->run, ROWS, state);
        r->l->d->kind->get(r->l->d, logdet, r->run->logdet, ROWS);
        for (int i = 0; i < ROWS * DIM; i++) {
            int row = i / DIM * DIM, place = p->values[i % DIM];
            CHECK(state[row + place] == start[i]);
            CHECK(i % DIM < DIM_X ? place < DIM_X : place == i % DIM);
            moved += place != i % DIM;
        }
        for (int i = 0; i < ROWS; i++) CHECK(logdet[i] == 0);
    }
    CHECK(moved > 0);
    const flow_table *tables = r->flow->tables.items;
    CHECK_TEXT(tables[1].name, "layer.002.mixing.p");
    CHECK(memcmp(tables[0].values, tables[1].values, DIM * sizeof(int32_t)) != 0 ||
          memcmp(tables[1].values, tables[2].values, DIM * sizeof(int32_t)) != 0);
    free(start);
    rig_close(r);
}

TEST(mixing__permutations_follow_from_the_seed) {
    flow_rig *r[3];
    for (int i = 0; i < 3; i++) r[i] = rig_open("ref", 1, mixing_recipe, 9, 1, NULL, 0, 1, i < 2 ? 4 : 5);
    int same = 1;
    for (int t = 0; t < r[0]->flow->tables.count; t++) {
        const int32_t *p = r[0]->flow->tables.items[t].values;
        CHECK(memcmp(p, r[1]->flow->tables.items[t].values, 10 * sizeof *p) == 0);
        same &= memcmp(p, r[2]->flow->tables.items[t].values, 10 * sizeof *p) == 0;
    }
    CHECK(!same);
    for (int i = 0; i < 3; i++) rig_close(r[i]);
}

static jf_status create_with(lab *l, const int32_t *p, size_t count, flow **f) {
    static const uint8_t mask[] = {1, 0, 0};
    recipe *r = recipe_of(l->ctx, mixing_recipe);
    param_list params = {.ctx = l->ctx};
    table_list tables = {.ctx = l->ctx};
    if (p) CHECK_STATUS(tables_add(&tables, "layer.000.mixing.p", count, p), JF_OK);
    jf_status status = flow_create(l->ctx, f, l->d, r, &params, "", 2, 1,
                                   &(flow_origin){.masks = mask, .steps = 1, .tables = &tables});
    if (status == JF_OK) CHECK(memcmp((*f)->tables.items[0].values, p, count * sizeof *p) == 0);
    flow_free(*f);
    *f = NULL;
    tables_clear(&tables);
    params_free(&params);
    recipe_free(r);
    return status;
}

TEST(mixing__takes_the_permutation_of_a_file_and_refuses_what_is_none) {
    static const struct {
        int32_t p[3];
        size_t count;
        const char *message;
    } bad[] = {{{0, 1, 2}, 2, "has 2 numbers, expected 3"},
               {{0, 0, 2}, 3, "has 0 at 1, expected every number from 0 to 2 once"},
               {{3, 0, 2}, 3, "has 3 at 0"},
               {{-1, 0, 2}, 3, "has -1 at 0"},
               {{0, 2, 1}, 3, "moves y, from 2 to 1"}};
    lab *l = lab_open("ref", 1);
    flow *f = NULL;
    CHECK_STATUS(create_with(l, (int32_t[]){1, 0, 2}, 3, &f), JF_OK);
    CHECK_STATUS(create_with(l, (int32_t[]){0, 1, 2}, 3, &f), JF_OK);
    CHECK_STATUS(create_with(l, NULL, 0, &f), JF_ERROR_FORMAT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(create_with(l, bad[i].p, bad[i].count, &f), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(l->ctx), "layer.000.mixing.p");
        CHECK_HAS(jf_context_error(l->ctx), bad[i].message);
    }
    lab_close(l);
}

TEST(mixing__of_too_many_elements_is_refused) {
    lab *l = lab_open("ref", 1);
    recipe *r = recipe_of(l->ctx, mixing_recipe);
    param_list params = {.ctx = l->ctx};
    flow *f = NULL;
    CHECK_STATUS(flow_create(l->ctx, &f, l->d, r, &params, "", 200, 57, &(flow_origin){0}), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(l->ctx), "mixing goes up to 256 elements or channels, found 257");
    params_free(&params);
    recipe_free(r);
    lab_close(l);
}
