#include "judge/metrics.h"
#include "judge/judge.h"
#include <math.h>

#define LINE(type, field, key, label, format, use, about)                                                    \
    {key, label, format, about, use, offsetof(type, field)},
#define LIST(metrics, place)                                                                                 \
    { metrics, sizeof metrics / sizeof *metrics, place }

/* The whole and the error of y: a comparison shows no more of the terms. */
static const metric of_terms[] = {
    LINE(judgement, terms.value[TERM_TOTAL], "loss", "loss", "%.4f", COMPARED, "sum of the terms")
        LINE(judgement, terms.value[TERM_Y_ERROR], "distance", "y error", "%.2e", COMPARED, "")};

#define X(...) LINE(judgement, __VA_ARGS__)
static const metric of_density[] = {DENSITY_METRICS(X)};
static const metric of_loss[] = {LOSS_METRICS(X)};
static const metric of_roundtrip[] = {ROUNDTRIP_METRICS(X)};
static const metric of_samples[] = {SAMPLE_METRICS(X)};
#undef X
#define X(...) LINE(latent_fit, __VA_ARGS__)
static const metric of_latent[] = {LATENT_METRICS(X)};
#undef X
#define X(...) LINE(class_argmax, __VA_ARGS__)
static const metric of_argmax[] = {ARGMAX_METRICS(X)};
#undef X
#define X(...) LINE(image_judgement, __VA_ARGS__)
static const metric of_image[] = {IMAGE_METRICS(X)};
#undef X
#define X(...) LINE(image_quality, __VA_ARGS__)
static const metric of_quality[] = {QUALITY_METRICS(X)};
#undef X
#define X(...) LINE(rule_judgement, __VA_ARGS__)
static const metric of_rule[] = {RULE_METRICS(X)};
#undef X
#define X(...) LINE(class_judgement, __VA_ARGS__)
static const metric of_class[] = {CLASS_METRICS(X)};
#undef X

const metric_list metric_lists[METRIC_LISTS] = {
    [METRICS_OF_TERMS] = LIST(of_terms, 0),
    [METRICS_OF_DENSITY] = LIST(of_density, 0),
    [METRICS_OF_LOSS] = LIST(of_loss, 0),
    [METRICS_OF_ROUNDTRIP] = LIST(of_roundtrip, 0),
    [METRICS_OF_LATENT] = LIST(of_latent, offsetof(judgement, latent)),
    [METRICS_OF_SAMPLES] = LIST(of_samples, 0),
    [METRICS_OF_ARGMAX] = LIST(of_argmax, offsetof(judgement, argmax)),
    [METRICS_OF_IMAGE] = LIST(of_image, offsetof(judgement, image)),
    [METRICS_OF_QUALITY] = LIST(of_quality, offsetof(judgement, image.quality)),
    [METRICS_OF_RULE] = LIST(of_rule, offsetof(judgement, by_rule)),
};
const metric_list class_metrics = LIST(of_class, 0);

double metric_value(const metric *m, const void *base) {
    return *(const double *)((const char *)base + m->place);
}

void metrics_forget(const metric_list *list, void *base) {
    for (int i = 0; i < list->count; i++) *(double *)((char *)base + list->metrics[i].place) = NAN;
}
