/* Parameters start as their list says, and models come back from their files as they were saved. */
#include "base/file.h"
#include "compute/compute.h"
#include "flow_fixture.h"
#include "model/model.h"
#include "model/use.h"

/* ---- initial values ---- */

/* rows or columns, whichever are fewer, are orthogonal to each other and as long as the gain */
static void check_orthogonal(const param *p, const double *w) {
    size_t rows = p->shape[0], columns = p->shape[1], few = rows < columns ? rows : columns;
    size_t many = rows < columns ? columns : rows;
    for (size_t i = 0; i < few; i++)
        for (size_t j = 0; j <= i; j++) {
            double dot = 0;
            for (size_t k = 0; k < many; k++)
                dot += rows < columns ? w[i * columns + k] * w[j * columns + k]
                                      : w[k * columns + i] * w[k * columns + j];
            CHECK_NEAR(dot, i == j ? p->gain * p->gain : 0, 1e-13);
        }
}

static void add_matrix(param_list *list, const char *name, size_t rows, size_t columns, double gain) {
    size_t offset = 0;
    CHECK_STATUS(params_add(list, &offset, name, 2, (size_t[]){rows, columns}, INIT_ORTHOGONAL, gain), JF_OK);
    CHECK(offset + rows * columns == list->total);
}

TEST(params__matrices_start_orthogonal_with_their_gain) {
    static const size_t sizes[] = {1, 2, 3, 16, 17, 64};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    param_list list = {.ctx = ctx};
    size_t offset = 0;
    for (int i = 0; i < 36; i++) add_matrix(&list, "m", sizes[i / 6], sizes[i % 6], i % 2 ? 0.1 : 1.5);
    add_matrix(&list, "twin of the last", 64, 64, 0.1);
    CHECK_STATUS(params_add(&list, &offset, "b", 1, (size_t[]){5}, INIT_CONSTANT, 0.25), JF_OK);
    double *values[3];
    for (int i = 0; i < 3; i++) {
        values[i] = new_numbers(list.total);
        CHECK_STATUS(params_initialise(&list, i < 2 ? 7 : 8, values[i]), JF_OK);
    }
    for (int i = 0; i < 36; i++) check_orthogonal(&list.items[i], values[0] + list.items[i].offset);
    for (size_t k = 0; k < 5; k++) CHECK(values[0][offset + k] == 0.25);
    CHECK(memcmp(values[0], values[1], list.total * sizeof(double)) == 0); /* the seed decides */
    CHECK(memcmp(values[0], values[2], list.total * sizeof(double)) != 0);
    const double *twins[2] = {values[0] + list.items[35].offset, values[0] + list.items[36].offset};
    CHECK(memcmp(twins[0], twins[1], 64 * 64 * sizeof(double)) != 0); /* each has numbers of its own */
    for (int i = 0; i < 3; i++) free(values[i]);
    params_free(&list);
    jf_context_free(ctx);
}

TEST(params__of_a_flow_have_the_names_and_gains_of_the_recipe) {
    flow_rig *r =
        rig_open("ref", 1, "[model]\nblocks = 1\ndepth = 2\nwidth = 5\nhidden_gain = 2\noutput_gain = 0.25\n",
                 2, 1, NULL, 0, 1, 3);
    const param_list *list = r->flow->params;
    CHECK(list->count == 6 * (1 + 2 * 2 * 3));
    static const char *const names[] = {"layer.000.s",      "layer.000.A.00.w", "layer.000.A.00.b",
                                        "layer.000.A.01.w", "layer.000.A.01.b", "layer.000.A.02.w",
                                        "layer.000.A.02.b", "layer.000.B.00.w"};
    static const double gains[] = {1, 2, 0, 2, 0, 0.25, 0, 2};
    size_t expected = 0;
    for (int i = 0; i < 8; i++) {
        CHECK_TEXT(list->items[i].name, names[i]);
        CHECK(list->items[i].gain == gains[i] && list->items[i].offset == expected);
        expected += list->items[i].count;
    }
    CHECK_TEXT(list->items[list->count - 1].name, "layer.005.B.02.b");
    double *values = new_numbers(list->total);
    CHECK_STATUS(params_initialise(list, 3, values), JF_OK);
    const double *a = values + list->items[3].offset,
                 *b = values + list->items[9].offset; /* hidden layers of A and B */
    CHECK(memcmp(a, b, 25 * sizeof(double)) != 0);
    free(values);
    rig_close(r);
}

/* ---- a model to save ---- */

static const char recipe_text[] = "[loss]\nlambda = 12.5\n"
                                  "[model]\nblocks = 1\ndepth = 2\nwidth = 5\nlaw = shear\nslope = 0.2\n";

/* The same with number k of the transforms to try; 0: there are no more. One more is a chain of two
 * couplings. */
static int recipe_number(int k, char to[320]) {
    char transforms[TRANSFORMS_TEXT] = "coupling coupling";
    if (k > 0 && !transforms_to_try(k - 1, transforms)) return 0;
    snprintf(to, 320, "%stransforms = %s\n", recipe_text, transforms);
    return 1;
}

static model_units units_of(double *mean, double *deviation) {
    model_units u = {
        .dim_x = 2, .dim_y = 1, .mean = mean, .deviation = deviation, .classes = 2, .label = {-1, 2.5}};
    snprintf(u.class_name[0], MAX_CLASS_NAME, "left");
    snprintf(u.class_name[1], MAX_CLASS_NAME, "right hand");
    return u;
}

static model *model_new(jf_context *ctx, const char *device_name, const char *content) {
    double mean[] = {0.5, -1.25, 1.0 / 3}, deviation[] = {2, 0.1, 1.5};
    model_units units = units_of(mean, deviation);
    recipe *r = recipe_of(ctx, content);
    model *m = NULL;
    if (!loss_kind(r)->from_data) units.dim_y = units.classes = 0;
    if (model_create(ctx, &m, r, &units, device_name, 2, &(model_origin){.seed = 41}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(ctx));
    CHECK_STATUS(model_set_trained(m, "three epochs, \"well\""), JF_OK);
    recipe_free(r);
    return m;
}

static double *weights_of(const model *m) {
    double *values = new_numbers(m->flow->params->total);
    m->d->kind->get(m->d, values, m->params, m->flow->params->total);
    return values;
}

/* Everything but the weights; returns 0 with the first difference in `what`. */
static int same_model(const model *a, const model *b, const char **what) {
    const model_units *u = &a->units, *v = &b->units;
    size_t dim = (size_t)a->flow->dim;
    *what = "shape";
    if (a->flow->dim_x != b->flow->dim_x || a->flow->dim_y != b->flow->dim_y ||
        a->flow->layers != b->flow->layers)
        return 0;
    *what = "masks";
    if (memcmp(a->flow->masks, b->flow->masks, (size_t)a->flow->steps * dim) != 0) return 0;
    *what = "tables";
    if (a->flow->tables.count != b->flow->tables.count) return 0;
    for (int i = 0; i < a->flow->tables.count; i++) {
        const flow_table *s = &a->flow->tables.items[i], *t = &b->flow->tables.items[i];
        if (strcmp(s->name, t->name) != 0 || s->count != t->count ||
            memcmp(s->values, t->values, s->count * sizeof *s->values) != 0)
            return 0;
    }
    *what = "units";
    if (u->dim_x != v->dim_x || u->dim_y != v->dim_y || u->classes != v->classes) return 0;
    if (memcmp(u->mean, v->mean, dim * sizeof(double)) ||
        memcmp(u->deviation, v->deviation, dim * sizeof(double)))
        return 0;
    for (int i = 0; i < u->classes; i++)
        if (u->label[i] != v->label[i] || strcmp(u->class_name[i], v->class_name[i]) != 0) return 0;
    *what = "sentence, seed or objective";
    if (strcmp(a->trained, b->trained) != 0 || a->seed != b->seed || a->objective.kind != b->objective.kind)
        return 0;
    if (strcmp(recipe_name(a->recipe), recipe_name(b->recipe)) != 0) return 0;
    *what = "recipe";
    text s = {0}, t = {0};
    recipe_write(a->recipe, &s, 0);
    recipe_write(b->recipe, &t, 0);
    int same = strcmp(s.chars, t.chars) == 0;
    text_free(&s);
    text_free(&t);
    return same;
}

static int same_weights(const model *a, const model *b) {
    size_t total = a->flow->params->total;
    double *v = weights_of(a), *w = weights_of(b);
    int same = total == b->flow->params->total && memcmp(v, w, total * sizeof *v) == 0;
    free(v), free(w);
    return same;
}

static void check_same(const model *a, const model *b) {
    const char *what;
    if (!same_model(a, b, &what)) test_fail(__FILE__, __LINE__, "another %s after loading", what);
}

static void check_comes_back(const char *content, const char *device_name) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    const char *path = test_path("m.safetensors");
    model *saved = model_new(ctx, device_name, content), *loaded = NULL;
    CHECK_STATUS(model_save(saved, path), JF_OK);
    CHECK_STATUS(model_load(ctx, &loaded, path, device_name, 1, model_declare), JF_OK);
    check_same(saved, loaded);
    CHECK(same_weights(saved, loaded));
    CHECK_TEXT(loaded->trained, "three epochs, \"well\"");
    CHECK(units_find_class(&loaded->units, "right hand") == 1 && units_find_class(&loaded->units, "x") == -1);
    model_free(saved);
    model_free(loaded);
    jf_context_free(ctx);
}

TEST(model__comes_back_from_its_file_with_the_same_bits) {
    char content[320];
    for (int k = 0; recipe_number(k, content); k++)
        FOR_EACH_DEVICE (d) check_comes_back(content, device_kinds[d]->name);
}

/* Weights are drawn, so that no transform is as it starts. */
static void check_agrees_on_another(const char *content, const char *from, const char *to) {
    enum { N = 100 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    const char *path = test_path("m.safetensors");
    model *saved = model_new(ctx, from, content), *loaded = NULL;
    size_t total = saved->parameters.total;
    double *weights = weights_of(saved), *noise = draw_normal(total, 0.1, 3);
    for (size_t i = 0; i < total; i++) weights[i] = as_float(weights[i] + noise[i]);
    saved->d->kind->put(saved->d, saved->params, weights, total);
    CHECK_STATUS(model_save(saved, path), JF_OK);
    CHECK_STATUS(model_load(ctx, &loaded, path, to, 2, model_declare), JF_OK);
    check_same(saved, loaded);
    double *a = draw_normal(N * 3, 1, 1), *b = draw_normal(N * 3, 1, 1), logdet[2][N];
    CHECK_STATUS(model_forward(saved, N, a, logdet[0]), JF_OK);
    CHECK_STATUS(model_forward(loaded, N, b, logdet[1]), JF_OK);
    CHECK_CLOSE(b, a, N * 3, 1e-5);
    CHECK_CLOSE(logdet[1], logdet[0], N, 1e-5);
    free(a), free(b), free(weights), free(noise);
    model_free(saved);
    model_free(loaded);
    jf_context_free(ctx);
}

TEST(model__saved_on_one_device_agrees_on_another) {
    char content[320];
    for (int k = 0; recipe_number(k, content); k++)
        FOR_EACH_DEVICE (from)
            FOR_EACH_DEVICE (to)
                check_agrees_on_another(content, device_kinds[from]->name, device_kinds[to]->name);
}

/* ---- files that are not what they should be ---- */

/* The file of a small model, whole in memory. */
static char *saved_bytes(jf_context *ctx, const char *content, size_t *size) {
    char *bytes = NULL;
    const char *path = test_path("good.safetensors");
    model *m = model_new(ctx, "cpu", content);
    CHECK_STATUS(model_save(m, path), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, size, path, 1 << 24), JF_OK);
    model_free(m);
    return bytes;
}

static void put_bytes(const char *path, const char *bytes, size_t size) {
    remove(path);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Harmless flips exist: blanks of the header. They must not change the model. */
static void check_flips(const char *content) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    size_t size = 0, refused = 0, tried = 0;
    char *bytes = saved_bytes(ctx, content, &size);
    const char *path = test_path("flipped.safetensors"), *what;
    model *good = model_new(ctx, "cpu", content);
    rng random = rng_stream((rng_key){.seed = 6, .purpose = RNG_TEST}, 0);
    for (size_t at = 0; at < size; at += 1 + rng_below(&random, 40), tried++) {
        model *m = NULL;
        char flip = (char)(1 << rng_below(&random, 8));
        bytes[at] ^= flip;
        put_bytes(path, bytes, size);
        if (model_load(ctx, &m, path, "cpu", 1, model_declare) != JF_OK) {
            CHECK(m == NULL);
            CHECK_HAS(jf_context_error(ctx), "flipped.safetensors");
            refused++;
        } else if (!same_model(good, m, &what) || !same_weights(good, m)) {
            test_fail(__FILE__, __LINE__, "byte %zu of %zu flipped: read as another model", at, size);
        }
        model_free(m);
        bytes[at] ^= flip;
    }
    CHECK(tried > 200 && refused > tried * 9 / 10);
    model_free(good);
    free(bytes);
    jf_context_free(ctx);
}

TEST(model_file__no_flipped_byte_goes_unseen) {
    char content[320];
    for (int k = 0; recipe_number(k, content); k++) check_flips(content);
}

/* Writes the good file again with one thing changed, and checks the refusal. */
typedef struct change {
    const char *note, *value; /* a note with another value; value NULL: without it */
    const char *without;      /* a tensor that is left out */
    const char *reshaped;     /* a tensor of two dimensions with its extents swapped */
    const char *renumbered;   /* a tensor whose first number becomes -1 */
    const char *infinite;     /* a tensor whose first number becomes infinite */
    int as_it_is;             /* a recipe does not get the keys that it lacks */
    const char *message[2];   /* parts of the refusal */
} change;

/* A recipe of a change, with the defaults of the keys that it does not name; one that is wrong as it is. */
static void complete_recipe(jf_context *ctx, const char *value, text *out) {
    recipe *r = NULL;
    CHECK_STATUS(recipe_parse(ctx, &r, value, "change"), JF_OK);
    CHECK_STATUS(model_declare(r), JF_OK);
    if (recipe_check(r) == JF_OK)
        recipe_write(r, out, 0);
    else
        text_add(out, "%s", value);
    recipe_free(r);
}

static jf_status load_changed(jf_context *ctx, const change *c, model **out) {
    static const char *const keys[] = {"jointflow.format", "recipe",      "recipe_name", "seed",
                                       "trained",          "class_names", "chain",       "columns"};
    enum { NOTES = sizeof keys / sizeof *keys };
    tensor_file *file = NULL;
    tensor tensors[256];
    tensor_note notes[NOTES];
    text complete = {0};
    double minus_one[128] = {-1, 1, 1}, infinity[128] = {INFINITY, 1, 1};
    int32_t whole_minus_one[3] = {-1, 1, 2};
    size_t count = 0, note_count = 0;
    const char *path = test_path("changed.safetensors");
    CHECK_STATUS(tensors_read(ctx, &file, test_path("good.safetensors")), JF_OK);
    for (size_t i = 0; i < tensors_count(file); i++) {
        tensor t = *tensors_at(file, i);
        if (c->without && strcmp(t.name, c->without) == 0) continue;
        if (c->reshaped && strcmp(t.name, c->reshaped) == 0) {
            size_t swapped = t.shape[0];
            t.shape[0] = t.shape[1];
            t.shape[1] = swapped;
        }
        if (c->renumbered && strcmp(t.name, c->renumbered) == 0)
            t.data = t.type == TENSOR_F64 ? (const void *)minus_one : whole_minus_one;
        if (c->infinite && strcmp(t.name, c->infinite) == 0) t.data = infinity;
        CHECK(count < 256);
        tensors[count++] = t;
    }
    for (int i = 0; i < NOTES; i++) {
        int changed = c->note && strcmp(keys[i], c->note) == 0;
        const char *value = changed ? c->value : tensors_note(file, keys[i]);
        if (changed && value && strcmp(keys[i], "recipe") == 0 && !c->as_it_is) {
            complete_recipe(ctx, value, &complete);
            value = complete.chars;
        }
        if (value) notes[note_count++] = (tensor_note){keys[i], value};
    }
    CHECK_STATUS(
        tensors_write_summed(ctx, path, tensors, count, notes, note_count, TENSORS_CONTENT_SUM, file_replace),
        JF_OK);
    text_free(&complete);
    tensors_free(file);
    return model_load(ctx, out, path, "cpu", 1, model_declare);
}

static void check_refusals(const char *content, const change *changes, size_t count) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    size_t size = 0;
    model *m = NULL;
    free(saved_bytes(ctx, content, &size));
    CHECK_STATUS(load_changed(ctx, &(change){0}, &m), JF_OK);
    model_free(m);
    for (size_t i = 0; i < count; i++) {
        jf_status status = load_changed(ctx, &changes[i], &m);
        if (status == JF_OK) test_fail(__FILE__, __LINE__, "change %zu was accepted", i);
        CHECK(m == NULL);
        CHECK_HAS(jf_context_error(ctx), changes[i].message[0]);
        CHECK_HAS(jf_context_error(ctx), changes[i].message[1]);
        if (!changes[i].value) CHECK_HAS(jf_context_error(ctx), "changed.safetensors");
    }
    jf_context_free(ctx);
}

TEST(model_file__what_does_not_fit_is_refused_and_named) {
    static const change changes[] = {
        {.note = "jointflow.format",
         .value = "8",
         .message = {"a model of format 8, expected 7: ", "a later jointflow wrote it"}},
        {.note = "jointflow.format",
         .value = "6",
         .message = {"a model of format 6, expected 7: an earlier jointflow wrote it",
                     "train the model again with this version"}},
        {.note = "jointflow.format", .value = "x", .message = {"format \"x\"", "expected 7"}},
        {.note = "jointflow.format", .message = {"not a jointflow model", "\"jointflow.format\" is missing"}},
        {.note = "recipe", .message = {"\"recipe\" is missing", ""}},
        {.note = "recipe_name", .message = {"\"recipe_name\" is missing", ""}},
        {.note = "seed", .message = {"\"seed\" is missing", ""}},
        {.note = "trained", .message = {"\"trained\" is missing", ""}},
        {.note = "class_names", .message = {"\"class_names\" is missing", ""}},
        {.note = "class_names", .value = "left", .message = {"\"class_names\"", "names 1, expected 2"}},
        {.note = "class_names", .value = "a\nb\nc", .message = {"\"class_names\"", "names 3, expected 2"}},
        {.note = "columns", .message = {"\"columns\" is missing", ""}},
        {.note = "columns", .value = "a\nb", .message = {"\"columns\"", "names 2, expected 3"}},
        {.note = "recipe", .value = "[model]\ndepht = 2\n", .message = {"depht", ""}},
        {.note = "recipe",
         .value = "[model]\nblocks = 1\nwidth = 6\ndepth = 2\nlaw = shear\n",
         .message = {"tensor \"layer.000.A.00.w\"", ", 5), expected ("}},
        {.without = "layer.003.B.01.b", .message = {"tensor \"layer.003.B.01.b\" is missing", ""}},
        {.without = "masks", .message = {"\"masks\" is missing", ""}},
        {.without = "units.mean", .message = {"\"units.mean\" is missing", ""}},
        {.without = "units.labels", .message = {"\"units.labels\" is missing", ""}},
        {.without = "units.support", .message = {"\"units.support\" is missing", ""}},
        {.without = "units.dims", .message = {"\"units.dims\" is missing", ""}},
        {.reshaped = "layer.002.A.02.w", .message = {"tensor \"layer.002.A.02.w\" is (", "expected (5, "}},
        {.reshaped = "masks", .message = {"\"masks\"", "(steps, 3)"}},
        {.renumbered = "units.deviation", .message = {"units.deviation[0] is -1", "expected > 0"}},
        {.renumbered = "units.dims", .message = {"units.dims is (-1, 1)", ""}},
        {.infinite = "units.mean", .message = {"units.mean[0] is inf", "expected a finite number"}},
        {.infinite = "units.deviation", .message = {"units.deviation[0] is inf", "finite"}},
    };
    check_refusals(recipe_text, changes, sizeof changes / sizeof *changes);
}

TEST(model_file__a_chain_that_is_not_that_of_the_recipe_is_refused) {
    static const char of_two[] =
        "[model]\nblocks = 1\ndepth = 2\nwidth = 5\nlaw = shear\ntransforms = coupling coupling\n";
    static const change changes[] = {
        {.note = "chain", .message = {"\"chain\" is missing", ""}},
        {.note = "chain",
         .value = "coupling",
         .message = {"layer 1 of the chain is \"\"", "expected \"coupling\""}},
        {.note = "chain",
         .value = "coupling twist coupling",
         .message = {"layer 1 of the chain is \"twist\"", ""}},
        {.note = "recipe",
         .value = "[model]\nblocks = 1\ndepth = 2\nwidth = 5\nlaw = shear\n",
         .message = {"layer 6 of the chain is \"coupling\"", "expected \"\""}},
    };
    check_refusals(of_two, changes, sizeof changes / sizeof *changes);
}

/* Defaults may change: a file says what its model is. */
TEST(model_file__a_recipe_that_leaves_a_key_to_its_default_is_refused) {
    static const change changes[] = {
        {.note = "recipe",
         .value = "[model]\nblocks = 1\ndepth = 2\nwidth = 5\nlaw = shear\n",
         .as_it_is = 1,
         .message = {"model.", "missing, expected a value for every key that applies"}}};
    check_refusals(recipe_text, changes, 1);
}

TEST(model_file__without_its_checksum_is_refused) {
    jf_context *ctx = NULL;
    model *m = NULL;
    size_t size = 0;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    char *bytes = saved_bytes(ctx, recipe_text, &size), *key = NULL;
    for (size_t i = 0; i + 10 < size && !key; i++)
        if (memcmp(bytes + i, "\"checksum\"", 10) == 0) key = bytes + i;
    CHECK(key != NULL);
    memcpy(key, "\"shecksum\"", 10);
    put_bytes(test_path("unsummed.safetensors"), bytes, size);
    CHECK_STATUS(model_load(ctx, &m, test_path("unsummed.safetensors"), "cpu", 1, model_declare),
                 JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "\"checksum\" is missing from its metadata");
    free(bytes);
    jf_context_free(ctx);
}

/* Vectors with a y that is no class have its range. */
TEST(model_file__without_the_range_of_y_is_refused) {
    static const char *const parts[] = {"units.y_reach", "units.y_lo", "units.y_hi", "units.y_mean",
                                        "units.y_whiten"};
    double mean[3] = {0}, deviation[3] = {1, 1, 1};
    model_units units = units_of(mean, deviation);
    jf_context *ctx = NULL;
    model *m = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    recipe *r = recipe_of(ctx, recipe_text);
    units.classes = 0;
    CHECK_STATUS(condition_range_alloc(ctx, &units.condition_range, 1), JF_OK);
    CHECK_STATUS(model_create(ctx, &m, r, &units, "cpu", 1, &(model_origin){.seed = 1}), JF_OK);
    CHECK_STATUS(model_save(m, test_path("good.safetensors")), JF_OK);
    model_free(m);
    CHECK_STATUS(load_changed(ctx, &(change){0}, &m), JF_OK);
    model_free(m);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        CHECK_STATUS(load_changed(ctx, &(change){.without = parts[i]}, &m), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(ctx), parts[i]);
        CHECK_HAS(jf_context_error(ctx), "is missing");
    }
    condition_range_free(units.condition_range);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(model_file__tables_that_do_not_fit_are_refused_and_named) {
    static const char mixed[] =
        "[model]\nblocks = 1\ndepth = 2\nwidth = 5\nlaw = shear\ntransforms = mixing coupling\n";
    static const change changes[] = {
        {.without = "layer.002.mixing.p", .message = {"\"layer.002.mixing.p\" has 0 numbers", "expected 3"}},
        {.renumbered = "layer.004.mixing.p", .message = {"\"layer.004.mixing.p\" has -1 at 0", ""}},
        {.without = "layer.004.mixing.lu", .message = {"tensor \"layer.004.mixing.lu\" is missing", ""}},
    };
    check_refusals(mixed, changes, sizeof changes / sizeof *changes);
}

TEST(model_file__labels_of_anything_but_one_number_are_refused) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double mean[3] = {0}, deviation[3] = {1, 1, 1};
    model_units units = units_of(mean, deviation);
    units.dim_x = 3, units.dim_y = 0;
    recipe *r = recipe_of(ctx, "[loss]\nobjective = plain\n[model]\nblocks = 1\ndepth = 1\nwidth = 2\n");
    model *m = NULL, *loaded = NULL;
    const char *path = test_path("labels.safetensors");
    CHECK_STATUS(model_create(ctx, &m, r, &units, "ref", 1, &(model_origin){.seed = 1}), JF_OK);
    CHECK_STATUS(model_save(m, path), JF_OK);
    CHECK_STATUS(model_load(ctx, &loaded, path, "ref", 1, model_declare), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "units.labels of a y with 0 elements, expected 1");
    model_free(m);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(model_file__a_changed_weight_is_called_damage) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    size_t size = 0;
    char *bytes = saved_bytes(ctx, recipe_text, &size);
    model *m = NULL;
    const char *path = test_path("damaged.safetensors");
    bytes[size - 9] ^= 1;
    put_bytes(path, bytes, size);
    CHECK_STATUS(model_load(ctx, &m, path, "cpu", 1, model_declare), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "damaged.safetensors: damaged");
    CHECK_HAS(jf_context_error(ctx), "checksum");
    put_bytes(path, bytes, size / 2); /* cut short */
    CHECK_STATUS(model_load(ctx, &m, path, "cpu", 1, model_declare), JF_ERROR_FORMAT);
    CHECK_STATUS(model_load(ctx, &m, test_path("nothing"), "cpu", 1, model_declare), JF_ERROR_IO);
    CHECK(m == NULL);
    free(bytes);
    jf_context_free(ctx);
}

TEST(model_file__weights_that_are_not_finite_are_refused_by_tensor) {
    static const struct {
        const char *saved_on, *loaded_on;
        double weight;
        const char *message;
    } cases[] = {{"cpu", "cpu", NAN, "number 1 is nan"},
                 {"ref", "ref", -INFINITY, "number 1 is -inf"},
                 {"ref", "cpu", 1e39, "number 1 is 1e+39, expected finite ones of at most 3.4e+38"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jf_context *ctx = NULL;
        CHECK_STATUS(jf_context_create(&ctx), JF_OK);
        model *saved = model_new(ctx, cases[i].saved_on, recipe_text), *loaded = NULL;
        const param *p = &saved->parameters.items[2];
        saved->d->kind->put(saved->d, real_at(saved->d, saved->params, p->offset), &cases[i].weight, 1);
        CHECK_STATUS(model_save(saved, test_path("m.safetensors")), JF_OK);
        CHECK_STATUS(
            model_load(ctx, &loaded, test_path("m.safetensors"), cases[i].loaded_on, 1, model_declare),
            JF_ERROR_FORMAT);
        CHECK(loaded == NULL);
        CHECK_HAS(jf_context_error(ctx), p->name);
        CHECK_HAS(jf_context_error(ctx), cases[i].message);
        model_free(saved);
        jf_context_free(ctx);
    }
}

TEST(model__objectives_refuse_shapes_they_cannot_train) {
    static const struct {
        const char *objective;
        int dim_x, dim_y;
        const char *message;
    } cases[] = {{"rule", 3, 0, "rule is for 2 dimensions, found 3"},
                 {"rule", 2, 1, "rule has no condition, found 1 elements of y"},
                 {"plain", 2, 1, "plain has no condition, found 1 elements of y"},
                 {"joint", 1, 0, "at least 2 elements"}};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double ones[3] = {1, 1, 1};
    for (int i = 0; i < 4; i++) {
        char content[64];
        snprintf(content, sizeof content, "[loss]\nobjective = %s\n", cases[i].objective);
        recipe *r = recipe_of(ctx, content);
        model_units u = {.dim_x = cases[i].dim_x, .dim_y = cases[i].dim_y, .mean = ones, .deviation = ones};
        model *m = NULL;
        CHECK_STATUS(model_create(ctx, &m, r, &u, "ref", 1, &(model_origin){.seed = 1}), JF_ERROR_SHAPE);
        CHECK(m == NULL);
        CHECK_HAS(jf_context_error(ctx), cases[i].message);
        recipe_free(r);
    }
    jf_context_free(ctx);
}

TEST(model__objectives_with_a_say_in_the_masks_are_asked_before_the_flow_is_made) {
    jf_context *ctx = NULL;
    int refused = 0;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double ones[3] = {1, 1, 1};
    for (int i = 0; objective_kinds[i]; i++) {
        const objective_kind *k = objective_kinds[i];
        char content[100];
        snprintf(content, sizeof content,
                 "[model]\ncondition = fixed\nblocks = 1\ndepth = 1\nwidth = 4\n[loss]\nobjective = %s\n",
                 k->name);
        recipe *r = recipe_of(ctx, content);
        model_units u = {.dim_x = 2, .dim_y = k->has_condition, .mean = ones, .deviation = ones};
        model *m = NULL;
        jf_status status = model_create(ctx, &m, r, &u, "ref", 1, &(model_origin){.seed = 1});
        CHECK(status == JF_OK || (k->limit_masks && m == NULL));
        if (status != JF_OK) {
            CHECK_HAS(jf_context_error(ctx), "model.condition: found fixed, expected joint");
            CHECK_HAS(jf_context_error(ctx), k->name);
            refused++;
        }
        model_free(m);
        recipe_free(r);
    }
    CHECK(refused > 0);
    jf_context_free(ctx);
}

/* ---- units and use ---- */

TEST(units__standardise_and_back) {
    double mean[] = {0.5, -1.25, 3}, deviation[] = {2, 0.1, 1.5}, xy[6] = {0.5, -1.15, 6, 2.5, -1.25, 3};
    static const double expected[6] = {0, 1, 2, 1, 0, 0};
    model_units u = units_of(mean, deviation);
    double start[6];
    memcpy(start, xy, sizeof xy);
    units_standardise(&u, 2, xy);
    CHECK_CLOSE(xy, expected, 6, 1e-14);
    units_unstandardise(&u, 2, xy);
    CHECK_CLOSE(xy, start, 6, 1e-15);
    CHECK_NEAR(units_log_volume(&u), log(2) + log(0.1), 1e-15); /* of x alone */
}

TEST(model__runs_any_number_of_rows_and_tells_which_is_not_finite) {
    enum { ROWS = 2 * MODEL_CHUNK + 7 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = model_new(ctx, "cpu", recipe_text);
    double *state = new_numbers(ROWS * 3), *start = new_numbers(ROWS * 3), *logdet = new_numbers(ROWS);
    model_draw_latent(m, (latent_points){9, LATENT_SAMPLES, 100, 1}, ROWS, start);
    memcpy(state, start, ROWS * 3 * sizeof *state);
    CHECK_STATUS(model_inverse(m, ROWS, state, NULL), JF_OK);
    double late[3] = {0}; /* the last row alone is the same */
    model_draw_latent(m, (latent_points){9, LATENT_SAMPLES, 100 + ROWS - 1, 1}, 1, late);
    CHECK(memcmp(late, start + (ROWS - 1) * 3, sizeof late) == 0);
    CHECK_STATUS(model_inverse(m, 1, late, NULL), JF_OK);
    CHECK_CLOSE(late, state + (ROWS - 1) * 3, 3, 1e-6);
    CHECK_STATUS(model_forward(m, ROWS, state, logdet), JF_OK);
    CHECK_CLOSE(state, start, ROWS * 3, 1e-5);
    CHECK_STATUS(model_forward(m, 0, state, logdet), JF_OK);
    state[1500 * 3 + 1] = NAN;
    CHECK_STATUS(model_forward(m, ROWS, state, NULL), JF_ERROR_DATA);
    CHECK_HAS(jf_context_error(ctx), "row 1501: x1 is nan");
    for (int i = 0; i < 3; i++) state[1500 * 3 + i] = 3e38; /* a float, but not what a layer makes of it */
    CHECK_STATUS(model_forward(m, ROWS, state, NULL), JF_ERROR_NUMERIC);
    CHECK_HAS(jf_context_error(ctx), "row 1501: the encoding is not finite, its z");
    free(state), free(start), free(logdet);
    model_free(m);
    jf_context_free(ctx);
}

/* ---- samples ---- */

TEST(latent_streams__have_no_point_in_common) {
    static const struct {
        latent_stream stream;
        uint64_t first; /* sample of RNG_SAMPLE */
    } streams[] = {{LATENT_SAMPLES, 0},
                   {LATENT_MAPS, UINT64_C(1) << 32},
                   {LATENT_COVERAGE, UINT64_C(2) << 32},
                   {LATENT_ENERGY, UINT64_C(3) << 32},
                   {LATENT_FINE, UINT64_C(1) << 40}};
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = model_new(ctx, "ref", recipe_text);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        double row[3] = {0};
        rng r = rng_stream((rng_key){7, RNG_SAMPLE, 0}, streams[i].first + 5);
        model_draw_latent(m, (latent_points){7, streams[i].stream, 5, 1}, 1, row);
        for (int k = 0; k < m->units.dim_x; k++) CHECK(row[k] == rng_normal(&r));
        if (i > 0) CHECK(streams[i].first - streams[i - 1].first >= LATENT_STREAM_SIZE);
    }
    model_free(m);
    jf_context_free(ctx);
}

TEST(model_sample__is_the_inverse_at_the_condition_in_either_units) {
    enum { ROWS = 5 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    model *m = model_new(ctx, "ref", recipe_text);
    size_t dim = (size_t)m->flow->dim, dim_x = (size_t)m->units.dim_x, count = ROWS * dim;
    double *by_hand = new_numbers(count), *rows = new_numbers(count), *data = new_numbers(count),
           *z = new_numbers(ROWS * dim_x);
    const latent_points from = {3, LATENT_ENERGY, 0, 1};
    model_draw_latent(m, from, ROWS, by_hand);
    for (size_t i = 0; i < count; i++) rows[i] = i % dim < dim_x ? 1e9 : 0.25 * (double)(i / dim) - 0.5;
    for (size_t i = 0; i < count; i++)
        if (i % dim >= dim_x) by_hand[i] = rows[i];
    double *latent = new_numbers(count);
    memcpy(latent, by_hand, count * sizeof *latent);
    memcpy(data, rows, count * sizeof *data);
    units_unstandardise(&m->units, ROWS, data);
    CHECK_STATUS(model_inverse(m, ROWS, by_hand, NULL), JF_OK);
    CHECK_STATUS(model_sample(m, from, MODEL_UNITS, ROWS, rows, z), JF_OK);
    CHECK_CLOSE(rows, by_hand, count, 0);
    for (size_t i = 0; i < ROWS * dim_x; i++) CHECK(z[i] == latent[i / dim_x * dim + i % dim_x]);
    CHECK_STATUS(model_sample(m, from, DATA_UNITS, ROWS, data, NULL), JF_OK);
    units_standardise(&m->units, ROWS, data);
    CHECK_CLOSE(data, by_hand, count, 1e-12);
    free(by_hand), free(rows), free(data), free(z), free(latent);
    model_free(m);
    jf_context_free(ctx);
}
