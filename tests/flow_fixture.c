#include "flow_fixture.h"
#include "loss/loss.h"

/* ---- numbers ---- */

double as_float(double value) {
    return (double)(float)value;
}

double *new_numbers(size_t count) {
    double *values = calloc(count ? count : 1, sizeof *values);
    CHECK(values);
    return values;
}

double *draw_normal(size_t count, double scale, uint64_t seed) {
    double *values = new_numbers(count);
    rng r = rng_stream((rng_key){.seed = seed, .purpose = RNG_TEST}, 0);
    for (size_t i = 0; i < count; i++) values[i] = as_float(scale * rng_normal(&r));
    return values;
}

double norm_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] * values[i];
    return sqrt(sum);
}

double relative_error(const double *found, const double *expected, size_t count) {
    double sum = 0, scale = norm_of(expected, count);
    for (size_t i = 0; i < count; i++) sum += (found[i] - expected[i]) * (found[i] - expected[i]);
    double error = sqrt(sum) / (scale > 0 ? scale : 1);
    return isfinite(error) ? error : INFINITY;
}

/* By elimination with pivots. */
double log_determinant(const double *matrix, int dim) {
    double *a = new_numbers((size_t)(dim * dim)), sum = 0;
    memcpy(a, matrix, sizeof(double) * (size_t)(dim * dim));
    for (int k = 0; k < dim; k++) {
        int pivot = k;
        for (int i = k; i < dim; i++)
            if (fabs(a[i * dim + k]) > fabs(a[pivot * dim + k])) pivot = i;
        for (int j = 0; j < dim; j++) {
            double moved = a[k * dim + j];
            a[k * dim + j] = a[pivot * dim + j];
            a[pivot * dim + j] = moved;
        }
        sum += log(fabs(a[k * dim + k]));
        for (int i = k + 1; i < dim; i++) {
            double factor = a[i * dim + k] / a[k * dim + k];
            for (int j = k; j < dim; j++) a[i * dim + j] -= factor * a[k * dim + j];
        }
    }
    free(a);
    return sum;
}

double device_tolerance(const device *d) {
    if (d->kind->real_size == sizeof(double)) return 1e-12;
    return strcmp(d->kind->name, "cuda") == 0
               ? 5e-5
               : 1e-5; /* its exp and tanh are off by 2 units of the last place */
}

/* ---- a device and what was put on it ---- */

void skip_missing_device(const device_kind *kind) {
    char why[256];
    if (!device_is_missing(kind, why, sizeof why)) return;
    fprintf(stderr, "device %s: %s\n", kind->name, why);
    SKIP("this machine lacks the device");
}

lab *lab_open(const char *device_name, int threads) {
    lab *l = calloc(1, sizeof *l);
    CHECK(l);
    CHECK_STATUS(jf_context_create(&l->ctx), JF_OK);
    if (device_open(l->ctx, &l->d, device_name, threads) != JF_OK)
        test_fail(__FILE__, __LINE__, "device \"%s\": %s", device_name, jf_context_error(l->ctx));
    return l;
}

void lab_clear(lab *l) {
    CHECK_STATUS(l->d->kind->status(l->d), JF_OK);
    for (int i = 0; i < l->owned_count; i++) l->d->kind->release(l->d, l->owned[i]);
    for (int i = 0; i < l->map_count; i++) l->d->kind->release_map(l->d, l->maps[i]);
    l->owned_count = l->map_count = 0;
}

void lab_close(lab *l) {
    lab_clear(l);
    device_close(l->d);
    jf_context_free(l->ctx);
    free(l);
}

real *lab_new(lab *l, size_t count) {
    CHECK(l->owned_count < (int)(sizeof l->owned / sizeof *l->owned));
    real **p = &l->owned[l->owned_count];
    CHECK_STATUS(l->d->kind->alloc(l->d, p, count), JF_OK);
    l->owned_count++;
    return *p;
}

real *lab_put(lab *l, const double *values, size_t count) {
    real *p = lab_new(l, count);
    l->d->kind->put(l->d, p, values, count);
    return p;
}

real *lab_fill(lab *l, double value, size_t count) {
    real *p = lab_new(l, count);
    l->d->kind->fill(l->d, p, value, count);
    return p;
}

int32_t *lab_map(lab *l, const int32_t *map, size_t count) {
    CHECK(l->map_count < (int)(sizeof l->maps / sizeof *l->maps));
    int32_t **p = &l->maps[l->map_count];
    CHECK_STATUS(l->d->kind->alloc_map(l->d, p, map, count), JF_OK);
    l->map_count++;
    return *p;
}

double *lab_get(lab *l, const real *from, size_t count) {
    double *values = new_numbers(count);
    l->d->kind->get(l->d, values, from, count);
    return values;
}

double largest_difference(device *d, const real *a, const real *b, size_t count) {
    scalar *s = NULL;
    double largest = NAN;
    CHECK_STATUS(d->kind->alloc_scalars(d, &s, 1), JF_OK);
    d->kind->largest_difference_into(d, s, a, b, count);
    d->kind->get_scalars(d, &largest, s, 1);
    d->kind->release_scalars(d, s);
    return largest;
}

/* ---- finite differences ---- */

double slope_at(double *x, scalar_fn f, void *arg) {
    const double start = *x, h = 1e-6;
    *x = start + h;
    double above = f(arg), span = *x;
    *x = start - h;
    double below = f(arg);
    span -= *x; /* 2h as it was really taken */
    *x = start;
    return (above - below) / span;
}

void check_gradient(const char *what, double *x, size_t count, const double *gradient, scalar_fn f, void *arg,
                    double tolerance) {
    double scale = 1;
    for (size_t i = 0; i < count; i++) scale = fmax(scale, fabs(gradient[i]));
    for (size_t i = 0; i < count; i++) {
        double slope = slope_at(&x[i], f, arg);
        if (!(fabs(slope - gradient[i]) <= tolerance * scale))
            test_fail(__FILE__, __LINE__, "%s[%zu] is %.10g, by finite differences %.10g (scale %.3g)", what,
                      i, gradient[i], slope, scale);
    }
}

/* ---- a flow on a device ---- */

int transforms_to_try(int k, char to[TRANSFORMS_TEXT]) {
    if (!transform_kinds[k]) return 0;
    const char *name = transform_kinds[k]->name;
    snprintf(to, TRANSFORMS_TEXT, strcmp(name, "coupling") == 0 ? "%s" : "%s coupling", name);
    return 1;
}

loss_terms evaluate_batch(const objective *o, flow_run *run, int n) {
    device *d = run->pass.d;
    scalar *sums = NULL;
    loss_terms terms;
    CHECK_STATUS(d->kind->alloc_scalars(d, &sums, TERM_COUNT), JF_OK);
    o->kind->evaluate(o, run, n, 1.0 / n, sums);
    d->kind->get_scalars(d, terms.value, sums, TERM_COUNT);
    d->kind->release_scalars(d, sums);
    loss_terms_total(&terms);
    return terms;
}

recipe *recipe_of(jf_context *ctx, const char *content) {
    recipe *r = NULL;
    if (recipe_parse(ctx, &r, content, "test.recipe") != JF_OK || flow_declare(r) != JF_OK ||
        loss_declare(r) != JF_OK || recipe_check(r) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", content, jf_context_error(ctx));
    return r;
}

/* Scales around 1, biases around 0, weights as they start. */
static void draw_parameters(flow_rig *r, uint64_t seed) {
    const param_list *list = r->flow->params;
    CHECK_STATUS(params_initialise(list, seed, r->values), JF_OK);
    double *noise = draw_normal(r->total, 0.2, seed + 1);
    for (int i = 0; i < list->count; i++)
        for (size_t k = list->items[i].offset; k < list->items[i].offset + list->items[i].count; k++)
            if (list->items[i].init == INIT_CONSTANT) r->values[k] += noise[k];
    for (size_t k = 0; k < r->total; k++) r->values[k] = as_float(r->values[k]);
    free(noise);
}

/* Parameters, gradients and buffers of a flow that is there. */
static flow_rig *rig_fill(flow_rig *r, int n_max, uint64_t seed) {
    r->total = r->flow->params->total;
    r->values = new_numbers(r->total);
    r->params = lab_new(r->l, r->total);
    r->grad = lab_new(r->l, r->total);
    draw_parameters(r, seed);
    rig_upload(r);
    CHECK_STATUS(
        flow_run_create(&r->run, r->flow, r->params, r->grad, n_max, (run_use){.backward = 1, .keep_mib = 0}),
        JF_OK);
    return r;
}

flow_rig *rig_open_from(const char *device_name, int threads, const char *recipe_text, const rig_shape *sizes,
                        const flow_origin *origin, int n_max) {
    flow_rig *r = calloc(1, sizeof *r);
    CHECK(r);
    r->l = lab_open(device_name, threads);
    r->recipe = recipe_of(r->l->ctx, recipe_text);
    r->params_list.ctx = r->l->ctx;
    jf_context *ctx = r->l->ctx;
    jf_status status = sizes->image.h ? flow_create_image(ctx, &r->flow, r->l->d, r->recipe, &r->params_list,
                                                          "", sizes->image, origin)
                                      : flow_create(ctx, &r->flow, r->l->d, r->recipe, &r->params_list, "",
                                                    sizes->dim_x, sizes->dim_y, origin);
    if (status != JF_OK) test_fail(__FILE__, __LINE__, "%s: %s", recipe_text, jf_context_error(ctx));
    return rig_fill(r, n_max, origin->seed);
}

flow_rig *rig_open(const char *device_name, int threads, const char *recipe_text, int dim_x, int dim_y,
                   const uint8_t *masks, int layers, int n_max, uint64_t seed) {
    flow_origin origin = {.seed = seed, .masks = masks, .steps = layers};
    return rig_open_from(device_name, threads, recipe_text, &(rig_shape){.dim_x = dim_x, .dim_y = dim_y},
                         &origin, n_max);
}

flow_rig *rig_open_image(const char *device_name, int threads, const char *recipe_text, image_size size,
                         int n_max, uint64_t seed) {
    return rig_open_from(device_name, threads, recipe_text, &(rig_shape){.image = size},
                         &(flow_origin){.seed = seed}, n_max);
}

void rig_keep(flow_rig *r, double mib) {
    int n_max = r->run->n_max;
    flow_run_free(r->run);
    CHECK_STATUS(flow_run_create(&r->run, r->flow, r->params, r->grad, n_max,
                                 (run_use){.backward = 1, .keep_mib = mib}),
                 JF_OK);
}

void rig_close(flow_rig *r) {
    flow_run_free(r->run);
    flow_free(r->flow);
    params_free(&r->params_list);
    recipe_free(r->recipe);
    lab_close(r->l);
    free(r->values);
    free(r);
}

void rig_upload(flow_rig *r) {
    r->l->d->kind->put(r->l->d, r->params, r->values, r->total);
}

typedef void (*way_fn)(const flow *f, const pass *p, int n, real *state, real *logdet);

static void go(flow_rig *r, way_fn way, int n, double *state, double *logdet) {
    const device_kind *k = r->l->d->kind;
    k->fill(r->l->d, r->run->logdet, NAN, (size_t)n); /* overwritten, not added to */
    flow_run_put(r->run, n, state);
    way(r->flow, &r->run->pass, n, r->run->state, r->run->logdet);
    flow_run_get(r->run, n, state);
    k->get(r->l->d, logdet, r->run->logdet, (size_t)n);
}

void rig_forward(flow_rig *r, int n, double *state, double *logdet) {
    go(r, flow_forward, n, state, logdet);
}

void rig_inverse(flow_rig *r, int n, double *state, double *logdet) {
    go(r, flow_inverse, n, state, logdet);
}

void rig_backward(flow_rig *r, int n, double *state, double *dstate, const double *dlogdet) {
    device *d = r->l->d;
    size_t whole = (size_t)n * (size_t)r->flow->dim;
    flow_run_put(r->run, n, state);
    d->kind->put(d, r->run->dstate, dstate, whole);
    d->kind->put(d, r->run->dlogdet, dlogdet, (size_t)n);
    flow_backward(r->flow, &r->run->pass, n, r->run->state, r->run->dstate, r->run->dlogdet);
    flow_run_get(r->run, n, state);
    d->kind->get(d, dstate, r->run->dstate, whole);
}

double *rig_grad(flow_rig *r) {
    return lab_get(r->l, r->grad, r->total);
}
