/* Numbers as text, the same in every locale: a point is a point even where the host program has called
 * setlocale() and people write a comma. */
#ifndef JF_BASE_NUMBER_H
#define JF_BASE_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

/* Reads the decimal number, "inf" or "nan" (any case, optional sign) that `chars` begins with. Returns the
 * number of characters read, 0 where there is no number. No leading space, no hexadecimal. */
size_t number_scan(const char *chars, double *value);
int number_parse(const char *chars, double *value); /* 1 if the whole of `chars` is one number, else 0 */
int number_parse_int(const char *chars,
                     long long *value); /* decimal whole numbers only; 0 if it does not fit */

/* vsnprintf() and snprintf() in the "C" locale. */
int number_vprint(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
int format_text(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The fewest digits that read back as the same number. Returns the length. */
enum { NUMBER_SIZE = 32 };
int number_shortest(char out[NUMBER_SIZE], double value);

#endif
