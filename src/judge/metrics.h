/* The numbers that a judgement reports, each named here and nowhere else: the structs that hold them, what
 * they are before they are known, the JSON object, the table, the comparison of two judgements and the report
 * follow these lists. A new number is a line here and its value in the file that computes it. A line is
 *
 *     field of the struct, key of the JSON object, label of the table, format, use, what it is in a few words
 *
 * in the order of the table; without a label it is in the JSON object alone. All are NAN until they are
 * known. */
#ifndef JF_JUDGE_METRICS_H
#define JF_JUDGE_METRICS_H

#include "base/memory.h"

struct jf_judgement;

typedef enum metric_use {
    IF_KNOWN = 1, /* left out of tables where it is not known */
    RARE = 2,     /* and of the JSON object, which otherwise has null */
    OF_Y = 4,     /* left out of tables where y' is y by construction */
    COMPARED = 8, /* of two judgements */
    REPORTED = 16 /* in the table that the numbers of a report begin with */
} metric_use;

/* Nats, the data's units. A Gaussian is the linear one, x = W y + c + noise; the sampler's density is of what
 * is drawn, that of the whole map is log p_Z(F_Z) + log|det J_F|. */
#define DENSITY_METRICS(X)                                                                                   \
    X(nll, "nll", "nll", "%.4f", REPORTED, "mean of -log p(x|y), nats, the data's units")                    \
    X(nll_error, "nll_standard_error", "  standard error", "%.4f", 0,                                        \
      "of nll and gap, from the number of points")                                                           \
    X(nll_linear, "nll_linear_gaussian", "  of a linear Gaussian", "%.4f", IF_KNOWN,                         \
      "x = W y + c + noise, fitted to the training rows")                                                    \
    X(linear_gain, "gain_over_linear_gaussian", "  better than that by", "%.4f", IF_KNOWN, "")               \
    X(linear_error, "gain_standard_error", "    standard error", "%.4f", IF_KNOWN, "of the difference")      \
    X(training_nll, "nll_training", "  of training rows", "%.4f", IF_KNOWN,                                  \
      "the same mean over rows that it was trained on")                                                      \
    X(training_error, "nll_training_standard_error", NULL, NULL, 0, NULL)                                    \
    X(entropy, "entropy", "entropy", "%.4f", IF_KNOWN, "exact H(x|y): what a perfect model reaches")         \
    X(gap, "gap", "gap", "%.4f", IF_KNOWN | COMPARED | REPORTED,                                             \
      "nll - entropy: what the model still misses")                                                          \
    X(gap_sampler, "gap_sampler", "gap of the sampler", "%.4f", IF_KNOWN,                                    \
      "the same for the density that samples follow")                                                        \
    X(nll_sampler, "nll_sampler", NULL, NULL, 0, NULL)                                                       \
    X(nll_whole, "nll_whole_map", NULL, NULL, 0, NULL)                                                       \
    X(y_error, "y_error", "mean |F_Y' - y|", "%.2e", OF_Y | REPORTED,                                        \
      "the doubt of every density above: it assumes 0")                                                      \
    X(log_dy, "log_dy", "mean log|dF_Y'/dy|", "%.4f", OF_Y, "0 where y' follows y")

/* Beside the terms of the loss, which loss/terms.h lists. Bits are of bytes that were dequantised, at most.
 */
#define LOSS_METRICS(X)                                                                                      \
    X(gaussian, "gaussian_loss", "  of a Gaussian", "%.4f", IF_KNOWN,                                        \
      "the loss of one with the data's means and deviations")                                                \
    X(nats_per_dim, "nats_per_dim", "nats per dimension", "%.4f", COMPARED | REPORTED,                       \
      "(z + logdet)/dim, model units")                                                                       \
    X(bits_per_dim, "bits_per_dim", "bits per dimension", "%.4f", RARE | COMPARED,                           \
      "of bytes, by uniform dequantisation, at most")

#define ROUNDTRIP_METRICS(X)                                                                                 \
    X(roundtrip_data, "data", "round trip, data", "%.1e", COMPARED | REPORTED, "max |F^-1(F(x,y)) - (x,y)|") \
    X(roundtrip_latent, "latent", "round trip, latent", "%.1e", REPORTED, "max |F(F^-1(z,y)) - (z,y)|")

/* Chance: what N(0,1) itself would show over so many points and elements. Envelope: see latent_envelope. */
#define LATENT_METRICS(X)                                                                                    \
    X(median, "median", "latent KS, median", "%.4f", COMPARED, "distance of each latent element to N(0,1)")  \
    X(max, "max", "latent KS, worst", "%.4f", COMPARED | REPORTED, "")                                       \
    X(chance_max, "chance_max", "  by chance", "%.4f", 0, "the worst that a perfect model would show")       \
    X(p95, "p95", NULL, NULL, 0, NULL)                                                                       \
    X(chance_median, "chance_median", NULL, NULL, 0, NULL)                                                   \
    X(envelope, "envelope", "latent envelope", "%.4f", IF_KNOWN,                                             \
      "width of all histograms together, shares of N(0,1)")                                                  \
    X(chance_envelope, "chance_envelope", "  by chance", "%.4f", IF_KNOWN, "what a perfect model would show")

#define SAMPLE_METRICS(X)                                                                                    \
    X(energy, "energy_distance", "energy distance", "%.5f", REPORTED,                                        \
      "between samples and data, about 0 where they agree")                                                  \
    X(energy_denoised, "energy_distance_denoised", "  without noise", "%.5f", RARE,                          \
      "the same without that of training")

/* Of each class; of a few values of a continuous y the integral alone. */
#define CLASS_METRICS(X)                                                                                     \
    X(nll, "nll", "nll", "%.4f", 0, NULL)                                                                    \
    X(entropy, "entropy", "entropy", "%.4f", 0, NULL)                                                        \
    X(gap, "gap", "gap", "%.4f", 0, NULL)                                                                    \
    X(gap_sampler, "gap_sampler", NULL, NULL, 0, NULL)                                                       \
    X(integral, "integral", "integral", "%.4f", 0, NULL)                                                     \
    X(ks_max, "latent_ks_max", "worst KS", "%.4f", 0, NULL)                                                  \
    X(ks_chance, "latent_ks_chance_max", "by chance", "%.4f", 0, NULL)                                       \
    X(ks_median, "latent_ks_median", NULL, NULL, 0, NULL)

/* Of the rows of files that a model of classes is asked the class of. */
#define ARGMAX_METRICS(X)                                                                                    \
    X(share, "share", "class found by argmax", "%.4f", COMPARED,                                             \
      "the class c with the largest p(x, y = c) is theirs")                                                  \
    X(error, "error", "  standard error", "%.4f", 0, "")                                                     \
    X(chance, "chance", "  by chance", "%.4f", 0,                                                            \
      "the share of the class that is the most frequent in training")

/* Of image models. Intensities: units of the data. */
#define IMAGE_METRICS(X)                                                                                     \
    X(floor, "floor", "floor, nats per dim.", "%.4f", IF_KNOWN, "a linear-Gaussian model of the same data")  \
    X(psnr, "psnr", "PSNR, dB", "%.2f", IF_KNOWN | COMPARED,                                                 \
      "of degraded reconstructions against their input")                                                     \
    X(spread, "spread", "spread", "%.4f", IF_KNOWN, "deviation of the samples, mean over elements of x")     \
    X(coverage_50, "coverage_50", "coverage, 50%", "%.3f", IF_KNOWN | COMPARED,                              \
      "truth inside the samples' middle half")                                                               \
    X(coverage_90, "coverage_90", "coverage, 90%", "%.3f", IF_KNOWN | COMPARED, "and of their middle 90%")   \
    X(outside, "outside", "out of range", "%.4f", COMPARED,                                                  \
      "share of sampled pixels outside the data's range")                                                    \
    X(far_outside, "far_outside", "  beyond the noise", "%.4f", COMPARED,                                    \
      "by more than three deviations of it")                                                                 \
    X(far_validation, "far_outside_held_out", "  of held-out images", "%.4f", 0,                             \
      "beyond the noise, which they are given as samples have it")                                           \
    X(lowest, "lowest", "  lowest", "%.3f", 0, "")                                                           \
    X(highest, "highest", "  highest", "%.3f", 0, "")

/* Shares from 0 to 1, see quality.c; each is there of samples and of held-out images. */
#define QUALITY_METRICS(X)                                                                                   \
    X(recognised, "recognised", "recognised", "%.4f", IF_KNOWN | COMPARED,                                   \
      "the nearest training image is of their class")                                                        \
    X(precision, "precision", "precision", "%.4f", COMPARED,                                                 \
      "as near to a training image as its neighbour number " METRIC_TEXT(QUALITY_NEIGHBOURS))                \
    X(recall, "recall", "recall", "%.4f", COMPARED, "the same of training images, near to these")

/* Of models that were trained without data. */
#define RULE_METRICS(X)                                                                                      \
    X(divergence, "divergence", "divergence", "%.4f", IF_KNOWN | COMPARED,                                   \
      "KL of the samples from exp(-lambda d)/Z, nats")                                                       \
    X(error, "divergence_standard_error", "  standard error", "%.4f", IF_KNOWN | COMPARED,                   \
      "of it, from the number of points")

#define METRIC_TEXT(number)   METRIC_DIGITS(number)
#define METRIC_DIGITS(number) #number

/* The fields of a struct: DENSITY_METRICS(METRIC_FIELD) */
#define METRIC_FIELD(field, ...) double field;

typedef struct metric {
    const char *key, *label, *format, *about;
    unsigned use; /* metric_use */
    size_t place; /* in the struct that holds it */
} metric;

/* All of one struct. */
typedef struct metric_list {
    const metric *metrics;
    int count;
    size_t place; /* of the struct in a judgement */
} metric_list;

/* Lists whose numbers a judgement has once, in the order of the table; of images and their quality as they
 * are sampled. */
typedef enum metric_list_id {
    METRICS_OF_TERMS,
    METRICS_OF_DENSITY,
    METRICS_OF_LOSS,
    METRICS_OF_ROUNDTRIP,
    METRICS_OF_LATENT,
    METRICS_OF_SAMPLES,
    METRICS_OF_ARGMAX,
    METRICS_OF_IMAGE,
    METRICS_OF_QUALITY,
    METRICS_OF_RULE,
    METRIC_LISTS
} metric_list_id;
extern const metric_list metric_lists[METRIC_LISTS];
extern const metric_list class_metrics; /* of each class: place is of no use */

double metric_value(const metric *m, const void *base); /* base: the struct that the list is of */
static inline double metric_of_judgement(const metric_list *list, int i, const struct jf_judgement *j) {
    return metric_value(&list->metrics[i], (const char *)j + list->place);
}
void metrics_forget(const metric_list *list, void *base); /* NAN: not known */

#endif
