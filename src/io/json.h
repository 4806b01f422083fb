/* JSON. Reading is jansson's work, whose json_t is used as it is; what is added here are limits and a
 * sentence. Writing is our own: numbers with as few digits as read back the same. */
#ifndef JF_IO_JSON_H
#define JF_IO_JSON_H

#include "base/memory.h"
#include <jansson.h>

void json_add_string(text *out,
                     const char *chars); /* quoted and escaped; bytes that are not UTF-8 become U+FFFD */
void json_add_number(text *out, double number); /* reads back the same; NaN and infinities become null */

/* *out is to be given to json_decref. Strict (RFC 8259): one value, keys that come once, text in UTF-8
 * without NUL, numbers that fit; at most 16 MiB, and values that take at most JSON_MEMORY(size). `name`
 * stands for the text in messages. */
jf_status json_read(jf_context *ctx, json_t **out, const char *chars, size_t size, const char *name);
#define JSON_MEMORY(size) (((size_t)48 << 20) + 4 * (size_t)(size)) /* bytes */
/* The same with another limit for the memory of the values: of a text that is part of a larger file. */
jf_status json_read_within(jf_context *ctx, json_t **out, const char *chars, size_t size, size_t most,
                           const char *name);
const char *json_words(const json_t *value);       /* "a string": what it is, for messages */
int json_whole(const json_t *value, size_t *size); /* 1 for a whole number that is not negative, else 0 */

#endif
