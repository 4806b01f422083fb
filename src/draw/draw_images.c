/* Grids of images. Each pixel of an image becomes a square of whole pixels of the canvas wherever there is
 * room. */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>

#define GAP       5   /* between images */
#define EDGE      60  /* longest edge of an image in a picture of its own */
#define NAMES_MAX 140 /* width of row labels */
#define NAME_ROOM 20

typedef struct image_layout {
    int rows;
    double names;         /* width of the row labels */
    double left, top;     /* of the first image */
    double width, height; /* of an image, in units */
} image_layout;

static double widest_name(cairo_t *cr, const char *const *names, int n) {
    double widest = 0;
    for (int i = 0; names && i < n; ++i) {
        char name[LABEL_SIZE];
        label_copy(name, names[i], NULL);
        widest = fmax(widest, label_width(cr, name, TICK_SIZE, 0));
    }
    return widest > 0 ? fmin(widest, NAMES_MAX) + 8 : 0;
}

static int row_count(const image_grid *g) {
    return (g->count + g->columns - 1) / g->columns;
}

static image_layout lay_out(const panel *p, const image_grid *g) {
    image_layout l = {.rows = row_count(g)};
    l.names = widest_name(p->fig->cr, g->row_labels, l.rows);
    double top = MARGIN + (p->title[0] ? TITLE_ROOM : 0) + (g->column_labels ? NAME_ROOM : 0);
    double room_x = p->cell.width - 2 * MARGIN - l.names - (g->columns - 1) * GAP;
    double room_y = p->cell.height - top - MARGIN - (l.rows - 1) * GAP;
    double zoom = fmin(room_x / g->columns / g->width, room_y / l.rows / g->height) * DRAW_SCALE;
    if (zoom >= 1) zoom = floor(zoom + 1e-9); /* pixels of a pixel */
    l.width = fmax(1, floor(zoom * g->width)) / DRAW_SCALE;
    l.height = fmax(1, floor(zoom * g->height)) / DRAW_SCALE;
    double used = l.names + g->columns * (l.width + GAP) - GAP;
    l.left = p->cell.left + l.names + fmax(MARGIN, (p->cell.width - used) / 2);
    l.left = rint(l.left * DRAW_SCALE) / DRAW_SCALE;
    l.top = rint((p->cell.top + top) * DRAW_SCALE) / DRAW_SCALE;
    return l;
}

static rectangle image_place(const image_layout *l, const image_grid *g, int i) {
    return (rectangle){l->left + (i % g->columns) * (l->width + GAP),
                       l->top + (i / g->columns) * (l->height + GAP), l->width, l->height};
}

static uint32_t to_byte(double value) {
    return (uint32_t)(fmin(fmax(value, 0), 1) * 255 + 0.5);
}

static uint32_t to_pixel(const image_grid *g, const double *values) {
    const double low = g->high > g->low ? g->low : 0, range = g->high > g->low ? g->high - g->low : 1;
    uint32_t pixel = 0;
    for (int c = 0; c < 3; ++c) {
        double value = values[g->channels == 3 ? c : 0];
        if (!isfinite(value))
            return to_byte(colour_warning.red) << 16 | to_byte(colour_warning.green) << 8 |
                   to_byte(colour_warning.blue);
        pixel = pixel << 8 | to_byte((value - low) / range);
    }
    return pixel;
}

static void paint_image(figure *fig, const image_grid *g, const double *values, rectangle place) {
    pixel_area pixels = figure_pixels(fig, place);
    for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) {
            size_t row = (size_t)((long)y * g->height / pixels.height);
            size_t column = (size_t)((long)x * g->width / pixels.width);
            pixels.pixel[(long)y * pixels.stride + x] =
                to_pixel(g, values + (row * (size_t)g->width + column) * (size_t)g->channels);
        }
    figure_pixels_done(fig);
}

static void paint_outline(cairo_t *cr, rectangle place, int boxed) {
    double width = boxed ? 2 : 0.5, out = width / 2;
    cairo_rectangle(cr, place.left - out, place.top - out, place.width + 2 * out, place.height + 2 * out);
    cairo_set_line_width(cr, width);
    set_ink(cr, boxed ? colour_warning : (colour){0.75, 0.75, 0.75, 1});
    cairo_stroke(cr);
}

static void paint_names(panel *p, const image_grid *g, const image_layout *l) {
    label_style row = {.ink = colour_ink, .size = TICK_SIZE, .anchor = 1, .max_width = l->names - 7.5};
    label_style column = {
        .ink = colour_ink, .size = TICK_SIZE, .anchor = 0.5, .max_width = l->width + GAP - 2};
    for (int i = 0; g->row_labels && i < l->rows; ++i) {
        rectangle place = image_place(l, g, i * g->columns);
        label_draw(p->fig->cr, g->row_labels[i], place.left - 8, place.top + place.height / 2, &row);
    }
    for (int i = 0; g->column_labels && i < g->columns; ++i) {
        double x = l->left + i * (l->width + GAP) + l->width / 2;
        label_draw(p->fig->cr, g->column_labels[i], x, l->top - NAME_ROOM / 2.0, &column);
    }
}

static int grid_is_sound(figure *fig, const image_grid *g) {
    if (g->count == 0) return 1;
    if (g->count > 0 && g->height > 0 && g->width > 0 && g->columns > 0 &&
        (g->channels == 1 || g->channels == 3))
        return 1;
    figure_mistake(
        fig, JF_ERROR_SHAPE,
        "%d images of %d x %d pixels and %d channels in %d columns: sizes must be positive, channels 1 or 3",
        g->count, g->height, g->width, g->channels, g->columns);
    return 0;
}

void panel_images(panel *p, const image_grid *g) {
    if (!p || p->fig->status != JF_OK || p->fig->finished || !grid_is_sound(p->fig, g)) return;
    if (p->has_axes) {
        figure_mistake(p->fig, JF_ERROR_ARGUMENT, "images for a panel that has axes");
        return;
    }
    p->laid_out = 1;
    if (g->count == 0) {
        label_style style = {.ink = colour_quiet, .size = TITLE_SIZE, .anchor = 0.5};
        label_draw(p->fig->cr, "no data", p->cell.left + p->cell.width / 2, p->cell.top + p->cell.height / 2,
                   &style);
        return;
    }
    image_layout l = lay_out(p, g);
    size_t size = (size_t)g->height * (size_t)g->width * (size_t)g->channels;
    for (int i = 0; i < g->count; ++i) {
        if (g->blank && g->blank[i]) continue;
        rectangle place = image_place(&l, g, i);
        paint_image(p->fig, g, g->values + (size_t)i * size, place);
        paint_outline(p->fig->cr, place, g->boxed && g->boxed[i]);
    }
    paint_names(p, g, &l);
}

/* Units that the whole picture takes at `zoom` pixels of the picture per pixel of an image. */
static void picture_size(const image_grid *g, int zoom, double names, int *width, int *height) {
    double w = g->columns * ((double)g->width * zoom / DRAW_SCALE + GAP) - GAP + names + 2 * MARGIN;
    double h = row_count(g) * ((double)g->height * zoom / DRAW_SCALE + GAP) - GAP + 2 * MARGIN;
    *width = (int)fmin(ceil(w), 1e6);
    *height = (int)fmin(ceil(h + (g->column_labels ? NAME_ROOM : 0)), 1e6);
}

jf_status draw_images(jf_context *ctx, const char *path, const image_grid *g, const char *title) {
    figure *fig;
    int width = 240, height = 120;
    /* a first canvas to check the grid and to measure the names */
    JF_TRY(figure_create(ctx, &fig, 1, 1, width, height, NULL));
    if (!grid_is_sound(fig, g)) {
        jf_status status = jf_fail(ctx, fig->status, "%s: %s", path, fig->message);
        figure_free(fig);
        return status;
    }
    double names = g->count ? widest_name(fig->cr, g->row_labels, row_count(g)) : 0;
    char shown_title[LABEL_SIZE];
    label_copy(shown_title, title, NULL);
    double title_width = label_width(fig->cr, shown_title, FIGURE_TITLE_SIZE, 1) + 3 * MARGIN;
    figure_free(fig);
    if (g->count) {
        int longest = g->height > g->width ? g->height : g->width, zoom = EDGE * DRAW_SCALE / longest;
        do picture_size(g, zoom > 1 ? zoom : 1, names, &width, &height);
        while ((width > 15000 || height > 15000) && --zoom >= 1);
    }
    width = (int)fmax(width, fmin(ceil(title_width), 1200));
    JF_TRY(figure_create(ctx, &fig, 1, 1, width, height, title));
    panel_images(figure_panel(fig, 0, 0), g);
    jf_status status = figure_save(fig, path);
    figure_free(fig);
    return status;
}
