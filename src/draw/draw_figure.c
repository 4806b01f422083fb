/* Figures: the canvas, its panels, and the PNG file. */
#include "draw/draw_figure.h"
#include "base/file.h"
#include "base/memory.h"
#include "draw/style.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_STRIP 40
#define LONGEST     32767 /* pixels of an edge that cairo can hold */

/* ---- create, free ---- */

static jf_status open_canvas(figure *fig, int width, int height) {
    fig->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    fig->cr = cairo_create(fig->surface);
    if (cairo_status(fig->cr) != CAIRO_STATUS_SUCCESS)
        return jf_fail(fig->ctx, JF_ERROR_MEMORY, "a canvas of %d x %d pixels: %s", width, height,
                       cairo_status_to_string(cairo_status(fig->cr)));
    /* white, without cairo_paint(), which without memory leaves it black and says nothing */
    memset(cairo_image_surface_get_data(fig->surface), 0xFF,
           (size_t)cairo_image_surface_get_stride(fig->surface) * (size_t)height);
    cairo_surface_mark_dirty(fig->surface);
    cairo_scale(fig->cr, DRAW_SCALE, DRAW_SCALE);
    /* no hinting: text is set the same whatever the machine's settings */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(fig->cr, options);
    /* without memory for them, options silently are others */
    int failed = cairo_font_options_status(options) != CAIRO_STATUS_SUCCESS;
    cairo_font_options_destroy(options);
    return failed ? jf_fail(fig->ctx, JF_ERROR_MEMORY, "not enough memory for the options of a font") : JF_OK;
}

jf_status figure_create(jf_context *ctx, figure **out, int rows, int columns, int panel_width,
                        int panel_height, const char *title) {
    *out = NULL;
    int strip = title && *title ? TITLE_STRIP : 0;
    if (rows < 1 || columns < 1 || panel_width < 1 || panel_height < 1)
        return jf_fail(ctx, JF_ERROR_ARGUMENT,
                       "a figure of %d x %d panels of %d x %d: all must be at least 1", rows, columns,
                       panel_width, panel_height);
    double width = (double)columns * panel_width * DRAW_SCALE;
    double height = ((double)rows * panel_height + strip) * DRAW_SCALE;
    if (width > LONGEST || height > LONGEST)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "a figure of %.0f x %.0f pixels; an edge may have %d at most",
                       width, height, LONGEST);
    figure *fig;
    jf_status status = MEM_NEW(ctx, &fig, 1);
    if (status != JF_OK) return status;
    fig->ctx = ctx, fig->rows = rows, fig->columns = columns;
    JF_TRY_DONE(MEM_NEW(ctx, &fig->panels, (size_t)rows * (size_t)columns));
    JF_TRY_DONE(open_canvas(fig, (int)width, (int)height));
    for (int i = 0; i < rows * columns; ++i) {
        fig->panels[i].fig = fig;
        fig->panels[i].cell =
            (rectangle){(double)(i % columns) * panel_width, strip + (double)(i / columns) * panel_height,
                        panel_width, panel_height};
    }
    if (strip) {
        label_style style = {.ink = colour_ink, .size = FIGURE_TITLE_SIZE, .bold = 1, .anchor = 0.5};
        style.max_width = columns * panel_width - 24;
        label_draw(fig->cr, title, columns * panel_width / 2.0, strip / 2.0 + 4, &style);
    }
    *out = fig;
    return JF_OK;
done:
    figure_free(fig);
    return status;
}

void figure_free(figure *fig) {
    if (!fig) return;
    if (fig->cr) cairo_destroy(fig->cr);
    if (fig->surface) cairo_surface_destroy(fig->surface);
    free(fig->panels);
    free(fig);
}

void figure_size(const figure *fig, int *width, int *height) {
    *width = cairo_image_surface_get_width(fig->surface);
    *height = cairo_image_surface_get_height(fig->surface);
}

void figure_mistake(figure *fig, jf_status status, const char *format, ...) {
    if (fig->status != JF_OK) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fig->message, sizeof fig->message, format, arguments);
    va_end(arguments);
    fig->status = status;
}

/* ---- save ---- */

static cairo_status_t add_bytes(void *closure, const unsigned char *bytes, unsigned int size) {
    text *png = closure;
    text_add_chars(png, (const char *)bytes, size);
    return png->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

/* The file is not touched before the picture is whole in memory, so a failure of libpng is one of memory as
 * well. */
static jf_status fail_drawing(figure *fig, const char *path, cairo_status_t drawn) {
    if (drawn == CAIRO_STATUS_PNG_ERROR) drawn = CAIRO_STATUS_NO_MEMORY;
    return jf_fail(fig->ctx, drawn == CAIRO_STATUS_NO_MEMORY ? JF_ERROR_MEMORY : JF_ERROR_ARGUMENT,
                   "%s: the picture could not be drawn: %s", path, cairo_status_to_string(drawn));
}

jf_status figure_save(figure *fig, const char *path) {
    for (int i = 0; i < fig->rows * fig->columns && !fig->finished; ++i) panel_decorate(&fig->panels[i]);
    fig->finished = 1;
    if (fig->status != JF_OK) return jf_fail(fig->ctx, fig->status, "%s: %s", path, fig->message);
    text png = {0};
    cairo_status_t drawn = cairo_status(fig->cr);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_write_to_png_stream(fig->surface, add_bytes, &png);
    jf_status status = JF_OK;
    if (drawn != CAIRO_STATUS_SUCCESS)
        status = fail_drawing(fig, path, drawn);
    else
        status = file_write(fig->ctx, path, png.chars, png.length);
    text_free(&png);
    return status;
}

/* ---- panels ---- */

panel *figure_panel(figure *fig, int row, int column) {
    if (row >= 0 && row < fig->rows && column >= 0 && column < fig->columns)
        return &fig->panels[row * fig->columns + column];
    figure_mistake(fig, JF_ERROR_ARGUMENT, "panel (%d, %d) of a figure with %d x %d panels", row, column,
                   fig->rows, fig->columns);
    return NULL;
}

/* Whether the panel can still be given parts; `what` names the part. */
static int panel_is_new(panel *p, const char *what) {
    if (!p) return 0;
    if (p->laid_out || p->fig->finished)
        figure_mistake(p->fig, JF_ERROR_ARGUMENT, "%s of a panel that already shows data", what);
    return !p->laid_out && !p->fig->finished;
}

void panel_title(panel *p, const char *title) {
    if (panel_is_new(p, "the title")) label_copy(p->title, title, NULL);
}

void panel_axes(panel *p, double x_min, double x_max, double y_min, double y_max, const char *x_label,
                const char *y_label, int flags) {
    if (!panel_is_new(p, "the axes")) return;
    p->x = axis_make(x_min, x_max, flags & AXES_LOG_X ? SCALE_LOG : SCALE_LINEAR);
    p->y = axis_make(y_min, y_max,
                     flags & AXES_LOG_Y      ? SCALE_LOG
                     : flags & AXES_SYMLOG_Y ? SCALE_SYMLOG
                                             : SCALE_LINEAR);
    label_copy(p->x_label, x_label, NULL);
    label_copy(p->y_label, y_label, NULL);
    p->flags = flags;
    p->has_axes = 1;
}

void panel_colour_bar(panel *p, double low, double high, const char *label) {
    if (!panel_is_new(p, "the colour bar")) return;
    p->bar = axis_make(low, high, SCALE_LINEAR);
    label_copy(p->bar_label, label, NULL);
    p->has_bar = 1;
}

cairo_t *panel_begin(panel *p) {
    if (!p || p->fig->status != JF_OK || p->fig->finished) return NULL;
    if (!p->has_axes) {
        figure_mistake(p->fig, JF_ERROR_ARGUMENT, "data for a panel without axes (panel_axes comes first)");
        return NULL;
    }
    panel_lay_out(p);
    if (p->fig->status != JF_OK) return NULL;
    cairo_save(p->fig->cr);
    cairo_rectangle(p->fig->cr, p->box.left, p->box.top, p->box.width, p->box.height);
    cairo_clip(p->fig->cr);
    cairo_new_path(p->fig->cr);
    return p->fig->cr;
}

void panel_end(panel *p) {
    cairo_restore(p->fig->cr);
}

/* cairo keeps 24 bits before the point; this far outside the box the slope of a line is right to a hair */
static double within_reach(double place) {
    return fmin(fmax(place, -1e5), 1e5);
}

double panel_place_x(const panel *p, double x) {
    double place = axis_place(&p->x, x);
    return isfinite(place) ? within_reach(p->box.left + place * p->box.width) : NAN;
}

double panel_place_y(const panel *p, double y) {
    double place = axis_place(&p->y, y);
    return isfinite(place) ? within_reach(p->box.top + (1 - place) * p->box.height) : NAN;
}

/* ---- pixels ---- */

pixel_area figure_pixels(figure *fig, rectangle area) {
    cairo_surface_flush(fig->surface);
    int width, height, stride = cairo_image_surface_get_stride(fig->surface) / 4;
    figure_size(fig, &width, &height);
    int left = (int)lround(area.left * DRAW_SCALE), top = (int)lround(area.top * DRAW_SCALE);
    int right = (int)lround((area.left + area.width) * DRAW_SCALE);
    int bottom = (int)lround((area.top + area.height) * DRAW_SCALE);
    left = left < 0 ? 0 : left, top = top < 0 ? 0 : top;
    right = right > width ? width : right, bottom = bottom > height ? height : bottom;
    pixel_area pixels = {.stride = stride, .width = right > left ? right - left : 0};
    pixels.height = bottom > top ? bottom - top : 0;
    if (pixels.width && pixels.height)
        pixels.pixel =
            (uint32_t *)(void *)cairo_image_surface_get_data(fig->surface) + (size_t)top * stride + left;
    return pixels;
}

void figure_pixels_done(figure *fig) {
    cairo_surface_mark_dirty(fig->surface);
}

void set_ink(cairo_t *cr, colour ink) {
    cairo_set_source_rgba(cr, ink.red, ink.green, ink.blue, ink.alpha);
}
