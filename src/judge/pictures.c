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

/* ---- both directions of the map ---- */

/* Points of the same n rows, of which the first two elements are shown. */
typedef struct map_panel {
    const char *title, *x_name, *y_name;
    const double *rows; /* (n, dim) */
    double limits[4];
} map_panel;

/* The colours of the points, the same in all panels: of classes, or from low to high of a scalar y. */
typedef struct map_colours {
    scatter_style style;
    double *y; /* (n) or NULL */
} map_colours;

static jf_status map_colours_create(const model *m, const judgement *j, long n, const double *data,
                                    map_colours *out) {
    int dim = m->flow->dim, dim_x = m->units.dim_x;
    *out = (map_colours){.style = {.ink = colour_class(0), .classes = j->class_of}};
    if (m->units.classes || m->units.dim_y != 1) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &out->y, (size_t)n));
    for (long i = 0; i < n; i++) out->y[i] = data[i * dim + dim_x];
    out->style.values = out->y;
    draw_range(n, out->y, 1, 0, &out->style.low, &out->style.high);
    return JF_OK;
}

static void paint_map(panel *p, const map_panel *part, long n, int dim, const scatter_style *style,
                      int with_bar) {
    const double *limits = part->limits;
    panel_title(p, part->title);
    panel_axes(p, limits[0], limits[1], limits[2], limits[3], part->x_name, part->y_name, AXES_EQUAL);
    if (with_bar) panel_colour_bar(p, style->low, style->high, "y");
    panel_scatter(p, n, part->rows, part->rows + 1, dim, style);
}

/* data, samples (n, dim), the data's units */
static jf_status paint_maps(const model *m, const judgement *j, long n, const double *data,
                            const double *samples, const char *path) {
    int dim = m->flow->dim;
    double box[4];
    map_colours colours;
    figure *fig = NULL;
    jf_status status;
    draw_range(n, data, dim, 0.1, &box[0], &box[1]);
    draw_range(n, data + 1, dim, 0.1, &box[2], &box[3]);
    const map_panel parts[] = {
        {"data (x, y)", "x0", "x1", data, {box[0], box[1], box[2], box[3]}},
        {"encoded: z = F_Z(x, y)", "z0", "z1", j->encoded, {-4, 4, -4, 4}},
        {"samples: x = F_X^-1(z, y)", "x0", "x1", samples, {box[0], box[1], box[2], box[3]}}};
    int height = panel_height(DRAW_PANEL_WIDTH, 1, box);
    JF_TRY(map_colours_create(m, j, n, data, &colours));
    JF_TRY_DONE(figure_create(m->ctx, &fig, 1, 3, DRAW_PANEL_WIDTH, height > 280 ? height : 280, NULL));
    for (int k = 0; k < 3; k++)
        paint_map(figure_panel(fig, 0, k), &parts[k], n, dim, &colours.style, k == 2 && colours.y);
    JF_TRY_DONE(figure_save(fig, path));
done:
    figure_free(fig);
    free(colours.y);
    return status;
}

/* Data, their encoding and samples side by side. Samples have the conditions of the data, noised as they are. */
jf_status picture_maps(const model *m, const judgement *j, uint64_t seed, const char *path) {
    size_t dim = (size_t)m->flow->dim;
    long n = j->points < SHOWN ? j->points : SHOWN;
    double *data, *samples = NULL;
    jf_status status;
    if (m->units.dim_x < 2) return JF_OK;
    JF_TRY(MEM_NEW(m->ctx, &data, (size_t)n * dim));
    JF_TRY_DONE(MEM_NEW(m->ctx, &samples, (size_t)n * dim));
    memcpy(data, j->data, sizeof(double) * (size_t)n * dim);
    memcpy(samples, j->data, sizeof(double) * (size_t)n * dim);
    JF_TRY_DONE(model_sample(m, (latent_points){seed, LATENT_MAPS, 0}, MODEL_UNITS, n, samples, NULL));
    units_unstandardise(&m->units, (int)n, data);
    units_unstandardise(&m->units, (int)n, samples);
    JF_TRY_DONE(paint_maps(m, j, n, data, samples, path));
done:
    free(data);
    free(samples);
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
