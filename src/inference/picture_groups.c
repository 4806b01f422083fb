/* Values in groups, side by side: a dot for each, a bar at their mean, and beside them which group is which.
 */
#include "base/memory.h"
#include "draw/draw.h"
#include "inference/pictures.h"
#include <math.h>
#include <stdlib.h>

/* Dots of a group stand a little beside each other. */
static double place_of(const jf_groups *g, size_t group, size_t i) {
    double share = g->each > 1 ? (double)i / (double)(g->each - 1) - 0.5 : 0;
    return (double)group + 1 + 0.3 * share;
}

static void paint_group(panel *p, const jf_groups *g, size_t group, double *place) {
    const double *values = g->values + group * g->each;
    const colour ink = group == 0 ? colour_warning : colour_class(0);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < g->each; i++) {
        place[i] = place_of(g, group, i);
        if (isfinite(values[i])) sum += values[i], count++;
    }
    panel_scatter(p, (long)g->each, place, values, 1,
                  &(scatter_style){.ink = ink, .radius = 3, .alpha = 0.8});
    if (count == 0) return;
    const double from_to[2] = {(double)group + 0.7, (double)group + 1.3},
                 mean[2] = {sum / (double)count, sum / (double)count};
    panel_line(p, 2, from_to, mean, 1, &(line_style){.ink = ink, .width = 2});
}

static jf_status paint_names(jf_context *ctx, panel *p, const jf_groups *g) {
    text words = {0};
    for (size_t i = 0; i < g->count; i++) text_add(&words, "%zu  %s\n", i + 1, g->labels[i]);
    jf_status status = text_check(ctx, &words);
    if (status == JF_OK) panel_text(p, words.chars);
    text_free(&words);
    return status;
}

jf_status picture_groups(jf_context *ctx, const jf_groups *g, const char *path) {
    double low, high, *place;
    figure *fig;
    JF_TRY(MEM_NEW(ctx, &place, g->each));
    jf_status status = figure_create(ctx, &fig, 1, 2, DRAW_PANEL_WIDTH, DRAW_PANEL_HEIGHT, g->title);
    if (status == JF_OK) {
        panel *p = figure_panel(fig, 0, 0);
        draw_range((long)(g->count * g->each), g->values, 1, 0.08, &low, &high);
        panel_axes(p, 0.5, (double)g->count + 0.5, low, high, "setting", g->value_label, 0);
        for (size_t i = 0; i < g->count; i++) paint_group(p, g, i, place);
        status = paint_names(ctx, figure_panel(fig, 0, 1), g);
        if (status == JF_OK) status = figure_save(fig, path);
        figure_free(fig);
    }
    free(place);
    return status;
}
