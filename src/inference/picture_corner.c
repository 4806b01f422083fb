/* Corner plots: every column of x against every other below the diagonal, on which each is alone, with its
 * median and the interval that holds 90%, and below it the intervals of highest density that hold 50% and
 * 90%. */
#include "base/memory.h"
#include "base/number.h"
#include "base/statistics.h"
#include "draw/draw.h"
#include "inference/hpd.h"
#include "inference/pictures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, CONDITIONS = 6, CORNER_BINS = 40 }; /* the most that are drawn, and can be told apart */

typedef struct corner {
    const model *m;
    long n;
    const double *x; /* (n, dim_x) */
    int *which;      /* (n): the condition of each row, -1: not drawn */
    int columns, conditions;
    char words[CONDITIONS][96]; /* which y each condition is */
    double low[COLUMNS], high[COLUMNS];
    double *values; /* (2, n): of one condition, one or two columns */
} corner;

static const char *name_of(const corner *c, int column, char *place, size_t size) {
    if (c->m->units.names) return c->m->units.names[column];
    format_text(place, size, "x%d", column);
    return place;
}

/* The values of one column in the rows of one condition; returns how many. */
static long take(const corner *c, int column, int condition, double *to) {
    long count = 0;
    for (long i = 0; i < c->n; i++)
        if (c->which[i] == condition) to[count++] = c->x[i * c->m->units.dim_x + column];
    return count;
}

/* ---- the diagonal ---- */

/* "mass 0.31 (0.12 .. 0.44)": the median, and 5% and 95% */
static void title_diagonal(const corner *c, panel *p, const char *name, const double at[3]) {
    char title[128];
    if (c->conditions == 1)
        format_text(title, sizeof title, "%s %.3g (%.3g .. %.3g)", name, at[1], at[0], at[2]);
    else
        format_text(title, sizeof title, "%s", name);
    panel_title(p, title);
}

/* Bars below the histogram, a line for each condition: wide where 50% are, narrow where 90% are. */
static jf_status paint_regions(const corner *c, panel *p, int column, int condition, long count, double top) {
    hpd_set sets[2];
    const model_units *u = &c->m->units;
    double y[2], below = -0.05 * top * (condition + 1);
    JF_TRY(hpd_of_column(c->m->ctx, (size_t)count, c->values, u->support ? &u->support[column] : NULL, 2,
                         (const double[]){0.5, 0.9}, sets));
    y[0] = y[1] = below;
    for (int level = 0; level < 2; level++)
        for (int i = 0; i < sets[level].count; i++)
            panel_line(p, 2, (const double[]){sets[level].parts[i].lo, sets[level].parts[i].hi}, y, 1,
                       &(line_style){.ink = colour_class(condition), .width = level ? 1.5 : 5});
    return JF_OK;
}

static jf_status paint_diagonal(const corner *c, panel *p, int column) {
    double density[CONDITIONS][CORNER_BINS], edges[CORNER_BINS + 1], at[CONDITIONS][3], top = 0;
    jf_status status = JF_OK;
    double low = c->low[column], high = c->high[column];
    char place[32];
    const char *name = name_of(c, column, place, sizeof place);
    for (int i = 0; i <= CORNER_BINS; i++) edges[i] = low + (high - low) * i / CORNER_BINS;
    for (int k = 0; k < c->conditions; k++) {
        long count = take(c, column, k, c->values);
        draw_histogram(count, c->values, 1, low, high, CORNER_BINS, density[k]);
        for (int i = 0; i < CORNER_BINS; i++) top = fmax(top, density[k][i]);
        sort_ascending(c->values, (size_t)count);
        for (int i = 0; i < 3; i++)
            at[k][i] = quantile(c->values, (size_t)count, (const double[]){0.05, 0.5, 0.95}[i]);
    }
    title_diagonal(c, p, name, at[0]);
    panel_axes(p, low, high, -0.05 * (c->conditions + 1) * top, 1.1 * top,
               column + 1 == c->columns ? name : NULL, NULL, 0);
    for (int k = 0; k < c->conditions; k++) {
        const char *label = column == 0 && c->conditions > 1 ? c->words[k] : NULL;
        panel_bars(p, CORNER_BINS, edges, density[k], 1,
                   &(line_style){.ink = colour_class(k), .label = label});
        for (int i = 0; i < 3; i++)
            panel_vertical(p, at[k][i],
                           &(line_style){.ink = colour_class(k), .width = 1, .dash = i == 1 ? 0 : 3});
    }
    for (int k = 0; k < c->conditions && status == JF_OK; k++) {
        long count = take(c, column, k, c->values);
        sort_ascending(c->values, (size_t)count);
        status = paint_regions(c, p, column, k, count, top);
    }
    return status;
}

/* ---- below it ---- */

static void paint_pair(const corner *c, panel *p, int row, int column) {
    char across[32], up[32];
    panel_axes(p, c->low[column], c->high[column], c->low[row], c->high[row],
               row + 1 == c->columns ? name_of(c, column, across, sizeof across) : NULL,
               column == 0 ? name_of(c, row, up, sizeof up) : NULL, 0);
    for (int k = 0; k < c->conditions; k++) {
        long count = take(c, column, k, c->values);
        take(c, row, k, c->values + c->n);
        panel_scatter(p, count, c->values, c->values + c->n, 1,
                      &(scatter_style){.ink = colour_class(k), .radius = 1});
    }
}

static jf_status paint(const corner *c, const char *path) {
    figure *fig;
    int size = c->columns <= 3 ? 260 : 200;
    const char *title = c->conditions == 1 && c->m->units.dim_y ? c->words[0] : NULL;
    JF_TRY(figure_create(c->m->ctx, &fig, c->columns, c->columns, size, size, title));
    jf_status status = JF_OK;
    for (int row = 0; row < c->columns && status == JF_OK; row++) {
        for (int column = 0; column < row; column++)
            paint_pair(c, figure_panel(fig, row, column), row, column);
        status = paint_diagonal(c, figure_panel(fig, row, row), row);
    }
    if (status == JF_OK) status = figure_save(fig, path);
    figure_free(fig);
    return status;
}

static void tell_left_out(const corner *c, const char *path) {
    long left_out = 0;
    for (long i = 0; i < c->n; i++) left_out += c->which[i] < 0;
    if (left_out)
        jf_log(c->m->ctx, "%s: the first %d values of y are drawn, %ld rows with others are left out", path,
               CONDITIONS, left_out);
    if (c->m->units.dim_x > COLUMNS)
        jf_log(c->m->ctx, "%s: the first %d of %d columns of x are drawn", path, COLUMNS, c->m->units.dim_x);
}

jf_status picture_corner(const model *m, long n, const double *x, const double *y, const char *path) {
    long first[CONDITIONS] = {0};
    corner c = {.m = m, .n = n, .x = x, .columns = m->units.dim_x < COLUMNS ? m->units.dim_x : COLUMNS};
    jf_status status;
    JF_TRY_DONE(MEM_NEW(m->ctx, &c.which, (size_t)n + 1));
    JF_TRY_DONE(MEM_NEW(m->ctx, &c.values, 2 * (size_t)n + 1));
    c.conditions = !n               ? 0
                   : m->units.dim_y ? picture_distinct(n, y, m->units.dim_y, CONDITIONS, c.which, first)
                                    : 1;
    for (int i = 0; i < c.columns; i++) draw_range(n, x + i, m->units.dim_x, 0.05, &c.low[i], &c.high[i]);
    for (int k = 0; k < c.conditions && m->units.dim_y; k++)
        picture_y_title(m, y + first[k] * m->units.dim_y, c.words[k], sizeof c.words[k]);
    status = paint(&c, path);
    if (status == JF_OK) tell_left_out(&c, path);
done:
    free(c.which);
    free(c.values);
    return status;
}
