/* Pictures in any format that is read: PNG and JPEG, told apart by what they begin with. */
#ifndef JF_IO_PICTURE_H
#define JF_IO_PICTURE_H

#include "io/png.h"

/* As pixels_read() and jpeg_read(). */
jf_status picture_read(jf_context *ctx, pixels *out, const char *path, int max_side);
/* Whether a file has the name of a picture: .png, .jpg, .jpeg, in any letters. */
int picture_named(const char *path);
jf_status picture_is_png(jf_context *ctx, int *is, const char *path); /* by its content */
#define PICTURE_ENDINGS ".png, .jpg or .jpeg"                         /* in messages */

#endif
