/* Judging a model: how well it fits, and how far its answers are to be trusted. One file per question. */
#ifndef JF_JUDGE_JUDGE_H
#define JF_JUDGE_JUDGE_H

#include "jointflow/jointflow.h"

#include "base/memory.h"
#include "data/dataset.h"
#include "inference/images.h"
#include "judge/calibration.h"
#include "judge/metrics.h"
#include "judge/predictive.h"
#include "model/model.h"
#include "model/use.h"

/* Up to here densities come from the Jacobian; beyond, the whole map's log-determinant stands in. */
#define JUDGE_EXACT_DIM 24

/* ---- density.c: log p(x | y) in nats, model units ---- */
typedef struct densities {
    double *paper;   /* (n) log p_Z(F_Z) + log|det dF_Z/dx| at (x, y) */
    double *sampler; /* (n) of what the sampler draws: at (x, y*) with F_Y'(x, y*) = y; NAN where y* was not
                        found, or has no density */
    double *whole;   /* (n) log p_Z(F_Z) + log|det J_F| */
    double y_error;  /* mean |F_Y' - y| per element */
    double log_dy;   /* mean log|det dF_Y'/dy|; NAN where it is not exact */
    long lost;       /* rows of `sampler` that are NAN */
    long singular;   /* first row whose log|det dF_Y'/dy| is not finite, from 0; -1: none */
    long outside;    /* rows outside of the support of x, whose log-densities are -infinity and which the rest
                        leaves out */
    int exact;
} densities;
jf_status densities_create(const model *m, densities *out, long n, const double *xy, int with_sampler);
/* Of rows that were encoded already, by the whole map's log-determinant. */
jf_status densities_of_encoded(const model *m, densities *out, long n, const double *xy,
                               const double *encoded, const double *logdet);
/* Circular elements of x: a density is the sum over all turns that lead to the same place; xy as above. Adds
 * the turn before and the turn after, of each circular element alone. */
jf_status densities_add_turns(const model *m, densities *d, long n, const double *xy);
/* inside.c: where x has cut columns, all densities are divided by the share of the flow that is inside. */
jf_status densities_divide_by_inside(const model *m, densities *d, long n, const double *xy);
/* density.c: both, for whoever asks for the density of what is sampled. */
jf_status densities_on_supports(const model *m, densities *d, long n, const double *xy);
/* From model units to the data's, by the maps' Jacobians at the rows xy (n, dim) in model units. */
void densities_to_data_units(const model *m, densities *d, long n, const double *xy);
/* Refuses densities that are not finite, naming the row. */
jf_status densities_check(const model *m, const densities *d, long n);
int densities_are_exact(const model *m); /* from the Jacobian */
/* Whether no Jacobian is needed: y is untouched, or made of y alone with a log-determinant that is known
 * apart. y' is then y. */
int judge_keeps_y(const flow *f);
/* density_rows.c: all of the above for rows (n, dim) in either units, which are overwritten. Rows may lie
 * outside of the support of x; their y has to be inside of its own. */
jf_status densities_of_rows(const model *m, densities *out, row_units units, long n, double *rows,
                            int with_sampler);
/* The same as log_p (n) and, where it is not NULL, their summary; refuses a y outside of its support. */
jf_status density_of_rows(const model *m, row_units units, long n, double *rows, double *log_p,
                          jf_density_summary *summary);
void densities_free(densities *d);
double log_abs_det(double *a, int n); /* overwrites a (n, n) */

/* ---- latent.c ---- */
typedef struct latent_fit {
    int elements;
    double *ks; /* (elements) */
    int *order; /* elements by falling ks */
    LATENT_METRICS(METRIC_FIELD)
    long points;
} latent_fit;
jf_status latent_fit_create(jf_context *ctx, latent_fit *out, const double *state, long n, int dim,
                            int dim_x);
void latent_fit_free(latent_fit *f);
/* How far the histograms of all elements lie apart: between -2 and 2, the distance of the 2.5% and the 97.5%
 * quantile over the elements of their densities, mean over the bins, divided by that of the prior's density;
 * a few elements that miss the prior altogether do not count. `chance`: what N(0,1) itself would show. NAN of
 * less than 20 elements. */
jf_status latent_envelope(jf_context *ctx, const double *state, long n, int dim, int dim_x, double *width,
                          double *chance);

/* ---- checks.c: round trips, largest difference, model units ---- */
jf_status roundtrip_errors(const model *m, long n, const double *xy, uint64_t seed, double *data,
                           double *latent);

/* Integral over x (two dimensions) of the density at one y, model units */
jf_status density_integral(const model *m, double y, const double lo[2], const double hi[2], double *paper);

/* Energy distance (n^2 pairs) between fresh data and samples at the same y, over (x, y), model units;
 * denoised: of samples without the noise of training, and so data without */
jf_status sample_distance(const model *m, long n, const double *xy, uint64_t seed, int denoised,
                          double *distance);

/* ---- judge.c ---- */
typedef struct class_judgement {
    double label;
    char name[MAX_CLASS_NAME];
    CLASS_METRICS(METRIC_FIELD)
} class_judgement;

#define RULE_QUANTILES 5
typedef struct rule_quantile {
    double probability, samples, exact; /* radius of the samples, and of the target */
} rule_quantile;
/* Of models that were trained without data. */
typedef struct rule_judgement {
    RULE_METRICS(METRIC_FIELD)
    const char *radius_name; /* this and the quantiles: only where the divergence is known */
    rule_quantile quantiles[RULE_QUANTILES];
} rule_judgement;

/* ---- log_dy.c: of image models, over a few rows ---- */
typedef struct log_dy_judgement {
    int samples;       /* 0: none */
    double mean, most; /* of log|det dF_Y'/dy|, and the largest in size, nats */
} log_dy_judgement;
jf_status image_log_dy(const model *m, long n, const double *rows,
                       log_dy_judgement *out); /* rows: model units */

/* ---- image.c: how far samples spread, and how often the truth is among them ---- */

/* The k-th and the (n + 1 - k)-th of n samples enclose the truth with probability (n + 1 - 2k)/(n + 1) if it
 * comes from the same distribution: of 39 samples with 1/2 for k = 10 and 9/10 for k = 2. */
#define COVERAGE_SAMPLES 39
#define COVERAGE_HALF    10 /* k of the middle 50% */
#define COVERAGE_NINETY  2  /* and of the middle 90% */

/* Sums over elements, each with samples of its own. */
typedef struct coverage {
    double spread;       /* standard deviations of the samples */
    double half, ninety; /* how often the truth was within the middle 50% and 90% */
    double elements;
} coverage;
void coverage_add(coverage *c, double samples[COVERAGE_SAMPLES], double truth); /* sorts them */

/* ---- quality.c: images of classes beside real ones, by nearest neighbours in the space of pixels ---- */

#define QUALITY_NEIGHBOURS 3     /* k of precision and recall */
#define QUALITY_TRAINING   60000 /* training images that classify, at most */

typedef struct image_quality {
    long images, training; /* that were judged, and that classified them */
    QUALITY_METRICS(METRIC_FIELD)
    double by_class[MAX_CLASSES]; /* share that is recognised, of each class */
} image_quality;
image_quality quality_unknown(void);
/* Of images (n, pixels of the task) and the class of each (n), or NULL: they are of none. */
jf_status quality_of_images(const model *m, const dataset *data, long n, const double *images,
                            const int *class_of, image_quality *out);
/* Precision and recall alone, of any points: judged (n, dim) beside real ones; NAN where there are too few.
 */
jf_status precision_and_recall(device *d, int dim, long n, const double *judged, long real_count,
                               const double *reals, image_quality *out);

#define IMAGE_INPUTS 64
#define CLASS_INPUTS                                                                                         \
    (IMAGE_INPUTS * COVERAGE_SAMPLES) /* of class models: one sample of each, since there is no truth */
#define NOISE_MARGINS                                                                                        \
    3 /* out of range by more than so many deviations of the noise: more than noise explains */
typedef struct image_judgement {
    int inputs, samples; /* so many held-out images, and samples of each */
    IMAGE_METRICS(METRIC_FIELD)
    int enlarged_h,
        enlarged_w; /* size of what was judged, where other models made it larger; 0: they did not */
    image_quality quality, held_out; /* of samples of classes, and of held-out images with the same noise */
} image_judgement;

/* ---- argmax.c: of models of classes, on rows of files ---- */
typedef struct class_argmax {
    long rows; /* 0: not judged */
    ARGMAX_METRICS(METRIC_FIELD)
} class_argmax;

#define SHEET_EACH   10 /* samples of a class that a report shows */
#define JUDGE_ADVICE 3
typedef struct jf_judgement judgement; /* public name: jf_judgement */
struct jf_judgement {
    jf_context *ctx;
    long points, available; /* how many it was judged on, and how many there are */
    int has_data;           /* judged against data; otherwise by rule */
    int unseen;             /* on points that training never saw: fresh, or held out */
    DENSITY_METRICS(METRIC_FIELD)
    log_dy_judgement image_log_dy;
    long lost;    /* points without a density of the sampler */
    long outside; /* rows to test on that were left out: their x is outside of its support, where log p is
                     -infinity */
    int exact;
    loss_terms terms;
    LOSS_METRICS(METRIC_FIELD)
    int worse;          /* the loss is worse than that of a Gaussian: the model learned nothing */
    int linear_crossed; /* the linear Gaussian was fitted to the other rows of the test set: those trained on
                           are not at hand */
    ROUNDTRIP_METRICS(METRIC_FIELD)
    latent_fit latent;
    SAMPLE_METRICS(METRIC_FIELD)
    int classes; /* rows of `by_class`: labels, or a few values of a continuous y (entropy and nll then NAN)
                  */
    class_judgement by_class[MAX_CLASSES];
    class_argmax argmax;
    rule_judgement by_rule;
    image_judgement image;
    image_judgement denoised; /* the same of samples without the noise of training; inputs 0: not asked for */
    /* Where other models made samples larger: the first SHEET_EACH of each class, for the report, and how
     * many. */
    image_array sheet; /* (classes, SHEET_EACH); count 0: they did not */
    int sheet_each[MAX_CLASSES];
    double *clean; /* (points, dim): fresh points, the data's units */
    double *data,
        *encoded;  /* (points, dim): the same as the model saw them (noised) and their images, model units */
    int *class_of; /* (points): class of each; NULL: there are none */
    calibration calibration; /* rows 0: images, or too few points */
    char *calibration_words; /* NULL: not judged */
    predictive predictive;   /* rows 0: there was no simulator */
    char *predictive_words;
    char *advice[JUDGE_ADVICE]; /* sentences: how good it is, whether calibrated, what to do; NULL: by rule */
    text json, table;
};
#define JUDGE_POINTS      50000
#define JUDGE_RULE_POINTS 1000000 /* cheap, and few say nothing of some hundredths of a nat */
/* The rows to judge on: fresh points of a generated set; of a file its held-out rows, or all where none are
 * held out, in a random order that is the same for every seed. */
row_sequence judged_rows(const dataset *data, uint64_t seed);
#define JUDGE_LEAST_TEMPERATURE 1e-6
static inline double judge_temperature(const jf_judge_options *q) {
    return q->temperature > 0 ? q->temperature : 1;
}
/* The data to judge on: those of the recipe, or what is to be tested on made as it says. */
jf_status judge_open_data(const model *m, const recipe *r, dataset **out, const jf_judge_options *q);
jf_status judge_create(const model *m, judgement **out, const jf_judge_options *q);
jf_status judge_run(const model *m, judgement **out, long points, uint64_t seed); /* all else as by default */
/* Encoded points and their latent histograms alone, without words. */
jf_status judge_latent(const model *m, judgement **out, long points, uint64_t seed);
void judge_free(judgement *j);
/* Whether a table of this model shows a number. */
int judge_shows(const metric *k, const model *m, double value);
jf_status judge_write(judgement *j, const model *m);                   /* fills in json and table */
void judge_write_json(const judgement *j, const model *m, text *out);  /* judge_json.c */
void judge_write_table(const judgement *j, const model *m, text *out); /* judge_table.c */
/* A number for a table, in at most `width` characters whatever its size: by the format, or in powers of ten;
 * "unknown" where it is not finite. */
#define JUDGE_MAX_NUMBER 64
const char *judge_number(char out[JUDGE_MAX_NUMBER], int width, const char *format, double value);
/* "The loss is 9e+14, worse than ..."; "" where it is not. */
void judge_warning(const judgement *j, char *out, size_t size);
/* Why a joint model is not to be trusted: its y' is loose; "" where there is no doubt. */
#define JUDGE_LOOSE_DY 0.05 /* nats of log|det dF_Y'/dy| */
#define JUDGE_LOOSE_Y  0.05 /* deviations of y */
void judge_doubt(const judgement *j, const model *m, char *out, size_t size);

/* ---- advice.c: what a judgement begins with, once all else is known ---- */
jf_status judge_advise(judgement *j, const model *m);
/* 1, -1: nll is better, or worse, than that of a linear Gaussian by more than two standard errors; 0:
 * neither, or unknown. */
int judge_against_linear(const judgement *j);

/* ---- overfit.c: of vectors ---- */
#define OVERFIT_ERRORS 3 /* standard errors, and */
#define OVERFIT_NATS                                                                                         \
    0.1 /* nats by which held-out rows are less likely than those trained on, where a model overfits */
jf_status judge_overfit(judgement *j, const model *m, const dataset *data, uint64_t seed);
int judge_is_overfit(const judgement *j);

/* ---- linear.c: of vectors; log_p (points) of the model, its units ---- */
/* Rows to train on (n, dim), model units; yours to free. */
jf_status judge_training_rows(const model *m, const dataset *data, long n, uint64_t seed, double **out);
jf_status judge_linear(judgement *j, const model *m, const dataset *data, const double *log_p, uint64_t seed);

/* ---- argmax.c ---- */
jf_status judge_argmax(judgement *j, const model *m, const dataset *data);

/* ---- judge_image.c, floor.c: questions to image models ---- */
/* How many images to draw samples for: as many as were asked for, or `most`, but no more than points. */
int judged_inputs(const judgement *j, const jf_judge_options *q, int most);
jf_status judge_image(judgement *j, const model *m, const dataset *data, const jf_judge_options *q);
jf_status gaussian_floor(const model *m, const dataset *data, double *nats_per_dim); /* NAN: not to be had */

/* ---- report.c: pictures and report.html ---- */
jf_status report_write(const model *m, const judgement *j, const char *folder);

#endif
