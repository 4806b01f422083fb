/* MD5 (RFC 1321): tells whether a file is the one that was published. It is no protection against somebody
 * who wants to deceive. */
#ifndef JF_BASE_MD5_H
#define JF_BASE_MD5_H

#include <stddef.h>

enum { MD5_TEXT = 33 }; /* 32 hexadecimal digits and the terminator */

void md5_text(char out[MD5_TEXT], const void *bytes, size_t size);

#endif
