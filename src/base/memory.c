/* Checked allocation and strings that grow. */
#include "base/memory.h"
#include "base/number.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

jf_status mem_alloc(jf_context *ctx, void *out, size_t count, size_t size) {
    void *memory = NULL;
    size_t bytes = 0;
    int fits = !__builtin_mul_overflow(count, size, &bytes) && bytes <= PTRDIFF_MAX;
    if (fits) memory = calloc(bytes ? bytes : 1, 1);
    memcpy(out, &memory, sizeof memory); /* out is a T **, whatever T is */
    if (memory) return JF_OK;
    return jf_fail(ctx, JF_ERROR_MEMORY, "not enough memory for %zu times %zu bytes", count, size);
}

jf_status mem_copy_text(jf_context *ctx, char **out, const char *from) {
    size_t size = strlen(from) + 1;
    JF_TRY(MEM_NEW(ctx, out, size));
    memcpy(*out, from, size);
    return JF_OK;
}

/* Makes room for `more` characters and the terminator; 0 where that failed, now or before. */
static int text_reserve(text *t, size_t more) {
    if (t->failed) return 0;
    size_t needed = 0;
    if (__builtin_add_overflow(t->length, more, &needed) || needed >= PTRDIFF_MAX / 2) {
        t->failed = 1;
        return 0;
    }
    if (needed + 1 <= t->capacity) return 1;
    size_t capacity = t->capacity ? t->capacity : 64;
    while (capacity < needed + 1) capacity *= 2;
    char *chars = realloc(t->chars, capacity);
    if (!chars) {
        t->failed = 1;
        return 0;
    }
    t->chars = chars;
    t->capacity = capacity;
    return 1;
}

void text_add(text *t, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = number_vprint(NULL, 0, format, arguments);
    if (length < 0) {
        t->failed = 1;
    } else if (text_reserve(t, (size_t)length)) {
        number_vprint(t->chars + t->length, (size_t)length + 1, format, again);
        t->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void text_add_chars(text *t, const char *chars, size_t n) {
    if (!text_reserve(t, n)) return;
    if (n) memcpy(t->chars + t->length, chars, n);
    t->length += n;
    t->chars[t->length] = '\0';
}

void text_add_number(text *t, double value) {
    char digits[NUMBER_SIZE];
    text_add_chars(t, digits, (size_t)number_shortest(digits, value));
}

jf_status text_check(jf_context *ctx, const text *t) {
    if (!t->failed) return JF_OK;
    return jf_fail(ctx, JF_ERROR_MEMORY, "not enough memory for a text longer than %zu characters",
                   t->length);
}

void text_free(text *t) {
    free(t->chars);
    *t = (text){0};
}
