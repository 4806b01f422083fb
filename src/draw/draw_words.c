/* A panel of words and numbers: one line each, "name<tab>value" with the value at the right. */
#include "draw/draw_figure.h"
#include "draw/style.h"
#include <math.h>
#include <string.h>

#define LINE_HEIGHT 19

static const char *line_end(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end : line + strlen(line);
}

static int count_lines(const char *lines) {
    int count = 0;
    for (const char *line = lines; *line; ++count) {
        const char *end = line_end(line);
        line = *end ? end + 1 : end;
    }
    return count;
}

/* The name keeps the width that the value leaves. */
static void paint_pair(cairo_t *cr, const char *name, const char *value, rectangle row, double size) {
    double y = row.top + row.height / 2, wide = fmin(label_width(cr, value, size, 0), 0.7 * row.width);
    label_style left = {.ink = colour_ink, .size = size, .max_width = row.width - (*value ? wide + 10 : 0)};
    label_style right = {.ink = colour_ink, .size = size, .anchor = 1, .max_width = wide + 0.5};
    label_draw(cr, name, row.left, y, &left);
    if (*value) label_draw(cr, value, row.left + row.width, y, &right);
}

void panel_text(panel *p, const char *lines) {
    if (!p || !lines || p->fig->status != JF_OK || p->fig->finished) return;
    if (p->has_axes) {
        figure_mistake(p->fig, JF_ERROR_ARGUMENT, "words for a panel that has axes");
        return;
    }
    cairo_t *cr = p->fig->cr;
    const double top = MARGIN + (p->title[0] ? TITLE_ROOM + 6 : 0), room = p->cell.height - top - MARGIN;
    const double height = fmin(LINE_HEIGHT, room / fmax(1, count_lines(lines)));
    rectangle row = {p->cell.left + 2 * MARGIN, p->cell.top + top, p->cell.width - 4 * MARGIN, height};
    for (const char *line = lines; *line; row.top += height) {
        const char *end = line_end(line), *tab = memchr(line, '\t', (size_t)(end - line));
        char name[LABEL_SIZE], value[LABEL_SIZE] = "";
        label_copy(name, line, tab ? tab : end);
        if (tab) label_copy(value, tab + 1, end);
        paint_pair(cr, name, value, row, fmin(AXIS_SIZE, height * 0.65));
        if (tab) { /* a hair line leads the eye from the name to its value */
            set_ink(cr, GRID_INK);
            cairo_set_line_width(cr, 0.75);
            cairo_move_to(cr, row.left, row.top + height);
            cairo_rel_line_to(cr, row.width, 0);
            cairo_stroke(cr);
        }
        line = *end ? end + 1 : end;
    }
    p->laid_out = 1;
}
