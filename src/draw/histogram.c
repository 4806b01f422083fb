/* Histograms of latent elements: one thin line each, under the curve that all of them should follow. */
#include "draw/draw_figure.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void draw_range(long n, const double *values, int stride, double margin, double *low, double *high) {
    double least = INFINITY, most = -INFINITY;
    for (long i = 0; i < n; ++i) {
        double v = values[i * stride];
        if (!isfinite(v)) continue;
        least = fmin(least, v), most = fmax(most, v);
    }
    if (least > most) least = 0, most = 1;
    double more = margin * (most - least);
    *low = least - more, *high = most + more;
}

void draw_histogram(long n, const double *values, int stride, double low, double high, int bins,
                    double *density) {
    for (int b = 0; b < bins; ++b) density[b] = 0;
    if (!(high > low)) return;
    long finite = 0;
    for (long i = 0; i < n; ++i) {
        double place = (values[i * stride] - low) / (high - low) * bins;
        finite += isfinite(values[i * stride]) != 0;
        if (place >= 0 && place < bins) density[(int)place] += 1;
    }
    double unit = finite ? bins / ((high - low) * (double)finite) : 0;
    for (int b = 0; b < bins; ++b) density[b] *= unit;
}

/* The lines whose flag is `flag`, through the centres of the bins. Returns how many. */
static int paint_lines(panel *p, int lines, int bins, const double *centres, const double *density,
                       const unsigned char *flagged, int flag, const line_style *style) {
    int count = 0;
    for (int i = 0; i < lines; ++i) {
        if ((flagged && flagged[i] ? 1 : 0) != flag) continue;
        panel_line(p, bins, centres, density + (size_t)i * bins, 1, style);
        ++count;
    }
    return count;
}

void panel_histogram_lines(panel *p, int lines, int bins, double low, double high, const double *density,
                           const unsigned char *flagged) {
    if (!panel_begin(p)) return;
    panel_end(p);
    if (lines <= 0 || bins <= 0) return;
    double *centres = calloc((size_t)bins, sizeof *centres);
    if (!centres) {
        figure_mistake(p->fig, JF_ERROR_MEMORY, "not enough memory for histograms of %d bins", bins);
        return;
    }
    for (int b = 0; b < bins; ++b) centres[b] = low + (b + 0.5) * (high - low) / bins;
    line_style plain = {.ink = colour_class(0), .width = 0.8}, loud = {.ink = colour_warning, .width = 1.1};
    plain.ink.alpha = fmin(fmax(3.5 / sqrt(lines), 0.06), 0.8);
    int flags = 0;
    for (int i = 0; i < lines; ++i) flags += flagged && flagged[i];
    loud.ink.alpha = fmin(fmax(12.0 / (flags + 1), 0.25), 0.9);
    paint_lines(p, lines, bins, centres, density, flagged, 0, &plain);
    paint_lines(p, lines, bins, centres, density, flagged, 1, &loud);
    char label[64];
    snprintf(label, sizeof label, "%d elements", lines - flags);
    if (lines > flags) panel_legend(p, &(line_style){.ink = colour_class(0), .label = label});
    snprintf(label, sizeof label, "%d flagged", flags);
    if (flags) panel_legend(p, &(line_style){.ink = colour_warning, .label = label});
    if (p->marks) panel_normal(p, &(line_style){.ink = colour_ink, .width = 1.6, .label = "N(0, 1)"});
    free(centres);
}
