/* Lines and bars. A value that is not finite, or has no place on a log axis, is a gap. */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>

static void set_pen(cairo_t *cr, const line_style *style) {
    set_ink(cr, style->ink);
    cairo_set_line_width(cr, style->width > 0 ? style->width : 1.5);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    if (style->dash > 0) cairo_set_dash(cr, &style->dash, 1, 0);
}

/* Builds a path whose length does not grow without bound: within one column of pixels only the first, lowest,
 * highest and last point count, which look the same as all of them. */
typedef struct tracer {
    cairo_t *cr;
    int points, column; /* points of the current column */
    long vertices;      /* of the path so far */
    double x, first, low, high, last;
    int pen_down;
} tracer;

static void trace_to(tracer *t, double x, double y) {
    if (t->pen_down)
        cairo_line_to(t->cr, x, y);
    else
        cairo_move_to(t->cr, x, y);
    t->pen_down = 1;
    /* cairo's time grows faster than the path: begin a new one now and then */
    if (++t->vertices % 4000 == 0) {
        cairo_stroke(t->cr);
        cairo_move_to(t->cr, x, y);
    }
}

static void trace_column(tracer *t) {
    if (t->points > 0) trace_to(t, t->x, t->first);
    if (t->points > 2) {
        if (t->low != t->first) trace_to(t, t->x, t->low);
        if (t->high != t->low) trace_to(t, t->x, t->high);
    }
    if (t->points > 1) trace_to(t, t->x, t->last);
    t->points = 0;
}

static void trace_point(tracer *t, double x, double y) {
    int column = (int)floor(x * DRAW_SCALE);
    if (t->points == 0 || column != t->column) {
        trace_column(t);
        t->x = x, t->column = column;
        t->first = t->low = t->high = y;
    }
    t->low = fmin(t->low, y), t->high = fmax(t->high, y);
    t->last = y;
    ++t->points;
}

/* A point with no neighbours would be no line at all: show it as a dot. */
static void trace_end(tracer *t, int alone) {
    if (alone && t->points == 1) {
        cairo_new_sub_path(t->cr);
        cairo_arc(t->cr, t->x, t->first, 0.6, 0, FULL_TURN);
        t->points = 0;
    }
    trace_column(t);
    t->pen_down = 0;
}

static void trace_line(panel *p, cairo_t *cr, long n, const double *x, const double *y, int stride) {
    tracer t = {.cr = cr};
    long run = 0; /* points since the last gap */
    for (long i = 0; i < n; ++i) {
        double px = panel_place_x(p, x[i * stride]), py = panel_place_y(p, y[i * stride]);
        if (isfinite(px) && isfinite(py)) {
            trace_point(&t, px, py);
            ++run, ++p->marks;
        } else {
            trace_end(&t, run == 1);
            run = 0;
        }
    }
    trace_end(&t, run == 1);
}

void panel_line(panel *p, long n, const double *x, const double *y, int stride, const line_style *style) {
    cairo_t *cr = panel_begin(p);
    if (!cr) return;
    long before = p->marks;
    set_pen(cr, style);
    trace_line(p, cr, n, x, y, stride);
    cairo_stroke(cr);
    panel_end(p);
    if (p->marks > before)
        panel_legend_add(p, LEGEND_LINE, style->label, style->ink, style->width, style->dash);
}

static void straight(panel *p, double x0, double y0, double x1, double y1, const line_style *style) {
    cairo_t *cr = p->fig->cr;
    if (isfinite(x0) && isfinite(y0)) {
        set_pen(cr, style);
        cairo_move_to(cr, x0, y0);
        cairo_line_to(cr, x1, y1);
        cairo_stroke(cr);
        panel_legend_add(p, LEGEND_LINE, style->label, style->ink, style->width, style->dash);
    }
}

void panel_vertical(panel *p, double x, const line_style *style) {
    if (!panel_begin(p)) return;
    double place = panel_place_x(p, x);
    straight(p, place, p->box.top, place, p->box.top + p->box.height, style);
    panel_end(p);
}

void panel_horizontal(panel *p, double y, const line_style *style) {
    if (!panel_begin(p)) return;
    double place = panel_place_y(p, y);
    straight(p, p->box.left, place, p->box.left + p->box.width, place, style);
    panel_end(p);
}

void panel_normal(panel *p, const line_style *style) {
    enum { POINTS = 241 };
    double x[POINTS], y[POINTS];
    if (!panel_begin(p)) return;
    panel_end(p); /* now the limits are final */
    for (int i = 0; i < POINTS; ++i) {
        x[i] = axis_value(&p->x, i / (POINTS - 1.0));
        y[i] = exp(-x[i] * x[i] / 2) / sqrt(2 * 3.14159265358979323846);
    }
    line_style halo = {.ink = {1, 1, 1, 0.7}, .width = (style->width > 0 ? style->width : 1.5) + 1.6};
    panel_line(p, POINTS, x, y, 1, &halo);
    panel_line(p, POINTS, x, y, 1, style);
}

/* The outline of one histogram: up, along each bar, and down again. */
static void trace_steps(panel *p, cairo_t *cr, int n, const double *edges, const double *heights,
                        double floor_y) {
    int open = 0;
    double end = 0; /* of the last bar */
    for (int i = 0; i < n; ++i) {
        double left = panel_place_x(p, edges[i]), right = panel_place_x(p, edges[i + 1]);
        double y = panel_place_y(p, heights[i]);
        if (!isfinite(left) || !isfinite(right) || !isfinite(y)) {
            if (open) cairo_line_to(cr, end, floor_y);
            open = 0;
            continue;
        }
        if (!open) cairo_move_to(cr, left, floor_y);
        cairo_line_to(cr, left, y);
        cairo_line_to(cr, right, y);
        open = 1, end = right;
        ++p->marks;
    }
    if (open) cairo_line_to(cr, end, floor_y);
}

void panel_bars(panel *p, int n, const double *edges, const double *heights, int filled,
                const line_style *style) {
    cairo_t *cr = panel_begin(p);
    if (!cr) return;
    long before = p->marks;
    double floor_y = panel_place_y(p, 0);
    if (!isfinite(floor_y)) floor_y = p->box.top + p->box.height; /* a log axis has no 0 */
    if (filled) {
        trace_steps(p, cr, n, edges, heights, floor_y);
        set_ink(cr, colour_fade(style->ink, 0.35 * style->ink.alpha));
        cairo_fill(cr);
        p->marks = before;
    }
    trace_steps(p, cr, n, edges, heights, floor_y);
    set_pen(cr, style);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_MITER);
    cairo_stroke(cr);
    panel_end(p);
    if (p->marks > before)
        panel_legend_add(p, filled ? LEGEND_PATCH : LEGEND_LINE, style->label, style->ink, style->width,
                         style->dash);
}

static void quantile_line(cairo_t *cr, double x, double from, double to, double width) {
    if (!isfinite(from) || !isfinite(to)) return;
    cairo_set_line_width(cr, width);
    cairo_move_to(cr, x, from);
    cairo_line_to(cr, x, to);
    cairo_stroke(cr);
}

void panel_quantiles(panel *p, int n, const double *x, const double *q, const line_style *style) {
    cairo_t *cr = panel_begin(p);
    if (!cr) return;
    long before = p->marks;
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
    for (int i = 0; i < n; ++i) {
        double place = panel_place_x(p, x[i]), y[5];
        for (int k = 0; k < 5; ++k) y[k] = panel_place_y(p, q[5 * i + k]);
        if (!isfinite(place)) continue;
        set_ink(cr, style->ink);
        quantile_line(cr, place, y[0], y[4], 1.2);
        quantile_line(cr, place, y[1], y[3], 4);
        if (!isfinite(y[2])) continue;
        cairo_arc(cr, place, y[2], 3.4, 0, FULL_TURN);
        cairo_set_source_rgb(cr, 1, 1, 1);
        cairo_fill_preserve(cr);
        set_ink(cr, style->ink);
        cairo_set_line_width(cr, 1.6);
        cairo_stroke(cr);
        ++p->marks;
    }
    panel_end(p);
    if (p->marks > before) panel_legend_add(p, LEGEND_DOT, style->label, style->ink, 0, 0);
}
