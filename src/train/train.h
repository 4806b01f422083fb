/* Training: phases of epochs of batches, with best weights kept, a history, checkpoints and exact resumption.
 */
#ifndef JF_TRAIN_TRAIN_H
#define JF_TRAIN_TRAIN_H

#include "data/dataset.h"
#include "model/model.h"
#include <stdint.h>

/* Where a run stands; reported whenever the device was asked. */
typedef struct train_progress {
    const char *phase;
    int epoch, epochs; /* of this phase, from 1 */
    int batch, batches;
    int epoch_ended; /* the terms are then those of the whole epoch */
    long step;
    loss_terms terms; /* mean over the epoch so far */
    const objective_kind *objective;
    double best; /* best loss of this phase, INFINITY before the first epoch */
    double rate, seconds, seconds_left;
    double ks_median, ks_max; /* of the last measurement, NAN before */
    double held_out;          /* loss of held-out rows after the last epoch that ended; NAN: none */
    int best_epoch;           /* of the phase so far; 0: none */
    const model *model;       /* as it is, where an epoch has ended; NULL otherwise */
} train_progress;

typedef struct train_options {
    const char *folder; /* the run folder; NULL: nothing is written */
    int resume;
    int changed_data;  /* resuming goes on although the data are not those of the checkpoint */
    int deterministic; /* steps are taken in slices that ranks share: the same bits for any number of them */
    /* Seconds between two looks at what the device has done, and so between two reports; 0: after every
     * batch. Epochs end with one in any case. What becomes of the run does not depend on it. */
    double interval;
    /* positive: stop after the batch; negative: a failure, without saving; may be NULL */
    int (*progress)(void *user, const train_progress *p);
    void *user;
} train_options;

#define TRAIN_INTERVAL  0.25  /* for people who watch */
#define TRAIN_KS_POINTS 10000 /* of the latent histograms that are measured during training */

jf_status train_declare(recipe *r); /* keys of [train] */
/* All keys that a recipe may have. */
jf_status recipe_declare_all(recipe *r);

/* Units of the models that a recipe makes of these data; free with units_free. */
jf_status train_units(jf_context *ctx, model_units *out, const dataset *data, const recipe *r);
/* ---- run.c ---- */

typedef struct train_origin {
    const char *device_name; /* NULL: the default */
    int threads;             /* 0: as many as there are processors */
    uint64_t seed;
} train_origin;
/* Data and a fresh model of a recipe, for a device that can train it; the data set is NULL where the
 * objective does without. */
jf_status train_open(jf_context *ctx, dataset **data, model **m, const recipe *r, train_origin origin);
/* Opens both, writes recipe.ini into the folder, trains, and writes model.safetensors. JF_STOPPED as below:
 * *out is then the best model so far. */
jf_status train_recipe(jf_context *ctx, model **out, const recipe *r, train_origin origin,
                       const train_options *options);

/* ---- reach.c ---- */

/* Of models of vectors with a continuous y: fills in m->units.reach. */
jf_status train_measure_reach(model *m, const dataset *data);

/* ---- loop.c ---- */

/* Trains `m` (fresh, or to be resumed from its folder). JF_STOPPED where `progress` wanted it, or the
 * context's callback did while something was measured: the checkpoint is then written and m holds the best
 * weights so far. */
jf_status train_run(model *m, const dataset *data, const train_options *options);

/* ---- precision.c ---- */

/* What a device is asked to compute the products of a training step in. Whatever is measured meanwhile is in
 * PRECISION_FP32. */
precision train_precision(const model *m);
precision
train_products(const model *m); /* what it does: of dense networks they have the precision of float */
jf_status train_check_precision(const model *m); /* refuses one that the device does not have */
/* What a run of training passes is for. */
run_use train_run_use(const model *m);

/* ---- optimiser.c and step.c ---- */

/* What a device knows of a run that the host does not, until it reads it. All doubles: scalars of the device.
 */
typedef struct train_readings {
    loss_terms sums; /* of the epoch's batches so far */
    double drift;    /* of inputs recovered by inverting, in the first batch of the epoch */
    step_state step;
} train_readings;

/* The second half of a training step, after an objective has added to the gradient and to the terms; used by
 * the loop and by benchmarks. */
typedef struct optimiser {
    real *grad, *first, *second; /* flat, like the parameters */
    scalar *readings;            /* train_readings */
    int32_t *bounds;             /* (bounded) device map: which numbers have bounds, and */
    real *lo, *hi;               /* (bounded) which */
    size_t bounded;
    double clip; /* largest norm of the gradient, 0: any */
    double decay;
    real *decays; /* 1 of weights of networks, 0 of all others; NULL: there is no decay */
    double share;
    real *average; /* NULL: parameters are not averaged */
} optimiser;
/* With the recipe's clipping, weight decay and averaging. */
jf_status optimiser_create(optimiser *o, const model *m);
void optimiser_free(optimiser *o, const model *m);
scalar *optimiser_terms(const optimiser *o); /* (TERM_COUNT): for an objective to add to */
scalar *optimiser_drift(const optimiser *o); /* (1) */
/* What masks of a run's steps follow from: for run->pass, before the step is made. */
dropout_source optimiser_dropout(const optimiser *o, const model *m);
void optimiser_set(optimiser *o, const model *m, const train_readings *r);
/* Waits for the device; a failure of it is found here, too. */
jf_status optimiser_read(const optimiser *o, const model *m, train_readings *r);
/* Steps, keeps the bounds, clears the gradient; changes nothing once there was a fault (see compute/step.h).
 */
void optimiser_step(const optimiser *o, model *m);
/* A step of training on the batch that lies in run->state: the objective, its gradient, the optimiser. Always
 * the same calls of the device, which records them where it can. All of what it points to outlives it. */
typedef struct training_step {
    model *m;
    flow_run *run;
    const optimiser *opt;
    int n;
    device_recording *recording; /* NULL: none */
} training_step;
jf_status training_step_create(training_step *s, model *m, flow_run *run, const optimiser *opt, int n);
void training_step_free(training_step *s);
void training_step_run(training_step *s);
void optimiser_keep_bounds(const optimiser *o, model *m); /* brings the parameters into their bounds */

#endif
