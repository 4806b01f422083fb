/* A judgement in words: one JSON object for programs, one table for people. */
#include "base/number.h"
#include "io/json.h"
#include "judge/judge.h"
#include <math.h>

#define WORST_LISTED   10
#define WORST_IN_TABLE 5

static void field(text *t, const char *name, double value) {
    if (t->length && t->chars[t->length - 1] != '{') text_add(t, ", ");
    json_add_string(t, name);
    text_add(t, ": ");
    json_add_number(t, value);
}

static void open_object(text *t, const char *name, char bracket) {
    if (t->length && t->chars[t->length - 1] != '{') text_add(t, ", ");
    json_add_string(t, name);
    text_add(t, ": %c", bracket);
}

/* Over all points where that is exact, of image models over a few. */
static double mean_log_dy(const judgement *j) {
    return j->image_log_dy.samples ? j->image_log_dy.mean : j->log_dy;
}

static void write_latent(text *t, const latent_fit *f) {
    open_object(t, "latent_ks", '{');
    field(t, "median", f->median);
    field(t, "p95", f->p95);
    field(t, "max", f->max);
    field(t, "chance_median", f->chance_median);
    field(t, "chance_max", f->chance_max);
    field(t, "points", (double)f->points);
    field(t, "envelope", f->envelope);
    field(t, "chance_envelope", f->chance_envelope);
    open_object(t, "worst", '[');
    for (int i = 0; i < f->elements && i < WORST_LISTED; i++)
        text_add(t, "%s{\"element\": %d, \"ks\": %.6g}", i ? ", " : "", f->order[i], f->ks[f->order[i]]);
    text_add(t, "]}");
}

static void write_classes(text *t, const judgement *j, const model *m) {
    open_object(t, m->units.classes ? "classes" : "conditions", '[');
    for (int c = 0; c < j->classes; c++) {
        const class_judgement *row = &j->by_class[c];
        text_add(t, "%s{", c ? ", " : "");
        field(t, "y", row->label);
        if (row->name[0]) {
            text_add(t, ", \"name\": ");
            json_add_string(t, row->name);
        }
        if (m->units.classes) {
            field(t, "nll", row->nll);
            field(t, "entropy", row->entropy);
            field(t, "gap", row->nll - row->entropy);
            field(t, "gap_sampler", row->nll_sampler - row->entropy);
            field(t, "latent_ks_median", row->ks_median);
            field(t, "latent_ks_max", row->ks_max);
            field(t, "latent_ks_chance_max", row->ks_chance);
        }
        field(t, "integral", row->integral);
        if (isfinite(j->image.quality.by_class[c])) {
            field(t, "recognised", j->image.quality.by_class[c]);
            field(t, "recognised_held_out", j->image.held_out.by_class[c]);
        }
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void write_argmax(text *t, const class_argmax *a) {
    open_object(t, "argmax", '{');
    field(t, "share", a->share);
    field(t, "error", a->error);
    field(t, "chance", a->chance);
    field(t, "rows", (double)a->rows);
    text_add(t, "}");
}

/* Of samples, each beside the same of held-out images. */
static void write_quality(text *t, const image_judgement *i) {
    open_object(t, "quality", '{');
    field(t, "images", (double)i->quality.images);
    field(t, "training_images", (double)i->quality.training);
    field(t, "neighbours", QUALITY_NEIGHBOURS);
    field(t, "recognised", i->quality.recognised);
    field(t, "recognised_held_out", i->held_out.recognised);
    field(t, "precision", i->quality.precision);
    field(t, "precision_held_out", i->held_out.precision);
    field(t, "recall", i->quality.recall);
    field(t, "recall_held_out", i->held_out.recall);
    text_add(t, "}");
}

static void write_image(text *t, const char *name, const image_judgement *i) {
    open_object(t, name, '{');
    field(t, "inputs", i->inputs);
    field(t, "samples", i->samples);
    field(t, "psnr", i->psnr);
    field(t, "spread", i->spread);
    field(t, "coverage_50", i->coverage_50);
    field(t, "coverage_90", i->coverage_90);
    field(t, "outside", i->outside);
    field(t, "far_outside", i->far_outside);
    field(t, "far_outside_held_out", i->far_held_out);
    field(t, "lowest", i->lowest);
    field(t, "highest", i->highest);
    field(t, "floor", i->floor);
    if (i->enlarged_h) {
        field(t, "enlarged_height", i->enlarged_h);
        field(t, "enlarged_width", i->enlarged_w);
    }
    if (i->quality.images) write_quality(t, i);
    text_add(t, "}");
}

static void write_fit(text *t, const char *name, const rank_fit *f) {
    open_object(t, name, '{');
    field(t, "deviation", f->deviation);
    field(t, "outside_band", f->outside);
    text_add(t, ", \"verdict\": \"%s\"}", calibration_words[f->verdict]);
}

/* null: no part of y is worse than chance explains, or there is no y */
static void write_region(text *t, const calibration *c, const model *m) {
    const calibration_region *r = &c->region;
    char place[32];
    if (!r->rows) {
        text_add(t, ", \"worst_y\": null");
        return;
    }
    open_object(t, "worst_y", '{');
    text_add(t, "\"column\": ");
    json_add_string(t, r->column < 0 ? m->units.class_name[r->part]
                                     : calibration_name(m, m->units.dim_x + r->column, place, sizeof place));
    field(t, "from", r->lo);
    field(t, "to", r->hi);
    field(t, "pairs", (double)r->rows);
    text_add(t, ", \"of\": ");
    json_add_string(t, r->number == c->coordinates ? "density"
                                                   : calibration_name(m, r->number, place, sizeof place));
    field(t, "standard_errors", r->off);
    field(t, "by_chance", r->limit);
    text_add(t, ", \"verdict\": \"%s\"}", calibration_words[r->verdict]);
}

static void write_predictive(text *t, const judgement *j, const model *m) {
    const predictive *p = &j->predictive;
    char place[32];
    open_object(t, "posterior_predictive", '{');
    field(t, "pairs", (double)p->rows);
    field(t, "by_chance", p->limit);
    text_add(t, ", \"words\": ");
    json_add_string(t, j->predictive_words);
    open_object(t, "columns", '[');
    for (int k = 0; k < p->columns; k++) {
        text_add(t, "%s{\"name\": ", k ? ", " : "");
        json_add_string(t, calibration_name(m, m->units.dim_x + k, place, sizeof place));
        field(t, "error", p->column[k].error);
        field(t, "of_truth", p->column[k].of_truth);
        field(t, "deviation", p->column[k].deviation);
        field(t, "standard_errors", p->column[k].off);
        text_add(t, "}");
    }
    text_add(t, "]}");
}

static void write_calibration(text *t, const judgement *j, const model *m) {
    const calibration *c = &j->calibration;
    char place[32];
    open_object(t, "calibration", '{');
    field(t, "ranks", (double)c->rows);
    field(t, "samples", CALIBRATION_SAMPLES);
    text_add(t, ", \"calibrated\": %s, \"words\": ", calibration_is_good(c) ? "true" : "false");
    json_add_string(t, j->calibration_words);
    open_object(t, "sbc", '[');
    for (int i = 0; i < c->coordinates; i++) {
        text_add(t, "%s{\"x\": %d, \"name\": ", i ? ", " : "", i);
        json_add_string(t, calibration_name(m, i, place, sizeof place));
        text_add(t, ", \"deviation\": %.6g, \"outside_band\": %.6g, \"verdict\": \"%s\"}",
                 c->sbc[i].deviation, c->sbc[i].outside, calibration_words[c->sbc[i].verdict]);
    }
    text_add(t, "]");
    write_fit(t, "expected_coverage", &c->hpd);
    field(t, "coverage_50", c->coverage_50);
    field(t, "coverage_90", c->coverage_90);
    write_fit(t, "tarp", &c->tarp);
    write_region(t, c, m);
    text_add(t, "}");
}

static void write_rule(text *t, const judgement *j) {
    open_object(t, "rule", '{');
    field(t, "loss", j->terms.value[TERM_TOTAL]);
    field(t, "distance", j->terms.value[TERM_Y_ERROR]);
    field(t, "divergence", j->by_rule.divergence);
    field(t, "divergence_standard_error", j->by_rule.error);
    if (isfinite(j->by_rule.divergence)) {
        text_add(t, ", \"radius\": ");
        json_add_string(t, j->by_rule.radius_name);
        open_object(t, "radial_quantiles", '[');
        for (int i = 0; i < RULE_QUANTILES; i++) {
            text_add(t, "%s{", i ? ", " : "");
            field(t, "probability", j->by_rule.quantiles[i].probability);
            field(t, "samples", j->by_rule.quantiles[i].samples);
            field(t, "exact", j->by_rule.quantiles[i].exact);
            text_add(t, "}");
        }
        text_add(t, "]");
    }
    text_add(t, "}");
}

static void write_advice(text *t, const judgement *j) {
    text_add(t, ", \"verdict\": [");
    for (int i = 0; i < JUDGE_ADVICE; i++) {
        text_add(t, "%s", i ? ", " : "");
        json_add_string(t, j->advice[i]);
    }
    text_add(t, "]");
}

static void write_json(judgement *j, const model *m) {
    text *t = &j->json;
    text_add(t, "{");
    if (j->has_data) {
        field(t, "nll", j->nll);
        if (j->image.enlarged_h)
            text_add(t, ", \"nll_of\": \"images of %d x %d, before others make them larger\"",
                     m->units.image.h, m->units.image.w);
        field(t, "entropy", j->entropy);
        field(t, "gap", j->nll - j->entropy);
        field(t, "nll_standard_error", j->nll_error);
        field(t, "nll_linear_gaussian", j->nll + j->linear_gain);
        if (isfinite(j->linear_gain))
            text_add(t, ", \"linear_gaussian_fitted_to\": \"%s\"",
                     j->linear_crossed ? "other test rows" : "training rows");
        field(t, "gain_over_linear_gaussian", j->linear_gain);
        field(t, "gain_standard_error", j->linear_error);
        field(t, "y_error", j->y_error);
        field(t, "nll_sampler", j->nll_sampler);
        field(t, "gap_sampler", j->nll_sampler - j->entropy);
        field(t, "sampler_lost", (double)j->lost); /* points that its mean leaves out */
        field(t, "nll_whole_map", j->nll_whole);
        field(t, "log_dy", mean_log_dy(j));
        if (j->image_log_dy.samples) {
            field(t, "log_dy_samples", j->image_log_dy.samples);
            field(t, "log_dy_largest", j->image_log_dy.most);
        }
        char doubt[512];
        judge_doubt(j, m, doubt, sizeof doubt);
        text_add(t, ", \"joint_to_be_trusted\": %s", doubt[0] ? "false" : "true");
        text_add(t, ", \"density\": \"%s\"", j->exact ? "exact" : "whole map");
        field(t, "nll_training", j->training_nll);
        field(t, "nll_training_standard_error", j->training_error);
        text_add(t, ", \"overfits\": %s", judge_is_overfit(j) ? "true" : "false");
        write_advice(t, j);
    }
    open_object(t, "terms", '{');
    for (int i = 0; i < TERM_COUNT; i++) field(t, loss_term_info[i].name, j->terms.value[i]);
    text_add(t, "}");
    if (j->has_data) {
        field(t, "gaussian_loss", j->gaussian);
        text_add(t, ", \"worse_than_gaussian\": %s", j->worse ? "true" : "false");
        field(t, "nats_per_dim", j->nats_per_dim);
        if (isfinite(j->bits_per_dim)) field(t, "bits_per_dim", j->bits_per_dim);
    }
    open_object(t, "roundtrip", '{');
    field(t, "data", j->roundtrip_data);
    field(t, "latent", j->roundtrip_latent);
    text_add(t, "}");
    if (j->has_data) {
        write_latent(t, &j->latent);
        field(t, "energy_distance", j->energy);
        if (isfinite(j->energy_denoised)) field(t, "energy_distance_denoised", j->energy_denoised);
        if (j->classes) write_classes(t, j, m);
        if (j->argmax.rows) write_argmax(t, &j->argmax);
        if (j->calibration.rows) write_calibration(t, j, m);
        if (j->predictive.rows) write_predictive(t, j, m);
        if (j->image.inputs) write_image(t, "image", &j->image);
        if (j->denoised.inputs) write_image(t, "image_denoised", &j->denoised);
    } else {
        write_rule(t, j);
    }
    field(t, "points", (double)j->points);
    if (j->has_data) field(t, "outside", (double)j->outside); /* rows left out: log p is -infinity */
    if (j->has_data) text_add(t, ", \"unseen\": %s", j->unseen ? "true" : "false");
    text_add(t, "}");
}

const char *judge_number(char out[JUDGE_MAX_NUMBER], int width, const char *format, double value) {
    if (!isfinite(value)) return "unknown";
    if (number_print(out, JUDGE_MAX_NUMBER, format, value) > width)
        number_print(out, JUDGE_MAX_NUMBER, "%.*e", width - 7 > 5 ? 5 : width - 7,
                     value); /* -1.23e+100 has 7 more */
    return out;
}

void judge_warning(const judgement *j, char *out, size_t size) {
    out[0] = 0;
    if (j->worse)
        number_print(out, size,
                     "The loss is %.4g, worse than the %.4g of a Gaussian with the data's means and "
                     "deviations: training "
                     "diverged or was too short, and this model is of no use.",
                     j->terms.value[TERM_TOTAL], j->gaussian);
}

void judge_doubt(const judgement *j, const model *m, char *out, size_t size) {
    int joint = j->has_data && m->units.dim_y > 0 && !recipe_is(m->recipe, "model.condition", "fixed");
    out[0] = 0;
    if (joint && fabs(j->log_dy) > JUDGE_LOOSE_DY)
        number_print(
            out, size,
            "This joint model is not to be trusted: y' does not follow y, log|det dF_Y'/dy| is %.3g instead "
            "of 0, so that its loss and the likelihood by the whole map are off by as much. Train it with "
            "model.condition = fixed, or with train.y_noise.",
            j->log_dy);
    else if (joint && j->y_error > JUDGE_LOOSE_Y)
        number_print(
            out, size,
            "This joint model is not to be trusted: y' is %.2g deviations away from y. Train it with "
            "model.condition = fixed, or with a larger loss.lambda.",
            j->y_error);
}

static void row(text *t, const char *label, const char *format, double value, const char *words) {
    char number[JUDGE_MAX_NUMBER];
    text_add(t, "  %-22s %12s   %s\n", label, judge_number(number, 12, format, value), words);
}

static void table_by_class(text *t, const judgement *j, const model *m) {
    if (m->units.classes)
        text_add(t, "\n  %-16s %10s %10s %10s %10s %10s %10s\n", "class", "nll", "entropy", "gap", "integral",
                 "worst KS", "by chance");
    else
        text_add(t, "\n  %-16s %10s\n", m->units.dim_y ? "y" : "density", "integral");
    for (int c = 0; c < j->classes; c++) {
        const class_judgement *k = &j->by_class[c];
        char label[64], number[JUDGE_MAX_NUMBER];
        number_print(label, sizeof label, "%.4g%s%s", k->label, k->name[0] ? " " : "", k->name);
        text_add(t, "  %-16s", m->units.dim_y ? label : "all");
        const double columns[] = {k->nll,      k->entropy, k->nll - k->entropy,
                                  k->integral, k->ks_max,  k->ks_chance};
        for (int i = m->units.classes ? 0 : 3; i < (m->units.classes ? 6 : 4); i++)
            text_add(t, " %10s", isfinite(columns[i]) ? judge_number(number, 10, "%.4f", columns[i]) : "-");
        text_add(t, "\n");
    }
}

static void row_where_known(text *t, const char *label, const char *format, double value, const char *words) {
    if (isfinite(value)) row(t, label, format, value, words);
}

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

static void row_of_two(text *t, const char *label, double first, double second, const char *words) {
    char number[2][JUDGE_MAX_NUMBER];
    const char *const shown[] = {judge_number(number[0], 12, "%.4f", first),
                                 isfinite(second) ? judge_number(number[1], 10, "%.4f", second) : "-"};
    text_add(t, "  %-22s %12s %10s   %s\n", label, shown[0], shown[1], words);
}

/* Samples of classes beside held-out images. */
static void table_of_quality(text *t, const judgement *j, const image_judgement *i) {
    const image_quality *of_model = &i->quality, *of_data = &i->held_out;
    char words[96];
    text_add(t, "\n  %-22s %12s %10s\n", "nearest neighbours", "samples", "held out");
    if (isfinite(of_model->recognised)) {
        number_print(words, sizeof words, "the nearest of %ld training images is of their class",
                     of_model->training);
        row_of_two(t, "recognised", of_model->recognised, of_data->recognised, words);
    }
    for (int c = 0; c < j->classes; c++) {
        const class_judgement *k = &j->by_class[c];
        char label[64];
        if (!isfinite(of_model->by_class[c])) continue;
        number_print(label, sizeof label, "  %.4g%s%s", k->label, k->name[0] ? " " : "", k->name);
        row_of_two(t, label, of_model->by_class[c], of_data->by_class[c], "");
    }
    number_print(words, sizeof words, "as near to a training image as its neighbour number %d",
                 QUALITY_NEIGHBOURS);
    row_of_two(t, "precision", of_model->precision, of_data->precision, words);
    row_of_two(t, "recall", of_model->recall, of_data->recall, "the same of training images, near to these");
}

static void table_of_image(text *t, const judgement *j, const image_judgement *i, const char *which) {
    text_add(t, "\n  %d sample%s for each of %d held-out images%s", i->samples, i->samples == 1 ? "" : "s",
             i->inputs, which);
    if (i->enlarged_h) text_add(t, ", made %d x %d", i->enlarged_h, i->enlarged_w);
    text_add(t, "\n");
    row_where_known(t, "floor, nats per dim.", "%.4f", i->floor,
                    i->enlarged_h ? "a linear-Gaussian model of the data before they are made larger"
                                  : "a linear-Gaussian model of the same data");
    row_where_known(t, "PSNR, dB", "%.2f", i->psnr, "of degraded reconstructions against their input");
    row_where_known(t, "spread", "%.4f", i->spread, "deviation of the samples, mean over elements of x");
    row_where_known(t, "coverage, 50%", "%.3f", i->coverage_50, "truth inside the samples' middle half");
    row_where_known(t, "coverage, 90%", "%.3f", i->coverage_90, "and of their middle 90%");
    row(t, "out of range", "%.4f", i->outside, "share of sampled pixels outside the data's range");
    row(t, "  beyond the noise", "%.4f", i->far_outside, "by more than three deviations of it");
    row(t, "  of held-out images", "%.4f", i->far_held_out,
        "beyond the noise, which they are given as samples have it");
    row(t, "  lowest", "%.3f", i->lowest, "");
    row(t, "  highest", "%.3f", i->highest, "");
    if (i->quality.images) table_of_quality(t, j, i);
}

static void table_of_argmax(text *t, const class_argmax *a) {
    char words[128];
    number_print(words, sizeof words, "of %ld rows: the class c with the largest p(x, y = c) is theirs",
                 a->rows);
    text_add(t, "\n");
    row(t, "class found by argmax", "%.4f", a->share, words);
    row(t, "  standard error", "%.4f", a->error, "");
    row(t, "  by chance", "%.4f", a->chance, "the share of the class that is the most frequent in training");
}

static void rows_of_terms(text *t, const judgement *j, const model *m) {
    for (int i = 0; i < TERM_COUNT; i++) {
        char label[32];
        if (loss_term_info[i].role != TERM_IS_PART) continue;
        if (i == TERM_Y && j->has_data && judge_keeps_y(m->flow) && j->terms.value[i] == 0) continue;
        number_print(label, sizeof label, "term %s", loss_term_info[i].name);
        row(t, label, "%.4f", j->terms.value[i], loss_about(m->objective.kind, (term_id)i));
    }
}

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

/* Three cases: better or worse than a linear Gaussian, or neither. */
static void row_of_gain(text *t, const judgement *j) {
    char words[64] = "no more than chance: the model adds nothing to it";
    int than = judge_against_linear(j);
    if (than)
        number_print(words, sizeof words, "%.1f standard errors", fabs(j->linear_gain) / j->linear_error);
    row(t, than < 0 ? "  worse than that by" : "  better than that by", "%.4f",
        than < 0 ? -j->linear_gain : j->linear_gain, words);
}

static void table_of_data(text *t, const judgement *j, const model *m) {
    char warning[256], doubt[512];
    for (int i = 0; i < JUDGE_ADVICE; i++) text_add(t, "  %s\n", j->advice[i]);
    text_add(t, "\n");
    judge_warning(j, warning, sizeof warning);
    if (warning[0]) text_add(t, "  %s\n", warning);
    judge_doubt(j, m, doubt, sizeof doubt);
    if (doubt[0]) text_add(t, "  %s\n", doubt);
    row(t, "nll", "%.4f", j->nll, "mean of -log p(x|y), nats, the data's units");
    if (j->image.enlarged_h)
        text_add(t, "  x is an image of %d x %d, as the model draws it; those made larger have no density\n",
                 m->units.image.h, m->units.image.w);
    row(t, "  standard error", "%.4f", j->nll_error, "of nll and gap, from the number of points");
    if (isfinite(j->linear_gain)) {
        row(t, "  of a linear Gaussian", "%.4f", j->nll + j->linear_gain,
            j->linear_crossed ? "x = W y + c + noise, each fifth of the rows by a fit to the other four"
                              : "x = W y + c + noise, fitted to the training rows");
        row_of_gain(t, j);
        row(t, "    standard error", "%.4f", j->linear_error, "of the difference");
    }
    row_where_known(t, "  of training rows", "%.4f", j->training_nll,
                    judge_is_overfit(j) ? "rows trained on are likelier than held-out ones: it overfits"
                                        : "the same mean over rows that it was trained on");
    if (isfinite(j->entropy)) {
        row(t, "entropy", "%.4f", j->entropy, "exact H(x|y): what a perfect model reaches");
        row(t, "gap", "%.4f", j->nll - j->entropy, "nll - entropy: what the model still misses");
        row(t, "gap of the sampler", "%.4f", j->nll_sampler - j->entropy,
            "the same for the density that samples follow");
    }
    if (!judge_keeps_y(m->flow)) {
        row(t, "mean |F_Y' - y|", "%.2e", j->y_error, "the doubt of every density above: it assumes 0");
        row(t, "mean log|dF_Y'/dy|", "%.4f", mean_log_dy(j), "0 where y' follows y");
        if (j->image_log_dy.samples)
            text_add(t, "  over %d samples; the largest is %.4f nats, %.2g per dimension of x\n",
                     j->image_log_dy.samples, j->image_log_dy.most, j->image_log_dy.most / m->units.dim_x);
    }
    row(t, "loss", "%.4f", j->terms.value[TERM_TOTAL], "sum of the terms");
    rows_of_terms(t, j, m);
    row_where_known(t, "  of a Gaussian", "%.4f", j->gaussian,
                    "the loss of one with the data's means and deviations");
    row(t, "nats per dimension", "%.4f", j->nats_per_dim, "(z + logdet)/dim, model units");
    row_where_known(t, "bits per dimension", "%.4f", j->bits_per_dim,
                    "of bytes, by uniform dequantisation, at most");
    row(t, "round trip, data", "%.1e", j->roundtrip_data, "max |F^-1(F(x,y)) - (x,y)|");
    row(t, "round trip, latent", "%.1e", j->roundtrip_latent, "max |F(F^-1(z,y)) - (z,y)|");
    row(t, "latent KS, median", "%.4f", j->latent.median, "distance of each latent element to N(0,1)");
    row(t, "latent KS, worst", "%.4f", j->latent.max, "");
    row(t, "  by chance", "%.4f", j->latent.chance_max, "the worst that a perfect model would show");
    if (isfinite(j->latent.envelope)) {
        row(t, "latent envelope", "%.4f", j->latent.envelope,
            "width of all histograms together, shares of N(0,1)");
        row(t, "  by chance", "%.4f", j->latent.chance_envelope, "what a perfect model would show");
    }
    row(t, "energy distance", "%.5f", j->energy, "between samples and data, about 0 where they agree");
    row_where_known(t, "  without noise", "%.5f", j->energy_denoised, "the same without that of training");
    if (!j->unseen) text_add(t, "  judged on the rows it was trained on: expect worse on others\n");
    if (j->outside)
        text_add(t,
                 "  %ld rows have an x outside of its bounds, where log p is -infinity: nothing here counts "
                 "them\n",
                 j->outside);
    if (j->lost) text_add(t, "  %ld points had no y* and are left out of the sampler's density\n", j->lost);
    if (j->classes) table_by_class(t, j, m);
    if (j->argmax.rows) table_of_argmax(t, &j->argmax);
    if (j->calibration.rows) table_of_calibration(t, j);
    if (j->predictive.rows) table_of_predictive(t, j, m);
    if (j->image.inputs) {
        table_of_image(t, j, &j->image, "");
        if (j->denoised.inputs) table_of_image(t, j, &j->denoised, ", without the noise of training");
        worst_places(t, j, m);
    }
}

static void table_of_rule(text *t, const judgement *j, const model *m) {
    char samples[JUDGE_MAX_NUMBER], exact[JUDGE_MAX_NUMBER];
    row(t, "loss", "%.4f", j->terms.value[TERM_TOTAL], "sum of the terms");
    rows_of_terms(t, j, m);
    row(t, "mean distance", "%.5f", j->terms.value[TERM_Y_ERROR],
        loss_about(m->objective.kind, TERM_Y_ERROR));
    row(t, "round trip, data", "%.1e", j->roundtrip_data, "max |F^-1(F(x)) - x|");
    row(t, "round trip, latent", "%.1e", j->roundtrip_latent, "max |F(F^-1(z)) - z|");
    if (!isfinite(j->by_rule.divergence)) return;
    row(t, "divergence", "%.4f", j->by_rule.divergence, "KL of the samples from exp(-lambda d)/Z, nats");
    row(t, "  standard error", "%.4f", j->by_rule.error, "of it, from the number of points");
    text_add(t, "\n  quantiles of %s\n  %-16s %10s %10s\n", j->by_rule.radius_name, "radius, quantile",
             "samples", "exact");
    for (int i = 0; i < RULE_QUANTILES; i++)
        text_add(t, "  %-16.2f %10s %10s\n", j->by_rule.quantiles[i].probability,
                 judge_number(samples, 10, "%.4f", j->by_rule.quantiles[i].samples),
                 judge_number(exact, 10, "%.4f", j->by_rule.quantiles[i].exact));
}

jf_status judge_write(judgement *j, const model *m) {
    write_json(j, m);
    if (j->has_data)
        table_of_data(&j->table, j, m);
    else
        table_of_rule(&j->table, j, m);
    JF_TRY(text_check(j->ctx, &j->json));
    return text_check(j->ctx, &j->table);
}
