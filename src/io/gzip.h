/* Whole files that may be compressed by gzip: the first two bytes tell, not the name. */
#ifndef JF_IO_GZIP_H
#define JF_IO_GZIP_H

#include "base/context.h"
#include <stdint.h>

/* The content of a file, decompressed where it is gzip's; at most `limit` bytes of it. *out is yours to free.
 * A file that is truncated, damaged, too large or followed by something else is refused with
 * JF_ERROR_FORMAT. */
jf_status gzip_read(jf_context *ctx, uint8_t **out, size_t *size, const char *path, size_t limit);

#endif
