/* PNG by libpng, from and to memory.
 *
 * libpng leaves a failed call by longjmp(). Everything that must survive it lies in a struct of the caller's;
 * the functions that call setjmp() only return after the jump. */
#include "io/png.h"
#include "base/file.h"
#include "base/memory.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

static const size_t file_limit = (size_t)1 << 28;
enum { MAX_WRITTEN_SIDE = 1 << 15, MAX_CHANNELS = 4, MAX_MESSAGE = 160 };

/* A conversation with libpng, in either direction. */
typedef struct talk {
    png_structp png;
    png_infop info;
    char message[MAX_MESSAGE]; /* why libpng gave up */
    /* reading */
    const uint8_t *file; /* (size) */
    size_t size, at;
    int max_side;
    png_uint_32 h, w;
    int channels;    /* as decoded: 1 to 4, the even ones with alpha */
    uint8_t *pixels; /* (h, w, channels) */
    /* writing */
    text out;
} talk;

/* ---- what libpng calls ---- */

static void on_error(png_structp png, png_const_charp message) {
    talk *t = png_get_error_ptr(png);
    size_t length = strlen(message) < MAX_MESSAGE ? strlen(message) : MAX_MESSAGE - 1;
    memcpy(t->message, message, length);
    t->message[length] = '\0';
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png, (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t n) {
    talk *t = png_get_io_ptr(png);
    if (n > t->size - t->at) png_error(png, "the file ends too early");
    memcpy(out, t->file + t->at, n);
    t->at += n;
}

static void on_write(png_structp png, png_bytep bytes, size_t n) {
    talk *t = png_get_io_ptr(png);
    text_add_chars(&t->out, (const char *)bytes, n);
    if (t->out.failed) png_error(png, "not enough memory");
}

static void on_flush(png_structp png) {
    (void)png;
}

/* ---- reading ---- */

/* Up to the size of the picture. Returns 0 where libpng gave up. */
static int read_head(talk *t) {
    if (setjmp(png_jmpbuf(t->png))) return 0;
    png_set_read_fn(t->png, t, on_read);
    /* of chunks besides the picture nothing is wanted, and some of them expand to much */
    png_set_keep_unknown_chunks(t->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_user_limits(t->png, (png_uint_32)t->max_side, (png_uint_32)t->max_side);
    png_read_info(t->png, t->info);
    t->h = png_get_image_height(t->png, t->info);
    t->w = png_get_image_width(t->png, t->info);
    png_set_expand(t->png); /* palettes to colours, fewer bits to 8, a transparent colour to alpha */
    png_set_scale_16(t->png);
    (void)png_set_interlace_handling(t->png);
    png_read_update_info(t->png, t->info);
    t->channels = png_get_channels(t->png, t->info);
    if (png_get_bit_depth(t->png, t->info) != 8 || t->channels < 1 || t->channels > MAX_CHANNELS ||
        png_get_rowbytes(t->png, t->info) != (size_t)t->w * (size_t)t->channels)
        png_error(t->png, "a layout of pixels that is not known");
    return 1;
}

/* A line of an interlaced picture comes in several passes, each of which adds to it. */
static int read_pixels(talk *t) {
    if (setjmp(png_jmpbuf(t->png))) return 0;
    for (int passes = png_set_interlace_handling(t->png); passes > 0; passes--) {
        for (png_uint_32 i = 0; i < t->h; i++)
            png_read_row(t->png, t->pixels + (size_t)i * t->w * (size_t)t->channels, NULL);
    }
    png_read_end(t->png, NULL);
    return 1;
}

/* Lays what is transparent on black: v <- v alpha / 255. The pixels close up, in place. */
static void drop_alpha(uint8_t *bytes, size_t count, int channels) {
    uint8_t *to = bytes;
    for (size_t i = 0; i < count; i++, bytes += channels) {
        int alpha = bytes[channels - 1];
        for (int c = 0; c < channels - 1; c++) *to++ = (uint8_t)((bytes[c] * alpha + 127) / 255);
    }
}

static jf_status fail_read(jf_context *ctx, const talk *t, const char *path) {
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: damaged: %s", path, t->message);
}

/* The sides lie at a fixed place, behind the signature and the name of the first chunk: so that the message
 * can tell them. */
static jf_status check_sides(jf_context *ctx, const talk *t, const char *path) {
    enum { HEAD = 24 };
    if (t->size < HEAD || png_sig_cmp(t->file, 0, 8) != 0)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a PNG file: it does not begin with its signature",
                       path);
    unsigned long w = png_get_uint_32(t->file + 16), h = png_get_uint_32(t->file + 20);
    if (w < 1 || h < 1 || w > (unsigned long)t->max_side || h > (unsigned long)t->max_side)
        return jf_fail(ctx, JF_ERROR_FORMAT,
                       "%s: a picture of %lu x %lu (width x height), expected sides of 1 to %d", path, w, h,
                       t->max_side);
    return JF_OK;
}

static jf_status decode(jf_context *ctx, talk *t, const char *path) {
    JF_TRY(check_sides(ctx, t, path));
    t->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, t, on_error, on_warning);
    t->info = t->png ? png_create_info_struct(t->png) : NULL;
    if (!t->info) return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory to read it", path);
    if (!read_head(t)) return fail_read(ctx, t, path);
    JF_TRY(MEM_NEW(ctx, &t->pixels, (size_t)t->h * t->w * (size_t)t->channels));
    if (!read_pixels(t)) return fail_read(ctx, t, path);
    return JF_OK;
}

static jf_status read_file(jf_context *ctx, pixels *out, const char *path, int max_side, int keep_alpha) {
    *out = (pixels){.h = 0};
    char *file = NULL;
    talk t = {.max_side = max_side};
    JF_TRY(file_read(ctx, &file, &t.size, path, file_limit));
    t.file = (const uint8_t *)file;
    jf_status status = decode(ctx, &t, path);
    png_destroy_read_struct(&t.png, &t.info, NULL);
    free(file);
    if (status != JF_OK) {
        free(t.pixels);
        return status;
    }
    int has_alpha = t.channels % 2 == 0 && !keep_alpha;
    if (has_alpha) drop_alpha(t.pixels, (size_t)t.h * t.w, t.channels);
    *out = (pixels){(int)t.h, (int)t.w, t.channels - has_alpha, t.pixels};
    return JF_OK;
}

jf_status pixels_read(jf_context *ctx, pixels *out, const char *path, int max_side) {
    return read_file(ctx, out, path, max_side, 0);
}

jf_status pixels_read_alpha(jf_context *ctx, pixels *out, const char *path, int max_side) {
    return read_file(ctx, out, path, max_side, 1);
}

void pixels_free(pixels *p) {
    free(p->bytes);
    p->bytes = NULL;
}

/* ---- writing ---- */

static int encode(talk *t, const pixels *p) {
    if (setjmp(png_jmpbuf(t->png))) return 0;
    png_set_write_fn(t->png, t, on_write, on_flush);
    png_set_IHDR(t->png, t->info, (png_uint_32)p->w, (png_uint_32)p->h, 8,
                 p->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(t->png, t->info);
    for (int i = 0; i < p->h; i++)
        png_write_row(t->png, p->bytes + (size_t)i * (size_t)p->w * (size_t)p->channels);
    png_write_end(t->png, NULL);
    return 1;
}

jf_status pixels_write(jf_context *ctx, const char *path, const pixels *p) {
    if (p->h < 1 || p->w < 1 || p->h > MAX_WRITTEN_SIDE || p->w > MAX_WRITTEN_SIDE)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "%s: a picture of %d x %d (width x height), expected sides of 1 to %d", path, p->w,
                       p->h, MAX_WRITTEN_SIDE);
    if (p->channels != 1 && p->channels != 3)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "%s: %d channels, expected 1 (grey) or 3 (colour)", path,
                       p->channels);
    talk t = {.png = NULL};
    t.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &t, on_error, on_warning);
    t.info = t.png ? png_create_info_struct(t.png) : NULL;
    jf_status status;
    if (!t.info)
        status = jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory to write it", path);
    else if (!encode(&t, p))
        status = jf_fail(ctx, JF_ERROR_MEMORY, "%s: could not be encoded: %s", path, t.message);
    else
        status = file_write(ctx, path, t.out.chars, t.out.length);
    png_destroy_write_struct(&t.png, &t.info);
    text_free(&t.out);
    return status;
}
