/* Training curves: several series over the epochs, with the phases as bands whose names stand above the
 * box. */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>

#define STRIP_HEIGHT 26
#define PHASES_MAX   8

/* The range of all series, and whether a log axis can show them. */
static void find_ranges(int count, const curve *curves, double x[2], double y[2], int *positive) {
    x[0] = y[0] = INFINITY, x[1] = y[1] = -INFINITY;
    *positive = 1;
    for (int c = 0; c < count; ++c)
        for (long i = 0; i < curves[c].n; ++i) {
            double px = curves[c].x[i], py = curves[c].y[i];
            if (!isfinite(px) || !isfinite(py)) continue;
            x[0] = fmin(x[0], px), x[1] = fmax(x[1], px);
            y[0] = fmin(y[0], py), y[1] = fmax(y[1], py);
            if (py <= 0) *positive = 0;
        }
}

/* A little air above and below, measured on the scale that is drawn. */
static void add_air(double y[2], axis_scale scale) {
    axis a = axis_make(y[0], y[1], scale);
    y[0] = axis_value(&a, -0.05), y[1] = axis_value(&a, 1.08);
}

static double phase_end(panel *p, int count, const curve_phase *phases, int i) {
    return i + 1 < count ? phases[i + 1].start : p->x.max;
}

static double clamp_to_box(const panel *p, double place) {
    return fmin(fmax(place, p->box.left), p->box.left + p->box.width);
}

static void paint_bands(panel *p, int count, const curve_phase *phases) {
    cairo_t *cr = panel_begin(p);
    if (!cr) return;
    for (int i = 0; i < count; ++i) {
        double from = panel_place_x(p, phases[i].start),
               to = panel_place_x(p, phase_end(p, count, phases, i));
        if (!isfinite(from) || !isfinite(to)) continue;
        if (i % 2 == 1) {
            cairo_rectangle(cr, from, p->box.top, to - from, p->box.height);
            cairo_set_source_rgba(cr, 0, 0, 0, 0.045);
            cairo_fill(cr);
        }
        if (i == 0) continue;
        const double dash = 3;
        cairo_set_dash(cr, &dash, 1, 0);
        cairo_set_line_width(cr, 1);
        set_ink(cr, colour_quiet);
        cairo_move_to(cr, from, p->box.top);
        cairo_rel_line_to(cr, 0, p->box.height);
        cairo_stroke(cr);
    }
    panel_end(p);
}

/* Names are centred over their phases, then pushed apart: to the right and, at the end of the box, back. */
static void place_names(panel *p, int count, const double *middle, const double *width, double *left) {
    const double gap = 12, right_end = p->box.left + p->box.width;
    for (int i = 0; i < count; ++i) {
        left[i] = fmax(middle[i] - width[i] / 2, i ? left[i - 1] + width[i - 1] + gap : p->box.left);
    }
    double limit = right_end;
    for (int i = count - 1; i >= 0; --i) {
        left[i] = fmin(left[i], limit - width[i]);
        limit = left[i] - gap;
    }
}

static void paint_names(panel *p, int count, const curve_phase *phases) {
    cairo_t *cr = p->fig->cr;
    double middle[PHASES_MAX], width[PHASES_MAX], left[PHASES_MAX];
    char name[PHASES_MAX][LABEL_SIZE];
    for (int i = 0; i < count; ++i) {
        double from = panel_place_x(p, phases[i].start),
               to = panel_place_x(p, phase_end(p, count, phases, i));
        middle[i] =
            isfinite(from) && isfinite(to) ? (clamp_to_box(p, from) + clamp_to_box(p, to)) / 2 : p->box.left;
        label_copy(name[i], phases[i].name, NULL);
        width[i] = fmin(label_width(cr, name[i], TICK_SIZE, 0), p->box.width / count - 12);
    }
    place_names(p, count, middle, width, left);
    for (int i = 0; i < count; ++i) {
        label_style style = {
            .ink = colour_quiet, .size = TICK_SIZE, .max_width = width[i] + 0.5, .anchor = 0.5};
        double centre = left[i] + width[i] / 2;
        label_draw(cr, name[i], centre, p->box.top - 18, &style);
        set_ink(cr, colour_fade(colour_quiet, 0.7)); /* from the name to its phase */
        cairo_set_line_width(cr, 0.9);
        cairo_move_to(cr, centre, p->box.top - 11);
        cairo_line_to(cr, middle[i], p->box.top - 4);
        cairo_line_to(cr, middle[i], p->box.top);
        cairo_stroke(cr);
    }
}

void panel_curves(panel *p, int curve_count, const curve *curves, int phase_count, const curve_phase *phases,
                  const char *x_label, const char *y_label, int flags) {
    if (!p) return;
    if (phase_count > PHASES_MAX) {
        figure_mistake(p->fig, JF_ERROR_ARGUMENT, "%d phases; a panel of curves shows %d at most",
                       phase_count, PHASES_MAX);
        return;
    }
    double x[2], y[2];
    int positive;
    find_ranges(curve_count, curves, x, y, &positive);
    if ((flags & AXES_LOG_Y) && !positive) flags = (flags & ~AXES_LOG_Y) | AXES_SYMLOG_Y;
    axis_scale scale = flags & AXES_LOG_Y ? SCALE_LOG : flags & AXES_SYMLOG_Y ? SCALE_SYMLOG : SCALE_LINEAR;
    add_air(y, scale);

    if (phase_count > 0 && phases[0].start < x[0]) x[0] = phases[0].start;
    p->strip = phase_count > 0 ? STRIP_HEIGHT : 0;
    panel_axes(p, x[0], x[1], y[0], y[1], x_label, y_label, flags);
    if (!panel_begin(p)) return;
    panel_end(p);
    paint_bands(p, phase_count, phases);
    for (int c = 0; c < curve_count; ++c)
        panel_line(p, curves[c].n, curves[c].x, curves[c].y, 1,
                   &(line_style){.ink = colour_class(c), .width = 1.7, .label = curves[c].name});
    paint_names(p, phase_count, phases);
}
