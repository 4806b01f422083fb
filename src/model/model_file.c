/* clang-format off */
/* The model file: safetensors, with the weights under readable names and all that is needed to use them.
 *
 * Notes, all required:
 *     jointflow.format   the number below; no other is read
 *     recipe             its text, with a value for every key that applies
 *     recipe_name        the file that it came from, without folders
 *     seed               a whole number from 0 to 2^64 - 1
 *     trained            a sentence about the training, or nothing
 *     class_names        one a line; nothing where y is no class
 *     chain              the kinds of all layers, separated by blanks
 *     columns            the names of the columns, x first, one a line; nothing where they have none
 *     checksum           FNV-1a 64 of the notes above, in this order, and of all tensors
 *
 * Tensors, each required where it applies; dim is dim_x + dim_y, with x first:
 *     units.dims         I32 (2)             dim_x, dim_y
 *     units.mean         F64 (dim)
 *     units.deviation    F64 (dim)
 *   where y is a class:
 *     units.labels       F64 (classes)
 *   of images:
 *     units.image        I32 (4)             height, width, channels of x, channels of y
 *   of vectors:
 *     masks              I32 (steps, dim)    of x and what the embedding makes of y, where there is one
 *     units.support      F64 (dim, 4)        kind, lo, hi and cut of each column (types/support.h)
 *   of vectors with a y that is no class, in model units (model/condition_range.h):
 *     units.y_lo         F64 (dim_y)
 *     units.y_hi         F64 (dim_y)
 *     units.y_mean       F64 (dim_y)
 *     units.y_reach      F64 (3)             rows, distance of 99 % of them, largest distance
 *     units.y_whiten     F64 (dim_y, dim_y)  where y has few enough elements for a covariance
 *   of transforms with tables, such as layer.000.mixing.p:
 *     by their names     I32
 *   weights:
 *     by their names     F32, F64 or F16     such as layer.000.A.00.w
 *
 * The flow of an objective with data runs from data to latent points, that of one without the other way.
 *
 * A reader refuses another format number, a checksum that is not that of the content, what is missing or of
 * another shape, by its name, a chain that is not that of the recipe, and strings with control characters. */
/* clang-format on */
#include "base/half.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/shown.h"
#include "model/use.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT  7
#define MAX_DIM (1 << 22)

/* The notes that the checksum covers, in this order. */
static const char *const note_keys[] = {"jointflow.format", "recipe",      "recipe_name", "seed",
                                        "trained",          "class_names", "chain",       "columns"};
enum { NOTES = sizeof note_keys / sizeof *note_keys };

enum { SUPPORT_NUMBERS = 4 }; /* of a column */

static void pack_supports(const model_units *u, double *out) {
    const column_support line = {.kind = SUPPORT_LINE};
    for (int i = 0; i < u->dim_x + u->dim_y; i++, out += SUPPORT_NUMBERS) {
        const column_support *s = u->support ? &u->support[i] : &line;
        memcpy(out, (double[]){s->kind, s->lo, s->hi, s->cut}, SUPPORT_NUMBERS * sizeof *out);
    }
}

/* Everything but the weights. sizes (4), dims (2) and masks (steps, dim) are what tensors of integers point
 * to, supports (dim, 4) what that of the supports does, and range_numbers rows and distances of
 * m->units.condition_range. */
static size_t list_tensors(const model *m, tensor *all, int32_t *sizes, int32_t *dims, int32_t *masks,
                           double *supports, double range_numbers[3]) {
    const flow *f = m->flow;
    const image_size *image = &m->units.image;
    size_t dim = (size_t)f->dim, k = 0;
    memcpy(dims, (int32_t[]){f->dim_x, f->dim_y}, 2 * sizeof *dims);
    memcpy(sizes, (int32_t[]){image->h, image->w, image->x_channels, image->y_channels}, 4 * sizeof *sizes);
    size_t chain = (size_t)f->chain_dim;
    for (size_t i = 0; f->masks && i < (size_t)f->steps * chain; i++) masks[i] = f->masks[i];
    all[k++] = (tensor){"units.dims", TENSOR_I32, 1, {2}, dims};
    all[k++] = (tensor){"units.mean", TENSOR_F64, 1, {dim}, m->units.mean};
    all[k++] = (tensor){"units.deviation", TENSOR_F64, 1, {dim}, m->units.deviation};
    if (m->units.classes)
        all[k++] = (tensor){"units.labels", TENSOR_F64, 1, {(size_t)m->units.classes}, m->units.label};
    const condition_range *range = m->units.condition_range;
    size_t dim_y = (size_t)f->dim_y;
    if (range) {
        all[k++] = (tensor){"units.y_lo", TENSOR_F64, 1, {dim_y}, range->lo};
        all[k++] = (tensor){"units.y_hi", TENSOR_F64, 1, {dim_y}, range->hi};
        all[k++] = (tensor){"units.y_mean", TENSOR_F64, 1, {dim_y}, range->mean};
        all[k++] = (tensor){"units.y_reach", TENSOR_F64, 1, {3}, range_numbers};
        if (range->whiten)
            all[k++] = (tensor){"units.y_whiten", TENSOR_F64, 2, {dim_y, dim_y}, range->whiten};
    }
    if (image->h > 0) {
        all[k++] = (tensor){"units.image", TENSOR_I32, 1, {4}, sizes};
    } else {
        pack_supports(&m->units, supports);
        all[k++] = (tensor){"units.support", TENSOR_F64, 2, {dim, SUPPORT_NUMBERS}, supports};
        all[k++] = (tensor){"masks", TENSOR_I32, 2, {(size_t)f->steps, chain}, masks};
    }
    for (int i = 0; i < f->tables.count; i++) {
        const flow_table *t = &f->tables.items[i];
        all[k++] = (tensor){t->name, TENSOR_I32, 1, {t->count}, t->values};
    }
    return k;
}

static jf_status write_file(const model *m, const char *path, const tensor *all, size_t count,
                            const char *const values[NOTES], file_writer *write) {
    tensor_note notes[NOTES];
    for (size_t i = 0; i < NOTES; i++) notes[i] = (tensor_note){note_keys[i], values[i] ? values[i] : ""};
    return tensors_write_summed(m->ctx, path, all, count, notes, NOTES, TENSORS_CONTENT_SUM, write);
}

/* The numbers of a small tensor, such as the factor of a coupling's exponent, act on all that passes a layer:
 * rounding the 16 such factors of an image model made the error of y' 2.5 times as large, rounding its other
 * million numbers left it alone. They cost nothing, so they stay as they are, unless halves are what they
 * are. */
#define HALF_LEAST 17 /* numbers of a tensor, so that they are rounded */

static int stays_whole(const tensor *t) {
    size_t n = tensor_elements(t);
    int exact = 1;
    for (size_t i = 0; n < HALF_LEAST && i < n; i++)
        exact &= float_of_half(half_of_float((float)tensor_value(t, i))) == tensor_value(t, i);
    return !exact;
}

/* Lets tensors of weights point to halves of their numbers, *out (m->parameters.total), yours to free. */
static jf_status halve(const model *m, const char *path, tensor *weights, uint16_t **out) {
    *out = NULL;
    JF_TRY(MEM_NEW(m->ctx, out, m->parameters.total));
    for (int k = 0; k < m->parameters.count; k++) {
        tensor *t = &weights[k];
        uint16_t *halves = *out + m->parameters.items[k].offset;
        for (size_t i = 0; i < tensor_elements(t); i++) {
            double value = tensor_value(t, i);
            if (!(fabs(value) <= HALF_MAX))
                return jf_fail(
                    m->ctx, JF_ERROR_NUMERIC,
                    "%s: tensor \"%s\": number %zu is %g, expected at most %g in half precision: save "
                    "the model with whole weights",
                    path, t->name, i + 1, value, HALF_MAX);
            halves[i] = half_of_float((float)value);
        }
        if (stays_whole(t)) continue;
        t->type = TENSOR_F16;
        t->data = halves;
    }
    return JF_OK;
}

jf_status model_save(const model *m, const char *path) {
    return model_save_as(m, path, WEIGHTS_WHOLE, file_replace);
}

jf_status model_save_as(const model *m, const char *path, model_weights as, file_writer *write) {
    enum { OTHERS = 11 }; /* tensors besides weights and tables, at most */
    tensor *weights = NULL, *all = NULL;
    void *storage = NULL;
    uint16_t *halves = NULL;
    int32_t *masks = NULL, sizes[4], dims[2];
    double *supports = NULL, range_numbers[3] = {0};
    text recipe_text = {0}, names = {0}, chain = {0}, columns = {0};
    char seed[32], format[8];
    jf_status status;
    const flow *f = m->flow;
    size_t count = (size_t)m->parameters.count;
    JF_TRY_DONE(model_tensors(m, "", m->params, &weights, &storage));
    if (as == WEIGHTS_HALF) JF_TRY_DONE(halve(m, path, weights, &halves));
    JF_TRY_DONE(MEM_NEW(m->ctx, &all, count + OTHERS + (size_t)f->tables.count));
    JF_TRY_DONE(MEM_NEW(m->ctx, &masks, (size_t)f->steps * (size_t)f->chain_dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &supports, (size_t)f->dim * SUPPORT_NUMBERS));
    if (m->units.condition_range)
        memcpy(range_numbers,
               (double[]){m->units.condition_range->rows, m->units.condition_range->near,
                          m->units.condition_range->far},
               sizeof range_numbers);
    size_t k = list_tensors(m, all, sizes, dims, masks, supports, range_numbers);
    memcpy(all + k, weights, count * sizeof *weights);
    recipe_write(m->recipe, &recipe_text, 0);
    JF_TRY_DONE(text_check(m->ctx, &recipe_text));
    for (int i = 0; i < m->units.classes; i++)
        text_add(&names, "%s%s", i ? "\n" : "", m->units.class_name[i]);
    JF_TRY_DONE(text_check(m->ctx, &names));
    for (int i = 0; i < f->layers; i++) text_add(&chain, "%s%s", i ? " " : "", f->chain[i].kind->name);
    JF_TRY_DONE(text_check(m->ctx, &chain));
    for (int i = 0; m->units.names && i < f->dim; i++)
        text_add(&columns, "%s%s", i ? "\n" : "", m->units.names[i]);
    JF_TRY_DONE(text_check(m->ctx, &columns));
    snprintf(seed, sizeof seed, "%" PRIu64, m->seed);
    snprintf(format, sizeof format, "%d", FORMAT);
    const char *values[NOTES] = {format,      recipe_text.chars, recipe_short_name(m->recipe),
                                 seed,        m->trained,        names.chars,
                                 chain.chars, columns.chars};
    JF_TRY_DONE(write_file(m, path, all, k + count, values, write));
done:
    model_tensors_free(m, weights, storage);
    free(halves);
    free(all);
    free(masks);
    free(supports);
    text_free(&recipe_text);
    text_free(&names);
    text_free(&chain);
    text_free(&columns);
    return status;
}

static jf_status check_noted(jf_context *ctx, const tensor_file *file, const char *path, const char *key) {
    if (tensors_note(file, key)) return JF_OK;
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a jointflow model: \"%s\" is missing from its metadata",
                   path, key);
}

static jf_status check_all_noted(jf_context *ctx, const tensor_file *file, const char *path) {
    for (size_t i = 0; i < NOTES; i++) JF_TRY(check_noted(ctx, file, path, note_keys[i]));
    return check_noted(ctx, file, path, TENSORS_CONTENT_SUM);
}

/* Whatever a model file says may be shown on a terminal, and stand in tables and pages. Of its strings a
 * recipe and columns have several lines. */
static jf_status check_strings(jf_context *ctx, const tensor_file *file, const char *path) {
    for (size_t i = 0; i < NOTES; i++) {
        const char *value = tensors_note(file, note_keys[i]);
        int is_recipe = strcmp(note_keys[i], "recipe") == 0;
        int is_lines = strcmp(note_keys[i], "columns") == 0 || strcmp(note_keys[i], "class_names") == 0;
        size_t good = shown_prefix(value, strlen(value), is_recipe ? "\n\t" : is_lines ? "\n" : "");
        if (value[good])
            return jf_fail(ctx, JF_ERROR_FORMAT,
                           "%s: byte %zu of \"%s\" in its metadata has code %d, expected text without "
                           "control characters",
                           path, good + 1, note_keys[i], (unsigned char)value[good]);
    }
    return JF_OK;
}

static jf_status read_seed(jf_context *ctx, const tensor_file *file, const char *path, uint64_t *out) {
    const char *note = tensors_note(file, "seed");
    char *end;
    errno = 0;
    *out = strtoull(note, &end, 10); /* which takes signs and spaces, too */
    if (*note >= '0' && *note <= '9' && !*end && errno == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_FORMAT,
                   "%s: seed \"%s\", expected a whole number from 0 to 18446744073709551615", path, note);
}

static jf_status check_format(jf_context *ctx, const tensor_file *file, const char *path) {
    const char *note = tensors_note(file, "jointflow.format");
    long long number = 0;
    if (!note && tensors_note(file, "jointflow.checkpoint"))
        return jf_fail(
            ctx, JF_ERROR_FORMAT,
            "%s: a checkpoint, expected a model: its run folder has that beside it, model.safetensors", path);
    if (!note)
        return jf_fail(
            ctx, JF_ERROR_FORMAT,
            "%s: a safetensors file, but not a jointflow model: \"jointflow.format\" is missing from its "
            "metadata",
            path);
    if (!number_parse_int(note, &number) || number < 1)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: format \"%.20s\", expected %d", path, note, FORMAT);
    if (number == FORMAT) return JF_OK;
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: a model of format %lld, expected %d: %s", path, number, FORMAT,
                   number > FORMAT
                       ? "a later jointflow wrote it"
                       : "an earlier jointflow wrote it; train the model again with this version");
}

static jf_status check_size(jf_context *ctx, const tensor_file *file, const char *path, const char *name,
                            size_t size) {
    const tensor *t = tensors_find(file, name);
    if (!t) return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"%s\" is missing", path, name);
    if (tensor_elements(t) == size) return JF_OK;
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"%s\" has %zu numbers, expected %zu", path, name,
                   tensor_elements(t), size);
}

/* A tensor of exactly `size` numbers. */
static jf_status read_vector(jf_context *ctx, const tensor_file *file, const char *path, const char *name,
                             size_t size, double *out) {
    JF_TRY(check_size(ctx, file, path, name, size));
    const tensor *t = tensors_find(file, name);
    for (size_t i = 0; i < size; i++) out[i] = tensor_value(t, i);
    return JF_OK;
}

static jf_status read_image_size(jf_context *ctx, const tensor_file *file, const char *path, model_units *u) {
    double size[4];
    if (!tensors_find(file, "units.image")) return JF_OK;
    JF_TRY(read_vector(ctx, file, path, "units.image", 4, size));
    double pixels = size[0] * size[1];
    int whole = 1;
    for (int i = 0; i < 4; i++) whole &= size[i] == floor(size[i]) && size[i] >= 0;
    if (!(whole && size[0] >= 1 && size[1] >= 1 && pixels * size[2] == u->dim_x &&
          pixels * size[3] == u->dim_y))
        return jf_fail(
            ctx, JF_ERROR_FORMAT,
            "%s: units.image is (%g, %g, %g, %g), expected a size with %d elements of x and %d of y", path,
            size[0], size[1], size[2], size[3], u->dim_x, u->dim_y);
    u->image = (image_size){(int)size[0], (int)size[1], (int)size[2], (int)size[3]};
    return JF_OK;
}

static jf_status read_supports(jf_context *ctx, const tensor_file *file, const char *path, model_units *u) {
    size_t dim = (size_t)(u->dim_x + u->dim_y);
    const tensor *t = tensors_find(file, "units.support");
    int bounded = 0;
    if (u->image.h > 0) return JF_OK;
    if (!t) return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"units.support\" is missing", path);
    if (t->type != TENSOR_F64 || t->rank != 2 || t->shape[0] != dim || t->shape[1] != SUPPORT_NUMBERS)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"units.support\" is not F64 (%zu, %d)", path, dim,
                       SUPPORT_NUMBERS);
    JF_TRY(MEM_NEW(ctx, &u->support, dim));
    for (size_t i = 0; i < dim; i++) {
        double v[SUPPORT_NUMBERS];
        for (size_t k = 0; k < SUPPORT_NUMBERS; k++) v[k] = tensor_value(t, i * SUPPORT_NUMBERS + k);
        int known = v[0] >= 0 && v[0] < SUPPORT_KINDS && v[0] == floor(v[0]);
        u->support[i] = (column_support){known ? (support_kind)v[0] : SUPPORT_LINE, v[1], v[2], v[3]};
        if (!known || !support_is_valid(&u->support[i]))
            return jf_fail(
                ctx, JF_ERROR_FORMAT,
                "%s: units.support[%zu] is (%g, %g, %g, %g), expected a kind from 0 to %d with its bounds",
                path, i, v[0], v[1], v[2], v[3], SUPPORT_KINDS - 1);
        bounded |= u->support[i].kind != SUPPORT_LINE;
    }
    if (bounded) return JF_OK;
    free(u->support);
    u->support = NULL;
    return JF_OK;
}

static jf_status read_condition_range(jf_context *ctx, const tensor_file *file, const char *path,
                                      model_units *u) {
    size_t dim = (size_t)u->dim_y;
    double numbers[3];
    const tensor *whiten = tensors_find(file, "units.y_whiten");
    if (u->image.h > 0 || dim == 0 || u->classes > 0) return JF_OK;
    JF_TRY(condition_range_alloc(ctx, &u->condition_range, u->dim_y));
    condition_range *r = u->condition_range;
    JF_TRY(read_vector(ctx, file, path, "units.y_reach", 3, numbers));
    JF_TRY(read_vector(ctx, file, path, "units.y_lo", dim, r->lo));
    JF_TRY(read_vector(ctx, file, path, "units.y_hi", dim, r->hi));
    JF_TRY(read_vector(ctx, file, path, "units.y_mean", dim, r->mean));
    r->rows = numbers[0];
    r->near = numbers[1];
    r->far = numbers[2];
    if (!r->whiten) return JF_OK;
    if (!whiten || whiten->rank != 2 || whiten->shape[0] != dim || whiten->shape[1] != dim)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"units.y_whiten\" is missing or not (%zu, %zu)",
                       path, dim, dim);
    for (size_t i = 0; i < dim * dim; i++) r->whiten[i] = tensor_value(whiten, i);
    return JF_OK;
}

/* One a line; as many as there are elements, or none. */
static jf_status read_columns(jf_context *ctx, const tensor_file *file, const char *path, model_units *u) {
    size_t dim = (size_t)(u->dim_x + u->dim_y);
    const char *at = tensors_note(file, "columns");
    if (!*at) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &u->names, dim + 1));
    for (size_t i = 0; i < dim; i++) {
        size_t length = at ? strcspn(at, "\n") : 0;
        if (length == 0)
            return jf_fail(ctx, JF_ERROR_FORMAT, "%s: \"columns\" of its metadata names %zu, expected %zu",
                           path, i, dim);
        JF_TRY(MEM_NEW(ctx, &u->names[i], length + 1));
        memcpy(u->names[i], at, length);
        at = at[length] ? at + length + 1 : NULL;
    }
    return JF_OK;
}

/* One a line, as many as there are classes. */
static jf_status read_class_names(jf_context *ctx, const tensor_file *file, const char *path,
                                  model_units *u) {
    const char *at = tensors_note(file, "class_names");
    int found = *at || u->classes == 1;
    for (const char *c = at; *c; c++) found += *c == '\n';
    if (found != u->classes)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: \"class_names\" of its metadata names %d, expected %d",
                       path, found, u->classes);
    for (int i = 0; i < u->classes; i++) {
        size_t length = strcspn(at, "\n");
        snprintf(u->class_name[i], MAX_CLASS_NAME, "%.*s", (int)length, at);
        at += length + (at[length] != 0);
    }
    return JF_OK;
}

static jf_status read_classes(jf_context *ctx, const tensor_file *file, const char *path, model_units *u) {
    const tensor *labels = tensors_find(file, "units.labels");
    size_t each = u->image.h > 0 ? (size_t)u->image.y_channels : (size_t)u->dim_y;
    if (!labels && *tensors_note(file, "class_names"))
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"units.labels\" is missing", path);
    if (!labels) return JF_OK;
    if (each != 1 && each != tensor_elements(labels))
        return jf_fail(ctx, JF_ERROR_FORMAT,
                       "%s: units.labels of a y with %d elements, expected 1%s, or one for each class", path,
                       u->dim_y, u->image.h > 0 ? " a pixel" : "");
    if (tensor_elements(labels) > MAX_CLASSES)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: %zu classes, at most %d are possible", path,
                       tensor_elements(labels), MAX_CLASSES);
    u->classes = (int)tensor_elements(labels);
    JF_TRY(read_vector(ctx, file, path, "units.labels", (size_t)u->classes, u->label));
    for (int i = 1; units_planes(u) && i < u->classes; i++)
        if (!(u->label[i] > u->label[i - 1]))
            return jf_fail(ctx, JF_ERROR_FORMAT,
                           "%s: units.labels[%d] is %g, expected more than %g before it", path, i,
                           u->label[i], u->label[i - 1]);
    return read_class_names(ctx, file, path, u);
}

static jf_status read_units(jf_context *ctx, const tensor_file *file, const char *path, model_units *u) {
    double dims[2];
    JF_TRY(read_vector(ctx, file, path, "units.dims", 2, dims));
    if (!(dims[0] >= 1 && dims[0] <= MAX_DIM && dims[1] >= 0 && dims[1] <= MAX_DIM))
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: units.dims is (%g, %g), expected 1 .. %d and 0 .. %d", path,
                       dims[0], dims[1], MAX_DIM, MAX_DIM);
    u->dim_x = (int)dims[0];
    u->dim_y = (int)dims[1];
    JF_TRY(read_image_size(ctx, file, path, u));
    size_t dim = (size_t)(u->dim_x + u->dim_y);
    JF_TRY(check_size(ctx, file, path, "units.mean", dim));
    JF_TRY(MEM_NEW(ctx, &u->mean, dim));
    JF_TRY(MEM_NEW(ctx, &u->deviation, dim));
    JF_TRY(read_vector(ctx, file, path, "units.mean", dim, u->mean));
    JF_TRY(read_vector(ctx, file, path, "units.deviation", dim, u->deviation));
    for (size_t i = 0; i < dim; i++) {
        if (!isfinite(u->mean[i]))
            return jf_fail(ctx, JF_ERROR_FORMAT, "%s: units.mean[%zu] is %g, expected a finite number", path,
                           i, u->mean[i]);
        if (!(u->deviation[i] > 0) || !isfinite(u->deviation[i]))
            return jf_fail(ctx, JF_ERROR_FORMAT, "%s: units.deviation[%zu] is %g, expected > 0 and finite",
                           path, i, u->deviation[i]);
    }
    JF_TRY(read_supports(ctx, file, path, u));
    JF_TRY(read_columns(ctx, file, path, u));
    JF_TRY(read_classes(ctx, file, path, u));
    return read_condition_range(ctx, file, path, u);
}

static jf_status read_masks(jf_context *ctx, const tensor_file *file, const char *path, int dim,
                            uint8_t **out, int *steps) {
    const tensor *t = tensors_find(file, "masks");
    if (!t || t->rank != 2 || t->shape[1] != (size_t)dim || t->shape[0] < 1 || t->shape[0] > 100000)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: tensor \"masks\" is missing or not (steps, %d)", path, dim);
    *steps = (int)t->shape[0];
    JF_TRY(MEM_NEW(ctx, out, tensor_elements(t)));
    for (size_t i = 0; i < tensor_elements(t); i++) (*out)[i] = tensor_value(t, i) != 0;
    return JF_OK;
}

/* Tables of transforms: all tensors of integers that are not the file's own. */
static jf_status read_tables(const tensor_file *file, table_list *out) {
    static const char *const own[] = {"units.dims", "units.image", "masks"};
    for (size_t i = 0; i < tensors_count(file); i++) {
        const tensor *t = tensors_at(file, i);
        int is_table = t->type == TENSOR_I32;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) is_table &= strcmp(t->name, own[k]) != 0;
        if (is_table) JF_TRY(tables_add(out, t->name, tensor_elements(t), t->data));
    }
    return JF_OK;
}

static int is_word(const char *at, size_t length, const char *word) {
    return length == strlen(word) && memcmp(at, word, length) == 0;
}

/* The chain that the file tells has to be that of its recipe, as far as it can be told before the flow is
 * made: `steps` are 0 where only the flow will know them. */
static jf_status check_chain(const recipe *r, const tensor_file *file, const char *path, int steps) {
    jf_context *ctx = recipe_context(r);
    const transform_kind *kinds[TRANSFORMS_PER_STEP];
    const char *at = tensors_note(file, "chain");
    int count, apart = recipe_is(r, "model.condition", "flow");
    JF_TRY(transforms_of_step(r, kinds, &count));
    for (int i = 0; steps ? i <= steps * count : *at != 0; i++, at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        const transform_kind *kind = !steps || i < steps * count ? kinds[i % count] : NULL;
        const char *expected = kind ? kind->name : "";
        int alone = apart && kind && is_word(at, length, flow_kind_alone(kind)->name);
        if (!alone && !is_word(at, length, expected))
            return jf_fail(ctx, JF_ERROR_FORMAT,
                           "%s: layer %d of the chain is \"%.*s\", expected \"%s\" by its recipe", path, i,
                           (int)length, at, expected);
        at += length;
    }
    return JF_OK;
}

/* The folder that the user named, also where the file in it is a link. */
static jf_status find_folder(model *m, const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    JF_TRY(mem_copy_text(m->ctx, &folder, slash ? path : "."));
    if (slash) folder[slash - path + (slash == path)] = 0;
    m->folder = realpath(folder, NULL);
    free(folder);
    if (m->folder) return JF_OK;
    return jf_fail(m->ctx, JF_ERROR_IO, "%s: its folder could not be found: %s", path, strerror(errno));
}

jf_status model_load(jf_context *ctx, model **out, const char *path, const char *device_name, int threads,
                     declare_fn declare_all) {
    tensor_file *file = NULL;
    recipe *r = NULL;
    model_units units = {0};
    table_list tables = {.ctx = ctx};
    uint8_t *masks = NULL;
    uint64_t seed = 0;
    int steps = 0;
    model *m = NULL;
    jf_status status;
    *out = NULL;
    JF_TRY_DONE(tensors_read(ctx, &file, path));
    JF_TRY_DONE(check_format(ctx, file, path));
    JF_TRY_DONE(check_all_noted(ctx, file, path));
    JF_TRY_DONE(tensors_check_content(ctx, file, path, note_keys, NOTES));
    JF_TRY_DONE(check_strings(ctx, file, path));
    JF_TRY_DONE(read_seed(ctx, file, path, &seed));
    JF_TRY_DONE(recipe_parse(ctx, &r, tensors_note(file, "recipe"), tensors_note(file, "recipe_name")));
    recipe_distrust(r);
    JF_TRY_DONE(declare_all(r));
    JF_TRY_DONE(recipe_check(r));
    JF_TRY_DONE(recipe_check_complete(r));
    JF_TRY_DONE(read_units(ctx, file, path, &units));
    if (units.image.h == 0)
        JF_TRY_DONE(read_masks(ctx, file, path, flow_chain_dim(r, units.dim_x, units.dim_y), &masks, &steps));
    JF_TRY_DONE(read_tables(file, &tables));
    JF_TRY_DONE(check_chain(r, file, path, steps));
    /* Parameters are compared with their tensors before anything is made for one of them. */
    const model_tensor_source from = {ctx, file, path, ""};
    model_origin origin = {.seed = seed,
                           .from_file = 1,
                           .masks = masks,
                           .steps = steps,
                           .tables = &tables,
                           .check = model_check_param,
                           .check_with = &from};
    status = model_create(ctx, &m, r, &units, device_name, threads, &origin);
    if ((status == JF_ERROR_FORMAT || status == JF_ERROR_SHAPE) &&
        strncmp(jf_context_error(ctx), path, strlen(path)) != 0)
        jf_fail(ctx, status, "%s: %s", path,
                jf_context_error(ctx)); /* of masks and tables, which know no file */
    JF_TRY_DONE(status);
    JF_TRY_DONE(check_chain(r, file, path, m->flow->steps)); /* of images only the flow knows them */
    JF_TRY_DONE(model_read_weights(m, file, path));
    JF_TRY_DONE(model_set_trained(m, tensors_note(file, "trained")));
    JF_TRY_DONE(find_folder(m, path));
    *out = m;
    m = NULL;
done:
    model_free(m);
    free(masks);
    tables_clear(&tables);
    units_free(&units);
    recipe_free(r);
    tensors_free(file);
    return status;
}
