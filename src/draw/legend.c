/* Legends, put into the corner of the box where they hide least. */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>
#include <stdio.h>

#define SAMPLE_WIDTH 20
#define ROW_HEIGHT   16
#define PADDING      7

void panel_legend_add(panel *p, legend_kind kind, const char *label, colour ink, double width, double dash) {
    if (!p || !label || !*label) return;
    if (p->legend_count == LEGEND_MAX) {
        ++p->legend_lost;
        return;
    }
    legend_entry *e = &p->legend[p->legend_count++];
    *e = (legend_entry){.kind = kind, .ink = ink, .width = width > 0 ? width : 1.5, .dash = dash};
    label_copy(e->label, label, NULL);
}

void panel_legend(panel *p, const line_style *style) {
    panel_legend_add(p, LEGEND_LINE, style->label, style->ink, style->width, style->dash);
}

/* How many pixels of the area are darker than the grid. */
static long count_ink(figure *fig, rectangle area) {
    pixel_area pixels = figure_pixels(fig, area);
    long count = 0;
    for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) {
            uint32_t c = pixels.pixel[(long)y * pixels.stride + x];
            count += (c & 255) < 224 || ((c >> 8) & 255) < 224 || ((c >> 16) & 255) < 224;
        }
    return count;
}

static rectangle emptiest_place(panel *p, double width, double height) {
    static const double across[] = {1, 0, 1, 0, 0.5, 0.5}, down[] = {0, 0, 1, 1, 0, 1};
    const double inset = 8;
    rectangle best = {0};
    long least = -1;
    for (int i = 0; i < 6; ++i) {
        rectangle place = {p->box.left + inset + across[i] * (p->box.width - 2 * inset - width),
                           p->box.top + inset + down[i] * (p->box.height - 2 * inset - height), width,
                           height};
        long ink = count_ink(p->fig, place);
        if (least < 0 || ink < least) least = ink, best = place;
    }
    return best;
}

static void paint_sample(cairo_t *cr, const legend_entry *e, double x, double y) {
    if (e->kind == LEGEND_WORDS) return;
    set_ink(cr, e->ink);
    if (e->kind == LEGEND_DOT) {
        cairo_arc(cr, x + SAMPLE_WIDTH / 2.0, y, 4, 0, FULL_TURN);
        cairo_fill(cr);
    } else if (e->kind == LEGEND_PATCH) {
        cairo_rectangle(cr, x + 2, y - 4.5, SAMPLE_WIDTH - 4, 9);
        cairo_set_line_width(cr, 1);
        cairo_stroke_preserve(cr);
        set_ink(cr, colour_fade(e->ink, 0.35));
        cairo_fill(cr);
    } else {
        if (e->dash > 0) cairo_set_dash(cr, &e->dash, 1, 0);
        cairo_set_line_width(cr, fmax(e->width, 1.2));
        cairo_move_to(cr, x, y);
        cairo_rel_line_to(cr, SAMPLE_WIDTH, 0);
        cairo_stroke(cr);
        cairo_set_dash(cr, NULL, 0, 0);
    }
}

void panel_paint_legend(panel *p) {
    cairo_t *cr = p->fig->cr;
    if (p->legend_count == 0) return;
    if (p->legend_lost) {
        legend_entry *last = &p->legend[LEGEND_MAX - 1];
        last->kind = LEGEND_WORDS;
        snprintf(last->label, sizeof last->label, "and %d more", p->legend_lost + 1);
    }
    double widest = 0;
    for (int i = 0; i < p->legend_count; ++i)
        widest = fmax(widest, label_width(cr, p->legend[i].label, TICK_SIZE, 0));
    widest = fmin(widest, fmax(40, p->box.width - 60 - SAMPLE_WIDTH));
    rectangle place = emptiest_place(p, widest + SAMPLE_WIDTH + 6 + 2 * PADDING,
                                     p->legend_count * ROW_HEIGHT + 2 * PADDING - 4);
    cairo_save(cr);
    cairo_rectangle(cr, p->box.left, p->box.top, p->box.width, p->box.height);
    cairo_clip(cr);
    cairo_rectangle(cr, place.left, place.top, place.width, place.height);
    cairo_set_source_rgba(cr, 1, 1, 1, 0.88);
    cairo_fill_preserve(cr);
    set_ink(cr, (colour){0.8, 0.8, 0.8, 1});
    cairo_set_line_width(cr, 0.75);
    cairo_stroke(cr);
    for (int i = 0; i < p->legend_count; ++i) {
        double y = place.top + PADDING - 2 + (i + 0.5) * ROW_HEIGHT;
        label_style style = {.ink = colour_ink, .size = TICK_SIZE, .max_width = widest};
        paint_sample(cr, &p->legend[i], place.left + PADDING, y);
        label_draw(cr, p->legend[i].label, place.left + PADDING + SAMPLE_WIDTH + 6, y, &style);
    }
    cairo_restore(cr);
}
