#include "export_fixture.h"

#include "model/use.h"
#include "train_fixture.h"

#define DENSE "[data]\nset = crescents\n[model]\nblocks = 2\ndepth = 2\nwidth = 7\noutput_gain = 0.5\n"
#define RESIDUAL                                                                                             \
    "[data]\nset = crescents\n[model]\nblocks = 2\nnet = residual\nresidual = 2\nwidth = 8\noutput_gain = "  \
    "0.5\n"
#define RESNEXT                                                                                              \
    "[data]\nset = images\nimages = glyphs\ntask = superres\n"                                               \
    "[model]\nnet = resnext\nblocks = 2\nkernels = 8 4\ncardinality = 4 2\nresidual = 2\n"
#define ALL_KINDS "transforms = actnorm mixing coupling\n"

/* Bounds: any number, interval, above, below, circle, whole numbers between, from, up to, or of any size, a
 * constant. */
static const struct {
    char letter;
    column_support support;
} supports[] = {
    {'-', {.kind = SUPPORT_LINE}},
    {'i', {.kind = SUPPORT_INTERVAL, .lo = -2, .hi = 3}},
    {'e', {.kind = SUPPORT_UNIFORM, .lo = -2, .hi = 3}},
    {'a', {.kind = SUPPORT_ABOVE, .lo = -1}},
    {'b', {.kind = SUPPORT_BELOW, .hi = 4}},
    {'c', {.kind = SUPPORT_CIRCLE, .lo = 0, .hi = 6.25, .cut = 1.5}},
    {'w', {.kind = SUPPORT_WHOLE, .lo = 0, .hi = 9}},
    {'f', {.kind = SUPPORT_WHOLE, .lo = 0, .hi = INFINITY}},
    {'u', {.kind = SUPPORT_WHOLE, .lo = -INFINITY, .hi = 5}},
    {'n', {.kind = SUPPORT_WHOLE, .lo = -INFINITY, .hi = INFINITY}},
    {'k', {.kind = SUPPORT_CONSTANT, .lo = 1.75, .hi = 1.75}},
};

const export_case export_cases[] = {
    {"a_toy", DENSE, {2, 1, {0}}, NULL},
    {"the_shear_law", DENSE "law = shear\n", {4, 1, {0}}, NULL},
    {"the_additive_law", DENSE "law = additive\n", {3, 2, {0}}, NULL},
    {"the_spline_law", DENSE "law = spline\nbins = 5\nbound = 3\n", {3, 2, {0}}, NULL},
    {"a_gaussian_condition", DENSE "[loss]\nobjective = gaussian\n", {2, 2, {0}}, NULL},
    {"a_fixed_condition", DENSE "condition = fixed\n", {3, 2, {0}}, NULL},
    {"a_flow_of_the_condition", DENSE "condition = flow\nlaw = spline\n" ALL_KINDS, {3, 3, {0}}, "--i--c"},
    {"a_flow_of_one_number", DENSE "condition = flow\n", {2, 1, {0}}, "--a"},
    {"a_plain_flow", DENSE "[loss]\nobjective = plain\n", {3, 0, {0}}, "ib-"},
    {"uniform_columns", DENSE "law = spline\n", {3, 2, {0}}, "e-ee-"},
    {"constant_columns", DENSE "law = spline\ncondition = fixed\n", {3, 2, {0}}, "-kik-"},
    {"a_rule", "[model]\nblocks = 1\ndepth = 1\nwidth = 6\n[loss]\nobjective = rule\n", {2, 0, {0}}, NULL},
    {"a_rule_of_all_transforms",
     "[model]\nblocks = 2\nlaw = spline\nwidth = 6\n" ALL_KINDS "[loss]\nobjective = rule\n",
     {2, 0, {0}},
     NULL},
    {"a_table", RESIDUAL "law = spline\n" ALL_KINDS, {6, 4, {0}}, "iabcw-iaf-"},
    {"whole_numbers", RESIDUAL, {4, 2, {0}}, "wfunwn"},
    {"two_circles", DENSE, {3, 1, {0}}, "c-cc"},
    {"an_image", RESNEXT "gain = 0.5\nsqueeze = 1\n", {0, 0, {12, 12, 1, 1}}, NULL},
    {"an_image_of_colours",
     RESNEXT "gain = 0.1\nnorm = channel\nslope = 0.1\nlaw = spline\nbins = 4\n" ALL_KINDS,
     {0, 0, {4, 8, 3, 1}},
     NULL},
    {"an_image_with_a_fixed_condition",
     RESNEXT "gain = 0.5\ncondition = fixed\nlaw = additive\nsqueeze = 1\n",
     {0, 0, {8, 8, 1, 2}},
     NULL},
    {"an_image_with_a_flow_of_the_condition",
     RESNEXT "gain = 0.5\ncondition = flow\nsqueeze = 1\n" ALL_KINDS,
     {0, 0, {8, 8, 1, 1}},
     NULL},
    {0},
};

static column_support support_of(char letter) {
    for (size_t i = 0; i < sizeof supports / sizeof *supports; i++)
        if (supports[i].letter == letter) return supports[i].support;
    test_fail(__FILE__, __LINE__, "no support has the letter '%c'", letter);
}

/* Every parameter away from where it starts. */
static void disturb(model *m) {
    double *values = draw_normal(m->parameters.total, 0.1, 9), *start = weights_of(m);
    for (size_t i = 0; i < m->parameters.total; i++) values[i] = as_float(values[i] + start[i]);
    m->d->kind->put(m->d, m->params, values, m->parameters.total);
    free(values);
    free(start);
}

static model *model_of(jf_context *ctx, const export_case *c) {
    image_size image = c->sizes.image;
    int dim_x = image.h ? image.h * image.w * image.x_channels : c->sizes.dim_x;
    int dim_y = image.h ? image.h * image.w * image.y_channels : c->sizes.dim_y;
    size_t dim = (size_t)(dim_x + dim_y);
    double *mean = new_numbers(dim), *deviation = new_numbers(dim);
    column_support *support = calloc(dim, sizeof *support);
    for (size_t i = 0; i < dim; i++) {
        mean[i] = 0.5 * (double)(i % 4);
        deviation[i] = 1 + 0.3 * (double)(i % 3);
        support[i] = support_of(c->bounds ? c->bounds[i] : '-');
        if (support[i].kind == SUPPORT_UNIFORM || support[i].kind == SUPPORT_CONSTANT)
            mean[i] = 0, deviation[i] = 1; /* as its map makes them */
    }
    model_units units = {.dim_x = dim_x,
                         .dim_y = dim_y,
                         .image = image,
                         .mean = mean,
                         .deviation = deviation,
                         .support = c->bounds ? support : NULL};
    recipe *r = checked_recipe(ctx, c->recipe);
    model *m = NULL;
    if (model_create(ctx, &m, r, &units, "ref", 1, &(model_origin){.seed = 3}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    recipe_free(r);
    free(mean);
    free(deviation);
    free(support);
    disturb(m);
    return m;
}

/* The conditions: anywhere in the supports of y. */
static void draw_conditions(export_rig *r) {
    double *points = draw_normal(EXPORT_ROWS * r->dim_y, 1, 5);
    for (size_t i = 0; i < EXPORT_ROWS * r->dim_y; i++)
        r->y[i] = units_to_data(&r->m->units, (int)(r->dim_x + i % r->dim_y), points[i]);
    free(points);
}

/* One row at a time: the summary is then that of the row. */
static void ask_densities(export_rig *r) {
    for (size_t i = 0; i < EXPORT_ROWS; i++) {
        double paper;
        jf_density_summary summary = {.size = sizeof(jf_density_summary)};
        if (jf_density(r->m, 1, r->x + i * r->dim_x, r->y + i * r->dim_y, &paper, &summary, NULL) != JF_OK)
            test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
        r->log_p[i] = summary.whole_mean;
        r->y_error[i] = summary.y_error;
    }
}

export_rig *export_rig_open(const export_case *c) {
    export_rig *r = calloc(1, sizeof *r);
    CHECK_STATUS(jf_context_create(&r->ctx), JF_OK);
    r->m = model_of(r->ctx, c);
    r->dim_x = (size_t)r->m->units.dim_x;
    r->dim_y = (size_t)r->m->units.dim_y;
    r->seed = UINT64_C(0x123456789abcdef);
    double **of_x[] = {&r->z, &r->x, &r->z_out}, **of_y[] = {&r->y, &r->y_back, &r->y_out};
    double **of_row[] = {&r->log_p, &r->y_error};
    for (int i = 0; i < 3; i++) *of_x[i] = new_numbers(EXPORT_ROWS * r->dim_x);
    for (int i = 0; i < 3; i++) *of_y[i] = new_numbers(EXPORT_ROWS * r->dim_y);
    for (int i = 0; i < 2; i++) *of_row[i] = new_numbers(EXPORT_ROWS);
    draw_conditions(r);
    jf_use_options use = {.size = sizeof(jf_use_options), .seed = r->seed};
    CHECK_STATUS(jf_sample(r->m, EXPORT_ROWS, r->y, r->x, r->y_back, r->z, &use), JF_OK);
    CHECK_STATUS(jf_encode(r->m, EXPORT_ROWS, r->x, r->y, r->z_out, r->y_out, NULL), JF_OK);
    ask_densities(r);
    return r;
}

void export_rig_close(export_rig *r) {
    double *all[] = {r->y, r->z, r->x, r->y_back, r->z_out, r->y_out, r->log_p, r->y_error};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    model_free(r->m);
    jf_context_free(r->ctx);
    free(r);
}
