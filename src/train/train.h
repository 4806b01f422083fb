/* Training: phases of epochs of batches, with best weights kept, a history, checkpoints and exact resumption.
 */
#ifndef JF_TRAIN_TRAIN_H
#define JF_TRAIN_TRAIN_H

#include "data/dataset.h"
#include "jointflow/jointflow.h"
#include "model/model.h"
#include <stdint.h>

#define TRAIN_INTERVAL  0.25  /* seconds between two reports, for people who watch */
#define TRAIN_KS_POINTS 10000 /* of the latent histograms that are measured during training */

jf_status train_declare(recipe *r); /* keys of [train] */
/* All keys that a recipe may have. */
jf_status recipe_declare_all(recipe *r);

/* Units of the models that a recipe makes of these data; free with units_free. */
jf_status train_units(jf_context *ctx, model_units *out, const dataset *data, const recipe *r);
/* ---- train_run.c ---- */

/* Opens the data and creates a model of a recipe on a device that can train it: device, threads and seed of
 * the options. The data set is NULL for objectives that need none. */
jf_status train_open(jf_context *ctx, dataset **data, model **m, const recipe *r,
                     const jf_train_options *options);
/* Opens both, writes recipe.ini into the folder, trains, and writes model.safetensors. After JF_STOPPED *out
 * is the best model so far. */
jf_status train_recipe(jf_context *ctx, model **out, const recipe *r, const jf_train_options *options);

/* ---- train_condition_range.c ---- */

/* Of models of vectors with a continuous y: fills in m->units.condition_range. */
jf_status train_measure_condition_range(model *m, const dataset *data);

/* ---- loop.c ---- */

/* Trains `m`, which is fresh or resumed from the folder of the options. The context's progress callback is
 * called every `interval` seconds, when the device is read, and at the end of each epoch; 0: after each
 * batch. The result does not depend on the interval. JF_STOPPED if the callback returned non-zero: the
 * checkpoint is then written, and m holds the best weights so far. */
jf_status train_run(model *m, const dataset *data, const jf_train_options *options, double interval);

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
