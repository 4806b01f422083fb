#include "io/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t checksum_start(void) {
    return UINT64_C(0xcbf29ce484222325);
}

uint64_t checksum_add(uint64_t sum, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++) sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
    return sum;
}

uint64_t checksum_add_text(uint64_t sum, const char *chars) {
    if (!chars) chars = "";
    return checksum_add(sum, chars, strlen(chars) + 1);
}

void checksum_text(char out[CHECKSUM_TEXT], uint64_t sum) {
    snprintf(out, CHECKSUM_TEXT, "%016" PRIx64, sum);
}
