/* PNG files as arrays of bytes. */
#ifndef JF_IO_PNG_H
#define JF_IO_PNG_H

#include "base/context.h"
#include <stdint.h>

typedef struct pixels {
    int h, w, channels; /* channels: 1, grey, or 3, red green blue */
    uint8_t *bytes;     /* (h, w, channels) */
} pixels;

/* Reads any PNG: a palette becomes colours, 16 bits are rounded to 8, what is transparent lies on black.
 * Sides of more than `max_side` are refused before anything is allocated for them. */
jf_status pixels_read(jf_context *ctx, pixels *out, const char *path, int max_side);
/* The same, but that what is transparent stays so: 2 or 4 channels where the picture has an alpha channel,
 * the last one. */
jf_status pixels_read_alpha(jf_context *ctx, pixels *out, const char *path, int max_side);
void pixels_free(pixels *p);
/* Writes 8 bits per channel, atomically. */
jf_status pixels_write(jf_context *ctx, const char *path, const pixels *p);

#endif
