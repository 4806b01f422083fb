/* Tests of JPEG files: what others write, damaged and malicious files, and pictures told apart by their
 * content. */
#include "format_fixture.h"

#include "io/jpeg.h"
#include "io/picture.h"
#include "jpeg_fixture.h"

enum { H = 24, W = 16, SIDE = 64 };

/* Smooth, so that little is lost. */
static void paint(uint8_t *bytes, int channels) {
    for (int i = 0; i < H * W * channels; i++)
        bytes[i] = (uint8_t)(40 + 5 * (i / channels / W) + 3 * (i / channels % W) + 20 * (i % channels));
}

static void refuse(const char *path, jf_status status, const char *part) {
    jf_context *ctx = new_context();
    pixels p;
    CHECK_STATUS(jpeg_read(ctx, &p, path, SIDE), status);
    CHECK(p.bytes == NULL);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK_HAS(jf_context_error(ctx), path);
    jf_context_free(ctx);
}

TEST(jpeg__of_grey_and_colours_is_read_as_it_was_painted) {
    jf_context *ctx = new_context();
    const char *path = test_path("a.jpg");
    uint8_t bytes[H * W * 3];
    for (int channels = 1; channels <= 3; channels += 2)
        for (int progressive = 0; progressive < 2; progressive++) {
            pixels p;
            paint(bytes, channels);
            CHECK(jpeg_put(path, H, W, channels, bytes, progressive));
            CHECK_STATUS(jpeg_read(ctx, &p, path, SIDE), JF_OK);
            CHECK(p.h == H && p.w == W && p.channels == channels);
            for (int i = 0; i < H * W * channels; i++) CHECK_NEAR(p.bytes[i], bytes[i], 3);
            pixels_free(&p);
        }
    jf_context_free(ctx);
}

TEST(jpeg__that_is_damaged_or_no_jpeg_is_refused) {
    jf_context *ctx = new_context();
    const char *path = test_path("a.jpg"), *cut = test_path("cut.jpg");
    uint8_t bytes[H * W * 3];
    char *file;
    size_t size;
    paint(bytes, 3);
    CHECK(jpeg_put(path, H, W, 3, bytes, 0));
    CHECK_STATUS(file_read(ctx, &file, &size, path, 1 << 20), JF_OK);
    for (size_t n = 3; n < size - 2; n += 7) { /* the last two say that it ends */
        put_quickly(cut, file, n);
        refuse(cut, JF_ERROR_FORMAT, "damaged: ");
    }
    refuse(put_file("empty.jpg", "", 0), JF_ERROR_FORMAT, "not a JPEG file");
    refuse(put_file("gif.jpg", "GIF89a", 6), JF_ERROR_FORMAT, "not a JPEG file");
    free(file);
    jf_context_free(ctx);
}

/* Nothing may crash, and what is read is a picture. */
TEST(jpeg__any_damage_is_read_or_refused) {
    jf_context *ctx = new_context();
    const char *path = test_path("a.jpg"), *other = test_path("b.jpg");
    uint8_t bytes[H * W * 3];
    char *file;
    size_t size;
    rng random = rng_stream((rng_key){7, RNG_TEST, 0}, 0);
    paint(bytes, 3);
    CHECK(jpeg_put(path, H, W, 3, bytes, 1));
    CHECK_STATUS(file_read(ctx, &file, &size, path, 1 << 20), JF_OK);
    int refused = 0;
    for (int trial = 0; trial < 500; trial++) {
        char *bad = malloc(size);
        CHECK(bad != NULL);
        memcpy(bad, file, size);
        put_quickly(other, bad, damage(&random, bad, size));
        pixels p;
        if (jpeg_read(ctx, &p, other, SIDE) == JF_OK)
            CHECK(p.h >= 1 && p.h <= SIDE && p.w >= 1 && p.w <= SIDE && (p.channels == 1 || p.channels == 3));
        else
            refused += p.bytes == NULL && *jf_context_error(ctx) != 0;
        pixels_free(&p);
        free(bad);
    }
    CHECK(refused > 100);
    free(file);
    jf_context_free(ctx);
}

TEST(jpeg__too_large_or_for_printing_is_refused_with_what_was_found) {
    const char *path = test_path("a.jpg");
    uint8_t bytes[H * W * 4], wide[65] = {0};
    paint(bytes, 4);
    CHECK(jpeg_put(path, H, W, 4, bytes, 0));
    refuse(path, JF_ERROR_FORMAT, "4 colour components, as for printing, expected 1 (grey) or 3");
    CHECK(jpeg_put(path, 1, 65, 1, wide, 0));
    refuse(path, JF_ERROR_FORMAT, "a picture of 65 x 1 (width x height), expected sides of 1 to 64");
}

TEST(picture__is_told_by_what_it_begins_with_not_by_its_name) {
    jf_context *ctx = new_context();
    const char *path = test_path("a.png");
    uint8_t bytes[H * W];
    pixels p, png = {H, W, 1, bytes};
    paint(bytes, 1);
    CHECK(jpeg_put(path, H, W, 1, bytes, 0));
    CHECK_STATUS(picture_read(ctx, &p, path, SIDE), JF_OK);
    CHECK(p.h == H && p.w == W && p.channels == 1);
    pixels_free(&p);
    path = test_path("b.jpeg");
    CHECK_STATUS(pixels_write(ctx, path, &png), JF_OK);
    CHECK_STATUS(picture_read(ctx, &p, path, SIDE), JF_OK);
    CHECK(memcmp(p.bytes, bytes, sizeof bytes) == 0);
    pixels_free(&p);
    CHECK_STATUS(picture_read(ctx, &p, put_file("c.png", "BM", 2), SIDE), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "neither a PNG nor a JPEG file");
    CHECK_STATUS(picture_read(ctx, &p, test_path("none.png"), SIDE), JF_ERROR_IO);
    CHECK(picture_named("a/b.JPG") && picture_named("x.jpeg") && picture_named("y.png"));
    CHECK(!picture_named("y.gif") && !picture_named("png"));
    jf_context_free(ctx);
}
