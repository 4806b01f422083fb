/* What the tests of pictures share: figures that are saved, read back and looked at pixel by pixel. */
#ifndef JF_TEST_DRAW_FIXTURE_H
#define JF_TEST_DRAW_FIXTURE_H

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "draw/draw_figure.h"
#include "test.h"

#include <cairo.h>
#include <stdint.h>

static inline jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

static inline figure *new_figure(jf_context *ctx, int rows, int columns) {
    figure *fig = NULL;
    CHECK_STATUS(figure_create(ctx, &fig, rows, columns, 300, 260, NULL), JF_OK);
    return fig;
}

/* One panel with axes from 0 to 1, without ticks: nothing is painted in its box but data. */
static inline panel *plain_panel(figure *fig) {
    panel *p = figure_panel(fig, 0, 0);
    panel_axes(p, 0, 1, 0, 1, NULL, NULL, AXES_NO_TICKS);
    return p;
}

typedef struct picture {
    cairo_surface_t *surface;
    int width, height;
} picture;

static inline picture load(const char *path) {
    picture pic = {.surface = cairo_image_surface_create_from_png(path)};
    CHECK(cairo_surface_status(pic.surface) == CAIRO_STATUS_SUCCESS);
    pic.width = cairo_image_surface_get_width(pic.surface);
    pic.height = cairo_image_surface_get_height(pic.surface);
    return pic;
}

static inline picture save_and_load(figure *fig) {
    const char *path = test_path("picture.png");
    CHECK_STATUS(figure_save(fig, path), JF_OK);
    return load(path);
}

/* 0xRRGGBB at a place given in units */
static inline unsigned pixel_at(const picture *pic, double x, double y) {
    int column = (int)(x * DRAW_SCALE), row = (int)(y * DRAW_SCALE);
    CHECK(column >= 0 && column < pic->width && row >= 0 && row < pic->height);
    const unsigned char *data = cairo_image_surface_get_data(pic->surface);
    int stride = cairo_image_surface_get_stride(pic->surface);
    return ((const uint32_t *)(const void *)(data + (long)row * stride))[column] & 0xFFFFFF;
}

/* The pixel of a value in the panel's box */
static inline unsigned pixel_of(const picture *pic, const panel *p, double x, double y) {
    return pixel_at(pic, panel_place_x(p, x), panel_place_y(p, y));
}

static inline double distance(unsigned a, colour b) {
    double red = (a >> 16) / 255.0 - b.red, green = ((a >> 8) & 255) / 255.0 - b.green;
    return fabs(red) + fabs(green) + fabs((a & 255) / 255.0 - b.blue);
}

static inline long count_not_white(const picture *pic, rectangle area) {
    long count = 0;
    for (double y = area.top + 0.25; y < area.top + area.height; y += 1.0 / DRAW_SCALE)
        for (double x = area.left + 0.25; x < area.left + area.width; x += 1.0 / DRAW_SCALE)
            count += pixel_at(pic, x, y) != 0xFFFFFF;
    return count;
}

static inline long count_near(const picture *pic, rectangle area, colour ink) {
    long count = 0;
    for (double y = area.top + 0.25; y < area.top + area.height; y += 1.0 / DRAW_SCALE)
        for (double x = area.left + 0.25; x < area.left + area.width; x += 1.0 / DRAW_SCALE)
            count += distance(pixel_at(pic, x, y), ink) < 0.2;
    return count;
}

static inline rectangle inside_of(rectangle box) {
    return (rectangle){box.left + 2, box.top + 2, box.width - 4, box.height - 4};
}

static inline void end(jf_context *ctx, figure *fig, picture *pic) {
    if (pic) cairo_surface_destroy(pic->surface);
    figure_free(fig);
    jf_context_free(ctx);
}

/* A panel with some of everything. */
static inline void paint_everything(figure *fig) {
    rng r = rng_stream((rng_key){.seed = 7, .purpose = RNG_TEST}, 0);
    double xy[400];
    for (int i = 0; i < 400; ++i) xy[i] = rng_normal(&r);
    panel *p = figure_panel(fig, 0, 0);
    panel_title(p, "points");
    panel_axes(p, -3, 3, -3, 3, "x", "y", AXES_EQUAL);
    panel_colour_bar(p, -2, 2, "z");
    panel_scatter(p, 200, xy, xy + 1, 2, &(scatter_style){.values = xy, .low = -2, .high = 2});
    panel_line(p, 200, xy, xy + 1, 2, &(line_style){.ink = colour_class(2), .label = "path"});
}

#endif
