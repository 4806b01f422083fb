/* Numbers as text, whatever the locale. Asking for the "C" locale costs nothing: the C library has it ready
 * and hands out the same object every time, so there is no need to keep one (and no state to share). */
#include "base/number.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* The calling thread's locale is switched, and restored before anybody else can see it. */
static locale_t enter_plain_locale(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? uselocale(plain) : uselocale((locale_t)0);
}

static void leave_plain_locale(locale_t before) {
    locale_t plain = uselocale(before);
    if (plain != before) freelocale(plain);
}

static size_t sign_length(const char *chars) {
    return *chars == '-' || *chars == '+' ? 1 : 0;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* strtod() reads more than we want: leading space, hexadecimal, "nan(...)". Only its plain part is let
 * through. */
size_t number_scan(const char *chars, double *value) {
    size_t sign = sign_length(chars);
    const char *body = chars + sign;
    if (!is_digit(*body) && !(*body == '.' && is_digit(body[1]))) {
        static const char *const words[] = {"infinity", "inf", "nan"};
        static const size_t lengths[] = {8, 3, 3};
        for (int i = 0; i < 3; i++) {
            if (strncasecmp(body, words[i], lengths[i]) != 0) continue;
            double magnitude = i == 2 ? (double)__builtin_nanf("") : (double)__builtin_inff();
            *value = *chars == '-' ? -magnitude : magnitude;
            return sign + lengths[i];
        }
        return 0;
    }
    if (body[0] == '0' && (body[1] == 'x' || body[1] == 'X')) return 0;
    char *end = NULL;
    locale_t before = enter_plain_locale();
    *value = strtod(chars, &end);
    leave_plain_locale(before);
    return (size_t)(end - chars);
}

int number_parse(const char *chars, double *value) {
    size_t length = number_scan(chars, value);
    return length > 0 && chars[length] == '\0';
}

int number_parse_int(const char *chars, long long *value) {
    if (!is_digit(chars[sign_length(chars)])) return 0;
    char *end = NULL;
    errno = 0;
    *value = strtoll(chars, &end, 10);
    return errno == 0 && *end == '\0';
}

int number_vprint(char *out, size_t size, const char *format, va_list arguments) {
    locale_t before = enter_plain_locale();
    int length = vsnprintf(out, size, format, arguments);
    leave_plain_locale(before);
    return length;
}

int format_text(char *out, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = number_vprint(out, size, format, arguments);
    va_end(arguments);
    return length;
}

/* 15 digits survive text -> double -> text, 17 survive double -> text -> double. */
int number_shortest(char out[NUMBER_SIZE], double value) {
    int length = 0;
    locale_t before = enter_plain_locale();
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    leave_plain_locale(before);
    return length;
}
