/* SHA-256 (FIPS 180-4, by libmd): tells whether a file is the one that was published, also against somebody
 * who wants to deceive. Against mere damage a checksum will do (io/checksum.h). */
#ifndef JF_BASE_DIGEST_H
#define JF_BASE_DIGEST_H

#include <stddef.h>

enum { SHA256_TEXT = 65 }; /* 64 hexadecimal digits and the terminator */

void sha256_text(char out[SHA256_TEXT], const void *bytes, size_t size);

#endif
