/* Calibration in words and as a picture. */
#include "base/memory.h"
#include "base/number.h"
#include "draw/draw.h"
#include "judge/calibration.h"
#include <stdlib.h>

#define NAMED 5 /* coordinates, at most */

jf_status calibration_tell(jf_context *ctx, const calibration *c, char **out) {
    text t = {0};
    int bad = 0;
    *out = NULL;
    if (calibration_is_good(c))
        text_add(&t, "The answers are calibrated, as far as %ld pairs of the data show.", c->rows);
    for (int i = 0; i < c->coordinates; i++) {
        if (c->sbc[i].verdict == CALIBRATED) continue;
        if (++bad <= NAMED)
            text_add(&t, "%sx%d is %s", bad == 1 ? "The answers are not calibrated: " : "; ", i,
                     calibration_words[c->sbc[i].verdict]);
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
    jf_status status = text_check(ctx, &t);
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
    panel_axes(p, 0, 1, -1.15 * reach, 1.15 * reach, x_label, "share below, minus the diagonal", 0);
    const double *edges[] = {low, high};
    for (int e = 0; e < 2; e++) {
        for (int i = 0; i < CALIBRATION_RANKS; i++) y[i + 1] = edges[e][i] - x[i + 1];
        panel_line(p, CALIBRATION_RANKS + 1, x, y, 1,
                   &(line_style){.ink = colour_quiet, .dash = 4, .label = e ? NULL : "95% of right models"});
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
          c->coordinates, c->sbc, c->sbc_low, c->sbc_high);
    paint(figure_panel(fig, 0, 1), "expected coverage", "size of the region", 1, &c->hpd, c->low, c->high);
    paint(figure_panel(fig, 0, 2), "TARP", "rank of the distance", 1, &c->tarp, c->low, c->high);
    jf_status status = figure_save(fig, path);
    figure_free(fig);
    return status;
}
