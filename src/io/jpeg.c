/* JPEG by libjpeg, from memory.
 *
 * libjpeg leaves a failed call by the function it was given, here longjmp(). Everything that must survive it
 * lies in a struct of the caller's; the functions that call setjmp() only return after the jump. */
#include "io/jpeg.h"
#include "base/file.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

static const size_t file_limit = (size_t)1 << 28;
/* Each scan of a progressive file goes over the whole picture, and an empty one takes a few bytes. */
enum { MOST_SCANS = 500 };

typedef struct talk {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf give_up;
    char message[JMSG_LENGTH_MAX]; /* why it gave up */
    int no_memory;
    uint8_t *pixels; /* (h, w, channels) */
} talk;

/* ---- what libjpeg calls ---- */

static void on_error(j_common_ptr common) {
    talk *t = common->client_data;
    common->err->format_message(common, t->message);
    t->no_memory = common->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(t->give_up, 1);
}

/* A warning (level -1) is damage that the decoder paints over; but for a few that say nothing of the picture.
 */
static void on_message(j_common_ptr common, int level) {
    int code = common->err->msg_code;
    if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR)
        return;
    on_error(common);
}

static void on_progress(j_common_ptr common) {
    talk *t = common->client_data;
    if (t->jpeg.input_scan_number <= MOST_SCANS) return;
    snprintf(t->message, sizeof t->message, "more than %d scans", MOST_SCANS);
    longjmp(t->give_up, 1);
}

/* ---- reading ---- */

/* Up to the size of the picture. Returns 0 where libjpeg gave up. */
static int read_head(talk *t, const char *file, size_t size) {
    if (setjmp(t->give_up)) return 0;
    jpeg_create_decompress(&t->jpeg);
    t->jpeg.progress = &t->progress;
    jpeg_mem_src(&t->jpeg, (const unsigned char *)file, (unsigned long)size);
    jpeg_read_header(&t->jpeg, TRUE);
    return 1;
}

static int read_pixels(talk *t) {
    size_t line = (size_t)t->jpeg.image_width * (size_t)(t->jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3);
    if (setjmp(t->give_up)) return 0;
    jpeg_start_decompress(&t->jpeg);
    while (t->jpeg.output_scanline < t->jpeg.output_height) {
        JSAMPROW row = t->pixels + (size_t)t->jpeg.output_scanline * line;
        jpeg_read_scanlines(&t->jpeg, &row, 1);
    }
    jpeg_finish_decompress(&t->jpeg);
    return 1;
}

static jf_status fail_read(jf_context *ctx, const talk *t, const char *path) {
    if (t->no_memory) return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory to read it", path);
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: damaged: %s", path, t->message);
}

static jf_status check_head(jf_context *ctx, talk *t, const char *path, int max_side) {
    unsigned w = t->jpeg.image_width, h = t->jpeg.image_height, most = (unsigned)max_side;
    if (w < 1 || h < 1 || w > most || h > most)
        return jf_fail(ctx, JF_ERROR_FORMAT,
                       "%s: a picture of %u x %u (width x height), expected sides of 1 to %d", path, w, h,
                       max_side);
    if (t->jpeg.num_components != 1 && t->jpeg.num_components != 3)
        return jf_fail(ctx, JF_ERROR_FORMAT,
                       "%s: %d colour components, as for printing, expected 1 (grey) or 3: save it in RGB",
                       path, t->jpeg.num_components);
    t->jpeg.out_color_space = t->jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return JF_OK;
}

static jf_status decode(jf_context *ctx, talk *t, const char *path, const char *file, size_t size,
                        int max_side) {
    if (size < 3 || memcmp(file, "\xff\xd8\xff", 3) != 0)
        return jf_fail(ctx, JF_ERROR_FORMAT, "%s: not a JPEG file: it does not begin with its signature",
                       path);
    if (!read_head(t, file, size)) return fail_read(ctx, t, path);
    JF_TRY(check_head(ctx, t, path, max_side));
    size_t channels = t->jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
    JF_TRY(MEM_NEW(ctx, &t->pixels, (size_t)t->jpeg.image_height * t->jpeg.image_width * channels));
    return read_pixels(t) ? JF_OK : fail_read(ctx, t, path);
}

jf_status jpeg_read(jf_context *ctx, pixels *out, const char *path, int max_side) {
    char *file = NULL;
    size_t size;
    talk *t;
    *out = (pixels){.h = 0};
    JF_TRY(MEM_NEW(ctx, &t, 1)); /* not on the stack, whose values setjmp() leaves undefined */
    jf_status status = file_read(ctx, &file, &size, path, file_limit);
    t->jpeg.err = jpeg_std_error(&t->errors);
    t->jpeg.client_data = t;
    t->errors.error_exit = on_error;
    t->errors.emit_message = on_message;
    t->progress.progress_monitor = on_progress;
    if (status == JF_OK) status = decode(ctx, t, path, file, size, max_side);
    if (status == JF_OK)
        *out = (pixels){.h = (int)t->jpeg.image_height,
                        .w = (int)t->jpeg.image_width,
                        .channels = t->jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3,
                        .bytes = t->pixels};
    else
        free(t->pixels);
    jpeg_destroy_decompress(&t->jpeg);
    free(file);
    free(t);
    return status;
}
