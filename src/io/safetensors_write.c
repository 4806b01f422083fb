/* Writing safetensors files (safetensors.c tells what they are), with their checksums. */
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "io/json.h"
#include "io/safetensors_private.h"

#include <stdlib.h>
#include <string.h>

static jf_status check_tensor(jf_context *ctx, const char *path, const tensor *t, size_t *bytes) {
    if (!t->name || !*t->name || strcmp(t->name, SAFETENSORS_NOTES) == 0)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: a tensor cannot be named \"%s\"", path,
                       t->name ? t->name : "");
    if ((unsigned)t->type >= TENSOR_TYPES)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: tensor \"%.80s\": unknown type %d", path, t->name,
                       (int)t->type);
    if (t->rank < 0 || t->rank > TENSOR_MAX_RANK)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: tensor \"%.80s\": rank %d, expected 0 to %d", path,
                       t->name, t->rank, TENSOR_MAX_RANK);
    if (!tensor_bytes(t, bytes) || *bytes > SAFETENSORS_FILE_LIMIT)
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

static jf_status refuse_other_than_utf8(jf_context *ctx, const char *path, const char *what,
                                        const char *chars) {
    if (utf8_prefix(chars, strlen(chars)) == strlen(chars)) return JF_OK;
    text shown = {0};
    json_add_string(&shown, chars);
    jf_status status = jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: %s %.200s is not UTF-8, expected text in UTF-8",
                               path, what, shown.chars ? shown.chars : "");
    text_free(&shown);
    return status;
}

static jf_status check_texts(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                             const tensor_note *notes, size_t note_count) {
    for (size_t i = 0; i < count; i++)
        if (tensors[i].name) JF_TRY(refuse_other_than_utf8(ctx, path, "the name", tensors[i].name));
    for (size_t i = 0; i < note_count; i++) {
        JF_TRY(refuse_other_than_utf8(ctx, path, "the key", notes[i].key));
        JF_TRY(refuse_other_than_utf8(ctx, path, notes[i].key, notes[i].value));
    }
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
    text_add(out, "\"%s\":{", SAFETENSORS_NOTES);
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
    text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", tensor_type_name(t->type));
    for (int i = 0; i < t->rank; i++) text_add(out, "%s%zu", i ? "," : "", t->shape[i]);
    text_add(out, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

/* Puts the header together and checks the tensors; *size is that of the data. */
static jf_status write_header(jf_context *ctx, const char *path, text *out, const tensor *tensors,
                              size_t count, const tensor_note *notes, size_t note_count, size_t *size) {
    *size = 0;
    JF_TRY(check_texts(ctx, path, tensors, count, notes, note_count));
    text_add(out, "{");
    if (note_count) write_notes(out, notes, note_count);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        JF_TRY(check_tensor(ctx, path, &tensors[i], &bytes));
        if (*size + bytes > SAFETENSORS_FILE_LIMIT)
            return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: the tensors are too large to write", path);
        if (i || note_count) text_add(out, ",");
        write_tensor(out, &tensors[i], *size, *size + bytes);
        *size += bytes;
    }
    text_add(out, "}");
    while (!out->failed && out->length % SAFETENSORS_LENGTH_SIZE != 0) text_add(out, " ");
    JF_TRY(text_check(ctx, out));
    if (out->length > SAFETENSORS_MAX_HEADER)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: names and notes of %zu bytes, expected at most %d", path,
                       out->length, SAFETENSORS_MAX_HEADER);
    return check_names(ctx, path, tensors, count, notes, note_count);
}

/* All bytes of the file, *out yours to free. */
static jf_status assemble(jf_context *ctx, char **out, size_t *size, const char *path, const tensor *tensors,
                          size_t count, const tensor_note *notes, size_t note_count) {
    text head = {0};
    size_t data = 0;
    jf_status status = JF_OK;
    *out = NULL;
    JF_TRY_DONE(write_header(ctx, path, &head, tensors, count, notes, note_count, &data));
    size_t start = SAFETENSORS_LENGTH_SIZE + head.length;
    JF_TRY_DONE(MEM_NEW(ctx, out, start + data));
    uint64_t length = head.length;
    memcpy(*out, &length, sizeof length);
    memcpy(*out + SAFETENSORS_LENGTH_SIZE, head.chars, head.length);
    char *to = *out + start;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = tensor_elements(&tensors[i]) * tensor_type_size(tensors[i].type);
        if (bytes) memcpy(to, tensors[i].data, bytes);
        to += bytes;
    }
    *size = start + data;
done:
    text_free(&head);
    return status;
}

jf_status tensors_write(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                        const tensor_note *notes, size_t note_count) {
    char *file = NULL;
    size_t size = 0;
    jf_status status = assemble(ctx, &file, &size, path, tensors, count, notes, note_count);
    if (status == JF_OK) status = file_write(ctx, path, file, size);
    free(file);
    return status;
}

static uint64_t sum_content(const tensor *tensors, size_t count, const tensor_note *notes,
                            size_t note_count) {
    uint64_t sum = checksum_start();
    for (size_t i = 0; i < note_count; i++) sum = checksum_add_text(sum, notes[i].value);
    for (size_t i = 0; i < count; i++) sum = checksum_add_tensor(sum, &tensors[i]);
    return sum;
}

jf_status tensors_write_summed(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                               const tensor_note *notes, size_t note_count, const char *sum_key,
                               file_writer *write) {
    char *file = NULL, digits[CHECKSUM_TEXT];
    size_t size = 0;
    tensor_note *all = NULL;
    text mark = {0};
    jf_status status;
    checksum_text(digits, 0); /* in place of those that follow from all the rest */
    JF_TRY_DONE(MEM_NEW(ctx, &all, note_count + 1));
    if (note_count) memcpy(all, notes, note_count * sizeof *notes);
    all[note_count] = (tensor_note){sum_key, digits};
    text_add(&mark, SAFETENSORS_SUM_MARK, sum_key);
    JF_TRY_DONE(text_check(ctx, &mark));
    JF_TRY_DONE(assemble(ctx, &file, &size, path, tensors, count, all, note_count + 1));
    char *place = strstr(file + SAFETENSORS_LENGTH_SIZE, mark.chars) + mark.length;
    checksum_text(digits, strcmp(sum_key, TENSORS_FILE_SUM) == 0
                              ? checksum_of_file(file, size, (size_t)(place - file))
                              : sum_content(tensors, count, notes, note_count));
    memcpy(place, digits, CHECKSUM_DIGITS);
    JF_TRY_DONE(write(ctx, path, file, size));
done:
    free(file);
    free(all);
    text_free(&mark);
    return status;
}
