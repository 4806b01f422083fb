/* Safetensors:
 *
 *     length of the header (8 bytes, little-endian), header, data
 *     header: {"__metadata__": {key: text, ...},
 *              name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *
 * Offsets count from the start of the data; together the tensors cover all of the data, without gap or
 * overlap. The header is padded with spaces so that the data begin at a multiple of 8 bytes. */
#include "io/safetensors.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this file reads and writes little-endian numbers as they lie in memory"
#endif

enum { ALIGNMENT = 64, LENGTH_SIZE = 8, MAX_HEADER = 1 << 24 };
static const size_t file_limit = (size_t)1 << 36;
static const char notes_key[] = "__metadata__";

static const struct {
    const char *name;
    size_t size;
} types[] = {[TENSOR_F32] = {"F32", 4},
             [TENSOR_F64] = {"F64", 8},
             [TENSOR_I32] = {"I32", 4},
             [TENSOR_I64] = {"I64", 8}};
enum { TYPES = sizeof types / sizeof *types };

size_t tensor_type_size(tensor_type type) {
    return types[type].size;
}

const char *tensor_type_name(tensor_type type) {
    return types[type].name;
}

size_t tensor_elements(const tensor *t) {
    size_t count = 1;
    for (int i = 0; i < t->rank; i++) count *= t->shape[i];
    return count;
}

/* Bytes of the data; returns 0 where the product of the extents other than 0 is too large, so that no part of
 * the shape of an empty tensor can overflow elsewhere. */
static int count_bytes(const tensor *t, size_t *bytes) {
    size_t product = types[t->type].size;
    int empty = 0;
    for (int i = 0; i < t->rank; i++) {
        empty |= t->shape[i] == 0;
        if (t->shape[i] && __builtin_mul_overflow(product, t->shape[i], &product)) return 0;
    }
    *bytes = empty ? 0 : product;
    return product <= PTRDIFF_MAX;
}

/* ---- writing ---- */

static jf_status check_tensor(jf_context *ctx, const char *path, const tensor *t, size_t *bytes) {
    if (!t->name || !*t->name || strcmp(t->name, notes_key) == 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: a tensor cannot be named \"%s\"", path,
                       t->name ? t->name : "");
    if ((unsigned)t->type >= TYPES)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: tensor \"%.80s\": unknown type %d", path, t->name,
                       (int)t->type);
    if (t->rank < 0 || t->rank > TENSOR_MAX_RANK)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: tensor \"%.80s\": rank %d, expected 0 to %d", path,
                       t->name, t->rank, TENSOR_MAX_RANK);
    if (!count_bytes(t, bytes) || *bytes > file_limit)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: tensor \"%.80s\" is too large to write", path, t->name);
    return JF_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* `names` (count) is sorted in place. */
static jf_status refuse_twins(jf_context *ctx, const char *path, const char **names, size_t count) {
    if (count > 1) qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: two entries named \"%.80s\"", path, names[i]);
    return JF_OK;
}

static jf_status check_names(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                             const tensor_note *notes, size_t note_count) {
    const char **names = NULL;
    JF_TRY(MEM_NEW(ctx, &names, count > note_count ? count : note_count));
    for (size_t i = 0; i < count; i++) names[i] = tensors[i].name;
    jf_status status = refuse_twins(ctx, path, names, count);
    if (status == JF_OK) {
        for (size_t i = 0; i < note_count; i++) names[i] = notes[i].key;
        status = refuse_twins(ctx, path, names, note_count);
    }
    free(names);
    return status;
}

static void write_notes(text *out, const tensor_note *notes, size_t count) {
    text_add(out, "\"%s\":{", notes_key);
    for (size_t i = 0; i < count; i++) {
        if (i) text_add(out, ",");
        json_add_string(out, notes[i].key);
        text_add(out, ":");
        json_add_string(out, notes[i].value);
    }
    text_add(out, "}");
}

static void write_tensor(text *out, const tensor *t, size_t begin, size_t end) {
    json_add_string(out, t->name);
    text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", types[t->type].name);
    for (int i = 0; i < t->rank; i++) text_add(out, "%s%zu", i ? "," : "", t->shape[i]);
    text_add(out, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

/* Puts the header together and checks the tensors; *size is that of the data. */
static jf_status write_header(jf_context *ctx, const char *path, text *out, const tensor *tensors,
                              size_t count, const tensor_note *notes, size_t note_count, size_t *size) {
    *size = 0;
    text_add(out, "{");
    if (note_count) write_notes(out, notes, note_count);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        JF_TRY(check_tensor(ctx, path, &tensors[i], &bytes));
        if (*size + bytes > file_limit)
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the tensors are too large to write", path);
        if (i || note_count) text_add(out, ",");
        write_tensor(out, &tensors[i], *size, *size + bytes);
        *size += bytes;
    }
    text_add(out, "}");
    while (!out->failed && out->length % LENGTH_SIZE != 0) text_add(out, " ");
    JF_TRY(text_check(ctx, out));
    if (out->length > MAX_HEADER)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: names and notes of %zu bytes, expected at most %d", path,
                       out->length, MAX_HEADER);
    return check_names(ctx, path, tensors, count, notes, note_count);
}

jf_status tensors_write(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                        const tensor_note *notes, size_t note_count) {
    text head = {0};
    char *file = NULL;
    size_t size = 0;
    jf_status status = JF_OK;
    JF_TRY_DONE(write_header(ctx, path, &head, tensors, count, notes, note_count, &size));
    size_t start = LENGTH_SIZE + head.length;
    JF_TRY_DONE(MEM_NEW(ctx, &file, start + size));
    uint64_t length = head.length;
    memcpy(file, &length, sizeof length);
    memcpy(file + LENGTH_SIZE, head.chars, head.length);
    char *to = file + start;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = tensor_elements(&tensors[i]) * types[tensors[i].type].size;
        if (bytes) memcpy(to, tensors[i].data, bytes);
        to += bytes;
    }
    JF_TRY_DONE(file_write(ctx, path, file, start + size));
done:
    free(file);
    text_free(&head);
    return status;
}

/* ---- reading ---- */

/* A tensor as the header describes it. */
typedef struct claim {
    tensor tensor;
    size_t begin, end;
} claim;

struct tensor_file {
    json *header;    /* owns names and notes */
    tensor *tensors; /* (count), in the order of their data */
    size_t count;
    char *data; /* each tensor at a multiple of ALIGNMENT */
    const json *notes;
};

typedef struct reader {
    jf_context *ctx;
    const char *path;
    const char *data; /* of the file as it was read */
    size_t size;
    claim *claims;
    size_t count;
} reader;

static jf_status fail_tensor(const reader *in, const char *name, const char *found, const char *expected) {
    return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: tensor \"%.80s\": found %s, expected %s", in->path, name,
                   found, expected);
}

static jf_status read_type(const reader *in, const json *value, tensor *t) {
    const char *name = value ? json_string(value) : NULL;
    if (!name) return fail_tensor(in, t->name, value ? json_kind_name(value) : "no \"dtype\"", "a \"dtype\"");
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0) {
            t->type = (tensor_type)i;
            return JF_OK;
        }
    return jf_fail(in->ctx, JF_ERROR_FORMAT,
                   "%s: tensor \"%.80s\": found type \"%.20s\", expected F32, F64, I32 or I64", in->path,
                   t->name, name);
}

static jf_status read_shape(const reader *in, const json *value, tensor *t) {
    if (!value || json_kind(value) != JSON_LIST)
        return fail_tensor(in, t->name, value ? json_kind_name(value) : "no \"shape\"", "a \"shape\"");
    if (json_count(value) > TENSOR_MAX_RANK) return fail_tensor(in, t->name, "more", "at most 8 extents");
    for (const json *e = json_first(value); e; e = json_next(e))
        if (!json_size(e, &t->shape[t->rank++]))
            return fail_tensor(in, t->name, json_kind_name(e), "extents that are whole numbers");
    return JF_OK;
}

static jf_status read_offsets(const reader *in, const json *value, claim *c) {
    const char *name = c->tensor.name;
    if (!value || json_kind(value) != JSON_LIST || json_count(value) != 2 ||
        !json_size(json_first(value), &c->begin) || !json_size(json_next(json_first(value)), &c->end))
        return fail_tensor(in, name, value ? "something else" : "no \"data_offsets\"",
                           "\"data_offsets\" of two whole numbers");
    if (c->begin > c->end || c->end > in->size)
        return jf_fail(
            in->ctx, JF_ERROR_FORMAT,
            "%s: tensor \"%.80s\": found offsets %zu to %zu, expected them within the %zu bytes of data",
            in->path, name, c->begin, c->end, in->size);
    size_t bytes = 0;
    if (!count_bytes(&c->tensor, &bytes)) return fail_tensor(in, name, "a shape", "one that fits 64 bits");
    if (bytes != c->end - c->begin)
        return jf_fail(in->ctx, JF_ERROR_FORMAT,
                       "%s: tensor \"%.80s\": found %zu bytes, expected %zu for its shape", in->path, name,
                       c->end - c->begin, bytes);
    return JF_OK;
}

static jf_status read_claim(const reader *in, const json *value, claim *c) {
    c->tensor.name = json_key(value);
    if (json_kind(value) != JSON_OBJECT)
        return fail_tensor(in, c->tensor.name, json_kind_name(value), "an object");
    if (json_count(value) != 3)
        return fail_tensor(in, c->tensor.name, "other keys", "\"dtype\", \"shape\" and \"data_offsets\"");
    JF_TRY(read_type(in, json_find(value, "dtype"), &c->tensor));
    JF_TRY(read_shape(in, json_find(value, "shape"), &c->tensor));
    return read_offsets(in, json_find(value, "data_offsets"), c);
}

static jf_status check_notes(const reader *in, const json *notes) {
    int texts = json_kind(notes) == JSON_OBJECT;
    for (const json *e = json_first(notes); e && texts; e = json_next(e)) texts = json_string(e) != NULL;
    if (texts) return JF_OK;
    return jf_fail(in->ctx, JF_ERROR_FORMAT,
                   "%s: found \"%s\" with other values, expected an object of strings", in->path, notes_key);
}

static int by_place(const void *a, const void *b) {
    const claim *s = a, *t = b;
    if (s->begin != t->begin) return s->begin < t->begin ? -1 : 1;
    if (s->end != t->end) return s->end < t->end ? -1 : 1; /* empty ones first */
    return strcmp(s->tensor.name, t->tensor.name);
}

/* The tensors have to follow each other from the first byte to the last. */
static jf_status check_cover(const reader *in) {
    size_t covered = 0;
    for (size_t i = 0; i < in->count; i++) {
        const claim *c = &in->claims[i];
        if (c->begin != covered)
            return jf_fail(in->ctx, JF_ERROR_FORMAT,
                           "%s: tensor \"%.80s\": found its data at byte %zu, expected %zu (%s)", in->path,
                           c->tensor.name, c->begin, covered, c->begin < covered ? "an overlap" : "a gap");
        covered = c->end;
    }
    if (covered == in->size) return JF_OK;
    return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: found %zu bytes of data, expected %zu for its tensors",
                   in->path, in->size, covered);
}

static jf_status read_claims(reader *in, tensor_file *file) {
    if (json_kind(file->header) != JSON_OBJECT)
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: header: found %s, expected an object", in->path,
                       json_kind_name(file->header));
    JF_TRY(MEM_NEW(in->ctx, &in->claims, json_count(file->header)));
    for (const json *e = json_first(file->header); e; e = json_next(e)) {
        if (strcmp(json_key(e), notes_key) == 0) {
            JF_TRY(check_notes(in, e));
            file->notes = e;
        } else {
            JF_TRY(read_claim(in, e, &in->claims[in->count++]));
        }
    }
    if (in->count > 1) qsort(in->claims, in->count, sizeof *in->claims, by_place);
    return check_cover(in);
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* In the file a tensor may lie anywhere; in memory each begins at a multiple of ALIGNMENT. */
static jf_status copy_tensors(const reader *in, tensor_file *file) {
    size_t total = 0;
    for (size_t i = 0; i < in->count; i++) total += aligned(in->claims[i].end - in->claims[i].begin);
    file->data = aligned_alloc(ALIGNMENT, total ? total : ALIGNMENT);
    if (!file->data)
        return jf_fail(in->ctx, JF_ERROR_MEMORY, "%s: not enough memory for %zu bytes", in->path, total);
    JF_TRY(MEM_NEW(in->ctx, &file->tensors, in->count));
    char *to = file->data;
    for (size_t i = 0; i < in->count; i++) {
        const claim *c = &in->claims[i];
        size_t bytes = c->end - c->begin;
        if (bytes) memcpy(to, in->data + c->begin, bytes);
        file->tensors[i] = c->tensor;
        file->tensors[i].data = to;
        to += aligned(bytes);
    }
    file->count = in->count;
    return JF_OK;
}

/* Splits the bytes into header and data and reads the header's JSON. */
static jf_status read_header(reader *in, tensor_file *file, const char *bytes, size_t size) {
    uint64_t length = 0;
    if (size >= LENGTH_SIZE) memcpy(&length, bytes, sizeof length);
    if (size < LENGTH_SIZE || length > size - LENGTH_SIZE || length > MAX_HEADER || length < 2)
        return jf_fail(
            in->ctx, JF_ERROR_FORMAT,
            "%s: not a safetensors file, or cut short: found %zu bytes and a header of %llu, expected a "
            "header of 2 to %d within the file",
            in->path, size, (unsigned long long)length, MAX_HEADER);
    in->data = bytes + LENGTH_SIZE + length;
    in->size = size - LENGTH_SIZE - (size_t)length;
    text name = {0};
    text_add(&name, "%s: header", in->path);
    jf_status status = text_check(in->ctx, &name);
    if (status == JF_OK)
        status = json_parse(in->ctx, &file->header, bytes + LENGTH_SIZE, (size_t)length, name.chars);
    text_free(&name);
    return status;
}

jf_status tensors_read(jf_context *ctx, tensor_file **out, const char *path) {
    *out = NULL;
    reader in = {.ctx = ctx, .path = path};
    tensor_file *file = NULL;
    char *bytes = NULL;
    size_t size = 0;
    jf_status status = JF_OK;
    JF_TRY_DONE(MEM_NEW(ctx, &file, 1));
    JF_TRY_DONE(file_read(ctx, &bytes, &size, path, file_limit));
    JF_TRY_DONE(read_header(&in, file, bytes, size));
    JF_TRY_DONE(read_claims(&in, file));
    JF_TRY_DONE(copy_tensors(&in, file));
done:
    free(bytes);
    free(in.claims);
    if (status == JF_OK)
        *out = file;
    else
        tensors_free(file);
    return status;
}

void tensors_free(tensor_file *file) {
    if (!file) return;
    json_free(file->header);
    free(file->tensors);
    free(file->data);
    free(file);
}

size_t tensors_count(const tensor_file *file) {
    return file->count;
}

const tensor *tensors_at(const tensor_file *file, size_t index) {
    return index < file->count ? &file->tensors[index] : NULL;
}

const tensor *tensors_find(const tensor_file *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

const char *tensors_note(const tensor_file *file, const char *key) {
    const json *note = file->notes ? json_find(file->notes, key) : NULL;
    return note ? json_string(note) : NULL;
}
