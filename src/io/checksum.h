/* Checksums that tell damage: FNV-1a, 64 bits. Each step is one to one, so no single changed byte goes
 * unseen; of other damage one in 2^64. Not for telling who made a file: that takes a digest. */
#ifndef JF_IO_CHECKSUM_H
#define JF_IO_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_DIGITS = 16, CHECKSUM_TEXT = CHECKSUM_DIGITS + 1 };

uint64_t checksum_start(void);
uint64_t checksum_add(uint64_t sum, const void *bytes, size_t size);
uint64_t checksum_add_text(uint64_t sum, const char *chars); /* with its terminator; NULL: as "" */
void checksum_text(char out[CHECKSUM_TEXT], uint64_t sum);   /* 16 hexadecimal digits */

#endif
