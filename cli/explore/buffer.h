/* A text that grows, and JSON written into it. Running out of memory is remembered and told once, at the end.
 */
#ifndef EXPLORE_BUFFER_H
#define EXPLORE_BUFFER_H

#include <stddef.h>

typedef struct buffer {
    char *chars; /* terminated once something was added */
    size_t length, room;
    int failed; /* something was lost */
} buffer;

void buffer_free(buffer *b);
void buffer_add_bytes(buffer *b, const void *bytes, size_t count);
void buffer_add(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* JSON. A number that is not finite, which JSON has none of, is written as null. */
void buffer_add_text(buffer *b, const char *text); /* quoted; bytes that are not UTF-8 become '?' */
void buffer_add_number(buffer *b, double value);   /* reads back as the same number */
void buffer_add_numbers(buffer *b, const double *values, size_t count);      /* [..] */
void buffer_add_base64(buffer *b, const unsigned char *bytes, size_t count); /* quoted */

#endif
