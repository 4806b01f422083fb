/* Images that the program draws itself, so that everything can be tried without a download: ten kinds of
 * figures, 28x28 in grey, that differ in shape, stroke, texture, place, angle, size, sharpness and contrast.
 *
 * Invariant: an image is a pure function of its number and its class. */
#include "base/memory.h"
#include "base/random.h"
#include "data/images/image_set.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28, ROWS = 20000, VALIDATION_ROWS = 2000, MAX_ROWS = 1000000, MAX_POINTS = 40 };
#define GLYPH_SEED 0x676c79706873u
#define FIRST_VALIDATION_ROW                                                                                 \
    ((uint64_t)1 << 40) /* numbers of held-out images: the same ones, however many are trained on */

typedef struct point {
    double x, y;
} point;

/* ---- shapes: lines in about the unit circle, each a little different ---- */

static int arc(point *out, double cx, double cy, double radius, double from, double to, int points) {
    for (int i = 0; i < points; i++) {
        double t = from + (to - from) * i / (points - 1);
        out[i] = (point){cx + radius * cos(t), cy + radius * sin(t)};
    }
    return points;
}

static int circle(rng *stream, point *out) {
    (void)stream;
    return arc(out, 0, 0, 1, 0, 2 * M_PI * 27 / 28, 28);
}

static int triangle(rng *stream, point *out) {
    for (int i = 0; i < 3; i++) {
        double t = -M_PI / 2 + 2 * M_PI / 3 * i + rng_range(stream, -0.18, 0.18);
        out[i] = (point){1.1 * cos(t), 1.1 * sin(t)};
    }
    return 3;
}

static int square(rng *stream, point *out) {
    double h = rng_range(stream, 0.6, 0.85), w = 0.9, lean = rng_range(stream, -0.15, 0.15);
    const point corners[] = {{-w - lean, -h}, {w - lean, -h}, {w + lean, h}, {-w + lean, h}};
    memcpy(out, corners, sizeof corners);
    return 4;
}

static int star(rng *stream, point *out) {
    double inner = rng_range(stream, 0.36, 0.52);
    int tips = 5 + (int)rng_below(stream, 2);
    for (int i = 0; i < 2 * tips; i++) {
        double t = -M_PI / 2 + M_PI / tips * i, radius = i % 2 ? inner : 1.1;
        out[i] = (point){radius * cos(t), radius * sin(t)};
    }
    return 2 * tips;
}

static int cross(rng *stream, point *out) {
    double a = rng_range(stream, 0.17, 0.36), b = rng_range(stream, 0.17, 0.36),
           up = rng_range(stream, -0.35, 0.1);
    const point corners[] = {{-a, -1}, {a, -1}, {a, up - b},  {1, up - b},  {1, up + b},  {a, up + b},
                             {a, 1},   {-a, 1}, {-a, up + b}, {-1, up + b}, {-1, up - b}, {-a, up - b}};
    memcpy(out, corners, sizeof corners);
    return 12;
}

/* An arc of the unit circle, and back along that of a circle further left which meets it in the same two
 * tips. */
static int crescent(rng *stream, point *out) {
    double half = rng_range(stream, 1.9, 2.4), left = rng_range(stream, 0.2, 0.6);
    double tip_x = cos(half), tip_y = sin(half), radius = hypot(tip_x + left, tip_y);
    double inner = atan2(tip_y, tip_x + left), middle = 0.25;
    int n = arc(out, -middle, 0, 1, -half, half, 20);
    return n + arc(out + n, -middle - left, 0, radius, inner, -inner, 14);
}

static int arrow(rng *stream, point *out) {
    double shaft = rng_range(stream, 0.12, 0.26), head = rng_range(stream, 0.5, 0.8),
           neck = rng_range(stream, -0.1, 0.3);
    double barb = neck - rng_range(stream, 0, 0.25);
    const point corners[] = {{-1.1, -shaft}, {neck, -shaft}, {barb, -head}, {1.1, 0},
                             {barb, head},   {neck, shaft},  {-1.1, shaft}};
    memcpy(out, corners, sizeof corners);
    return 7;
}

static int wave(rng *stream, point *out) {
    double height = rng_range(stream, 0.3, 0.65), turns = rng_range(stream, 1.3, 2.2),
           start = rng_range(stream, 0, 2 * M_PI);
    enum { POINTS = 28 };
    for (int i = 0; i < POINTS; i++) {
        double t = -1 + 2.0 * i / (POINTS - 1);
        out[i] = (point){1.1 * t, height * sin(start + M_PI * turns * t)};
    }
    return POINTS;
}

static int spiral(rng *stream, point *out) {
    double turns = rng_range(stream, 1.6, 2.3), start = rng_range(stream, 0.05, 0.2),
           hand = rng_below(stream, 2) ? 1 : -1;
    enum { POINTS = 34 };
    for (int i = 0; i < POINTS; i++) {
        double t = sqrt((double)i / (POINTS - 1)); /* more points outside, where they are further apart */
        double radius = start + (1.05 - start) * t;
        out[i] = (point){radius * cos(2 * M_PI * turns * t), hand * radius * sin(2 * M_PI * turns * t)};
    }
    return POINTS;
}

typedef struct shape {
    const char *name;
    int (*line)(rng *stream, point *out); /* returns the number of points */
    int closed;
    double filled;         /* how often its inside is painted and not its line */
    double pen_lo, pen_hi; /* half the width of the line, in pixels */
    double spin;           /* turned by up to so many radians either way */
} shape;

static const shape shapes[] = {
    {"ring", circle, 1, 0, 0.7, 2, M_PI},
    {"disc", circle, 1, 1, 0, 0, M_PI},
    {"triangle", triangle, 1, 0.6, 0.6, 1.3, 0.6},
    {"square", square, 1, 0.6, 0.6, 1.3, 0.5},
    {"star", star, 1, 0.75, 0.5, 0.9, 0.6},
    {"cross", cross, 1, 0.75, 0.5, 0.8, 0.4},
    {"crescent", crescent, 1, 0.8, 0.5, 0.8, M_PI},
    {"arrow", arrow, 1, 0.8, 0.5, 0.8, M_PI},
    {"wave", wave, 0, 0, 0.6, 1.7, 0.5},
    {"spiral", spiral, 0, 0, 0.5, 1, M_PI},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- textures: brightness at (u, v) in pixels, `depth` pixels inside the edge ---- */

typedef struct paint {
    double level, dark;    /* brightness, and what darker places have of it */
    double dx, dy, offset; /* direction, in periods per pixel, and phase */
    double rim;            /* pixels from the edge to where it is bright */
} paint;

static double solid(const paint *p, double u, double v, double depth) {
    (void)u, (void)v, (void)depth;
    return p->level;
}

static double gradient(const paint *p, double u, double v, double depth) {
    (void)depth;
    double t = 0.5 + 0.2 * (u * p->dx + v * p->dy); /* periods are some pixels long: a figure is about two */
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return p->level * (p->dark + (1 - p->dark) * t);
}

static double stripes(const paint *p, double u, double v, double depth) {
    (void)depth;
    double t = 0.5 + 0.8 * sin(2 * M_PI * (u * p->dx + v * p->dy) + p->offset);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return p->level * (p->dark + (1 - p->dark) * t);
}

static double spots(const paint *p, double u, double v, double depth) {
    (void)depth;
    double a = sin(2 * M_PI * (u * p->dx + v * p->dy) + p->offset),
           b = sin(2 * M_PI * (v * p->dx - u * p->dy));
    double t = 0.4 + 0.9 * a * b;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return p->level * (p->dark + (1 - p->dark) * t);
}

/* Like something round in light: dark at the edge. */
static double shaded(const paint *p, double u, double v, double depth) {
    (void)u, (void)v;
    double t = depth > p->rim ? 1 : depth / p->rim;
    return p->level * (p->dark + (1 - p->dark) * t);
}

typedef double (*texture_fn)(const paint *p, double u, double v, double depth);
static const texture_fn textures[] = {solid, gradient, stripes, spots, shaded};
enum { TEXTURES = sizeof textures / sizeof *textures };

/* ---- drawing ---- */

typedef struct glyph {
    point at[MAX_POINTS],
        step[MAX_POINTS];       /* (lines): where each begins, and from there to its end; in pixels */
    double inverse[MAX_POINTS]; /* 1 / length^2 of each */
    int lines, filled;
    double pen;  /* half the width of the line; 0 where it is filled */
    double soft; /* pixels over which an edge fades */
    point centre;
    double lo_x, hi_x, lo_y, hi_y; /* nothing is painted outside */
    texture_fn texture;
    paint paint;
} glyph;

/* Distance to the nearest line; below 0 inside, where the inside is painted. */
static double distance(const glyph *g, double x, double y) {
    double nearest = 1e9;
    int inside = 0;
    for (int i = 0; i < g->lines; i++) {
        double px = x - g->at[i].x, py = y - g->at[i].y, sx = g->step[i].x, sy = g->step[i].y;
        double t = (px * sx + py * sy) * g->inverse[i];
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        double dx = px - t * sx, dy = py - t * sy, square = dx * dx + dy * dy;
        nearest = square < nearest ? square : nearest;
        /* a line that a ray to the right crosses: odd numbers of them are inside */
        int crosses = (py < 0) != (py < sy) && (px * sy - py * sx) * sy < 0;
        inside ^= crosses;
    }
    double d = sqrt(nearest);
    return g->filled ? (inside ? -d : d) : d - g->pen;
}

/* Turns, stretches and bends the points, and puts them in their place. */
static void place(glyph *g, const shape *s, rng *stream, point *points, int n) {
    double size = rng_range(stream, 7.2, 11.6), aspect = rng_range(stream, 0.75, 1),
           angle = rng_range(stream, -s->spin, s->spin);
    double bend = rng_range(stream, 0, 0.12), phase = rng_range(stream, 0, 2 * M_PI),
           stretch = rng_range(stream, 0, M_PI);
    double slack = 13.2 - size, c = cos(angle), sn = sin(angle), cs = cos(stretch), ss = sin(stretch);
    g->centre.x = 14 + rng_range(stream, -slack, slack);
    g->centre.y = 14 + rng_range(stream, -slack, slack);
    for (int i = 0; i < n; i++) {
        double x = points[i].x + bend * sin(2.2 * points[i].y + phase);
        double y = points[i].y + bend * sin(2.5 * points[i].x + 2 * phase);
        double along = x * cs + y * ss,
               across = (y * cs - x * ss) * aspect; /* narrower in a direction of its own */
        x = along * cs - across * ss;
        y = along * ss + across * cs;
        points[i] = (point){g->centre.x + size * (x * c - y * sn), g->centre.y + size * (x * sn + y * c)};
    }
}

static void set_lines(glyph *g, const point *points, int n, int closed) {
    g->lines = closed ? n : n - 1;
    g->lo_x = g->lo_y = SIDE;
    g->hi_x = g->hi_y = 0;
    for (int i = 0; i < n; i++) {
        g->lo_x = fmin(g->lo_x, points[i].x);
        g->hi_x = fmax(g->hi_x, points[i].x);
        g->lo_y = fmin(g->lo_y, points[i].y);
        g->hi_y = fmax(g->hi_y, points[i].y);
    }
    for (int i = 0; i < g->lines; i++) {
        point a = points[i], b = points[(i + 1) % n];
        g->at[i] = a;
        g->step[i] = (point){b.x - a.x, b.y - a.y};
        g->inverse[i] = 1 / fmax(1e-9, g->step[i].x * g->step[i].x + g->step[i].y * g->step[i].y);
    }
}

static void set_paint(glyph *g, rng *stream) {
    double angle = rng_range(stream, 0, 2 * M_PI), period = rng_range(stream, 3.2, 6.5);
    g->texture = textures[rng_below(stream, TEXTURES)];
    g->paint = (paint){.level = rng_range(stream, 0.55, 1),
                       .dark = rng_range(stream, 0.2, 0.65),
                       .dx = cos(angle) / period,
                       .dy = sin(angle) / period,
                       .offset = rng_range(stream, 0, 2 * M_PI),
                       .rim = g->filled ? 4 : g->pen};
    g->soft = rng_range(stream, 0.9, 1.8);
}

static void paint_pixels(const glyph *g, uint8_t *image) {
    double margin = g->pen + g->soft;
    for (int i = 0; i < SIDE; i++) {
        double y = i + 0.5;
        if (y < g->lo_y - margin || y > g->hi_y + margin) continue;
        for (int j = 0; j < SIDE; j++) {
            double x = j + 0.5;
            if (x < g->lo_x - margin || x > g->hi_x + margin) continue;
            double d = distance(g, x, y), cover = 0.5 - d / g->soft;
            if (cover <= 0) continue;
            if (cover > 1) cover = 1;
            double value = cover * g->texture(&g->paint, x - g->centre.x, y - g->centre.y, d < 0 ? -d : 0);
            image[i * SIDE + j] = (uint8_t)(255 * value + 0.5);
        }
    }
}

static void draw_glyph(int class_index, uint64_t number, uint8_t *image) {
    const shape *s = &shapes[class_index];
    rng stream = rng_stream((rng_key){GLYPH_SEED, RNG_DATA, 0}, number);
    glyph g;
    point points[MAX_POINTS];
    int n = s->line(&stream, points);
    g.filled = rng_uniform(&stream) < s->filled;
    g.pen = g.filled ? 0 : rng_range(&stream, s->pen_lo, s->pen_hi);
    place(&g, s, &stream, points, n);
    set_lines(&g, points, n, s->closed);
    set_paint(&g, &stream);
    memset(image, 0, SIDE * SIDE);
    paint_pixels(&g, image);
}

/* ---- the source ---- */

static int glyphs_recognises(const char *name, const char *found) {
    return !found && strcmp(name, "glyphs") == 0;
}

/* Classes take turns. */
static void draw_rows(image_set *out, long first, long count, uint64_t number, const int *chosen,
                      int classes) {
    for (long i = 0; i < count; i++) {
        int k = chosen[i % classes];
        out->labels[first + i] = (uint8_t)k;
        draw_glyph(k, number + (uint64_t)i, out->bytes + (size_t)(first + i) * SIDE * SIDE);
    }
}

static jf_status glyphs_load(jf_context *ctx, image_set *out, const recipe *r, const char *found) {
    (void)found;
    long limit = recipe_int(r, "data.limit");
    if (limit > MAX_ROWS)
        return recipe_fail(r, "data.limit", "found %ld, expected at most %d glyphs", limit, MAX_ROWS);
    out->h = out->w = SIDE;
    out->channels = 1;
    out->rows = limit ? limit : ROWS;
    out->validation_rows = VALIDATION_ROWS;
    out->classes = SHAPES;
    for (int k = 0; k < SHAPES; k++) memcpy(out->class_name[k], shapes[k].name, strlen(shapes[k].name) + 1);
    int chosen[MAX_CLASSES], classes;
    JF_TRY(image_chosen_classes(r, out, chosen, &classes));
    for (int k = 0; classes == 0 && k < SHAPES; k++) chosen[k] = k;
    if (classes == 0) classes = SHAPES;
    size_t count = (size_t)(out->rows + out->validation_rows);
    JF_TRY(mem_alloc(ctx, &out->bytes, count, SIDE * SIDE));
    JF_TRY(MEM_NEW(ctx, &out->labels, count));
    draw_rows(out, 0, out->rows, 0, chosen, classes);
    draw_rows(out, out->rows, out->validation_rows, FIRST_VALIDATION_ROW, chosen, classes);
    return JF_OK;
}

const image_source image_glyphs = {
    .name = "glyphs",
    .summary = "glyphs",
    .recognises = glyphs_recognises,
    .load = glyphs_load,
};
