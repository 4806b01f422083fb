#include "io/picture.h"
#include "base/file.h"
#include "io/jpeg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct format {
    const char *signature; /* that a file begins with */
    jf_status (*read)(jf_context *ctx, pixels *out, const char *path, int max_side);
} formats[] = {{"\x89PNG", pixels_read}, {"\xff\xd8\xff", jpeg_read}};
enum { FORMATS = sizeof formats / sizeof *formats, SIGNATURE = 4 };

int picture_named(const char *path) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(file_extension(path), endings[i]) == 0) return 1;
    return 0;
}

jf_status picture_read(jf_context *ctx, pixels *out, const char *path, int max_side) {
    char start[SIGNATURE] = {0};
    *out = (pixels){.h = 0};
    FILE *file = fopen(path, "rb");
    if (!file) return jf_fail(ctx, JF_ERROR_IO, "%s: could not be opened: %s", path, strerror(errno));
    size_t length = fread(start, 1, SIGNATURE, file);
    fclose(file);
    for (int i = 0; i < FORMATS; i++) {
        size_t wanted = strlen(formats[i].signature);
        if (length >= wanted && memcmp(start, formats[i].signature, wanted) == 0)
            return formats[i].read(ctx, out, path, max_side);
    }
    return jf_fail(ctx, JF_ERROR_FORMAT,
                   "%s: neither a PNG nor a JPEG file: it begins with the signature of none", path);
}
