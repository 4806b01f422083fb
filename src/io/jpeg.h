/* JPEG files as arrays of bytes. */
#ifndef JF_IO_JPEG_H
#define JF_IO_JPEG_H

#include "io/png.h"

/* Reads what is grey, or can be made red, green and blue; a damaged file is refused, also where the decoder
 * could go on with grey in its place. Orientation tags are not followed. Sides of more than `max_side` are
 * refused before anything is allocated for them. */
jf_status jpeg_read(jf_context *ctx, pixels *out, const char *path, int max_side);

#endif
