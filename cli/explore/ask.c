#include "ask.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ask_refuse(ask *a, const char *format, ...) {
    if (a->refused) return;
    va_list rest;
    va_start(rest, format);
    vsnprintf(a->why, sizeof a->why, format, rest);
    va_end(rest);
    a->refused = 1;
}

void ask_read(ask *out, const char *bytes, size_t count) {
    json_error_t error;
    *out = (ask){.object = json_loadb(count ? bytes : "", count, JSON_REJECT_DUPLICATES, &error)};
    if (!out->object)
        ask_refuse(out, "the request is not JSON: line %d: %s", error.line, error.text);
    else if (!json_is_object(out->object))
        ask_refuse(out, "the request is not a JSON object");
}

void ask_free(ask *a) {
    json_decref(a->object);
    *a = (ask){0};
}

int ask_has(const ask *a, const char *name) {
    return json_object_get(a->object, name) != NULL;
}

double ask_real(ask *a, const char *name, double lo, double hi, double fallback) {
    const json_t *field = json_object_get(a->object, name);
    if (!field) return fallback;
    double value = json_number_value(field);
    if (json_is_number(field) && value >= lo && value <= hi) return value;
    ask_refuse(a, "%s: expected a number from %g to %g", name, lo, hi);
    return fallback;
}

long ask_whole(ask *a, const char *name, long lo, long hi, long fallback) {
    double value = ask_real(a, name, (double)lo, (double)hi, (double)fallback);
    if (value == floor(value)) return (long)value;
    ask_refuse(a, "%s: expected a whole number from %ld to %ld", name, lo, hi);
    return fallback;
}

int ask_flag(ask *a, const char *name) {
    const json_t *field = json_object_get(a->object, name);
    if (field && !json_is_boolean(field)) ask_refuse(a, "%s: expected true or false", name);
    return field && json_is_true(field);
}

const char *ask_text(ask *a, const char *name) {
    const json_t *field = json_object_get(a->object, name);
    if (field && !json_is_string(field)) ask_refuse(a, "%s: expected a text", name);
    return field && json_is_string(field) ? json_string_value(field) : "";
}

uint64_t ask_seed(ask *a, const char *name) {
    const json_t *field = json_object_get(a->object, name);
    if (!field || json_is_integer(field)) {
        if (field && json_integer_value(field) < 0)
            ask_refuse(a, "%s: expected a whole number from 0 on", name);
        return field ? (uint64_t)json_integer_value(field) : 0;
    }
    const char *text = json_is_string(field) ? json_string_value(field) : "";
    size_t digits = strspn(text, "0123456789");
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (digits == 0 || text[digits] || errno)
        ask_refuse(a, "%s: expected a whole number from 0 to 2^64 - 1", name);
    return a->refused ? 0 : (uint64_t)value;
}

size_t ask_length(const ask *a, const char *name) {
    const json_t *field = json_object_get(a->object, name);
    return json_is_array(field) ? json_array_size(field) : 0;
}

void ask_numbers(ask *a, const char *name, double *out, size_t count) {
    const json_t *field = json_object_get(a->object, name);
    for (size_t i = 0; i < count; i++) out[i] = 0;
    if (!json_is_array(field) || json_array_size(field) != count) {
        if (field || count > 0)
            ask_refuse(a, "%s: found %zu numbers, expected %zu", name, json_array_size(field), count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(field, i);
        if (!json_is_number(item) || !isfinite(json_number_value(item)))
            ask_refuse(a, "%s: item %zu is not a finite number", name, i);
        else
            out[i] = json_number_value(item);
    }
}
