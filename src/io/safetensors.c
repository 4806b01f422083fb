/* Safetensors:
 *
 *     length of the header (8 bytes, little-endian), header, data
 *     header: {"__metadata__": {key: text, ...},
 *              name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *
 * Offsets count from the start of the data; together the tensors cover all of the data, without gap or
 * overlap. The header is padded with spaces so that the data begin at a multiple of 8 bytes. */
#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "io/json.h"
#include "io/safetensors_private.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static const struct {
    const char *name;
    size_t size;
} types[] = {[TENSOR_F32] = {"F32", 4},
             [TENSOR_F64] = {"F64", 8},
             [TENSOR_I32] = {"I32", 4},
             [TENSOR_I64] = {"I64", 8},
             [TENSOR_F16] = {"F16", 2}};
enum { TYPES = sizeof types / sizeof *types };
_Static_assert(TYPES == (int)TENSOR_TYPES, "every type has its line");

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

double tensor_value(const tensor *t, size_t i) {
    switch (t->type) {
    case TENSOR_F32:
        return ((const float *)t->data)[i];
    case TENSOR_F64:
        return ((const double *)t->data)[i];
    case TENSOR_I32:
        return ((const int32_t *)t->data)[i];
    case TENSOR_F16:
        return float_of_half(((const uint16_t *)t->data)[i]);
    default:
        return (double)((const int64_t *)t->data)[i];
    }
}

int tensor_bytes(const tensor *t, size_t *bytes) {
    size_t product = types[t->type].size;
    int empty = 0;
    for (int i = 0; i < t->rank; i++) {
        empty |= t->shape[i] == 0;
        if (t->shape[i] && __builtin_mul_overflow(product, t->shape[i], &product)) return 0;
    }
    *bytes = empty ? 0 : product;
    return product <= PTRDIFF_MAX;
}

/* ---- checksums ---- */

uint64_t checksum_add_tensor(uint64_t sum, const tensor *t) {
    sum = checksum_add_text(checksum_add_text(sum, t->name), tensor_type_name(t->type));
    for (int i = 0; i < t->rank; i++) {
        uint64_t extent = t->shape[i];
        sum = checksum_add(sum, &extent, sizeof extent);
    }
    return checksum_add(sum, t->data, tensor_elements(t) * tensor_type_size(t->type));
}

uint64_t checksum_of_file(const char *bytes, size_t size, size_t digits) {
    size_t after = digits + CHECKSUM_DIGITS;
    return checksum_add(checksum_add(checksum_start(), bytes, digits), bytes + after, size - after);
}

/* ---- reading ---- */

/* A tensor as the header describes it. */
typedef struct claim {
    tensor tensor;
    size_t begin, end;
} claim;

struct tensor_file {
    json_t *header;  /* owns names and notes */
    tensor *tensors; /* (count), in the order of their data */
    size_t count;
    const tensor **by_name; /* (count), ascending */
    char *data;             /* each tensor at a multiple of ALIGNMENT */
    const json_t *notes;
    uint64_t sum; /* of the file as it was read, where it has a checksum of all its bytes */
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

static jf_status read_type(const reader *in, const json_t *value, tensor *t) {
    const char *name = json_string_value(value);
    if (!name) return fail_tensor(in, t->name, value ? json_words(value) : "no \"dtype\"", "a \"dtype\"");
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0) {
            t->type = (tensor_type)i;
            return JF_OK;
        }
    return jf_fail(in->ctx, JF_ERROR_FORMAT,
                   "%s: tensor \"%.80s\": found type \"%.20s\", expected F32, F64, F16, I32 or I64", in->path,
                   t->name, name);
}

static jf_status read_shape(const reader *in, const json_t *value, tensor *t) {
    if (!json_is_array(value))
        return fail_tensor(in, t->name, value ? json_words(value) : "no \"shape\"", "a \"shape\"");
    if (json_array_size(value) > TENSOR_MAX_RANK)
        return fail_tensor(in, t->name, "more", "at most 8 extents");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_whole(json_array_get(value, i), &t->shape[t->rank++]))
            return fail_tensor(in, t->name, json_words(json_array_get(value, i)),
                               "extents that are whole numbers");
    return JF_OK;
}

static jf_status read_offsets(const reader *in, const json_t *value, claim *c) {
    const char *name = c->tensor.name;
    if (!json_is_array(value) || json_array_size(value) != 2 ||
        !json_whole(json_array_get(value, 0), &c->begin) || !json_whole(json_array_get(value, 1), &c->end))
        return fail_tensor(in, name, value ? "something else" : "no \"data_offsets\"",
                           "\"data_offsets\" of two whole numbers");
    if (c->begin > c->end || c->end > in->size)
        return jf_fail(
            in->ctx, JF_ERROR_FORMAT,
            "%s: tensor \"%.80s\": found offsets %zu to %zu, expected them within the %zu bytes of data",
            in->path, name, c->begin, c->end, in->size);
    size_t bytes = 0;
    if (!tensor_bytes(&c->tensor, &bytes)) return fail_tensor(in, name, "a shape", "one that fits 64 bits");
    if (bytes != c->end - c->begin)
        return jf_fail(in->ctx, JF_ERROR_FORMAT,
                       "%s: tensor \"%.80s\": found %zu bytes, expected %zu for its shape", in->path, name,
                       c->end - c->begin, bytes);
    return JF_OK;
}

static jf_status read_claim(const reader *in, const char *name, const json_t *value, claim *c) {
    c->tensor.name = name;
    if (!json_is_object(value)) return fail_tensor(in, c->tensor.name, json_words(value), "an object");
    if (json_object_size(value) != 3)
        return fail_tensor(in, c->tensor.name, "other keys", "\"dtype\", \"shape\" and \"data_offsets\"");
    JF_TRY(read_type(in, json_object_get(value, "dtype"), &c->tensor));
    JF_TRY(read_shape(in, json_object_get(value, "shape"), &c->tensor));
    return read_offsets(in, json_object_get(value, "data_offsets"), c);
}

static jf_status check_notes(const reader *in, json_t *notes) {
    const char *key;
    json_t *value;
    int texts = json_is_object(notes);
    json_object_foreach(notes, key, value) texts = texts && json_is_string(value);
    if (texts) return JF_OK;
    return jf_fail(in->ctx, JF_ERROR_FORMAT,
                   "%s: found \"%s\" with other values, expected an object of strings", in->path,
                   SAFETENSORS_NOTES);
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
    const char *key;
    json_t *value;
    if (!json_is_object(file->header))
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: header: found %s, expected an object", in->path,
                       json_words(file->header));
    JF_TRY(MEM_NEW(in->ctx, &in->claims, json_object_size(file->header)));
    json_object_foreach(file->header, key, value) {
        if (strcmp(key, SAFETENSORS_NOTES) == 0) {
            JF_TRY(check_notes(in, value));
            file->notes = value;
        } else {
            JF_TRY(read_claim(in, key, value, &in->claims[in->count++]));
        }
    }
    if (in->count > 1) qsort(in->claims, in->count, sizeof *in->claims, by_place);
    return check_cover(in);
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const tensor *const *)a)->name, (*(const tensor *const *)b)->name);
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
    JF_TRY(MEM_NEW(in->ctx, &file->by_name, in->count));
    for (size_t i = 0; i < in->count; i++) file->by_name[i] = &file->tensors[i];
    if (in->count > 1) qsort(file->by_name, in->count, sizeof *file->by_name, by_name);
    return JF_OK;
}

/* Of a file that has a checksum of all its bytes: the one it should be, since the bytes will soon be gone. */
static void sum_file(tensor_file *file, const char *bytes, size_t size, const char *header, size_t length) {
    char mark[64];
    size_t mark_size = (size_t)snprintf(mark, sizeof mark, SAFETENSORS_SUM_MARK, TENSORS_FILE_SUM);
    const char *found = strstr(header, mark); /* a header holds no NUL, and the bytes end with one */
    size_t digits = found ? (size_t)(found - header) + mark_size : length;
    if (digits + CHECKSUM_DIGITS <= length)
        file->sum = checksum_of_file(bytes, size, SAFETENSORS_LENGTH_SIZE + digits);
}

/* Splits the bytes into header and data and reads the header's JSON. */
static jf_status read_header(reader *in, tensor_file *file, const char *bytes, size_t size) {
    uint64_t length = 0;
    if (size >= SAFETENSORS_LENGTH_SIZE) memcpy(&length, bytes, sizeof length);
    if (size < SAFETENSORS_LENGTH_SIZE || length > size - SAFETENSORS_LENGTH_SIZE ||
        length > SAFETENSORS_MAX_HEADER || length < 2)
        return jf_fail(
            in->ctx, JF_ERROR_FORMAT,
            "%s: not a safetensors file, or cut short: found %zu bytes and a header of %llu, expected a "
            "header of 2 to %d within the file",
            in->path, size, (unsigned long long)length, SAFETENSORS_MAX_HEADER);
    const char *header = bytes + SAFETENSORS_LENGTH_SIZE;
    sum_file(file, bytes, size, header, (size_t)length);
    in->data = header + length;
    in->size = size - SAFETENSORS_LENGTH_SIZE - (size_t)length;
    text name = {0};
    text_add(&name, "%s: header", in->path);
    jf_status status = text_check(in->ctx, &name);
    if (status == JF_OK)
        status =
            json_read_within(in->ctx, &file->header, header, (size_t)length, JSON_MEMORY(size), name.chars);
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
    JF_TRY_DONE(file_read(ctx, &bytes, &size, path, SAFETENSORS_FILE_LIMIT));
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
    json_decref(file->header);
    free(file->tensors);
    free(file->by_name);
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
    const tensor named = {.name = name}, *key = &named;
    if (file->count == 0) return NULL;
    const tensor *const *found = bsearch(&key, file->by_name, file->count, sizeof *file->by_name, by_name);
    return found ? *found : NULL;
}

const char *tensors_note(const tensor_file *file, const char *key) {
    return json_string_value(json_object_get(file->notes, key)); /* both take NULL */
}

static jf_status compare_sums(jf_context *ctx, const char *path, uint64_t sum, const char *stored) {
    char found[CHECKSUM_TEXT];
    checksum_text(found, sum);
    if (strcmp(found, stored) == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: damaged: found content with checksum %s, expected %.16s", path,
                   found, stored);
}

static jf_status fail_unsummed(jf_context *ctx, const char *path, const char *key) {
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: damaged: its checksum (\"%s\") is missing", path, key);
}

jf_status tensors_check_content(jf_context *ctx, const tensor_file *file, const char *path,
                                const char *const *keys, size_t key_count) {
    const char *stored = tensors_note(file, TENSORS_CONTENT_SUM);
    if (!stored) return fail_unsummed(ctx, path, TENSORS_CONTENT_SUM);
    uint64_t sum = checksum_start();
    for (size_t i = 0; i < key_count; i++) sum = checksum_add_text(sum, tensors_note(file, keys[i]));
    for (size_t i = 0; i < file->count; i++) sum = checksum_add_tensor(sum, &file->tensors[i]);
    return compare_sums(ctx, path, sum, stored);
}

jf_status tensors_check_file(jf_context *ctx, const tensor_file *file, const char *path) {
    const char *stored = tensors_note(file, TENSORS_FILE_SUM);
    if (!stored) return fail_unsummed(ctx, path, TENSORS_FILE_SUM);
    return compare_sums(ctx, path, file->sum, stored);
}
