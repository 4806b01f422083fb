/* UTF-8, the encoding of names and notes in files (RFC 3629). */
#ifndef JF_BASE_UTF8_H
#define JF_BASE_UTF8_H

#include <stddef.h>

size_t utf8_length(const char *chars,
                   size_t available); /* of the character there, 1 to 4; 0 where there is none */
size_t utf8_prefix(const char *chars,
                   size_t size); /* bytes before the first that is no UTF-8; `size` where all are */
/* Windows-1252, which agrees with Latin-1 wherever that has letters. out: 3 * size bytes; returns how many
 * are used. Bytes without a character become control characters. */
size_t utf8_from_windows(char *out, const char *chars, size_t size);

#endif
