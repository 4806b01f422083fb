#include "train/phases.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double share_none(int epoch, int epochs) {
    (void)epoch, (void)epochs;
    return 0;
}
static double share_rising(int epoch, int epochs) {
    return (double)epoch / epochs;
}
static double share_all(int epoch, int epochs) {
    (void)epoch, (void)epochs;
    return 1;
}

/* 1. the prior itself, until it stops improving; 2. data annealed in; 3. data, until it stops improving */
const phase phases[] = {
    {"precondition", "train.precondition", "train.precondition_patience", "train.precondition_batches",
     share_none, 1, 0},
    {"anneal", "train.anneal", NULL, "train.batches", share_rising, 1, 0},
    {"train", "train.epochs", "train.patience", "train.batches", share_all, 0, 1},
};
const int phase_count = sizeof phases / sizeof *phases;

static const recipe_key keys[] = {
    {"train", "batch", KEY_INT, "1000", 1, 1e6, NULL, "Samples per batch."},
    {"train", "batches", KEY_INT, "40", 1, 1e6, NULL,
     "Batches per epoch, for generated data; a file's epoch is its rows once (see train.rows)."},
    {"train", "rows", KEY_INT, "0", 0, 1e9, NULL,
     "Rows of a file that make an epoch, others in every epoch; 0: all of them."},
    {"train", "rate", KEY_REAL, "1e-4", 1e-9, 1, NULL, "Learning rate of Adam."},
    {"train", "decay", KEY_CHOICE, "constant", 0, 0, "constant cosine",
     "Rate over the epochs of the train phase: constant, or falling to zero along a half cosine."},
    {"train", "warmup", KEY_INT, "0", 0, 1e6, NULL,
     "Steps over which the rate rises from zero at the start."},
    {"train", "clip", KEY_REAL, "0", 0, 1e9, NULL, "Largest norm of the gradient, 0: no clipping."},
    {"train", "precondition", KEY_INT, "100", 0, 1e6, NULL,
     "Epochs, at most, on x and y from N(0,1) before any data; 0: skip."},
    {"train", "precondition_batches", KEY_INT, "20", 1, 1e6, NULL,
     "Batches per epoch of the precondition phase."},
    {"train", "precondition_patience", KEY_INT, "10", 0, 1e6, NULL,
     "Epochs without improvement that end the precondition phase; 0: never."},
    {"train", "anneal", KEY_INT, "10", 0, 1e6, NULL, "Epochs over which the data replace N(0,1); 0: skip."},
    {"train", "epochs", KEY_INT, "500", 1, 1e6, NULL, "Epochs, at most, on the data."},
    {"train", "patience", KEY_INT, "10", 0, 1e6, NULL,
     "Epochs without improvement that end training; 0: never."},
    {"train", "noise", KEY_REAL, "0", 0, 0.9, NULL,
     "Dequantising noise alpha: (x,y) <- (1-alpha)(x,y) + alpha N(0,1)."},
    {"train", "y_noise", KEY_REAL, "0", 0, 10, NULL,
     "Deviation of noise added to y alone (model units), so that discrete labels show the loss how y' "
     "depends on y."},
    {"train", "validation", KEY_INT, "20000", 1, 1e9, NULL,
     "Held-out rows, at most, whose loss is measured after every epoch."},
    {"train", "ks_every", KEY_INT, "5", 0, 1e6, NULL,
     "Epochs between measurements of the latent histograms; 0: never."},
    {"train", "keep", KEY_REAL, "auto", 0, 1e6, "auto",
     "MiB that may hold activations for the backward pass; beyond, they are computed twice. 0: always twice. "
     "auto: 700; on a device with memory of its own a fifth of that, at most 6144."},
    {"train", "checkpoint", KEY_REAL, "60", 0, 1e6, NULL, "Seconds between checkpoints."},
    {"train", "precision", KEY_CHOICE, "auto", 0, 0, "auto fp32 tf32 bf16",
     "What the products of image networks are computed in while training; auto: what serves best on the "
     "device. All else, dense networks and all use of the model, is fp32."},
    {"train", "weight_decay", KEY_REAL, "0", 0, 100, NULL,
     "Decay of the networks' weights beside each step, times the rate (AdamW); 0: none."},
    {"train", "average", KEY_REAL, "0", 0, 0.999999, NULL,
     "Share that averaged weights keep at each step, such as 0.999: the held-out loss is theirs, and so is "
     "the model. "
     "0: weights as they are."},
    {"train", "classes", KEY_CHOICE, "turns", 0, 0, "turns mixed",
     "Data with classes: turns: a batch is of one class, and classes take turns (the paper); mixed: a batch "
     "is of any."},
    {0},
};

jf_status train_declare(recipe *r) {
    return recipe_declare(r, keys, NULL);
}

/* Data belong to the objectives that learn from them. Which it is may still change (recipe_set), so this is a
 * condition of the keys. */
jf_status recipe_declare_all(recipe *r) {
    JF_TRY(model_declare(r));
    JF_TRY(train_declare(r));
    for (int i = 0; objective_kinds[i]; i++) {
        char only_if[64];
        snprintf(only_if, sizeof only_if, "loss.objective=%s", objective_kinds[i]->name);
        if (objective_kinds[i]->from_data) JF_TRY(dataset_declare(r, only_if));
    }
    return JF_OK;
}

int phase_epochs(const phase *p, const model *m) {
    if (p->needs_data && !m->objective.kind->from_data) return 0;
    return recipe_int(m->recipe, p->epochs_key);
}

int phase_patience(const phase *p, const model *m) {
    return p->patience_key ? recipe_int(m->recipe, p->patience_key) : 0;
}

/* A file's epoch is every row once, or train.rows of them (each class's share of those): whole batches of one
 * class each where there are classes, remainders dropped. */
static int file_batches(const model *m, const dataset *data, int batch, int by_class, int c) {
    long rows = by_class ? data->class_start[c + 1] - data->class_start[c] : data->rows;
    double wanted = recipe_int(m->recipe, "train.rows"), share = wanted / (double)data->rows;
    if (wanted > 0 && share < 1) rows = lround((double)rows * share);
    return (int)(rows / batch);
}

int phase_class_batches(const model *m, const dataset *data, int class_index) {
    return file_batches(m, data, recipe_int(m->recipe, "train.batch"), 1, class_index);
}

int phase_by_class(const model *m, const dataset *data) {
    return data->classes > 0 && m->units.dim_y > 0 && recipe_is(m->recipe, "train.classes", "turns");
}

int phase_batches(const phase *p, const model *m, const dataset *data) {
    int batch = recipe_int(m->recipe, "train.batch");
    if (!data || data->rows == 0 || p->data_share == share_none) return recipe_int(m->recipe, p->batches_key);
    int total = 0;
    if (phase_by_class(m, data))
        for (int c = 0; c < data->classes; c++) total += file_batches(m, data, batch, 1, c);
    else
        total = file_batches(m, data, batch, 0, 0);
    return total > 0 ? total : 1;
}

rate_schedule phase_schedule(const phase *p, const model *m, int batches, double steps_before,
                             double factor) {
    const recipe *r = m->recipe;
    rate_schedule s = {.base = recipe_real(r, "train.rate"),
                       .factor = factor,
                       .warmup = recipe_int(r, "train.warmup"),
                       .decay_from = steps_before};
    if (p->decays && recipe_is(r, "train.decay", "cosine"))
        s.decay_steps = (double)phase_epochs(p, m) * batches;
    return s;
}
