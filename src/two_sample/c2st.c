/* Classifier two-sample test: how often a classifier tells rows of A from rows of B that it was not trained
 * on, by the definition of simulation-based inference: a network of two hidden layers of 10 dim ReLU units,
 * trained by Adam on four fifths of the rows until its loss stops improving; mean accuracy over the five
 * fifths that are left out in turn.
 *
 * All of that is scikit-learn's MLPClassifier with what it has by default, so that figures can be compared
 * with those of others: the start (Glorot), the rate, batches of 200, the penalty on weights, and when it
 * ends. Each fifth of each division is a task of its own; they run beside each other on the kernels of the
 * cpu device, with the same bits for any number of threads. */
#include "base/memory.h"
#include "compute/cpu/network.h"
#include "two_sample/two_sample.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5, BATCH = 200, ROOM = 204 /* whole tiles of rows */, MOST_EPOCHS = 1000, PATIENCE = 10 };
enum { DIVISIONS = 2 /* as asked, and one at random */ };
#define RATE      1e-3
#define PENALTY   1e-4
#define TOLERANCE 1e-4

typedef struct classifier {
    dense_net net;
    network t;
    network_weights weights;
    size_t w[3], b[3], count; /* parameters */
    float *params, *grad, *first, *second, *packed, *partial;
    float *h[4]; /* (ROOM, ld): input, hidden layers, logits */
    float *g[2];
    int *order; /* rows: those to train on, then those left out */
    size_t train, test;
    long steps;
    double accuracy;
} classifier;

typedef struct call {
    const two_samples *s;
    const cpu_kernels *k;
    classifier each[DIVISIONS * FOLDS];
} call;

/* ---- making one ---- */

static void place_parameters(classifier *c, int dim) {
    int width = 10 * dim, ins[3] = {dim, width, width}, outs[3] = {width, width, 1};
    c->net = (dense_net){
        .in = dim, .out = 1, .depth = 2, .width = width, .slope = 0 /* ReLU */, .w = c->w, .b = c->b};
    for (int i = 0; i < 3; i++) {
        c->w[i] = c->count;
        c->count += (size_t)ins[i] * (size_t)outs[i];
        c->b[i] = c->count;
        c->count += (size_t)outs[i];
    }
}

static jf_status alloc_buffers(jf_context *ctx, classifier *c) {
    size_t block = (size_t)ROOM * (size_t)c->t.ld + CPU_MAX_VECTOR;
    float **flat[] = {&c->params, &c->grad, &c->first, &c->second};
    for (int i = 0; i < 4; i++) JF_TRY(MEM_NEW(ctx, flat[i], c->count));
    for (int i = 0; i < 4; i++) JF_TRY(MEM_NEW(ctx, &c->h[i], block));
    for (int i = 0; i < 2; i++) JF_TRY(MEM_NEW(ctx, &c->g[i], block));
    JF_TRY(MEM_NEW(ctx, &c->packed, c->t.packed_count + CPU_MAX_VECTOR));
    return MEM_NEW(ctx, &c->partial, c->t.partial_count + CPU_MAX_VECTOR);
}

static void initialise(classifier *c, rng stream) {
    for (int i = 0; i < 3; i++) {
        int in = i ? c->net.width : c->net.in, out = i < 2 ? c->net.width : 1;
        double most = sqrt(6.0 / (in + out));
        for (size_t k = c->w[i]; k < c->b[i] + (size_t)out; k++)
            c->params[k] = (float)rng_range(&stream, -most, most);
    }
}

/* The rows are dealt into folds, the same ones in every division. */
static jf_status split(const two_samples *s, classifier *c, int fold) {
    size_t count = 2 * s->n, from = count * (size_t)fold / FOLDS, to = count * (size_t)(fold + 1) / FOLDS;
    int *dealt = NULL;
    JF_TRY(MEM_NEW(s->ctx, &c->order, count));
    JF_TRY(MEM_NEW(s->ctx, &dealt, count));
    for (size_t i = 0; i < count; i++) dealt[i] = (int)i;
    rng stream = compare_stream(s, COMPARE_FOLDS, 0);
    rng_shuffle(&stream, dealt, (int)count);
    c->test = to - from;
    c->train = count - c->test;
    memcpy(c->order, dealt, from * sizeof *dealt);
    memcpy(c->order + from, dealt + to, (count - to) * sizeof *dealt);
    memcpy(c->order + c->train, dealt + from, c->test * sizeof *dealt);
    free(dealt);
    return JF_OK;
}

static jf_status classifier_create(const two_samples *s, const cpu_kernels *k, classifier *c, int task) {
    place_parameters(c, s->dim);
    network_plan(&c->t, &c->net, k->vector);
    c->t.net = &c->net;
    JF_TRY(alloc_buffers(s->ctx, c));
    initialise(c, compare_stream(s, COMPARE_WEIGHTS, (uint64_t)task));
    return split(s, c, task % FOLDS);
}

static void classifier_free(classifier *c) {
    float *buffers[] = {c->params, c->grad, c->first, c->second, c->packed, c->partial,
                        c->h[0],   c->h[1], c->h[2],  c->h[3],   c->g[0],   c->g[1]};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) free(buffers[i]);
    free(c->order);
}

/* ---- using it ---- */

static void forward(const call *a, classifier *c, const int *rows, int n) {
    size_t dim = (size_t)a->s->dim, ld = (size_t)c->t.ld;
    for (int r = 0; r < n; r++)
        memcpy(c->h[0] + (size_t)r * ld, a->s->rows + (size_t)rows[r] * dim, dim * sizeof(float));
    network_forward(&c->t, &c->weights, a->k, NULL, n, c->h, 3);
}

static double label_of(const call *a, int division, int row) {
    return a->s->second[(size_t)row * COMPARE_DIVISIONS + (size_t)division];
}

static double squares_of_weights(const classifier *c) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        for (size_t k = c->w[i]; k < c->b[i]; k++) sum += (double)c->params[k] * c->params[k];
    return sum;
}

/* Loss of a batch and a step against its gradient. */
static double train_batch(const call *a, classifier *c, int division, const int *rows, int n) {
    double loss = 0.5 * PENALTY * squares_of_weights(c) / n;
    size_t ld = (size_t)c->t.ld;
    for (int i = 0; i < 3; i++) network_pack(&c->t, &c->weights, i, c->params, c->packed, 1);
    forward(a, c, rows, n);
    for (int r = 0; r < n; r++) {
        double logit = c->h[3][(size_t)r * ld], label = label_of(a, division, rows[r]);
        loss += (fmax(logit, 0) - logit * label + log1p(exp(-fabs(logit)))) / n;
        memset(c->g[0] + (size_t)r * ld, 0, sizeof(float) * (size_t)c->t.out_pad[2]);
        c->g[0][(size_t)r * ld] = (float)((1 / (1 + exp(-logit)) - label) / n);
    }
    memset(c->grad, 0, sizeof(float) * c->count);
    network_backward(&c->t, &c->weights, a->k, NULL, n, c->h, c->g[0], c->g[1], c->partial, 0, NULL);
    for (int i = 0; i < 3; i++) {
        network_reduce(&c->t, a->k, i, c->partial, c->t.partial_count, 1, c->grad);
        for (size_t k = c->w[i]; k < c->b[i]; k++) c->grad[k] += (float)(PENALTY / n) * c->params[k];
    }
    adam_numbers step = {.rate = RATE,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .epsilon = 1e-8,
                         .gradient_scale = 1,
                         .step = (double)++c->steps};
    a->k->adam(c->params, c->grad, c->first, c->second, c->count, &step);
    return loss;
}

static double test_accuracy(const call *a, classifier *c, int division) {
    const int *rows = c->order + c->train;
    double right = 0;
    for (int i = 0; i < 3; i++) network_pack(&c->t, &c->weights, i, c->params, c->packed, 0);
    for (size_t done = 0; done < c->test; done += BATCH) {
        int n = c->test - done < BATCH ? (int)(c->test - done) : BATCH;
        forward(a, c, rows + done, n);
        for (int r = 0; r < n; r++)
            right += (c->h[3][(size_t)r * (size_t)c->t.ld] > 0) ==
                     (label_of(a, division, rows[done + (size_t)r]) > 0);
    }
    return right / (double)c->test;
}

/* One fold of one division. */
static void run_fold(void *arg, int task, int worker) {
    (void)worker;
    call *a = arg;
    classifier *c = &a->each[task];
    int division = task / FOLDS, worse = 0;
    double best = INFINITY;
    for (int epoch = 0; epoch < MOST_EPOCHS && worse <= PATIENCE; epoch++) {
        double loss = 0;
        rng stream = compare_stream(a->s, COMPARE_ORDER, (uint64_t)task * MOST_EPOCHS + (uint64_t)epoch);
        rng_shuffle(&stream, c->order, (int)c->train);
        for (size_t done = 0; done < c->train; done += BATCH) {
            int n = c->train - done < BATCH ? (int)(c->train - done) : BATCH;
            loss += train_batch(a, c, division, c->order + done, n) * n / (double)c->train;
        }
        worse = loss > best - TOLERANCE ? worse + 1 : 0;
        if (loss < best) best = loss;
    }
    c->accuracy = test_accuracy(a, c, division);
}

static jf_status measure(const two_samples *s, jf_two_sample *out) {
    call *a;
    jf_status status;
    double accuracy[DIVISIONS] = {0};
    JF_TRY(MEM_NEW(s->ctx, &a, 1));
    a->s = s;
    JF_TRY_DONE(cpu_kernels_choose(s->ctx, &a->k));
    for (int i = 0; i < DIVISIONS * FOLDS; i++) JF_TRY_DONE(classifier_create(s, a->k, &a->each[i], i));
    pool_run(s->pool, DIVISIONS * FOLDS, run_fold, a);
    for (int i = 0; i < DIVISIONS * FOLDS; i++) accuracy[i / FOLDS] += a->each[i].accuracy / FOLDS;
    /* Each row is tested once: the accuracy of guessing, with the deviation of so many tosses. */
    *out = (jf_two_sample){
        .value = accuracy[0], .same = accuracy[1], .limit = 0.5 + 1.645 * sqrt(0.25 / (2 * (double)s->n))};
done:
    for (int i = 0; i < DIVISIONS * FOLDS; i++) classifier_free(&a->each[i]);
    free(a);
    return status;
}

const two_sample_measure measure_c2st = {
    .name = "c2st",
    .label = "C2ST",
    .about = "how often a classifier tells the two apart: 0.5 never, 1 always",
    .measure = measure,
};
