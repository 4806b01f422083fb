/* Two judgements of the same points, number by number. */
#include "judge/pack.h"
#include <math.h>

typedef struct compared {
    const char *label, *format;
    double before, after;
} compared;

enum { COMPARED = 18 };

static void rows_of(const judgement *a, const judgement *b, compared rows[COMPARED]) {
    const compared all[COMPARED] = {
        {"loss", "%.4f", a->terms.value[TERM_TOTAL], b->terms.value[TERM_TOTAL]},
        {"bits per dimension", "%.4f", a->bits_per_dim, b->bits_per_dim},
        {"nats per dimension", "%.4f", a->has_data ? a->nats_per_dim : NAN,
         b->has_data ? b->nats_per_dim : NAN},
        {"y error", "%.2e", a->terms.value[TERM_Y_ERROR], b->terms.value[TERM_Y_ERROR]},
        {"gap", "%.4f", a->has_data ? a->nll - a->entropy : NAN, b->has_data ? b->nll - b->entropy : NAN},
        {"divergence", "%.4f", a->has_data ? NAN : a->by_rule.divergence,
         b->has_data ? NAN : b->by_rule.divergence},
        {"  standard error", "%.4f", a->has_data ? NAN : a->by_rule.error,
         b->has_data ? NAN : b->by_rule.error},
        {"round trip, data", "%.1e", a->roundtrip_data, b->roundtrip_data},
        {"latent KS, median", "%.4f", a->has_data ? a->latent.median : NAN,
         b->has_data ? b->latent.median : NAN},
        {"latent KS, worst", "%.4f", a->has_data ? a->latent.max : NAN, b->has_data ? b->latent.max : NAN},
        {"PSNR, dB", "%.2f", a->image.psnr, b->image.psnr},
        {"coverage, 50%", "%.3f", a->image.coverage_50, b->image.coverage_50},
        {"coverage, 90%", "%.3f", a->image.coverage_90, b->image.coverage_90},
        {"far out of range", "%.4f", a->image.inputs ? a->image.far_outside : NAN,
         b->image.inputs ? b->image.far_outside : NAN},
        {"class found by argmax", "%.4f", a->argmax.rows ? a->argmax.share : NAN,
         b->argmax.rows ? b->argmax.share : NAN},
        {"recognised", "%.4f", a->image.quality.recognised, b->image.quality.recognised},
        {"precision", "%.4f", a->image.quality.precision, b->image.quality.precision},
        {"recall", "%.4f", a->image.quality.recall, b->image.quality.recall},
    };
    for (int i = 0; i < COMPARED; i++) rows[i] = all[i];
}

void judgements_compare(const judgement *before, const judgement *after, text *out) {
    compared rows[COMPARED];
    char a[JUDGE_MAX_NUMBER], b[JUDGE_MAX_NUMBER];
    rows_of(before, after, rows);
    text_add(out, "  %-22s %12s %12s\n", "", "whole", "half");
    for (int i = 0; i < COMPARED; i++)
        if (isfinite(rows[i].before) || isfinite(rows[i].after))
            text_add(out, "  %-22s %12s %12s\n", rows[i].label,
                     judge_number(a, 12, rows[i].format, rows[i].before),
                     judge_number(b, 12, rows[i].format, rows[i].after));
}

double judgements_worse_by(const judgement *before, const judgement *after, int dim_x) {
    return (after->terms.value[TERM_TOTAL] - before->terms.value[TERM_TOTAL]) / dim_x;
}
