/* A strict JSON reader and the two writers that need care.
 *
 * The tree is one block of memory: first the values (their number is bounded beforehand by counting the
 * characters that can come before one), then the characters of all strings, which never get longer by
 * unescaping. Nothing has to grow while reading, and freeing is one call. */
#include "io/json.h"
#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 24, MAX_VALUES = 1 << 20, MAX_DEPTH = 32 };

struct json {
    json_type type;
    double number; /* also 1 for true */
    const char *string, *key;
    json *first, *next;
    size_t count;
};

typedef struct reader {
    jf_context *ctx;
    const char *name, *start, *at, *end;
    json *values;
    size_t used, capacity;
    char *pool; /* where the next string goes */
    int depth;
} reader;

/* ---- UTF-8 ---- */

static char *utf8_put(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    } else {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    }
    return to;
}

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
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        double again = 0;
        number_print(digits, sizeof digits, "%.*g", precision, number);
        if (number_parse(digits, &again) && again == number) break;
    }
    text_add(out, "%s", digits);
}

/* ---- reading ---- */

static jf_status read_value(reader *in, json **out);

static jf_status fail_here(const reader *in, const char *expected) {
    size_t offset = (size_t)(in->at - in->start);
    if (in->at >= in->end)
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: ends too early; expected %s", in->name, expected);
    unsigned char c = (unsigned char)*in->at;
    if (c > ' ' && c < 127)
        return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: byte %zu: found '%c', expected %s", in->name, offset, c,
                       expected);
    return jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: byte %zu: found code %d, expected %s", in->name, offset, c,
                   expected);
}

static void skip_space(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
        in->at++;
}

/* Takes the character if it comes next. */
static int accept(reader *in, char c) {
    skip_space(in);
    if (in->at >= in->end || *in->at != c) return 0;
    in->at++;
    return 1;
}

/* The code unit of "\uXXXX" at `at`; -1 where there is none. */
static long read_unit(const reader *in, const char *at) {
    if (in->end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    long unit = 0;
    for (int i = 2; i < 6; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
        const char *digit = c ? strchr(digits, c) : NULL;
        if (!digit) return -1;
        unit = unit * 16 + (digit - digits);
    }
    return unit;
}

/* "\uD83D\uDE00" is one character. A NUL would end our strings early: it is refused like half a pair. */
static jf_status read_unicode(reader *in) {
    long high = read_unit(in, in->at), low = -1;
    if (high <= 0) return fail_here(in, "\\uXXXX other than \\u0000");
    uint32_t code = (uint32_t)high;
    size_t step = 6;
    if (high >= 0xD800 && high <= 0xDFFF) {
        if (high <= 0xDBFF) low = read_unit(in, in->at + 6);
        if (low < 0xDC00 || low > 0xDFFF) return fail_here(in, "a pair of surrogates");
        code = 0x10000 + (((uint32_t)high - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
        step = 12;
    }
    in->pool = utf8_put(in->pool, code);
    in->at += step;
    return JF_OK;
}

static jf_status read_escape(reader *in) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (in->end - in->at < 2) {
        in->at = in->end;
        return fail_here(in, "an escape sequence");
    }
    if (in->at[1] == 'u') return read_unicode(in);
    const char *name = in->at[1] ? strchr(names, in->at[1]) : NULL;
    if (!name) return fail_here(in, "one of the escape sequences of JSON");
    *in->pool++ = values[name - names];
    in->at += 2;
    return JF_OK;
}

static jf_status read_string(reader *in, const char **out) {
    if (!accept(in, '"')) return fail_here(in, "a string");
    *out = in->pool;
    while (in->at < in->end && *in->at != '"') {
        if (*in->at == '\\') {
            JF_TRY(read_escape(in));
            continue;
        }
        size_t length = utf8_length(in->at, (size_t)(in->end - in->at));
        if (length == 0 || (unsigned char)*in->at < ' ') return fail_here(in, "text in UTF-8");
        memcpy(in->pool, in->at, length);
        in->pool += length;
        in->at += length;
    }
    if (in->at >= in->end) return fail_here(in, "the end of a string");
    in->at++;
    *in->pool++ = '\0';
    return JF_OK;
}

static size_t count_digits(const char *at, const char *end) {
    size_t n = 0;
    while (at + n < end && at[n] >= '0' && at[n] <= '9') n++;
    return n;
}

/* JSON's own grammar is narrower than strtod()'s: no "+1", "01", ".5", "1.", "inf". */
static jf_status read_number(reader *in, json *value) {
    char digits[64];
    const char *at = in->at;
    at += *at == '-';
    size_t whole = count_digits(at, in->end);
    if (whole == 0 || (whole > 1 && *at == '0')) return fail_here(in, "a value");
    at += whole;
    if (at < in->end && *at == '.') {
        size_t fraction = count_digits(++at, in->end);
        if (fraction == 0) return fail_here(in, "a number as JSON writes them");
        at += fraction;
    }
    if (at < in->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < in->end && (*at == '+' || *at == '-')) at++;
        size_t exponent = count_digits(at, in->end);
        if (exponent == 0) return fail_here(in, "a number as JSON writes them");
        at += exponent;
    }
    size_t length = (size_t)(at - in->at);
    if (length >= sizeof digits) return fail_here(in, "a number of fewer than 64 characters");
    memcpy(digits, in->at, length);
    digits[length] = '\0';
    if (!number_parse(digits, &value->number) || !isfinite(value->number))
        return fail_here(in, "a number that a double can hold");
    value->type = JSON_NUMBER;
    in->at = at;
    return JF_OK;
}

static jf_status read_word(reader *in, json *value) {
    static const struct {
        const char *word;
        json_type type;
        double number;
    } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(in->end - in->at) < length || memcmp(in->at, words[i].word, length) != 0) continue;
        value->type = words[i].type;
        value->number = words[i].number;
        in->at += length;
        return JF_OK;
    }
    return fail_here(in, "a value");
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, so that a hostile file with a great many keys costs no more than time in proportion. */
static jf_status check_keys(const reader *in, const json *object) {
    if (object->count < 2) return JF_OK;
    const char **keys = NULL;
    JF_TRY(MEM_NEW(in->ctx, &keys, object->count));
    size_t n = 0;
    for (const json *e = object->first; e; e = e->next) keys[n++] = e->key;
    qsort(keys, n, sizeof *keys, by_text);
    jf_status status = JF_OK;
    for (size_t i = 1; i < n && status == JF_OK; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            status = jf_fail(in->ctx, JF_ERROR_FORMAT, "%s: key \"%.80s\" comes twice", in->name, keys[i]);
    free(keys);
    return status;
}

/* What stands between the brackets of a list or an object. */
static jf_status read_elements(reader *in, json *value, char closing) {
    json **link = &value->first;
    value->type = closing == '}' ? JSON_OBJECT : JSON_LIST;
    if (accept(in, closing)) return JF_OK;
    do {
        const char *key = NULL;
        if (closing == '}') {
            JF_TRY(read_string(in, &key));
            if (!accept(in, ':')) return fail_here(in, "':'");
        }
        JF_TRY(read_value(in, link));
        (*link)->key = key;
        link = &(*link)->next;
        value->count++;
    } while (accept(in, ','));
    if (!accept(in, closing)) return fail_here(in, closing == '}' ? "',' or '}'" : "',' or ']'");
    return closing == '}' ? check_keys(in, value) : JF_OK;
}

static jf_status read_value(reader *in, json **out) {
    skip_space(in);
    if (in->at >= in->end) return fail_here(in, "a value");
    if (in->used == in->capacity) return fail_here(in, "a separator"); /* more values than separators */
    json *value = *out = &in->values[in->used++];
    char c = *in->at;
    if (c == '"') {
        value->type = JSON_STRING;
        return read_string(in, &value->string);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(in, value);
    if (c != '{' && c != '[') return read_word(in, value);
    if (in->depth >= MAX_DEPTH) return fail_here(in, "at most 32 levels of brackets");
    in->at++;
    in->depth++;
    JF_TRY(read_elements(in, value, c == '{' ? '}' : ']'));
    in->depth--;
    return JF_OK;
}

jf_status json_parse(jf_context *ctx, json **out, const char *chars, size_t size, const char *name) {
    *out = NULL;
    if (size > MAX_SIZE)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: %zu bytes of JSON; expected at most %d", name, size,
                       MAX_SIZE);
    size_t values = 1; /* every value but the outermost comes after one of these */
    for (size_t i = 0; i < size; i++) values += chars[i] == '[' || chars[i] == ',' || chars[i] == ':';
    if (values > MAX_VALUES)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: JSON with up to %zu values; expected at most %d", name,
                       values, MAX_VALUES);
    char *block = NULL;
    JF_TRY(MEM_NEW(ctx, &block, values * sizeof(json) + size + 1));
    reader in = {.ctx = ctx, .name = name, .start = chars, .at = chars, .end = chars + size};
    in.values = (json *)(void *)block;
    in.capacity = values;
    in.pool = block + values * sizeof(json);
    json *root = NULL;
    jf_status status = read_value(&in, &root);
    skip_space(&in);
    if (status == JF_OK && in.at < in.end) status = fail_here(&in, "nothing after the value");
    if (status == JF_OK)
        *out = root;
    else
        free(block);
    return status;
}

void json_free(json *outermost) {
    free(outermost); /* the first of the block */
}

/* ---- looking into the tree ---- */

json_type json_kind(const json *value) {
    return value->type;
}

const char *json_kind_name(const json *value) {
    static const char *const names[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};
    return names[value->type];
}

double json_number(const json *value) {
    return value->type == JSON_NUMBER ? value->number : (double)NAN;
}

int json_size(const json *value, size_t *size) {
    double n = value->number;
    if (value->type != JSON_NUMBER || !(n >= 0 && n <= 0x1p53) || n != floor(n)) return 0;
    *size = (size_t)n;
    return 1;
}

int json_bool(const json *value) {
    return value->type == JSON_BOOL && value->number == 1;
}

const char *json_string(const json *value) {
    return value->type == JSON_STRING ? value->string : NULL;
}

size_t json_count(const json *value) {
    return value->count;
}

const json *json_first(const json *value) {
    return value->first;
}

const json *json_next(const json *element) {
    return element->next;
}

const char *json_key(const json *element) {
    return element->key;
}

const json *json_find(const json *value, const char *key) {
    if (value->type != JSON_OBJECT) return NULL;
    for (const json *e = value->first; e; e = e->next)
        if (strcmp(e->key, key) == 0) return e;
    return NULL;
}
