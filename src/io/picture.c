#include "io/picture.h"
#include "base/file.h"
#include "io/jpeg.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* The first bytes, and how many there are. */
static jf_status read_start(jf_context *ctx, const char *path, char start[SIGNATURE], int *length) {
    int fd;
    *length = 0;
    JF_TRY(file_open(ctx, &fd, path));
    ssize_t found = read(fd, start, SIGNATURE);
    close(fd);
    if (found < 0) return jf_fail(ctx, JF_ERROR_IO, "%s: could not be read: %s", path, strerror(errno));
    *length = (int)found;
    return JF_OK;
}

static int begins(const struct format *f, const char *start, int length) {
    int wanted = (int)strlen(f->signature);
    return length >= wanted && memcmp(start, f->signature, (size_t)wanted) == 0;
}

jf_status picture_is_png(jf_context *ctx, int *is, const char *path) {
    char start[SIGNATURE];
    int length;
    JF_TRY(read_start(ctx, path, start, &length));
    *is = begins(&formats[0], start, length);
    return JF_OK;
}

jf_status picture_read(jf_context *ctx, pixels *out, const char *path, int max_side) {
    char start[SIGNATURE];
    *out = (pixels){.h = 0};
    int length;
    JF_TRY(read_start(ctx, path, start, &length));
    for (int i = 0; i < FORMATS; i++)
        if (begins(&formats[i], start, length)) return formats[i].read(ctx, out, path, max_side);
    return jf_fail(ctx, JF_ERROR_FORMAT,
                   "%s: neither a PNG nor a JPEG file: it begins with the signature of none", path);
}
