/* JSON: strings and numbers to write, and a small strict reader (RFC 8259, with limits on size and depth). */
#ifndef JF_IO_JSON_H
#define JF_IO_JSON_H

#include "base/memory.h"

/* ---- writing ---- */

void json_add_string(text *out,
                     const char *chars); /* quoted and escaped; bytes that are not UTF-8 become U+FFFD */
void json_add_number(text *out, double number); /* reads back the same; NaN and infinities become null */

/* ---- reading ---- */

typedef enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_LIST,
    JSON_OBJECT,
} json_type;

typedef struct json json; /* one value; those inside others are borrowed from the outermost */

/* `name` stands for the text in messages. Keys that come twice in an object are refused. */
jf_status json_parse(jf_context *ctx, json **out, const char *chars, size_t size, const char *name);
void json_free(json *outermost);

json_type json_kind(const json *value);
const char *json_kind_name(const json *value);             /* "a string": for messages */
double json_number(const json *value);                     /* NAN where it is no number */
int json_size(const json *value, size_t *size);            /* 1 for a whole number from 0 to 2^53, else 0 */
int json_bool(const json *value);                          /* 1 for true, else 0 */
const char *json_string(const json *value);                /* NULL where it is no string */
size_t json_count(const json *value);                      /* elements of a list or an object, else 0 */
const json *json_first(const json *value);                 /* its first element, NULL where there is none */
const json *json_next(const json *element);                /* the one after it in the same list or object */
const char *json_key(const json *element);                 /* of an element of an object, else NULL */
const json *json_find(const json *value, const char *key); /* NULL: no such key, or no object */

#endif
