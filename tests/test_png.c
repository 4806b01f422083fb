/* Tests of PNG files: every layout of pixels that the format knows, round trips, and malicious files. */
#include "format_fixture.h"

#include "inference/images.h"
#include "io/png.h"

#include <png.h>
#include <sys/resource.h>

enum { SIDE = 64 }; /* the largest that these tests read */

/* A picture as another program would write it. */
typedef struct foreign {
    int h, w, colour, depth, interlace;
    const uint8_t *rows; /* (h, bytes per row) */
    size_t row_bytes;
    const png_color *palette;
    const uint8_t *alphas; /* of the palette */
    int colours;
    const png_color_16 *transparent; /* one colour that is */
    const char *note;                /* compressed text */
} foreign;

static const char *put_png(const foreign *f) {
    const char *path = test_path("picture.png");
    FILE *out = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    CHECK(out && png && info);
    png_init_io(png, out);
    png_set_IHDR(png, info, (png_uint_32)f->w, (png_uint_32)f->h, f->depth, f->colour, f->interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (f->palette) png_set_PLTE(png, info, f->palette, f->colours);
    if (f->alphas || f->transparent) png_set_tRNS(png, info, f->alphas, f->colours, f->transparent);
    png_text note = {
        .compression = PNG_TEXT_COMPRESSION_zTXt, .key = (char *)"Comment", .text = (char *)f->note};
    if (f->note) png_set_text(png, info, &note, 1);
    png_write_info(png, info);
    for (int passes = f->interlace ? png_set_interlace_handling(png) : 1; passes > 0; passes--)
        for (int i = 0; i < f->h; i++) png_write_row(png, f->rows + (size_t)i * f->row_bytes);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    CHECK(fclose(out) == 0);
    return path;
}

static void expect(const foreign *f, int channels, const uint8_t *bytes) {
    jf_context *ctx = new_context();
    pixels p;
    if (pixels_read(ctx, &p, put_png(f), SIDE) != JF_OK)
        test_fail(__FILE__, __LINE__, "refused: %s", jf_context_error(ctx));
    CHECK(p.h == f->h && p.w == f->w && p.channels == channels);
    for (int i = 0; i < p.h * p.w * channels; i++) CHECK_NEAR(p.bytes[i], bytes[i], 0);
    pixels_free(&p);
    jf_context_free(ctx);
}

static void refuse(const char *path, jf_status status, const char *part) {
    jf_context *ctx = new_context();
    pixels p;
    CHECK_STATUS(pixels_read(ctx, &p, path, SIDE), status);
    CHECK(p.bytes == NULL);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK_HAS(jf_context_error(ctx), path);
    jf_context_free(ctx);
}

/* ---- layouts ---- */

TEST(png__written_pictures_read_back_the_same) {
    jf_context *ctx = new_context();
    const char *path = test_path("a.png");
    uint8_t bytes[5 * 7 * 3];
    for (int i = 0; i < (int)sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37);
    for (int channels = 1; channels <= 3; channels += 2) {
        pixels p = {5, 7, channels, bytes}, read;
        CHECK_STATUS(pixels_write(ctx, path, &p), JF_OK);
        CHECK_STATUS(pixels_read(ctx, &read, path, SIDE), JF_OK);
        CHECK(read.h == 5 && read.w == 7 && read.channels == channels);
        CHECK(memcmp(read.bytes, bytes, (size_t)(35 * channels)) == 0);
        pixels_free(&read);
    }
    jf_context_free(ctx);
}

static foreign coloured(int colour, int h, int w, int depth, const uint8_t *rows, size_t row_bytes) {
    return (foreign){.h = h, .w = w, .colour = colour, .depth = depth, .rows = rows, .row_bytes = row_bytes};
}

static foreign grey(int h, int w, int depth, const uint8_t *rows, size_t row_bytes) {
    return coloured(PNG_COLOR_TYPE_GRAY, h, w, depth, rows, row_bytes);
}

TEST(png__few_bits_of_grey_spread_over_the_whole_range) {
    foreign one = grey(1, 8, 1, (uint8_t[]){0xA1}, 1), two = grey(2, 3, 2, (uint8_t[]){0x1B, 0xE4}, 1);
    foreign four = grey(1, 2, 4, (uint8_t[]){0x3F}, 1);
    expect(&one, 1, (uint8_t[]){255, 0, 255, 0, 0, 0, 0, 255});
    expect(&two, 1, (uint8_t[]){0, 85, 170, 255, 170, 85});
    expect(&four, 1, (uint8_t[]){51, 255});
}

TEST(png__sixteen_bits_are_rounded_to_eight) {
    foreign plain = grey(1, 4, 16, (uint8_t[]){0, 0, 0xFF, 0xFF, 0x80, 0, 0x00, 0xFF}, 8);
    foreign colour =
        coloured(PNG_COLOR_TYPE_RGB, 1, 1, 16, (uint8_t[]){0x10, 0x10, 0x20, 0x20, 0x30, 0x30}, 6);
    expect(&plain, 1, (uint8_t[]){0, 255, 128, 1});
    expect(&colour, 3, (uint8_t[]){0x10, 0x20, 0x30});
}

TEST(png__a_palette_becomes_its_colours) {
    const png_color palette[] = {{1, 2, 3}, {40, 50, 60}, {255, 0, 128}};
    foreign f = coloured(PNG_COLOR_TYPE_PALETTE, 2, 2, 8, (uint8_t[]){2, 1, 0, 2}, 2);
    f.palette = palette;
    f.colours = 3;
    expect(&f, 3, (uint8_t[]){255, 0, 128, 40, 50, 60, 1, 2, 3, 255, 0, 128});
    f.alphas = (uint8_t[]){255, 255, 0}; /* the last is transparent */
    expect(&f, 3, (uint8_t[]){0, 0, 0, 40, 50, 60, 1, 2, 3, 0, 0, 0});
}

TEST(png__what_is_transparent_lies_on_black) {
    foreign plain = coloured(PNG_COLOR_TYPE_GRAY_ALPHA, 1, 3, 8, (uint8_t[]){200, 255, 200, 0, 200, 51}, 6);
    foreign colour =
        coloured(PNG_COLOR_TYPE_RGB_ALPHA, 1, 2, 8, (uint8_t[]){10, 20, 30, 255, 100, 200, 50, 128}, 8);
    expect(&plain, 1, (uint8_t[]){200, 0, 40});
    expect(&colour, 3, (uint8_t[]){10, 20, 30, 50, 100, 25});
    foreign one_colour = grey(1, 3, 8, (uint8_t[]){6, 7, 8}, 3);
    one_colour.transparent = &(png_color_16){.gray = 7};
    expect(&one_colour, 1, (uint8_t[]){6, 0, 8});
}

TEST(png__interlaced_pictures_come_out_in_order) {
    uint8_t bytes[9 * 11];
    for (int i = 0; i < 99; i++) bytes[i] = (uint8_t)(2 * i);
    foreign f = grey(9, 11, 8, bytes, 11);
    f.interlace = PNG_INTERLACE_ADAM7;
    expect(&f, 1, bytes);
}

TEST(png__what_is_not_the_picture_is_passed_over) {
    foreign f = grey(1, 2, 8, (uint8_t[]){9, 8}, 2);
    f.note = "text, and much more of it, that nobody wants to read";
    expect(&f, 1, (uint8_t[]){9, 8});
}

/* ---- what is refused ---- */

static size_t small_png(char *out, size_t room) {
    jf_context *ctx = new_context();
    char *bytes;
    size_t size;
    uint8_t values[100];
    for (int i = 0; i < 100; i++) values[i] = (uint8_t)(i * i);
    CHECK_STATUS(pixels_write(ctx, test_path("good.png"), &(pixels){10, 10, 1, values}), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, &size, test_path("good.png"), room), JF_OK);
    memcpy(out, bytes, size);
    free(bytes);
    jf_context_free(ctx);
    return size;
}

TEST(png__other_files_are_refused) {
    refuse(put_file("text.png", "this is not a picture, whatever it is called", 44), JF_ERROR_FORMAT,
           "not a PNG file");
    refuse(put_file("empty.png", "", 0), JF_ERROR_FORMAT, "not a PNG file");
    refuse(put_file("head.png", "\x89PNG\r\n\x1a\n", 8), JF_ERROR_FORMAT, "not a PNG file");
    refuse(test_path("missing.png"), JF_ERROR_IO, "could not be opened");
    refuse(test_folder(), JF_ERROR_IO, "is a folder");
}

TEST(png__every_truncation_is_refused) {
    char good[512];
    size_t size = small_png(good, sizeof good);
    const char *path = test_path("cut.png");
    for (size_t n = 0; n < size; n++) {
        put_quickly(path, good, n);
        refuse(path, JF_ERROR_FORMAT, n < 24 ? "not a PNG file" : "damaged: ");
    }
}

TEST(png__sides_beyond_the_limit_are_refused_before_anything_is_allocated) {
    char bytes[512];
    size_t size = small_png(bytes, sizeof bytes);
    static const struct {
        uint32_t w, h;
        const char *found;
    } sides[] = {{0x40000000, 0x40000000, "1073741824 x 1073741824"},
                 {0xFFFFFFFF, 1, "4294967295 x 1"},
                 {10, SIDE + 1, "10 x 65"},
                 {0, 10, "0 x 10"}};
    for (int i = 0; i < 4; i++) {
        uint8_t *head = (uint8_t *)bytes + 12;
        png_save_uint_32(head + 4, sides[i].w);
        png_save_uint_32(head + 8, sides[i].h);
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        refuse(put_file("bomb.png", bytes, size), JF_ERROR_FORMAT, sides[i].found);
        getrusage(RUSAGE_SELF, &after);
        CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024); /* KiB */
    }
}

TEST(png__damaged_files_are_read_or_refused_with_a_message) {
    jf_context *ctx = new_context();
    char good[512], bytes[512];
    size_t size = small_png(good, sizeof good);
    const char *bad = test_path("bad.png");
    int refused = 0;
    for (int i = 0; i < 3000; i++) {
        memcpy(bytes, good, size);
        rng random = rng_stream((rng_key){6, RNG_TEST, 0}, (uint64_t)i);
        put_quickly(bad, bytes, damage(&random, bytes, size));
        pixels p;
        jf_status status = pixels_read(ctx, &p, bad, SIDE);
        CHECK((status == JF_OK) == (p.bytes != NULL));
        if (status != JF_OK) {
            CHECK_HAS(jf_context_error(ctx), bad);
            refused++;
        }
        pixels_free(&p);
    }
    CHECK(refused > 2000);
    jf_context_free(ctx);
}

TEST(png__arrays_that_are_no_pictures_are_not_written) {
    jf_context *ctx = new_context();
    uint8_t bytes[16] = {0};
    static const int wrong[][3] = {{2, 2, 2}, {2, 2, 4}, {0, 2, 1}, {2, 0, 1}, {40000, 1, 1}, {-1, 2, 1}};
    for (int i = 0; i < 6; i++) {
        pixels p = {wrong[i][0], wrong[i][1], wrong[i][2], bytes};
        CHECK_STATUS(pixels_write(ctx, test_path("no.png"), &p), JF_ERROR_ARGUMENT);
        CHECK(!file_exists(test_path("no.png")));
    }
    CHECK_STATUS(pixels_write(ctx, "/nowhere/at/all.png", &(pixels){1, 1, 1, bytes}), JF_ERROR_IO);
    jf_context_free(ctx);
}

TEST(png__alpha_is_kept_where_it_is_asked_for) {
    jf_context *ctx = new_context();
    const uint8_t rows[] = {10, 255, 20, 0, 30, 128};
    foreign grey_alpha = coloured(PNG_COLOR_TYPE_GRAY_ALPHA, 1, 3, 8, rows, 6),
            plain = grey(1, 3, 8, rows, 3);
    pixels p;
    CHECK_STATUS(pixels_read_alpha(ctx, &p, put_png(&grey_alpha), SIDE), JF_OK);
    CHECK(p.channels == 2 && memcmp(p.bytes, rows, sizeof rows) == 0);
    pixels_free(&p);
    CHECK_STATUS(pixels_read_alpha(ctx, &p, put_png(&plain), SIDE), JF_OK);
    CHECK(p.channels == 1);
    pixels_free(&p);
    jf_context_free(ctx);
}

TEST(images_read__what_is_transparent_is_missing_for_models_with_a_mask) {
    jf_context *ctx = new_context();
    const uint8_t rows[] = {51, 255, 204, 0, 102, 128};
    foreign grey_alpha = coloured(PNG_COLOR_TYPE_GRAY_ALPHA, 1, 3, 8, rows, 6);
    image_array images;
    CHECK_STATUS(image_array_read_masked(ctx, &images, put_png(&grey_alpha)), JF_OK);
    const double expected[] = {0.2, 0, 0, 1, 0.4, 0};
    CHECK(images.channels == 2 && images.w == 3);
    for (int i = 0; i < 6; i++) CHECK_NEAR(images.values[i], expected[i], 1e-12);
    image_array_free(&images);
    CHECK_STATUS(image_array_read(ctx, &images, put_png(&grey_alpha)), JF_OK);
    CHECK(images.channels == 1 && images.values[1] == 0);
    image_array_free(&images);
    jf_context_free(ctx);
}
