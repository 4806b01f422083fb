/* Calibration in words and as a picture. */
#include "base/memory.h"
#include "base/number.h"
#include "draw/draw.h"
#include "judge/calibration.h"
#include <stdlib.h>

#define NAMED 5 /* coordinates, at most */

const char *calibration_name(const model *m, int element, char *place, size_t size) {
    int dim_x = m->units.dim_x, is_y = element >= dim_x;
    if (m->units.names) return m->units.names[element];
    format_text(place, size, "%c%d", is_y ? 'y' : 'x', is_y ? element - dim_x : element);
    return place;
}

static int is_good_over_all(const calibration *c) {
    calibration all = *c;
    all.region.rows = 0;
    return calibration_is_good(&all);
}

/* "c is at least 0.7" */
static void add_place(text *t, const model *m, const calibration_region *r) {
    char place[32];
    if (r->column < 0) {
        text_add(t, "of class %s", m->units.class_name[r->part]);
        return;
    }
    text_add(t, "where %s is ", calibration_name(m, m->units.dim_x + r->column, place, sizeof place));
    if (r->lo == r->hi)
        text_add(t, "%.4g", r->lo);
    else if (r->part == 1)
        text_add(t, "from %.4g to %.4g", r->lo, r->hi);
    else
        text_add(t, r->part == 0 ? "at most %.4g" : "at least %.4g", r->part == 0 ? r->hi : r->lo);
}

static void add_region(text *t, const model *m, const calibration *c) {
    const calibration_region *r = &c->region;
    char place[32];
    int whole = r->number == c->coordinates, good = is_good_over_all(c);
    if (!r->rows) {
        if (!good && r->compared)
            text_add(t, " No part of y is worse than the others, as far as can be told.");
        return;
    }
    text_add(t, good ? " Answers " : " It is worst for answers ");
    add_place(t, m, r);
    if (good) text_add(t, " are not");
    text_add(t, ": there %s %s %s (%ld pairs, off by %.1f standard errors, %.1f by chance).",
             whole ? "they" : calibration_name(m, r->number, place, sizeof place), whole ? "are" : "is",
             calibration_words[r->verdict], r->rows, r->off, r->limit);
}

jf_status calibration_tell(const model *m, const calibration *c, char **out) {
    text t = {0};
    char place[32];
    int bad = 0;
    *out = NULL;
    if (is_good_over_all(c))
        text_add(&t, "The answers are calibrated%s, as far as %ld pairs of the data show.",
                 c->region.rows ? ", all together" : "", c->rows);
    for (int i = 0; i < c->coordinates; i++) {
        if (c->sbc[i].verdict == CALIBRATED) continue;
        if (++bad <= NAMED)
            text_add(&t, "%s%s is %s", bad == 1 ? "The answers are not calibrated: " : "; ",
                     calibration_name(m, i, place, sizeof place), calibration_words[c->sbc[i].verdict]);
    }
    if (bad > NAMED) text_add(&t, "; and so on, %d of %d coordinates", bad, c->coordinates);
    if (bad) text_add(&t, ".");
    if (c->hpd.verdict != CALIBRATED)
        text_add(&t,
                 "%s are %s: regions that should hold the truth in 50%% and 90%% of all cases "
                 "hold it in %.1f%% and %.1f%%.",
                 bad ? " As a whole they" : "The answers as a whole", calibration_words[c->hpd.verdict],
                 100 * c->coverage_50, 100 * c->coverage_90);
    if (c->tarp.verdict != CALIBRATED && !bad && c->hpd.verdict == CALIBRATED)
        text_add(&t, "Distances from random points (TARP) are %s.", calibration_words[c->tarp.verdict]);
    add_region(&t, m, c);
    jf_status status = text_check(m->ctx, &t);
    if (status == JF_OK)
        *out = t.chars;
    else
        text_free(&t);
    return status;
}

/* One panel: distribution functions minus the diagonal, over the band. */
static void paint(panel *p, const char *title, const char *x_label, int lines, const rank_fit *fits,
                  const double *low, const double *high) {
    double x[CALIBRATION_RANKS + 1] = {0}, y[CALIBRATION_RANKS + 1] = {0}, reach = 0.02;
    for (int k = 0; k < lines; k++)
        if (fits[k].deviation > reach) reach = fits[k].deviation;
    for (int i = 0; i < CALIBRATION_RANKS; i++) {
        x[i + 1] = (i + 1.0) / CALIBRATION_RANKS;
        if (high[i] - x[i + 1] > reach) reach = high[i] - x[i + 1];
        if (x[i + 1] - low[i] > reach) reach = x[i + 1] - low[i];
    }
    panel_title(p, title);
    /* room for the legend below the band */
    panel_axes(p, 0, 1, -1.6 * reach, 1.15 * reach, x_label, "share below, minus the diagonal", 0);
    const double *edges[] = {low, high};
    for (int e = 0; e < 2; e++) {
        for (int i = 0; i < CALIBRATION_RANKS; i++) y[i + 1] = edges[e][i] - x[i + 1];
        panel_line(p, CALIBRATION_RANKS + 1, x, y, 1,
                   &(line_style){
                       .ink = colour_quiet, .dash = 4, .label = e ? NULL : "96% of right models, all lines"});
    }
    for (int k = 0; k < lines; k++) {
        int good = fits[k].verdict == CALIBRATED;
        for (int i = 0; i < CALIBRATION_RANKS; i++) y[i + 1] = fits[k].ecdf[i] - x[i + 1];
        panel_line(p, CALIBRATION_RANKS + 1, x, y, 1,
                   &(line_style){.ink = good ? colour_class(0) : colour_warning});
    }
}

jf_status calibration_draw(jf_context *ctx, const calibration *c, const char *path) {
    figure *fig;
    JF_TRY(figure_create(ctx, &fig, 1, 3, DRAW_PANEL_WIDTH, DRAW_PANEL_HEIGHT, NULL));
    paint(figure_panel(fig, 0, 0), "SBC: a line for each coordinate of x", "rank of the truth",
          c->coordinates, c->sbc, c->low, c->high);
    paint(figure_panel(fig, 0, 1), "expected coverage", "size of the region", 1, &c->hpd, c->low, c->high);
    paint(figure_panel(fig, 0, 2), "TARP", "rank of the distance", 1, &c->tarp, c->low, c->high);
    jf_status status = figure_save(fig, path);
    figure_free(fig);
    return status;
}
