#include "io/json.h"
#include "base/number.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 24 };

/* ---- writing ---- */

void json_add_string(text *out, const char *chars) {
    size_t left = strlen(chars);
    text_add_chars(out, "\"", 1);
    while (left > 0) {
        size_t length = utf8_length(chars, left);
        unsigned char c = (unsigned char)*chars;
        if (length == 0)
            text_add_chars(out, "\xEF\xBF\xBD", 3);
        else if (c == '"' || c == '\\')
            text_add(out, "\\%c", c);
        else if (c == '\n')
            text_add_chars(out, "\\n", 2);
        else if (c < ' ' || c == 127)
            text_add(out, "\\u%04x", c);
        else
            text_add_chars(out, chars, length);
        size_t step = length ? length : 1;
        chars += step;
        left -= step;
    }
    text_add_chars(out, "\"", 1);
}

/* As few digits as read back the same: 0.1, not 0.10000000000000001. */
void json_add_number(text *out, double number) {
    if (!isfinite(number)) {
        text_add(out, "null");
        return;
    }
    if (number == 0 && signbit(number))
        text_add(out, "-0.0"); /* -0 would be read as the integer */
    else
        text_add_number(out, number);
}

/* ---- reading ---- */

/* An upper bound for the memory that jansson 2.14 takes for the values of a text, above the characters of its
 * strings: measured for lists of many empty values. A text of three bytes a value takes eighty times its
 * size. */
static size_t most_bytes(const char *chars, size_t size) {
    enum { QUOTE = 30 };
    static const unsigned char of[128] = {['{'] = 240, ['['] = 144, [':'] = 64, [','] = 40};
    size_t bytes = 0;
    int inside = 0; /* a string */
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)chars[i];
        if (c == '"') {
            inside = !inside;
            bytes += QUOTE;
        } else if (inside) {
            i += c == '\\';
        } else if (c < 128) {
            bytes += of[c];
        }
    }
    return bytes;
}

/* `["PADDING", TEXT]`, with a padding as long as the text; NULL: no memory. */
static char *pad(const char *chars, size_t size, size_t *padded_size) {
    char *padded = malloc(2 * size + 6), *at = padded;
    if (!padded) return NULL;
    *at++ = '[', *at++ = '"';
    memset(at, '-', size);
    at += size;
    *at++ = '"', *at++ = ',';
    if (size) memcpy(at, chars, size);
    at += size;
    *at++ = ']';
    *padded_size = (size_t)(at - padded);
    return padded;
}

/* jansson 2.14 drops characters that its buffer has no memory for, and goes on. So the buffer grows to the
 * largest size that the text can need before the text is read, by a padding whose length tells whether it
 * did. NULL: that failed, or the text is no JSON. */
static json_t *read_padded(const char *chars, size_t size, json_error_t *error) {
    size_t padded_size;
    char *padded = pad(chars, size, &padded_size);
    *error = (json_error_t){.text = ""};
    if (!padded) return NULL;
    json_t *both = json_loadb(padded, padded_size, JSON_REJECT_DUPLICATES, error), *read = NULL;
    free(padded);
    if (json_array_size(both) == 2 && json_string_length(json_array_get(both, 0)) == size)
        read = json_incref(json_array_get(both, 1));
    json_decref(both);
    return read;
}

/* What is wrong with a text that could not be read: without the padding, so that places are those of the
 * text. jansson tells of memory that it did not get as of a mistake in the text; errno knows better, since it
 * gives up at once. */
static jf_status fail_json(jf_context *ctx, const char *chars, size_t size, const char *name,
                           const json_error_t *padded) {
    json_error_t error;
    errno = 0;
    json_t *read = json_loadb(chars, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    int is_json = read != NULL, too_deep = json_error_code(padded) == json_error_stack_overflow;
    if (!is_json && errno != ENOMEM)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: byte %d: %s; expected JSON", name, error.position,
                       error.text);
    json_decref(read);
    if (is_json && too_deep) return jf_fail(ctx, JF_ERROR_FORMAT, "%s: %s", name, padded->text);
    return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory for %zu bytes of JSON", name, size);
}

jf_status json_read(jf_context *ctx, json_t **out, const char *chars, size_t size, const char *name) {
    return json_read_within(ctx, out, chars, size, JSON_MEMORY(size), name);
}

jf_status json_read_within(jf_context *ctx, json_t **out, const char *chars, size_t size, size_t most,
                           const char *name) {
    json_error_t error;
    *out = NULL;
    if (size > MAX_SIZE)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: %zu bytes of JSON; expected at most %d", name, size,
                       MAX_SIZE);
    size_t bytes = most_bytes(chars, size);
    if (bytes > most)
        return jf_fail(
            ctx, JF_ERROR_FORMAT,
            "%s: %zu bytes of JSON with values that may take %zu bytes of memory; expected at most "
            "%zu",
            name, size, bytes, most);
    *out = read_padded(chars, size, &error);
    return *out ? JF_OK : fail_json(ctx, chars, size, name, &error);
}

const char *json_words(const json_t *value) {
    static const char *const words[] = {
        [JSON_OBJECT] = "an object",    [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number",    [JSON_REAL] = "a number", [JSON_TRUE] = "true or false",
        [JSON_FALSE] = "true or false", [JSON_NULL] = "null"};
    return words[json_typeof(value)];
}

int json_whole(const json_t *value, size_t *size) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return 0;
    *size = (size_t)json_integer_value(value);
    return 1;
}
