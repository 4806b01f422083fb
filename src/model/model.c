#include "model/model.h"
#include "base/memory.h"
#include "base/number.h"
#include "types/label_formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

jf_status model_declare(recipe *r) {
    JF_TRY(flow_declare(r));
    return loss_declare(r);
}

jf_status model_create(jf_context *ctx, model **out, const recipe *r, const model_units *units,
                       const char *device_name, int threads, const model_origin *origin) {
    device *d;
    *out = NULL;
    JF_TRY(device_open(ctx, &d, device_name, threads));
    return model_create_on(ctx, out, r, units, d, origin);
}

static jf_status model_new(jf_context *ctx, model **out, device *d, const model_origin *origin) {
    jf_status status = MEM_NEW(ctx, out, 1);
    if (status == JF_OK)
        **out = (model){.ctx = context_hold(ctx),
                        .d = d,
                        .seed = origin->seed,
                        .parameters = {.ctx = ctx, .check = origin->check, .check_with = origin->check_with}};
    else
        device_close(d);
    return status;
}

/* A flow of the condition learns its density, which labels have not, unless noise makes numbers of them. */
static jf_status check_condition(const recipe *r, const model_units *units) {
    if (!recipe_is(r, "model.condition", "flow") || units->classes == 0 || units->dim_y == 0) return JF_OK;
    if (recipe_real(r, "train.y_noise") > 0 || recipe_real(r, "train.noise") > 0) return JF_OK;
    return recipe_fail(
        r, "model.condition",
        "found flow, which learns the density of y, but y is one of %d labels, which have none; expected "
        "joint or fixed, or train.y_noise above 0, which makes numbers of labels",
        units->classes);
}

static jf_status create_flow(model *m, const flow_origin *origin) {
    const model_units *u = &m->units;
    if (u->image.h > 0)
        return flow_create_image(m->ctx, &m->flow, m->d, m->recipe, &m->parameters, "", u->image, origin);
    return flow_create(m->ctx, &m->flow, m->d, m->recipe, &m->parameters, "", u->dim_x, u->dim_y, origin);
}

/* All parameters are found in the file before anything is made for one of them. */
static jf_status check_parameters(model *m, const flow_origin *origin) {
    m->parameters.only_names = 1;
    jf_status status = create_flow(m, origin);
    flow_free(m->flow);
    m->flow = NULL;
    params_free(&m->parameters);
    m->parameters = (param_list){.ctx = m->parameters.ctx};
    return status;
}

jf_status model_create_on(jf_context *ctx, model **out, const recipe *r, const model_units *units, device *d,
                          const model_origin *origin) {
    *out = NULL;
    model *m;
    double *values = NULL;
    jf_status status;
    JF_TRY(model_new(ctx, &m, d, origin));
    JF_TRY_DONE(spare_run_create(ctx, &m->spare));
    JF_TRY_DONE(recipe_clone(&m->recipe, r));
    JF_TRY_DONE(units_copy(ctx, &m->units, units));
    JF_TRY_DONE(loss_create(ctx, &m->objective, r, m->d, &m->parameters));
    JF_TRY_DONE(loss_check_shape(&m->objective, units->dim_x, units->dim_y));
    flow_origin of_flow = {
        .seed = origin->seed, .masks = origin->masks, .steps = origin->steps, .tables = origin->tables};
    of_flow.y_read =
        units->classes > 0 ? units->image.y_channels : 0; /* every pixel of a label is the same */
    JF_TRY_DONE(check_condition(r, units));
    JF_TRY_DONE(loss_limit_masks(&m->objective, r, &of_flow.keep_y));
    if (m->parameters.check) JF_TRY_DONE(check_parameters(m, &of_flow));
    JF_TRY_DONE(create_flow(m, &of_flow));
    JF_TRY_DONE(m->d->kind->alloc(m->d, &m->params, m->parameters.total));
    if (!origin->from_file) {
        JF_TRY_DONE(MEM_NEW(ctx, &values, m->parameters.total));
        JF_TRY_DONE(params_initialise(&m->parameters, origin->seed, values));
        m->d->kind->put(m->d, m->params, values, m->parameters.total);
    }
    JF_TRY_DONE(model_set_trained(m, ""));
    free(values);
    *out = m;
    return JF_OK;
done:
    free(values);
    model_free(m);
    return status;
}

void model_free(model *m) {
    if (!m) return;
    spare_run_free(m->spare);
    if (m->params) m->d->kind->release(m->d, m->params);
    flow_free(m->flow);
    loss_free(&m->objective);
    params_free(&m->parameters);
    device_close(m->d);
    recipe_free(m->recipe);
    units_free(&m->units);
    free(m->trained);
    free(m->folder);
    jf_context_free(m->ctx);
    free(m);
}

int model_was_cut_short(const model *m) {
    return strstr(m->trained, MODEL_CUT_SHORT) != NULL;
}

jf_status model_set_trained(model *m, const char *sentence) {
    free(m->trained);
    m->trained = NULL;
    return mem_copy_text(m->ctx, &m->trained, sentence);
}

const char *model_then(const model *m) {
    const char *then = m->units.image.h > 0 ? recipe_get(m->recipe, "data.then") : NULL;
    return then && strcmp(then, "none") != 0 ? then : NULL;
}

static jf_status copy_names(jf_context *ctx, char ***to, char *const *from, size_t dim) {
    JF_TRY(MEM_NEW(ctx, to, dim + 1)); /* ends with NULL */
    for (size_t i = 0; i < dim; i++) JF_TRY(mem_copy_text(ctx, &(*to)[i], from[i]));
    return JF_OK;
}

static jf_status copy_arrays(jf_context *ctx, model_units *to, const model_units *from) {
    size_t dim = (size_t)(from->dim_x + from->dim_y);
    JF_TRY(MEM_NEW(ctx, &to->mean, dim));
    JF_TRY(MEM_NEW(ctx, &to->deviation, dim));
    memcpy(to->mean, from->mean, dim * sizeof(double));
    memcpy(to->deviation, from->deviation, dim * sizeof(double));
    if (from->support) JF_TRY(MEM_NEW(ctx, &to->support, dim));
    if (from->support) memcpy(to->support, from->support, dim * sizeof *to->support);
    if (from->condition_range) JF_TRY(condition_range_copy(ctx, &to->condition_range, from->condition_range));
    return from->names ? copy_names(ctx, &to->names, from->names, dim) : JF_OK;
}

jf_status units_copy(jf_context *ctx, model_units *to, const model_units *from) {
    *to = *from;
    to->mean = to->deviation = NULL;
    to->support = NULL;
    to->condition_range = NULL;
    to->names = NULL;
    jf_status status = copy_arrays(ctx, to, from);
    if (status != JF_OK) units_free(to);
    return status;
}

void units_free(model_units *u) {
    for (int i = 0; u->names && u->names[i]; i++) free(u->names[i]);
    free(u->names);
    free(u->support);
    condition_range_free(u->condition_range);
    free(u->mean);
    free(u->deviation);
    u->mean = u->deviation = NULL;
    u->support = NULL;
    u->condition_range = NULL;
    u->names = NULL;
}

double units_to_model(const model_units *u, int element, double value) {
    double t = u->support ? support_to_line(&u->support[element], value) : value;
    return (t - u->mean[element]) / u->deviation[element];
}

double units_to_data(const model_units *u, int element, double value) {
    double t = value * u->deviation[element] + u->mean[element];
    return u->support ? support_from_line(&u->support[element], t) : t;
}

void units_standardise(const model_units *u, int n, double *xy) {
    int dim = u->dim_x + u->dim_y;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < dim; i++) xy[s * dim + i] = units_to_model(u, i, xy[s * dim + i]);
}

void units_unstandardise(const model_units *u, int n, double *xy) {
    int dim = u->dim_x + u->dim_y;
    for (size_t s = 0; s < (size_t)n; s++)
        for (int i = 0; i < dim; i++) xy[s * dim + i] = units_to_data(u, i, xy[s * dim + i]);
}

double units_log_volume_at(const model_units *u, const double *row) {
    double sum = units_log_volume(u);
    for (int i = 0; u->support && i < u->dim_x; i++)
        sum += support_log_slope(&u->support[i], row[i] * u->deviation[i] + u->mean[i]);
    return sum;
}

double units_log_volume(const model_units *u) {
    double sum = 0;
    for (int i = 0; i < u->dim_x; i++) sum += log(u->deviation[i]);
    return sum;
}

const char *units_word_of_label(const model_units *u, double label) {
    int k = units_class_of_label(u, label);
    double number;
    if (k < 0 || !u->class_name[k][0]) return NULL;
    int is_number = number_scan(u->class_name[k], &number) == strlen(u->class_name[k]) && number == label;
    return is_number ? NULL : u->class_name[k];
}

int units_find_class(const model_units *u, const char *name) {
    for (int i = 0; i < u->classes; i++)
        if (u->class_name[i][0] && strcmp(u->class_name[i], name) == 0) return i;
    return -1;
}

int units_planes(const model_units *u) {
    int each = u->image.h > 0 ? u->image.y_channels : u->dim_y;
    return u->classes > 1 && each == u->classes ? u->classes : 0;
}

/* What label_element() takes: with planes the number of the class, which is straight between and beyond
 * labels. */
static double code_of_label(const model_units *u, double label) {
    int below = 0;
    if (units_planes(u) == 0) return label;
    while (below < u->classes - 2 && u->label[below + 1] <= label) below++;
    return below + (label - u->label[below]) / (u->label[below + 1] - u->label[below]);
}

void units_fill_y(const model_units *u, double label, double *y) {
    double code = code_of_label(u, label);
    for (int i = 0; i < u->dim_y; i++) y[i] = label_element(code, units_planes(u), i);
}

void units_list_classes(const model_units *u, text *out) {
    char digits[NUMBER_SIZE];
    for (int k = 0; k < u->classes; k++) {
        number_shortest(digits, u->label[k]);
        text_add(out, "%s%s", k ? ", " : "", u->class_name[k][0] ? u->class_name[k] : digits);
    }
}

int units_class_of_label(const model_units *u, double label) {
    for (int k = 0; k < u->classes; k++)
        if (u->label[k] == label) return k;
    return -1;
}

/* Of one pixel, or of a vector. */
static double distance_of_class(const model_units *u, const double *y, int c) {
    int planes = units_planes(u), elements = planes ? planes : 1;
    double apart = 0;
    for (int i = 0; i < elements; i++)
        apart = fmax(apart, fabs(y[i] - label_element(planes ? c : u->label[c], planes, i)));
    return apart;
}

static int nearest_class(const model_units *u, const double *y) {
    int best = 0;
    for (int c = 1; c < u->classes; c++)
        if (distance_of_class(u, y, c) < distance_of_class(u, y, best)) best = c;
    return best;
}

/* Less is what a device's floats leave of a y that was kept. */
#define LABEL_ROUNDING 1e-5

double units_label_of(const model_units *u, const double *y) {
    double sum = 0;
    int planes = units_planes(u), c = planes ? nearest_class(u, y) : 0;
    if (planes == 0) return y[0];
    if (distance_of_class(u, y, c) < LABEL_ROUNDING) return u->label[c];
    for (int k = 0; k < u->classes; k++) sum += u->label[k] * y[k];
    return sum;
}

int units_class_of(const model_units *u, const double *y) {
    for (int c = 0; c < u->classes; c++)
        if (distance_of_class(u, y, c) < 1e-9) return c;
    return -1;
}
