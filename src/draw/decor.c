/* What lies over and around the data: frame, ticks, labels, colour bar, "no data". */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>

static void paint_frame(cairo_t *cr, rectangle box) {
    cairo_rectangle(cr, box.left, box.top, box.width, box.height);
    set_ink(cr, FRAME_INK);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
}

static void paint_x_ticks(panel *p) {
    cairo_t *cr = p->fig->cr;
    const ticks *t = &p->x_ticks;
    const double bottom = p->box.top + p->box.height;
    const label_style style = {.ink = colour_ink, .size = TICK_SIZE, .anchor = 0.5};
    cairo_set_line_width(cr, 1);
    for (int i = 0; i < t->count + t->minor_count; ++i) {
        double place = i < t->count ? t->place[i] : t->minor_place[i - t->count];
        cairo_move_to(cr, p->box.left + place * p->box.width, bottom);
        cairo_rel_line_to(cr, 0, i < t->count ? TICK_LENGTH : TICK_LENGTH / 2.0);
    }
    set_ink(cr, FRAME_INK);
    cairo_stroke(cr);
    for (int i = 0; i < t->count; ++i)
        label_draw(cr, t->label[i], p->box.left + t->place[i] * p->box.width, bottom + TICK_LENGTH + 9,
                   &style);
    if (t->factor[0]) { /* beside the axis' name */
        label_style factor = {.ink = colour_ink, .size = TICK_SIZE, .anchor = 1};
        label_draw(cr, t->factor, p->box.left + p->box.width, bottom + TICK_ROOM + LABEL_ROOM / 2.0 + 1,
                   &factor);
    }
}

/* Ticks at the side `right` (the colour bar) or left (the y axis) of a box. */
static void paint_side_ticks(cairo_t *cr, rectangle box, const ticks *t, int right) {
    const double edge = right ? box.left + box.width : box.left, out = right ? 1 : -1;
    const label_style style = {.ink = colour_ink, .size = TICK_SIZE, .anchor = right ? 0 : 1};
    cairo_set_line_width(cr, 1);
    for (int i = 0; i < t->count + t->minor_count; ++i) {
        double place = i < t->count ? t->place[i] : t->minor_place[i - t->count];
        cairo_move_to(cr, edge, box.top + (1 - place) * box.height);
        cairo_rel_line_to(cr, out * (i < t->count ? TICK_LENGTH : TICK_LENGTH / 2.0), 0);
    }
    set_ink(cr, FRAME_INK);
    cairo_stroke(cr);
    for (int i = 0; i < t->count; ++i)
        label_draw(cr, t->label[i], edge + out * (TICK_LENGTH + 3), box.top + (1 - t->place[i]) * box.height,
                   &style);
    label_style factor = {.ink = colour_ink, .size = TICK_SIZE, .anchor = right ? 0 : 0.5};
    if (t->factor[0])
        label_draw(cr, t->factor, right ? box.left : edge, box.top - FACTOR_ROOM / 2.0 - 2, &factor);
}

/* The width of words centred at `middle` that stay between the edges. */
static double centred_room(double middle, double from, double to) {
    double left = middle - from, right = to - middle;
    return 2 * fmin(left, right) - 8;
}

static void paint_bar(panel *p) {
    cairo_t *cr = p->fig->cr;
    rectangle bar = {p->box.left + p->box.width + BAR_GAP, p->box.top, BAR_WIDTH, p->box.height};
    cairo_pattern_t *shades = cairo_pattern_create_linear(0, bar.top + bar.height, 0, bar.top);
    for (int i = 0; i <= 32; ++i) {
        colour c = colour_continuous(i / 32.0);
        cairo_pattern_add_color_stop_rgb(shades, i / 32.0, c.red, c.green, c.blue);
    }
    cairo_rectangle(cr, bar.left, bar.top, bar.width, bar.height);
    cairo_set_source(cr, shades);
    cairo_fill(cr);
    cairo_pattern_destroy(shades);
    paint_frame(cr, bar);
    paint_side_ticks(cr, bar, &p->bar_ticks, 1);
    double widest = widest_tick_label(cr, &p->bar_ticks);
    label_style style = {.ink = colour_ink, .size = AXIS_SIZE, .anchor = 0.5, .angle = -FULL_TURN / 4};
    style.max_width = centred_room(bar.top + bar.height / 2, p->cell.top, p->cell.top + p->cell.height);
    label_draw(cr, p->bar_label, bar.left + bar.width + TICK_LENGTH + 3 + widest + LABEL_ROOM / 2.0 + 1,
               bar.top + bar.height / 2, &style);
}

static void paint_labels(panel *p) {
    cairo_t *cr = p->fig->cr;
    const double middle_x = p->box.left + p->box.width / 2, middle_y = p->box.top + p->box.height / 2;
    const int has_ticks = !(p->flags & AXES_NO_TICKS);
    label_style style = {.ink = colour_ink, .size = AXIS_SIZE, .anchor = 0.5};
    style.max_width = p->x_ticks.factor[0]
                          ? p->box.width - 96
                          : centred_room(middle_x, p->cell.left, p->cell.left + p->cell.width);
    label_draw(cr, p->x_label, middle_x,
               p->box.top + p->box.height + (has_ticks ? TICK_ROOM : 2) + LABEL_ROOM / 2.0 + 1, &style);
    double widest = has_ticks ? fmax(widest_tick_label(cr, &p->y_ticks), TICK_LEAST) : 0;
    style.angle = -FULL_TURN / 4;
    style.max_width = centred_room(middle_y, p->cell.top, p->cell.top + p->cell.height);
    label_draw(cr, p->y_label, p->box.left - (has_ticks ? TICK_LENGTH + 4 : 2) - widest - LABEL_ROOM / 2.0,
               middle_y, &style);
}

static void paint_title(panel *p) {
    label_style style = {.ink = colour_ink, .size = TITLE_SIZE, .bold = 1, .anchor = 0.5};
    style.max_width = p->cell.width - 2 * MARGIN;
    double x = p->cell.left + p->cell.width / 2, y = p->cell.top + MARGIN + TITLE_ROOM - 12;
    if (p->has_axes) { /* over the box, as far as the title's own width allows */
        double half = label_width(p->fig->cr, p->title, TITLE_SIZE, 1) / 2 + MARGIN;
        x = p->box.left + p->box.width / 2;
        y = p->box.top - p->strip - (p->y_ticks.factor[0] ? FACTOR_ROOM : 0) - 12;
        if (x + half > p->cell.left + p->cell.width) x = p->cell.left + p->cell.width - half;
        if (x - half < p->cell.left) x = p->cell.left + half;
        if (2 * half > p->cell.width) x = p->cell.left + p->cell.width / 2;
    }
    label_draw(p->fig->cr, p->title, x, y, &style);
}

void panel_decorate(panel *p) {
    cairo_t *cr = p->fig->cr;
    if (p->has_axes) {
        panel_lay_out(p);
        if (p->fig->status != JF_OK) return;
        if (p->marks == 0) {
            label_style style = {.ink = colour_quiet, .size = TITLE_SIZE, .anchor = 0.5};
            label_draw(cr, "no data", p->box.left + p->box.width / 2, p->box.top + p->box.height / 2, &style);
        } else {
            panel_paint_legend(p);
        }
        paint_frame(cr, p->box);
        if (!(p->flags & AXES_NO_TICKS)) {
            paint_x_ticks(p);
            paint_side_ticks(cr, p->box, &p->y_ticks, 0);
        }
        paint_labels(p);
        if (p->has_bar) paint_bar(p);
    }
    if (p->title[0]) paint_title(p);
}
