/* Draws heat maps. A pixel has the colour of the cell at its centre, or of the four nearest cells. */
#include "draw/draw_figure.h"
#include <math.h>

/* Value at (column, row), in cells from the grid's corner; NAN outside. */
static double value_at(const heat_grid *g, double column, double row) {
    if (!(column >= 0 && row >= 0 && column < g->columns && row < g->rows)) return NAN;
    double nearest = g->values[(size_t)(int)row * g->columns + (int)column];
    if (!g->smooth) return nearest;
    double x = fmin(fmax(column - 0.5, 0), g->columns - 1), y = fmin(fmax(row - 0.5, 0), g->rows - 1);
    int left = (int)x, below = (int)y, right = left + 1 < g->columns ? left + 1 : left;
    int above = below + 1 < g->rows ? below + 1 : below;
    const double *low = g->values + (size_t)below * g->columns,
                 *high = g->values + (size_t)above * g->columns;
    double s = x - left, t = y - below;
    double mean =
        (1 - t) * ((1 - s) * low[left] + s * low[right]) + t * ((1 - s) * high[left] + s * high[right]);
    return isfinite(mean) ? mean : nearest;
}

static uint32_t to_pixel(colour c) {
    return (uint32_t)(c.red * 255 + 0.5) << 16 | (uint32_t)(c.green * 255 + 0.5) << 8 |
           (uint32_t)(c.blue * 255 + 0.5);
}

void panel_heat(panel *p, const heat_grid *g) {
    if (!panel_begin(p)) return;
    panel_end(p);
    if (g->rows <= 0 || g->columns <= 0) return;
    pixel_area pixels = figure_pixels(p->fig, p->box);
    const double range = g->high > g->low ? g->high - g->low : 1;
    for (int y = 0; y < pixels.height; ++y) {
        double value_y = axis_value(&p->y, 1 - (y + 0.5) / pixels.height);
        double row = (value_y - g->y_min) / (g->y_max - g->y_min) * g->rows;
        for (int x = 0; x < pixels.width; ++x) {
            double value_x = axis_value(&p->x, (x + 0.5) / pixels.width);
            double value = value_at(g, (value_x - g->x_min) / (g->x_max - g->x_min) * g->columns, row);
            if (!isfinite(value)) continue;
            pixels.pixel[(long)y * pixels.stride + x] = to_pixel(colour_continuous((value - g->low) / range));
            ++p->marks;
        }
    }
    figure_pixels_done(p->fig);
}
