#include "train/bench.h"
#include "base/memory.h"
#include "model/use.h"
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the profile ---- */

static int by_falling_time(const void *a, const void *b) {
    double x = ((const jf_profile_part *)a)->ms, y = ((const jf_profile_part *)b)->ms;
    return (x < y) - (x > y);
}

/* What the device has measured since profile_start(), of one of `steps` steps. */
static jf_status read_profile(device *d, jf_profile *out, int steps) {
    profile_part part;
    int count = 0;
    while (d->kind->profile_read(d, count, &part)) count++;
    JF_TRY(MEM_NEW(d->ctx, &out->parts, (size_t)count));
    for (int i = 0; i < count; i++) {
        d->kind->profile_read(d, i, &part);
        if (part.calls == 0 && i < count - 1) continue;
        out->ms += 1e3 * part.seconds / steps;
        out->parts[out->count++] =
            (jf_profile_part){.name = part.name,
                              .calls = part.calls / steps,
                              .ms = 1e3 * part.seconds / steps,
                              .gflops = part.flops > 0 ? 1e-9 * part.flops / part.seconds : 0};
    }
    for (size_t i = 0; i < out->count; i++) out->parts[i].share = out->parts[i].ms / out->ms;
    qsort(out->parts, out->count - 1, sizeof *out->parts, by_falling_time); /* the last stays last */
    return JF_OK;
}

/* ---- the two measurements ---- */

/* Steps are repeated until the time is up; the first two warm the caches. As in training the host does not
 * wait for each of them: a device with a queue would idle meanwhile. */
typedef struct measurement {
    model *m;
    flow_run *run;
    training_step *step;
    int n, training;
    pass sampling; /* what samples are drawn by */
    double seconds;
    jf_profile *profile; /* NULL: not wanted */
} measurement;

/* Steps i .. i + count - 1, all of which are done when it returns. */
static jf_status take_steps(const measurement *k, int i, int count) {
    device *d = k->m->d;
    for (int end = i + count; i < end; i++) {
        d->kind->normal(d, k->run->state, k->n, k->m->flow->dim, (rng_key){k->m->seed, RNG_TEST, 0},
                        (uint64_t)i * (uint64_t)k->n);
        if (k->training)
            training_step_run(k->step);
        else
            model_run_pass(k->m, ROWS_OF_LATENT, k->run, &k->sampling, k->n);
    }
    return d->kind->status(d);
}

/* Whether to go on. Asked between steps, when nothing is queued and all can be freed, and not while a clock
 * runs: what the callback takes is not the device's time. */
static jf_status ask(const measurement *k, int done) {
    const char *phase = k->training ? "speed of training" : "speed of sampling";
    return context_poll(k->m->ctx, phase, (uint64_t)done, 0);
}

/* Steps to ask for at once: as many as take about 20 ms. */
static int steps_together(double seconds_each) {
    const double most = 64;
    double count = seconds_each > 0 ? 0.02 / seconds_each : most;
    return count < 1 ? 1 : count > most ? (int)most : (int)count;
}

static jf_status measure(const measurement *k, int *steps, double *samples_per_s) {
    device *d = k->m->d;
    const int warm_up = 2;
    JF_TRY(ask(k, 0));
    JF_TRY(take_steps(k, 0, warm_up - 1));
    JF_TRY(ask(k, 0)); /* the first step may have taken long */
    double start = now(), taken = 0;
    JF_TRY(take_steps(k, warm_up - 1, 1));
    int together = k->profile ? 1 : steps_together(now() - start);
    if (k->profile) JF_TRY(d->kind->profile_start(d));
    *steps = 0;
    do {
        JF_TRY(ask(k, *steps));
        start = now();
        JF_TRY(take_steps(k, warm_up + *steps, together));
        *steps += together;
        taken += now() - start;
    } while (taken < k->seconds);
    *samples_per_s = (double)*steps * k->n / taken;
    return k->profile ? read_profile(d, k->profile, *steps) : JF_OK;
}

static double peak_memory_mib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

void bench_result_free(jf_bench_result *r) {
    free(r->train_profile.parts);
    free(r->sample_profile.parts);
    r->train_profile = r->sample_profile = (jf_profile){0};
}

jf_status bench_run(model *m, const jf_bench_options *options, jf_bench_result *out) {
    optimiser opt = {0};
    training_step step = {0};
    flow_run *run = NULL;
    jf_status status;
    int steps, batch = options->batch > 0 && options->batch < INT_MAX
                           ? (int)options->batch
                           : (int)recipe_int(m->recipe, "train.batch");
    if (options->profile && !m->d->kind->profile_start)
        return jf_fail(m->ctx, JF_ERROR_DEVICE, "device %s: has no profile", m->d->kind->name);
    JF_TRY_DONE(optimiser_create(&opt, m));
    optimiser_set(&opt, m, &(train_readings){.step.schedule = {.base = 1e-6, .factor = 1}});
    JF_TRY_DONE(flow_run_create(&run, m->flow, m->params, opt.grad, batch, train_run_use(m)));
    run->pass.dropout = optimiser_dropout(&opt, m);
    JF_TRY_DONE(training_step_create(&step, m, run, &opt, batch));
    measurement k = {.m = m,
                     .run = run,
                     .step = &step,
                     .n = batch,
                     .training = 1,
                     .sampling = flow_measuring_pass(run),
                     .seconds = options->seconds > 0 ? options->seconds : BENCH_SECONDS,
                     .profile = options->profile ? &out->train_profile : NULL};
    if (options->sample_as_trained) k.sampling.precision = run->pass.precision;
    _Static_assert(sizeof out->device >= DEVICE_MAX_WORDS, "the device's description fits its field");
    device_describe(m->d, out->device);
    out->parameters = m->parameters.total;
    out->batch = batch;
    out->train_precision = precision_names[run->pass.precision];
    out->sample_precision = precision_names[k.sampling.precision];
    JF_TRY_DONE(measure(&k, &steps, &out->train_samples_per_s));
    out->steps = steps;
    k.training = 0;
    if (options->profile) k.profile = &out->sample_profile;
    JF_TRY_DONE(measure(&k, &steps, &out->sample_samples_per_s));
    JF_TRY_DONE(m->d->kind->status(m->d));
    out->peak_memory_mib = peak_memory_mib();
done:
    if (status != JF_OK) {
        bench_result_free(out);
        *out = (jf_bench_result){0};
    }
    if (step.m) training_step_free(&step);
    flow_run_free(run);
    optimiser_free(&opt, m);
    return status;
}
