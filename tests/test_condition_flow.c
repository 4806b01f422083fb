/* A flow of the condition: y is transformed by y alone, both ends are normal, and log p(x|y) is exact. */
#include "flow_fixture.h"

#include "judge/judge.h"
#include "model/use.h"
#include "train/train.h"

enum { N = 3 };

static const struct {
    const char *recipe;
    rig_shape sizes;
} cases[] = {
    {"[model]\ncondition = flow\nblocks = 2\ndepth = 2\nwidth = 6\noutput_gain = 0.5\n", {2, 1, {0}}},
    {"[model]\ncondition = flow\nblocks = 2\ndepth = 2\nwidth = 6\noutput_gain = 0.5\nlaw = spline\n",
     {1, 3, {0}}},
    {"[model]\ncondition = flow\nblocks = 2\ndepth = 1\nwidth = 6\noutput_gain = 0.5\ntransforms = actnorm "
     "mixing "
     "coupling\n",
     {4, 5, {0}}},
    {"[model]\nnet = resnext\ncondition = flow\nblocks = 2\nsqueeze = 1\nkernels = 4\ncardinality = "
     "2\nresidual = "
     "1\ngain = 0.5\n",
     {16, 16, {4, 4, 1, 1}}},
    {"[model]\nnet = resnext\ncondition = flow\nblocks = 1\nkernels = 4\ncardinality = 2\nresidual = 1\ngain "
     "= 0.5\n",
     {16, 32, {4, 4, 1, 2}}},
};
enum { CASES = sizeof cases / sizeof *cases };

static flow_rig *open_case(const char *device_name, int i) {
    return rig_open_from(device_name, 1, cases[i].recipe, &cases[i].sizes, &(flow_origin){.seed = 9}, N);
}

/* The block of a Jacobian (dim, dim) that rows and columns of x, or of y, make; states have x and y side by
 * side. */
static double log_det_of(const flow *f, const double *J, int of_y) {
    double block[64 * 64];
    int rows = 0, size = of_y ? f->dim_y : f->dim_x;
    for (int i = 0; i < f->dim; i++) {
        int columns = 0;
        if ((i % f->layout.channels >= f->layout.x_channels) != of_y) continue;
        for (int k = 0; k < f->dim; k++)
            if ((k % f->layout.channels >= f->layout.x_channels) == of_y)
                block[rows * size + columns++] = J[i * f->dim + k];
        rows++;
    }
    CHECK(rows == size);
    return log_determinant(block, size);
}

static void check_jacobian(int i) {
    flow_rig *r = open_case("ref", i);
    const flow *f = r->flow;
    size_t dim = (size_t)f->dim;
    double *u = draw_normal(N * dim, 1, 3), *J = new_numbers(N * dim * dim), found[2][N];
    CHECK(f->apart && !f->fixed);
    flow_run_put(r->run, N, u);
    flow_jacobian(r->run, N, f->dim, J);
    flow_run_put(r->run, N, u);
    flow_forward_apart(f, &r->run->pass, N, r->run->state, r->run->logdet, r->run->term);
    r->l->d->kind->get(r->l->d, found[0], r->run->logdet, N);
    r->l->d->kind->get(r->l->d, found[1], r->run->term, N);
    for (int s = 0; s < N; s++) {
        const double *of_sample = J + (size_t)s * dim * dim;
        double of_x = 0;
        for (size_t k = 0; k < dim * dim; k++) {
            int row_is_y = (int)(k / dim) % f->layout.channels >= f->layout.x_channels,
                column_is_y = (int)(k % dim) % f->layout.channels >= f->layout.x_channels;
            if (row_is_y && !column_is_y) CHECK(of_sample[k] == 0); /* y' does not see x */
            if (!row_is_y && column_is_y) of_x = fmax(of_x, fabs(of_sample[k]));
        }
        CHECK(of_x > 1e-3); /* and z sees y */
        CHECK_NEAR(found[0][s], log_det_of(f, of_sample, 0), 1e-9);
        CHECK_NEAR(found[1][s], log_det_of(f, of_sample, 1), 1e-9);
    }
    free(u), free(J);
    rig_close(r);
}

TEST(condition_flow__log_determinants_are_those_of_the_blocks_of_the_jacobian) {
    for (int i = 0; i < CASES; i++) check_jacobian(i);
}

TEST(condition_flow__y_alone_is_encoded_as_with_x) {
    FOR_EACH_DEVICE (d)
        for (int i = 0; i < CASES; i++) {
            flow_rig *r = open_case(device_kinds[d]->name, i);
            const flow *f = r->flow;
            size_t whole = (size_t)(N * f->dim);
            double *u = draw_normal(whole, 1, 4), *all = new_numbers(whole), *alone = new_numbers(whole);
            flow_run_put(r->run, N, u);
            flow_forward(f, &r->run->pass, N, r->run->state, r->run->logdet);
            flow_run_get(r->run, N, all);
            flow_run_put(r->run, N, u);
            flow_forward_y(f, &r->run->pass, N, r->run->state, r->run->logdet);
            flow_run_get(r->run, N, alone);
            for (size_t k = 0; k < whole; k++)
                if ((int)k % f->layout.channels >= f->layout.x_channels)
                    CHECK(all[k] == alone[k] && all[k] != u[k]);
                else
                    CHECK(alone[k] == u[k]);
            free(u), free(all), free(alone);
            rig_close(r);
        }
}

/* ---- the objective ---- */

typedef struct trainer {
    flow_rig *r;
    objective o;
    double *batch;
} trainer;

static trainer trainer_open(const char *device_name, int i) {
    trainer t = {.r = open_case(device_name, i)};
    CHECK_STATUS(loss_create(t.r->l->ctx, &t.o, t.r->recipe, t.r->l->d, &t.r->params_list), JF_OK);
    t.batch = draw_normal((size_t)(N * t.r->flow->dim), 1, 5);
    return t;
}

static void trainer_close(trainer *t) {
    free(t->batch);
    loss_free(&t->o);
    rig_close(t->r);
}

static loss_terms evaluate(trainer *t, int with_gradient) {
    t->r->run->pass.grad = with_gradient ? t->r->grad : NULL;
    flow_run_put(t->r->run, N, t->batch);
    return evaluate_batch(&t->o, t->r->run, N);
}

static double loss_of(void *arg) {
    trainer *t = arg;
    rig_upload(t->r);
    return evaluate(t, 0).value[TERM_TOTAL];
}

TEST(condition_flow__terms_are_the_likelihoods_of_x_given_y_and_of_y_on_every_device) {
    FOR_EACH_DEVICE (d)
        for (int i = 0; i < CASES; i++) {
            trainer exact = trainer_open("ref", i), t = trainer_open(device_kinds[d]->name, i);
            const flow *f = exact.r->flow;
            size_t dim = (size_t)f->dim;
            double *J = new_numbers(N * dim * dim), *v = new_numbers(N * dim), z = 0, y = 0, x = 0;
            flow_run_put(exact.r->run, N, exact.batch);
            flow_jacobian(exact.r->run, N, f->dim, J);
            flow_run_get(exact.r->run, N, v);
            for (size_t k = 0; k < N * dim; k++)
                *((int)k % f->layout.channels < f->layout.x_channels ? &z : &y) +=
                    (v[k] * v[k] + log(2 * M_PI)) / 2 / N;
            for (int s = 0; s < N; s++) {
                x -= log_det_of(f, J + (size_t)s * dim * dim, 0) / N;
                y -= log_det_of(f, J + (size_t)s * dim * dim, 1) / N;
            }
            loss_terms found = evaluate(&t, 0), with = evaluate(&t, 1);
            double allowed = 10 * device_tolerance(t.r->l->d) * (1 + fabs(z) + fabs(y) + fabs(x));
            CHECK_NEAR(found.value[TERM_Z], z, allowed);
            CHECK_NEAR(found.value[TERM_Y], y, allowed);
            CHECK_NEAR(found.value[TERM_LOGDET], x, allowed);
            CHECK(found.value[TERM_Y_ERROR] == 0 && memcmp(&found, &with, sizeof with) == 0);
            free(J), free(v);
            trainer_close(&t);
            trainer_close(&exact);
        }
}

TEST(condition_flow__gradient_is_that_of_finite_differences) {
    for (int i = 0; i < CASES; i++) {
        trainer t = trainer_open("ref", i);
        evaluate(&t, 1);
        double *grad = rig_grad(t.r), scale = 1;
        for (size_t k = 0; k < t.r->total; k++) scale = fmax(scale, fabs(grad[k]));
        rng lot = rng_stream((rng_key){.seed = (uint64_t)i, .purpose = RNG_TEST}, 0);
        for (int k = 0; k < t.r->flow->params->count; k++) { /* one number of every tensor */
            const param *p = &t.r->flow->params->items[k];
            size_t at = p->offset + rng_below(&lot, (uint32_t)p->count);
            double slope = slope_at(&t.r->values[at], loss_of, &t);
            if (!(fabs(slope - grad[at]) <= 1e-7 * scale))
                test_fail(__FILE__, __LINE__, "gradient of %s[%zu] is %.10g, by finite differences %.10g",
                          p->name, at - p->offset, grad[at], slope);
        }
        free(grad);
        trainer_close(&t);
    }
}

/* ---- models ---- */

#define SMALL "[model]\ncondition = flow\nblocks = 2\ndepth = 1\nwidth = 6\noutput_gain = 0.5\n"

static jf_status try_model(jf_context *ctx, model **m, const char *device_name, const char *content,
                           int dim_y, int classes) {
    double mean[8] = {0}, deviation[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    model_units units = {.dim_x = 2,
                         .dim_y = dim_y,
                         .mean = mean,
                         .deviation = deviation,
                         .classes = classes,
                         .label = {-1, 1}};
    recipe *r = NULL;
    *m = NULL;
    if (recipe_parse(ctx, &r, content, "test.recipe") != JF_OK || recipe_declare_all(r) != JF_OK ||
        recipe_check(r) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    if (dim_y > 0 && classes == 0)
        CHECK_STATUS(condition_range_alloc(ctx, &units.condition_range, dim_y), JF_OK);
    jf_status status = model_create(ctx, m, r, &units, device_name, 1, &(model_origin){.seed = 3});
    condition_range_free(units.condition_range);
    recipe_free(r);
    return status;
}

TEST(condition_flow__a_model_keeps_y_bit_for_bit_and_undoes_itself) {
    enum { ROWS = 40 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    FOR_EACH_DEVICE (d)
        for (int dim_y = 1; dim_y <= 4; dim_y += 3) {
            model *m;
            size_t dim = 2 + (size_t)dim_y, whole = ROWS * dim;
            CHECK_STATUS(try_model(ctx, &m, device_kinds[d]->name, "[data]\nset = sectors\n" SMALL, dim_y, 0),
                         JF_OK);
            double *start = draw_normal(whole, 1, 6), *rows = new_numbers(whole), logdet[2][ROWS];
            for (int inverse_first = 0; inverse_first < 2; inverse_first++) {
                memcpy(rows, start, whole * sizeof *rows);
                CHECK_STATUS((inverse_first ? model_inverse : model_forward)(m, ROWS, rows, logdet[0]),
                             JF_OK);
                for (size_t k = 0; k < whole; k++)
                    CHECK(k % dim < 2 ? rows[k] != start[k] : rows[k] == start[k]);
                CHECK_STATUS((inverse_first ? model_forward : model_inverse)(m, ROWS, rows, logdet[1]),
                             JF_OK);
                CHECK_CLOSE(rows, start, whole, 20 * device_tolerance(m->d));
                CHECK_CLOSE(logdet[0], logdet[1], ROWS, 20 * device_tolerance(m->d));
            }
            free(start), free(rows);
            model_free(m);
        }
    jf_context_free(ctx);
}

TEST(condition_flow__the_density_integrates_to_one_at_every_y_and_has_no_y_error) {
    enum { GRID = 80 };
    const double reach = 9, cell = 4 * reach * reach / (GRID * GRID);
    static double points[GRID * GRID * 3];
    jf_context *ctx = NULL;
    model *m;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(try_model(ctx, &m, "ref", "[data]\nset = sectors\n" SMALL, 1, 0), JF_OK);
    for (double y = -1; y <= 1; y += 2) {
        for (int i = 0; i < GRID * GRID; i++) {
            points[3 * i] = -reach + 2 * reach * (i % GRID + 0.5) / GRID;
            points[3 * i + 1] = -reach + 2 * reach * (i / GRID + 0.5) / GRID;
            points[3 * i + 2] = y;
        }
        densities d;
        double paper = 0;
        CHECK_STATUS(densities_create(m, &d, GRID * GRID, points, 1), JF_OK);
        for (int i = 0; i < GRID * GRID; i++) {
            paper += cell * exp(d.paper[i]);
            CHECK(d.paper[i] == d.sampler[i] && d.paper[i] == d.whole[i]);
        }
        CHECK(d.exact && d.lost == 0 && d.y_error == 0 && d.log_dy == 0);
        CHECK_NEAR(paper, 1, 2e-3);
        densities_free(&d);
    }
    model_free(m);
    jf_context_free(ctx);
}

TEST(condition_flow__labels_are_refused_unless_noise_makes_numbers_of_them) {
    jf_context *ctx = NULL;
    model *m;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(try_model(ctx, &m, "ref", "[data]\nset = crescents\n" SMALL, 1, 2), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "one of 2 labels");
    CHECK_HAS(jf_context_error(ctx), "train.y_noise above 0");
    CHECK_STATUS(
        try_model(ctx, &m, "ref", "[data]\nset = crescents\n" SMALL "[train]\ny_noise = 0.1\n", 1, 2), JF_OK);
    model_free(m);
    CHECK_STATUS(
        try_model(ctx, &m, "ref", "[data]\nset = sectors\n" SMALL "[loss]\nobjective = gaussian\n", 1, 0),
        JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "loss.objective = gaussian");
    jf_context_free(ctx);
}

TEST(condition_flow__a_model_from_its_file_gives_the_same_bits) {
    enum { ROWS = 10 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int dim_y = 1; dim_y <= 4; dim_y += 3) {
        model *m, *again = NULL;
        const char *path = test_path("model.safetensors");
        size_t whole = ROWS * (2 + (size_t)dim_y);
        double *rows[2] = {draw_normal(whole, 1, 8), draw_normal(whole, 1, 8)};
        CHECK_STATUS(try_model(ctx, &m, "cpu", "[data]\nset = sectors\n" SMALL, dim_y, 0), JF_OK);
        CHECK_STATUS(model_save(m, path), JF_OK);
        if (model_load(ctx, &again, path, "cpu", 1, recipe_declare_all) != JF_OK)
            test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
        CHECK_STATUS(model_inverse(m, ROWS, rows[0], NULL), JF_OK);
        CHECK_STATUS(model_inverse(again, ROWS, rows[1], NULL), JF_OK);
        CHECK(memcmp(rows[0], rows[1], whole * sizeof(double)) == 0);
        free(rows[0]), free(rows[1]);
        model_free(m);
        model_free(again);
    }
    jf_context_free(ctx);
}
