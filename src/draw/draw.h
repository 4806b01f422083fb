/* Pictures: a figure is a canvas with a grid of panels, saved as one PNG file.
 *
 * Lengths are in units of 1/96 inch, and the image has DRAW_SCALE pixels per unit, so that it is sharp in
 * print. For each panel comes first what it is made of (title, axes, colour bar), then its data in the order
 * in which they are painted; frames, tick labels and legends are painted over them by figure_save().
 *
 * Values that are not finite are left out. A panel with axes that shows nothing says "no data".
 * Mistakes are kept on the figure: painting goes on without effect and figure_save() reports the first one.
 * Equal input gives equal bytes. */
#ifndef JF_DRAW_DRAW_H
#define JF_DRAW_DRAW_H

#include "base/context.h"
#include "jointflow/jointflow.h"

#define DRAW_SCALE        2   /* pixels per unit */
#define DRAW_PANEL_WIDTH  360 /* a panel that suits most purposes */
#define DRAW_PANEL_HEIGHT 320

typedef struct figure figure;
typedef struct panel panel;

/* ---- colours ---- */

typedef struct colour {
    double red, green, blue, alpha; /* 0 .. 1; alpha 1 is opaque */
} colour;

colour colour_class(int index); /* Okabe and Ito's colours, safe for the colour-blind; negative: grey */
colour colour_continuous(double share);                       /* viridis, 0 .. 1 */
colour colour_fade(colour ink, double alpha);                 /* the same colour, as transparent as that */
extern const colour colour_ink, colour_quiet, colour_warning; /* near black; grey; what must be noticed */

/* ---- figures ---- */

/* `title` may be NULL. The image is columns * panel_width wide; a title adds a strip on top. */
jf_status figure_create(jf_context *ctx, figure **out, int rows, int columns, int panel_width,
                        int panel_height, const char *title);
void figure_free(figure *fig);
void figure_size(const figure *fig, int *width, int *height); /* in pixels */
jf_status figure_save(figure *fig, const char *path);
/* Borrowed. Outside the grid NULL, which every panel function takes; figure_save() then reports it. */
panel *figure_panel(figure *fig, int row, int column);

/* ---- what a panel is made of ---- */

enum axes_flags {
    AXES_EQUAL = 1, /* one unit is as long on x as on y */
    AXES_LOG_X = 2,
    AXES_LOG_Y = 4,
    AXES_SYMLOG_Y = 8, /* sign(y) log10(1 + |y|): linear near 0, logarithmic far from it */
    AXES_NO_TICKS = 16,
};

void panel_title(panel *p, const char *title);
/* Labels may be NULL. Limits that make no axis (not finite, equal, 0 or less on a log axis) are replaced. */
void panel_axes(panel *p, double x_min, double x_max, double y_min, double y_max, const char *x_label,
                const char *y_label, int flags);
/* A colour bar at the right; the label may be NULL. Comes before the data, as it takes its room from them. */
void panel_colour_bar(panel *p, double low, double high, const char *label);

/* Smallest and largest finite value, each moved outwards by `margin` of the range; 0 and 1 where there is
 * none. */
void draw_range(long n, const double *values, int stride, double margin, double *low, double *high);

/* ---- points ---- */

typedef struct scatter_style {
    colour ink;           /* of all points, unless there are classes or values */
    const int *classes;   /* (n) or NULL: colour by class */
    const double *values; /* (n) or NULL: continuous colour from `low` to `high` */
    double low, high;
    double radius;                  /* 0: from n */
    double alpha;                   /* 0: from n */
    const char *label;              /* NULL: not in the legend */
    const char *const *class_names; /* (class_count) or NULL: classes in the legend */
    int class_count;
} scatter_style;

/* Point i is (x[i * stride], y[i * stride]). Where points overlap their colours mix, whatever their order. */
void panel_scatter(panel *p, long n, const double *x, const double *y, int stride,
                   const scatter_style *style);

/* ---- lines, bars, histograms ---- */

typedef struct line_style {
    colour ink;
    double width;      /* 0: 1.5 */
    double dash;       /* length of a dash; 0: solid */
    const char *label; /* NULL: not in the legend */
} line_style;

void panel_line(panel *p, long n, const double *x, const double *y, int stride, const line_style *style);
void panel_vertical(panel *p, double x, const line_style *style);
void panel_horizontal(panel *p, double y, const line_style *style);
void panel_normal(panel *p, const line_style *style); /* the density of N(0, 1) */
/* A step histogram: bar i from edges[i] to edges[i + 1], heights[i] high. `filled`: with coloured ground. */
void panel_bars(panel *p, int n, const double *edges, const double *heights, int filled,
                const line_style *style);
/* Medians as dots, 25 .. 75 % as thick and 5 .. 95 % as thin lines; q: (n, 5), the 5, 25, 50, 75 and 95 %
 * quantiles. */
void panel_quantiles(panel *p, int n, const double *x, const double *q, const line_style *style);

/* density (bins): share of the n values in each bin of low .. high, divided by the bin's width. */
void draw_histogram(long n, const double *values, int stride, double low, double high, int bins,
                    double *density);

/* Many histograms, one thin line each, flagged ones in another colour, under the curve of N(0, 1).
 * density: (lines, bins) over low .. high; flagged: (lines) or NULL. */
void panel_histogram_lines(panel *p, int lines, int bins, double low, double high, const double *density,
                           const unsigned char *flagged);

/* ---- fields and words ---- */

typedef struct heat_grid {
    int rows, columns;
    const double *values;              /* (rows, columns), row 0 at y_min */
    double x_min, x_max, y_min, y_max; /* outer edges of the grid */
    double low, high;                  /* values of the first and last colour */
    int smooth;                        /* interpolate between the centres of cells */
} heat_grid;

void panel_heat(panel *p, const heat_grid *grid);

/* Lines of text; a panel without axes. A tab in a line sets what follows at the right: "median\t0.0083". */
void panel_text(panel *p, const char *lines);

/* A name for the legend without data of its own. */
void panel_legend(panel *p, const line_style *style);

/* ---- training curves ---- */

typedef struct curve {
    const char *name;
    long n;
    const double *x, *y; /* (n) */
} curve;

typedef struct curve_phase {
    const char *name;
    double start; /* x of its first epoch; it ends where the next one starts */
} curve_phase;

/* Makes the axes from the data. flags: 0, AXES_LOG_Y (becomes symlog where a value is not positive),
 * AXES_SYMLOG_Y. */
void panel_curves(panel *p, int curve_count, const curve *curves, int phase_count, const curve_phase *phases,
                  const char *x_label, const char *y_label, int flags);

/* ---- images ---- */

typedef struct image_grid {
    int count, height, width, channels; /* channels: 1 grey, 3 red, green, blue */
    const double *values;               /* (count, height, width, channels) */
    int columns;
    double low, high;                 /* black and white; 0 and 1 where high is not above low */
    const char *const *row_labels;    /* (rows) or NULL */
    const char *const *column_labels; /* (columns) or NULL */
    const unsigned char *boxed;       /* (count) or NULL: a coloured frame around some */
    const unsigned char *blank;       /* (count) or NULL: places that stay empty */
} image_grid;

/* Pixels are squares of equal size; those that are not finite have the warning colour. */
void panel_images(panel *p, const image_grid *grid);
/* A picture of its own, just as large as the images need. */
jf_status draw_images(jf_context *ctx, const char *path, const image_grid *grid, const char *title);

/* ---- images of different sizes (cells.c) ---- */

/* A picture of images side by side, smaller ones enlarged to the size of the largest. */
jf_status draw_cells(jf_context *ctx, const char *path, const jf_grid *grid);
jf_status draw_check_cells(jf_context *ctx, size_t rows,
                           size_t columns); /* refuses grids too large to be drawn */

#endif
