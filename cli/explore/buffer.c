#include "buffer.h"
#include "cli.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_free(buffer *b) {
    free(b->chars);
    *b = (buffer){0};
}

/* Room for `count` more and the end. */
static int make_room(buffer *b, size_t count) {
    if (b->failed) return 0;
    if (count < b->room - b->length && b->room > 0) return 1;
    size_t room = 2 * (b->length + count) + 64;
    char *longer = realloc(b->chars, room);
    if (!longer) {
        b->failed = 1;
        return 0;
    }
    b->chars = longer;
    b->room = room;
    return 1;
}

void buffer_add_bytes(buffer *b, const void *bytes, size_t count) {
    if (!make_room(b, count)) return;
    if (count) memcpy(b->chars + b->length, bytes, count);
    b->length += count;
    b->chars[b->length] = '\0';
}

void buffer_add(buffer *b, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(NULL, 0, format, rest);
    va_end(rest);
    if (length < 0 || !make_room(b, (size_t)length)) return;
    va_start(rest, format);
    vsnprintf(b->chars + b->length, (size_t)length + 1, format, rest);
    va_end(rest);
    b->length += (size_t)length;
}

/* ---- JSON ---- */

/* Bytes of the UTF-8 character at `c`, 0 where there is none. */
static size_t utf8_length(const unsigned char *c) {
    size_t length = c[0] < 0x80                   ? 1
                    : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                    : (c[0] & 0xf0) == 0xe0       ? 3
                    : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && length == 3 && c[1] < 0xa0) || (c[0] == 0xed && length == 3 && c[1] > 0x9f) ||
        (c[0] == 0xf0 && length == 4 && c[1] < 0x90) || (c[0] == 0xf4 && length == 4 && c[1] > 0x8f))
        return 0; /* too long a way to write it, half of a pair, or beyond the last character */
    return length;
}

void buffer_add_text(buffer *b, const char *text) {
    buffer_add(b, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t length = utf8_length(c);
        if (length == 0)
            buffer_add(b, "?");
        else if (*c == '"' || *c == '\\')
            buffer_add(b, "\\%c", *c);
        else if (*c < ' ')
            buffer_add(b, "\\u%04x", *c);
        else
            buffer_add_bytes(b, c, length);
        c += length ? length : 1;
    }
    buffer_add(b, "\"");
}

void buffer_add_number(buffer *b, double value) {
    char text[CLI_NUMBER] = "null"; /* thousands of them in an answer: formatted once */
    buffer_add_bytes(b, text, (size_t)(isfinite(value) ? cli_number(text, value, 17) : 4));
}

void buffer_add_numbers(buffer *b, const double *values, size_t count) {
    buffer_add(b, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) buffer_add_bytes(b, ",", 1);
        buffer_add_number(b, values[i]);
    }
    buffer_add(b, "]");
}

void buffer_add_base64(buffer *b, const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    buffer_add_bytes(b, "\"", 1);
    for (size_t i = 0; i < count; i += 3) {
        size_t have = count - i < 3 ? count - i : 3;
        unsigned long three = (unsigned long)bytes[i] << 16;
        if (have > 1) three |= (unsigned long)bytes[i + 1] << 8;
        if (have > 2) three |= bytes[i + 2];
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                        have > 1 ? digits[three >> 6 & 63] : '=', have > 2 ? digits[three & 63] : '='};
        buffer_add_bytes(b, four, 4);
    }
    buffer_add_bytes(b, "\"", 1);
}
