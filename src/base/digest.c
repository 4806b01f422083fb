#include "base/digest.h"

#include <sha2.h> /* libmd */
#include <sys/types.h>

_Static_assert(SHA256_TEXT == SHA256_DIGEST_STRING_LENGTH, "as many digits as libmd writes");

void sha256_text(char out[SHA256_TEXT], const void *bytes, size_t size) {
    SHA256Data(bytes, size, out);
}
