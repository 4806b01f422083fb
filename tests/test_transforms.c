/* What single transforms promise beyond the general tests (test_flow.c, test_image.c, test_model.c run those over the list):
 * actnorm starts from data. */
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
    for (int d = 0; device_kinds[d]; d++) {
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
