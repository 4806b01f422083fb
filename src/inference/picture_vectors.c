/* Pictures of samples of vectors: the first two elements of x against each other, or a histogram of its only
 * one. */
#include "base/memory.h"
#include "base/number.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PANELS 25
#define BINS       60

int picture_distinct(long n, const double *y, int dim_y, int most, int *which, long *first) {
    int count = 0;
    for (long i = 0; i < n; i++) {
        which[i] = -1;
        for (int k = 0; k < count && which[i] < 0; k++)
            if (memcmp(y + i * dim_y, y + first[k] * dim_y, sizeof(double) * (size_t)dim_y) == 0)
                which[i] = k;
        if (which[i] < 0 && count < most) {
            first[count] = i;
            which[i] = count++;
        }
    }
    return count;
}

void picture_y_title(const model *m, const double *y, char *out, size_t size) {
    const model_units *u = &m->units;
    int planes = units_planes(u);
    const char *name = u->names && (u->dim_y == 1 || planes) ? u->names[u->dim_x] : "y";
    size_t used = (size_t)format_text(out, size, "%s =", name);
    int c = m->units.dim_y ? units_class_of(&m->units, y) : -1;
    if (planes && c >= 0 && u->class_name[c][0]) {
        format_text(out + used, size - used, " %s", u->class_name[c]);
        return;
    }
    for (int i = 0; i < m->units.dim_y && used < size; i++)
        used += (size_t)format_text(out + used, size - used, " %.4g", y[i]);
    if (c >= 0 && m->units.class_name[c][0] && used < size)
        format_text(out + used, size - used, " (%s)", m->units.class_name[c]);
}

static jf_status panel_of_samples(panel *p, const model *m, long n, const double *x, const int *which, int k,
                                  const double limits[4], const double *values) {
    int dim_x = m->units.dim_x;
    double *part; /* (3, n): x0, x1 and the value of those that belong to this panel */
    JF_TRY(MEM_NEW(m->ctx, &part, 3 * (size_t)n));
    double *x0 = part, *x1 = part + n, *shades = part + 2 * n;
    const char *name0 = m->units.names ? m->units.names[0] : "x0";
    const char *name1 = m->units.names ? m->units.names[1] : "x1";
    long count = 0;
    for (long i = 0; i < n; i++) {
        if (which[i] != k) continue;
        x0[count] = x[i * dim_x];
        x1[count] = dim_x > 1 ? x[i * dim_x + 1] : 0;
        shades[count++] = values ? values[i] : 0;
    }
    if (dim_x > 1) {
        panel_axes(p, limits[0], limits[1], limits[2], limits[3], name0, name1, AXES_EQUAL);
        scatter_style style = {
            .ink = colour_class(k), .values = values ? shades : NULL, .low = -2, .high = 2};
        panel_scatter(p, count, x0, x1, 1, &style);
    } else {
        double density[BINS], edges[BINS + 1], top = 0;
        draw_histogram(count, x0, 1, limits[0], limits[1], BINS, density);
        for (int i = 0; i <= BINS; i++) edges[i] = limits[0] + (limits[1] - limits[0]) * i / BINS;
        for (int i = 0; i < BINS; i++) top = fmax(top, density[i]);
        panel_axes(p, limits[0], limits[1], 0, 1.1 * top, name0, "density", 0);
        panel_bars(p, BINS, edges, density, 1, &(line_style){.ink = colour_class(k)});
    }
    free(part);
    return JF_OK;
}

/* Equal units fill the panel; there is room for title and labels around it. */
int picture_panel_height(int width, int equal_units, const double limits[4]) {
    const double room = 90;
    double ratio = equal_units ? (limits[3] - limits[2]) / (limits[1] - limits[0]) : 0.8;
    return (int)(room + (width - room) * fmin(fmax(ratio, 0.4), 1.5));
}

jf_status picture_samples(const model *m, long n, const double *x, const double *y, const double *values,
                          const char *title, const char *path) {
    int dim_x = m->units.dim_x, *which;
    long first[MAX_PANELS] = {0};
    figure *fig = NULL;
    JF_TRY(MEM_NEW(m->ctx, &which, (size_t)n + 1));
    int count = m->units.dim_y ? picture_distinct(n, y, m->units.dim_y, MAX_PANELS, which, first) : 1;
    int columns = count < 1 ? 1 : count < 5 ? count : count <= 9 ? (count + 1) / 2 : 5;
    long left_out = 0;
    for (long i = 0; i < n; i++) left_out += which[i] < 0;
    if (left_out)
        jf_log(m->ctx, "%s: the first %d values of y are drawn, %ld rows with others are left out", path,
               MAX_PANELS, left_out);
    double limits[4] = {0, 1, 0, 1};
    draw_range(n, x, dim_x, 0.08, &limits[0], &limits[1]);
    if (dim_x > 1) draw_range(n, x + 1, dim_x, 0.08, &limits[2], &limits[3]);
    int width = count > 4 ? 270 : DRAW_PANEL_WIDTH, height = picture_panel_height(width, dim_x > 1, limits);
    jf_status status =
        figure_create(m->ctx, &fig, (count + columns - 1) / columns, columns, width, height, title);
    for (int k = 0; status == JF_OK && k < count; k++) {
        panel *p = figure_panel(fig, k / columns, k % columns);
        char words[96];
        if (m->units.dim_y) {
            picture_y_title(m, y + first[k] * m->units.dim_y, words, sizeof words);
            panel_title(p, words);
        }
        status = panel_of_samples(p, m, n, x, which, k, limits, values);
    }
    if (status == JF_OK) status = figure_save(fig, path);
    figure_free(fig);
    free(which);
    return status;
}
