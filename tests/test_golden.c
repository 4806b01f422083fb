/* The golden values of tests/golden, written by an independent implementation in another framework: states,
 * log-determinants, loss terms and gradients of whole models, on every device. README.md there has the
 * format. */
#include "base/file.h"
#include "compute/compute.h"
#include "flow_fixture.h"
#include "io/json.h"
#include "io/npy.h"
#include "loss/loss.h"
#include <glob.h>

#define MAX_MASKS (64 * 16)

/* c in [-1, 1): splitmix64 at position k of a seed */
static double formula(uint64_t seed, uint64_t k) {
    uint64_t z = seed + (k + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z = z ^ (z >> 31);
    return 2 * ((double)(z >> 11) * 0x1p-53) - 1;
}

/* ---- reading a case ---- */

typedef struct golden {
    jf_context *ctx;
    json_t *root;
    const char *name;
    int n, dim_x, dim_y, dim, chain, depth, residual, layers, by_rule, is_image;
    uint8_t masks[MAX_MASKS]; /* (layers, chain) */
    table_list tables;        /* of its transforms */
} golden;

static const json_t *need(const golden *g, const char *key) {
    const json_t *value = json_object_get(g->root, key);
    if (!value) test_fail(__FILE__, __LINE__, "%s: \"%s\" is missing", g->name, key);
    return value;
}

static double number(const golden *g, const char *key) {
    return json_number_value(need(g, key));
}

static const char *words(const golden *g, const char *key) {
    return json_string_value(need(g, key));
}

/* A list of exactly `count` numbers, yours to free. */
static double *numbers(const golden *g, const char *key, size_t count) {
    const json_t *list = need(g, key);
    if (json_array_size(list) != count)
        test_fail(__FILE__, __LINE__, "%s: \"%s\" has %zu numbers, expected %zu", g->name, key,
                  json_array_size(list), count);
    double *values = new_numbers(count);
    for (size_t i = 0; i < count; i++) values[i] = json_number_value(json_array_get(list, i));
    return values;
}

/* Tables of transforms, each a list of whole numbers. */
static void read_tables(golden *g) {
    size_t tables = json_array_size(json_object_get(g->root, "table_names"));
    for (size_t i = 0; i < tables; i++) {
        const json_t *table = json_array_get(need(g, "tables"), i);
        int32_t values[MAX_MASKS];
        size_t count = json_array_size(table);
        CHECK(count <= MAX_MASKS);
        for (size_t k = 0; k < count; k++) values[k] = (int32_t)json_number_value(json_array_get(table, k));
        const char *name = json_string_value(json_array_get(need(g, "table_names"), i));
        CHECK_STATUS(tables_add(&g->tables, name, count, values), JF_OK);
    }
}

static golden golden_open(const char *path) {
    golden g = {.name = path};
    char *content = NULL;
    size_t size = 0;
    CHECK_STATUS(jf_context_create(&g.ctx), JF_OK);
    if (file_read(g.ctx, &content, &size, path, 1 << 24) != JF_OK ||
        json_read(g.ctx, &g.root, content, size, path) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(g.ctx));
    free(content);
    g.name = words(&g, "name");
    g.n = (int)number(&g, "n");
    g.dim_x = (int)number(&g, "dim_x");
    g.dim_y = (int)number(&g, "dim_y");
    g.dim = g.dim_x + g.dim_y;
    g.chain = json_object_get(g.root, "embed_size") ? g.dim_x + (int)number(&g, "embed_size") : g.dim;
    g.layers = (int)number(&g, "layers");
    g.by_rule = strcmp(words(&g, "objective"), "rule") == 0;
    g.is_image = json_object_get(g.root, "network") != NULL;
    g.tables.ctx = g.ctx;
    read_tables(&g);
    if (g.is_image) return g; /* masks follow from the sizes */
    g.depth = (int)number(&g, "depth");
    if (json_object_get(g.root, "dense_residual")) g.residual = (int)number(&g, "dense_residual");
    const json_t *masks = need(&g, "masks");
    CHECK(json_array_size(masks) == (size_t)g.layers && g.layers * g.chain <= MAX_MASKS);
    for (int i = 0; i < g.layers * g.chain; i++) {
        const json_t *mask = json_array_get(masks, (size_t)(i / g.chain));
        CHECK(json_array_size(mask) == (size_t)g.chain);
        g.masks[i] = json_number_value(json_array_get(mask, (size_t)(i % g.chain))) != 0;
    }
    return g;
}

static void golden_close(golden *g) {
    tables_clear(&g->tables);
    json_decref(g->root);
    jf_context_free(g->ctx);
}

/* ---- the same model ---- */

/* The transforms of a step; couplings alone where the case names none. */
static const char *transforms_of(const golden *g) {
    return json_object_get(g->root, "transforms") ? words(g, "transforms") : "coupling";
}

/* A key whose value is a list of numbers, which a JSON list holds. */
static int add_list(const golden *g, const char *key, const char *json_key, char *to, size_t size) {
    const json_t *list = need(g, json_key);
    int used = snprintf(to, size, "%s =", key);
    for (size_t i = 0; i < json_array_size(list); i++)
        used +=
            snprintf(to + used, size - (size_t)used, " %d", (int)json_number_value(json_array_get(list, i)));
    return used + snprintf(to + used, size - (size_t)used, "\n");
}

static void write_image_recipe(const golden *g, char *to, size_t size) {
    int used = snprintf(
        to, size,
        "[loss]\nobjective = joint\nlambda = %.17g\ndistance = %s\n[model]\nnet = resnext\n"
        "condition = %s\nblocks = %d\nresidual = %d\nnorm = %s\nslope = %.17g\ntransforms = %s\n",
        number(g, "lambda"), words(g, "distance"), words(g, "condition"), (int)number(g, "blocks"),
        (int)number(g, "residual_blocks"), words(g, "norm"), number(g, "leaky_slope"), transforms_of(g));
    used += add_list(g, "kernels", "net_channels", to + used, size - (size_t)used);
    used += add_list(g, "cardinality", "cardinality", to + used, size - (size_t)used);
    const json_t *squeeze = need(g, "squeeze");
    int squeezes = 0;
    for (size_t i = 0; i < json_array_size(squeeze); i++)
        if (json_number_value(json_array_get(squeeze, i)) != 0)
            used += snprintf(to + used, size - (size_t)used, squeezes++ ? " %d" : "squeeze = %d", (int)i + 1);
    snprintf(to + used, size - (size_t)used, "\n");
}

static void write_recipe(const golden *g, char *to, size_t size) {
    int fixed = strcmp(words(g, "condition"), "fixed") == 0;
    int used =
        snprintf(to, size, "[model]\nlaw = %s\ncondition = %s\nwidth = %d\nslope = %.17g\ntransforms = %s\n",
                 words(g, "law"), fixed ? "fixed" : "joint", (int)number(g, "width"),
                 number(g, "leaky_slope"), transforms_of(g));
    if (g->residual)
        used += snprintf(to + used, size - (size_t)used, "net = residual\nresidual = %d\n", g->residual);
    else
        used += snprintf(to + used, size - (size_t)used, "depth = %d\n", g->depth);
    if (json_object_get(g->root, "bins"))
        used += snprintf(to + used, size - (size_t)used, "bins = %d\nbound = %.17g\n", (int)number(g, "bins"),
                         number(g, "bound"));
    if (json_object_get(g->root, "embed_keys"))
        used += snprintf(to + used, size - (size_t)used, "%s", words(g, "embed_keys"));
    used += snprintf(to + used, size - (size_t)used, "[loss]\nobjective = %s\n", words(g, "objective"));
    if (json_object_get(g->root, "loss_keys")) { /* of objectives that have others than the first three */
        snprintf(to + used, size - (size_t)used, "%s\n", words(g, "loss_keys"));
        return;
    }
    if (g->by_rule)
        snprintf(to + used, size - (size_t)used, "lambda = %.17g\nrule = %s\nsize = %.17g\n",
                 number(g, "lambda"), words(g, "rule"), number(g, "rule_size"));
    else if (strcmp(words(g, "objective"), "plain") != 0)
        snprintf(to + used, size - (size_t)used, "lambda = %.17g\ndistance = %s\n", number(g, "lambda"),
                 words(g, "distance"));
}

/* Offset and factor of the formula for a parameter of a transform that is no coupling; 0: it is of one. A
 * shift is as the biases of networks. */
static int other_formula(const param *p, double *offset, double *gain) {
    static const char *const of_couplings[] = {".s", ".w", ".g", ".b"};
    const char *kind = strrchr(p->name, '.');
    for (int i = 0; i < 4; i++)
        if (strcmp(kind, of_couplings[i]) == 0) return 0;
    *offset = 0;
    *gain = 0.3;
    return 1;
}

/* The same of a dense flow's coupling. */
static void dense_formula(const golden *g, const param *p, double *offset, double *gain) {
    const char *kind = strrchr(p->name, '.');
    int is_shift = strcmp(kind, ".s") == 0 && strlen(p->name) > strlen("layer.000.s"); /* of a norm */
    int is_output = g->residual ? strncmp(kind - 3, "out", 3) == 0 : atoi(kind - 2) == g->depth;
    int is_spline = strcmp(words(g, "law"), "spline") == 0; /* whose pieces are to differ */
    *offset = (strcmp(kind, ".s") == 0 || strcmp(kind, ".g") == 0) && !is_shift;
    *gain = *offset ? 0.2 : is_shift ? 0.1 : 0.05;
    if (strncmp(p->name, "embed.", 6) == 0) is_output = 0;
    if (strcmp(kind, ".w") == 0)
        *gain = (!is_output ? 1 : is_spline ? 0.4 : 0.1) * sqrt(3.0 / (double)p->shape[0]);
}

/* The same of an image flow: convolutions "NAME.w" and ".b", norms "n0.g" and ".b". */
static void image_formula(const param *p, double *offset, double *gain) {
    const char *kind = strrchr(p->name, '.'), *owner = kind;
    while (owner > p->name && owner[-1] != '.') owner--;
    int is_scale = strcmp(kind, ".s") == 0 || strcmp(kind, ".g") == 0;
    *offset = is_scale;
    *gain = is_scale ? 0.2 : owner[0] == 'n' ? 0.1 : 0.05;
    if (strcmp(kind, ".w") == 0)
        *gain = (strncmp(owner, "out", 3) == 0 ? 0.2 : 0.7) *
                sqrt(3.0 / (double)(p->shape[0] * p->shape[1] * p->shape[2]));
}

/* Parameters by the formula, checked against the names, the sizes, the first few and the sum in the file. */
static void fill_parameters(const golden *g, flow_rig *r) {
    const param_list *list = r->flow->params;
    uint64_t seed = (uint64_t)number(g, "seed_parameters");
    CHECK((size_t)number(g, "parameters") == list->total);
    const json_t *names = need(g, "tensor_names");
    CHECK(json_array_size(names) == (size_t)list->count);
    double *sizes = numbers(g, "tensor_sizes", (size_t)list->count),
           *first = numbers(g, "parameters_first", 8), sum = 0;
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        CHECK_TEXT(p->name, json_string_value(json_array_get(names, (size_t)i)));
        CHECK(p->count == (size_t)sizes[i]);
        double gain, offset;
        if (!other_formula(p, &offset, &gain)) {
            if (g->is_image)
                image_formula(p, &offset, &gain);
            else
                dense_formula(g, p, &offset, &gain);
        }
        for (size_t k = p->offset; k < p->offset + p->count; k++)
            sum += r->values[k] = offset + gain * formula(seed, k);
    }
    CHECK_CLOSE(r->values, first, 8, 1e-14);
    CHECK_NEAR(sum, number(g, "parameters_sum"), 1e-9 * (double)list->total);
    rig_upload(r);
    free(sizes), free(first);
}

/* ---- comparing ---- */

/* Prints every error, so that a failure shows them all, and keeps the worst in proportion to what is allowed.
 */
typedef struct verdict {
    const golden *g;
    const char *device_name;
    double limit, worst;
    char worst_name[64];
} verdict;

static double worse(double a, double b) {
    return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

static void judge(verdict *v, const char *what, double error) {
    printf("%-4s %-16s %-24s %.2e\n", v->device_name, v->g->name, what, error);
    if (error <= v->worst) return;
    v->worst = worse(v->worst, error);
    snprintf(v->worst_name, sizeof v->worst_name, "%s", what);
}

static void judge_array(verdict *v, const char *key, const double *found, size_t count) {
    double *expected = numbers(v->g, key, count);
    judge(v, key, relative_error(found, expected, count));
    free(expected);
}

/* A state of an image flow: of each sample its norm, its projection on signs and its first 64 elements. */
static void judge_summary(verdict *v, const char *key, const double *found) {
    size_t n = (size_t)v->g->n, dim = (size_t)v->g->dim;
    char norms_key[64], signs_key[64], first_key[64];
    snprintf(norms_key, sizeof norms_key, "%s_norms", key);
    snprintf(signs_key, sizeof signs_key, "%s_signs", key);
    snprintf(first_key, sizeof first_key, "%s_first", key);
    double *norms = numbers(v->g, norms_key, n), *signs = numbers(v->g, signs_key, n);
    double *first = numbers(v->g, first_key, 64 * n);
    uint64_t seed = (uint64_t)number(v->g, "seed_signs");
    for (size_t s = 0; s < n; s++) {
        const double *row = found + s * dim;
        double dot = 0;
        for (size_t k = 0; k < dim; k++) dot += formula(seed, s * dim + k) < 0 ? -row[k] : row[k];
        judge(v, norms_key, fabs(norm_of(row, dim) - norms[s]) / norms[s]);
        judge(v, signs_key, fabs(dot - signs[s]) / (norms[s] * sqrt((double)dim)));
        judge(v, first_key, relative_error(row, first + 64 * s, 64));
    }
    free(norms), free(signs), free(first);
}

static void judge_term(verdict *v, const char *key, double found) {
    double expected = number(v->g, key);
    judge(v, key, fabs(found - expected) / fmax(1, fabs(expected)));
}

/* Every tensor against its norm and its projection on a vector of signs. */
static void judge_tensors(verdict *v, const flow_rig *r, const double *grad) {
    const param_list *list = r->flow->params;
    double *norms = numbers(v->g, "tensor_gradient_norms", (size_t)list->count);
    double *signs = numbers(v->g, "tensor_gradient_signs", (size_t)list->count), worst[2] = {0};
    double whole = number(v->g, "gradient_norm");
    uint64_t seed = (uint64_t)number(v->g, "seed_signs");
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        double dot = 0;
        for (size_t k = p->offset; k < p->offset + p->count; k++)
            dot += formula(seed, k) < 0 ? -grad[k] : grad[k];
        /* a sum of signs grows like the root of its length; a tensor that hardly counts need not be exact in
         * itself */
        double scale = fmax(norms[i], whole / sqrt((double)list->count));
        worst[0] = worse(worst[0], fabs(norm_of(grad + p->offset, p->count) - norms[i]) / scale);
        worst[1] = worse(worst[1], fabs(dot - signs[i]) / (scale * sqrt((double)p->count)));
    }
    judge(v, "tensor_gradient_norms", worst[0]);
    judge(v, "tensor_gradient_signs", worst[1]);
    judge(v, "gradient_norm", fabs(norm_of(grad, r->total) - whole) / whole);
    free(norms), free(signs);
}

/* The whole gradient, tensor by tensor and in all, where it is stored. */
static void judge_gradient(verdict *v, const flow_rig *r, const double *grad) {
    const char *file = words(v->g, "gradient_file");
    if (!*file) return;
    char path[512];
    double *expected = NULL, worst = 0;
    int rank = 0;
    size_t extents[NPY_MAX_RANK];
    snprintf(path, sizeof path, JF_TESTS_DIR "/golden/%s", file);
    if (npy_read(v->g->ctx, path, &expected, &rank, extents) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(v->g->ctx));
    CHECK(rank == 1 && extents[0] == r->total);
    double whole = norm_of(expected, r->total);
    for (int i = 0; i < r->flow->params->count; i++) {
        const param *p = &r->flow->params->items[i];
        double error = relative_error(grad + p->offset, expected + p->offset, p->count);
        double size = norm_of(expected + p->offset, p->count);
        /* rounding errors come with the largest tensors: tiny ones count in proportion */
        worst = worse(worst, error * size / fmax(size, whole / sqrt((double)r->flow->params->count)));
    }
    judge(v, "gradient of each tensor", worst);
    judge(v, "whole gradient", relative_error(grad, expected, r->total));
    free(expected);
}

static void check_case(golden *g, const char *device_name) {
    char content[1000];
    (g->is_image ? write_image_recipe : write_recipe)(g, content, sizeof content);
    rig_shape sizes = {.dim_x = g->dim_x, .dim_y = g->dim_y};
    if (g->is_image)
        sizes.image = (image_size){(int)number(g, "image_height"), (int)number(g, "image_width"),
                                   (int)number(g, "channels_x"), (int)number(g, "channels_y")};
    flow_origin origin = {
        .seed = 1, .masks = g->is_image ? NULL : g->masks, .steps = g->layers, .tables = &g->tables};
    flow_rig *r = rig_open_from(device_name, 2, content, &sizes, &origin, g->n);
    verdict v = {.g = g, .device_name = device_name, .limit = r->l->d->kind->real_size == 8 ? 1e-6 : 1e-4};
    fill_parameters(g, r);
    size_t n = (size_t)g->n, whole = n * (size_t)g->dim;
    double *points = new_numbers(whole), *state = new_numbers(whole), *logdet = new_numbers(n);
    for (size_t k = 0; k < whole; k++)
        state[k] = points[k] = 2 * formula((uint64_t)number(g, "seed_points"), k);
    size_t shown = g->is_image ? 8 : whole;
    double *stored = numbers(g, g->is_image ? "points_first" : "points", shown);
    CHECK_CLOSE(points, stored, shown, 1e-15);
    rig_forward(r, g->n, state, logdet);
    if (g->is_image)
        judge_summary(&v, "state", state);
    else
        judge_array(&v, "state", state, whole);
    judge_array(&v, "logdet", logdet, n);

    objective o;
    CHECK_STATUS(loss_create(r->l->ctx, &o, r->recipe, r->l->d, &r->params_list), JF_OK);
    flow_run_put(r->run, g->n, points);
    loss_terms terms = evaluate_batch(&o, r->run, g->n);
    judge_term(&v, "loss", terms.value[TERM_TOTAL]);
    judge_term(&v, "term_logdet", terms.value[TERM_LOGDET]);
    if (!g->by_rule) judge_term(&v, "term_z", terms.value[TERM_Z]);
    judge_term(&v, g->by_rule ? "term_rule" : "term_y", terms.value[TERM_Y]);
    double *dpoints = lab_get(r->l, r->run->dstate, whole), *grad = rig_grad(r);
    if (g->is_image)
        judge_summary(&v, "points_gradient", dpoints);
    else
        judge_array(&v, "points_gradient", dpoints, whole);
    judge_tensors(&v, r, grad);
    judge_gradient(&v, r, grad);
    if (!(v.worst <= v.limit))
        test_fail(__FILE__, __LINE__, "%s on %s: %s differs by %.3g, allowed %.3g", g->name, device_name,
                  v.worst_name, v.worst, v.limit);
    free(points), free(state), free(logdet), free(stored), free(dpoints), free(grad);
    loss_free(&o);
    rig_close(r);
}

static void check_all_cases(const char *device_name) {
    glob_t files;
    CHECK(glob(JF_TESTS_DIR "/golden/*.json", 0, NULL, &files) == 0);
    CHECK(files.gl_pathc >= 13);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        golden g = golden_open(files.gl_pathv[i]);
        check_case(&g, device_name);
        golden_close(&g);
    }
    globfree(&files);
}

TEST(golden__the_reference_agrees_with_the_other_framework) {
    check_all_cases("ref");
}

TEST(golden__the_other_devices_agree_with_the_other_framework) {
    FOR_EACH_DEVICE (d)
        if (strcmp(device_kinds[d]->name, "ref") != 0) check_all_cases(device_kinds[d]->name);
}
