/* A judgement as one JSON object, for programs. */
#include "base/number.h"
#include "io/json.h"
#include "judge/judge.h"
#include <math.h>

#define WORST_LISTED 10

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

static void add_metric(text *t, const metric *k, const void *base) {
    double value = metric_value(k, base);
    if (isfinite(value) || !(k->use & RARE)) field(t, k->key, value);
}

static void add_metrics(text *t, const metric_list *list, const void *base) {
    for (int i = 0; i < list->count; i++) add_metric(t, &list->metrics[i], base);
}

static void write_density(text *t, const judgement *j, const model *m) {
    char doubt[512];
    add_metrics(t, &metric_lists[METRICS_OF_DENSITY], j);
    if (j->image.enlarged_h)
        text_add(t, ", \"nll_of\": \"images of %d x %d, before others make them larger\"", m->units.image.h,
                 m->units.image.w);
    if (isfinite(j->linear_gain))
        text_add(t, ", \"linear_gaussian_fitted_to\": \"%s\"",
                 j->linear_crossed ? "other test rows" : "training rows");
    field(t, "sampler_lost", (double)j->lost); /* points that its mean leaves out */
    if (j->image_log_dy.samples) {
        field(t, "log_dy_samples", j->image_log_dy.samples);
        field(t, "log_dy_largest", j->image_log_dy.most);
    }
    judge_doubt(j, m, doubt, sizeof doubt);
    text_add(t, ", \"joint_to_be_trusted\": %s", doubt[0] ? "false" : "true");
    text_add(t, ", \"density\": \"%s\"", j->exact ? "exact" : "whole map");
    text_add(t, ", \"overfits\": %s", judge_is_overfit(j) ? "true" : "false");
}

static void write_advice(text *t, const judgement *j) {
    text_add(t, ", \"verdict\": [");
    for (int i = 0; i < JUDGE_ADVICE; i++) {
        text_add(t, "%s", i ? ", " : "");
        json_add_string(t, j->advice[i]);
    }
    text_add(t, "]");
}

static void write_terms(text *t, const judgement *j) {
    open_object(t, "terms", '{');
    for (int i = 0; i < TERM_COUNT; i++) field(t, loss_term_info[i].name, j->terms.value[i]);
    text_add(t, "}");
}

static void write_latent(text *t, const latent_fit *f) {
    open_object(t, "latent_ks", '{');
    add_metrics(t, &metric_lists[METRICS_OF_LATENT], f);
    field(t, "points", (double)f->points);
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
        if (m->units.classes)
            add_metrics(t, &class_metrics, row);
        else
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
    add_metrics(t, &metric_lists[METRICS_OF_ARGMAX], a);
    field(t, "rows", (double)a->rows);
    text_add(t, "}");
}

/* Of samples, each beside the same of held-out images. */
static void write_quality(text *t, const image_judgement *i) {
    const metric_list *list = &metric_lists[METRICS_OF_QUALITY];
    open_object(t, "quality", '{');
    field(t, "images", (double)i->quality.images);
    field(t, "training_images", (double)i->quality.training);
    field(t, "neighbours", QUALITY_NEIGHBOURS);
    for (int k = 0; k < list->count; k++) {
        char held_out[64];
        format_text(held_out, sizeof held_out, "%s_held_out", list->metrics[k].key);
        add_metric(t, &list->metrics[k], &i->quality);
        field(t, held_out, metric_value(&list->metrics[k], &i->held_out));
    }
    text_add(t, "}");
}

static void write_image(text *t, const char *name, const image_judgement *i) {
    open_object(t, name, '{');
    field(t, "inputs", i->inputs);
    field(t, "samples", i->samples);
    add_metrics(t, &metric_lists[METRICS_OF_IMAGE], i);
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
    const rule_judgement *r = &j->by_rule;
    open_object(t, "rule", '{');
    add_metrics(t, &metric_lists[METRICS_OF_TERMS], j);
    add_metrics(t, &metric_lists[METRICS_OF_RULE], r);
    if (isfinite(r->divergence)) {
        text_add(t, ", \"radius\": ");
        json_add_string(t, r->radius_name);
        open_object(t, "radial_quantiles", '[');
        for (int i = 0; i < RULE_QUANTILES; i++) {
            text_add(t, "%s{", i ? ", " : "");
            field(t, "probability", r->quantiles[i].probability);
            field(t, "samples", r->quantiles[i].samples);
            field(t, "exact", r->quantiles[i].exact);
            text_add(t, "}");
        }
        text_add(t, "]");
    }
    text_add(t, "}");
}

static void write_answers(text *t, const judgement *j, const model *m) {
    write_latent(t, &j->latent);
    add_metrics(t, &metric_lists[METRICS_OF_SAMPLES], j);
    if (j->classes) write_classes(t, j, m);
    if (j->argmax.rows) write_argmax(t, &j->argmax);
    if (j->calibration.rows) write_calibration(t, j, m);
    if (j->predictive.rows) write_predictive(t, j, m);
    if (j->image.inputs) write_image(t, "image", &j->image);
    if (j->denoised.inputs) write_image(t, "image_denoised", &j->denoised);
    field(t, "outside", (double)j->outside); /* rows left out: log p is -infinity */
    text_add(t, ", \"unseen\": %s", j->unseen ? "true" : "false");
}

void judge_write_json(const judgement *j, const model *m, text *out) {
    text_add(out, "{");
    if (j->has_data) {
        write_density(out, j, m);
        write_advice(out, j);
        add_metrics(out, &metric_lists[METRICS_OF_LOSS], j);
        text_add(out, ", \"worse_than_gaussian\": %s", j->worse ? "true" : "false");
    }
    write_terms(out, j);
    open_object(out, "roundtrip", '{');
    add_metrics(out, &metric_lists[METRICS_OF_ROUNDTRIP], j);
    text_add(out, "}");
    if (j->has_data)
        write_answers(out, j, m);
    else
        write_rule(out, j);
    field(out, "points", (double)j->points);
    text_add(out, "}");
}
