/* The inside figures, for the painters of this folder.
 *
 * A panel is laid out when its first data arrive (panel_begin); from then on `box`, `x` and `y` do not
 * change. */
#ifndef JF_DRAW_DRAW_FIGURE_H
#define JF_DRAW_DRAW_FIGURE_H

#include "draw/axis.h"
#include "draw/draw.h"
#include "draw/label.h"
#include <cairo.h>
#include <stdint.h>

#define LEGEND_MAX 12

typedef struct rectangle {
    double left, top, width, height;
} rectangle;

typedef enum legend_kind { LEGEND_LINE, LEGEND_DOT, LEGEND_PATCH, LEGEND_WORDS } legend_kind;

typedef struct legend_entry {
    legend_kind kind;
    char label[LABEL_SIZE];
    colour ink;
    double width, dash;
} legend_entry;

struct panel {
    figure *fig;
    rectangle cell; /* the panel's share of the canvas */
    rectangle box;  /* the area of the data */
    axis x, y, bar;
    ticks x_ticks, y_ticks, bar_ticks;
    char title[LABEL_SIZE], x_label[LABEL_SIZE], y_label[LABEL_SIZE], bar_label[LABEL_SIZE];
    int flags, has_axes, has_bar, laid_out;
    double strip;                  /* height kept free between title and box */
    long marks;                    /* things painted; 0: "no data" */
    int legend_count, legend_lost; /* shown; more than there is room for */
    legend_entry legend[LEGEND_MAX];
};

struct figure {
    jf_context *ctx;
    cairo_surface_t *surface;
    cairo_t *cr; /* in units, not pixels */
    int rows, columns, finished;
    panel *panels; /* (rows, columns) */
    jf_status status;
    char message[256]; /* of the first mistake */
};

/* Keeps the first mistake for figure_save(). */
void figure_mistake(figure *fig, jf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Before and after painting data: lays the panel out, clips to its box. NULL: paint nothing. */
cairo_t *panel_begin(panel *p);
void panel_end(panel *p);
/* Canvas place of a value, kept within what cairo can hold; NAN where there is none. */
double panel_place_x(const panel *p, double x);
double panel_place_y(const panel *p, double y);

void panel_lay_out(panel *p); /* layout.c: from cell, labels and axes to the box */
double widest_tick_label(cairo_t *cr, const ticks *t);
void panel_decorate(panel *p); /* decor.c: frame, ticks, labels, colour bar, "no data" */
void panel_paint_legend(panel *p);
void panel_legend_add(panel *p, legend_kind kind, const char *label, colour ink, double width, double dash);

/* The part of the image that a rectangle covers: pixels 0x00RRGGBB; `pixel` + y * `stride` + x. */
typedef struct pixel_area {
    uint32_t *pixel;
    int width, height, stride;
} pixel_area;
pixel_area figure_pixels(figure *fig, rectangle area); /* ready to be read and written; then: */
void figure_pixels_done(figure *fig);

void set_ink(cairo_t *cr, colour ink);

#endif
