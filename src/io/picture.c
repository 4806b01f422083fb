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

/* The first bytes; how many there are, or -1 where it cannot be opened. */
static int read_start(const char *path, char start[SIGNATURE]) {
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    int length = (int)fread(start, 1, SIGNATURE, file);
    fclose(file);
    return length;
}

static int begins(const struct format *f, const char *start, int length) {
    int wanted = (int)strlen(f->signature);
    return length >= wanted && memcmp(start, f->signature, (size_t)wanted) == 0;
}

int picture_is_png(const char *path) {
    char start[SIGNATURE];
    return begins(&formats[0], start, read_start(path, start));
}

jf_status picture_read(jf_context *ctx, pixels *out, const char *path, int max_side) {
    char start[SIGNATURE];
    *out = (pixels){.h = 0};
    int length = read_start(path, start);
    if (length < 0) return jf_fail(ctx, JF_ERROR_IO, "%s: could not be opened: %s", path, strerror(errno));
    for (int i = 0; i < FORMATS; i++)
        if (begins(&formats[i], start, length)) return formats[i].read(ctx, out, path, max_side);
    return jf_fail(ctx, JF_ERROR_FORMAT,
                   "%s: neither a PNG nor a JPEG file: it begins with the signature of none", path);
}
