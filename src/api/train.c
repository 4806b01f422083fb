/* Public: training, judging, reports, speed. */
#include "api/api.h"
#include "train/bench.h"
#include "train/memory.h"
#include <stdlib.h>

static void relay_progress(void *user, const train_progress *p) {
    const jf_train_options *o = user;
    jf_term terms[TERM_COUNT];
    for (int i = 0; i < TERM_COUNT; i++)
        terms[i] = (jf_term){.name = loss_term_info[i].name,
                             .about = loss_about(p->objective, (term_id)i),
                             .value = p->terms.value[i],
                             .part = loss_term_info[i].role == TERM_IS_PART};
    jf_progress progress = {.phase = p->phase,
                            .epoch = p->epoch,
                            .epochs = p->epochs,
                            .batch = p->batch,
                            .batches = p->batches,
                            .epoch_ended = p->epoch_ended,
                            .step = p->step,
                            .term_count = TERM_COUNT,
                            .terms = terms,
                            .best = p->best,
                            .rate = p->rate,
                            .seconds = p->seconds,
                            .seconds_left = p->seconds_left,
                            .ks_median = p->ks_median,
                            .ks_max = p->ks_max};
    o->progress(o->user, &progress);
}

/* Opens data and model of a recipe (the data set is NULL where the objective does without). */
static jf_status open_run(jf_context *ctx, const recipe *r, const jf_device_options *options, uint64_t seed,
                          dataset **data, model **m) {
    model_units units = {0};
    *data = NULL;
    *m = NULL;
    jf_status status;
    JF_TRY(recipe_check(r));
    if (loss_kind(r)->from_data) JF_TRY(dataset_open(ctx, data, r));
    JF_TRY_DONE(train_units(ctx, &units, *data, r));
    JF_TRY_DONE(
        model_create(ctx, m, r, &units, options->device, options->threads, &(model_origin){.seed = seed}));
done:
    units_free(&units);
    if (status != JF_OK) {
        dataset_free(*data);
        *data = NULL;
    }
    return status;
}

static jf_status write_into(const model *m, const char *folder, const char *name, int as_recipe) {
    char *path;
    text t = {0};
    JF_TRY(file_join(m->ctx, &path, folder, name));
    jf_status status;
    if (as_recipe) {
        recipe_write(m->recipe, &t, 0);
        status = text_check(m->ctx, &t);
        if (status == JF_OK) status = file_write(m->ctx, path, t.chars, t.length);
    } else {
        status = model_save(m, path);
    }
    text_free(&t);
    free(path);
    return status;
}

jf_status jf_train(jf_context *ctx, jf_model **out, const jf_recipe *r, const jf_train_options *options) {
    static const jf_train_options defaults;
    dataset *data = NULL;
    model *m = NULL;
    jf_status status, trained;
    if (!options) options = &defaults;
    *out = NULL;
    train_options inner = {.folder = options->folder,
                           .resume = options->resume,
                           .stop = options->stop,
                           .interval = TRAIN_INTERVAL,
                           .progress = options->progress ? relay_progress : NULL,
                           .user = (void *)options};
    if (options->resume && !options->folder)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "a run to resume: no folder was given");
    JF_TRY_DONE(open_run(ctx, r, &options->device, options->seed, &data, &m));
    if (options->folder) {
        JF_TRY_DONE(file_make_folder(ctx, options->folder));
        if (!options->resume) JF_TRY_DONE(write_into(m, options->folder, "recipe.ini", 1));
    }
    char device_words[DEVICE_MAX_WORDS];
    text layers = {0};
    device_describe(m->d, device_words);
    flow_describe(m->flow, &layers);
    jf_log(ctx, "%s, %zu parameters on %s", layers.chars ? layers.chars : "", m->parameters.total,
           device_words);
    text_free(&layers);
    train_memory memory = train_memory_of(m, data);
    const double mib = 1048576;
    jf_log(ctx,
           "memory: about %.0f MiB (weights and optimiser %.0f, kept activations %.0f, batches and scratch "
           "%.0f, data %.0f)",
           memory.total / mib, (memory.weights + memory.checkpoint) / mib, memory.kept / mib,
           (memory.passes + memory.histograms) / mib, memory.data / mib);
    trained = train_run(m, data, &inner);
    if (trained != JF_OK && trained != JF_STOPPED) JF_TRY_DONE(trained);
    if (options->folder) JF_TRY_DONE(write_into(m, options->folder, "model.safetensors", 0));
    status = trained;
    *out = m;
    m = NULL;
done:
    dataset_free(data);
    model_free(m);
    return status;
}

jf_status jf_judge(const jf_model *m, jf_judgement **out, const jf_judge_options *options) {
    return judge_run(m, out, options ? options->points : 0, options ? options->seed : 0);
}
const char *jf_judgement_json(const jf_judgement *j) {
    return j->json.chars;
}
const char *jf_judgement_text(const jf_judgement *j) {
    return j->table.chars;
}
void jf_judgement_free(jf_judgement *j) {
    judge_free(j);
}
jf_status jf_report(const jf_model *m, const jf_judgement *j, const char *folder) {
    return report_write(m, j, folder);
}
static jf_status give_profile(jf_context *ctx, jf_profile *out, const bench_profile *p) {
    if (p->count == 0) return JF_OK;
    JF_TRY(MEM_NEW(ctx, &out->parts, (size_t)p->count));
    for (int i = 0; i < p->count; i++) {
        const bench_part *part = &p->parts[i];
        out->parts[i] = (jf_profile_part){.name = part->name,
                                          .calls = part->calls,
                                          .ms = part->ms,
                                          .share = part->share,
                                          .gflops = part->gflops};
    }
    out->count = p->count;
    out->ms = p->ms;
    return JF_OK;
}

void jf_bench_result_free(jf_bench_result *r) {
    free(r->train_profile.parts);
    free(r->sample_profile.parts);
    r->train_profile = r->sample_profile = (jf_profile){0};
}

jf_status jf_bench(jf_context *ctx, const jf_recipe *r, const jf_bench_options *options,
                   jf_bench_result *out) {
    jf_bench_options o = options ? *options : (jf_bench_options){0};
    dataset *data = NULL;
    model *m = NULL;
    bench_result result = {0};
    jf_status status;
    *out = (jf_bench_result){.batch = o.batch > 0 ? o.batch : recipe_int(r, "train.batch")};
    JF_TRY_DONE(open_run(ctx, r, &o.device, 1, &data, &m));
    JF_TRY_DONE(bench_run(
        m,
        &(bench_options){.batch = out->batch, .seconds = o.seconds > 0 ? o.seconds : 3, .profile = o.profile},
        &result));
    _Static_assert(sizeof out->device >= DEVICE_MAX_WORDS, "the device's description fits its field");
    device_describe(m->d, out->device);
    out->parameters = m->parameters.total;
    out->steps = result.steps;
    out->train_samples_per_s = result.train_samples_per_s;
    out->sample_samples_per_s = result.sample_samples_per_s;
    out->peak_memory_mib = result.peak_memory_mib;
    JF_TRY_DONE(give_profile(ctx, &out->train_profile, &result.train));
    JF_TRY_DONE(give_profile(ctx, &out->sample_profile, &result.sample));
done:
    if (status != JF_OK) jf_bench_result_free(out);
    bench_result_free(&result);
    model_free(m);
    dataset_free(data);
    return status;
}
