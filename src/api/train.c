/* Public: training, judging, reports, speed. */
#include "api/api.h"
#include "judge/pack.h"
#include "train/bench.h"
#include "train/folder.h"
#include <stdlib.h>

static train_origin origin_of(const jf_device_options *on, uint64_t seed) {
    return (train_origin){.device_name = on->device, .threads = on->threads, .seed = seed};
}

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
                            .ks_max = p->ks_max,
                            .held_out = p->held_out,
                            .best_epoch = p->best_epoch,
                            .model = p->model};
    o->progress(o->user, &progress);
}

jf_status jf_train(jf_context *ctx, jf_model **out, const jf_recipe *r, const jf_train_options *options) {
    static const jf_train_options defaults;
    if (!options) options = &defaults;
    *out = NULL;
    if (options->resume && !options->folder)
        return jf_fail(ctx, JF_ERROR_ARGUMENT, "a run to resume: no folder was given");
    return train_recipe(ctx, out, r, origin_of(&options->device, options->seed),
                        &(train_options){.folder = options->folder,
                                         .resume = options->resume,
                                         .changed_data = options->changed_data,
                                         .stop = options->stop,
                                         .interval = TRAIN_INTERVAL,
                                         .progress = options->progress ? relay_progress : NULL,
                                         .user = (void *)options});
}

jf_status jf_judge(const jf_model *m, jf_judgement **out, const jf_judge_options *options) {
    jf_judge_options o = options ? *options : (jf_judge_options){0};
    *out = NULL;
    if (o.test && o.test_data)
        return jf_fail(m->ctx, JF_ERROR_ARGUMENT,
                       "data to judge on: both a file and data in memory were given");
    return judge_create(m, out,
                        &(judge_request){.points = o.points,
                                         .seed = o.seed,
                                         .denoise = o.denoise,
                                         .inputs = o.inputs,
                                         .test = o.test,
                                         .test_labels = o.test_labels,
                                         .test_rows = o.test_data,
                                         .temperature = o.temperature});
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

jf_status jf_pack(const jf_model *m, const char *path, const jf_pack_options *options, char **told) {
    jf_pack_options o = options ? *options : (jf_pack_options){0};
    text table = {0};
    jf_status status = pack_model(m,
                                  &(pack_options){.path = path,
                                                  .name = o.name,
                                                  .half = o.half,
                                                  .run = o.run,
                                                  .tolerance = o.tolerance > 0 ? o.tolerance : PACK_TOLERANCE,
                                                  .points = o.judge.points,
                                                  .seed = o.judge.seed,
                                                  .threads = o.threads,
                                                  .declare_all = recipe_declare_all},
                                  &table);
    if (told) {
        *told = NULL;
        text_add(&table, "%s", "");
        jf_status given = give_text(m->ctx, told, &table, JF_OK);
        return status == JF_OK ? given : status;
    }
    text_free(&table);
    return status;
}

jf_status jf_report(const jf_model *m, const jf_judgement *j, const char *folder) {
    run_folder *held;
    JF_TRY(file_make_folder(m->ctx, folder));
    JF_TRY(run_folder_open(m->ctx, &held, folder));
    jf_status status = report_write(m, j, folder);
    run_folder_close(held);
    return status;
}

/* ---- speed ---- */

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
    JF_TRY_DONE(train_open(ctx, &data, &m, r, origin_of(&o.device, 1)));
    JF_TRY_DONE(bench_run(m,
                          &(bench_options){.batch = out->batch,
                                           .seconds = o.seconds > 0 ? o.seconds : 3,
                                           .profile = o.profile,
                                           .sample_as_trained = o.sample_as_trained},
                          &result));
    _Static_assert(sizeof out->device >= DEVICE_MAX_WORDS, "the device's description fits its field");
    device_describe(m->d, out->device);
    out->parameters = m->parameters.total;
    out->steps = result.steps;
    out->train_precision = precision_names[result.train_precision];
    out->sample_precision = precision_names[result.sample_precision];
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
