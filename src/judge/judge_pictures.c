/* Pictures of a judgement: both directions of the map, latent histograms. */
#include "judge/judge_pictures.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include "model/use.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS  60
#define SHOWN 4000 /* points per panel */

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
    int height = picture_panel_height(DRAW_PANEL_WIDTH, 1, box);
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

/* Data, their encoding and samples side by side. Samples have the conditions of the data, noised as they are.
 */
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
    JF_TRY_DONE(model_sample(m, (latent_points){seed, LATENT_MAPS, 0, 1}, MODEL_UNITS, n, samples, NULL));
    units_unstandardise(&m->units, (int)n, data);
    units_unstandardise(&m->units, (int)n, samples);
    JF_TRY_DONE(paint_maps(m, j, n, data, samples, path));
done:
    free(data);
    free(samples);
    return status;
}

#define LATENT_MISSES 2   /* times what chance gives at worst: such an element is not of the prior */
#define LATENT_TOP    0.5 /* of the axis, at least; the prior's is 0.4 */
#define LATENT_MOST   1.0 /* and at most */

jf_status paint_latent(panel *p, const model *m, const judgement *j, const char *title) {
    double top = LATENT_TOP;
    int dim_x = m->units.dim_x, dim = m->flow->dim;
    double *density;
    unsigned char *flagged = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(m->ctx, &density, (size_t)dim_x * BINS));
    JF_TRY_DONE(MEM_NEW(m->ctx, &flagged, (size_t)dim_x));
    for (int i = 0; i < dim_x; i++) {
        draw_histogram(j->points, j->encoded + i, dim, -4, 4, BINS, density + (size_t)i * BINS);
        flagged[i] = j->latent.ks[i] > LATENT_MISSES * j->latent.chance_max;
        for (int b = 0; b < BINS && !flagged[i]; b++) top = fmax(top, density[(size_t)i * BINS + (size_t)b]);
    }
    panel_title(p, title);
    panel_axes(p, -4, 4, 0, fmin(ceil(top * 10 - 1e-9) / 10, LATENT_MOST), "z", "density", 0);
    panel_histogram_lines(p, dim_x, BINS, -4, 4, density, flagged);
done:
    free(density);
    free(flagged);
    return status;
}

jf_status picture_latent(const model *m, const judgement *j, const char *path) {
    figure *fig;
    jf_status status;
    JF_TRY(figure_create(m->ctx, &fig, 1, 1, 480, 360, NULL));
    JF_TRY_DONE(paint_latent(figure_panel(fig, 0, 0), m, j, "latent elements, one line each, over N(0, 1)"));
    JF_TRY_DONE(figure_save(fig, path));
done:
    figure_free(fig);
    return status;
}
