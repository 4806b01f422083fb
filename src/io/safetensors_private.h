/* What reading (safetensors.c) and writing (safetensors_write.c) of a safetensors file share. */
#ifndef JF_IO_SAFETENSORS_PRIVATE_H
#define JF_IO_SAFETENSORS_PRIVATE_H

#include "io/checksum.h"
#include "io/safetensors.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are read and written as numbers lie in memory: little-endian"
#endif

enum { SAFETENSORS_LENGTH_SIZE = 8, SAFETENSORS_MAX_HEADER = 1 << 24 };
#define SAFETENSORS_FILE_LIMIT ((size_t)1 << 36)
#define SAFETENSORS_NOTES      "__metadata__"
/* What stands before the digits of a checksum, with its key, and in no other place of a header that we write:
 * inside of a name or a note its quotes would be escaped, and a tensor goes on with a brace. */
#define SAFETENSORS_SUM_MARK "\"%s\":\""

/* Bytes of the data; returns 0 where the product of the extents other than 0 is too large, so that no part of
 * the shape of an empty tensor can overflow elsewhere. */
int tensor_bytes(const tensor *t, size_t *bytes);

/* Adds name, type, shape and data of a tensor to a checksum of the content. */
uint64_t checksum_add_tensor(uint64_t sum, const tensor *t);
/* The checksum of a file of `size` bytes, all but its own digits, which begin at byte `digits`. */
uint64_t checksum_of_file(const char *bytes, size_t size, size_t digits);

#endif
