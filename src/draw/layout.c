/* From a panel's cell to the box of its data: room for title, ticks and labels first, the rest is the box.
 * Also what lies under the data: the grid. */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>

double widest_tick_label(cairo_t *cr, const ticks *t) {
    double widest = 0;
    for (int i = 0; i < t->count; ++i) widest = fmax(widest, label_width(cr, t->label[i], TICK_SIZE, 0));
    return widest;
}

/* As many ticks on x as their labels leave room for. */
static void fit_x_ticks(panel *p) {
    cairo_t *cr = p->fig->cr;
    for (int wanted = (int)fmax(2, p->box.width / 48); wanted >= 2; --wanted) {
        ticks_make(&p->x_ticks, &p->x, wanted);
        double closest = p->box.width;
        for (int i = 0; i < p->x_ticks.count; ++i)
            for (int j = 0; j < i; ++j)
                closest = fmin(closest, fabs(p->x_ticks.place[i] - p->x_ticks.place[j]) * p->box.width);
        if (widest_tick_label(cr, &p->x_ticks) + 10 <= closest) return;
    }
}

static void fit_y_ticks(ticks *t, const axis *a, double height) {
    ticks_make(t, a, (int)fmax(2, height / 36));
}

/* Shrinks the box until one unit is as long on x as on y, but not to a sliver: beyond that the limits widen.
 * The top stays, so that the titles of neighbours stay in line. */
static void make_equal(panel *p) {
    const double least = 1 / 3.0;
    double unit = fmin(p->box.width / p->x.span, p->box.height / p->y.span);
    double width = fmax(unit * p->x.span, least * p->box.width);
    double height = fmax(unit * p->y.span, least * p->box.height);
    double wider = (width / unit - p->x.span) / 2, higher = (height / unit - p->y.span) / 2;
    p->x = axis_make(p->x.min - wider, p->x.max + wider, SCALE_LINEAR);
    p->y = axis_make(p->y.min - higher, p->y.max + higher, SCALE_LINEAR);
    p->box.left += (p->box.width - width) / 2;

    p->box.width = width, p->box.height = height;
}

/* Edges on whole pixels keep frames sharp. */
static void snap_box(rectangle *box) {
    double right = box->left + box->width, bottom = box->top + box->height;
    box->left = rint(box->left * DRAW_SCALE) / DRAW_SCALE;
    box->top = rint(box->top * DRAW_SCALE) / DRAW_SCALE;
    box->width = rint(right * DRAW_SCALE) / DRAW_SCALE - box->left;
    box->height = rint(bottom * DRAW_SCALE) / DRAW_SCALE - box->top;
}

static void place_box(panel *p) {
    cairo_t *cr = p->fig->cr;
    const int has_ticks = !(p->flags & AXES_NO_TICKS);
    double left = MARGIN + (p->y_label[0] ? LABEL_ROOM : 0), right = MARGIN + 4;
    double top = MARGIN + (p->title[0] ? TITLE_ROOM : 0) + p->strip;
    double bottom = MARGIN + (p->x_label[0] ? LABEL_ROOM : 0) + (has_ticks ? TICK_ROOM : 0);
    p->box.top = p->cell.top + top;
    p->box.height = p->cell.height - top - bottom;
    if (has_ticks) {
        fit_y_ticks(&p->y_ticks, &p->y, p->box.height);
        if (p->y_ticks.factor[0]) p->box.top += FACTOR_ROOM, p->box.height -= FACTOR_ROOM;
        /* a common least width keeps the boxes of most panels in line */
        left += TICK_LENGTH + 4 + fmax(widest_tick_label(cr, &p->y_ticks), TICK_LEAST);
    }
    if (p->has_bar) {
        fit_y_ticks(&p->bar_ticks, &p->bar, p->box.height);
        right += BAR_GAP + BAR_WIDTH + TICK_LENGTH + 2 + widest_tick_label(cr, &p->bar_ticks);
        right += p->bar_label[0] ? LABEL_ROOM : 0;
    }
    p->box.left = p->cell.left + left;
    p->box.width = p->cell.width - left - right;
}

static void paint_grid(panel *p) {
    cairo_t *cr = p->fig->cr;
    cairo_set_line_width(cr, 0.75);
    set_ink(cr, GRID_INK);
    for (int i = 0; i < p->x_ticks.count; ++i) {
        cairo_move_to(cr, p->box.left + p->x_ticks.place[i] * p->box.width, p->box.top);
        cairo_rel_line_to(cr, 0, p->box.height);
    }
    for (int i = 0; i < p->y_ticks.count; ++i) {
        cairo_move_to(cr, p->box.left, p->box.top + (1 - p->y_ticks.place[i]) * p->box.height);
        cairo_rel_line_to(cr, p->box.width, 0);
    }
    cairo_stroke(cr);
}

void panel_lay_out(panel *p) {
    if (p->laid_out) return;
    p->laid_out = 1;
    place_box(p);
    if (!(p->box.width >= 24 && p->box.height >= 24)) {
        figure_mistake(p->fig, JF_ERROR_ARGUMENT,
                       "a panel of %g x %g leaves no room for data beside its labels", p->cell.width,
                       p->cell.height);
        return;
    }
    if ((p->flags & AXES_EQUAL) && p->x.scale == SCALE_LINEAR && p->y.scale == SCALE_LINEAR) make_equal(p);
    snap_box(&p->box);
    if (p->has_bar) fit_y_ticks(&p->bar_ticks, &p->bar, p->box.height);
    if (p->flags & AXES_NO_TICKS) return;
    fit_y_ticks(&p->y_ticks, &p->y, p->box.height);
    fit_x_ticks(p);
    paint_grid(p);
}
