/* Pictures of a model: samples, latent space, latent histograms, training curves. */
#include "judge/pictures.h"
#include "base/number.h"
#include "draw/draw.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PANELS 25
#define BINS       60
#define SHOWN      4000 /* points a panel */

/* The different y of the rows, in order of appearance; -1 in `which` for those past MAX_PANELS. */
static int distinct(long n, const double *y, int dim_y, int *which, long first[MAX_PANELS]) {
    int count = 0;
    for (long i = 0; i < n; i++) {
        which[i] = -1;
        for (int k = 0; k < count && which[i] < 0; k++)
            if (memcmp(y + i * dim_y, y + first[k] * dim_y, sizeof(double) * (size_t)dim_y) == 0)
                which[i] = k;
        if (which[i] < 0 && count < MAX_PANELS) {
            first[count] = i;
            which[i] = count++;
        }
    }
    return count;
}

/* "y = 1 (grid)" in the data's units. */
static void y_title(const model *m, const double *y, char *out, size_t size) {
    size_t used = (size_t)number_print(out, size, "y =");
    for (int i = 0; i < m->units.dim_y && used < size; i++)
        used += (size_t)number_print(out + used, size - used, " %.4g", y[i]);
    for (int c = 0; c < m->units.classes && used < size; c++)
        if (fabs(m->units.label[c] - y[0]) < 1e-9 && m->units.class_name[c][0])
            number_print(out + used, size - used, " (%s)", m->units.class_name[c]);
}

static jf_status panel_of_samples(panel *p, const model *m, long n, const double *x, const int *which, int k,
                                  const double limits[4], const double *values) {
    int dim_x = m->units.dim_x;
    double *part; /* (3, n): x0, x1 and the value of those that belong to this panel */
    JF_TRY(MEM_NEW(m->ctx, &part, 3 * (size_t)n));
    double *x0 = part, *x1 = part + n, *shades = part + 2 * n;
    long count = 0;
    for (long i = 0; i < n; i++) {
        if (which[i] != k) continue;
        x0[count] = x[i * dim_x];
        x1[count] = dim_x > 1 ? x[i * dim_x + 1] : 0;
        shades[count++] = values ? values[i] : 0;
    }
    if (dim_x > 1) {
        panel_axes(p, limits[0], limits[1], limits[2], limits[3], "x0", "x1", AXES_EQUAL);
        scatter_style style = {
            .ink = colour_class(k), .values = values ? shades : NULL, .low = -2, .high = 2};
        panel_scatter(p, count, x0, x1, 1, &style);
    } else {
        double density[BINS], edges[BINS + 1], top = 0;
        draw_histogram(count, x0, 1, limits[0], limits[1], BINS, density);
        for (int i = 0; i <= BINS; i++) edges[i] = limits[0] + (limits[1] - limits[0]) * i / BINS;
        for (int i = 0; i < BINS; i++) top = fmax(top, density[i]);
        panel_axes(p, limits[0], limits[1], 0, 1.1 * top, "x0", "density", 0);
        panel_bars(p, BINS, edges, density, 1, &(line_style){.ink = colour_class(k)});
    }
    free(part);
    return JF_OK;
}

/* So high that equal units fill the panel; room for title and labels around it. */
static int panel_height(int width, int equal_units, const double limits[4]) {
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
    int count = m->units.dim_y ? distinct(n, y, m->units.dim_y, which, first) : 1;
    int columns = count < 1 ? 1 : count < 5 ? count : count <= 9 ? (count + 1) / 2 : 5;
    long left_out = 0;
    for (long i = 0; i < n; i++) left_out += which[i] < 0;
    if (left_out)
        jf_log(m->ctx, "%s: the first %d values of y are drawn, %ld rows with others are left out", path,
               MAX_PANELS, left_out);
    double limits[4] = {0, 1, 0, 1};
    draw_range(n, x, dim_x, 0.08, &limits[0], &limits[1]);
    if (dim_x > 1) draw_range(n, x + 1, dim_x, 0.08, &limits[2], &limits[3]);
    int width = count > 4 ? 270 : DRAW_PANEL_WIDTH, height = panel_height(width, dim_x > 1, limits);
    jf_status status =
        figure_create(m->ctx, &fig, (count + columns - 1) / columns, columns, width, height, title);
    for (int k = 0; status == JF_OK && k < count; k++) {
        panel *p = figure_panel(fig, k / columns, k % columns);
        char words[96];
        if (m->units.dim_y) {
            y_title(m, y + first[k] * m->units.dim_y, words, sizeof words);
            panel_title(p, words);
        }
        status = panel_of_samples(p, m, n, x, which, k, limits, values);
    }
    if (status == JF_OK) status = figure_save(fig, path);
    figure_free(fig);
    free(which);
    return status;
}

/* Data, its encoding and samples side by side: the two directions of the map. */
jf_status picture_maps(const model *m, const judgement *j, uint64_t seed, const char *path) {
    int dim = m->flow->dim, dim_x = m->units.dim_x;
    long n = j->points < SHOWN ? j->points : SHOWN;
    double *drawn, *shown = NULL, *encoded = NULL;
    int *classes = NULL;
    figure *fig = NULL;
    jf_status status;
    if (dim_x < 2) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &drawn, (size_t)n * (size_t)dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &shown, (size_t)n * (size_t)dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &classes, (size_t)n));
    encoded = j->encoded;
    memcpy(shown, j->data, sizeof(double) * (size_t)(n * dim));
    memcpy(drawn, j->data, sizeof(double) * (size_t)(n * dim));
    JF_TRY_DONE(model_sample(m, (latent_points){seed, LATENT_MAPS, 0}, MODEL_UNITS, n, drawn, NULL));
    for (long i = 0; i < n; i++)
        for (int c = 0; c < m->units.classes; c++)
            if (fabs(j->data[i * dim + dim_x] -
                     (m->units.label[c] - m->units.mean[dim_x]) / m->units.deviation[dim_x]) < 1e-6)
                classes[i] = c;
    units_unstandardise(&m->units, (int)n, shown);
    units_unstandardise(&m->units, (int)n, drawn);
    double limits[4];
    draw_range(n, shown, dim, 0.1, &limits[0], &limits[1]);
    draw_range(n, shown + 1, dim, 0.1, &limits[2], &limits[3]);
    int height = panel_height(DRAW_PANEL_WIDTH, 1, limits);
    JF_TRY_DONE(figure_create(m->ctx, &fig, 1, 3, DRAW_PANEL_WIDTH, height > 280 ? height : 280, NULL));
    struct {
        const char *title, *x, *y;
        const double *points;
    } parts[] = {{"data (x, y)", "x0", "x1", shown},
                 {"encoded: z = F_Z(x, y)", "z0", "z1", encoded},
                 {"samples: x = F_X^-1(z, y)", "x0", "x1", drawn}};
    for (int k = 0; k < 3; k++) {
        panel *p = figure_panel(fig, 0, k);
        panel_title(p, parts[k].title);
        if (k == 1)
            panel_axes(p, -4, 4, -4, 4, parts[k].x, parts[k].y, AXES_EQUAL);
        else
            panel_axes(p, limits[0], limits[1], limits[2], limits[3], parts[k].x, parts[k].y, AXES_EQUAL);
        scatter_style style = {.ink = colour_class(0), .classes = m->units.classes ? classes : NULL};
        double low, high;
        double *y_values = NULL;
        if (m->units.dim_y == 1 && !m->units.classes) {
            draw_range(n, shown + dim_x, dim, 0, &low, &high);
            JF_TRY_DONE(MEM_NEW(m->ctx, &y_values, (size_t)n));
            for (long i = 0; i < n; i++) y_values[i] = shown[i * dim + dim_x];
            style.values = y_values;
            style.low = low;
            style.high = high;
            if (k == 2) panel_colour_bar(p, low, high, "y");
        }
        panel_scatter(p, n, parts[k].points, parts[k].points + 1, dim, &style);
        free(y_values);
    }
    JF_TRY_DONE(figure_save(fig, path));
done:
    figure_free(fig);
    free(drawn);
    free(shown);
    free(classes);
    return status;
}

jf_status picture_latent(const model *m, const judgement *j, const char *path) {
    int dim_x = m->units.dim_x, dim = m->flow->dim;
    double *density;
    unsigned char *flagged = NULL;
    figure *fig = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &density, (size_t)dim_x * BINS));
    JF_TRY_DONE(MEM_NEW(m->ctx, &flagged, (size_t)dim_x));
    for (int i = 0; i < dim_x; i++) {
        draw_histogram(j->points, j->encoded + i, dim, -4, 4, BINS, density + (size_t)i * BINS);
        flagged[i] = j->latent.ks[i] > 3 * j->latent.chance_max;
    }
    JF_TRY_DONE(figure_create(m->ctx, &fig, 1, 1, 480, 360, NULL));
    panel *p = figure_panel(fig, 0, 0);
    panel_title(p, "latent elements, one line each, over N(0, 1)");
    panel_axes(p, -4, 4, 0, 0.5, "z", "density", 0);
    panel_histogram_lines(p, dim_x, BINS, -4, 4, density, flagged);
    JF_TRY_DONE(figure_save(fig, path));
done:
    figure_free(fig);
    free(density);
    free(flagged);
    return status;
}
