/* A judgement as a table, for people. */
#include "base/number.h"
#include "judge/judge.h"
#include <math.h>

#define WORST_IN_TABLE 5

const char *judge_number(char out[JUDGE_MAX_NUMBER], int width, const char *format, double value) {
    if (!isfinite(value)) return "unknown";
    if (format_text(out, JUDGE_MAX_NUMBER, format, value) > width)
        format_text(out, JUDGE_MAX_NUMBER, "%.*e", width - 7 > 5 ? 5 : width - 7,
                    value); /* -1.23e+100 has 7 more */
    return out;
}

int judge_shows(const metric *k, const model *m, double value) {
    if (!k->label || (k->use & OF_Y && judge_keeps_y(m->flow))) return 0;
    return isfinite(value) || !(k->use & (IF_KNOWN | RARE));
}

/* ---- rows ---- */

static void row(text *t, const char *label, const char *format, double value, const char *words) {
    char number[JUDGE_MAX_NUMBER];
    text_add(t, "  %-22s %12s   %s\n", label, judge_number(number, 12, format, value), words);
}

static void row_of(text *t, const metric *k, const model *m, const void *base, const char *about) {
    double value = metric_value(k, base);
    if (judge_shows(k, m, value)) row(t, k->label, k->format, value, about);
}

/* first: words of the first row in place of its own, which depend on the judgement; NULL: none. */
static void rows_of(text *t, metric_list_id id, const model *m, const void *base, const char *first) {
    const metric_list *list = &metric_lists[id];
    for (int i = 0; i < list->count; i++)
        row_of(t, &list->metrics[i], m, base, i == 0 && first ? first : list->metrics[i].about);
}

static void row_of_two(text *t, const char *label, double first, double second, const char *words) {
    char number[2][JUDGE_MAX_NUMBER];
    const char *const shown[] = {judge_number(number[0], 12, "%.4f", first),
                                 isfinite(second) ? judge_number(number[1], 10, "%.4f", second) : "-"};
    text_add(t, "  %-22s %12s %10s   %s\n", label, shown[0], shown[1], words);
}

/* ---- densities and the loss ---- */

/* Three cases: better or worse than a linear Gaussian, or neither. */
static void row_of_gain(text *t, const judgement *j) {
    char words[64] = "no more than chance: the model adds nothing to it";
    int than = judge_against_linear(j);
    if (than)
        format_text(words, sizeof words, "%.1f standard errors", fabs(j->linear_gain) / j->linear_error);
    row(t, than < 0 ? "  worse than that by" : "  better than that by", "%.4f",
        than < 0 ? -j->linear_gain : j->linear_gain, words);
}

/* Words on a density, some of which depend on the judgement. */
static const char *about_density(const judgement *j, const metric *k) {
    if (k->place == offsetof(judgement, nll_linear) && j->linear_crossed)
        return "x = W y + c + noise, each fifth of the rows by a fit to the other four";
    if (k->place == offsetof(judgement, training_nll) && judge_is_overfit(j))
        return "rows trained on are likelier than held-out ones: it overfits";
    return k->about;
}

static void rows_of_density(text *t, const judgement *j, const model *m) {
    const metric_list *list = &metric_lists[METRICS_OF_DENSITY];
    for (int i = 0; i < list->count; i++) {
        const metric *k = &list->metrics[i];
        if (k->place != offsetof(judgement, linear_gain))
            row_of(t, k, m, j, about_density(j, k));
        else if (isfinite(j->linear_gain))
            row_of_gain(t, j);
        if (k->place == offsetof(judgement, nll) && j->image.enlarged_h)
            text_add(t,
                     "  x is an image of %d x %d, as the model draws it; those made larger have no density\n",
                     m->units.image.h, m->units.image.w);
    }
    if (j->image_log_dy.samples)
        text_add(t, "  over %d samples; the largest is %.4f nats, %.2g per dimension of x\n",
                 j->image_log_dy.samples, j->image_log_dy.most, j->image_log_dy.most / m->units.dim_x);
}

static void rows_of_terms(text *t, const judgement *j, const model *m) {
    const metric *loss = &metric_lists[METRICS_OF_TERMS].metrics[0];
    row_of(t, loss, m, j, loss->about);
    for (int i = 0; i < TERM_COUNT; i++) {
        char label[32];
        if (loss_term_info[i].role != TERM_IS_PART) continue;
        if (i == TERM_Y && j->has_data && judge_keeps_y(m->flow) && j->terms.value[i] == 0) continue;
        format_text(label, sizeof label, "term %s", loss_term_info[i].name);
        row(t, label, "%.4f", j->terms.value[i], loss_about(m->objective.kind, (term_id)i));
    }
}

/* ---- classes ---- */

/* Columns; those that are not of classes have the integral alone. */
static int class_column(const metric *k, const model *m) {
    return k->label && (m->units.classes || k->place == offsetof(class_judgement, integral));
}

static void table_by_class(text *t, const judgement *j, const model *m) {
    text_add(t, "\n  %-16s", m->units.classes ? "class" : m->units.dim_y ? "y" : "density");
    for (int i = 0; i < class_metrics.count; i++)
        if (class_column(&class_metrics.metrics[i], m)) text_add(t, " %10s", class_metrics.metrics[i].label);
    text_add(t, "\n");
    for (int c = 0; c < j->classes; c++) {
        const class_judgement *row = &j->by_class[c];
        char label[64], number[JUDGE_MAX_NUMBER];
        format_text(label, sizeof label, "%.4g%s%s", row->label, row->name[0] ? " " : "", row->name);
        text_add(t, "  %-16s", m->units.dim_y ? label : "all");
        for (int i = 0; i < class_metrics.count; i++) {
            const metric *k = &class_metrics.metrics[i];
            double value = metric_value(k, row);
            if (class_column(k, m))
                text_add(t, " %10s", isfinite(value) ? judge_number(number, 10, k->format, value) : "-");
        }
        text_add(t, "\n");
    }
}

static void table_of_argmax(text *t, const judgement *j, const model *m) {
    char words[128];
    format_text(words, sizeof words, "of %ld rows: the class c with the largest p(x, y = c) is theirs",
                j->argmax.rows);
    text_add(t, "\n");
    rows_of(t, METRICS_OF_ARGMAX, m, &j->argmax, words);
}

/* ---- calibration ---- */

static void table_of_calibration(text *t, const judgement *j) {
    const calibration *c = &j->calibration;
    double worst = 0, of_band = 0;
    for (int i = 0; i < c->coordinates; i++) {
        worst = fmax(worst, c->sbc[i].deviation);
        of_band = fmax(of_band, c->sbc[i].of_band);
    }
    text_add(t, "\n  %d samples for each of %ld pairs of the data: how the truth ranks among them\n",
             CALIBRATION_SAMPLES, c->rows);
    row(t, "SBC, worst", "%.4f", worst, "of all coordinates: ranks from uniform ones");
    row(t, "  of the band", "%.2f", of_band, "1: the edge; a right model has all below in 96% of cases");
    row(t, "coverage", "%.4f", c->hpd.deviation, "regions of highest density: from the diagonal");
    row(t, "  of the band", "%.2f", c->hpd.of_band, "");
    row(t, "  of 50% regions", "%.3f", c->coverage_50, "how often they hold the truth");
    row(t, "  of 90% regions", "%.3f", c->coverage_90, "");
    row(t, "TARP", "%.4f", c->tarp.deviation, "distances from random points: from the diagonal");
    row(t, "  of the band", "%.2f", c->tarp.of_band, "");
}

static void table_of_predictive(text *t, const judgement *j, const model *m) {
    const predictive *p = &j->predictive;
    char place[32];
    text_add(t, "\n  y simulated from an answer to each of %ld pairs of the data, and from the truth\n",
             p->rows);
    text_add(t, "  %-16s %12s %12s %12s %10s\n", "r.m.s. error of", "from answers", "from truth", "deviation",
             "st. errors");
    for (int k = 0; k < p->columns; k++)
        text_add(t, "  %-16.16s %12.4g %12.4g %12.4g %10.1f\n",
                 calibration_name(m, m->units.dim_x + k, place, sizeof place), p->column[k].error,
                 p->column[k].of_truth, p->column[k].deviation, p->column[k].off);
    text_add(t, "  %s\n", j->predictive_words);
}

/* ---- images ---- */

/* The latent elements that differ most from the prior, by their place in the image. */
static void worst_places(text *t, const judgement *j, const model *m) {
    const image_size *size = &m->units.image;
    text_add(t, "  latent KS, worst at (row, column%s):", size->x_channels > 1 ? ", channel" : "");
    for (int i = 0; i < j->latent.elements && i < WORST_IN_TABLE; i++) {
        int element = j->latent.order[i], pixel = element / size->x_channels;
        text_add(t, "%s (%d, %d", i ? "," : "", pixel / size->w, pixel % size->w);
        if (size->x_channels > 1) text_add(t, ", %d", element % size->x_channels);
        text_add(t, ") %.4f", j->latent.ks[element]);
    }
    text_add(t, "\n");
}

static void rows_of_recognised(text *t, const judgement *j, const image_judgement *i) {
    for (int c = 0; c < j->classes; c++) {
        const class_judgement *k = &j->by_class[c];
        char label[64];
        if (!isfinite(i->quality.by_class[c])) continue;
        format_text(label, sizeof label, "  %.4g%s%s", k->label, k->name[0] ? " " : "", k->name);
        row_of_two(t, label, i->quality.by_class[c], i->held_out.by_class[c], "");
    }
}

/* Samples of classes beside held-out images. */
static void table_of_quality(text *t, const judgement *j, const model *m, const image_judgement *i) {
    const metric_list *list = &metric_lists[METRICS_OF_QUALITY];
    char words[96];
    format_text(words, sizeof words, "the nearest of %ld training images is of their class",
                i->quality.training);
    text_add(t, "\n  %-22s %12s %10s\n", "nearest neighbours", "samples", "held out");
    for (int k = 0; k < list->count; k++) {
        const metric *line = &list->metrics[k];
        int by_class = line->place == offsetof(image_quality, recognised);
        double samples = metric_value(line, &i->quality);
        if (judge_shows(line, m, samples))
            row_of_two(t, line->label, samples, metric_value(line, &i->held_out),
                       by_class ? words : line->about);
        if (by_class) rows_of_recognised(t, j, i);
    }
}

static void table_of_image(text *t, const judgement *j, const model *m, const image_judgement *i,
                           const char *which) {
    text_add(t, "\n  %d sample%s for each of %d held-out images%s", i->samples, i->samples == 1 ? "" : "s",
             i->inputs, which);
    if (i->enlarged_h) text_add(t, ", made %d x %d", i->enlarged_h, i->enlarged_w);
    text_add(t, "\n");
    rows_of(t, METRICS_OF_IMAGE, m, i,
            i->enlarged_h ? "a linear-Gaussian model of the data before they are made larger" : NULL);
    if (i->quality.images) table_of_quality(t, j, m, i);
}

/* ---- the whole ---- */

static void table_of_data(text *t, const judgement *j, const model *m) {
    char warning[256], doubt[512];
    for (int i = 0; i < JUDGE_ADVICE; i++) text_add(t, "  %s\n", j->advice[i]);
    text_add(t, "\n");
    judge_warning(j, warning, sizeof warning);
    if (warning[0]) text_add(t, "  %s\n", warning);
    judge_doubt(j, m, doubt, sizeof doubt);
    if (doubt[0]) text_add(t, "  %s\n", doubt);
    rows_of_density(t, j, m);
    rows_of_terms(t, j, m);
    rows_of(t, METRICS_OF_LOSS, m, j, NULL);
    rows_of(t, METRICS_OF_ROUNDTRIP, m, j, NULL);
    rows_of(t, METRICS_OF_LATENT, m, &j->latent, NULL);
    rows_of(t, METRICS_OF_SAMPLES, m, j, NULL);
    if (!j->unseen) text_add(t, "  judged on the rows it was trained on: expect worse on others\n");
    if (j->outside)
        text_add(t,
                 "  %ld rows have an x outside of its bounds, where log p is -infinity: nothing here counts "
                 "them\n",
                 j->outside);
    if (j->lost) text_add(t, "  %ld points had no y* and are left out of the sampler's density\n", j->lost);
    if (j->classes) table_by_class(t, j, m);
    if (j->argmax.rows) table_of_argmax(t, j, m);
    if (j->calibration.rows) table_of_calibration(t, j);
    if (j->predictive.rows) table_of_predictive(t, j, m);
    if (j->image.inputs) {
        table_of_image(t, j, m, &j->image, "");
        if (j->denoised.inputs) table_of_image(t, j, m, &j->denoised, ", without the noise of training");
        worst_places(t, j, m);
    }
}

static void table_of_rule(text *t, const judgement *j, const model *m) {
    char samples[JUDGE_MAX_NUMBER], exact[JUDGE_MAX_NUMBER];
    const metric *there = metric_lists[METRICS_OF_ROUNDTRIP].metrics;
    rows_of_terms(t, j, m);
    row(t, "mean distance", "%.5f", j->terms.value[TERM_Y_ERROR],
        loss_about(m->objective.kind, TERM_Y_ERROR));
    row_of(t, &there[0], m, j, "max |F^-1(F(x)) - x|");
    row_of(t, &there[1], m, j, "max |F(F^-1(z)) - z|");
    rows_of(t, METRICS_OF_RULE, m, &j->by_rule, NULL);
    if (!isfinite(j->by_rule.divergence)) return;
    text_add(t, "\n  quantiles of %s\n  %-16s %10s %10s\n", j->by_rule.radius_name, "radius, quantile",
             "samples", "exact");
    for (int i = 0; i < RULE_QUANTILES; i++)
        text_add(t, "  %-16.2f %10s %10s\n", j->by_rule.quantiles[i].probability,
                 judge_number(samples, 10, "%.4f", j->by_rule.quantiles[i].samples),
                 judge_number(exact, 10, "%.4f", j->by_rule.quantiles[i].exact));
}

void judge_write_table(const judgement *j, const model *m, text *out) {
    if (j->has_data)
        table_of_data(out, j, m);
    else
        table_of_rule(out, j, m);
}
