/* Running one input, and what the readers share. */
#define _GNU_SOURCE /* memfd_create, memmem */
#include "base/memory.h"
#include "fuzz.h"
#include "io/png.h"
#include "train/train.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Noreturn void fuzz_broken(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}

/* ---- inputs as files ---- */

/* Inputs stay in memory: a link in the folder leads to them, under the name that the reader wants. */
static int the_file(void) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("input", MFD_CLOEXEC);
    FUZZ_EXPECT(fd >= 0);
    return fd;
}

void fuzz_put(const fuzz_input *in, const uint8_t *bytes, size_t size) {
    FUZZ_EXPECT(ftruncate(in->fd, 0) == 0);
    FUZZ_EXPECT(size == 0 || pwrite(in->fd, bytes, size, 0) == (ssize_t)size);
}

static void link_to(int fd, const char *path) {
    char target[64];
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    FUZZ_EXPECT(symlink(target, path) == 0 || errno == EEXIST);
}

jf_status fuzz_run(const fuzz_reader *reader, const char *folder, const uint8_t *bytes, size_t size) {
    jf_context *ctx = NULL;
    text path = {0};
    FUZZ_EXPECT(jf_context_create(&ctx) == JF_OK);
    text_add(&path, "%s/%s", folder, reader->file);
    FUZZ_EXPECT(!path.failed);
    fuzz_input in = {bytes, size, path.chars, folder, the_file()};
    link_to(in.fd, in.path);
    fuzz_put(&in, bytes, size);
    jf_status status = reader->read(ctx, &in);
    FUZZ_EXPECT(status <= 0 && status != JF_ERROR_MEMORY);
    FUZZ_EXPECT(status == JF_OK || *jf_context_error(ctx)); /* a refusal says why */
    text_free(&path);
    jf_context_free(ctx);
    return status;
}

/* ---- for readers ---- */

void fuzz_expect_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) FUZZ_EXPECT(isfinite(values[i]));
}

void fuzz_touch(const void *bytes, size_t size) {
    const volatile uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) (void)at[i];
}

void fuzz_take_picture(struct pixels *p, int most_side) {
    FUZZ_EXPECT(p->h > 0 && p->h <= most_side && p->w > 0 && p->w <= most_side);
    FUZZ_EXPECT(p->channels == 1 || p->channels == 3);
    fuzz_touch(p->bytes, (size_t)p->h * (size_t)p->w * (size_t)p->channels);
    pixels_free(p);
}

char *fuzz_text(const fuzz_input *in) {
    char *chars = malloc(in->size + 1);
    FUZZ_EXPECT(chars != NULL);
    if (in->size) memcpy(chars, in->bytes, in->size);
    chars[in->size] = 0;
    return chars;
}

struct jf_model *fuzz_model_of(const char *recipe_text) {
    jf_context *ctx;
    recipe *r;
    dataset *data;
    model *m;
    FUZZ_EXPECT(jf_context_create(&ctx) == JF_OK);
    FUZZ_EXPECT(recipe_parse(ctx, &r, recipe_text, "fuzz.ini") == JF_OK);
    FUZZ_EXPECT(recipe_declare_all(r) == JF_OK && recipe_check(r) == JF_OK);
    FUZZ_EXPECT(train_open(ctx, &data, &m, r, &(jf_train_options){.threads = 1}) == JF_OK);
    FUZZ_EXPECT(train_measure_condition_range(m, data) == JF_OK);
    dataset_free(data);
    recipe_free(r);
    return m;
}

void fuzz_model_free(struct jf_model *m) {
    jf_context *ctx = m->ctx;
    model_free(m);
    jf_context_free(ctx);
}

/* The first two words of hexadecimal digits after "checksum", of one length: that of the content, and the
 * stored one. */
static int find_checksums(const char *message, const char *found[2], size_t *length) {
    const char *at = strstr(message, "checksum");
    int count = 0;
    while (at && *at && count < 2) {
        size_t digits = 0;
        while (isxdigit((unsigned char)at[digits])) digits++;
        if (digits >= 16) {
            if (count == 1 && digits != *length) return 0;
            found[count++] = at;
            *length = digits;
        }
        at += digits ? digits : 1;
    }
    return count == 2;
}

uint8_t *fuzz_mended(const fuzz_input *in, const char *message) {
    const char *found[2];
    size_t length = 0;
    if (!find_checksums(message, found, &length)) return NULL;
    uint8_t *bytes = malloc(in->size + 1);
    FUZZ_EXPECT(bytes != NULL);
    memcpy(bytes, in->bytes, in->size);
    uint8_t *stored = memmem(bytes, in->size, found[1], length);
    if (stored) {
        memcpy(stored, found[0], length);
        return bytes;
    }
    free(bytes);
    return NULL;
}
