/* Points. They are gathered in a buffer in floating point and laid over the canvas at once: a million faint
 * points lose nothing to rounding, and the picture does not depend on their order.
 *
 * A pixel covered by parts w_i of points of colour c_i, w = sum w_i, shows
 *     (1 - o) background + o sum(w_i c_i) / w,
 *     o = max(1 - (1 - alpha)^w, log(1 + w) / log(1 + W)):
 * alpha for one point, and so on for points on top of each other; but where the densest regions (of about W
 * points) leave little to one point, the logarithm keeps both single points and the shades of dense regions
 * visible. */
#include "draw/draw_figure.h"
#include <math.h>
#include <stdlib.h>

typedef struct sheet {
    int width, height;
    float *pixel; /* (height, width, 4): sums of w c and of w */
} sheet;

#define SHADES 256

/* Fewer points are larger and denser. */
static double radius_for(long n) {
    return fmin(fmax(2.9 * pow(n / 200.0, -0.2), 0.55), 2.9);
}
static double alpha_for(long n) {
    return fmin(0.85 * pow(n / 1000.0, -0.6), 0.85);
}

/* A disc with soft edges: coverage is 1 inside the radius - 1/2 and falls to 0 over one pixel. */
static void add_disc(sheet *s, double x, double y, double radius, colour c) {
    double reach = radius + 0.5;
    int left = (int)fmax(0, floor(x - reach)), right = (int)fmin(s->width - 1, floor(x + reach));
    int top = (int)fmax(0, floor(y - reach)), bottom = (int)fmin(s->height - 1, floor(y + reach));
    for (int row = top; row <= bottom; ++row)
        for (int column = left; column <= right; ++column) {
            double dx = column + 0.5 - x, dy = row + 0.5 - y, inside = reach - sqrt(dx * dx + dy * dy);
            if (inside <= 0) continue;
            float w = (float)fmin(inside, 1), *pixel = s->pixel + 4 * ((size_t)row * s->width + column);
            pixel[0] += w * (float)c.red;
            pixel[1] += w * (float)c.green;
            pixel[2] += w * (float)c.blue;
            pixel[3] += w;
        }
}

static uint32_t blend(uint32_t under, float over, float opacity, int shift) {
    float value = (float)((under >> shift) & 255) * (1 - opacity) + 255 * over * opacity;
    return (uint32_t)(fminf(fmaxf(value, 0), 255) + 0.5F) << shift;
}

/* W: how many points lie on a point, on average. */
static double crowding(const sheet *s) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < (size_t)s->width * (size_t)s->height; ++i) {
        double w = s->pixel[4 * i + 3];
        sum += w, squares += w * w;
    }
    return sum > 0 ? squares / sum : 0;
}

/* alpha 0: chosen from the points. */
static void lay_over(figure *fig, const sheet *s, rectangle area, long n, double alpha) {
    const double base = 1 - (alpha > 0 ? fmin(alpha, 1) : alpha_for(n));
    const double scale = alpha > 0 ? 0 : 0.97 / log1p(fmax(1.5 * crowding(s), 2));
    pixel_area pixels = figure_pixels(fig, area);
    for (int y = 0; y < s->height && y < pixels.height; ++y)
        for (int x = 0; x < s->width && x < pixels.width; ++x) {
            const float *p = s->pixel + 4 * ((size_t)y * s->width + x);
            uint32_t *out = pixels.pixel + (long)y * pixels.stride + x;
            if (p[3] <= 0) continue;
            float opacity = (float)fmin(fmax(1 - pow(base, p[3]), scale * log1p(p[3])), 1);
            *out = blend(*out, p[0] / p[3], opacity, 16) | blend(*out, p[1] / p[3], opacity, 8) |
                   blend(*out, p[2] / p[3], opacity, 0);
        }
    figure_pixels_done(fig);
}

static void add_to_legend(panel *p, const scatter_style *style) {
    if (style->classes && style->class_names) {
        for (int i = 0; i < style->class_count; ++i)
            panel_legend_add(p, LEGEND_DOT, style->class_names[i], colour_class(i), 0, 0);
    } else if (!style->values) {
        panel_legend_add(p, LEGEND_DOT, style->label, style->ink, 0, 0);
    }
}

static void add_points(panel *p, sheet *s, long n, const double *x, const double *y, int stride,
                       const scatter_style *style) {
    colour shades[SHADES];
    for (int i = 0; i < SHADES; ++i) shades[i] = colour_continuous(i / (SHADES - 1.0));
    const double range = style->high > style->low ? style->high - style->low : 1;
    const double radius = DRAW_SCALE * (style->radius > 0 ? style->radius : radius_for(n));

    for (long i = 0; i < n; ++i) {
        double across = axis_place(&p->x, x[i * stride]), down = 1 - axis_place(&p->y, y[i * stride]);
        if (!isfinite(across) || !isfinite(down)) continue;
        if (style->values && !isfinite(style->values[i])) continue;
        colour c = style->ink;
        if (style->values) {
            double share = fmin(fmax((style->values[i] - style->low) / range, 0), 1);
            c = shades[(int)(share * (SHADES - 1) + 0.5)];
        } else if (style->classes) {
            c = colour_class(style->classes[i]);
        }
        ++p->marks;
        double reach = radius + 1; /* far points must not overflow the integers of add_disc */
        double column = across * s->width, row = down * s->height;
        if (column > -reach && column < s->width + reach && row > -reach && row < s->height + reach)
            add_disc(s, column, row, radius, c);
    }
}

void panel_scatter(panel *p, long n, const double *x, const double *y, int stride,
                   const scatter_style *style) {
    if (!panel_begin(p)) return;
    panel_end(p);
    if (n <= 0) return;
    pixel_area pixels = figure_pixels(p->fig, p->box);
    sheet s = {.width = pixels.width, .height = pixels.height};
    s.pixel = calloc((size_t)s.width * (size_t)s.height, 4 * sizeof *s.pixel);
    if (!s.pixel) {
        figure_mistake(p->fig, JF_ERROR_MEMORY,
                       "not enough memory for a scatter of %ld points on %d x %d pixels", n, s.width,
                       s.height);
        return;
    }
    add_points(p, &s, n, x, y, stride, style);
    lay_over(p->fig, &s, p->box, n, style->alpha);
    free(s.pixel);
    if (p->marks) add_to_legend(p, style);
}
